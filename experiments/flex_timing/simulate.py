"""Simulation of many rounds with one policy in all seats, and the sampling of one decision from each round."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agents.match.runner import MAX_DECISIONS
from agents.policy import Actions, Policy, ask, looks_ahead
from uno_flex_env.policy_input import Decisions
from uno_flex_env.positions import Positions
from uno_flex_env.rules import MAX_PLAYERS, Rules
from uno_flex_env.seeding import Noise, decision_noise, uniforms

Flags = npt.NDArray[np.bool_]
Whole = npt.NDArray[np.int64]
_KEEP = 2
"""The stream of random numbers, from a decision's key, that decides whether the decision is sampled."""


@dataclass(frozen=True, eq=False)
class Step:
    """One decision in each of the M rounds that are not over."""

    rows: npt.NDArray[np.intp]
    """(M,), the rounds."""
    before: Positions
    """The M positions before the decision, as copies."""
    decisions: Decisions
    actions: Actions
    """(M,), the actions of the policy."""


def dealt(seed: int, deals: npt.ArrayLike, num_players: int, rules: Rules) -> tuple[Positions, Noise]:
    """Rounds dealt as in match play, and a key for the random choices in each, (N,)."""
    positions = Positions.deal(decision_noise(seed, deals, MAX_PLAYERS, 0), num_players, rules)
    return positions, decision_noise(seed, deals, MAX_PLAYERS, 1)


def played(positions: Positions, policy: Policy, keys: Noise) -> Iterator[Step]:
    """Play the rounds to the end. Each step is yielded before its actions take effect.

    Args:
        positions: N rounds; they are changed.
        policy: plays all seats.
        keys: (N,), one for each round. The key of a seat's k-th decision depends on the round's key, the seat and k
            only, so rounds with the same key are comparable.

    A round stops after `MAX_DECISIONS` decisions.
    """
    counts = np.zeros((len(positions), positions.num_players), np.int64)
    for _ in range(MAX_DECISIONS):
        current_players = positions.current_player
        rows = np.flatnonzero(current_players >= 0)
        if not rows.size:
            return
        current_players = current_players[rows]
        before = positions[rows]
        noise = decision_noise(0, keys[rows], current_players, counts[rows, current_players])
        views = before.hide() if looks_ahead(policy) else None
        decisions = Decisions(*before.observe(), noise, None, views)
        step = Step(rows, before, decisions, ask(policy, decisions, rows))
        yield step
        counts[rows, current_players] += 1
        actions = np.full(len(positions), -1)
        actions[rows] = step.actions
        positions.apply(actions)


def winners(positions: Positions, policy: Policy, keys: Noise) -> npt.NDArray[np.int8]:
    """(N,), the winning seat if the policy plays on in all seats, or -1 for none. The positions are changed."""
    for _ in played(positions, policy, keys):
        pass
    return positions.winners


@dataclass(frozen=True, eq=False)
class Sample:
    """One decision from each of N deals, drawn uniformly from the deal's decisions of interest."""

    deals: Whole
    """(N,), in increasing order; deals without a decision of interest are missing."""
    positions: Positions
    """The N positions at the decisions."""
    taken: Actions
    """(N,), the actions of the policy in the games themselves."""
    keys: Noise
    """(N,), for random choices from here on."""

    def decisions(self) -> Decisions:
        """What the policy saw at the decisions."""
        views = self.positions.hide()
        return Decisions(*self.positions.observe(), self.keys, None, views)


def sample(
    policy: Policy, seed: int, deals: range, num_players: int, rules: Rules, of_interest: Callable[[Decisions], Flags]
) -> Sample | None:
    """Let a policy play deals, and sample one decision of interest from each; None if no deal has any."""
    positions, keys = dealt(seed, deals, num_players, rules)
    found, states, taken = np.zeros(len(deals), np.int64), {}, np.zeros(len(deals), np.int64)
    for step in played(positions, policy, keys):
        fits = np.flatnonzero(of_interest(step.decisions))
        rows = step.rows[fits]
        found[rows] += 1
        kept = uniforms(step.decisions.noise[fits], _KEEP) * found[rows] < 1  # each of k has chance 1/k
        for row, place in zip(rows[kept], fits[kept], strict=True):
            states[int(row)] = step.before.state(int(place))
        taken[rows[kept]] = step.actions[fits[kept]]
    if not states:
        return None
    which = np.array(sorted(states))
    new_keys = decision_noise(seed, which + deals.start, MAX_PLAYERS, 2)
    return Sample(np.array(deals)[which], Positions([states[row] for row in which]), taken[which], new_keys)
