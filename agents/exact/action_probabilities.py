"""How likely a policy takes each action."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from agents.policy import Policy, ask, looks_ahead
from uno_flex_env._core import State
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.policy_input import Decisions
from uno_flex_env.positions import Positions
from uno_flex_env.seeding import derived_seeds

KEYS = 256
"""How often a policy is asked that can't say its probabilities."""

ROWS = 4096
"""Decisions in one call of a policy."""


def check_policy(policy: Policy) -> None:
    """ValueError for a policy whose decisions don't follow from the observation alone."""
    if policy.history:
        raise ValueError(
            f"exact exploitability is for policies that read the observation alone; {policy.name} also reads the last "
            f"{policy.history} events"
        )
    if looks_ahead(policy):
        raise ValueError(
            f"exact exploitability takes no searches and no programs: {policy.name} looks ahead or needs a view"
        )


def action_probabilities(policy: Policy, states: Sequence[State]) -> tuple[npt.NDArray[np.float64], bool]:
    """The probabilities of all actions in states where the current player plays by this policy.

    A policy with a method `probabilities(decisions)`, which returns (B, 216), is asked for them. Another one is asked
    for its actions with `KEYS` different keys, and the shares are taken as the probabilities.

    Returns:
        (B, 216), and whether they are exact: False if they are such shares, and any of them is neither 0 nor 1.
    """
    check_policy(policy)
    observation, mask = Positions(states).observe()
    odds = np.zeros((len(states), NUM_ACTIONS))
    for begin in range(0, len(states), ROWS):
        part = slice(begin, begin + ROWS)
        decisions = Decisions(observation[part], mask[part], np.zeros(len(mask[part]), np.uint64))
        odds[part] = _said(policy, decisions) if hasattr(policy, "probabilities") else _counted(policy, decisions)
    if (odds[mask == 0] != 0).any() or not np.isfinite(odds).all() or (odds < 0).any():
        raise ValueError(f"policy {policy.name}: a probability of an illegal action is not 0, or one is not a number")
    exact = hasattr(policy, "probabilities") or bool(np.isin(odds, (0.0, 1.0)).all())
    return odds / odds.sum(axis=1, keepdims=True), exact


def _said(policy: Policy, decisions: Decisions) -> npt.NDArray[np.float64]:
    odds = np.asarray(policy.probabilities(decisions), np.float64)  # type: ignore[attr-defined]
    if getattr(policy, "greedy", False):
        odds = np.eye(NUM_ACTIONS)[odds.argmax(axis=1)]
    return odds


def _counted(policy: Policy, decisions: Decisions) -> npt.NDArray[np.float64]:
    rows = np.arange(len(decisions))
    odds = np.zeros((len(rows), NUM_ACTIONS))
    for key in range(KEYS):
        asked = Decisions(decisions.observation, decisions.action_mask, derived_seeds(key, rows))
        np.add.at(odds, (rows, ask(policy, asked, rows)), 1.0 / KEYS)
    return odds
