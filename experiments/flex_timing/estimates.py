"""Means over independent deals with their intervals, and the correction for many comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtr

from agents.match.intervals import CONFIDENCE, interval

Floats = npt.NDArray[np.float64]
Key = TypeVar("Key")


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval; the deal is the unit."""

    mean: float
    low: float
    high: float
    deals: int
    p: float = 1.0
    """Two-sided p-value of the null hypothesis: 0, or the `null` that was given."""
    adjusted: float = 1.0
    """The p-value after Holm's correction for the family of comparisons."""

    @property
    def sure(self) -> bool:
        """Whether the mean differs from the null hypothesis at a level of 5 % after the correction."""
        return self.adjusted < 0.05


def estimate(values: npt.ArrayLike, least: float = -1.0, most: float = 1.0, null: float = 0.0) -> Estimate:
    """The mean of one value for each deal, with the interval of match play: Student's t with one deal of each extreme
    added. The p-value belongs to the same statistic.

    Args:
        values: (D,), one for each deal.
        least: the lowest possible value.
        most: the highest possible value.
        null: the mean under the null hypothesis.

    Raises:
        ValueError: there is no value.
    """
    numbers = np.asarray(values, np.float64)
    if not numbers.size:
        raise ValueError("an estimate needs at least one deal, got none")
    low, high = interval(numbers, least, most)
    padded = np.append(numbers, (least, most))
    error = padded.std(ddof=1) / np.sqrt(padded.size)
    p = 2 * float(stdtr(padded.size - 1, -abs(padded.mean() - null) / error))
    return Estimate(float(numbers.mean()), low, high, numbers.size, p)


def ratio(part: npt.ArrayLike, whole: npt.ArrayLike, null: float = 0.0) -> Estimate:
    """The ratio sum(part) / sum(whole) over deals, linearized (Cochran, Sampling Techniques, 6.4); NaN where fewer than
    two deals have anything to count.

    Args:
        part: (D,), what was counted in each deal.
        whole: (D,), out of how many.
        null: the ratio under the null hypothesis.
    """
    parts, wholes = np.asarray(part, np.float64), np.asarray(whole, np.float64)
    parts, wholes = parts[wholes > 0], wholes[wholes > 0]
    if wholes.size < 2:
        return Estimate(np.nan, np.nan, np.nan, wholes.size)
    mean = float(parts.sum() / wholes.sum())
    linear = mean + (parts - mean * wholes) / wholes.mean()
    error = max(float(linear.std(ddof=1)) / np.sqrt(wholes.size), 1e-12)
    # scipy's quantile, by the interval of match play on values that no extreme bounds
    least, most = float(linear.min()), float(linear.max())
    if least == most and 0.0 <= mean <= 1.0:  # a share on which all deals agree still has an interval
        least, most = 0.0, 1.0
    low, high = interval(linear, least, most)
    p = 2 * float(stdtr(wholes.size - 1, -abs(mean - null) / error))
    return Estimate(mean, low, high, wholes.size, p)


def difference(one: Estimate, other: Estimate) -> Estimate:
    """One estimate minus another, with an interval from the widths of their intervals. Both are taken as independent;
    for estimates from the same deals the interval is wider than necessary."""
    mean = one.mean - other.mean
    half = float(np.hypot(one.high - one.low, other.high - other.low)) / 2
    p = 2 * float(ndtr(-abs(mean) * ndtri((1 + CONFIDENCE) / 2) / half))
    return Estimate(mean, mean - half, mean + half, min(one.deals, other.deals), p)


def holm(family: Mapping[Key, Estimate]) -> dict[Key, Estimate]:
    """The same estimates with adjusted p-values. If you claim a difference where one is below 0.05, the chance of any
    false claim in the family is at most 5 % (Holm, Scand. J. Statist. 6, 1979)."""
    order = sorted(family, key=lambda key: family[key].p)
    adjusted, reached = dict[Key, Estimate](), 0.0
    for place, key in enumerate(order):
        reached = max(reached, min(1.0, (len(order) - place) * family[key].p))
        adjusted[key] = replace(family[key], adjusted=reached)
    return {key: adjusted[key] for key in family}


def by_group(groups: npt.NDArray[Any], values: Floats, enough: int = 50, **bounds: float) -> dict[Any, Estimate]:
    """An estimate for each group with enough deals; all of them are one family for `holm`."""
    family = {}
    for group in np.unique(groups):
        inside = values[groups == group]
        if inside.size >= enough:
            family[group.item()] = estimate(inside, **bounds)
    return holm(family)


def points(value: Estimate, signed: bool = True) -> str:
    """An estimate as text in percentage points. With `signed`, a star marks a `sure` difference."""
    if np.isnan(value.mean):
        return "-"
    numbers = [round(100 * number, 1) + 0.0 for number in (value.mean, value.low, value.high)]  # no -0.0
    sign = "+" if signed else ""
    star = "*" if signed and value.sure else ""
    return f"{numbers[0]:{sign}.1f}{star} [{numbers[1]:{sign}.1f}, {numbers[2]:{sign}.1f}]"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
