"""Cross tables: one seat of each policy against each other policy in all other seats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

from agents.match.intervals import CONFIDENCE
from agents.match.results import MatchResult, Rate
from agents.match.runner import duel
from agents.policy_factory import make_policy
from experiments.match_tables.match_settings import games_of

CORNER = "one against"


@dataclass(frozen=True, eq=False)
class CrossTable:
    """The results of all pairs of policies at one number of players."""

    policies: tuple[str, ...]
    num_players: int
    results: tuple[MatchResult, ...]
    """The results by (policy of the one seat, policy of all other seats). At two players each pair is there once."""

    def rate(self, one: str, others: str) -> Rate:
        """The win rate of one seat of `one` when `others` has all other seats."""
        for result in self.results:
            if result.policies == (one, others) or (self.num_players == 2 and set(result.policies) == {one, others}):
                return result.rate(one)
        raise ValueError(f"{one} has not met a table of {others}")

    def __str__(self) -> str:
        """A table to print: a row for the policy of the one seat, a column for the policy of the others."""
        width = max(map(len, (*self.policies, CORNER)))
        cell = max(*map(len, self.policies), len("100.0 [100.0, 100.0]"))
        head = f"{self.num_players} players: wins of one (row) against {self.num_players - 1} of another (column) in %"
        lines = [f"{head}, {100 * CONFIDENCE:g} % intervals; fair share {100 / self.num_players:.1f} %", ""]
        lines.append("  ".join([f"{CORNER:{width}}", *(f"{name:>{cell}}" for name in self.policies)]))
        for one in self.policies:
            cells = ["-" if one == others else _cell(self.rate(one, others)) for others in self.policies]
            lines.append("  ".join([f"{one:{width}}", *(f"{text:>{cell}}" for text in cells)]))
        return "\n".join([*lines, "", self._footer()])

    def _footer(self) -> str:
        games = sum(result.num_games for result in self.results)
        decisions = sum(int(result.decisions.sum()) for result in self.results)
        none, truncated = (sum(getattr(r, name) for r in self.results) for name in ("no_winner", "truncated"))
        ends = f"; {none:,} without a winner, {truncated:,} truncated" if none or truncated else ""
        return f"{games:,} games, {decisions / games:.1f} decisions each{ends}"


def pairings(policies: Sequence[str], num_players: int) -> list[tuple[str, str]]:
    """The duels of a cross table, as (one, others). At two players each pair meets once."""
    pairs = permutations(policies, 2)
    return [(one, others) for one, others in pairs if num_players > 2 or policies.index(one) < policies.index(others)]


def games_of_cross_table(policies: Sequence[str], num_players: int, games: int) -> int:
    """The number of games in a cross table, with `games` of each pair rounded up to whole deals."""
    return games_of(games, num_players) * len(pairings(policies, num_players))


def cross_table(policies: Sequence[str], num_players: int, **options: Any) -> CrossTable:
    """Play all duels of these policies on the same deals. Options as in `play_match`.

    Raises:
        ValueError: there are fewer than two policies, two of the same name, or an unknown one.
    """
    names = tuple(make_policy(policy).name for policy in policies)  # refuses an unknown one before the first game
    check_policies(names)
    results = tuple(duel(one, others, num_players, **options) for one, others in pairings(policies, num_players))
    return CrossTable(names, num_players, results)


def _cell(rate: Rate) -> str:
    return f"{100 * rate.mean:.1f} [{100 * rate.low:.1f}, {100 * rate.high:.1f}]"


def check_policies(policies: Sequence[str]) -> None:
    """ValueError unless these are two or more different names."""
    if len(policies) < 2:
        raise ValueError(f"two policies or more, got {' '.join(policies) or 'none'}")
    for name, count in Counter(policies).items():
        if count > 1:
            raise ValueError(f"each policy once, got {name} {count} times")
