"""Arrays that the core writes into: one that it can't write into is refused, never copied (fault 2-12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from uno_flex_env import Game, Rules, VecEnv, _core
from uno_flex_env.options import EpisodeOptions
from uno_flex_env.positions import Positions

GAMES = 4


def dealt() -> VecEnv:
    env = VecEnv(GAMES, seed=1)
    env.reset()
    return env


def episode() -> _core.Episode:
    return _core.Episode(EpisodeOptions(2, Rules(), history=GAMES).core, 1)


def state() -> _core.State:
    return Game(seed=1).state


def positions() -> _core.Positions:
    return Positions([state()] * GAMES).core


def seats() -> npt.NDArray[Any]:
    return np.zeros(GAMES, np.int8)


def keys() -> npt.NDArray[Any]:
    return np.arange(GAMES, dtype=np.uint64)


def new(shape: Any, dtype: Any) -> npt.NDArray[Any]:
    return np.zeros(shape, dtype)


def search(actions: npt.NDArray[Any], visits: npt.NDArray[Any], wins: npt.NDArray[Any]) -> None:
    defaults = np.array([state().legal_actions()[0]] * GAMES)
    fixed = (64, 0, 0, False, 2.0, 1.0, 1)  # simulations, nanoseconds, bot, tree, confidence, exploration, threads
    positions().hide().search(keys(), defaults, None, *fixed, actions, visits, wins)


ROWS, COUNTS = (GAMES,), (GAMES, 216)
OUTPUTS: dict[str, tuple[Callable[[npt.NDArray[Any]], object], tuple[int, ...], type]] = {
    "State.encode": (lambda out: state().encode(0, out), (640,), np.uint8),
    "State.write_mask": (lambda out: state().write_mask(out), (216,), np.int8),
    "Episode.encode": (lambda out: episode().encode(0, out), (640,), np.uint8),
    "Episode.write_mask": (lambda out: episode().write_mask(out), (216,), np.int8),
    "Episode.write_history": (lambda out: episode().write_history(0, out), (GAMES, 3), np.int16),
    "VecEnv.hidden_hands": (lambda out: dealt().hidden_hands(out), (GAMES, 728), np.uint8),
    "Batch.sample": (lambda out: dealt().batch.sample(out), ROWS, np.int32),
    "Positions.write_bytes": (lambda out: positions().write_bytes(out), (GAMES, 704), np.uint8),
    "Positions.write_turns, players": (lambda out: positions().write_turns(out, seats()), ROWS, np.int8),
    "Positions.write_turns, winners": (lambda out: positions().write_turns(seats(), out), ROWS, np.int8),
    "Positions.observe, observations": (
        lambda out: positions().observe(seats(), out, new(COUNTS, np.int8)),
        (GAMES, 640),
        np.uint8,
    ),
    "Positions.observe, masks": (
        lambda out: positions().observe(seats(), new((GAMES, 640), np.uint8), out),
        COUNTS,
        np.int8,
    ),
    "Positions.play_out, winners": (
        lambda out: positions().play_out([0, 0], keys(), 3, 1, out, new((GAMES, 3), np.int16)),
        (GAMES, 3),
        np.int8,
    ),
    "Positions.play_out, points": (
        lambda out: positions().play_out([0, 0], keys(), 3, 1, new((GAMES, 3), np.int8), out),
        (GAMES, 3),
        np.int16,
    ),
    "Views.search, actions": (
        lambda out: search(out, new(COUNTS, np.int32), new(COUNTS, np.int32)),
        ROWS,
        np.int64,
    ),
    "Views.search, visits": (lambda out: search(new(ROWS, np.int64), out, new(COUNTS, np.int32)), COUNTS, np.int32),
    "Views.search, wins": (lambda out: search(new(ROWS, np.int64), new(COUNTS, np.int32), out), COUNTS, np.int32),
    "derive_keys": (lambda out: _core.derive_keys(1, out), ROWS, np.uint64),
    "act": (
        lambda out: _core.act(0, dealt().action_masks, keys(), out),
        ROWS,
        np.int64,
    ),
}


@pytest.mark.parametrize("name", OUTPUTS)
def test_an_output_that_cannot_be_written_is_refused(name):
    """Fault 2-12: `VecEnv.hidden_hands` and its like returned and had written into a copy.

    Seen to fail for each without `.noconvert()` at its argument."""
    call, shape, dtype = OUTPUTS[name]
    marked: Any = np.full(shape, 77, dtype)
    call(marked)
    assert (marked != 77).any()

    strided: Any = np.full((*shape[:-1], 2 * shape[-1]), 77, dtype)[..., ::2]
    read_only: Any = np.full(shape, 77, dtype)
    read_only.setflags(write=False)
    other_int = np.int8 if dtype != np.int8 else np.uint8
    bad: dict[str, Any] = {
        "float": np.full(shape, 77, np.float64),
        "another integer": np.full(shape, 77, other_int),
        "bytes swapped": np.full(shape, 77, dtype).astype(np.dtype(dtype).newbyteorder()),
        "strided": strided,
        "read-only": read_only,
        "list": np.full(shape, 77, dtype).tolist(),
    }
    if len(shape) > 1:
        bad["Fortran"] = np.asfortranarray(np.full(shape, 77, dtype))
    if np.dtype(dtype).itemsize == 1:
        del bad["bytes swapped"]
    for kind, out in bad.items():
        with pytest.raises(TypeError) as caught:
            call(out)
        assert f"dtype={np.dtype(dtype).name}" in str(caught.value), kind
        assert np.all(np.asarray(out) == 77), kind
