"""One protocol for everything that decides: batches of decisions in, legal actions out."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from uno_flex_env import _core
from uno_flex_env.envs.opponents import Observations, checked_answer
from uno_flex_env.envs.seat_games import mixed
from uno_flex_env.envs.vec_env import BOTS, bot_number
from uno_flex_env.positions import Views

Actions = npt.NDArray[np.int64]
Noise = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Decisions:
    """B decisions, each as the player who has to take it sees it. Policies read the arrays and leave them alone."""

    observation: npt.NDArray[np.uint8]
    """(B, 640), see `uno_flex_env.observation`."""
    action_mask: npt.NDArray[np.int8]
    """(B, 216), 1 for legal; at least one in each row."""
    noise: Noise
    """(B,), a key for each decision. Whatever is random in row i follows from `noise[i]` alone, so an action does not
    depend on the other rows, and two games with the same keys stay comparable."""
    history: npt.NDArray[np.int16] | None = None
    """(B, H, 3), the last public events, for policies that ask for them."""
    views: Views | None = None
    """B views to look ahead from, for policies that ask for them."""

    def __len__(self) -> int:
        return len(self.observation)

    def __getitem__(self, rows: Any) -> Decisions:
        history = None if self.history is None else self.history[rows]
        views = None if self.views is None else self.views[rows]
        return Decisions(self.observation[rows], self.action_mask[rows], self.noise[rows], history, views)


class Policy(Protocol):
    """Whatever decides. One that wants `Decisions.views` has an attribute `looks_ahead` that is true."""

    @property
    def name(self) -> str:
        """What tables call it: that by which `make_policy` makes it, where there is such a thing."""

    @property
    def history(self) -> int:
        """How many of the last events it wants to see; 0 for none."""

    def act(self, seen: Decisions) -> Actions:
        """A legal action for each of the B decisions, (B,)."""


@dataclass(frozen=True)
class RuleBot:
    """One of the core's rule bots, by its name in `uno_flex_env.envs.vec_env.BOTS`."""

    name: str
    history: int = 0

    def __post_init__(self) -> None:
        bot_number(self.name)

    def act(self, seen: Decisions) -> Actions:
        """As `Policy.act`."""
        actions = np.empty(len(seen), np.int64)
        _core.act(bot_number(self.name), seen.action_mask, seen.noise, actions)
        return actions


def make_policy(spec: str) -> Policy:
    """A policy by its name.

    Args:
        spec: "uniform" (over the legal actions, the same as the rule bot "random"); another rule bot; "expert", or
            "expert-RULE" without one of its rules of thumb; "flex_by_rules", the rules that the study of flex timing
            has found; the folder of a training run or a `.safetensors` file in
            one, for the network that it holds, which plays its actions with their probabilities, or always the
            likeliest one with ":greedy" after the name; "champion", the network that comes with the project;
            "search:BUDGET" or "search:BUDGET,PRIOR", which thinks before it moves, for so many simulations ("200") or
            so much time ("100ms") a move, and improves on what PRIOR would play, by default the expert ("flat:" instead
            of "search:" is the same without a tree: see agents/search.py); "module:Class" for a class of one's own,
            which is made without arguments.

    Raises:
        ValueError: there is no such policy; the message says which there are.
    """
    name, _, option = spec.partition(":")
    if spec in ("uniform", *BOTS):
        return RuleBot("random" if spec == "uniform" else spec)
    if spec == "expert" or spec.startswith("expert-"):
        from agents.expert import Expert

        return Expert(without=tuple(spec.split("-")[1:]))
    if spec == "flex_by_rules":
        from agents.flex_policies import FlexByRules

        return FlexByRules()
    if name in ("search", "flat"):
        from agents.search import make_search

        return make_search(spec)
    if option in ("", "greedy"):
        from agents.checkpoint import find_policy
        from agents.network_policy import load_policy

        if file := find_policy(name):
            return load_policy(file, name=spec, greedy=option == "greedy")
    elif name:
        return _own_policy(spec, name, option)
    known = ", ".join(("uniform", *BOTS, "flex_by_rules", "expert"))
    raise ValueError(
        f"no such policy: {spec!r}; there are {known}, champion, search:BUDGET, the folders of training runs, and "
        "module:Class"
    )


def _own_policy(spec: str, module: str, name: str) -> Policy:
    try:
        policy: Policy = getattr(importlib.import_module(module), name)()
        called, events, fine = policy.name, policy.history, callable(policy.act)
    except (ImportError, AttributeError, SyntaxError, TypeError) as error:
        raise ValueError(f"no such policy: {spec!r}: {error}") from None
    if not isinstance(called, str) or not isinstance(events, int) or events < 0 or not fine:
        raise ValueError(f"{spec!r} needs a name, a history of 0 or more events, and act, got {called!r}, {events!r}")
    return policy


def ask(policy: Policy, seen: Decisions, games: npt.NDArray[np.intp]) -> Actions:
    """A policy's actions, (B,), checked; it gets as many events as it wants to see. Row i belongs to `games[i]`.

    Raises:
        IllegalActionError: an action is not legal; the message names the policy and the game.
        ValueError: the answer is no (B,) whole numbers, or the policy wants more events than there are.
    """
    history = _last_events(policy, seen.history)
    mask = seen.action_mask.copy()  # it is still needed
    given = Decisions(seen.observation, mask, seen.noise, history, seen.views if looks_ahead(policy) else None)
    return checked_answer(policy.act(given), seen.action_mask, games, f"policy {policy.name}")


def looks_ahead(policy: Policy) -> bool:
    """Whether a policy wants to see `Decisions.views`."""
    return bool(getattr(policy, "looks_ahead", False))


def _last_events(policy: Policy, history: npt.NDArray[np.int16] | None) -> npt.NDArray[np.int16] | None:
    if not policy.history:
        return None
    if history is None or history.shape[1] < policy.history:
        raise ValueError(f"{policy.name} wants a history of at least {policy.history} events: set the option")
    return history[:, -policy.history :]


_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def uniforms(noise: Noise, stream: int = 0) -> npt.NDArray[np.float64]:
    """Uniform numbers in [0, 1), shape of `noise`; each stream gives others from the same keys."""
    bits = mixed(noise + np.uint64(int(_GOLDEN) * (stream + 1) % 2**64))
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def decision_noise(seed: int, deals: npt.ArrayLike, seats: npt.ArrayLike, counts: npt.ArrayLike) -> Noise:
    """Keys of decisions by deal, seat, and how many the seat has taken before: (B,) each, or one number for all.

    A seat's luck in a deal is then the same whoever else sits at the table and whatever was played before.
    """
    deal, seat, count = (np.atleast_1d(np.asarray(numbers, np.uint64)) for numbers in (deals, seats, counts))
    key = mixed(np.uint64(seed) + deal * _GOLDEN)
    key = mixed(key + seat * np.uint64(0xD1342543DE82EF95) + _GOLDEN)
    return mixed(key + count * _GOLDEN)


class AsOpponent:
    """A policy in the form that the environments take for `opponents`: see `uno_flex_env.envs.opponents.Policy`.

    The n-th call and the row give the key of a decision, so the same sequence of calls gives the same actions. Let the
    environment keep a `history` at least as long as the policy wants.
    """

    def __init__(self, policy: Policy, seed: int = 0) -> None:
        self.policy, self.seed, self._calls = policy, seed, 0
        self.__name__ = policy.name

    def __call__(self, batch: Observations) -> Actions:
        rows = np.arange(len(batch["observation"]))
        noise = decision_noise(self.seed, self._calls, 0, rows)
        self._calls += 1
        history = _last_events(self.policy, batch.get("history"))
        return self.policy.act(Decisions(batch["observation"], batch["action_mask"], noise, history))
