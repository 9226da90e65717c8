"""The 92 faces of the deck and their notation (rules 1). The table itself is the core's."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

from uno_flex_env import _core
from uno_flex_env.errors import NotationError

COLORS = _core.COLORS
SYMBOLS = _core.SYMBOLS
WILD_CODES: tuple[str, ...] = _core.WILD_CODES


class Face(NamedTuple):
    """One face. Colors are indices into `COLORS`, symbols into `SYMBOLS`; both are None for a wild."""

    color: int | None
    symbol: int | None
    copies: int
    """Copies in the official deck."""
    points: int
    flex_color: int | None
    """Color that the flex side matches; None without a flex side and for wilds."""
    has_flex: bool
    flip_icon: bool
    effect: str
    """What the regular side does besides moving the card: one of `_core.EFFECTS` (rules 6)."""
    draws: int
    """Cards that the regular side makes others draw."""
    flex_effect: str
    flex_draws: int

    @property
    def code(self) -> str:
        """The notation, for example "y2/g"; see rules 1."""
        if self.color is None or self.symbol is None:
            raise TypeError("a wild's notation is in WILD_CODES")
        number = SYMBOLS[self.symbol].isdigit()
        flex = "/" if self.has_flex else "^" if self.flip_icon else ""
        shown = COLORS[self.flex_color] if self.flex_color is not None and number else ""
        return COLORS[self.color] + SYMBOLS[self.symbol] + flex + shown


def _face(row: tuple[Any, ...]) -> Face:
    *_, effect, _, flex_effect, _ = row
    return Face._make(row)._replace(effect=_core.EFFECTS[effect], flex_effect=_core.EFFECTS[flex_effect])


FACES = tuple(_face(row) for row in _core.faces())
"""The faces by number: color * 22 + slot, then the four wilds."""

CODES = tuple(face.code for face in FACES if face.color is not None) + WILD_CODES
"""Notation by face number."""

NUM_FACES = len(FACES)
_FACE_OF = {code: face for face, code in enumerate(CODES)}


def card_to_text(face: int) -> str:
    """Notation of a face number (0-91)."""
    return CODES[checked_number("a face", face, NUM_FACES)]


def checked_number(name: str, number: object, count: int) -> int:
    """A whole number below `count`, numpy's integers included; `NotationError` for anything else."""
    try:
        index = -1 if isinstance(number, bool) else operator.index(number)  # type: ignore[arg-type]
    except TypeError:
        index = -1
    if not 0 <= index < count:
        raise NotationError(f"{name} must be a whole number from 0 to {count - 1}, got {number!r}")
    return index


def text_to_card(text: str) -> int:
    """Face number of a card's notation; `NotationError` if there is no such card."""
    face = _FACE_OF.get(text) if isinstance(text, str) else None
    if face is None:
        raise NotationError(f"no such card: {text!r}{_hint(text)}")
    return face


def cards_to_text(faces: Sequence[int]) -> list[str]:
    """Notation of several faces, sorted by character code as in snapshots."""
    return sorted(CODES[face] for face in faces)


def _hint(text: object) -> str:
    """The end of the message: similar cards, or how cards are written."""
    stem = text.rstrip("/^rygb!") if isinstance(text, str) else ""
    close = [code for code in CODES if stem and code.rstrip("/^rygb") == stem]
    return f"; did you mean {' or '.join(close)}?" if close else " (cards look like y2, y3^, y2/g, rS, rS/, WF, W4/)"
