"""The 216 actions and their notation (rules 10). Their order is the core's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from uno_flex_env import _core
from uno_flex_env.cards import CODES, COLORS, checked_number
from uno_flex_env.errors import NotationError

VERBS: tuple[str, ...] = _core.VERBS


class Action(NamedTuple):
    """The parts of an action."""

    verb: str
    face: int | None
    color: int | None
    """The color that a wild calls."""
    offset: int
    """The target sits this many seats clockwise from the player; 0: no target."""
    flex: bool
    effect: str
    """The effect of this side of the card, one of `_core.EFFECTS` (rules 6)."""
    draws: int
    """Cards that this side makes others draw."""
    next_color: int | None
    """The active color afterwards; None if no card is played."""
    flips_own_power: bool
    """Whether the play flips the player's Power: a flex side turns it red, a flip icon flips it (rules 5)."""

    @property
    def text(self) -> str:
        """The notation of a play (rules 10.3); the verb of any other action."""
        if self.face is None:
            return self.verb
        color = "" if self.color is None else f":{COLORS[self.color]}"
        target = f"@{self.offset}" if self.offset else ""
        return CODES[self.face] + ("!" if self.flex else "") + color + target


def _action(row: tuple[Any, ...]) -> Action:
    verb, *_, effect, _, _, _ = row
    return Action._make(row)._replace(verb=VERBS[verb], effect=_core.EFFECTS[effect])


ACTIONS = tuple(_action(row) for row in _core.actions())
NUM_ACTIONS = len(ACTIONS)
TEXTS = tuple(action.text for action in ACTIONS)
"""Notation by action number."""

_NUMBER_OF = {text: number for number, text in enumerate(TEXTS)}

DRAW, KEEP, ACCEPT, CHALLENGE, UNO, SILENT, CATCH, IGNORE = (_NUMBER_OF[verb] for verb in VERBS[1:])
"""Numbers of the actions that play no card."""


def actions_where(condition: Callable[[Action], object]) -> npt.NDArray[np.bool_]:
    """The actions that meet a condition, (216,) bool, read-only. `mask & actions_where(...)` leaves the legal ones."""
    meet = np.array([bool(condition(action)) for action in ACTIONS])
    meet.setflags(write=False)
    return meet


PLAY_ACTIONS = actions_where(lambda action: action.verb == "play")
"""(216,) bool: the actions that play a card."""
WILD_ACTIONS = actions_where(lambda action: action.color is not None)
"""(216,) bool: the actions that play a wild."""
FLEX_ACTIONS = actions_where(lambda action: action.flex)
"""(216,) bool: the actions that play a flex side."""


def action_to_text(action: int) -> str:
    """Notation of an action number (0-215)."""
    return TEXTS[checked_number("an action", action, NUM_ACTIONS)]


def text_to_action(text: str) -> int:
    """Action number of a notation. Raises `NotationError`, which names the part of the text that is wrong."""
    number = _NUMBER_OF.get(text) if isinstance(text, str) else None
    if number is None:
        raise NotationError(f"no such action: {text!r}; {_fault(text)}")
    return number


_GROUPS = (
    (88, "play a colored card, regular side: by color r y g b, then classic 1-8 S R D, Flex 1-8 S R D"),
    (44, "play a colored Flex card, flex side: by color, then 1-8 S R D"),
    (16, "play a wild, regular side: All Flip, Target Draw Two, All Draw, Draw Four, each by called color"),
    (4, "All Draw, flex side: by called color"),
    (28, "Target Draw Two, flex side: by called color, then target, 1 to 7 seats clockwise"),
    (28, "Draw Four, flex side: by called color, then target"),
    (2, "draw, and keep the drawn card"),
    (2, "accept or challenge a Draw Four"),
    (4, 'say UNO or be silent, catch who was silent or ignore it (rules with `uno_call="explicit"`)'),
)


def markdown_table() -> str:
    """The action space as a Markdown table, for the documentation."""
    lines = ["| actions | notation | meaning |", "|---|---|---|"]
    start = 0
    for count, meaning in _GROUPS:
        last = start + count - 1
        lines.append(f"| {start}-{last} | `{TEXTS[start]}` ... `{TEXTS[last]}` | {meaning} |")
        start += count
    return "\n".join(lines)


def describe_illegal(action: int, mask: npt.NDArray[Any]) -> str:
    """The message for an illegal action, with the list of legal ones. `mask` is the (216,) action mask."""
    legal = " ".join(TEXTS[number] for number in np.flatnonzero(mask)) or "none, the game is over"
    return f"action {action} ({TEXTS[action]}) is illegal now; legal: {legal}"


def _fault(text: object) -> str:
    if not isinstance(text, str):
        return f"an action is a text, not {type(text).__name__}"
    card = text.partition("@")[0]
    card, _, color = card.partition(":")
    flex = card.endswith("!")
    code = card.removesuffix("!")
    if code not in CODES:
        return f"{code or text!r} is neither a card nor one of {', '.join(VERBS[1:])}"
    if flex and not code.partition("/")[1]:
        return f"{code} has no flex side"
    same = [action for action in ACTIONS if action.face == CODES.index(code) and action.flex == flex]
    if bool(color) != (same[0].color is not None) or (color and color not in COLORS) or len(color) > 1:
        return f"{card} calls a color: one of :r :y :g :b" if same[0].color is not None else f"{card} calls no color"
    return f"{card} needs a target: @1 to @7" if same[0].offset else f"{card} has no target"
