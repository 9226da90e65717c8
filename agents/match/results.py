"""Results of matches: win rates, and all games as a table."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from agents.match.games import NO_WINNER, TRUNCATED
from agents.match.intervals import CONFIDENCE, interval
from uno_flex_env.rules import Rules


@dataclass(frozen=True)
class Rate:
    """The share of games that one seat of a policy wins, its interval, and the fair share."""

    mean: float
    low: float
    high: float
    fair: float
    deals: int

    def __str__(self) -> str:
        return f"{100 * self.mean:.1f} % [{100 * self.low:.1f}, {100 * self.high:.1f}]"


@dataclass(frozen=True, eq=False)
class MatchResult:
    """The result of a match of D deals in R seatings."""

    policies: tuple[str, ...]
    """The names of the policies."""
    lineup: tuple[int, ...]
    """The policy in each seat of the first seating, by its index in `policies`. In seating r each policy sits r seats
    further on."""
    seed: int
    rules: Rules
    winners: npt.NDArray[np.int8]
    """(D, R), the winning seat, NO_WINNER or TRUNCATED."""
    decisions: npt.NDArray[np.int32]
    """(D, R), decisions in the game."""
    confidence: float = CONFIDENCE
    """Level of the intervals. In a match that could stop early it is the level of the last look, which is higher."""

    @property
    def num_players(self) -> int:
        return len(self.lineup)

    @property
    def num_games(self) -> int:
        return self.winners.size

    @property
    def no_winner(self) -> int:
        """Rounds that ended without a winner (rules 3)."""
        return int((self.winners == NO_WINNER).sum())

    @property
    def truncated(self) -> int:
        """Games cut off by `max_decisions` of `play_match`. They have no winner."""
        return int((self.winners == TRUNCATED).sum())

    @cached_property
    def winning_policies(self) -> npt.NDArray[np.int8]:
        """(D, R), the winner by its index in `policies`, or -1."""
        place = (self.winners - np.arange(self.winners.shape[1])) % self.num_players  # in the line-up
        return np.where(self.winners >= 0, np.array(self.lineup, np.int8)[place], np.int8(-1))

    @cached_property
    def wins(self) -> npt.NDArray[np.bool_]:
        """(D, R, policies), whether the policy has won the game."""
        won: npt.NDArray[np.bool_] = self.winning_policies[..., None] == np.arange(len(self.policies))
        return won

    def by_deal(self, policy: str | int) -> npt.NDArray[np.float64]:
        """(D,), the share of a deal's games that one seat of this policy wins; among equals 1 / num_players."""
        index = self._index(policy)
        share: npt.NDArray[np.float64] = self.wins[..., index].mean(axis=1) / self.lineup.count(index)
        return share

    def rate(self, policy: str | int) -> Rate:
        """The win rate of one seat of this policy."""
        return self._rate(self.by_deal(policy), 1 / self.lineup.count(self._index(policy)))

    def seat_rates(self) -> tuple[Rate, ...]:
        """The win rate of each seat over all policies that sat there; seat 0 begins."""
        return tuple(self._rate((self.winners == seat).mean(axis=1), 1.0) for seat in range(self.num_players))

    def _rate(self, by_deal: npt.NDArray[np.float64], most: float) -> Rate:
        low, high = interval(by_deal, 0.0, most, self.confidence)
        return Rate(float(by_deal.mean()), low, high, 1 / self.num_players, len(by_deal))

    def _index(self, policy: str | int) -> int:
        if policy in self.policies:
            return self.policies.index(str(policy))
        if isinstance(policy, int) and 0 <= policy < len(self.policies):
            return policy
        raise ValueError(f"no such policy in this match: {policy!r}; there are {', '.join(self.policies)}")

    def __str__(self) -> str:
        """A table for people."""
        width = max(map(len, self.policies))
        level = f"{100 * self.confidence:.4g} % interval"
        lines = [f"{'policy':{width}}  seats  wins a seat, {level:16}  fair share"]
        for index, name in enumerate(self.policies):
            rate = self.rate(index)
            lines.append(f"{name:{width}}  {self.lineup.count(index):>5}  {rate!s:>29}  {100 * rate.fair:>8.1f} %")
        lines.append(
            f"{self.num_games:,} games of {len(self.winners):,} deals, {self.decisions.mean():.1f} decisions each"
        )
        if self.no_winner or self.truncated:
            lines.append(f"{self.no_winner:,} without a winner, {self.truncated:,} truncated")
        return "\n".join(lines)


def games_table(results: Sequence[MatchResult]) -> pa.Table:
    """All games of some matches, one a row, for Parquet. The metadata "matches" hold the settings as JSON."""
    games = pa.concat_tables([_games_of(number, result) for number, result in enumerate(results)])
    matches = [
        {
            "policies": result.policies,
            "lineup": result.lineup,
            "seed": result.seed,
            "rules": result.rules.to_dict(),
            "confidence": result.confidence,
        }
        for result in results
    ]
    return games.replace_schema_metadata({"matches": json.dumps(matches)})


def _games_of(number: int, result: MatchResult) -> pa.Table:
    deals, seatings = result.winners.shape
    names = [*result.policies, None]  # index -1, no winner, is the last
    games = result.num_games
    return pa.table(
        {
            "match": np.full(games, number, np.int32),
            "lineup": pa.array([" ".join(result.policies[p] for p in result.lineup)] * games).dictionary_encode(),
            "num_players": np.full(games, result.num_players, np.int8),
            "deal": np.repeat(np.arange(deals, dtype=np.int32), seatings),
            "seating": np.tile(np.arange(seatings, dtype=np.int8), deals),
            "winner": pa.array([names[p] for p in result.winning_policies.ravel()], pa.string()).dictionary_encode(),
            "winning_seat": result.winners.ravel(),
            "decisions": result.decisions.ravel(),
        }
    )
