"""Powers over whole rounds: how long they stay red, and what turns them green again."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from agents.candidates import FLEX_CARDS, with_effect
from agents.flex_policies import OTHER_PLAYS
from agents.policy import Policy
from experiments.flex_timing.simulate import Step, dealt, played
from uno_flex_env.actions import DRAW, FLEX_ACTIONS, WILD_ACTIONS, actions_where
from uno_flex_env.cards import FACES
from uno_flex_env.rules import Rules

ICONS = actions_where(lambda a: a.face is not None and FACES[a.face].flip_icon)
PLAIN = OTHER_PLAYS & with_effect("none") & ~WILD_ACTIONS & ~FLEX_CARDS & ~ICONS
"""Classic numbers without the flip icon, for comparison with those that have one."""
ALL_FLIP = with_effect("flip_all")

CAUSES = ("reset", "own icon", "all flip", "end")
"""What ends a red spell: the reset (rule 5.4), the player's own flip icon, Wild All Flip, or the end of the round."""
COUNTS = (
    "turns",
    "red_turns",
    "resets_by_flex",
    "resets_by_icon",
    *(f"red_spells_{cause.replace(' ', '_')}" for cause in CAUSES),
    "red_length",
    *(f"{what}_{who}" for who in ("last", "not_last") for what in ("chances", "flexes")),
    *(f"{what}_{power}" for power in ("red", "green") for what in ("icon_taken", "icon_or_plain", "icon_expected")),
    *(f"{what}_{power}" for power in ("red", "green", "last") for what in ("all_flip_played", "all_flip_chances")),
    "won_by_last_resetter",
    "rounds_with_reset",
)
"""The columns; each is counted in every deal."""


def resets(policy: Policy, seed: int, deals: range, num_players: int, rules: Rules) -> dict[str, Any]:
    """Let a policy play deals in all seats; returns the deals and `COUNTS` as columns, (deals,) each.

    A turn counts when its first decision comes up. A red spell lasts from the turn in which a Power turns red until
    it is green again.

    - red_turns: turns that start with the player's Power red.
    - red_length: turns of all players during the red spells that end before the round does.
    - chances and flexes: turns in which a flex and another play are legal, and those in which the player flexes; by
      whether the player's Power is the last green one.
    - icon_or_plain, icon_taken and icon_expected: turns in which a classic number is played and both one with and one
      without the flip icon are legal; those in which it has the icon; and how many those would be by chance. By the
      color of the player's Power.
    - all_flip_chances and all_flip_played: turns in which Wild All Flip and another play are legal, and those in which
      Wild All Flip is played; with the player's Power red, green beside other green ones, or the last green one.
    """
    positions, keys = dealt(seed, deals, num_players, rules)
    watch = _Watch(len(deals), num_players)
    for step in played(positions, policy, keys):
        watch.note(step)
    watch.finish(positions.winners)
    return {"deal": np.array(deals), **watch.counts}


class _Watch:
    """Counts by deal, updated with every step."""

    def __init__(self, deals: int, num_players: int) -> None:
        kinds = {name: np.float64 if "expected" in name else np.int64 for name in COUNTS}
        self.counts: dict[str, npt.NDArray[Any]] = {name: np.zeros(deals, kinds[name]) for name in COUNTS}
        self.since = np.full((deals, num_players), -1)  # turn at which a Power turned red; -1 while it is green
        self.seats = 1 << np.arange(num_players)
        self.resetter = np.full(deals, -1)

    def note(self, step: Step) -> None:
        after = step.before[:]
        after.apply(step.actions)
        green = step.before.fields["green"].astype(np.int64)
        current_player = step.before.current_player.astype(np.int64)
        own = 1 << current_player
        turn = step.decisions.action_mask[:, DRAW] != 0
        self._add("turns", step.rows[turn])
        self._add("red_turns", step.rows[turn & ((green & own) == 0)])
        self._preferences(step, green, own)
        self._changes(step, green, after.fields["green"].astype(np.int64), current_player)

    def finish(self, winners: npt.NDArray[np.int8]) -> None:
        """Count what is known only at the end of the rounds."""
        self.counts["red_spells_end"] += (self.since >= 0).sum(axis=1)
        self.counts["rounds_with_reset"] += self.resetter >= 0
        self.counts["won_by_last_resetter"] += (self.resetter >= 0) & (self.resetter == winners)

    def _add(self, name: str, rows: npt.NDArray[Any], values: Any = 1) -> None:
        np.add.at(self.counts[name], rows, values)

    def _changes(self, step: Step, green: Any, after: Any, current_player: Any) -> None:
        """Count the Powers that have turned red or green, by cause."""
        rows, own = step.rows, 1 << current_player
        last = green == own
        flex, icon = FLEX_ACTIONS[step.actions], ICONS[step.actions]
        by_flex, by_icon = flex & last, icon & last
        self._add("resets_by_flex", rows[by_flex])
        self._add("resets_by_icon", rows[by_icon])
        self.resetter[rows[by_flex | by_icon]] = current_player[by_flex | by_icon]
        was, now = ((green[:, None] & self.seats) != 0), ((after[:, None] & self.seats) != 0)
        turns, since = self.counts["turns"][rows, None], self.since[rows]
        risen = ~was & now
        causes = {"reset": by_flex | by_icon, "own_icon": icon & ~last, "all_flip": ALL_FLIP[step.actions]}
        for cause, which in causes.items():
            self._add(f"red_spells_{cause}", rows, (risen & which[:, None]).sum(axis=1))
        self._add("red_length", rows, np.where(risen, turns - since, 0).sum(axis=1))
        self.since[rows] = np.where(was & ~now, turns, np.where(risen, -1, since))

    def _preferences(self, step: Step, green: Any, own: Any) -> None:
        """Count what the policy plays where it has a choice."""
        legal, rows, actions = step.decisions.action_mask != 0, step.rows, step.actions
        red, last = (green & own) == 0, green == own
        turn = legal[:, DRAW]
        chance = turn & (legal & FLEX_ACTIONS).any(axis=1) & (legal & OTHER_PLAYS).any(axis=1)
        for who, which in (("last", last), ("not_last", ~last)):
            self._add(f"chances_{who}", rows[chance & which])
            self._add(f"flexes_{who}", rows[chance & which & FLEX_ACTIONS[actions]])
        icons, plain = (legal & ICONS).sum(axis=1), (legal & PLAIN).sum(axis=1)
        number = turn & (icons > 0) & (plain > 0) & (ICONS | PLAIN)[actions]
        for power, which in (("red", red), ("green", ~red)):
            here = number & which
            self._add(f"icon_taken_{power}", rows[here & ICONS[actions]])
            self._add(f"icon_or_plain_{power}", rows[here])
            self._add(f"icon_expected_{power}", rows[here], (icons / np.maximum(icons + plain, 1))[here])
        flip = turn & (legal & ALL_FLIP).any(axis=1) & (legal & (OTHER_PLAYS | FLEX_ACTIONS) & ~ALL_FLIP).any(axis=1)
        for power, which in (("red", red), ("green", ~red & ~last), ("last", last)):
            self._add(f"all_flip_chances_{power}", rows[flip & which])
            self._add(f"all_flip_played_{power}", rows[flip & which & ALL_FLIP[actions]])
