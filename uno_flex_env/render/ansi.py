"""A table as text, in 80 columns."""

from __future__ import annotations

import re

from uno_flex_env.actions import TEXTS
from uno_flex_env.render.phrases import (
    COLORS,
    NAME_COLUMNS,
    check_seat,
    columns,
    in_order,
    last_sentence,
    phase_sentence,
    shown_names,
    to_choose,
)
from uno_flex_env.render.table import Table

COLUMNS = 80
ESCAPE = re.compile("\x1b\\[[0-9;]*m")
INK = {"r": "1;97;41", "y": "1;30;43", "g": "1;30;42", "b": "1;97;44", "W": "1;97;100"}
BOLD, DIM = "1", "2"
POWER = {True: ("+ green", INK["g"]), False: ("- red", INK["r"])}
LEGEND = [
    *(f"{letter} {word}" for letter, word in COLORS.items()),
    "W wild",
    "S Skip",
    "R Reverse",
    "D Draw Two",
    "F All Flip",
    "T Target Draw Two",
    "A All Draw",
    "4 Draw Four",
    "^ flips your Power",
    "/ has a flex side",
    "! plays that side",
    ":b calls blue",
    "@2 aims two seats on, clockwise (seat numbers go up)",
]


def ansi(table: Table, seat: int | None, *, color: bool = True) -> str:
    """The table as a seat sees it, or a spectator with None, in lines of at most 80 visible columns.

    The colors are ANSI escapes. Without them the text is the same, character by character. ValueError if the table has
    no such seat.
    """
    check_seat(table, seat)
    legend = [_ink(line, DIM) for line in _wrap("Legend: ", LEGEND)]
    parts = [_middle(table), _seats(table, seat), _news(table), _hand(table, seat), legend]
    text = "\n\n".join("\n".join(lines) for lines in parts if lines)
    return text if color else ESCAPE.sub("", text)


def _ink(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m"


def _card(card: str) -> str:
    """A card's code in its color; the second letter of a Flex number in its flex color."""
    if len(card) == 4:
        return _ink(card[:3], INK[card[0]]) + _ink(card[3], INK[card[3]])
    return _ink(card, INK[card[0]])


def _width(text: str) -> int:
    return columns(ESCAPE.sub("", text))


def _wrap(label: str, cells: list[str], gap: str = "  ") -> list[str]:
    """Lay the cells out in lines under the label, without breaking a cell."""
    lines, indent = [label], " " * _width(label)
    for i, cell in enumerate(cells):
        between = gap if i else ""
        if _width(lines[-1]) + len(between) + _width(cell) > COLUMNS:
            lines.append(indent)
            between = ""
        lines[-1] += between + cell
    return lines


def _middle(table: Table) -> list[str]:
    """The piles, the active color, in a challenge the color before, and the direction."""
    letter, prior = table.color, table.prior_color
    cells = [
        f"Top {_card(table.top)}",
        f"color {_ink(f'{letter} {COLORS[letter]}', INK[letter])}",
        *([f"before {_ink(f'{prior} {COLORS[prior]}', INK[prior])}"] if prior else []),
        "clockwise" if table.direction == 1 else "counterclockwise",
        f"draw pile {table.draw_pile}",
        f"discard pile {table.discard_pile}",
    ]
    return _wrap("", cells)


def _seats(table: Table, seat: int | None) -> list[str]:
    """A line for each player; ">" marks the one to move."""
    rows = []
    for player, name in enumerate(shown_names(table.names)):
        count = len(table.hands[player])
        sign, code = POWER[bool(table.power[player])]
        cells = [
            name + " " * (NAME_COLUMNS - columns(name)),
            f"Power {_ink(sign, code)}{' ' * (7 - len(sign))}",
            f"{count:2} card{'s' if count != 1 else ' '}",
            _ink("UNO!", BOLD) if count == 1 else "    ",
        ]
        if table.scores is not None:
            cells.append(f"score {table.scores[player]:3}")
        cells += ["you"] * (player == seat) + ["dealer"] * (player == table.dealer)
        rows += [line.rstrip() for line in _wrap(f"{'>' if player == table.current_player else ' '} {player}  ", cells)]
    if table.scores is not None and table.target_score is not None:
        rows.append(f"     The match is won with {table.target_score} points")
    return rows


def _hand(table: Table, seat: int | None) -> list[str]:
    """The viewing seat's cards and, if it is to act, its legal actions."""
    if seat is None:
        return []
    cards = in_order(table.hands[seat])
    lines = _wrap(f"Hand ({len(cards)}): ", [_card(card) for card in cards], gap=" ")
    legal = [TEXTS[action] for action in to_choose(table, seat)]
    if legal and table.drawn:
        lines += [f"Drawn: {_card(table.drawn)}"]
    return lines + (_wrap("Legal: ", legal) if legal else [])


def _news(table: Table) -> list[str]:
    """The last action, then the next decision or the result of the round."""
    last = last_sentence(table)
    lines = _wrap("Last: ", f"{last}.".split(" "), gap=" ") if last else []
    return lines + [_ink(line, BOLD) for line in _wrap("Now:  ", f"{phase_sentence(table)}.".split(" "), gap=" ")]
