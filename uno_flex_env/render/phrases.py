"""What both renderings say: the check of a table, names, and sentences for cards, actions and phases."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from numbers import Integral
from typing import Any

Table = dict[str, Any]

COLORS = {"r": "red", "y": "yellow", "g": "green", "b": "blue"}
SYMBOLS = {"S": "Skip", "R": "Reverse", "D": "Draw Two"}
WILDS = {"WF": "Wild All Flip", "WT/": "Wild Target Draw Two", "WA/": "Wild All Draw", "W4/": "Wild Draw Four"}
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

CARD = re.compile(r"[rygb](?:[1-8](?:\^|/[rygb])?|[SRD]/?)|WF|W[TA4]/")
PLAY = re.compile(rf"(?P<card>{CARD.pattern})(?P<flex>!)?(?::(?P<color>[rygb]))?(?:@(?P<offset>[1-7]))?")


def check(table: Table, seat: int | None) -> None:
    """Raise ValueError for the first thing in the table, or a seat, that can't be drawn: its value and what may be."""
    if not isinstance(table, dict):
        raise ValueError(f"a table must be a dict, got {table!r}")
    n: Any = table.get("players")
    if not whole(n, 2, 8):
        raise ValueError(f"players must be 2 to 8, got {n!r}")
    if seat is not None and not whole(seat, 0, n - 1):
        raise ValueError(f"seat must be None or 0 to {n - 1}, got {seat!r}")
    for key, (fits, allowed) in _allowed(n).items():
        if key not in table:
            raise ValueError(f"the table lacks {key!r}: {allowed}")
        if not fits(table[key]):
            raise ValueError(f"{key} must be {allowed}, got {table[key]!r}")
    if table["to_move"] is None and table["phase"] != "over":
        raise ValueError(f"to_move must be 0 to {n - 1} in phase {table['phase']!r}, got None")


def _allowed(n: int) -> dict[str, tuple[Callable[[Any], bool], str]]:
    """For each key of a table of n players: a test of its value, and what it allows in words."""
    a_seat = f"0 to {n - 1}"
    count: tuple[Callable[[Any], bool], str] = (lambda x: whole(x, 0), "a whole number from 0")
    no_seat: tuple[Callable[[Any], bool], str] = (lambda x: x is None or whole(x, 0, n - 1), f"None or {a_seat}")
    return {
        "ply": count,
        "phase": (lambda x: _one_of(x, PHASES), "one of " + " ".join(PHASES)),
        "to_move": no_seat,
        "direction": (lambda x: whole(x, -1, 1) and x != 0, "1 or -1"),
        "top": (_is_card, "a card"),
        "color": (lambda x: _one_of(x, COLORS), "one of " + " ".join(COLORS)),
        "hands": (lambda x: _list(x, n, lambda hand: _list(hand, None, _is_card)), f"{n} lists of cards"),
        "power": (lambda x: _list(x, n, lambda p: p in (True, False)), f"{n} of True or False"),
        "draw_pile": count,
        "discard_pile": count,
        "drawn": (lambda x: x is None or _is_card(x), "None or a card"),
        "pending_draw": count,
        "winner": no_seat,
        "points": count,
        "legal": (lambda x: _list(x, None, _is_action), "a list of actions"),
        "dealer": (lambda x: whole(x, 0, n - 1), a_seat),
        "scores": (lambda x: x is None or _list(x, n, whole), f"None or {n} whole numbers"),
        "target_score": (lambda x: x is None or whole(x, 1), "None or a whole number from 1"),
        "last": (
            lambda x: x is None or (_list(x, 2) and whole(x[0], 0, n - 1) and _is_action(x[1])),
            f"None or a pair of a seat, {a_seat}, and an action",
        ),
        "names": (lambda x: _list(x, n, lambda name: isinstance(name, str)), f"{n} strings"),
    }


def whole(value: Any, low: int | None = None, high: int | None = None) -> bool:
    """Whether a value is a whole number from low to high, both included; True and False are none."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        return False
    number = int(value)
    return (low is None or number >= low) and (high is None or number <= high)


def _one_of(value: Any, words: dict[str, str]) -> bool:
    return isinstance(value, str) and value in words


def _list(value: Any, length: int | None, fits: Callable[[Any], bool] = lambda item: True) -> bool:
    return isinstance(value, list | tuple) and length in (None, len(value)) and all(map(fits, value))


def _is_card(text: Any) -> bool:
    return isinstance(text, str) and CARD.fullmatch(text) is not None


def _is_action(text: Any) -> bool:
    return isinstance(text, str) and (text in DECISIONS or PLAY.fullmatch(text) is not None)


def columns(text: str) -> int:
    """How many columns of a terminal the text takes: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def names(table: Table) -> list[str]:
    """The players' names with what can't be printed left out, at most NAME_COLUMNS columns wide."""
    return [_clip("".join(filter(str.isprintable, name))) for name in table["names"]]


def _clip(name: str) -> str:
    if columns(name) <= NAME_COLUMNS:
        return name
    while columns(name) > NAME_COLUMNS - 2:
        name = name[:-1]
    return name + ".."


def in_order(hand: list[str]) -> list[str]:
    """A hand as people hold it: by color, then symbol, wilds last."""
    return sorted(hand, key=lambda card: ("rygbW".index(card[0]), "12345678SRDFTA4".index(card[1]), card))


def side(card: str, flex: bool) -> str:
    """One side of a card in words, as "green 2" for the flex side of y2/g."""
    if card in WILDS:
        return WILDS[card]
    color = card[3] if flex and card[1].isdigit() else card[0]
    return f"{COLORS[color]} {SYMBOLS.get(card[1], card[1])}"


def last_sentence(table: Table) -> str:
    """The last action as a sentence, "" before the first."""
    if table["last"] is None:
        return ""
    seat, action = table["last"]
    who = names(table)
    if action in DECISIONS:
        return f"{who[seat]} {DECISIONS[action]}"
    play = PLAY.fullmatch(action)
    assert play is not None
    card, flex = play["card"], bool(play["flex"])
    sentence = f"{who[seat]} plays {side(card, flex)}" + (f", the flex side of {card}" if flex else f" ({card})")
    if play["color"]:
        sentence += f", calls {COLORS[play['color']]}"
    if play["offset"]:
        sentence += f", aims at {who[(seat + int(play['offset'])) % table['players']]}"
    return sentence


def phase_sentence(table: Table) -> str:
    """Who decides what, or how the round has ended."""
    who = names(table)
    if table["phase"] != "over":
        return PHASES[table["phase"]].format(who=who[table["to_move"]], owed=table["pending_draw"])
    winner = table["winner"]
    if winner is None:
        return "The round ends with no winner"
    scores, target = table["scores"], table["target_score"]
    match = ", and the match" if scores and target and scores[winner] >= target else ""
    return f"{who[winner]} wins the round with {table['points']} points{match}"


def to_choose(table: Table, seat: int | None) -> list[str]:
    """The legal actions, if the seat that looks is the one to move; otherwise none."""
    return table["legal"] if seat is not None and seat == table["to_move"] else []


def playable(legal: list[str]) -> set[tuple[str, bool]]:
    """The sides among the actions that may be played: pairs of a card and whether it is the flex side."""
    plays = (PLAY.fullmatch(action) for action in legal)
    return {(play["card"], play["flex"] is not None) for play in plays if play}
