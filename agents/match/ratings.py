"""Ratings from matches at tables of any size, by the Plackett-Luce model with the winner of each game as its data.

A policy of strength w wins a game with the probability w over the sum of the strengths at the table, seat by seat. At
two players this is the model of Bradley and Terry, and of Elo's ratings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import choix
import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from agents.match.intervals import CONFIDENCE
from agents.match.results import MatchResult

POINTS = 400 / np.log(10)
"""Rating points for each unit of the logarithm of strength: 400 points are odds of ten to one, as in chess."""
PSEUDO_WINS = 0.5
"""Wins added to each pair in both directions, so that a policy that never wins has a finite rating."""

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rating:
    """The strength of a policy in points above the anchor, with its interval. An end is infinite where no win bounds
    the rating, for example the upper end of a policy that has won every game."""

    policy: str
    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.0f} [{self.low:+.0f}, {self.high:+.0f}]"


def ratings(results: Sequence[MatchResult], anchor: str | None = None) -> tuple[Rating, ...]:
    """Rate all policies of some matches.

    The intervals are those of `agents.match.intervals.interval` for the rate at which a policy would beat the anchor
    alone, converted to ratings. So two extreme deals are added: one in which the policy wins all of its games and the
    anchor none, and the reverse. The variance is that of Huber and White with the deal as the cluster, since matches
    with one seed and one number of players share their deals. An end is infinite where the rate may be 0 or 1. That
    happens with few deals, and where no chain of wins leads from one of the two to the other, so that the likelihood
    has no maximum (Ford, Am. Math. Monthly 64, 1957).

    Args:
        results: together they must connect every policy with every other, directly or by way of others.
        anchor: the policy whose rating is 0; None for the first.

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
    matches = [_Match(result, names) for result in results]
    logs = strengths([match.seats for match in matches], [match.total for match in matches])
    chains = _chains_of_wins(matches)
    rated = []
    for number, name in enumerate(names):
        mean = float(logs[number] - logs[zero])
        low, high = (mean, mean) if number == zero else _interval(matches, number, zero)
        low = min(low, mean) if chains[number, zero] else -np.inf
        high = max(high, mean) if chains[zero, number] else np.inf
        rated.append(Rating(name, *(float(POINTS * value) for value in (mean, low, high))))
    return tuple(rated)


class _Match:
    """What ratings need from a match, by the number of each policy.

    Attributes:
        key: matches with the same key share their deals.
        seats: how many seats each policy has, (policies,).
        wins: games won in each deal, (D, policies).
        total: games won in all, (policies,).
    """

    def __init__(self, result: MatchResult, names: Sequence[str]) -> None:
        places = [names.index(result.policies[policy]) for policy in result.lineup]
        self.key = result.seed, result.num_players, len(result.winners)
        self.seats = np.bincount(places, minlength=len(names)).astype(np.float64)
        self.wins = np.zeros((len(result.winners), len(names)))
        self.wins[:, [names.index(name) for name in result.policies]] = result.wins.sum(axis=1)
        self.total: Matrix = self.wins.sum(axis=0)
        self.seatings = result.winners.shape[1]

    def extreme_deals(self, up: int, down: int) -> Matrix:
        """Wins in two deals, (2, policies): one in which `up` wins all games it can and `down` none, and the reverse.
        A match in which the two don't play adds no wins."""
        deals: Matrix = self.seatings * np.stack([self._all_to(up, down), self._all_to(down, up)])
        return deals

    def _all_to(self, winner: int, loser: int) -> Matrix:
        shares: Matrix = np.zeros_like(self.seats)
        if self.seats[winner]:
            shares[winner] = 1.0
        elif self.seats[loser]:
            shares += self.seats
            shares[loser] = 0.0
            shares /= shares.sum()
        return shares


def _interval(matches: Sequence[_Match], policy: int, anchor: int) -> tuple[float, float]:
    """The probability of a win, by the difference of the logarithms of two strengths."""
    wins = [np.vstack([match.wins, match.extreme_deals(policy, anchor)]) for match in matches]
    seats, totals = [match.seats for match in matches], [won.sum(axis=0) for won in wins]
    logs = strengths(seats, totals)
    weights = np.exp(logs)
    pairs = weights / (weights + weights[:, None])
    # Minus the second derivatives of the likelihood: first those of the pseudo wins, then a match at a time.
    information = 2 * PSEUDO_WINS * (np.diag((pairs * pairs.T).sum(axis=1)) - pairs * pairs.T)
    for seat, total in zip(seats, totals, strict=True):
        chances = seat * weights / (seat @ weights)
        information += total.sum() * (np.diag(chances) - np.outer(chances, chances))
    contrast = np.zeros(len(logs))
    contrast[policy], contrast[anchor] = 1.0, -1.0
    direction = np.linalg.pinv(information, hermitian=True) @ contrast
    influence: dict[tuple[int, int, int], Matrix] = {}
    for match, won in zip(matches, wins, strict=True):
        chances = match.seats * weights / (match.seats @ weights)
        scores = won - won.sum(axis=1, keepdims=True) * chances  # (D + 2, policies)
        influence[match.key] = influence.get(match.key, 0.0) + scores @ direction
    deals = sum(map(len, influence.values()))
    variance = deals / (deals - 1) * sum(float(values @ values) for values in influence.values())
    rate = 1 / (1 + np.exp(-contrast @ logs))
    half = rate * (1 - rate) * stdtrit(deals - 1, (1 + CONFIDENCE) / 2) * np.sqrt(variance)
    return _log_odds(rate - half), _log_odds(rate + half)


def _log_odds(rate: float) -> float:
    """The logarithm of the odds of a rate; infinite for rates that are not between 0 and 1."""
    if not 0 < rate < 1:
        return -np.inf if rate <= 0 else np.inf
    return float(np.log(rate / (1 - rate)))


def _chains_of_wins(matches: Sequence[_Match]) -> npt.NDArray[np.bool_]:
    """(policies, policies), whether a chain of wins leads from one policy to another: it has won against one that has
    won against one ... that has won against the other."""
    size = len(matches[0].seats)
    chains = np.eye(size, dtype=np.bool_)
    for match in matches:
        chains |= np.outer(match.total > 0, match.seats > 0)
    for through in range(size):
        chains |= np.outer(chains[:, through], chains[through])
    return chains


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


def _check_connected(results: Sequence[MatchResult], names: Sequence[str]) -> None:
    if not results:
        raise ValueError("ratings need at least one match, got none")
    met = {names[0]}
    for _ in names:
        met |= {name for result in results if met & set(result.policies) for name in result.policies}
    if apart := [name for name in names if name not in met]:
        raise ValueError(f"{names[0]} and {', '.join(apart)} can't be compared: no chain of matches joins them")
