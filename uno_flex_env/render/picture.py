"""A table as a picture: seats around an ellipse, the piles in the middle, the viewing seat's hand at the bottom."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from uno_flex_env.actions import PLAY_ACTIONS, TEXTS
from uno_flex_env.render.canvas import HEIGHT, WIDTH, Canvas, Color, Picture, Point, box, mix
from uno_flex_env.render.card_faces import INK, PAPER, RATIO, SHADE, arrow, back, face, flip_icon, on, power
from uno_flex_env.render.phrases import (
    COLORS,
    check_seat,
    in_order,
    last_sentence,
    phase_sentence,
    playable,
    shown_names,
    to_choose,
    whole,
)
from uno_flex_env.render.table import Table

SIZE = (WIDTH, HEIGHT)
LEAST, MOST = 120, 4000
GROUND: Color = (24, 36, 43)
FELT: Color = (40, 62, 70)
LINE: Color = (98, 118, 122)
PLATE: Color = (20, 29, 35)
QUIET: Color = (164, 180, 186)
GOLD: Color = (246, 208, 104)
HAND_MIDDLE, HAND_WIDTH, HAND_HEIGHT = 707.5, 1140, 186
"""The room of the viewing seat's hand."""
WIDEST = 92
"""The width of a card in a small hand."""
GAP, EDGE, LIFT = 0.13, 0.06, 0.09
"""The gap between two cards, the golden edge and how far a playable card is raised, as shares of a card's width."""
PITCH = RATIO + 2 * EDGE + LIFT
"""The distance between two rows, as a multiple of a card's width."""


class Oval(NamedTuple):
    """The table on the canvas: its middle, and how far above and below it the players sit."""

    x: float
    y: float
    ry: float


def picture(table: Table, seat: int | None, *, size: tuple[int, int] = SIZE) -> Picture:
    """The table as a seat sees it, or a spectator with None: uint8 (height, width, 3), a new array.

    `size` is (width, height) in pixels. This needs pygame, but no display. ValueError if the table has no such seat or
    the size is out of range. ImportError if pygame is missing.
    """
    check_seat(table, seat)
    if not (isinstance(size, tuple | list) and len(size) == 2 and all(whole(side, LEAST, MOST) for side in size)):
        raise ValueError(f"size must be (width, height), each {LEAST} to {MOST} pixels, got {size!r}")
    canvas = Canvas((size[0], size[1]), GROUND)
    felt = Oval(WIDTH / 2, 322, 250) if seat is not None else Oval(WIDTH / 2, 396, 300)
    _felt(canvas, felt)
    _direction(canvas, table, felt)
    _piles(canvas, table, felt)
    _news(canvas, table, felt)
    _legend(canvas, table)
    for player in range(table.num_players):
        _seat(canvas, table, player, seat, felt)
    if seat is not None:
        _hand(canvas, table, seat)
        _decision(canvas, to_choose(table, seat))
    return canvas.pixels()


def _ellipse(x: float, y: float, rx: float, ry: float) -> list[Point]:
    angles = (2 * math.pi * i / 180 for i in range(180))
    return [(x + rx * math.cos(angle), y + ry * math.sin(angle)) for angle in angles]


def _felt(canvas: Canvas, felt: Oval) -> None:
    """The table, lighter toward its middle."""
    x, y = felt.x, felt.y
    canvas.shape(SHADE, _ellipse(x, y + 8, 568, felt.ry + 62), 90)
    canvas.shape(LINE, _ellipse(x, y, 562, felt.ry + 54))
    for step in range(24):
        share = 1 - step / 30
        canvas.shape(mix(GROUND, FELT, 0.4 + 0.6 * step / 23), _ellipse(x, y, 558 * share, (felt.ry + 50) * share))


def _direction(canvas: Canvas, table: Table, felt: Oval) -> None:
    """Arrows around the piles in the direction of play."""
    x, y, rx, ry = felt.x, felt.y, 246, 147
    for i in range(48):
        angle = math.tau * i / 48
        px, py = x + rx * math.cos(angle), y + ry * math.sin(angle)
        turn = math.atan2(ry * math.cos(angle), -rx * math.sin(angle))
        if i % 8 == 4:
            arrow(canvas, LINE, px, py, 38, turn if table.direction == 1 else turn + math.pi)
        elif i % 8 not in (3, 5):
            canvas.shape(LINE, box(px, py, 12, 3, turn=turn))


def _piles(canvas: Canvas, table: Table, felt: Oval) -> None:
    """The draw pile, the top framed in the active color; between them the sum owed, or the color before a Draw Four."""
    x, y = felt.x, felt.y
    left, right, width = x - 98, x + 98, 100
    canvas.shape(LINE, box(left, y, width, width * RATIO, 13))
    canvas.shape(FELT, box(left, y, width - 4, width * RATIO - 4, 11))
    for i in range(min(3, table.draw_pile)):
        back(canvas, left - 5 * i, y - 4 * i, width)
    letter = table.color
    canvas.shape(INK[letter], box(right, y, width + 36, width * RATIO + 36, 30), 80)
    canvas.shape(INK[letter], box(right, y, width + 20, width * RATIO + 20, 23))
    face(canvas, table.top, right, y, width)
    _chip(canvas, f"{letter.upper()} {COLORS[letter]}", right, y - 93, INK[letter], on(letter))
    canvas.text(QUIET, f"draw pile {table.draw_pile}", left, y + 103, 21)
    canvas.text(QUIET, f"discard pile {table.discard_pile}", right, y + 103, 21)
    if table.pending_draw:
        canvas.disc(GOLD, x, y, 26)
        canvas.text(PLATE, f"+{table.pending_draw}", x, y, 30, room=40)
    if table.prior_color:
        prior = table.prior_color
        canvas.text(QUIET, "played on", x, y - 18, 19, room=64)
        _chip(canvas, f"{prior.upper()} {COLORS[prior]}", x, y + 4, INK[prior], on(prior), 17)


def _chip(canvas: Canvas, text: str, x: float, y: float, color: Color, ink: Color, height: float = 22) -> None:
    """A word on a rounded background."""
    canvas.shape(color, box(x, y, height * (0.9 + 0.43 * len(text)), height * 1.14, height * 0.55))
    canvas.text(ink, text, x, y, height)


def _news(canvas: Canvas, table: Table, felt: Oval) -> None:
    """The last action and, in bold, the next decision or the result of the round."""
    x, y = felt.x, felt.y
    lines = textwrap.wrap(last_sentence(table), 54)
    for i, line in enumerate(lines):
        canvas.text(QUIET, line, x, y + 168 + 20 * i, 22, room=480)
    over = table.phase == "over"
    canvas.text(GOLD if over else PAPER, phase_sentence(table), x, y + 173 + 20 * len(lines), 27, room=480)


def _legend(canvas: Canvas, table: Table) -> None:
    """The meaning of letters and signs, in the upper corners."""
    for i, (letter, word) in enumerate(COLORS.items()):
        canvas.shape(INK[letter], box(32, 28 + 25 * i, 20, 20, 5))
        canvas.text(on(letter), letter.upper(), 32, 28 + 25 * i, 20)
        canvas.text(QUIET, word, 50, 28 + 25 * i, 20, align=0)
    x = WIDTH - 32
    power(canvas, x, 28, 10, green=True)
    power(canvas, x, 53, 10, green=False)
    flip_icon(canvas, x, 78, 8.5)
    for height, color in ((21, GOLD), (15, PAPER), (13, INK["W"])):
        canvas.shape(color, box(x, 103, height - 5, height, 3))
    for i, words in enumerate(("Power green", "Power red", "flips your Power", "can be played")):
        canvas.text(QUIET, words, x - 18, 28 + 25 * i, 20, align=1)
    if table.scores is not None and table.target_score is not None:
        canvas.text(QUIET, f"match to {table.target_score}", x + 10, 128, 20, align=1)


def _place(n: int, offset: int, felt: Oval) -> Point:
    """The position of the player `offset` seats clockwise from the bottom. With more than four players, the others keep
    away from the bottom."""
    angle = 90 + 360 * offset / n
    if n > 4 and offset:
        angle = 142 + 256 * (offset - 1) / (n - 2)
    return felt.x + 456 * math.cos(math.radians(angle)), felt.y + felt.ry * math.sin(math.radians(angle)) + 10


def _seat(canvas: Canvas, table: Table, player: int, seat: int | None, felt: Oval) -> None:
    """A player's plate, with a fan of backs unless its hand is shown."""
    x, y = _place(table.num_players, (player - (seat or 0)) % table.num_players, felt)
    count = len(table.hands[player])
    if player != seat:
        _fan(canvas, count, x, y - 34)
    active = player in (table.current_player, table.winner)
    if active:
        canvas.shape(GOLD, box(x, y, 216, 64, 20), 70)
    canvas.shape(GOLD if active else LINE, box(x, y, 204, 54, 15))
    canvas.shape(PLATE, box(x, y, 200 - 2 * active, 50 - 2 * active, 13))
    power(canvas, x - 74, y, 17, green=bool(table.power[player]))
    canvas.text(GOLD if active else PAPER, shown_names(table.names)[player], x - 49, y - 10, 24, align=0, room=142)
    words = f"{count} card" + "s" * (count != 1)
    if table.scores is not None:
        words += f" · {table.scores[player]} point" + "s" * (table.scores[player] != 1)
    canvas.text(QUIET, words, x - 49, y + 12, 20, align=0, room=142)
    if player == table.dealer:
        _chip(canvas, "dealer", x - 58, y - 32, LINE, PAPER, 17)
    if count == 1:
        _chip(canvas, "UNO!", x + 70, y - 29, GOLD, PLATE)


def _fan(canvas: Canvas, count: int, x: float, y: float) -> None:
    """A fan of up to 16 backs. The plate shows the number of cards."""
    shown = min(count, 16)
    for i in range(shown):
        turn = (i - (shown - 1) / 2) * min(0.12, 1.0 / max(1, shown - 1))
        back(canvas, x + 130 * math.sin(turn), y + 130 - 130 * math.cos(turn), 36, turn)


def _hand(canvas: Canvas, table: Table, seat: int) -> None:
    """The viewing seat's cards. Playable cards are raised, with a golden edge along each playable side."""
    cards, sides = in_order(table.hands[seat]), playable(to_choose(table, seat))
    rows, width = _rows(max(1, len(cards)))
    length = math.ceil(len(cards) / rows)
    for row in range(rows):
        held = cards[row * length : (row + 1) * length]
        y = HAND_MIDDLE + (row - (rows - 1) / 2) * HAND_HEIGHT / rows
        for i, card in enumerate(held):
            x = WIDTH / 2 + (i - (len(held) - 1) / 2) * width * (1 + GAP)
            lift = width * LIFT if {(card, False), (card, True)} & sides else 0
            _golden_edge(canvas, card, x, y - lift, width, sides)
            face(canvas, card, x, y - lift, width)


def _rows(count: int) -> tuple[int, float]:
    """The number of rows in which this many cards are largest, and the width of a card there."""

    def width(rows: int) -> float:
        return min(WIDEST, HAND_HEIGHT / rows / PITCH, HAND_WIDTH / (math.ceil(count / rows) * (1 + GAP)))

    rows = max(range(1, 6), key=width)
    return rows, width(rows)


def _golden_edge(canvas: Canvas, card: str, x: float, y: float, width: float, sides: set[tuple[str, bool]]) -> None:
    """The golden edge, drawn before the card: above for the regular side, below for the flex side, or both."""
    edge = box(x, y, width * (1 + 2 * EDGE), width * (RATIO + 2 * EDGE), width * 0.16)
    split = y + width * RATIO * 0.19 if "/" in card else y + width * RATIO
    for flex, top, bottom in ((False, y - width * RATIO, split), (True, split, y + width * RATIO)):
        if (card, flex) in sides:
            canvas.shape(GOLD, [(px, min(max(py, top), bottom)) for px, py in edge])


def _decision(canvas: Canvas, legal: Sequence[int]) -> None:
    """The legal actions that play no card, left of the seat's plate."""
    words = [TEXTS[action] for action in legal if not PLAY_ACTIONS[action]]
    for i, word in enumerate(reversed(words)):
        _chip(canvas, word, WIDTH / 2 - 170 - 120 * i, 582, GOLD, PLATE)
