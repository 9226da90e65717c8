"""Ratings from matches at tables of any size: the Plackett-Luce model, of which only the winner of a game is seen.

A policy of strength w wins a game with the probability w over the sum of the strengths at the table, seat by seat. At
two players this is the model of Bradley and Terry, and of Elo's ratings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import choix
import numpy as np
import numpy.typing as npt

from agents.match.intervals import CONFIDENCE
from agents.match.results import MatchResult

POINTS = 400 / np.log(10)
"""Rating points for each unit of the logarithm of strength: 400 points are odds of ten to one, as in chess."""
PSEUDO_WINS = 0.5
"""Added to each pair, both ways: a policy that never wins has a rating, and thousands of games hardly feel it."""

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rating:
    """How strong a policy is, in points above the anchor, with its interval."""

    policy: str
    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.0f} [{self.low:+.0f}, {self.high:+.0f}]"


def ratings(
    results: Sequence[MatchResult], anchor: str | None = None, *, resamples: int = 400, seed: int = 0
) -> tuple[Rating, ...]:
    """Rate all policies of some matches.

    Args:
        results: together they must compare every policy with every other, if only by way of others.
        anchor: the policy whose rating is 0; None for the first.
        resamples: of the bootstrap. It draws deals: matches of one seed at one number of players share theirs, so these
            are drawn for all of them at once. The intervals hold 95 % of the resampled ratings.
        seed: of the bootstrap.

    Returns:
        A rating for each policy, in the order in which they first appear.

    Raises:
        ValueError: there are no matches, no such anchor, or two groups of policies that never meet.
    """
    names = list(dict.fromkeys(name for result in results for name in result.policies))
    if anchor is not None and anchor not in names:
        raise ValueError(f"no such policy in these matches: {anchor!r}; there are {', '.join(names)}")
    _check_connected(results, names)
    zero = 0 if anchor is None else names.index(anchor)
    tables = [_seats(result, names) for result in results]
    wins = [_wins_by_deal(result, names) for result in results]
    points = _points(tables, [won.sum(axis=0) for won in wins], zero)
    rng = np.random.default_rng(seed)
    resampled = np.array([_points(tables, _resampled(results, wins, rng), zero) for _ in range(resamples)])
    low, high = np.quantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
    rows = zip(names, points, np.minimum(low, points), np.maximum(high, points), strict=True)
    return tuple(Rating(name, float(mean), float(least), float(most)) for name, mean, least, most in rows)


def strengths(tables: Sequence[Matrix], wins: Sequence[Matrix], pseudo_wins: float = PSEUDO_WINS) -> Matrix:
    """Logarithms of the strengths under which these wins are likeliest; their mean is 0.

    Luce spectral ranking, iterated (Maystre and Grossglauser, arXiv:1506.07013), by `choix`. That library takes single
    games as lists, of which there are hundreds of thousands here, or a matrix of pairs; so a game at a table is handed
    to it as pairs (winner, loser), each weighted such that its Markov chain is that of the table.

    Args:
        tables: for each match, how many seats each policy has, (policies,).
        wins: for each match, how many games each policy has won, (policies,).
        pseudo_wins: added to each pair.
    """
    logs: Matrix = np.zeros(len(tables[0]))
    for _ in range(1000):
        weights = np.exp(logs - logs.mean())
        weights *= len(weights) / weights.sum()
        pairs = np.full((len(weights), len(weights)), pseudo_wins)
        for seats, won in zip(tables, wins, strict=True):
            pairs += np.outer(won, seats) * (weights[:, None] + weights) / (seats @ weights)
        before, logs = logs, choix.lsr_pairwise_dense(pairs, initial_params=logs)
        if np.abs(logs - before).max() < 1e-8:
            return logs
    raise RuntimeError("the ratings have not converged")


def _points(tables: Sequence[Matrix], wins: Sequence[Matrix], anchor: int) -> Matrix:
    logs = strengths(tables, wins)
    points: Matrix = POINTS * (logs - logs[anchor])
    return points


def _seats(result: MatchResult, names: Sequence[str]) -> Matrix:
    places = [names.index(result.policies[policy]) for policy in result.lineup]
    return np.bincount(places, minlength=len(names)).astype(np.float64)


def _wins_by_deal(result: MatchResult, names: Sequence[str]) -> Matrix:
    """(D, policies), games won in each deal."""
    wins = np.zeros((len(result.winners), len(names)))
    wins[:, [names.index(name) for name in result.policies]] = result.wins.sum(axis=1)
    return wins


def _resampled(results: Sequence[MatchResult], wins: Sequence[Matrix], rng: np.random.Generator) -> list[Matrix]:
    """How many games each policy would have won in each match, had other deals of the same kind been dealt."""
    drawn: dict[tuple[int, int, int], Matrix] = {}
    totals = list[Matrix]()
    for result, won in zip(results, wins, strict=True):
        deals = len(won)
        key = result.seed, result.num_players, deals
        if key not in drawn:
            drawn[key] = rng.multinomial(deals, np.full(deals, 1 / deals)).astype(np.float64)
        totals.append(drawn[key] @ won)
    return totals


def _check_connected(results: Sequence[MatchResult], names: Sequence[str]) -> None:
    if not results:
        raise ValueError("ratings need at least one match, got none")
    met = {names[0]}
    for _ in names:
        met |= {name for result in results if met & set(result.policies) for name in result.policies}
    if apart := [name for name in names if name not in met]:
        raise ValueError(f"{names[0]} and {', '.join(apart)} can't be compared: no chain of matches joins them")
