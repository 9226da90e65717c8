"""One card, from the front and from the back, and the signs that the table shares with it."""

from __future__ import annotations

import math

from uno_flex_env.cards import COLORS, FACES, Face, text_to_card
from uno_flex_env.render.canvas import Canvas, Color, below, box, mix

INK: dict[str, Color] = {
    "r": (204, 60, 40),
    "y": (240, 190, 45),
    "g": (16, 150, 108),
    "b": (38, 104, 190),
    "W": (46, 48, 56),
}
"""The red is warm and darker, the green bluish, so that most color-blind readers can tell them apart. Cards also show
the letter of their color."""
PAPER, SHADE = (250, 246, 236), (12, 18, 22)
BACK, BACK_LINE = (58, 64, 92), (168, 176, 206)
RATIO = 1.5
FLEX_WORDS = {
    "skip_all": "skip all",
    "reverse_skip": "+ skip",
    "others_draw": "all +{draws}",
    "target_draws": "aim +{draws}",
    "target_bluff": "aim +{draws}",
}
"""The effect of a flex side on its band (rules 6)."""


def on(letter: str) -> Color:
    """A readable text color on a card's color."""
    return (48, 38, 8) if letter == "y" else PAPER


def back(canvas: Canvas, x: float, y: float, width: float, turn: float = 0) -> None:
    """A card's back around (x, y)."""
    for share, color in ((1.04, SHADE), (1.0, PAPER), (0.92, BACK), (0.68, BACK_LINE), (0.6, BACK)):
        inset = width * (1 - share)
        canvas.shape(color, box(x, y, width - inset, width * RATIO - inset, width * 0.13 * share, turn))


def face(canvas: Canvas, card: str, x: float, y: float, width: float) -> None:
    """A card's face around (x, y): the regular side above, the flex side in a band below."""
    height = width * RATIO
    left, top = x - width / 2, y - height / 2
    canvas.shape(SHADE, box(x, y + width * 0.02, width * 1.05, height + width * 0.05, width * 0.15), 60)
    canvas.shape(PAPER, box(x, y, width, height, width * 0.13))
    canvas.shape(INK[card[0]], box(x, y, width * 0.92, height - width * 0.08, width * 0.1))
    if "/" in card:
        _flex_band(canvas, card, x, y, width)
    _symbol(canvas, card, x, y - height * (0.1 if "/" in card else 0), width * (0.8 if "/" in card else 1))
    ink = on(card[0])
    canvas.text(ink, card[1], left + width * 0.19, top + width * 0.21, width * 0.34)
    if card[0] != "W":
        canvas.text(ink, card[0].upper(), left + width * 0.19, top + width * 0.43, width * 0.22)
    if "^" in card:
        flip_icon(canvas, left + width * 0.2, top + height - width * 0.2, width * 0.11)


def flip_icon(canvas: Canvas, x: float, y: float, radius: float) -> None:
    """A disc, half green with a plus and half red with a minus: it flips a Power."""
    canvas.disc(PAPER, x, y, radius * 1.2)
    canvas.disc(INK["r"], x, y, radius)
    canvas.shape(INK["g"], box(x, y, 2 * radius, 2 * radius, radius)[9:27])
    canvas.shape(PAPER, box(x, y, radius * 0.16, radius * 2))
    _sign(canvas, x - radius * 0.47, y, radius * 0.26, plus=True)
    _sign(canvas, x + radius * 0.47, y, radius * 0.26, plus=False)


def power(canvas: Canvas, x: float, y: float, radius: float, *, green: bool) -> None:
    """A Power card as a disc: green with a plus, or red with a minus."""
    canvas.disc(PAPER, x, y, radius)
    canvas.disc(INK["g" if green else "r"], x, y, radius * 0.86)
    _sign(canvas, x, y, radius * 0.48, plus=green)


def arrow(canvas: Canvas, color: Color, x: float, y: float, length: float, turn: float) -> None:
    """An arrow around (x, y)."""
    cos, sin = math.cos(turn), math.sin(turn)
    half, head, shaft = length / 2, length * 0.3, length * 0.1
    outline = [(-half, -shaft), (half - head, -shaft), (half - head, -head), (half, 0)]
    outline += [(px, -py) for px, py in reversed(outline[:-1])]
    canvas.shape(color, [(x + px * cos - py * sin, y + px * sin + py * cos) for px, py in outline])


def _sign(canvas: Canvas, x: float, y: float, arm: float, *, plus: bool) -> None:
    canvas.shape(PAPER, box(x, y, 2 * arm, 0.56 * arm))
    if plus:
        canvas.shape(PAPER, box(x, y, 0.56 * arm, 2 * arm))


def _flex_band(canvas: Canvas, card: str, x: float, y: float, width: float) -> None:
    """The lower third in the flex color, with the flex symbol or the effect of an action card."""
    left, bottom = x - width / 2, y + width * RATIO / 2
    inner = box(x, y, width * 0.92, width * RATIO - width * 0.08, width * 0.1)
    about = FACES[text_to_card(card)]
    letter = "W" if about.flex_color is None else COLORS[about.flex_color]
    color, ink = INK[letter], on(letter)
    if letter == "W":
        light = about.flex_effect == "others_draw"
        color, ink = mix(INK["W"], PAPER, 0.85 if light else 0.2), INK["W"] if light else PAPER
    edge = bottom - width * 0.4, bottom - width * 0.54
    span = left, left + width
    canvas.shape(PAPER, below(inner, edge[0] - width * 0.05, edge[1] - width * 0.05, span))
    canvas.shape(color, below(inner, *edge, span))
    if about.flex_effect == "none":
        canvas.text(ink, card[1], left + width * 0.19, bottom - width * 0.2, width * 0.34)
        canvas.text(ink, letter.upper(), left + width * 0.4, bottom - width * 0.2, width * 0.22)
    else:
        words = FLEX_WORDS[about.flex_effect].format(draws=about.flex_draws)
        canvas.text(ink, words, x, bottom - width * 0.21, width * 0.3, room=width * 0.8)


def _symbol(canvas: Canvas, card: str, x: float, y: float, size: float) -> None:
    """The large symbol around (x, y)."""
    ink, paint, about = on(card[0]), INK[card[0]], FACES[text_to_card(card)]
    if about.color is None:
        _wild(canvas, about, x, y, size)
    elif about.effect == "skip":
        canvas.disc(ink, x, y, size * 0.27)
        canvas.disc(paint, x, y, size * 0.19)
        reach = size * 0.16
        canvas.line(ink, (x - reach, y + reach), (x + reach, y - reach), size * 0.08)
    elif about.effect == "reverse":
        for way, shift in ((-math.pi / 4, -0.11), (math.pi * 3 / 4, 0.11)):
            arrow(canvas, ink, x + size * shift, y + size * shift, size * 0.56, way)
    else:
        canvas.text(ink, f"+{about.draws}" if about.draws else card[1], x, y, size * 0.95, room=size * 0.6)


def _wild(canvas: Canvas, about: Face, x: float, y: float, size: float) -> None:
    """A diamond of the four colors, and on it the effect of the regular side, or a sign of the flex side: a target
    for one player, arrows for all."""
    reach = size * 0.3
    for letter, (sx, sy) in zip("rygb", [(0, -1), (1, 0), (0, 1), (-1, 0)], strict=True):
        canvas.shape(INK[letter], box(x + sx * reach * 0.75, y + sy * reach * 0.75, reach, reach, 0, math.pi / 4))
    if about.effect == "flip_all":
        flip_icon(canvas, x, y, size * 0.19)
    elif about.draws:
        canvas.disc(INK["W"], x, y, size * 0.19)
        canvas.text(PAPER, f"+{about.draws}", x, y, size * 0.34, room=size * 0.3)
    elif about.flex_effect == "target_draws":
        _target(canvas, x, y, size * 0.3)
    elif about.flex_effect == "others_draw":
        for quarter in range(4):
            turn = math.pi / 4 + quarter * math.pi / 2
            out = size * 0.3
            arrow(canvas, PAPER, x + out * math.cos(turn), y + out * math.sin(turn), size * 0.4, turn)


def _target(canvas: Canvas, x: float, y: float, radius: float) -> None:
    """A target with a cross over it."""
    for share, color in ((1.0, PAPER), (0.8, INK["W"]), (0.5, PAPER), (0.3, INK["W"])):
        canvas.disc(color, x, y, radius * share)
    for width, height in ((2.5, 0.16), (0.16, 2.5)):
        canvas.shape(PAPER, box(x, y, radius * width, radius * height))
