"""Opponents of the learner: given policies and snapshots of itself. It meets strong ones more often than weak ones."""

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
"""A seat of the learner in a seating."""

Seating = npt.NDArray[np.int16]
"""(N, 8), the member in each seat of each game, or `LEARNER`."""
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class LeagueConfig:
    """The opponents that the learner meets, in addition to itself."""

    fraction: float = 0.0
    """Share of the games in which one seat learns and an opponent plays all others; the rest is pure self-play."""
    opponents: tuple[str, ...] = ()
    """Policies that always belong to the league, by their names in `agents.policy_factory.make_policy`."""
    snapshots: int = 0
    """Snapshots of the learner that the league holds. A new one replaces the oldest."""
    every: int = 5_000_000
    """Take a snapshot every so many decisions."""
    sharpness: float = 1.0
    """Prioritized fictitious self-play (doi:10.1038/s41586-019-1724-z): an opponent that the learner beats with
    probability w is drawn in proportion to (1 - w) ** sharpness. With 0 all are equally likely."""

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
    """The members, who sits where, and how often the learner has beaten each member.

    Args:
        config: see `LeagueConfig`.
        seed: fixes the choice of seats and opponents, and the random numbers of the opponents.
    """

    HALF_LIFE = 2000
    """Games after which a result counts half. Old results fade because the learner changes."""

    def __init__(self, config: LeagueConfig, seed: int) -> None:
        self.config = config
        self.policies: list[Policy] = [make_policy(name) for name in config.opponents]
        names = [policy.name for policy in self.policies]
        if slow := [policy.name for policy in self.policies if looks_ahead(policy)]:
            raise ValueError(
                f"league.opponents can't be policies that look ahead or need a view, got {', '.join(slow)}"
            )
        if len(set(names)) < len(names):
            raise ValueError(f"league.opponents must be different policies, got {', '.join(names)}")
        self.wins, self.games = [0.0] * len(self.policies), [0.0] * len(self.policies)
        self.history = max((policy.history for policy in self.policies), default=0)
        self.taken = 0  # snapshots so far
        self._rng = np.random.Generator(np.random.PCG64(seed))

    @property
    def plays(self) -> bool:
        """Whether the league has any opponent."""
        return bool(self.policies)

    # ---- Members ----

    def add(self, snapshot: Policy) -> None:
        """Add a snapshot. In a full league it replaces the oldest one, also in games in progress."""
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
        """Recent win rates of the learner against each member, by name. They start at one half.

        They steer the choice of opponents. They don't measure strength, since each member has played different deals.
        """
        return {policy.name: rate for policy, rate in zip(self.policies, self._rates(), strict=True)}

    # ---- Seats ----

    def seat_everyone(self, num_players: npt.NDArray[np.int64]) -> Seating:
        """The seating of N new games; num_players is (N,)."""
        seating: Seating = np.full((len(num_players), MAX_PLAYERS), LEARNER, np.int16)
        self.reseat(seating, np.ones(len(num_players), np.bool_), num_players)
        return seating

    def reseat(self, seating: Seating, which: Flags, num_players: npt.NDArray[np.int64]) -> None:
        """Draw new seats in the games that `which` marks, (N,) bool. Opponents play in the last games of each number of
        players."""
        games = np.flatnonzero(which & self._with_opponents(num_players))
        if not games.size or not self.plays:
            return
        weights = (1.0 - np.array(list(self._rates()))) ** self.config.sharpness
        members = self._rng.choice(len(self.policies), games.size, p=weights / weights.sum())
        seating[games] = members[:, None]
        seating[games, self._rng.integers(0, num_players[games])] = LEARNER

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
        seating: Seating,
        rewards: npt.NDArray[np.float32],
        ended: Flags,
        num_players: npt.NDArray[np.int64],
    ) -> None:
        """Count the wins of the learner in the games that have ended: rewards (N, n), ended (N,)."""
        seats = np.arange(seating.shape[1]) < num_players[:, None]
        games = np.flatnonzero(ended & ((seating != LEARNER) & seats).any(axis=1))
        learner = (seating[games] == LEARNER).argmax(axis=1)
        member = np.where(learner == 0, seating[games, 1], seating[games, 0])
        for number in np.unique(member):
            won = rewards[games[member == number], learner[member == number]] > 0
            keep = 0.5 ** (won.size / self.HALF_LIFE)
            self.wins[number] = keep * self.wins[number] + int(won.sum())
            self.games[number] = keep * self.games[number] + won.size

    def seated(self, members: npt.NDArray[np.int16]) -> Iterator[tuple[int, Policy]]:
        """The policies of these members, each once with its number; `LEARNER` is left out."""
        for number in np.unique(members[members != LEARNER]):
            yield int(number), self.policies[number]

    def noise(self, games: int) -> Noise:
        """Keys for decisions of the opponents, (games,)."""
        return self._rng.integers(0, 2**64, games, np.uint64)

    # ---- Resuming ----

    def state(self) -> dict[str, Any]:
        """Everything but the policies and the seating, as plain values."""
        generator = self._rng.bit_generator.state
        return {"wins": self.wins, "games": self.games, "taken": self.taken, "generator": generator}

    def restore(self, state: dict[str, Any], snapshots: list[Policy]) -> None:
        """Continue from a `state`, with the same snapshots in the same places."""
        del self.policies[len(self.config.opponents) :]
        self.policies += snapshots
        self.wins, self.games, self.taken = list(state["wins"]), list(state["games"]), state["taken"]
        self._rng.bit_generator.state = state["generator"]
