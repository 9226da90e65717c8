"""The table of an ablation: what each heuristic of the expert is worth."""

from __future__ import annotations

from collections.abc import Sequence

from agents.match.intervals import CONFIDENCE
from agents.match.results import Rate


def worth_table(without: Sequence[str], players: Sequence[int], games: int, worth: Sequence[Sequence[Rate]]) -> str:
    """A table to print: a row for each heuristic left out, a column for each number of players.

    Args:
        worth: the win rate of the whole expert in each cell, by row and column.
    """
    width, cell = max(map(len, (*without, "without"))), len("+10.0 [+10.0, +10.0]")
    head = "  ".join([f"{'without':{width}}", *(f"{f'{n} players':>{cell}}" for n in players)])
    lines = [
        f"{'  '.join([f'{name:{width}}', *(f'{points(rate):>{cell}}' for rate in rates)])}"
        for name, rates in zip(without, worth, strict=True)
    ]
    unit = f"points of win rate above a fair share, {100 * CONFIDENCE:g} % intervals, {games:,} games each"
    return "\n".join([f"the expert in one seat, itself without a heuristic in all others: {unit}", "", head, *lines])


def points(rate: Rate) -> str:
    """A rate minus the fair share, in percentage points with its interval."""
    mean, low, high = (100 * (value - rate.fair) for value in (rate.mean, rate.low, rate.high))
    return f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]"
