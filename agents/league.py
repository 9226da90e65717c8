"""Opponents for the learner: fixed policies and its own past selves, the hard ones more often than the easy ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.policy import Policy, looks_ahead
from agents.policy_factory import make_policy
from uno_flex_env.rules import MAX_PLAYERS
from uno_flex_env.seeding import Noise

LEARNER = -1
"""In a table of who sits where: the seat learns."""

Table = npt.NDArray[np.int16]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class LeagueConfig:
    """Whom the learner meets beside itself."""

    fraction: float = 0.0
    """Share of the games in which one seat learns and an opponent plays all others; the rest is pure self-play."""
    opponents: tuple[str, ...] = ()
    """Policies that always belong to the league, by the names of `agents.policy_factory.make_policy`."""
    snapshots: int = 0
    """Past selves that belong to it; a new one takes the place of the oldest."""
    every: int = 5_000_000
    """Decisions between two snapshots."""
    sharpness: float = 1.0
    """Prioritized fictitious self-play (doi:10.1038/s41586-019-1724-z): an opponent that the learner beats with
    probability w is met in proportion to (1 - w) ** sharpness. 0 meets all alike."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.fraction <= 1.0:
            raise ValueError(f"league.fraction must lie in [0, 1], got {self.fraction}")
        if self.snapshots < 0 or self.every < 1 or not 0.0 <= self.sharpness < inf:
            raise ValueError("league.snapshots and .sharpness must be at least 0 and finite, league.every at least 1")
        if self.fraction > 0 and not self.opponents and not self.snapshots:
            raise ValueError("league.fraction is above 0, but there are neither league.opponents nor league.snapshots")
        if self.fraction == 0 and (self.opponents or self.snapshots):
            raise ValueError("league.opponents and .snapshots are never met while league.fraction is 0")


class League:
    """Who sits where, and how often the learner has beaten whom.

    Args:
        config: see `LeagueConfig`.
        seed: of the choice of seats and opponents, and of what the opponents play.
    """

    HALF_LIFE = 2000
    """Games after which a result counts half: the learner changes."""

    def __init__(self, config: LeagueConfig, seed: int) -> None:
        self.config = config
        self.policies: list[Policy] = [make_policy(name) for name in config.opponents]
        names = [policy.name for policy in self.policies]
        if slow := [policy.name for policy in self.policies if looks_ahead(policy)]:
            raise ValueError(f"league.opponents can't be policies that look ahead, got {', '.join(slow)}")
        if len(set(names)) < len(names):
            raise ValueError(f"league.opponents must be different policies, got {', '.join(names)}")
        self.wins, self.games = [0.0] * len(self.policies), [0.0] * len(self.policies)
        self.history = max((policy.history for policy in self.policies), default=0)
        self.taken = 0  # snapshots in all
        self._rng = np.random.Generator(np.random.PCG64(seed))

    @property
    def plays(self) -> bool:
        """Whether there is an opponent to be met."""
        return bool(self.policies)

    # ---- Members ----

    def add(self, snapshot: Policy) -> None:
        """Take in a past self, in the place of the oldest one if there are enough; games in progress go on with it."""
        fixed, count = len(self.config.opponents), self.config.snapshots
        slot = fixed + self.taken % count
        self.taken += 1
        if slot == len(self.policies):
            self.policies.append(snapshot)
            self.wins.append(0.0)
            self.games.append(0.0)
        else:
            self.policies[slot], self.wins[slot], self.games[slot] = snapshot, 0.0, 0.0

    def win_rates(self) -> dict[str, float]:
        """How often the learner has lately beaten each member, by its name; drawn to one half as long as it is new.

        These steer the choice of opponents and are no measurement: they come from other deals for each.
        """
        return {policy.name: rate for policy, rate in zip(self.policies, self._rates(), strict=True)}

    # ---- Seats ----

    def seat_everyone(self, num_players: npt.NDArray[np.int64]) -> Table:
        """Who sits where in N new games, (N, 8): `LEARNER`, or the number of a member."""
        table: Table = np.full((len(num_players), MAX_PLAYERS), LEARNER, np.int16)
        self.seat_again(table, np.ones(len(num_players), np.bool_), num_players)
        return table

    def seat_again(self, table: Table, which: Flags, num_players: npt.NDArray[np.int64]) -> None:
        """Seat these games anew, (N,) bool. The last games of each number of players are those with opponents."""
        games = np.flatnonzero(which & self._with_opponents(num_players))
        if not games.size or not self.plays:
            return
        weights = (1.0 - np.array(list(self._rates()))) ** self.config.sharpness
        members = self._rng.choice(len(self.policies), games.size, p=weights / weights.sum())
        table[games] = members[:, None]
        table[games, self._rng.integers(0, num_players[games])] = LEARNER

    def _rates(self) -> Iterator[float]:
        for wins, games in zip(self.wins, self.games, strict=True):
            yield (1 + wins) / (2 + games)

    def _with_opponents(self, num_players: npt.NDArray[np.int64]) -> Flags:
        chosen = np.zeros(len(num_players), np.bool_)
        for count in np.unique(num_players):
            games = np.flatnonzero(num_players == count)
            chosen[games[len(games) - round(self.config.fraction * len(games)) :]] = True
        return chosen

    def report(
        self,
        table: Table,
        rewards: npt.NDArray[np.float32],
        ended: Flags,
        num_players: npt.NDArray[np.int64],
    ) -> None:
        """Note who won the games that have ended: rewards (N, n), ended (N,)."""
        seats = np.arange(table.shape[1]) < num_players[:, None]
        games = np.flatnonzero(ended & ((table != LEARNER) & seats).any(axis=1))
        learner = (table[games] == LEARNER).argmax(axis=1)
        member = np.where(learner == 0, table[games, 1], table[games, 0])
        for number in np.unique(member):
            won = rewards[games[member == number], learner[member == number]] > 0
            keep = 0.5 ** (won.size / self.HALF_LIFE)
            self.wins[number] = keep * self.wins[number] + int(won.sum())
            self.games[number] = keep * self.games[number] + won.size

    def seated(self, members: npt.NDArray[np.int16]) -> Iterator[tuple[int, Policy]]:
        """The members among those who decide now."""
        for number in np.unique(members[members != LEARNER]):
            yield int(number), self.policies[number]

    def noise(self, games: int) -> Noise:
        """Keys for the opponents' decisions."""
        return self._rng.integers(0, 2**64, games, np.uint64)

    # ---- Resuming ----

    def state(self) -> dict[str, Any]:
        """All but the policies and the tables, as plain values."""
        generator = self._rng.bit_generator.state
        return {"wins": self.wins, "games": self.games, "taken": self.taken, "generator": generator}

    def restore(self, state: dict[str, Any], snapshots: list[Policy]) -> None:
        """Go on where `state` was called, with the same snapshots in the same places."""
        del self.policies[len(self.config.opponents) :]
        self.policies += snapshots
        self.wins, self.games, self.taken = list(state["wins"]), list(state["games"]), state["taken"]
        self._rng.bit_generator.state = state["generator"]
