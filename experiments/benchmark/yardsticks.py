"""How strong a policy is: win rates at tables of the yardsticks, and its exact exploitability."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

from agents.exact.action_probabilities import check_policy
from agents.exact.exploit import exploitability
from agents.match.runner import duel
from agents.network_policy import NetworkPolicy
from agents.policy import Policy
from experiments.benchmark.run_scores import EXPERT
from experiments.benchmark.suites import SuiteTask
from uno_flex_env.batch import BOTS

YARDSTICKS = (*BOTS, EXPERT, "champion:greedy")
"""The policies that all runs are measured against."""

CURVE_DEALS, FINAL_DEALS, CROSS_DEALS, TUNING_DEALS = (1 << 40) + 1, (1 << 40) + 2, (1 << 40) + 3, (1 << 40) + 4
"""The seeds of the deals for curves, final results, cross-play and tuning. They have no deal in common but by chance,
and none with training, whose seeds are derived from those of the runs."""

Row = dict[str, Any]


def win_rates(
    policy: Policy, task: SuiteTask, opponents: Iterable[str], games: int, deal_seed: int, *, greedy: bool = False
) -> Iterator[tuple[Row, Row]]:
    """For each opponent the columns of the tables `runs` and `deals` that hold the win rate of one seat of a policy.

    Args:
        greedy: what the column of this name says.
    """
    options = task.options
    for opponent in opponents:
        if opponent == policy.name:
            continue
        match = duel(
            policy,
            opponent,
            options.num_players,
            games=games,
            seed=deal_seed,
            rules=options.rules,
            max_decisions=options.max_decisions,
        )
        rate = match.rate(0)
        about = {"opponent": opponent, "players": options.num_players, "greedy": greedy}
        wins = {"games": match.num_games, "wins": rate.mean, "low": rate.low, "high": rate.high}
        deals = {"deal_seed": deal_seed, "wins": match.wins[..., 0].sum(axis=1).tolist()}
        yield about | wins, about | deals


def exact(policy: Policy, task: SuiteTask) -> float | None:
    """The exact exploitability of a policy, as a lower bound where rounds can be endless; None for a policy that
    `agents.exact` does not take."""
    try:
        check_policy(policy)
    except ValueError:
        return None
    return exploitability(policy, task.options.rules).low


def greedy_copy(policy: Policy) -> NetworkPolicy | None:
    """The same policy always taking its most probable action; None if it does so already or is no network."""
    if not isinstance(policy, NetworkPolicy) or policy.greedy:
        return None
    found = copy.copy(policy)
    found.greedy = True
    return found
