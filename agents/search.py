"""Policies that look ahead: playouts in worlds in which every card is where it can be.

Both kinds improve on another policy, the prior. They take its action unless another one is better by more than the
noise of the playouts. They see no hidden card, since `Decisions.views` holds none.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt
import torch

from agents.budget import Budget
from agents.device import matmul_dtype
from agents.network_policy import NetworkPolicy
from agents.policy import Actions, Policy
from uno_flex_env.policy_input import Decisions
from uno_flex_env.positions import Positions, Views
from uno_flex_env.seeding import splitmix64

Floats = npt.NDArray[np.float64]


class BotSearch:
    """Search in the core with playouts by rule bots (`uno_flex_env.positions.Views.search`).

    Args:
        name: see `Policy.name`.
        prior: its action is the default.
        budget: what it may spend on each decision.
        method: "tree" or "flat".
    """

    looks_ahead = True

    def __init__(self, name: str, prior: Policy, budget: Budget, method: str) -> None:
        self.name, self.prior, self.budget, self.method = name, prior, budget, method
        self.history = prior.history

    def act(self, decisions: Decisions) -> Actions:
        """As `Policy.act`."""
        budget = self.budget
        return views_of(decisions, self.name).search(
            self.prior.act(decisions),
            decisions.noise,
            masks=decisions.action_mask,
            simulations=budget.simulations,
            seconds=budget.seconds,
            method=self.method,
        )[0]


class NetworkSearch:
    """Search with a network. Its likely actions are the candidates, and all are tried in the same worlds. The network
    then plays all seats until the player has decided `AHEAD` more times, and its critic values the position.

    Args:
        name: see `Policy.name`.
        prior: its likeliest action is the default. It must read no past events, its critic must not need hidden cards,
            and it must have learned from the reward "win".
        budget: what it may spend on each decision; a simulation is one candidate in one world. Time is that of the
            searching thread, without other threads of torch.
    """

    looks_ahead = True
    history = 0
    LIKELY = 0.003
    """Actions with at least this probability are candidates (docs/speed.md)."""
    AHEAD = 4
    """How many more decisions of the player are played before the critic is asked (docs/speed.md)."""
    WORLDS = 32
    """Worlds that are played side by side, and the fewest that a choice is based on."""
    CONFIDENCE = 1.0
    """Standard errors by which a candidate must lead the default."""
    LONGEST = 500
    """Decisions of all seats after which the critic is asked in any case, since a network can draw forever."""
    DROP_LEAD = 3.0
    """A candidate is dropped when the best one leads it by more standard errors than this."""

    def __init__(self, name: str, prior: NetworkPolicy, budget: Budget) -> None:
        if prior.network.critic is not None or prior.history:
            raise ValueError(f"{prior.name} can't guide a search: its critic needs hidden cards, or it past events")
        if prior.reward != "win":
            raise ValueError(
                f"{prior.name} can't guide a search: its values are of the reward {prior.reward!r}, not 'win'"
            )
        self.name, self.prior, self.budget = name, prior, budget
        self.precision = matmul_dtype("auto", torch.device("cpu"))

    def act(self, decisions: Decisions) -> Actions:
        """As `Policy.act`."""
        views = views_of(decisions, self.name)
        probs = self.prior.probabilities(decisions).numpy()
        actions: Actions = probs.argmax(axis=1).astype(np.int64)
        for row in range(len(decisions)):
            candidates = np.flatnonzero(probs[row] >= self.LIKELY)
            if candidates.size > 1:
                actions[row] = self._choose(views[[row]], candidates, int(actions[row]), decisions.noise[row])
        return actions

    def _choose(self, view: Views, candidates: npt.NDArray[np.intp], default: int, key: np.uint64) -> int:
        spent, began = 0, time.thread_time()
        until = began + self.budget.seconds if self.budget.seconds else np.inf
        won = np.empty((0, candidates.size))
        while candidates.size > 1:
            worlds, elapsed = len(won), time.thread_time() - began
            spent += candidates.size * self.WORLDS
            if self.budget.simulations and spent > self.budget.simulations:
                break
            if worlds and began + elapsed * (1 + self.WORLDS / worlds) > until:
                break  # no time for another batch of worlds
            keys = splitmix64(key + np.arange(worlds, worlds + self.WORLDS, dtype=np.uint64))
            played = self._play_on(view, candidates, keys, until)
            if played is None:
                break
            won = np.concatenate([won, played])
            if len(won).bit_count() == 1:  # at 32, 64, 128 and so on
                keep = lead(won, int(won.mean(axis=0).argmax())) <= self.DROP_LEAD
                candidates, won = candidates[keep], won[:, keep]
        if not len(won):
            return default
        best = int(won.mean(axis=0).argmax())
        usual = np.flatnonzero(candidates == default)
        if usual.size and lead(won, best)[usual[0]] <= self.CONFIDENCE:
            return default
        return int(candidates[best])

    def _play_on(
        self, view: Views, candidates: npt.NDArray[np.intp], keys: npt.NDArray[np.uint64], until: float
    ) -> Floats | None:
        """The player's chance to win after each candidate in each world, (worlds, candidates); None if the thread's
        clock passes `until` first."""
        viewer, count = int(view.viewers[0]), candidates.size
        positions = view.repeat(len(keys)).determinize(keys).repeat(count)
        positions.apply(np.tile(candidates, len(keys)))
        chance = np.zeros(len(positions))
        rows = np.arange(len(positions))  # the row of `chance` for each position that goes on
        left = np.full(len(positions), self.AHEAD)  # decisions of the player until the critic is asked
        for step in range(self.LONGEST):
            current_players = positions.current_player
            chance[rows[current_players < 0]] = positions.winners[current_players < 0] == viewer
            asked = (current_players == viewer) & (left == 0) | (current_players >= 0) & (step == self.LONGEST - 1)
            if asked.any():
                chance[rows[asked]] = self._chance(positions[asked], viewer)
            going = (current_players >= 0) & ~asked
            if not going.any():
                break
            if time.thread_time() > until:
                return None
            positions, rows, left = positions[going], rows[going], left[going] - (current_players[going] == viewer)
            observations, masks = positions.observe()
            logits = torch.where(torch.from_numpy(masks) != 0, self._ask(observations)[0].float(), -torch.inf)
            positions.apply(logits.argmax(dim=1).numpy())
        return chance.reshape(len(keys), count)

    def _chance(self, positions: Positions, viewer: int) -> Floats:
        """The player's chance to win, (P,) from 0 to 1; the critic's value of it is from -1 / (n - 1) to 1."""
        n = positions.num_players
        values = self._ask(positions.observe(np.full(len(positions), viewer))[0])[1].float().numpy()
        return np.asarray((values * (n - 1) + 1) / n, np.float64)

    @torch.inference_mode()
    def _ask(self, observations: npt.NDArray[np.uint8]) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits and values, in bfloat16 where that is fast: rounding matters less than the noise of the worlds."""
        with torch.autocast("cpu", torch.bfloat16, enabled=self.precision == torch.bfloat16):
            logits, values = self.prior.network(torch.from_numpy(observations))
        return logits, values


def lead(won: Floats, best: int) -> Floats:
    """By how many standard errors column `best` of (W, C) chances exceeds each column, paired row by row: (C,).

    Two rows are added, one in which `best` wins and the other column loses, and one of the opposite. So a few rows give
    only a small lead.
    """
    ahead = np.concatenate([won[:, [best]] - won, np.ones((1, won.shape[1])), -np.ones((1, won.shape[1]))])
    leads: Floats = ahead.mean(axis=0) / (ahead.std(axis=0) / np.sqrt(len(ahead)))
    return leads


def views_of(decisions: Decisions, name: str) -> Views:
    """The views that a search needs; ValueError if there are none."""
    if decisions.views is None:
        raise ValueError(
            f"{name} looks ahead and needs Decisions.views, which environments don't give; match play does"
        )
    return decisions.views
