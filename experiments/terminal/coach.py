"""What a policy would have played: decisions as policies get them, hints, and a review of a round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from agents.network_policy import NetworkPolicy
from agents.policy import Policy, ask
from experiments.terminal.events import Event
from uno_flex_env._core import State
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.policy_input import Decisions
from uno_flex_env.positions import Positions
from uno_flex_env.seeding import decision_noise


def decisions_at(state: State, taken: Sequence[Event], policy: Policy, seed: int, rounds: int) -> Decisions:
    """The decision of the current player as that player sees it, with as much history as `policy` reads.

    Its key follows from the seed, the round, the seat and the number of decisions of the seat in the round. After
    `undo` a policy therefore decides as it did before.

    Args:
        taken: the events of the round so far.
        rounds: the number of rounds before this one.
    """
    seat, players = state.current_player, state.num_players
    positions = Positions([state])
    observation, mask = positions.observe()
    noise = decision_noise(seed, rounds, seat, sum(event.seat == seat for event in taken))
    history = np.full((1, policy.history, 3), -1, np.int16)
    for row, event in enumerate(taken[::-1][: policy.history], start=1):
        history[0, -row] = (event.seat - seat) % players, event.action, event.drawn
    return Decisions(observation, mask, noise, history, positions.hide())


def preferences(policy: Policy, decisions: Decisions) -> list[float]:
    """The probabilities of all actions, (216,), if the policy has them; else 1 for the action that it chooses."""
    if isinstance(policy, NetworkPolicy):
        probs: list[float] = policy.probabilities(decisions)[0].tolist()
        return probs
    probs = [0.0] * NUM_ACTIONS
    probs[int(ask(policy, decisions, np.zeros(1, np.intp))[0])] = 1.0
    return probs


def estimate(policy: Policy, decisions: Decisions, num_players: int) -> str:
    """What the policy's critic expects for the player, in words; empty if it has no critic that sees this much."""
    if not isinstance(policy, NetworkPolicy) or policy.network.critic is not None:
        return ""
    value = float(policy.values(decisions)[0])
    if policy.reward == "points":
        return f"it expects {100 * value:+.0f} points for you in this round"
    chance = (value * (num_players - 1) + 1) / num_players  # a win pays 1, a loss -1 / (n - 1)
    return f"it gives you a chance of {100 * min(1.0, max(0.0, chance)):.0f} % to win this round"


@dataclass(frozen=True)
class Difference:
    """A decision at which the policy would rather have played something else."""

    number: int
    """The number of the person's decision in the round, from 1."""
    played: int
    """The person's action."""
    better: int
    """The likeliest action of the policy."""
    probs: tuple[float, float]
    """The policy's probabilities of the person's action and of its own."""


def review(events: Sequence[Event], seat: int, policy: Policy, seed: int, rounds: int) -> tuple[int, list[Difference]]:
    """Compare the decisions of a seat with those of a policy.

    Returns:
        How many decisions had a choice, and those at which the policy prefers another action, the clearest first.
    """
    compared = list(_compared(events, seat, policy, seed, rounds))
    different = [one for one in compared if one.played != one.better]
    return len(compared), sorted(different, key=lambda one: one.probs[0] - one.probs[1])


def _compared(events: Sequence[Event], seat: int, policy: Policy, seed: int, rounds: int) -> Iterator[Difference]:
    number = 0
    for place, event in enumerate(events):
        if event.seat != seat:
            continue
        number += 1
        decisions = decisions_at(event.before, events[:place], policy, seed, rounds)
        if decisions.action_mask.sum() == 1:
            continue
        probs = preferences(policy, decisions)
        best = max(range(NUM_ACTIONS), key=probs.__getitem__)
        yield Difference(number, event.action, best, (probs[event.action], probs[best]))
