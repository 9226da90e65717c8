"""The inner loop of match play: plays deals in every seating of a line-up, without statistics.

In every seating of a deal the cards come in the same order, and the k-th decision of a seat has the same key. This
reduces the variance of a deal's win rate (docs/speed.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agents.policy import Policy, ask, looks_ahead
from uno_flex_env.batch import Batch
from uno_flex_env.options import EpisodeOptions
from uno_flex_env.policy_input import Decisions
from uno_flex_env.positions import Positions
from uno_flex_env.rules import MAX_PLAYERS, Rules
from uno_flex_env.seeding import decision_noise

NO_WINNER, TRUNCATED = -1, -2


@dataclass(frozen=True)
class MatchSetup:
    """Who sits where, and what is played. Deal d follows from the seed and d alone."""

    lineup: tuple[int, ...]
    """The policy in each seat of the first seating, by number. In seating r each policy sits r seats further on."""
    seatings: int
    """The number of seatings."""
    rules: Rules
    seed: int
    max_decisions: int
    """Decisions after which a game is cut off."""
    num_envs: int
    """Games that are played side by side."""


@dataclass(frozen=True, eq=False)
class Played:
    """The results of D deals in R seatings."""

    winners: npt.NDArray[np.int8]
    """(D, R), the winning seat, NO_WINNER or TRUNCATED."""
    decisions: npt.NDArray[np.int32]
    """(D, R), decisions in the game."""


def play_games(setup: MatchSetup, policies: Sequence[Policy], deals: range) -> Played:
    """Play these deals in every seating.

    Raises:
        IllegalActionError: a policy's answer is not legal.
        ValueError: a policy's answer is not whole numbers of the right shape.
    """
    games = _Games(setup, policies, deals)
    while games.playing:
        games.step()
    shape = len(deals), setup.seatings
    return Played(games.winners.reshape(shape), games.lengths.reshape(shape))


class _Games:
    """A queue of Q games, of which B are played side by side; row b of a batch's array is the b-th of these. A row
    whose game has ended begins the next game of the queue at once, so that few rows wait for the longest games."""

    def __init__(self, setup: MatchSetup, policies: Sequence[Policy], deals: range) -> None:
        self.policies, self.seed, self.num_players = policies, setup.seed, len(setup.lineup)
        seats = np.arange(self.num_players)
        # Which policy sits in which seat, (seatings, seats).
        self.seating = np.array(setup.lineup)[(seats - np.arange(setup.seatings)[:, None]) % self.num_players]
        total = len(deals) * setup.seatings
        # For each game in the queue, (Q,): its deal, the number of its seating, and its result.
        self.deals = np.repeat(np.array(deals, np.uint64), setup.seatings)
        self.seating_numbers = np.tile(np.arange(setup.seatings), len(deals))
        self.winners = np.full(total, NO_WINNER, np.int8)
        self.lengths = np.zeros(total, np.int32)
        rows = min(setup.num_envs, total)
        self.games = np.full(rows, -1)  # the game of each row, by its place in the queue; -1 for none
        self.counts = np.zeros((rows, self.num_players), np.int64)  # decisions of each seat
        self.next = 0
        options = EpisodeOptions(
            self.num_players,
            setup.rules,
            history=max(policy.history for policy in policies),
            max_decisions=setup.max_decisions,
        )
        self.batch = Batch(rows, options, autoreset=False)
        self._refill(np.arange(rows))

    @property
    def playing(self) -> bool:
        """Whether any game is in progress."""
        return bool((self.games >= 0).any())

    def step(self) -> None:
        """Take one decision in each game."""
        rows = np.flatnonzero(self.games >= 0)
        games, current_players = self.games[rows], self.batch.current_player[rows]
        noise = decision_noise(self.seed, self.deals[games], current_players, self.counts[rows, current_players])
        deciding = self.seating[self.seating_numbers[games], current_players]
        for number, policy in enumerate(self.policies):
            asked = np.flatnonzero(deciding == number)
            if asked.size:
                decisions = self._decisions(rows[asked], noise[asked], looks_ahead(policy))
                self.batch.actions[rows[asked]] = ask(policy, decisions, games[asked])
        self.counts[rows, current_players] += 1
        self.batch.step()
        finished = rows[self.batch.current_player[rows] < 0]
        if finished.size:
            self._write_results(finished)
            self._refill(finished)

    def _decisions(self, rows: npt.NDArray[np.intp], noise: npt.NDArray[np.uint64], with_views: bool) -> Decisions:
        history = self.batch.histories[rows] if self.batch.histories.size else None
        views = Positions([self.batch.state(row) for row in rows]).hide() if with_views else None
        return Decisions(self.batch.observations[rows], self.batch.action_masks[rows], noise, history, views)

    def _write_results(self, rows: npt.NDArray[np.intp]) -> None:
        winners = np.where(self.batch.rewards[rows].max(axis=1) > 0, self.batch.rewards[rows].argmax(axis=1), NO_WINNER)
        self.winners[self.games[rows]] = np.where(self.batch.truncated[rows], TRUNCATED, winners)
        self.lengths[self.games[rows]] = self.counts[rows].sum(axis=1)

    def _refill(self, rows: npt.NDArray[np.intp]) -> None:
        """Begin the next games of the queue in these rows. Rows that get none stay empty."""
        self.games[rows], self.batch.actions[rows], self.counts[rows] = -1, -1, 0
        rows = rows[: self.deals.size - self.next]
        if not rows.size:
            return
        self.games[rows] = np.arange(self.next, self.next + rows.size)
        self.next += rows.size
        seeds, fresh = np.zeros(len(self.games), np.uint64), np.zeros(len(self.games), np.uint8)
        # The cards of a deal get the key of a seat that no player can have.
        seeds[rows] = decision_noise(self.seed, self.deals[self.games[rows]], MAX_PLAYERS, 0)
        fresh[rows] = 1
        self.batch.seed_games(seeds, fresh)
        self.batch.reset_games(fresh)
