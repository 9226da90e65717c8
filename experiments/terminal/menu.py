"""The menu of a decision: a numbered line for each choice, with its meaning in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from experiments.terminal.chair import Chair
from uno_flex_env.actions import PLAY_ACTIONS, text_to_action
from uno_flex_env.render import phrases

REGULAR = {
    "S": "next is skipped",
    "R": "direction turns",
    "D": "next draws 2 and is skipped",
    "WF": "flips every Power",
    "WT": "color only",
    "WA": "color only",
    "W4": "next draws 4 and is skipped",
}
FLEX = {
    "S": "you play again",
    "R": "direction turns, next is skipped",
    "D": "everyone else draws 1",
    "WT": "the target draws 2",
    "WA": "everyone else draws 2",
    "W4": "the target draws 4",
}
VERBS = {
    "draw": "take from the draw pile",
    "keep": "keep the drawn card",
    "accept": "take the cards",
    "challenge": "see the hand; the loser of the challenge draws",
    "uno": "say it",
    "silent": "say nothing",
    "catch": "the player who forgot UNO draws 2",
    "ignore": "let it pass",
}


@dataclass(frozen=True)
class Option:
    """A line of the menu: one side of a card, or an action that plays no card."""

    text: str
    """The notation, without a called color and a target."""
    actions: tuple[str, ...]
    """The actions in notation; several where a color or a target is still to be chosen."""


def options(legal: Sequence[str]) -> list[Option]:
    """The menu of these legal actions, in the order of colors, symbols and sides.

    Actions that differ only in the called color or the target share a line.
    """
    plays = [action for action in legal if PLAY_ACTIONS[text_to_action(action)]]
    sides = {action: action.partition("@")[0].partition(":")[0] for action in plays}
    cards = phrases.in_order({side.removesuffix("!") for side in sides.values()})
    ordered = sorted(sides, key=lambda action: (cards.index(sides[action].removesuffix("!")), sides[action]))
    found = [Option(text, tuple(same)) for text, same in groupby(ordered, key=sides.__getitem__)]
    return found + [Option(action, (action,)) for action in legal if action not in sides]


def meaning(text: str, chair: Chair) -> str:
    """A description of the option with this text."""
    if text in VERBS:
        return VERBS[text]
    card, flex, rules = text.rstrip("!"), text.endswith("!"), chair.rules
    effect = (FLEX if flex else REGULAR).get(card[:2] if card[0] == "W" else card[1], "")
    if card[1] == "R" and len(chair.names) == 2:
        effect = REGULAR["R"] if rules.two_player_reverse == "pass" and not flex else "you play again"
    if card == "W4/" and (rules.flex_draw_four_challenge if flex else rules.draw_four == "challenge"):
        effect += ", or challenges"
    if card[1] == "D" and rules.stacking and not flex:
        effect += ", or adds another"
    effects = [effect] * bool(effect) + ["flips your Power"] * ("^" in card) + ["uses your Power"] * flex
    return "; ".join([phrases.side(card, flex) + ", flex" * flex, *effects])
