"""A batch of games and its arrays, under every environment that steps many games at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from uno_flex_env import _core
from uno_flex_env.actions import NUM_ACTIONS, describe_illegal
from uno_flex_env.errors import IllegalActionError, did_you_mean
from uno_flex_env.observation import LAYOUT, NUM_FEATURES
from uno_flex_env.options import EpisodeOptions, check_flag, check_whole
from uno_flex_env.rules import MAX_PLAYERS

BOTS: tuple[str, ...] = tuple(_core.BOTS)
"""Names of the rule bots, which play inside the core."""

MOST_GAMES = 1 << 20
"""The largest batch."""

EXTERNAL = 255
"""In `Batch.set_seats`: a seat whose actions come from outside the core."""

NUM_HIDDEN_FEATURES: int = (MAX_PLAYERS - 1) * LAYOUT["hand"].shape[0]
"""Features of the other hands: see `Batch.hidden_hands`."""

_SHOWN = ("observations", "action_masks", "histories", "current_player")
_RESULTS = ("actions", "rewards", "terminated", "truncated", "final_obs")


class Batch(_core.Batch):
    """B games that the core steps together, with the arrays that it reads and writes. Row g belongs to game g.

    By default every seat is external and learns, so you choose every action. `set_seats` gives seats to rule bots,
    which play within the step, and names the learning seat. The episodes of game g depend only on the seed, on g and
    on the actions. The number of games and of threads does not change them.

    Args:
        num_envs: B, the number of games, at most 2**20; each takes at least 1.6 kB.
        options: the options of an episode.
        autoreset: reset a finished game within the same step; otherwise it stays idle until `reset_games`.
        num_threads: threads that share the batch; more than there are free cores makes it slower.

    One thread at a time may call its methods: RuntimeError while another thread is in one.

    Attributes:
        options: the options of an episode.
        dealt: whether the games have been dealt. Before that, methods that play or show them raise RuntimeError.
        actions: (B,) int32, read by `step`; -1 leaves a game unchanged.
        observations: (B, 640) uint8, the observation of the current player. For an idle game, that of the learning
            seat (seat 0 if all learn). See `uno_flex_env.observation`.
        action_masks: (B, 216) int8, 1 for each legal action; zeros for an idle game.
        histories: (B, history, 3) int16, the last public events of the round, the newest last: the offset of the seat
            from the current player, the action, how many cards were drawn in it. -1 where there is no event yet.
        rewards: (B, n) float32, the reward of each seat in the last step.
        terminated, truncated: (B,) bool, whether the last step has ended the episode or cut it off.
        current_player: (B,) int8, the seat to act; -1 for an idle game.
        final_obs: (B, n, 640) uint8, with `autoreset` and `max_decisions`: the observation of each seat at the end of
            an episode that ended in the last step. Other rows are stale. Without these options it is (B, 0, 640).
    """

    def __init__(self, num_envs: int, options: EpisodeOptions, *, autoreset: bool, num_threads: int = 1) -> None:
        check_whole("num_envs", num_envs, 1, MOST_GAMES)
        check_flag("autoreset", autoreset)
        check_whole("num_threads", num_threads, 1, _core.MAX_THREADS)
        super().__init__(num_envs=num_envs, options=options.core, autoreset=autoreset, num_threads=num_threads)
        self.num_envs, self.options, self.autoreset = num_envs, options, autoreset
        players, history = options.num_players, options.history
        final_rows = players if autoreset and options.max_decisions is not None else 0
        self.actions = np.full(num_envs, -1, np.int32)
        self.observations: npt.NDArray[np.uint8] = _aligned((num_envs, NUM_FEATURES), np.uint8)
        self.action_masks: npt.NDArray[np.int8] = _aligned((num_envs, NUM_ACTIONS), np.int8)
        self.histories = np.full((num_envs, history, 3), -1, np.int16)
        self.rewards = np.zeros((num_envs, players), np.float32)
        self.terminated, self.truncated = np.zeros((2, num_envs), np.bool_)
        self.current_player = np.full(num_envs, -1, np.int8)
        self.final_obs = np.zeros((num_envs, final_rows, NUM_FEATURES), np.uint8)
        self._connect()

    def _connect(self, **others: npt.NDArray[Any]) -> None:
        """Let the core use the arrays of this object, or others by their names."""
        arrays = {name: others.get(name, getattr(self, name)) for name in _SHOWN + _RESULTS}
        self.set_buffers(**{name: a.view(np.uint8) if a.dtype == np.bool_ else a for name, a in arrays.items()})

    def use_buffers(
        self, observations: npt.NDArray[np.uint8] | None = None, action_masks: npt.NDArray[np.int8] | None = None
    ) -> None:
        """Write observations and masks into these C-contiguous arrays from the next reset or step on, for example into
        the rows of a rollout. The batch keeps a reference until you give it other arrays.

        Raises:
            ValueError: an array has the wrong dtype or size, or is not C-contiguous. The old arrays stay in use.
            TypeError: an argument is not an array, or is read-only. The old arrays stay in use.
        """
        given = {"observations": observations, "action_masks": action_masks}
        new = {name: array for name, array in given.items() if array is not None}
        for name, array in new.items():
            if not isinstance(array, np.ndarray) or not array.flags.writeable:
                raise TypeError(f"{name} must be a writable numpy array, got {type(array).__name__}")
        self._connect(**new)
        for name, array in new.items():
            setattr(self, name, array)

    def reset_games(self, which: npt.NDArray[Any]) -> None:
        """Reset the games selected by `which`, (B,) bool, each with the seed of its next episode. The first call must
        select all games."""
        super().reset_games(which.view(np.uint8))

    def hidden_hands(self, out: npt.NDArray[np.uint8] | None = None) -> npt.NDArray[np.uint8]:
        """The hands that the current player can't see, for a centralized critic in training.

        Args:
            out: a C-contiguous (B, 728) uint8 to write into, TypeError for any other; None for a new one.

        Returns:
            (B, 7 * 104) uint8: the cards of seats 1 to 7, clockwise from the current player, each as `hand` in the
            observation; zeros for unused seats.
        """
        rows = np.empty((self.num_envs, NUM_HIDDEN_FEATURES), np.uint8) if out is None else out
        self.write_hidden_hands(rows)
        return rows

    def from_bytes(self, data: bytes) -> None:
        """Continue where `to_bytes` was called on a batch made with the same arguments. Writes what `reset` writes."""
        super().from_bytes(data)
        self.refresh()

    def __reduce__(self) -> tuple[Any, ...]:
        made = self.num_envs, self.options, self.autoreset, self.num_threads
        results = {name: getattr(self, name) for name in _RESULTS}
        return _restored, (*made, self.to_bytes() if self.dealt else None, results)


def _restored(
    num_envs: int,
    options: EpisodeOptions,
    autoreset: bool,
    num_threads: int,
    data: bytes | None,
    results: dict[str, npt.NDArray[Any]],
) -> Batch:
    batch = Batch(num_envs, options, autoreset=autoreset, num_threads=num_threads)
    if data is not None:
        batch.from_bytes(data)
    for name, result in results.items():
        getattr(batch, name)[...] = result
    return batch


def bot_number(name: str) -> int:
    """The core's number of a rule bot."""
    if name not in BOTS:
        raise ValueError(f"no such bot: {name!r}; there are {', '.join(BOTS)}{did_you_mean(name, BOTS)}")
    return BOTS.index(name)


def checked_actions(actions: npt.ArrayLike, num_envs: int) -> npt.NDArray[Any]:
    """Actions as an array of whole numbers, one for each game; -1 leaves a game unchanged."""
    array = np.asarray(actions)
    if array.shape != (num_envs,) or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"actions must be {num_envs} whole numbers, got {array.dtype} of shape {array.shape}")
    if array.size and (array.max() >= NUM_ACTIONS or array.min() < -1):
        game = int(np.flatnonzero((array >= NUM_ACTIONS) | (array < -1))[0])
        raise ValueError(f"game {game}: an action must be from 0 to {NUM_ACTIONS - 1}, got {array[game]}")
    return array


def checked_answer(
    answer: npt.ArrayLike, masks: npt.NDArray[np.int8], games: npt.NDArray[np.intp], who: str
) -> npt.NDArray[Any]:
    """The answer, if it is a legal action for each game; row i of it and of `masks` belongs to `games[i]`.

    Raises:
        ValueError: it has another shape, or is no whole numbers.
        IllegalActionError: an action is not legal.
    """
    actions = np.asarray(answer)
    if actions.shape != games.shape or not np.issubdtype(actions.dtype, np.integer):
        got = f"{actions.dtype} of shape {actions.shape}"
        raise ValueError(f"the {who} must answer with {games.size} whole numbers, got {got}")
    check_legal(actions, masks, games, f", {who}")
    return actions


def check_legal(
    actions: npt.NDArray[Any], masks: npt.NDArray[np.int8], games: npt.NDArray[np.intp], who: str = ""
) -> None:
    """IllegalActionError for the first illegal action; row i of `actions` and `masks` belongs to `games[i]`."""
    known = (actions >= 0) & (actions < NUM_ACTIONS)
    legal = known & (masks[np.arange(len(actions)), np.where(known, actions, 0)] != 0)
    if legal.all():
        return
    row = int(legal.argmin())
    action = int(actions[row])
    why = f"an action must be from 0 to {NUM_ACTIONS - 1}, got action {action}"
    if known[row]:
        why = describe_illegal(action, masks[row])
    raise IllegalActionError(f"game {games[row]}{who}: {why}")


def _aligned(shape: tuple[int, ...], dtype: type[np.generic]) -> npt.NDArray[Any]:
    """Zeros that begin on a cache line."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)
