"""Policies that differ from another policy only in when they flex."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from agents.policy import Actions, Policy, looks_ahead
from agents.rule_bot import RuleBot
from uno_flex_env.actions import DRAW, FLEX_ACTIONS, PLAY_ACTIONS, WILD_ACTIONS, actions_where
from uno_flex_env.cards import FACES
from uno_flex_env.observation import hand_sizes, parts
from uno_flex_env.policy_input import Decisions
from uno_flex_env.rules import MIN_PLAYERS

Mask = npt.NDArray[np.int8]
Whole = npt.NDArray[np.int64]

_EFFECTS = {
    "number": ("none", 0),
    "skip all": ("skip_all", 0),
    "reverse-skip": ("reverse_skip", 0),
    "all draw one": ("others_draw", 1),
    "target two": ("target_draws", 2),
    "all draw two": ("others_draw", 2),
    "target four": ("target_bluff", 4),
}
FLEX_KINDS = tuple(_EFFECTS)
"""What a flex side does (rules 6)."""


def _flexes(effect: str, draws: int) -> npt.NDArray[np.bool_]:
    return actions_where(lambda action: action.flex and (action.effect, action.draws) == (effect, draws))


KIND_FLAGS: npt.NDArray[np.bool_] = np.array([_flexes(*kind) for kind in _EFFECTS.values()])
"""(7, 216), which actions are flexes of each kind."""
OTHER_PLAYS = PLAY_ACTIONS & ~FLEX_ACTIONS
_COLORED_PLAYS = OTHER_PLAYS & ~WILD_ACTIONS
_FLEX_WILDS = np.repeat([face.color is None and face.has_flex for face in FACES], [face.copies for face in FACES])
"""(104,), the features of the player's hand that stand for wilds with a flex side."""

How = Literal["never", "first_chance", "when_stuck", "as_learned"]


def restricted(mask: Mask, to: npt.NDArray[np.bool_]) -> Mask:
    """The legal actions that are also among these, (B, 216); in rows without any of them, all legal actions."""
    kept = (mask != 0) & to
    allowed: Mask = np.where(kept.any(axis=1, keepdims=True), kept, mask != 0).astype(np.int8)
    return allowed


class Flexing:
    """Another policy with its flexes restricted to certain times. All other decisions are that policy's own.

    Args:
        policy: it gets masks without the actions that are not allowed here.
        how: when it flexes. never; first_chance: whenever a flex is legal; when_stuck: if and only if no other play is
            legal; as_learned: without a restriction but with its own random numbers, as the control of a comparison.
    """

    def __init__(self, policy: Policy, how: How) -> None:
        if how not in get_args(How):
            raise ValueError(f"how must be one of {', '.join(get_args(How))}, got {how!r}")
        self.policy, self.how, self.history = policy, how, policy.history
        self.name = f"{policy.name}/{how}"
        self.looks_ahead = looks_ahead(policy)

    def allowed(self, mask: Mask) -> Mask:
        """(B, 216), the legal actions that are allowed here."""
        if self.how == "never":
            return restricted(mask, ~FLEX_ACTIONS)
        if self.how == "first_chance":
            return restricted(mask, FLEX_ACTIONS)
        if self.how == "when_stuck":
            can_play = ((mask != 0) & OTHER_PLAYS).any(axis=1, keepdims=True)
            return np.where(can_play, restricted(mask, ~FLEX_ACTIONS), restricted(mask, FLEX_ACTIONS))
        return mask

    def act(self, decisions: Decisions) -> Actions:
        """As `Policy.act`."""
        noise = decisions.noise + np.uint64(1) if self.how == "as_learned" else decisions.noise
        given = replace(decisions, action_mask=self.allowed(decisions.action_mask), noise=noise)
        return self.policy.act(given)


# ---- Rules for people ----

FEATURES = {
    "players": "players at the table",
    "hand": "cards in your hand",
    "flex_cards": "cards in your hand that have a flex side",
    "others_green": "green Powers of the others",
    "leader": "cards in the smallest other hand",
    "next": "cards in the next player's hand",
    "other_cards": "cards that you can play on their regular side, wilds apart",
    "flexes": "kinds of flex that you can play",
    **{name.replace(" ", "_").replace("-", "_"): f"you can flex: {name}" for name in FLEX_KINDS},
}
"""Features of a decision, with the words for what each one is. If your Power is red, all Powers turn green again after
`others_green` flexes of others; if it is green, your flex leaves `others_green` green Powers."""


def features(decisions: Decisions) -> dict[str, Whole]:
    """`FEATURES` of B decisions, (B,) each. Hands of more than 7 cards are rounded down as in the observation."""
    see = parts(decisions.observation)
    sizes = hand_sizes(decisions.observation)
    players = see["num_players"].astype(np.int64) @ (MIN_PLAYERS + np.arange(see["num_players"].shape[1]))
    seats = np.arange(sizes.shape[1])
    others = np.where((seats > 0) & (seats < players[:, None]), sizes, 99)
    following = np.where(see["direction"][:, 1] != 0, players - 1, 1)
    legal = decisions.action_mask != 0
    kinds = np.stack([(legal & which).any(axis=1) for which in KIND_FLAGS], axis=1).astype(np.int64)
    flex_wilds = see["hand"][:, _FLEX_WILDS].sum(axis=1, dtype=np.int64)
    values = [
        players,
        sizes[:, 0],
        see["flex_faces"].sum(axis=(1, 2), dtype=np.int64) + flex_wilds,
        see["power"][:, 1:].sum(axis=1, dtype=np.int64),
        others.min(axis=1),
        sizes[np.arange(len(decisions)), following],
        (legal & _COLORED_PLAYS).sum(axis=1),
        kinds.sum(axis=1),
        *kinds.T,
    ]
    return dict(zip(FEATURES, values, strict=True))


Condition = tuple[str, bool, float]
"""A feature, whether it must be above the threshold or else at most equal to it, and the threshold."""


@dataclass(frozen=True)
class FlexRule:
    """Flex, or hold the Power, where all conditions are met."""

    conditions: tuple[Condition, ...]
    spend: bool

    def applies(self, values: dict[str, Whole]) -> npt.NDArray[np.bool_]:
        """(B,), where all conditions are met."""
        met = np.ones(len(values["hand"]), np.bool_)
        for feature, above, threshold in self.conditions:
            met &= (values[feature] > threshold) == above
        return met


class FlexByRules:
    """The rule bot `flex_when_stuck`, which follows these rules where a flex and another play are both legal.

    Args:
        rules: the first rule that applies decides; if none applies, the Power is held. By default the rules that the
            study has found (docs/flex_timing/README.md).
        name: see `Policy.name`.
    """

    history = 0

    def __init__(self, rules: Sequence[FlexRule] | None = None, name: str = "flex_by_rules") -> None:
        self.rules, self.name = FOUND if rules is None else tuple(rules), name

    def act(self, decisions: Decisions) -> Actions:
        """As `Policy.act`."""
        legal = decisions.action_mask != 0
        spend = spend_or_hold(decisions) & self._spends(decisions)
        mask = np.where(spend[:, None], legal & FLEX_ACTIONS, legal).astype(np.int8)
        return RuleBot("flex_when_stuck").act(replace(decisions, action_mask=mask))

    def _spends(self, decisions: Decisions) -> npt.NDArray[np.bool_]:
        values = features(decisions)
        spend, open_ = np.zeros(len(decisions), np.bool_), np.ones(len(decisions), np.bool_)
        for rule in self.rules:
            met = rule.applies(values) & open_
            spend[met] = rule.spend
            open_ &= ~met
        return spend


FOUND = (
    FlexRule((("players", True, 3.5), ("other_cards", False, 0.5), ("number", True, 0.5)), True),
    FlexRule((("players", True, 3.5), ("other_cards", True, 0.5), ("skip_all", True, 0.5)), True),
)
"""The rules by which the study's tree spends (docs/flex_timing/README.md): with four or more players, if a number can
be flexed and the only other plays are wild cards, or if Skip All can be flexed."""


def spend_or_hold(decisions: Decisions) -> npt.NDArray[np.bool_]:
    """(B,), the decisions at the beginning of a turn in which a flex and another play are both legal."""
    legal = decisions.action_mask != 0
    can_flex, can_play = (legal & FLEX_ACTIONS).any(axis=1), (legal & OTHER_PLAYS).any(axis=1)
    both: npt.NDArray[np.bool_] = can_flex & can_play & legal[:, DRAW]
    return both
