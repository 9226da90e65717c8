"""The words of both renderers: names of cards and players, and sentences for actions and phases."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

from uno_flex_env.actions import ACTIONS
from uno_flex_env.cards import CODES, FACES, SYMBOLS, text_to_card
from uno_flex_env.cards import COLORS as LETTERS
from uno_flex_env.render.table import Table

COLORS = {"r": "red", "y": "yellow", "g": "green", "b": "blue"}
SYMBOL_NAMES = {"S": "Skip", "R": "Reverse", "D": "Draw Two"}
WILD_NAMES = {"WF": "Wild All Flip", "WT/": "Wild Target Draw Two", "WA/": "Wild All Draw", "W4/": "Wild Draw Four"}
DECISIONS = {
    "draw": "draws",
    "keep": "keeps the drawn card",
    "accept": "accepts the Draw Four",
    "challenge": "challenges the Draw Four",
    "uno": "says UNO",
    "silent": "says nothing",
    "catch": "catches the missing UNO",
    "ignore": "lets the missing UNO pass",
}
PHASES = {
    "play": "{who} plays a card or draws",
    "drawn": "{who} has drawn a card that can be played",
    "challenge": "{who} decides on a challenge",
    "uno": "{who} says UNO or stays silent",
    "catch": "{who} may catch a missing UNO",
    "stack": "{who} owes {owed} cards: adds a Draw Two or draws them",
    "over": "",
}
NAME_COLUMNS = 16


def check_seat(table: Table, seat: int | None) -> None:
    """Raise ValueError unless the table has this seat; None stands for a spectator."""
    if seat is not None and not whole(seat, 0, table.num_players - 1):
        raise ValueError(f"seat must be None or 0 to {table.num_players - 1}, got {seat!r}")


def whole(value: Any, low: int, high: int) -> bool:
    """Whether a value is a whole number from `low` to `high`, both included. True and False are not."""
    return isinstance(value, Integral) and not isinstance(value, bool) and low <= int(value) <= high


def columns(text: str) -> int:
    """The columns that a text takes on a terminal: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def shown_names(names: Iterable[str]) -> list[str]:
    """The names as they are shown: without characters that can't be printed, at most NAME_COLUMNS columns wide."""
    return [_clip("".join(filter(str.isprintable, name))) for name in names]


def _clip(name: str) -> str:
    if columns(name) <= NAME_COLUMNS:
        return name
    while columns(name) > NAME_COLUMNS - 2:
        name = name[:-1]
    return name + ".."


def in_order(hand: Iterable[str]) -> list[str]:
    """The cards of a hand, sorted by color and symbol, then the wilds with Draw Four first."""

    def place(card: str) -> tuple[int, int, str]:
        number = text_to_card(card)
        face = FACES[number]
        if face.color is None or face.symbol is None:
            return len(LETTERS), -face.draws, str(number)
        return face.color, face.symbol, card

    return sorted(hand, key=place)


def side(card: str, flex: bool) -> str:
    """One side of a card in words: "green 2" is the flex side of y2/g."""
    face = FACES[text_to_card(card)]
    color = face.flex_color if flex else face.color
    if color is None or face.symbol is None:
        return WILD_NAMES[card]
    symbol = SYMBOLS[face.symbol]
    return f"{COLORS[LETTERS[color]]} {SYMBOL_NAMES.get(symbol, symbol)}"


def action_sentence(seat: int, action: int, names: Sequence[str]) -> str:
    """A sentence for an action. `names` are the shown names of all players, by seat."""
    about = ACTIONS[action]
    if about.face is None:
        return f"{names[seat]} {DECISIONS[about.verb]}"
    card = CODES[about.face]
    which = f", the flex side of {card}" if about.flex else f" ({card})"
    sentence = f"{names[seat]} plays {side(card, about.flex)}{which}"
    if about.color is not None:
        sentence += f", calls {COLORS[LETTERS[about.color]]}"
    if about.offset:
        sentence += f", aims at {names[(seat + about.offset) % len(names)]}"
    return sentence


def last_sentence(table: Table) -> str:
    """The last action as a sentence, "" after a deal."""
    return "" if table.last is None else action_sentence(*table.last, shown_names(table.names))


def phase_sentence(table: Table) -> str:
    """A sentence for the next decision, or for the result of the round."""
    names = shown_names(table.names)
    if table.current_player is not None:
        sentence = PHASES[table.phase].format(who=names[table.current_player], owed=table.pending_draw)
        return sentence + (f" of the Draw Four on {COLORS[table.prior_color]}" if table.prior_color else "")
    winner = table.winner
    if winner is None:
        return "The round ends with no winner"
    scores, target = table.scores, table.target_score
    match = ", and the match" if scores and target and scores[winner] >= target else ""
    return f"{names[winner]} wins the round with {table.points} points{match}"


def to_choose(table: Table, seat: int | None) -> Sequence[int]:
    """The legal actions if this seat is to act; otherwise none."""
    return table.legal if seat is not None and seat == table.current_player else []


def playable(legal: Iterable[int]) -> set[tuple[str, bool]]:
    """The sides of cards that these actions play: a card, and whether it is the flex side."""
    plays = (ACTIONS[action] for action in legal)
    return {(CODES[play.face], play.flex) for play in plays if play.face is not None}
