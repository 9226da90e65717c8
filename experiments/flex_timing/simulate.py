"""Letting one policy play all seats of many rounds, and stopping at decisions of interest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agents.match.runner import MAX_DECISIONS
from agents.policy import Actions, Decisions, Policy, ask, looks_ahead
from uno_flex_env.positions import Positions
from uno_flex_env.rules import MAX_PLAYERS, Rules
from uno_flex_env.seeding import Noise, decision_noise, uniforms

Flags = npt.NDArray[np.bool_]
Whole = npt.NDArray[np.int64]
_KEEP = 2
"""The stream of a decision's key that says whether it is sampled."""


@dataclass(frozen=True, eq=False)
class Step:
    """One decision in each of M rounds that go on."""

    rows: npt.NDArray[np.intp]
    """(M,), which rounds."""
    before: Positions
    """M copies."""
    seen: Decisions
    actions: Actions
    """(M,), what the policy does."""


def dealt(seed: int, deals: npt.ArrayLike, num_players: int, rules: Rules) -> tuple[Positions, Noise]:
    """Rounds as match play deals them, and a key for all the luck in each."""
    tables = Positions.deal(decision_noise(seed, deals, MAX_PLAYERS, 0), num_players, rules)
    return tables, decision_noise(seed, deals, MAX_PLAYERS, 1)


def played(tables: Positions, policy: Policy, keys: Noise) -> Iterator[Step]:
    """Play on to the end. Each step comes before its actions are taken.

    Args:
        tables: N rounds; they are changed.
        policy: sits in all seats.
        keys: (N,); the luck of a seat's k-th decision follows from the round's key, the seat and k, so rounds with the
            same key are comparable. A round is cut off after `MAX_DECISIONS` decisions.
    """
    counts = np.zeros((len(tables), tables.num_players), np.int64)
    for _ in range(MAX_DECISIONS):
        current_players = tables.current_player
        rows = np.flatnonzero(current_players >= 0)
        if not rows.size:
            return
        current_players = current_players[rows]
        before = tables[rows]
        noise = decision_noise(0, keys[rows], current_players, counts[rows, current_players])
        views = before.hide() if looks_ahead(policy) else None
        seen = Decisions(*before.observe(), noise, None, views)
        step = Step(rows, before, seen, ask(policy, seen, rows))
        yield step
        counts[rows, current_players] += 1
        actions = np.full(len(tables), -1)
        actions[rows] = step.actions
        tables.apply(actions)


def winners(tables: Positions, policy: Policy, keys: Noise) -> npt.NDArray[np.int8]:
    """Who wins when the policy plays on in all seats, (N,), -1 for nobody; the tables are changed."""
    for _ in played(tables, policy, keys):
        pass
    return tables.winners


@dataclass(frozen=True, eq=False)
class Sample:
    """One decision of each of N deals, drawn uniformly from those of interest in the deal."""

    deals: Whole
    """(N,), in rising order; deals without such a decision are missing."""
    positions: Positions
    taken: Actions
    """(N,), what the policy did."""
    keys: Noise
    """(N,), for luck from here on."""

    def seen(self) -> Decisions:
        """The decisions once more."""
        views = self.positions.hide()
        return Decisions(*self.positions.observe(), self.keys, None, views)


def sample(
    policy: Policy, seed: int, deals: range, num_players: int, rules: Rules, of_interest: Callable[[Decisions], Flags]
) -> Sample | None:
    """Let a policy play deals, and keep a decision of each; None if no deal had any."""
    tables, keys = dealt(seed, deals, num_players, rules)
    found, states, taken = np.zeros(len(deals), np.int64), {}, np.zeros(len(deals), np.int64)
    for step in played(tables, policy, keys):
        fits = np.flatnonzero(of_interest(step.seen))
        rows = step.rows[fits]
        found[rows] += 1
        kept = uniforms(step.seen.noise[fits], _KEEP) * found[rows] < 1  # each of k with probability 1/k in the end
        for row, place in zip(rows[kept], fits[kept], strict=True):
            states[int(row)] = step.before.state(int(place))
        taken[rows[kept]] = step.actions[fits[kept]]
    if not states:
        return None
    which = np.array(sorted(states))
    positions = Positions([states[row] for row in which])
    return Sample(
        np.array(deals)[which], positions, taken[which], decision_noise(seed, which + deals.start, MAX_PLAYERS, 2)
    )
