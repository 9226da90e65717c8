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

from agents.neural import NetworkPolicy
from agents.policy import Actions, Decisions, Policy
from agents.ppo import resolve
from uno_flex_env.learner import mixed
from uno_flex_env.positions import Views

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
    """Playouts by a network: its likely actions are tried in the same worlds, and it plays all seats to the end.

    The critic is not asked: what it says one move ahead was worse than no search at all (-0.3 points of win rate for
    each decision in which a network of 59 % against the expert had a choice; 200 playouts to the end gave +0.5).

    Args:
        name: see `Policy.name`.
        prior: its likeliest move is kept in doubt. It must not need past events.
        budget: for each move; a simulation is one candidate in one world.
    """

    looks_ahead = True
    history = 0
    LIKELY = 0.005
    """Actions of at least this probability are candidates."""
    WORLDS = 32
    """Tried at once, and the fewest to decide by."""
    CONFIDENCE = 1.0
    """Standard errors by which a candidate must be ahead of the default move."""
    LONGEST = 500
    """Decisions after which a playout is given up as not won: what plays by noise alone can draw for ever."""
    BEATEN = 3.0
    """Standard errors behind the best one after which a candidate is given up."""

    def __init__(self, name: str, prior: NetworkPolicy, budget: Budget) -> None:
        if prior.history:
            raise ValueError(f"{prior.name} can't guide a search: it reads past events, which playouts don't keep")
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
        spent, began = 0, time.thread_time()
        won = np.empty((0, candidates.size))
        while candidates.size > 1:
            worlds, elapsed = len(won), time.thread_time() - began
            spent += candidates.size * self.WORLDS
            if self.budget.simulations and spent > self.budget.simulations:
                break
            if self.budget.seconds and worlds and elapsed * (1 + self.WORLDS / worlds) > self.budget.seconds:
                break  # there is no time for as many again
            keys = mixed(key + np.arange(worlds, worlds + self.WORLDS, dtype=np.uint64))
            won = np.concatenate([won, self._play_on(view, candidates, keys)])
            if len(won).bit_count() == 1:  # at 32, 64, 128 and so on
                keep = lead(won, int(won.mean(axis=0).argmax())) <= self.BEATEN
                candidates, won = candidates[keep], won[:, keep]
        if not len(won):
            return default
        best = int(won.mean(axis=0).argmax())
        usual = np.flatnonzero(candidates == default)
        if usual.size and lead(won, best)[usual[0]] <= self.CONFIDENCE:
            return default
        return int(candidates[best])

    def _play_on(self, view: Views, candidates: npt.NDArray[np.intp], keys: npt.NDArray[np.uint64]) -> Floats:
        """Whether the player wins after each candidate in each world, (worlds, candidates), 0 or 1."""
        viewer, count = int(view.viewers[0]), candidates.size
        tables = view.repeat(len(keys)).determinize(keys).repeat(count)
        won = np.zeros(len(tables))
        tables.apply(np.tile(candidates, len(keys)))
        rows = np.arange(len(tables))  # of `won`, for each table that goes on
        for _ in range(self.LONGEST):
            over = tables.is_over
            if over.any():
                won[rows[over]] = tables.winners[over] == viewer
                tables, rows = tables[~over], rows[~over]
            if not rows.size:
                break
            tables.apply(self._likeliest(*tables.observe()))
        return won.reshape(len(keys), count)

    @torch.inference_mode()
    def _likeliest(self, observations: npt.NDArray[np.uint8], masks: npt.NDArray[np.int8]) -> Actions:
        """With the fastest products that there are: the noise of the worlds is far larger than their rounding."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.precision == torch.bfloat16):
            logits, _ = self.prior.network(torch.from_numpy(observations))
        legal = torch.from_numpy(masks) != 0
        return np.asarray(torch.where(legal, logits.float(), -torch.inf).argmax(dim=1).numpy(), np.int64)


def lead(won: Floats, best: int) -> Floats:
    """By how many standard errors one column of zeros and ones exceeds each, paired row by row: (C,).

    One row is added in which it wins and the other loses, and one of the opposite, so that few rows prove little.
    """
    ahead = np.concatenate([won[:, [best]] - won, np.ones((1, won.shape[1])), -np.ones((1, won.shape[1]))])
    leads: Floats = ahead.mean(axis=0) / (ahead.std(axis=0) / np.sqrt(len(ahead)))
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
