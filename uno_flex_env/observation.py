"""The observation: 640 features that are 0 or 1, the meaning of each, and a decoder for people.

Seats are relative: seat 0 is the observing player, and seat k is k seats clockwise in either direction of play.
The features and their places are the same for 2 to 8 players. The core defines them (`core/observation.hpp`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from uno_flex_env import _core
from uno_flex_env.cards import CODES, COLORS, SYMBOLS, WILD_CODES
from uno_flex_env.rules import MIN_PLAYERS, SWITCHES

NUM_FEATURES: int = _core.NUM_FEATURES
SIZE_STEPS: tuple[int, ...] = tuple(_core.SIZE_STEPS)
PILE_STEPS: tuple[int, ...] = tuple(_core.PILE_STEPS)

Row = npt.NDArray[np.uint8]

_CARDS = "88 colored faces in the order of the actions, then 4 thermometer bits for each wild (WF WT/ WA/ W4/)"
_MEANINGS = {
    "hand": f"own cards: {_CARDS}",
    "flex_faces": "flex sides of own colored cards, by the color that they match (r y g b) and symbol (1-8 S R D), "
    "whatever the own Power",
    "discards": f"cards of the discard pile, the top included: {_CARDS}",
    "known": f"cards seen in a challenge that are still in another hand, all other hands together: {_CARDS}",
    "known_owners": "the owners of known cards, by seat 1-7: a red, yellow, green, blue card, a wild",
    "hand_sizes": f"thermometer by seat 0-7: at least {' '.join(map(str, SIZE_STEPS))} cards; zeros for unused seats",
    "power": "Power is green, by seat 0-7; zeros for unused seats",
    "drawn_color": "own card just drawn, in phase drawn: its color; zeros for a wild",
    "drawn_kind": "own card just drawn: classic 1-8 S R D, Flex 1-8 S R D, or WF WT/ WA/ W4/",
    "top": "the top's symbol 1-8 S R D, or WF WT/ WA/ W4/",
    "top_has_flex": "the top is a Flex card",
    "color": "the active color",
    "prior_color": "in phase challenge: the active color before the Draw Four, which decides the challenge",
    "direction": "clockwise, counterclockwise",
    "phase": f"{', '.join(_core.PHASES[:-1])}; none of them at the end",
    "actor": "in phase challenge the seat that played the Draw Four, in phases uno and catch the seat with one card "
    "left; else zeros",
    "owed": "thermometer of the sum owed in phase stack, and in phases uno and catch before it: at least 2 4 ... 16",
    "draw_pile": f"thermometer: at least {' '.join(map(str, PILE_STEPS))} cards",
    "empty_draws": "thermometer: at least 1 2 ... 7 draws in a row that yielded no card",
    "num_players": "2 to 8 players",
    "rules": "switches that are not official: " + ", ".join(SWITCHES),
    "scores": "in a match, thermometer by seat 0-7: at least 1 2 ... 5 sixths of the target score; else zeros",
}


@dataclass(frozen=True)
class Part:
    """A named range of features."""

    name: str
    slice: slice
    shape: tuple[int, ...]
    """Shape of the part: `row[part.slice].reshape(part.shape)`."""
    meaning: str


def _part(name: str, start: int, rows: int, columns: int) -> Part:
    shape = (columns,) if rows == 1 else (rows, columns)
    return Part(name, slice(start, start + rows * columns), shape, _MEANINGS[name])


LAYOUT: Mapping[str, Part] = {row[0]: _part(*row) for row in _core.LAYOUT}
"""The parts of the observation by name, in order. Together they cover all features."""


def parts(row: Row) -> dict[str, Row]:
    """The parts of an observation (640,), or of a batch (..., 640), as views with their shapes."""
    return {name: row[..., part.slice].reshape(*row.shape[:-1], *part.shape) for name, part in LAYOUT.items()}


def hand_sizes(observations: Row) -> npt.NDArray[np.int64]:
    """The number of cards in each hand, by relative seat.

    The observation encodes sizes in steps (`SIZE_STEPS`). Up to 7 cards the number is exact. Above, it is the largest
    step reached.

    Args:
        observations: (..., 640) of 0 and 1.

    Returns:
        (..., 8), 0 for unused seats.
    """
    sizes: npt.NDArray[np.int64] = parts(observations)["hand_sizes"] @ np.diff(SIZE_STEPS, prepend=0)
    return sizes


def markdown_table() -> str:
    """The layout as a Markdown table, for the documentation."""
    lines = ["| features | part | shape | 1 means |", "|---|---|---|---|"]
    for part in LAYOUT.values():
        shape = " x ".join(map(str, part.shape))
        lines.append(f"| {part.slice.start}-{part.slice.stop - 1} | `{part.name}` | {shape} | {part.meaning} |")
    return "\n".join(lines)


def decode(row: Row) -> dict[str, Any]:
    """The content of an observation, in the terms of the game. Sizes and scores are as exact as their features.

    Args:
        row: (640,) of 0 and 1.
    """
    row = np.asarray(row)
    if row.shape != (NUM_FEATURES,) or not np.isin(row, (0, 1)).all():
        raise ValueError(f"an observation is a row of {NUM_FEATURES} zeros and ones, got shape {row.shape}")
    part = parts(row)
    players = _one_hot(part["num_players"], MIN_PLAYERS)
    wild_top = _one_hot(part["top"][len(SYMBOLS) :])
    color = _one_hot(part["color"])
    phase = _one_hot(part["phase"])
    actor = _one_hot(part["actor"])
    prior = _one_hot(part["prior_color"])
    return {
        "num_players": players,
        "phase": "over" if phase is None else _core.PHASES[phase],
        "direction": 1 if part["direction"][0] else -1,
        "top": WILD_CODES[wild_top] if wild_top is not None else _symbol(part) + f" of {COLORS[color or 0]}",
        "top_has_flex": bool(part["top_has_flex"][0]),
        "color": None if color is None else COLORS[color],
        "prior_color": None if prior is None else COLORS[prior],
        "hand": _cards(part["hand"]),
        "drawn": _drawn(part),
        "discards": _cards(part["discards"]),
        "known": _cards(part["known"]),
        "known_owners": {
            seat: "".join(kind for kind, bit in zip(COLORS + "W", owner, strict=True) if bit)
            for seat, owner in enumerate(part["known_owners"], start=1)
            if owner.any()
        },
        "hand_sizes": hand_sizes(row)[:players].tolist(),
        "power": "".join("+" if green else "-" for green in part["power"][:players]),
        "actor": actor,
        "owed": 2 * int(part["owed"].sum()),
        "draw_pile": _reached(part["draw_pile"], PILE_STEPS),
        "empty_draws": int(part["empty_draws"].sum()),
        "rules": {name: values[1] for (name, values), bit in zip(SWITCHES.items(), part["rules"], strict=True) if bit},
        "scores": [int(sixths.sum()) for sixths in part["scores"][:players]],
    }


def _one_hot(bits: Row, first: int = 0) -> int | None:
    return first + int(bits.argmax()) if bits.any() else None


def _reached(thermometer: Row, steps: tuple[int, ...]) -> int:
    """The largest step reached."""
    return ([0, *steps])[int(thermometer.sum())]


def _symbol(part: Mapping[str, Row]) -> str:
    return SYMBOLS[int(part["top"][: len(SYMBOLS)].argmax())]


def _cards(bits: Row) -> list[str]:
    colored = len(CODES) - len(WILD_CODES)
    cards = [CODES[face] for face in np.flatnonzero(bits[:colored])]
    for wild, copies in enumerate(bits[colored:].reshape(len(WILD_CODES), 4)):
        cards += [WILD_CODES[wild]] * int(copies.sum())
    return sorted(cards)


def _drawn(part: Mapping[str, Row]) -> str | None:
    color, kind = _one_hot(part["drawn_color"]), _one_hot(part["drawn_kind"])
    if kind is None:
        return None
    slots = len(part["drawn_kind"]) - len(WILD_CODES)
    return CODES[color * slots + kind] if color is not None else WILD_CODES[kind - slots]
