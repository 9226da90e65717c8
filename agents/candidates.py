"""Features of the legal actions in a batch of decisions, for heuristics.

The effects of an action come from the core's table of actions (`uno_flex_env.actions.ACTIONS`).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from uno_flex_env import _core
from uno_flex_env.actions import ACTIONS, FLEX_ACTIONS, NUM_ACTIONS, PLAY_ACTIONS, WILD_ACTIONS, Action, actions_where
from uno_flex_env.cards import COLORS, FACES, SYMBOLS, WILD_CODES, Face
from uno_flex_env.observation import LAYOUT, NUM_FEATURES, hand_sizes
from uno_flex_env.policy_input import Decisions
from uno_flex_env.rules import MAX_PLAYERS, MIN_PLAYERS, SWITCHES

Numbers = npt.NDArray[np.float32]
Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

COLORED = len(FACES) - len(WILD_CODES)
"""Colored faces have the numbers below this, wilds the others."""
NO_SYMBOL = len(SYMBOLS)
"""The symbol number of wilds."""
NO_HAND = 99
"""The number of cards at a seat without a player; it is larger than any hand."""

# ---- Tables over the 216 actions ----


def with_effect(*effects: str) -> Flags:
    """(216,) bool, the actions with one of these effects (rules 6). ValueError for an unknown effect."""
    if unknown := set(effects) - set(_core.EFFECTS):
        raise ValueError(f"no such effect: {', '.join(sorted(unknown))}; there are {', '.join(_core.EFFECTS)}")
    return actions_where(lambda action: action.effect in effects)


def _face(action: Action) -> Face | None:
    return None if action.face is None else FACES[action.face]


def _whole(of: Callable[[Action], int]) -> Whole:
    return np.array([of(action) for action in ACTIONS], np.int64)


def _symbol(action: Action) -> int:
    face = _face(action)
    return NO_SYMBOL if face is None or face.symbol is None else face.symbol


def _twin(action: Action) -> int:
    """The feature that is 1 if the player holds the other face of this color and symbol; without one, any feature."""
    face = _face(action)
    alike = [n for n, other in enumerate(FACES[:COLORED]) if face and other[:2] == face[:2] and n != action.face]
    start: int = LAYOUT["hand"].slice.start
    return start + (alike[0] if alike else 0)


def _is_colored(action: Action) -> bool:
    return action.face is not None and action.face < COLORED


FLEX_CARDS = actions_where(lambda action: _is_colored(action) and FACES[action.face or 0].has_flex)
"""(216,), the actions that play a colored card with a flex side, on either side."""
_COLOR = _whole(lambda action: action.next_color or 0)
_SYMBOL, _TWIN = _whole(_symbol), _whole(_twin)
_OFFSET = _whole(lambda action: action.offset)
_SKIPS, _SKIPS_ALL = with_effect("skip", "next_draws"), with_effect("skip_all")
_REVERSES, _REVERSES_AND_SKIPS = with_effect("reverse"), with_effect("reverse_skip")
_FLIPS, _FLIPS_ALL = actions_where(lambda action: action.flips_own_power), with_effect("flip_all")
_FLEX_SIDE_FITS = actions_where(
    lambda action: _is_colored(action) and FACES[action.face or 0].flex_color == action.next_color
)
"""(216,), the actions that play a card whose flex side matches the color that they leave on the pile."""

# ---- Sums of features ----


def _sums() -> tuple[Numbers, dict[str, slice]]:
    """Weights (640, S) of sums of features, and the columns of each sum by name.

    All weights are whole numbers, so the sums are exact in float32.
    """
    start = {name: part.slice.start for name, part in LAYOUT.items()}
    weights: dict[str, dict[tuple[int, int], int]] = {name: {} for name in _WIDTHS}
    for face in range(COLORED):
        color, symbol = FACES[face].color or 0, FACES[face].symbol or 0
        weights["colors"][start["hand"] + face, color] = 1
        weights["symbols"][start["hand"] + face, symbol] = 1
        weights["known"][start["known"] + face, color] = 1
        for part in ("hand", "discards"):
            weights["own_or_discarded"][start[part] + face, color] = 1
    for bit in range(sum(face.copies for face in FACES[COLORED:])):
        weights["wilds"][start["hand"] + COLORED + bit, 0] = 1
    for color in range(len(COLORS)):
        for symbol in range(len(SYMBOLS)):
            weights["flex_colors"][start["flex_faces"] + color * len(SYMBOLS) + symbol, color] = 1
    for seat in range(MAX_PLAYERS):
        weights["power"][start["power"] + seat, seat] = 1
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
    "colors": len(COLORS),  # cards in the player's hand by color
    "symbols": len(SYMBOLS) + 1,  # the same by symbol; none has NO_SYMBOL
    "wilds": 1,  # wilds in the hand
    "flex_colors": len(COLORS),  # flex sides in the hand, by the color that they match
    "power": MAX_PLAYERS,  # green Powers by seat
    "players": 1,
    "counterclockwise": 1,
    "own_or_discarded": len(COLORS),  # cards in the hand and in the discard pile, by color
    "known": len(COLORS),  # cards known to be in another hand, by color
    "reverse_passes": 1,  # with two players a Reverse passes the turn on (rules 9)
}
_WEIGHTS, _COLUMNS = _sums()


class Candidates:
    """The legal actions of B decisions, one after another: P candidates in all. Attributes are (P,) unless noted.

    Sizes of other hands above 7 cards are as exact as the observation.

    Attributes:
        row: the decision of the candidate, from 0 to B - 1, in order.
        action: the number of the action.
        start: (B,), the first candidate of each decision.
        two: there are two players.
        wild, flex, plays: the action plays a wild, a flex side, a card.
        again: the player has the next turn, too.
        follower_size: cards of the player who has the next turn; 99 if that is the player.
        target_size: cards of the opponent that the action targets; 99 if there is none.
        least: cards in the smallest other hand.
        left: cards in the player's hand afterwards.
        of_color: how many of these have the color that is active afterwards.
        follows: how many of these fit then by their regular side, without wilds.
        can_follow: whether any card can be played then, on either side.
        unseen: cards of that color that are neither in the player's hand nor in the discard pile.
        known: another hand is known to hold that color.
        gains_power: change of the player's Power (1 for green) minus the mean change of the others' Powers, -2 to 2.
    """

    def __init__(self, decisions: Decisions) -> None:
        place = np.flatnonzero(decisions.action_mask.reshape(-1) != 0)
        self.row, self.action = place // NUM_ACTIONS, place % NUM_ACTIONS
        self.start = np.searchsorted(self.row, np.arange(len(decisions)))
        sums = decisions.observation.astype(np.float32) @ _WEIGHTS
        self._sums = {name: sums[:, columns] for name, columns in _COLUMNS.items()}
        self.wild, self.flex, self.plays = self.of(WILD_ACTIONS), self.of(FLEX_ACTIONS), self.of(PLAY_ACTIONS)
        self._turns(hand_sizes(decisions.observation))
        power = self._powers()
        self._cards(decisions.observation, power)

    def of(self, which: Flags) -> Flags:
        """A property of actions, (216,), for each candidate."""
        flags: Flags = which[self.action]
        return flags

    def _each(self, name: str) -> Numbers:
        """The sum with this name, which has one column, for each candidate."""
        values: Numbers = self._sums[name][self.row, 0]
        return values

    def _turns(self, sizes: Whole) -> None:
        """Find who has the next turn, and who has to draw."""
        players = self._sums["players"][:, 0].astype(np.int64)
        direction = np.where(self._sums["counterclockwise"][:, 0] > 0, -1, 1)
        self.two = (players == 2)[self.row]
        skip, reverse, reverse_skip = self.of(_SKIPS), self.of(_REVERSES), self.of(_REVERSES_AND_SKIPS)
        back_with_two = skip | reverse_skip | (reverse & (self._each("reverse_passes") == 0))
        self.again = self.of(_SKIPS_ALL) | (self.two & back_with_two)
        steps = np.where(skip, 2, np.where(reverse, -1, np.where(reverse_skip, -2, 1)))
        follower = np.where(self.again, 0, steps * direction[self.row] % players[self.row])
        others = np.where(sizes > 0, sizes, NO_HAND).astype(np.float32)
        others[:, 0] = NO_HAND
        self.least = others.min(axis=1)[self.row]
        self.follower_size = others[self.row, follower]
        self.target_size = others[self.row, _OFFSET[self.action]]

    def _powers(self) -> Numbers:
        """Compute the Powers afterwards (rules 5); return the player's own, 1 for green."""
        own, green = self._sums["power"][:, 0][self.row], self._sums["power"].sum(axis=1)[self.row]
        players = self._each("players")
        flips, flips_all = self.of(_FLIPS), self.of(_FLIPS_ALL)
        own_after = np.where(flips | flips_all, 1 - own, own).astype(np.float32)
        green_after = np.where(flips_all, players - green, green - own + own_after)
        all_red = green_after == 0  # then all turn green again
        own_after = np.where(all_red, 1, own_after).astype(np.float32)
        green_after = np.where(all_red, players, green_after)
        others = (green_after - own_after - green + own) / (players - 1)
        self.gains_power = own_after - own - others
        return own_after

    def _cards(self, observation: npt.NDArray[np.uint8], power: Numbers) -> None:
        """Compute the hand afterwards, and which of its cards fit then."""
        row, color, symbol = self.row, _COLOR[self.action], _SYMBOL[self.action]
        colored, wilds = self._sums["colors"].sum(axis=1), self._sums["wilds"][:, 0]
        self.left = (colored + wilds)[row] - self.plays
        plays_colored = self.plays & ~self.wild
        self.of_color = self._sums["colors"][row, color] - plays_colored
        twin = observation[row, _TWIN[self.action]] * plays_colored  # has the color, too: counted in `of_color`
        self.follows = self.of_color + (self._sums["symbols"][row, symbol] - plays_colored - twin)
        flex_sides = self._sums["flex_colors"][row, color] - self.of(_FLEX_SIDE_FITS)
        fitting = self.follows + (wilds[row] - self.wild) + flex_sides * power
        self.can_follow = self.plays & (fitting > 0)
        self.unseen = 2 * len(SYMBOLS) - self._sums["own_or_discarded"][row, color]  # each color has every symbol twice
        self.known = self._sums["known"][row, color] > 0
