"""The legal actions of a batch of decisions and what each would lead to, in the words of rules of thumb."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from agents.policy import Decisions
from uno_flex_env.actions import ACTIONS, NUM_ACTIONS, Action
from uno_flex_env.cards import COLORS, FACES, SYMBOLS, WILD_CODES
from uno_flex_env.observation import LAYOUT, NUM_FEATURES, SIZE_STEPS
from uno_flex_env.rules import MAX_PLAYERS, MIN_PLAYERS, SWITCHES

Numbers = npt.NDArray[np.float32]
Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

COLORED = len(FACES) - len(WILD_CODES)
NO_SYMBOL = len(SYMBOLS)
"""Where others have the number of their symbol, a wild has this."""

# ---- Tables over the 216 actions ----


def flags(has: Callable[[Action], object]) -> Flags:
    """(216,), which actions have a property."""
    return np.array([bool(has(action)) for action in ACTIONS])


def sides(codes: str, *, flex: bool) -> Flags:
    """(216,), which actions play this side of such a card: symbols and wilds as in "S R WT/"."""
    return flags(lambda action: action.face is not None and action.flex == flex and _kind(action.face) in codes.split())


def verbs(names: str) -> Flags:
    """(216,), which actions are one of these verbs."""
    return flags(lambda action: action.verb in names.split())


def _kind(face: int) -> str:
    symbol = FACES[face].symbol
    return WILD_CODES[face - COLORED] if symbol is None else SYMBOLS[symbol]


def _numbers(of: Callable[[Action], int]) -> Whole:
    return np.array([of(action) for action in ACTIONS], np.int64)


def _color(action: Action) -> int:
    """The active color afterwards; 0 where no card is played."""
    printed = None if action.face is None else FACES[action.face].color
    return printed if printed is not None else action.color or 0


def _symbol(action: Action) -> int:
    symbol = None if action.face is None else FACES[action.face].symbol
    return NO_SYMBOL if symbol is None else symbol


def _twin(action: Action) -> int:
    """The feature that says that one holds the other card of this color and symbol."""
    face, half = action.face or 0, len(SYMBOLS)
    start: int = LAYOUT["hand"].slice.start
    return start + (face + half if face % (2 * half) < half else face - half) % COLORED


PLAY = flags(lambda action: action.face is not None)
FLEX = flags(lambda action: action.flex)
WILD = flags(lambda action: action.face is not None and action.face >= COLORED)
_COLOR, _SYMBOL, _TWIN = _numbers(_color), _numbers(_symbol), _numbers(_twin)
_OFFSET = _numbers(lambda action: action.offset)
FLEX_CARDS = flags(lambda action: action.face is not None and action.face < COLORED and FACES[action.face].has_flex)
_SKIPS, _SKIPS_ALL = sides("S D", flex=False), sides("S", flex=True)
_REVERSES, _FLEX_REVERSES = sides("R", flex=False), sides("R", flex=True)
_FLIPS = flags(lambda action: action.face is not None and FACES[action.face].flip_icon)
_FLIPS_ALL = sides("WF", flex=False)
_OWN_FLEX_COLOR = flags(
    lambda action: action.face is not None and action.face < COLORED and FACES[action.face].flex_color == _color(action)
)
"""Cards whose flex side matches the color that they leave on the pile: the actions."""

# ---- What is read off an observation: sums of features ----


def _readings() -> tuple[Numbers, dict[str, slice]]:
    """Weights (640, R) and the columns of each reading. All are whole numbers, so sums in float32 are exact."""
    start = {name: part.slice.start for name, part in LAYOUT.items()}
    weights: dict[str, dict[tuple[int, int], int]] = {name: {} for name in _WIDTHS}
    for face in range(COLORED):
        color, symbol = FACES[face].color or 0, FACES[face].symbol or 0
        weights["colors"][start["hand"] + face, color] = 1
        weights["symbols"][start["hand"] + face, symbol] = 1
        weights["known"][start["known"] + face, color] = 1
        for part in ("hand", "discards"):
            weights["seen"][start[part] + face, color] = 1
    for bit in range(4 * len(WILD_CODES)):
        weights["wilds"][start["hand"] + COLORED + bit, 0] = 1
    for color in range(len(COLORS)):
        for symbol in range(len(SYMBOLS)):
            weights["flex_colors"][start["flex_faces"] + color * len(SYMBOLS) + symbol, color] = 1
    for seat in range(MAX_PLAYERS):
        weights["power"][start["power"] + seat, seat] = 1
        for step, size in enumerate(SIZE_STEPS):
            more = size - (SIZE_STEPS[step - 1] if step else 0)
            weights["sizes"][start["hand_sizes"] + seat * len(SIZE_STEPS) + step, seat] = more
    for more in range(MAX_PLAYERS - MIN_PLAYERS + 1):
        weights["players"][start["num_players"] + more, 0] = MIN_PLAYERS + more
    weights["counterclockwise"][start["direction"] + 1, 0] = 1
    weights["reverse_passes"][start["rules"] + list(SWITCHES).index("two_player_reverse"), 0] = 1
    columns, matrices, at = {}, [], 0
    for name, width in _WIDTHS.items():
        matrix = np.zeros((NUM_FEATURES, width), np.float32)
        for place, value in weights[name].items():
            matrix[place] = value
        matrices.append(matrix)
        columns[name] = slice(at, at + width)
        at += width
    return np.concatenate(matrices, axis=1), columns


_WIDTHS = {
    "colors": len(COLORS),
    "symbols": len(SYMBOLS) + 1,
    "wilds": 1,
    "flex_colors": len(COLORS),
    "sizes": MAX_PLAYERS,
    "power": MAX_PLAYERS,
    "players": 1,
    "counterclockwise": 1,
    "seen": len(COLORS),
    "known": len(COLORS),
    "reverse_passes": 1,
}
_WEIGHTS, _COLUMNS = _readings()


class Choices:
    """The legal actions of B decisions, one after another: P choices in all, (P,) each.

    Sizes of other hands are as exact as the observation: up to 7 they are.

    Attributes:
        row: the decision to which a choice belongs, from 0 to B - 1, in order.
        action: its number.
        start: (B,), the first choice of each decision.
        two: there are two players.
        wild, flex: a wild is played, a flex side is played.
        again: the same player has another turn after it.
        follower_size: cards in the hand of whoever decides after it; 99 if that is the player.
        target_size: cards of the opponent that is made to draw; 99 if none is chosen.
        least: cards in the smallest other hand.
        left: cards in one's own hand after it.
        of_color: of these, those of the color that is active then.
        follows: of these, those that could be played then on their regular side, wilds apart.
        can_follow: whether any card could be played then, on either side.
        unseen: cards of the color that is active then that are neither in one's hand nor in the discard pile.
        known: another hand is known to hold that color.
        gains_power: how much greener one's own Power is after it, less the same of the others on average, -2 to 2.
    """

    def __init__(self, decisions: Decisions) -> None:
        place = np.flatnonzero(decisions.action_mask.reshape(-1) != 0)
        self.row, self.action = place // NUM_ACTIONS, place % NUM_ACTIONS
        self.start = np.searchsorted(self.row, np.arange(len(decisions)))
        read = decisions.observation.astype(np.float32) @ _WEIGHTS
        self._read = {name: read[:, columns] for name, columns in _COLUMNS.items()}
        self.wild, self.flex, self.plays = self.of(WILD), self.of(FLEX), self.of(PLAY)
        self._turns()
        power = self._powers()
        self._cards(decisions.observation, power)

    def of(self, which: Flags) -> Flags:
        """A property of actions, (216,), for each choice."""
        flagged: Flags = which[self.action]
        return flagged

    def _each(self, name: str) -> Numbers:
        """A reading of one number, for each choice."""
        spread: Numbers = self._read[name][self.row, 0]
        return spread

    def _turns(self) -> None:
        """Who decides next, and who is aimed at."""
        players = self._read["players"][:, 0].astype(np.int64)
        step = np.where(self._read["counterclockwise"][:, 0] > 0, -1, 1)
        self.two = (players == 2)[self.row]
        skip, reverse, flex_reverse = self.of(_SKIPS), self.of(_REVERSES), self.of(_FLEX_REVERSES)
        turns = skip | flex_reverse | (reverse & (self._each("reverse_passes") == 0))
        self.again = self.of(_SKIPS_ALL) | (self.two & turns)
        steps = np.where(skip, 2, np.where(reverse, -1, np.where(flex_reverse, -2, 1)))
        follower = np.where(self.again, 0, steps * step[self.row] % players[self.row])
        others = np.where(self._read["sizes"] > 0, self._read["sizes"], 99)
        others[:, 0] = 99
        self.least = others.min(axis=1)[self.row]
        self.follower_size = others[self.row, follower]
        self.target_size = others[self.row, _OFFSET[self.action]]

    def _powers(self) -> Numbers:
        """What becomes of the Powers (rules 5); returns one's own afterwards."""
        own, green = self._read["power"][:, 0][self.row], self._read["power"].sum(axis=1)[self.row]
        players = self._each("players")
        flips, flip_all = self.of(_FLIPS), self.of(_FLIPS_ALL)
        own_after = np.where(self.flex, 0, np.where(flips | flip_all, 1 - own, own)).astype(np.float32)
        green_after = np.where(flip_all, players - green, green - own + own_after)
        all_back = green_after == 0
        own_after = np.where(all_back, 1, own_after).astype(np.float32)
        green_after = np.where(all_back, players, green_after)
        others = (green_after - own_after - green + own) / (players - 1)
        self.gains_power = own_after - own - others
        return own_after

    def _cards(self, observation: npt.NDArray[np.uint8], power: Numbers) -> None:
        """What is left in hand, and what of it fits."""
        row, color, symbol = self.row, _COLOR[self.action], _SYMBOL[self.action]
        colored, wilds = self._read["colors"].sum(axis=1), self._read["wilds"][:, 0]
        self.left = (colored + wilds)[row] - self.plays
        prints_color = self.plays & ~self.wild
        self.of_color = self._read["colors"][row, color] - prints_color
        same_symbol = (
            self._read["symbols"][row, symbol] - prints_color - observation[row, _TWIN[self.action]] * prints_color
        )
        self.follows = self.of_color + same_symbol
        flex_sides = self._read["flex_colors"][row, color] - self.of(_OWN_FLEX_COLOR)
        fitting = self.follows + (wilds[row] - self.wild) + flex_sides * power
        self.can_follow = self.plays & (fitting > 0)
        self.unseen = len(SYMBOLS) * 2 - self._read["seen"][row, color]
        self.known = self._read["known"][row, color] > 0
