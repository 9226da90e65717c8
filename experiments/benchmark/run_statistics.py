"""Statistics of runs, from a few runs of each algorithm on each task.

A result has two sources of noise: runs, which differ by their seeds, and deals. `hierarchical_interval` and
`hierarchical_difference` hold both. The other intervals resample runs only, as the field does (Agarwal et al.,
arXiv:2108.13264, and its library rliable), so that they can be compared with published ones.

Scores are given as one array for each task, (R,), a value for each run; or, where deals count too, (R, D), a value for
each run and deal. Tasks may have different numbers of runs. The same arguments give the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit
from scipy.stats import trim_mean

from agents.match.intervals import CONFIDENCE

Floats = npt.NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""Takes scores of all runs, (..., N), to one value, (...)."""

RESAMPLES = 10_000
"""Resamples of a bootstrap."""
ENDS = ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)


@dataclass(frozen=True)
class Interval:
    """A value and its 95 % interval. The ends are NaN where there is only one run, which says nothing about others."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Profile:
    """A performance profile: the share of runs that score more than each threshold, averaged over the tasks."""

    thresholds: Floats
    """(K,)"""
    share: Floats
    """(K,)"""
    low: Floats
    """(K,), the lower ends of pointwise 95 % intervals."""
    high: Floats
    """(K,)"""


def normalized_score(wins: npt.ArrayLike, random: float, fair: float) -> Floats:
    """Scores in which a random policy has 0 and the expert 1.

    Args:
        wins: win rates of one seat at tables of `expert`, of any shape.
        random: the win rate of a random policy there.
        fair: the fair share, which the expert has there.

    Raises:
        ValueError: the random policy wins at least a fair share.
    """
    if not random < fair:
        raise ValueError(f"a random policy must win less than the fair share {fair:g}, got {random:g}")
    return np.asarray((np.asarray(wins, np.float64) - random) / (fair - random))


def mean(scores: Floats) -> Floats:
    """The mean over the last axis."""
    return np.asarray(scores.mean(axis=-1))


def interquartile_mean(scores: Floats) -> Floats:
    """The mean of the middle half over the last axis; of N values, the N // 4 lowest and highest are left out."""
    return np.asarray(trim_mean(scores, 0.25, axis=-1))


def stratified_interval(
    scores: Sequence[Floats], statistic: Statistic = interquartile_mean, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """A statistic of all runs of all tasks, with the percentile interval of a bootstrap over the runs of each task."""
    checked = _checked(scores, 1)
    rng = np.random.default_rng(seed)
    drawn = np.concatenate([_resampled(runs, rng, resamples) for runs in checked], axis=1)
    return _percentiles(statistic(np.concatenate(checked)), statistic(drawn), checked)


def performance_profile(
    scores: Sequence[Floats], thresholds: npt.ArrayLike, resamples: int = RESAMPLES, seed: int = 0
) -> Profile:
    """The performance profile of an algorithm; bands as in `stratified_interval`."""
    at = np.asarray(thresholds, np.float64)
    checked = _checked(scores, 1)
    rng = np.random.default_rng(seed)
    share = np.mean([(runs[:, None] > at).mean(axis=0) for runs in checked], axis=0)
    drawn = np.zeros((resamples, at.size))
    for runs in checked:
        picks = np.sort(_resampled(runs, rng, resamples), axis=1)
        drawn += np.stack([1 - np.searchsorted(row, at, side="right") / runs.size for row in picks]) / len(checked)
    low, high = np.quantile(drawn, ENDS, axis=0)
    return Profile(at, share, low, high)


def probability_of_improvement(
    one: Sequence[Floats], other: Sequence[Floats], resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """How likely a run of one algorithm scores more than a run of another on the same task, averaged over the tasks.
    Equal scores count half. The interval is that of `stratified_interval`, with both algorithms resampled."""
    ours, theirs = _checked(one, 1), _checked(other, 1)
    _check_tasks(ours, theirs)
    rng = np.random.default_rng(seed)
    value, drawn = 0.0, np.zeros(resamples)
    for a, b in zip(ours, theirs, strict=True):
        better = (np.sign(a[:, None] - b) + 1) / 2
        value += better.mean() / len(ours)
        rows, columns = (rng.integers(size, size=(resamples, size)) for size in better.shape)
        drawn += better[rows[:, :, None], columns[:, None, :]].mean(axis=(1, 2)) / len(ours)
    return _percentiles(np.asarray(value), drawn, [*ours, *theirs])


def hierarchical_interval(
    by_deal: Sequence[Floats], statistic: Statistic = mean, resamples: int = RESAMPLES, seed: int = 0
) -> Interval:
    """A statistic of one algorithm's runs, with an interval that holds for other runs and other deals.

    The bootstrap resamples the runs of each task and, apart from them, the deals, which all runs of a task share (a
    crossed design: Owen, Ann. Appl. Stat. 1, 2007). A run's score is its mean over the deals. The interval is the
    value plus or minus the standard deviation of the resamples times Student's quantile, with the degrees of freedom
    of Welch and Satterthwaite: percentiles of three or five runs would be too narrow. For the same reason the spread
    of R runs is scaled by sqrt(R / (R - 1)). The noise of single games, which is in the means of runs and of deals,
    counts once.

    Args:
        by_deal: for each task the scores of each run in each deal, (R, D). Column d is the same deal for all runs.
        statistic: of the scores of all runs of all tasks.
        resamples: how many.
        seed: fixes the resamples.
    """
    return _hierarchical([by_deal], statistic, resamples, seed)


def hierarchical_difference(
    one: Sequence[Floats],
    other: Sequence[Floats],
    statistic: Statistic = mean,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """The statistic of one algorithm minus that of another, as in `hierarchical_interval`.

    Both have played the same deals, so each resample takes the same deals for both, and what the cards decide cancels.

    Raises:
        ValueError: the two have different tasks or deals.
    """
    _check_tasks(one, other)
    for task, (a, b) in enumerate(zip(one, other, strict=True)):
        if np.shape(a)[-1] != np.shape(b)[-1]:
            raise ValueError(f"task {task}: the algorithms have {np.shape(a)[-1]} and {np.shape(b)[-1]} deals")
    return _hierarchical([one, other], statistic, resamples, seed)


def first_reached(at: npt.ArrayLike, scores: npt.ArrayLike, level: float = 1.0) -> float:
    """Where a learning curve first reaches a level, linearly interpolated; infinite if it never does.

    An infinite value is censored at the end of the curve: medians over runs hold, means do not.

    Args:
        at: (P,), seconds or decisions at each point, rising.
        scores: (P,).
        level: the score to reach; 1 is `expert`.

    Raises:
        ValueError: the shapes differ, or `at` falls.
    """
    x, y = np.asarray(at, np.float64), np.asarray(scores, np.float64)
    if x.ndim != 1 or x.shape != y.shape or not x.size:
        raise ValueError(f"a curve needs as many places as scores, one or more, got {x.shape} and {y.shape}")
    if (np.diff(x) < 0).any():
        raise ValueError("the points of a curve must be in order")
    reached = np.flatnonzero(y >= level)
    if not reached.size:
        return np.inf
    point = reached[0]
    if point == 0:
        return float(x[0])
    return float(np.interp(level, y[point - 1 : point + 1], x[point - 1 : point + 1]))


def _hierarchical(sides: Sequence[Sequence[Floats]], statistic: Statistic, resamples: int, seed: int) -> Interval:
    """The statistic of the first side minus that of the second, if there is one."""
    checked = [_checked(tasks, 2) for tasks in sides]
    signs = (1, -1)[: len(sides)]
    value = sum(
        sign * float(statistic(np.concatenate([task.mean(axis=1) for task in tasks])))
        for sign, tasks in zip(signs, checked, strict=True)
    )
    if any(len(task) < 2 for tasks in checked for task in tasks):
        return Interval(value, np.nan, np.nan)
    rng = np.random.default_rng(seed)
    by_task = zip(*checked, strict=True)
    moves = [_moved_by_deals(np.stack([side.mean(axis=0) for side in task]), rng, resamples) for task in by_task]
    total, spread = np.zeros(resamples), 0.0
    for side, (sign, tasks) in enumerate(zip(signs, checked, strict=True)):
        runs = [_around_mean(task.mean(axis=1), rng, resamples) for task in tasks]
        alone = [task.mean() + around for task, around in zip(tasks, runs, strict=True)]
        both = [
            task.mean() + _share_of_runs(task) * around + move[side][:, None]
            for task, around, move in zip(tasks, runs, moves, strict=True)
        ]
        total += sign * statistic(np.concatenate(both, axis=1))
        spread += statistic(np.concatenate(alone, axis=1)).var(ddof=1) ** 2 / sum(len(task) - 1 for task in tasks)
    variance = total.var(ddof=1)
    freedom = variance**2 / spread if spread > 0 else np.inf
    half = float(stdtrit(freedom, ENDS[1]) * np.sqrt(variance))
    return Interval(value, value - half, value + half)


def _around_mean(runs: Floats, rng: np.random.Generator, resamples: int) -> Floats:
    """Resampled runs less their mean, (resamples, R), scaled so that the variance of the mean is unbiased."""
    around: Floats = np.sqrt(runs.size / (runs.size - 1)) * (_resampled(runs, rng, resamples) - runs.mean())
    return around


def _share_of_runs(by_deal: Floats) -> float:
    """How much of the spread of the runs' means is due to the runs themselves, in [0, 1]; the rest is the noise of
    single games, which the resampled deals hold already. By the analysis of variance of a crossed design."""
    runs, deals = by_deal.shape
    if deals < 2:
        return 1.0
    rows, columns = by_deal.mean(axis=1, keepdims=True), by_deal.mean(axis=0)
    games = np.square(by_deal - rows - columns + by_deal.mean()).sum() / ((runs - 1) * (deals - 1))
    between = deals * rows.var(ddof=1)
    return float(np.sqrt(max(0.0, 1 - games / between))) if between > 0 else 0.0


def _moved_by_deals(values: Floats, rng: np.random.Generator, resamples: int) -> Floats:
    """How far the means of the rows of `values`, (sides, D), move in resamples of the columns, (sides, resamples)."""
    # Columns with equal values are drawn together: win rates have few values, and there are thousands of deals.
    columns, counts = np.unique(values, axis=1, return_counts=True)
    deals = values.shape[1]
    drawn = rng.multinomial(deals, counts / deals, size=resamples) / deals
    moved: Floats = columns @ drawn.T - values.mean(axis=1, keepdims=True)
    return moved


def _resampled(runs: Floats, rng: np.random.Generator, resamples: int) -> Floats:
    """Runs drawn with replacement, (resamples, R)."""
    drawn: Floats = runs[rng.integers(runs.size, size=(resamples, runs.size))]
    return drawn


def _percentiles(value: Floats, drawn: Floats, scores: Sequence[Floats]) -> Interval:
    if any(runs.size < 2 for runs in scores):
        return Interval(float(value), np.nan, np.nan)
    low, high = np.quantile(drawn, ENDS)
    return Interval(float(value), float(low), float(high))


def _checked(scores: Sequence[npt.ArrayLike], dimensions: int) -> list[Floats]:
    """The arrays of all tasks; ValueError unless they have this shape and finite values."""
    if not len(scores):
        raise ValueError("scores of one task or more are needed, got none")
    arrays = [np.asarray(task, np.float64) for task in scores]
    for number, task in enumerate(arrays):
        if task.ndim != dimensions or not task.size:
            shape = "(runs,)" if dimensions == 1 else "(runs, deals)"
            raise ValueError(f"task {number}: scores must have the shape {shape}, got {task.shape}")
        if not np.isfinite(task).all():
            raise ValueError(f"task {number}: scores must be finite")
    return arrays


def _check_tasks(one: Sequence[Floats], other: Sequence[Floats]) -> None:
    if len(one) != len(other):
        raise ValueError(f"the algorithms have {len(one)} and {len(other)} tasks")
