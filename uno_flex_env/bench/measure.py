"""Contestants, and a race between them in which all meet the same load of the machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Race = dict[str, list[float]]
"""For each contestant one value a run."""

Work = Callable[[int], float]
"""Does so many units of work and returns the value measured, as units a second."""


@dataclass(frozen=True)
class Contestant:
    """Something whose speed is measured."""

    name: str
    run: Work
    amount: int | None = None
    """For each run; None: as many as take the time that a run shall have."""


@dataclass(frozen=True)
class Figure:
    """A line of the report: one value a run, of which the median counts."""

    name: str
    group: str
    label: str
    unit: str
    values: tuple[float, ...]
    target: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.values)


def rate(work: Callable[[], int]) -> float:
    """Units a second, for work that returns how many units it has done."""
    begin = time.perf_counter()
    done = work()
    return done / (time.perf_counter() - begin)


def amount_for(run: Work, seconds: float) -> int:
    """How much work takes about so long; finding out warms everything up."""
    amount = 1
    while True:
        begin = time.perf_counter()
        run(amount)
        elapsed = time.perf_counter() - begin
        if elapsed >= seconds / 4:
            return max(1, round(amount * seconds / elapsed))
        amount *= 2


def race(contestants: Sequence[Contestant], runs: int, seconds: float, advance: Callable[[], None]) -> Race:
    """Let all run in turn, `runs` times: the values of one turn are of the same seconds, so their ratios mean something
    on a machine with other work too. `advance` is called after each."""
    amounts = []
    for each in contestants:
        amounts.append(amount_for(each.run, seconds) if each.amount is None else each.amount)
        advance()
    values: Race = {each.name: [] for each in contestants}
    for _ in range(runs):
        for each, amount in zip(contestants, amounts, strict=True):
            values[each.name].append(each.run(amount))
            advance()
    return values


def ratios(values: Race, above: str, below: str) -> tuple[float, ...]:
    """The ratio of two contestants in each run."""
    return tuple(a / b for a, b in zip(values[above], values[below], strict=True))
