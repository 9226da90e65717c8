"""What might have been: candidates of one decision, played on from the same worlds that agree with what is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from agents.candidates import FLEX
from agents.flex_policies import FLEX_KINDS, KIND_FLAGS, OTHER_PLAYS, features, spend_or_hold
from agents.policy import Decisions, Policy
from experiments.flex_timing.simulate import Flags, Sample, Whole, sample, winners
from uno_flex_env.actions import ACTIONS, text_to_action
from uno_flex_env.observation import SIZE_STEPS, parts
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import decision_noise

Situation = Literal["hold", "stuck", "target"]
"""hold: a flex and another play are legal, and it isn't the last card; stuck: flexes are the only plays; target: a flex
is legal whose target is chosen, at a table of three or more."""

KINDS = (*FLEX_KINDS, "other play", "draw", "leader", "next", "largest hand")
"""Of candidates: a flex by its kind, another play, drawing; in the situation target: whom the flex is aimed at."""
OTHER, DRAWING, LEADER, NEXT, LARGEST = range(len(FLEX_KINDS), len(KINDS))
MOST_WORLDS = 64
"""Which of them are won is kept as bits of one number."""

_DRAW = text_to_action("draw")
_TARGETED = np.array([action.offset > 0 for action in ACTIONS])
_KIND_OF = np.where(KIND_FLAGS.any(axis=0), KIND_FLAGS.argmax(axis=0), OTHER)
_KIND_OF[_DRAW] = DRAWING


def of_interest(situation: Situation) -> Callable[[Decisions], Flags]:
    """Which decisions belong to a situation."""
    return {"hold": _hold, "stuck": _stuck, "target": _target}[situation]


def _hold(seen: Decisions) -> Flags:
    several: Flags = parts(seen.observation)["hand_sizes"][:, 0, 1] != 0
    return spend_or_hold(seen) & several


def _stuck(seen: Decisions) -> Flags:
    legal = seen.action_mask != 0
    several = parts(seen.observation)["hand_sizes"][:, 0, 1] != 0
    only: Flags = (legal & FLEX).any(axis=1) & ~(legal & OTHER_PLAYS).any(axis=1) & legal[:, _DRAW] & several
    return only


def _target(seen: Decisions) -> Flags:
    several = parts(seen.observation)["hand_sizes"][:, 0, 1] != 0
    aimed: Flags = ((seen.action_mask != 0) & _TARGETED).any(axis=1) & (seen.action_mask[:, _DRAW] != 0) & several
    return aimed


def choices(
    policy: Policy, seed: int, deals: range, num_players: int, rules: Rules, worlds: int, situation: Situation
) -> dict[str, Any]:
    """Try the candidates of one decision a deal in the same worlds, with the same keys.

    A world is drawn from what the player can know: hidden cards are not looked at. The policy plays on in all seats.

    Returns:
        Columns by name, a row for each candidate, those of a decision one after another: the deal, `FEATURES`, `taken`
        (the kind of what the policy did, by its place in `KINDS`), the candidate's `kind`, its `action`, whether it is
        the policy's own `favorite` among the flexes, the other plays or the targets, and `won`: bit w is set if the
        player wins in world w.
    """
    found = sample(policy, seed, deals, num_players, rules, of_interest(situation))
    if found is None:
        return {}
    seen = found.seen()
    listed = [*(_targets if situation == "target" else _candidates)(policy, seen)]
    rows, kinds, actions, favorite = (np.concatenate([part[i] for part in listed]) for i in range(4))
    order = np.argsort(rows, kind="stable")
    rows, kinds, actions, favorite = rows[order], kinds[order], actions[order], favorite[order]
    columns: dict[str, Any] = {"deal": found.deals[rows]}
    columns |= {name: values[rows] for name, values in features(seen).items()}
    columns |= {"taken": _KIND_OF[found.taken[rows]], "kind": kinds, "action": actions, "favorite": favorite}
    columns["won"] = won_in(policy, found, rows, actions, worlds)
    columns["worlds"] = np.full(len(rows), worlds)
    return columns


def won_in(policy: Policy, found: Sample, rows: Whole, actions: Whole, worlds: int) -> npt.NDArray[np.uint64]:
    """In which worlds the player wins after an action: bit w of a number for each of C candidates.

    Args:
        policy: plays on in all seats.
        rows: (C,), the decision of each candidate.
        actions: (C,).
        worlds: 1 to 64 for each decision, the same for its candidates.
    """
    keys = decision_noise(0, np.repeat(found.keys, worlds), 1, np.tile(np.arange(worlds), len(found.keys)))
    all_worlds = found.positions.hide().repeat(worlds).determinize(keys)
    which = (rows[:, None] * worlds + np.arange(worlds)).ravel()
    tables = all_worlds[which]
    tables.apply(np.repeat(actions, worlds))
    won = winners(tables, policy, keys[which]) == np.repeat(found.positions.current_player[rows], worlds)
    bits = won.reshape(len(rows), worlds).astype(np.uint64) << np.arange(worlds, dtype=np.uint64)
    together: npt.NDArray[np.uint64] = np.bitwise_or.reduce(bits, axis=1)
    return together


Candidates = tuple[Whole, Whole, Whole, Flags]
"""Decisions, kinds, actions, and whether it is the favorite, (C,) each."""


def _candidates(policy: Policy, seen: Decisions) -> Iterator[Candidates]:
    """The policy's favorite flex, its favorite of every other kind of flex, its two favorite other plays, and drawing:
    what it does when the mask leaves it nothing else."""
    legal = seen.action_mask != 0
    yield from _favorites(policy, seen, legal & FLEX)
    favorite = _act_within(policy, seen, legal & FLEX)
    for kind, which in enumerate(KIND_FLAGS):
        yield from _favorites(policy, seen, (legal & which) & (_KIND_OF[favorite] != kind)[:, None], first=False)
    yield from _favorites(policy, seen, legal & OTHER_PLAYS)
    second = legal & OTHER_PLAYS
    second[np.arange(len(seen)), _act_within(policy, seen, second)] = False
    yield from _favorites(policy, seen, second, first=False)
    rows = np.flatnonzero(legal[:, _DRAW])
    yield rows, np.full(rows.size, DRAWING), np.full(rows.size, _DRAW), np.zeros(rows.size, np.bool_)


def _favorites(policy: Policy, seen: Decisions, among: Flags, first: bool = True) -> Iterator[Candidates]:
    rows = np.flatnonzero(among.any(axis=1))
    if rows.size:
        actions = _act_within(policy, seen, among)[rows]
        yield rows, _KIND_OF[actions], actions, np.full(rows.size, first)


def _act_within(policy: Policy, seen: Decisions, among: Flags) -> Whole:
    """What a policy does if these were all the legal actions, (B,); the first legal one in rows without any.

    A search looks at the rules and not at the mask, so its prior policy is asked.
    """
    chooser: Policy = getattr(policy, "prior", policy)
    actions: Whole = seen.action_mask.argmax(axis=1).astype(np.int64)
    rows = np.flatnonzero(among.any(axis=1))
    if rows.size:
        masked = replace(seen, action_mask=among.astype(np.int8))[rows]
        actions[rows] = chooser.act(masked)
    return actions


def _targets(policy: Policy, seen: Decisions) -> Iterator[Candidates]:
    """The policy's favorite targeted flex, aimed at the smallest other hand, at the next player, and at the largest."""
    favorite = _act_within(policy, seen, (seen.action_mask != 0) & _TARGETED)
    see = parts(seen.observation)
    sizes = (see["hand_sizes"].astype(np.int64) * np.diff(SIZE_STEPS, prepend=0)).sum(axis=2)
    players = see["num_players"].argmax(axis=1) + 2
    step = np.where(see["direction"][:, 1] != 0, -1, 1)
    turns = np.arange(1, sizes.shape[1])  # in the order of play
    seats = turns * step[:, None] % players[:, None]
    there = np.take_along_axis(sizes, seats, axis=1)
    there_is = turns < players[:, None]
    aims = {
        LEADER: np.where(there_is, there, 99).argmin(axis=1),
        NEXT: np.zeros(len(seen), np.int64),
        LARGEST: np.where(there_is, there, -1).argmax(axis=1),
    }
    rows = np.arange(len(seen))
    offset = np.array([action.offset for action in ACTIONS])[favorite]
    for kind, turn in aims.items():
        target = seats[rows, turn]
        actions = favorite - offset + target  # actions of one card and color follow one another by target
        yield rows, np.full(rows.size, kind), actions, target == offset
