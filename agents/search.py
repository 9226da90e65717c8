"""Policies that think before they move: playouts in worlds that agree with what the player knows.

Both kinds begin with the move of a policy that they are to improve, and leave it only for one that is better beyond
the noise of the playouts. Neither sees a hidden card: `Decisions.views` holds none.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from agents.network import masked_log_softmax, sample
from agents.neural import NetworkPolicy
from agents.policy import Actions, Decisions, Policy, uniforms
from agents.ppo import resolve
from uno_flex_env.learner import mixed
from uno_flex_env.positions import Positions, Views

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Budget:
    """What a search may spend on one move: simulations, or seconds of processor time, so that other work on the machine
    does not make it weaker."""

    simulations: int = 0
    seconds: float = 0.0

    @classmethod
    def read(cls, text: str) -> Budget:
        """From "200" (simulations) or "100ms"; ValueError for anything else."""
        number = re.fullmatch(r"([0-9]{1,9})(ms)?", text)
        if number is None or int(number[1]) == 0:
            raise ValueError(f"the budget of a search is simulations, as 200, or milliseconds, as 100ms, got {text!r}")
        return cls(seconds=int(number[1]) / 1000) if number[2] else cls(simulations=int(number[1]))


class BotSearch:
    """Search in the core: rule bots play on to the end (`uno_flex_env.positions.Views.search`).

    Args:
        name: see `Policy.name`.
        prior: gives the moves that are kept in doubt.
        budget: for each move.
        method: "tree" or "flat".
    """

    looks_ahead = True

    def __init__(self, name: str, prior: Policy, budget: Budget, method: str) -> None:
        self.name, self.prior, self.budget, self.method = name, prior, budget, method
        self.history = prior.history

    def act(self, seen: Decisions) -> Actions:
        """As `Policy.act`."""
        budget = self.budget
        return views_of(seen, self.name).search(
            self.prior.act(seen),
            seen.noise,
            simulations=budget.simulations,
            seconds=budget.seconds,
            method=self.method,
        )[0]


class NetworkSearch:
    """One move ahead with a network: candidates are its likely actions; in each world it plays the others until the
    player decides again, and its critic says what that is worth.

    Args:
        name: see `Policy.name`.
        prior: its likeliest move is kept in doubt. Its critic must not need hidden cards, nor the network past events.
        budget: for each move; a simulation is one candidate in one world.
    """

    looks_ahead = True
    history = 0
    LIKELY = 0.02
    """Actions of at least this probability are candidates."""
    WORLDS = 32
    """Tried at once."""
    CONFIDENCE = 2.0
    """Standard errors by which a candidate must be ahead of the default move."""
    BEATEN = 3.0
    """Standard errors behind the best one after which a candidate is given up."""

    def __init__(self, name: str, prior: NetworkPolicy, budget: Budget) -> None:
        if prior.network.critic is not None or prior.history:
            raise ValueError(f"{prior.name} can't guide a search: its critic needs hidden cards, or it past events")
        self.name, self.prior, self.budget = name, prior, budget
        self.precision = resolve("auto", torch.device("cpu"))

    def act(self, seen: Decisions) -> Actions:
        """As `Policy.act`."""
        views = views_of(seen, self.name)
        probs = self.prior.probabilities(seen).numpy()
        actions: Actions = probs.argmax(axis=1).astype(np.int64)
        for row in range(len(seen)):
            candidates = np.flatnonzero(probs[row] >= self.LIKELY)
            if candidates.size > 1:
                actions[row] = self._choose(views[[row]], candidates, int(actions[row]), seen.noise[row])
        return actions

    def _choose(self, view: Views, candidates: npt.NDArray[np.intp], default: int, key: np.uint64) -> int:
        began, spent, worlds = time.thread_time(), 0, 0
        values = np.empty((0, candidates.size))
        look = self.WORLDS
        while candidates.size > 1:
            spent += candidates.size * self.WORLDS
            if self.budget.simulations and spent > self.budget.simulations:
                break
            if self.budget.seconds and time.thread_time() - began > self.budget.seconds:
                break
            keys = mixed(key + np.arange(worlds, worlds + self.WORLDS, dtype=np.uint64))
            worlds += self.WORLDS
            values = np.concatenate([values, self._try(view, candidates, keys)])
            if worlds == look:
                look *= 2
                best = values.mean(axis=0).argmax()
                keep = lead(values, best) <= self.BEATEN
                candidates, values = candidates[keep], values[:, keep]
        if not len(values):
            return default
        best = int(values.mean(axis=0).argmax())
        usual = np.flatnonzero(candidates == default)
        if usual.size and lead(values, best)[usual[0]] <= self.CONFIDENCE:
            return default
        return int(candidates[best])

    def _try(self, view: Views, candidates: npt.NDArray[np.intp], keys: npt.NDArray[np.uint64]) -> Floats:
        """What each candidate is worth to the player in each world, (worlds, candidates)."""
        viewer, count = int(view.viewers[0]), candidates.size
        tables = view.repeat(len(keys)).determinize(keys).repeat(count)
        tables.apply(np.tile(candidates, len(keys)))
        luck = np.repeat(keys, count)  # the same for all candidates in a world
        for step in range(64):
            going = np.flatnonzero((tables.movers >= 0) & (tables.movers != viewer))
            if not going.size:
                break
            actions = np.full(len(tables), -1)
            actions[going] = self._others(tables[going], uniforms(luck[going], step))
            tables.apply(actions)
        return self._worth(tables, viewer).reshape(len(keys), count)

    def _others(self, tables: Positions, uniform: Floats) -> npt.NDArray[np.int64]:
        observations, masks = tables.observe()
        logits, _ = self._ask(observations)
        probs = masked_log_softmax(logits, torch.from_numpy(masks) != 0)[1]
        return np.asarray(sample(probs, torch.from_numpy(uniform)).numpy(), np.int64)

    def _worth(self, tables: Positions, viewer: int) -> Floats:
        """In units of the reward "win": 1 for a win, -1 / (n - 1) for a loss."""
        worth = np.where(tables.winners == viewer, 1.0, -1.0 / (tables.num_players - 1))
        going = np.flatnonzero(tables.movers >= 0)
        if going.size:
            observations, _ = tables[going].observe(np.full(going.size, viewer))
            worth[going] = self._ask(observations)[1].float().numpy()
        return np.asarray(worth, np.float64)

    @torch.inference_mode()
    def _ask(self, observations: npt.NDArray[np.uint8]) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and values, with the fastest products: the noise of the worlds is far larger than their rounding."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.precision == torch.bfloat16):
            logits, values = self.prior.network(torch.from_numpy(observations))
        return logits, values


def lead(values: Floats, best: int) -> Floats:
    """By how many standard errors one column exceeds each, paired row by row: (C,); 0 for itself."""
    ahead = values[:, [best]] - values
    error = ahead.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.inf
    leads: Floats = np.divide(ahead.mean(axis=0), error, out=np.zeros(values.shape[1]), where=error > 0)
    return leads


def views_of(seen: Decisions, name: str) -> Views:
    """The views that a search needs; ValueError where nobody has given any."""
    if seen.views is None:
        raise ValueError(
            f"{name} looks ahead and needs Decisions.views, which environments don't give; match play does"
        )
    return seen.views


def make_search(spec: str) -> Policy:
    """A search by its name; see `agents.policy.make_policy`."""
    from agents.policy import make_policy

    kind, _, rest = spec.partition(":")
    text, _, prior_name = rest.partition(",")
    budget = Budget.read(text)
    prior = make_policy(prior_name or "expert")
    if isinstance(prior, NetworkPolicy):
        if kind != "search":
            raise ValueError(f"{spec!r}: a network guides search:, not {kind}:")
        return NetworkSearch(spec, prior, budget)
    return BotSearch(spec, prior, budget, "flat" if kind == "flat" else "tree")
