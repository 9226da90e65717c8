"""Ratings: planted strengths are recovered at tables of all sizes, as the library's own estimate has it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import choix
import numpy as np
import pytest

from agents.match.ratings import POINTS, ratings, strengths
from agents.match.results import MatchResult
from uno_flex_env import Rules

STRENGTHS = {"weak": 1.0, "fair": 2.0, "good": 3.0, "best": 6.0}


def planted(lineup: Sequence[str], deals: int = 4000, seed: int = 0, luck: float = 0.0) -> MatchResult:
    """A match won by the law of Plackett and Luce.

    With this chance a deal has luck of its own: all its games are won by whoever has won the first.
    """
    policies = tuple(dict.fromkeys(lineup))
    seats = np.array([policies.index(name) for name in lineup])
    n = len(seats)
    rng = np.random.default_rng([seed, *map(ord, "".join(lineup))])
    chairs = seats[(np.arange(n) - np.arange(n)[:, None]) % n]  # (seatings, seats)
    power = np.array([STRENGTHS[name] for name in policies])[chairs]
    noise = -np.log(rng.random((deals, n, n)))
    winners = (noise / power).argmin(axis=2)  # the least of exponential times: the chance is in proportion to power
    same = rng.random(deals) < luck
    first = chairs[0, winners[:, 0]]
    again = np.array([[list(chair).index(policy) for chair in chairs] for policy in range(len(policies))])
    winners[same] = again[first[same]]
    seats_of = tuple(int(seat) for seat in seats)
    return MatchResult(policies, seats_of, seed, Rules(), winners.astype(np.int8), np.ones((deals, n), np.int32))


def test_planted_strengths_are_recovered_at_tables_of_all_sizes():
    """Two, three and five players, one policy in several seats; in points above the anchor.

    Seen red with every policy counted as having one seat, and with the points of another base."""
    results = [
        planted(["weak", "fair"]),
        planted(["fair", "good", "best"]),
        planted(["weak", "best", "best", "best", "best"]),
    ]

    rated = ratings(results, "fair", resamples=200)

    assert [rating.policy for rating in rated] == ["weak", "fair", "good", "best"]
    for rating in rated:
        truth = 400 * np.log10(STRENGTHS[rating.policy] / 2)
        assert rating.low <= truth <= rating.high
        assert rating.high - rating.low < 40
    assert rated[1].mean == rated[1].low == rated[1].high == 0.0


def test_ratings_are_those_of_the_library_from_single_games():
    """`choix.mm_top1` maximizes the same likelihood, game by game.

    Seen red with pairs that are not weighted by their table."""
    results = [planted(["weak", "fair", "fair", "good"], deals=100), planted(["best", "good", "weak"], deals=50)]
    names = ["weak", "fair", "good", "best"]
    games = [
        (names.index(won), tuple(names.index(name) for name in others))
        for result in results
        for won, others in single_games(result)
    ]
    tables = [np.array([1.0, 2, 1, 0]), np.array([1.0, 0, 1, 1])]
    wins = [
        np.array([(r.wins[..., r.policies.index(n)].sum() if n in r.policies else 0) for n in names]) for r in results
    ]

    ours = strengths(tables, wins, pseudo_wins=0.0)

    assert ours == pytest.approx(choix.mm_top1(4, games), abs=1e-5)


def single_games(result: MatchResult) -> list[tuple[str, list[str]]]:
    """Winner and losers."""
    games = []
    for policy in result.winning_policies.ravel():
        others = [result.policies[seat] for seat in result.lineup]
        others.remove(result.policies[policy])
        games.append((result.policies[policy], others))
    return games


@pytest.mark.slow
@pytest.mark.parametrize("luck", [0.0, 0.8])
def test_intervals_cover(luck):
    """Of 100 tournaments, also where the games of a deal are mostly won by the same policy.

    Seen red when the bootstrap draws games instead of deals (luck 0.8)."""
    truth = 400 * np.log10(3 / 2)
    lineup = ["fair", "good", "good"]

    rated = [ratings([planted(lineup, 150, seed, luck)], resamples=60)[1] for seed in range(100)]

    assert sum(rating.low <= truth <= rating.high for rating in rated) >= 88


def test_matches_of_the_same_deals_are_resampled_together():
    """What they share cancels out of their differences: the same games under two names give the same rating.

    Seen red with draws of its own for each match."""
    result = planted(["weak", "fair"], deals=100)
    renamed = replace(result, policies=("good", "fair"))

    rated = ratings([result, renamed], resamples=50)

    assert rated[2].policy == "good"
    assert max(abs(rated[2].low), abs(rated[2].high)) < 1e-6
    assert rated[1].high - rated[1].low > 20


def test_a_policy_that_never_wins_has_a_rating():
    """Far below, by the half wins that are added to each pair: odds of 100.5 to 0.5."""
    winners = np.tile(np.array([0, 1], np.int8), (50, 1))  # whoever sits in seat 0 of the first seating

    rated = ratings([replace(planted(["best", "weak"], deals=50), winners=winners)])

    assert rated[1].mean == pytest.approx(-400 * np.log10(201), abs=1e-3)


def test_ratings_repeat_with_their_seed():
    result = planted(["weak", "best"], deals=200)

    assert ratings([result], seed=1) == ratings([result], seed=1)
    assert ratings([result], seed=1) != ratings([result], seed=2)


def test_what_cannot_be_compared_is_refused():
    apart = [planted(["weak", "fair"], 5), planted(["good", "best"], 5)]

    with pytest.raises(ValueError, match="weak and good, best can't be compared"):
        ratings(apart)
    with pytest.raises(ValueError, match="no such policy in these matches: 'expert'; there are weak, fair"):
        ratings(apart[:1], "expert")
    with pytest.raises(ValueError, match="at least one match, got none"):
        ratings([])


def test_four_hundred_points_are_odds_of_ten_to_one():
    assert np.exp(400 / POINTS) == pytest.approx(10.0)
