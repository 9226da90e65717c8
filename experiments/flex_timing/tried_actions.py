"""Candidates of one decision, each tried in the same worlds, which agree with what the player knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from agents.flex_policies import FLEX_KINDS, KIND_FLAGS, OTHER_PLAYS, features, spend_or_hold
from agents.policy import Policy
from experiments.flex_timing.simulate import Flags, Sample, Whole, sample, winners
from uno_flex_env.actions import ACTIONS, DRAW, FLEX_ACTIONS
from uno_flex_env.observation import SIZE_STEPS, parts
from uno_flex_env.policy_input import Decisions
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import decision_noise

Situation = Literal["hold", "stuck", "target"]
"""hold: a flex and another play are legal; stuck: flexes are the only legal plays; target: a flex is legal whose player
chooses the target, with three or more players. The player holds more than one card in all of them."""

KINDS = (*FLEX_KINDS, "other play", "draw", "leader", "next", "largest hand")
"""Kinds of candidates: each kind of flex, another play, drawing; in the situation target, who the flex is aimed at."""
OTHER, DRAWING, LEADER, NEXT, LARGEST = range(len(FLEX_KINDS), len(KINDS))
MAX_WORLDS = 64
"""The worlds that a candidate wins are the bits of one number."""

_TARGETED = np.array([action.offset > 0 for action in ACTIONS])
_KIND_OF = np.where(KIND_FLAGS.any(axis=0), KIND_FLAGS.argmax(axis=0), OTHER)
_KIND_OF[DRAW] = DRAWING


def of_interest(situation: Situation) -> Callable[[Decisions], Flags]:
    """The test of whether decisions belong to a situation, (B,)."""
    return {"hold": _hold, "stuck": _stuck, "target": _target}[situation]


def _hold(decisions: Decisions) -> Flags:
    several: Flags = parts(decisions.observation)["hand_sizes"][:, 0, 1] != 0
    return spend_or_hold(decisions) & several


def _stuck(decisions: Decisions) -> Flags:
    legal = decisions.action_mask != 0
    several = parts(decisions.observation)["hand_sizes"][:, 0, 1] != 0
    only: Flags = (legal & FLEX_ACTIONS).any(axis=1) & ~(legal & OTHER_PLAYS).any(axis=1) & legal[:, DRAW] & several
    return only


def _target(decisions: Decisions) -> Flags:
    several = parts(decisions.observation)["hand_sizes"][:, 0, 1] != 0
    legal = decisions.action_mask != 0
    aimed: Flags = (legal & _TARGETED).any(axis=1) & legal[:, DRAW] & several
    return aimed


def try_candidates(
    policy: Policy, seed: int, deals: range, num_players: int, rules: Rules, worlds: int, situation: Situation
) -> dict[str, Any]:
    """Try the candidates of one decision in each deal, in the same worlds and with the same keys.

    Worlds are drawn from what the player can know, not from the hidden cards. The policy plays on in all seats.

    Returns:
        Columns by name, a row for each candidate; the candidates of a decision follow one another.

        - deal, and `FEATURES` of the decision;
        - taken: the kind of the policy's action in the game itself, an index of `KINDS`;
        - kind and action of the candidate;
        - favorite: whether it is the policy's favorite among the flexes, the other plays or the targets;
        - won: bit w is set if the player wins in world w;
        - worlds: how many there are.
    """
    found = sample(policy, seed, deals, num_players, rules, of_interest(situation))
    if found is None:
        return {}
    decisions = found.decisions()
    listed = [*(_targets if situation == "target" else _candidates)(policy, decisions)]
    rows, kinds, actions, favorite = (np.concatenate([part[i] for part in listed]) for i in range(4))
    order = np.argsort(rows, kind="stable")
    rows, kinds, actions, favorite = rows[order], kinds[order], actions[order], favorite[order]
    columns: dict[str, Any] = {"deal": found.deals[rows]}
    columns |= {name: values[rows] for name, values in features(decisions).items()}
    columns |= {"taken": _KIND_OF[found.taken[rows]], "kind": kinds, "action": actions, "favorite": favorite}
    columns["won"] = worlds_won(policy, found, rows, actions, worlds)
    columns["worlds"] = np.full(len(rows), worlds)
    return columns


def worlds_won(policy: Policy, found: Sample, rows: Whole, actions: Whole, worlds: int) -> npt.NDArray[np.uint64]:
    """(C,), the worlds in which the player wins after an action: bit w stands for world w.

    Args:
        policy: plays on in all seats.
        found: the decisions.
        rows: (C,), the decision of each candidate.
        actions: (C,), the action of each candidate.
        worlds: how many are drawn for each decision, 1 to 64; its candidates share them.
    """
    keys = decision_noise(0, np.repeat(found.keys, worlds), 1, np.tile(np.arange(worlds), len(found.keys)))
    all_worlds = found.positions.hide().repeat(worlds).determinize(keys)
    which = (rows[:, None] * worlds + np.arange(worlds)).ravel()
    positions = all_worlds[which]
    positions.apply(np.repeat(actions, worlds))
    won = winners(positions, policy, keys[which]) == np.repeat(found.positions.current_player[rows], worlds)
    bits = won.reshape(len(rows), worlds).astype(np.uint64) << np.arange(worlds, dtype=np.uint64)
    together: npt.NDArray[np.uint64] = np.bitwise_or.reduce(bits, axis=1)
    return together


CandidateColumns = tuple[Whole, Whole, Whole, Flags]
"""The decision, kind and action of each candidate, and whether it is a favorite, (C,) each."""


def _candidates(policy: Policy, decisions: Decisions) -> Iterator[CandidateColumns]:
    """The policy's favorite flex, its favorite of each other kind of flex, its two favorite other plays, and drawing. A
    favorite is what the policy chooses when the mask leaves only actions of that kind."""
    legal = decisions.action_mask != 0
    yield from _favorites(policy, decisions, legal & FLEX_ACTIONS)
    favorite = _act_within(policy, decisions, legal & FLEX_ACTIONS)
    for kind, which in enumerate(KIND_FLAGS):
        yield from _favorites(policy, decisions, (legal & which) & (_KIND_OF[favorite] != kind)[:, None], first=False)
    yield from _favorites(policy, decisions, legal & OTHER_PLAYS)
    second = legal & OTHER_PLAYS
    second[np.arange(len(decisions)), _act_within(policy, decisions, second)] = False
    yield from _favorites(policy, decisions, second, first=False)
    rows = np.flatnonzero(legal[:, DRAW])
    yield rows, np.full(rows.size, DRAWING), np.full(rows.size, DRAW), np.zeros(rows.size, np.bool_)


def _favorites(policy: Policy, decisions: Decisions, among: Flags, first: bool = True) -> Iterator[CandidateColumns]:
    rows = np.flatnonzero(among.any(axis=1))
    if rows.size:
        actions = _act_within(policy, decisions, among)[rows]
        yield rows, _KIND_OF[actions], actions, np.full(rows.size, first)


def _act_within(policy: Policy, decisions: Decisions, among: Flags) -> Whole:
    """(B,), the policy's actions if only these are legal; the first legal action in rows without any of them."""
    actions: Whole = decisions.action_mask.argmax(axis=1).astype(np.int64)
    rows = np.flatnonzero(among.any(axis=1))
    if rows.size:
        masked = replace(decisions, action_mask=among.astype(np.int8))[rows]
        actions[rows] = policy.act(masked)
    return actions


def _targets(policy: Policy, decisions: Decisions) -> Iterator[CandidateColumns]:
    """The policy's favorite targeted flex, aimed at the smallest other hand, the next player and the largest hand."""
    favorite = _act_within(policy, decisions, (decisions.action_mask != 0) & _TARGETED)
    see = parts(decisions.observation)
    sizes = (see["hand_sizes"].astype(np.int64) * np.diff(SIZE_STEPS, prepend=0)).sum(axis=2)
    players = see["num_players"].argmax(axis=1) + 2
    step = np.where(see["direction"][:, 1] != 0, -1, 1)
    turns = np.arange(1, sizes.shape[1])  # in the order of play
    seats = turns * step[:, None] % players[:, None]
    there = np.take_along_axis(sizes, seats, axis=1)
    there_is = turns < players[:, None]
    aims = {
        LEADER: np.where(there_is, there, 99).argmin(axis=1),
        NEXT: np.zeros(len(decisions), np.int64),
        LARGEST: np.where(there_is, there, -1).argmax(axis=1),
    }
    rows = np.arange(len(decisions))
    offset = np.array([action.offset for action in ACTIONS])[favorite]
    for kind, turn in aims.items():
        target = seats[rows, turn]
        actions = favorite - offset + target  # actions of one card and color follow one another by target
        yield rows, np.full(rows.size, kind), actions, target == offset
