"""Many states side by side, for search and for comparing the consequences of actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from uno_flex_env import _core
from uno_flex_env._core import STATE_SIZE, State, View
from uno_flex_env.actions import NUM_ACTIONS, describe_illegal
from uno_flex_env.batch import bot_number
from uno_flex_env.errors import IllegalActionError
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.options import check_one_of, check_whole, checked_rules
from uno_flex_env.rules import Rules
from uno_flex_env.state import STATE_DTYPE

METHODS = ("flat", "tree")
"""The methods of `Views.search`."""
MOST_ROWS = 1 << 22
"""The most rows; a state takes 704 bytes."""
MOST_PLAYOUTS = 1 << 28
"""The most rounds that one call plays to their end."""
MOST_SIMULATIONS, MOST_SECONDS = 10**9, 600
"""The largest budgets of a search. The tree takes about 30 bytes for each simulation."""


class Positions:
    """N states, the rows, with the same number of players.

    >>> import numpy as np
    >>> from uno_flex_env import Game
    >>> positions = Positions([Game(seed=1).state]).repeat(1000)
    >>> winners, points = positions.playout("flex_when_stuck", np.arange(1000, dtype=np.uint64))
    >>> bool(0.2 < (winners == 0).mean() < 0.8)
    True

    Args:
        states: at least one state; they are copied.

    Raises:
        TypeError: something in the list is no `State`. The message names the row.
    """

    def __init__(self, states: Sequence[State]) -> None:
        if not len(states):
            raise ValueError("positions need at least one state, got none")
        _check_rows(len(states))
        self.core = _core.Positions.of(list(states))
        self.num_players: int = states[0].num_players

    @classmethod
    def deal(cls, seeds: npt.ArrayLike, num_players: int, rules: Rules | Mapping[str, Any] | None = None) -> Positions:
        """New rounds: row i is dealt as `Game(num_players, rules, seed=seeds[i])` is."""
        rules = checked_rules(rules)
        rules.check(num_players)
        seeds = _whole("seeds", seeds, np.uint64)
        if not seeds.size:
            raise ValueError("positions need at least one seed, got none")
        _check_rows(seeds.size)
        return cls._around(_core.Positions.deal(seeds, rules.core, num_players, num_players - 1), num_players)

    @classmethod
    def _around(cls, core: _core.Positions, num_players: int) -> Positions:
        positions = cls.__new__(cls)
        positions.core, positions.num_players = core, num_players
        return positions

    def __len__(self) -> int:
        return len(self.core)

    def __getitem__(self, which: Any) -> Positions:
        """Copies of the rows that an index selects: any index that numpy takes for one axis."""
        return self._around(self.core.take(_rows(len(self), which)), self.num_players)

    def repeat(self, times: int) -> Positions:
        """Each row `times` times, its copies one after another. ValueError if there are more than 2**22 rows then."""
        return self[_repeated(len(self), times)]

    def state(self, row: int) -> State:
        """A copy of one row's state."""
        return self.core.state(row)

    @property
    def fields(self) -> npt.NDArray[Any]:
        """(N,) `uno_flex_env.state.STATE_DTYPE`: a copy of every field of the core's struct, by name."""
        rows = np.empty((len(self), STATE_SIZE), np.uint8)
        self.core.write_bytes(rows)
        return rows.view(STATE_DTYPE)[:, 0]

    @property
    def current_player(self) -> npt.NDArray[np.int8]:
        """(N,) int8, the seat to act; -1 where the round is over."""
        return self._turns()[0]

    @property
    def winners(self) -> npt.NDArray[np.int8]:
        """(N,) int8, the seat that has won; -1 without a winner or before the end of the round."""
        return self._turns()[1]

    @property
    def is_over(self) -> npt.NDArray[np.bool_]:
        """(N,) bool, whether the round is over."""
        over: npt.NDArray[np.bool_] = self.current_player < 0
        return over

    def _turns(self) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int8]]:
        current_players, winners = np.empty((2, len(self)), np.int8)
        self.core.write_turns(current_players, winners)
        return current_players, winners

    def observe(self, viewers: npt.ArrayLike | None = None) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int8]]:
        """Observation and action mask of one seat in each row.

        Args:
            viewers: (N,) seats; the current players if None.

        Returns:
            Observations (N, 640) uint8 and masks (N, 216) int8. A mask is all zeros unless the viewer is to act.

        Raises:
            ValueError: No viewers are given and a round is over, or a row has no such seat.
        """
        seats = _whole("viewers", self.current_player if viewers is None else viewers, np.int8)
        observations = np.empty((len(self), NUM_FEATURES), np.uint8)
        masks = np.empty((len(self), NUM_ACTIONS), np.int8)
        self.core.observe(seats, observations, masks)
        return observations, masks

    def apply(self, actions: npt.ArrayLike) -> None:
        """Take an action in each row, (N,) integers; -1 leaves a row as it is.

        Raises:
            IllegalActionError: An action is illegal. The message names the row, the action and the legal actions. No
                row has changed.
        """
        array = _whole("actions", actions, np.int64)
        if array.size and not -1 <= array.min() <= array.max() < NUM_ACTIONS:
            raise ValueError(f"actions must be from -1 to {NUM_ACTIONS - 1}, got {array}")
        row = self.core.apply(array)
        if row >= 0:
            mask = np.zeros(NUM_ACTIONS, np.int8)
            self.state(row).write_mask(mask)
            raise IllegalActionError(f"row {row}: {describe_illegal(int(array[row]), mask)}")

    def set_power(self, green: npt.ArrayLike) -> None:
        """Set the Powers of each row, and with them the legal actions.

        Args:
            green: (N,) integers; bit s is set if the Power of seat s is green. At least one must be (rules 5).
        """
        self.core.set_power(_whole("green", green, np.uint8))

    def hide(self) -> Views:
        """The views of the current players, one per row. ValueError if a round is over."""
        return Views(self.core.hide(), self.num_players)

    def playout(
        self, bots: str | Sequence[str], keys: npt.ArrayLike, *, repeats: int = 1, num_threads: int = 1
    ) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int16]]:
        """Play to the end of the round with rule bots. The rows stay as they are.

        Args:
            bots: one of `uno_flex_env.batch.BOTS` for every seat, or one for each seat.
            keys: (N,) uint64. A row's key fixes the random numbers of its bots in all repeats. The order of the draw
                pile is part of the state.
            repeats: how often each row is played out; at most 2**28 rounds in all.
            num_threads: threads that share the rows.

        Returns:
            The winners, (N, repeats) int8, -1 for none (also after 2**20 actions without an end), and the points that
            they score, (N, repeats) int16.
        """
        names = [bots] * self.num_players if isinstance(bots, str) else list(bots)
        numbers = [bot_number(name) for name in names]
        check_whole("repeats", repeats, 1, MOST_PLAYOUTS // max(1, len(self)))
        winners = np.empty((len(self), repeats), np.int8)
        points = np.empty((len(self), repeats), np.int16)
        self.core.play_out(numbers, _whole("keys", keys, np.uint64), repeats, num_threads, winners, points)
        return winners, points


def playout(
    states: Sequence[State],
    bots: str | Sequence[str] = "flex_any",
    *,
    seed: int = 0,
    repeats: int = 1,
    num_threads: int = 1,
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int16]]:
    """Play states to the end of their round with rule bots: `Positions.playout` with keys that follow from a seed.

    Args:
        states: any number of states with the same number of players; they stay as they are.
        seed: fixes the choices of the bots. The order of the draw pile is part of the state.
        bots, repeats, num_threads: see `Positions.playout`.

    Returns:
        As `Positions.playout`.
    """
    if not len(states):
        return np.empty((0, repeats), np.int8), np.empty((0, repeats), np.int16)
    keys = np.empty(len(states), np.uint64)
    _core.derive_keys(seed, keys)
    return Positions(states).playout(bots, keys, repeats=repeats, num_threads=num_threads)


class Views:
    """What the current player of each of N states knows. `Positions.hide` makes views.

    Hidden cards are blank, so code that works on views can't peek.
    """

    def __init__(self, core: _core.Views, num_players: int) -> None:
        self.core, self.num_players = core, num_players

    def __len__(self) -> int:
        return len(self.core)

    def __getitem__(self, which: Any) -> Views:
        """Copies of the rows that an index selects: any index that numpy takes for one axis."""
        return Views(self.core.take(_rows(len(self), which)), self.num_players)

    def repeat(self, times: int) -> Views:
        """Each row `times` times, its copies one after another. ValueError if there are more than 2**22 rows then."""
        return self[_repeated(len(self), times)]

    def view(self, row: int) -> View:
        """A copy of one row's view."""
        return self.core.view(row)

    @property
    def viewers(self) -> npt.NDArray[np.int8]:
        """(N,) int8, the seat whose view it is, which is also the seat to act."""
        return np.array(self.core.viewers, np.int8)

    def determinize(self, keys: npt.ArrayLike, *, num_threads: int = 1) -> Positions:
        """A world for each view, (N,) states: see `View.determinize`.

        Args:
            keys: (N,) uint64. All random numbers of a row follow from its key.
            num_threads: threads that share the rows.
        """
        worlds = self.core.draw_worlds(_whole("keys", keys, np.uint64), num_threads)
        return Positions._around(worlds, self.num_players)

    def search(
        self,
        defaults: npt.ArrayLike,
        keys: npt.ArrayLike,
        *,
        masks: npt.ArrayLike | None = None,
        simulations: int = 0,
        seconds: float = 0.0,
        method: str = "flat",
        bot: str = "flex_when_stuck",
        confidence: float = 2.0,
        exploration: float = 1.0,
        num_threads: int = 1,
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Look for better actions than the defaults, by playouts in worlds that agree with the views.

        Give either `simulations` or `seconds`.

        Args:
            defaults: (N,) legal actions. A row returns its default unless another action is significantly better.
            keys: (N,) uint64. A row's key fixes its random numbers. With `simulations`, the results do not depend on
                the number of threads.
            masks: (N, 216), nonzero for each action that may be chosen; None allows every legal action. A mask
                restricts the decision at the view, not later decisions.
            simulations: the budget of each row, at most 10**9.
            seconds: the budget of each row in seconds of the thread's processor time, at most 600.
            method: "flat" tries all candidates in the same worlds (perfect-information Monte Carlo). "tree" is
                information-set Monte Carlo tree search (doi:10.1109/TCIAIG.2012.2200894).
            bot: the rule bot that plays on to the end of the round.
            confidence: by how many standard errors an action must be ahead of the default.
            exploration: weight of the upper confidence bounds in the tree.
            num_threads: threads that share the rows.

        Returns:
            The chosen actions, (N,) int64; how many simulations each action had, (N, 216) int32; and how many of them
            the player won, (N, 216) int32.

        Raises:
            ValueError: An argument has the wrong shape or is out of its bounds, a default is not legal or its mask does
                not allow it, or a mask allows no legal action. The message names the row.
        """
        check_one_of("method", method, METHODS)
        check_whole("simulations", simulations, 0, MOST_SIMULATIONS)
        if not 0 <= seconds <= MOST_SECONDS:
            raise ValueError(f"seconds must be from 0 to {MOST_SECONDS}, got {seconds}")
        if (simulations > 0) == (seconds > 0):
            raise ValueError(f"a search needs either simulations or seconds, got {simulations} and {seconds}")
        for name, value in (("confidence", confidence), ("exploration", exploration)):
            if not 0.0 <= value < inf:
                raise ValueError(f"{name} must be at least 0 and finite, got {value!r}")
        actions = np.empty(len(self), np.int64)
        visits, wins = np.zeros((2, len(self), NUM_ACTIONS), np.int32)
        self.core.search(
            _whole("keys", keys, np.uint64),
            _whole("defaults", defaults, np.int64),
            None if masks is None else _masks(masks, len(self)),
            simulations,
            round(seconds * 1e9),
            bot_number(bot),
            method == "tree",
            confidence,
            exploration,
            num_threads,
            actions,
            visits,
            wins,
        )
        return actions, visits, wins


def _whole(name: str, numbers: npt.ArrayLike, dtype: type[np.integer[Any]]) -> npt.NDArray[Any]:
    """Whole numbers, one for each row, as an array of this type; ValueError for others and for those that don't fit."""
    array = np.asarray(numbers)
    if array.ndim != 1:
        raise ValueError(f"{name} must be one number for each row, got an array of shape {array.shape}")
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    if array.size and (array.dtype.kind not in "iu" or int(array.min()) < least or int(array.max()) > most):
        raise ValueError(f"{name} must be whole numbers from {least} to {most}, got {numbers!r}")
    return np.ascontiguousarray(array, dtype)


def _masks(masks: npt.ArrayLike, rows: int) -> npt.NDArray[np.int8]:
    """Masks (rows, 216) as int8, 1 for each action that is allowed; ValueError for another shape or type."""
    array = np.asarray(masks)
    if array.shape != (rows, NUM_ACTIONS) or array.dtype.kind not in "biu":
        raise ValueError(f"masks must be {rows} rows of {NUM_ACTIONS} whole numbers, got {array.dtype} {array.shape}")
    return np.ascontiguousarray(array != 0, np.int8)


def _rows(size: int, which: Any) -> npt.NDArray[np.int64]:
    rows = np.atleast_1d(np.arange(size)[which]).astype(np.int64)
    _check_rows(len(rows))
    return rows


def _repeated(size: int, times: int) -> npt.NDArray[np.int64]:
    """The index that repeats each of `size` rows."""
    check_whole("times", times, 1, MOST_ROWS // max(1, size))
    return np.repeat(np.arange(size), times)


def _check_rows(count: int) -> None:
    if count > MOST_ROWS:
        raise ValueError(f"there may be at most {MOST_ROWS} rows, got {count}")
