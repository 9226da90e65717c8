"""Statistics of the benchmark on planted effects: intervals cover what is there, and small cases agree with a hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, trim_mean, ttest_1samp, ttest_ind

from agents.match.intervals import interval
from experiments.benchmark.run_statistics import (
    Interval,
    first_reached,
    hierarchical_difference,
    hierarchical_interval,
    interquartile_mean,
    normalized_score,
    performance_profile,
    probability_of_improvement,
    stratified_interval,
)

REPETITIONS = 300


class Planted:
    """Runs at a table of two whose log odds of a win are `level` plus normal effects of run and deal."""

    def __init__(self, level: float, run: float, deal: float) -> None:
        self.level, self.run, self.deal = level, run, deal

    def truth(self) -> float:
        """The win rate over all runs and deals."""
        at = np.linspace(-8, 8, 1001)
        weights = norm.pdf(at) / norm.pdf(at).sum()
        return float(weights @ (1 / (1 + np.exp(-self.level - np.hypot(self.run, self.deal) * at))))

    def play(self, rng: np.random.Generator, deals: np.ndarray, runs: int = 5) -> np.ndarray:
        """Shares of games won, (runs, D), on deals given as standard normal values, (D,)."""
        odds = self.level + self.run * rng.normal(size=(runs, 1)) + self.deal * deals
        return rng.binomial(2, 1 / (1 + np.exp(-odds))) / 2


def covers(found: Interval, truth: float) -> bool:
    return found.low <= truth <= found.high


# ---- Runs and deals ----


def test_the_hierarchical_interval_covers_a_planted_rate_and_deals_alone_do_not():
    """Five runs on 200 deals, 300 times.

    Seen to fail when runs are not resampled, and with the normal quantile in place of Student's."""
    rng = np.random.default_rng(1)
    planted = Planted(level=0.3, run=0.3, deal=1.0)
    both, deals_alone = [], []
    for seed in range(REPETITIONS):
        wins = planted.play(rng, rng.normal(size=200))
        both.append(covers(hierarchical_interval([wins], resamples=300, seed=seed), planted.truth()))
        deals_alone.append(covers(Interval(0.0, *interval(wins.mean(axis=0), 0.0, 1.0)), planted.truth()))

    assert 0.9 <= np.mean(both) <= 0.99
    assert np.mean(deals_alone) < 0.85


def test_the_interval_of_a_difference_covers_a_planted_one():
    """Seen to fail when the spread of the runs is halved."""
    rng = np.random.default_rng(2)
    strong, weak = Planted(0.3, 0.2, 1.0), Planted(0.0, 0.3, 1.0)
    truth = strong.truth() - weak.truth()
    covered = []
    for seed in range(REPETITIONS):
        deals = rng.normal(size=100)
        found = hierarchical_difference([strong.play(rng, deals)], [weak.play(rng, deals)], resamples=300, seed=seed)
        covered.append(covers(found, truth))

    assert 0.9 <= np.mean(covered) <= 0.99


def test_a_paired_difference_is_narrower_than_one_on_other_deals():
    """Runs that hardly differ, on deals that decide most games. Seen to fail when each side draws its own deals."""
    rng = np.random.default_rng(3)
    planted = Planted(0.0, 0.01, 3.0)
    one, other = (planted.play(rng, deals) for deals in [rng.normal(size=2000)] * 2)
    elsewhere = planted.play(rng, rng.normal(size=2000))

    paired, unpaired = (hierarchical_difference([one], [against]) for against in (other, elsewhere))

    assert paired.high - paired.low < 0.6 * (unpaired.high - unpaired.low)


def test_the_noise_of_single_games_counts_once():
    """With equal runs the interval is that of independent games. Seen to fail with `_share_of_runs` 1."""
    rng = np.random.default_rng(4)
    widths = []
    for seed in range(100):
        found = hierarchical_interval(
            [Planted(0.0, 0.0, 1.0).play(rng, rng.normal(size=200))], seed=seed, resamples=300
        )
        widths.append(found.high - found.low)
    low, high = interval(Planted(0.0, 0.0, 1.0).play(rng, rng.normal(size=200)).mean(axis=0), 0.0, 1.0)

    assert np.median(widths) == pytest.approx(high - low, rel=0.1)


def test_with_many_deals_the_interval_is_students_and_of_a_difference_welchs():
    """Runs that differ much. Seen to fail when the spread of the runs is not scaled or left out."""
    rng = np.random.default_rng(9)
    deals = rng.normal(size=5000)
    one, other = Planted(0.0, 0.5, 0.1).play(rng, deals), Planted(0.0, 0.5, 0.1).play(rng, deals, runs=3)

    found, difference = hierarchical_interval([one]), hierarchical_difference([one], [other])

    a, b = one.mean(axis=1), other.mean(axis=1)
    student, welch = ttest_1samp(a, 0).confidence_interval(), ttest_ind(a, b, equal_var=False).confidence_interval()
    assert (found.low, found.high) == pytest.approx((student.low, student.high), abs=0.01)
    assert (difference.low, difference.high) == pytest.approx((welch.low, welch.high), abs=0.01)


def test_a_hierarchical_value_is_the_statistic_of_the_runs():
    rng = np.random.default_rng(5)
    tasks = [rng.random((5, 40)), rng.random((3, 20))]
    runs = np.concatenate([task.mean(axis=1) for task in tasks])

    assert hierarchical_interval(tasks).mean == pytest.approx(runs.mean())
    assert hierarchical_interval(tasks, interquartile_mean).mean == pytest.approx(trim_mean(runs, 0.25))
    assert hierarchical_difference(tasks, tasks).mean == 0


def test_one_run_says_nothing_about_others():
    """Seen to fail without the check for one run."""
    wins = np.random.default_rng(6).random((1, 50))

    found = hierarchical_interval([wins])

    assert found.mean == pytest.approx(wins.mean())
    assert np.isnan([found.low, found.high]).all()
    assert np.isnan(stratified_interval([wins[:, 0]]).low)


def test_other_deals_are_refused():
    with pytest.raises(ValueError, match="task 0: the algorithms have 5 and 4 deals"):
        hierarchical_difference([np.zeros((2, 5))], [np.zeros((2, 4))])
    with pytest.raises(ValueError, match="have 1 and 2 tasks"):
        hierarchical_difference([np.zeros((2, 5))], [np.zeros((2, 5))] * 2)


# ---- Runs alone ----


def test_scores_put_a_random_policy_at_0_and_the_expert_at_1():
    assert normalized_score([0.1, 0.25, 0.4], random=0.1, fair=0.25).tolist() == pytest.approx([0, 1, 2])
    with pytest.raises(ValueError, match="must win less than the fair share"):
        normalized_score([0.1], random=0.6, fair=0.5)


def test_the_interquartile_mean_leaves_out_a_quarter_at_each_end():
    """By hand: of 8 values the 2 lowest and the 2 highest. Of 5 runs of a task, 1 and 1."""
    assert stratified_interval([np.array([9.0, 1, 2, 3]), np.array([4.0, 5, 6, 100])]).mean == (3 + 4 + 5 + 6) / 4
    assert interquartile_mean(np.array([[1.0, 2, 3, 4, 50], [5, 5, 5, 5, 5]])).tolist() == [3, 5]


def test_the_stratified_interval_is_that_of_each_task_resampled_alone():
    """Two tasks of very different scores: their distance is no noise. Seen to fail when all runs are drawn together."""
    rng = np.random.default_rng(7)
    found = stratified_interval([rng.normal(0, 0.1, 8), rng.normal(10, 0.1, 8)], statistic=lambda s: s.mean(axis=-1))

    assert found.high - found.low < 0.2
    assert found.low < 5 < found.high


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_the_probability_of_improvement_is_that_of_a_planted_shift(shift):
    """One of two normal values that differ by `shift` is larger with probability Phi(shift / sqrt 2).

    Seen to fail with the two algorithms swapped, and with ties counted as wins for equal scores below."""
    rng = np.random.default_rng(8)
    truth = norm.cdf(shift / np.sqrt(2))
    covered = []
    for seed in range(REPETITIONS):
        one, other = ([rng.normal(mean, 1, 10) for _ in range(2)] for mean in (shift, 0))
        covered.append(covers(probability_of_improvement(one, other, resamples=200, seed=seed), truth))

    assert 0.88 <= np.mean(covered) <= 0.99


def test_equal_scores_are_half_an_improvement():
    same = [np.array([1.0, 1, 2])]

    assert probability_of_improvement(same, same).mean == pytest.approx(0.5)
    assert probability_of_improvement([np.array([3.0, 3])], [np.array([1.0, 3])]).mean == 0.75


def test_a_profile_falls_from_all_runs_to_none():
    """The share is of runs above the threshold, averaged over tasks and not over runs."""
    scores = [np.array([0.2, 0.4]), np.array([0.4, 0.6, 0.8, 1.0])]

    found = performance_profile(scores, np.linspace(-0.1, 1.1, 25))

    assert found.share[0] == 1
    assert found.share[-1] == 0
    assert (np.diff(found.share) <= 0).all()
    assert ((found.low <= found.share) & (found.share <= found.high)).all()
    assert performance_profile(scores, [0.4]).share.tolist() == [(0 + 3 / 4) / 2]
    assert performance_profile([np.array([0.4, 0.4])], [0.4]).high.tolist() == [0]


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([], "one task or more are needed"),
        ([np.zeros((2, 2))], r"task 0: scores must have the shape \(runs,\), got \(2, 2\)"),
        ([np.zeros(2), np.array([1.0, np.nan])], "task 1: scores must be finite"),
    ],
)
def test_bad_scores_are_refused(scores, message):
    with pytest.raises(ValueError, match=message):
        stratified_interval(scores)


# ---- Time to the expert ----


def test_a_level_is_reached_between_two_points():
    """Seen to fail when the point itself is taken, or the last crossing."""
    assert first_reached([0, 10, 20, 30, 40], [0, 0.8, 1.3, 0.9, 1.5]) == pytest.approx(14)


def test_a_curve_that_stays_below_is_censored():
    """Seen to fail when the end of the curve is returned."""
    assert first_reached([0, 10], [0, 0.99]) == np.inf
    assert np.median([first_reached([0, 10], [0, top]) for top in (2, 1, 0.5)]) == pytest.approx(10)


def test_a_curve_that_begins_above_is_there_at_once():
    assert first_reached([5, 10], [1.2, 0.5]) == 5


def test_a_bad_curve_is_refused():
    with pytest.raises(ValueError, match="as many places as scores"):
        first_reached([0, 1], [0.5])
    with pytest.raises(ValueError, match="in order"):
        first_reached([1, 0], [0, 1])
