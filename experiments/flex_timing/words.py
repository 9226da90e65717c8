"""Sentences about estimates: what they say never goes beyond the intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.flex_timing.estimates import Estimate, points
from experiments.flex_timing.findings import bin_label


def listed(words: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def each(cells: Mapping[int, Estimate]) -> str:
    """The number at every table."""
    return listed([f"{points(value)} at {players} players" for players, value in cells.items()]) or "nothing measured"


def caption(what: str, verb: str, cells: Mapping[int, Estimate], more: str, less: str) -> str:
    """Where a difference is beyond doubt and which way, and where it is not.

    >>> cells = {2: Estimate(0.02, 0.01, 0.03, 100, 0.0, 0.0), 3: Estimate(0.01, -0.01, 0.03, 100)}
    >>> caption("Flexing", "is worth", cells, "more than holding", "less than holding")
    'Flexing is worth 2.0 points more than holding at 2 players; no difference is beyond doubt at 3 players.'
    """
    sure = {players: value for players, value in cells.items() if value.sure}
    parts = []
    for sign, than in ((1, more), (-1, less)):
        here = {players: value for players, value in sure.items() if value.mean * sign > 0}
        if here:
            amounts = listed([f"{abs(100 * value.mean):.1f}" for value in here.values()])
            parts.append(f"{verb} {amounts} points {than} at {listed(list(map(str, here)))} players")
    if unclear := [str(players) for players in cells if players not in sure]:
        parts.append(f"no difference is beyond doubt at {listed(unclear)} players")
    return f"{what} {'; '.join(parts)}." if sure else f"{what}: {parts[0]}." if parts else ""


def beyond_doubt(what: str, feature: str, cells: Mapping[int, Mapping[int, Estimate]]) -> str:
    """Which cells of a table by players and bins of a feature are different from zero beyond doubt."""
    parts = []
    for players, line in cells.items():
        sure = [f"{bin_label(feature, begin)} ({100 * value.mean:+.1f})" for begin, value in line.items() if value.sure]
        if sure:
            parts.append(f"{listed(sure)} at {players} players")
    return f"{what} it is beyond doubt with {'; with '.join(parts)}." if parts else ""


def verdict(one: Estimate, other: Estimate) -> str:
    """How often one does something beside another: intervals that overlap leave it open."""
    if one.low > other.high:
        return "more often than others"
    return "less often than others" if one.high < other.low else "about as often as others"
