"""The batch environment: the same whatever the batch, the threads and the instruction set; seeds, options and bytes."""

import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from uno_flex_env import Rules, VecEnv, _core

ARRAYS = (
    "observations",
    "action_masks",
    "current_player",
    "rewards",
    "terminated",
    "truncated",
    "histories",
    "final_obs",
)

OTHER_OPTIONS: dict[str, Any] = {
    "num_players": 3,
    "rules": Rules(hand_size=3, stacking=True, target_score=60),
    "match": True,
    "reward": "points",
    "history": 3,
    "max_decisions": 25,
}
"""Every option that changes what is played, at another value than its default."""


def digests(env: VecEnv, games: int, steps: int = 150) -> list[str]:
    """One digest of all that the first games show in random play, for each game."""
    hashes = [hashlib.sha256() for _ in range(games)]
    for _ in range(steps):
        env.step(env.sample())
        for game, digest in enumerate(hashes):
            for name in ARRAYS:
                # What is final is stale in other games than those that end.
                if name != "final_obs" or env.terminated[game] or env.truncated[game]:
                    digest.update(getattr(env, name)[game].tobytes())
    return [digest.hexdigest() for digest in hashes]


# ---- Neither the batch nor the threads nor the processor matter ----


def check_independence(make: Callable[..., VecEnv]) -> None:
    """Games 0 to 4 are the same in batches of any size, shared by any number of threads."""
    expected = None
    for num_envs, num_threads in [(5, 1), (5, 2), (9, 3), (64, 1)]:
        env = make(num_envs, num_threads=num_threads, **OTHER_OPTIONS)
        env.reset(seed=3)
        shown = digests(env, 5)
        expected = expected or shown
        assert shown == expected
    assert len(set(expected or ())) == 5


@pytest.mark.slow
def test_neither_batch_size_nor_threads_matter():
    """Fault 6. In matches with truncation, so that everything that a game can come to is in it."""
    check_independence(VecEnv)


def test_the_check_of_independence_can_fail():
    """Games that are seeded by their place from the end."""

    class Backwards(VecEnv):
        def reset(self, seed: int | None = None) -> Any:
            return super().reset((seed or 0) + self.num_envs)

    with pytest.raises(AssertionError):
        check_independence(Backwards)


LEVELS = """
import sys
from tests.env.test_vector_copies import OTHER_OPTIONS, VecEnv, digests
env = VecEnv(7, **OTHER_OPTIONS)
env.reset(seed=11)
print(env.level, *digests(env, 7))
"""


def run_at(level: str) -> subprocess.CompletedProcess[str]:
    """A fresh process at an instruction-set level."""
    environ = os.environ | {"UNO_FLEX_LEVEL": level, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-c", LEVELS], env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("level", _core.levels())
def test_each_instruction_set_plays_the_same(level):
    """Every level that this processor runs shows what the present one shows."""
    env = VecEnv(7, **OTHER_OPTIONS)
    env.reset(seed=11)
    here = run_at(level)
    assert here.stdout.split() == [level, *digests(env, 7)], here.stderr


def test_a_level_that_this_processor_does_not_run_is_refused():
    """The message names those that it runs."""
    result = run_at("mmx")
    assert result.returncode == 1
    assert f"UNO_FLEX_LEVEL is 'mmx'; this processor runs {', '.join(_core.levels())}" in result.stderr


# ---- Seeds, options and bytes ----


def test_a_seed_decides_the_games_whatever_else_is_random():
    """Fault 6, and a seed of the constructor is that of the first `reset` alone."""
    shown = []
    for _ in range(2):
        env = VecEnv(4, **OTHER_OPTIONS, seed=9)
        env.reset()
        random.random(), np.random.random()  # noqa: NPY002  (the global generator must not matter)
        shown.append(digests(env, 4))
    assert shown[0] == shown[1]
    env.reset(seed=9)
    assert digests(env, 4) == shown[0]
    env.reset()
    assert digests(env, 4) != shown[0]
    env.reset(seed=10)
    assert digests(env, 4) != shown[0]


def shown_with(reset: Callable[[VecEnv], object] = lambda env: None, **options: Any) -> Any:
    """What a batch with these options shows after something has happened to it."""
    env = VecEnv(3, **options)
    env.reset(seed=4)
    reset(env)
    env.reset(seed=4)
    return [getattr(env, name).shape for name in ARRAYS], digests(env, 3)


def test_options_survive_reset():
    """Fault 7."""
    expected = shown_with(**OTHER_OPTIONS)
    assert shown_with(lambda env: env.reset(), **OTHER_OPTIONS) == expected
    assert shown_with(lambda env: env.reset(seed=1), **OTHER_OPTIONS) == expected


@pytest.mark.parametrize("option", OTHER_OPTIONS)
def test_the_check_of_options_sees_every_option(option):
    """Fault 7: one that is lost is noticed."""
    assert shown_with(**OTHER_OPTIONS) != shown_with(**{k: v for k, v in OTHER_OPTIONS.items() if k != option})


def test_bytes_resume_the_batch_exactly():
    """Fault 8: in the midst of matches, events and truncation included, in another batch with the same options."""
    env, other = (VecEnv(5, **OTHER_OPTIONS) for _ in range(2))
    env.reset(seed=8), other.reset(seed=1)
    digests(env, 5)
    data = env.to_bytes()
    there = digests(env, 5)
    other.from_bytes(data)
    assert digests(other, 5) == there
    env.from_bytes(data)
    assert digests(env, 5) == there
    assert data != env.to_bytes()


def test_bytes_bring_back_what_is_seen():
    """Before any step."""
    env, other = (VecEnv(5, **OTHER_OPTIONS) for _ in range(2))
    env.reset(seed=8), other.reset(seed=1)
    env.step(env.sample())
    other.from_bytes(env.to_bytes())
    for name in ("observations", "action_masks", "current_player", "histories"):
        assert np.array_equal(getattr(env, name), getattr(other, name)), name


def test_the_bytes_of_another_batch_are_refused():
    """And the batch is as before."""
    env, other = VecEnv(5, 2, seed=1), VecEnv(5, 3, seed=1)
    env.reset(), other.reset()
    before = env.to_bytes()
    for data in (other.to_bytes(), before[:-1], before + b"\0", b"", b"\1" * len(before)):
        with pytest.raises(ValueError, match=r"these bytes are of another batch|is no valid state"):
            env.from_bytes(data)
    assert env.to_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_envs": 0}, "num_envs must be a whole number from 1"),
        ({"num_envs": 2.0}, "num_envs must be a whole number"),
        ({"num_players": 1}, "num_players must be from 2 to 8, got 1"),
        ({"num_players": 9}, "num_players must be from 2 to 8, got 9"),
        ({"num_players": 8, "rules": Rules(hand_size=20)}, "hand_size"),
        ({"rules": {"stackin": True}}, "stackin"),
        ({"rules": "official"}, "rules must be a Rules"),
        ({"match": 1}, "match must be True or False"),
        ({"reward": "money"}, "reward must be one of 'win', 'points', got 'money'"),
        ({"history": -1}, "history must be a whole number from 0 to 1024"),
        ({"max_decisions": 0}, "max_decisions must be a whole number from 1"),
        ({"num_threads": 0}, "num_threads must be a whole number from 1"),
        ({"seed": -1}, "a seed must be a whole number from 0"),
        ({"seed": 0.5}, "a seed must be a whole number from 0"),
    ],
)
def test_bad_options_are_refused_by_name(options, message):
    """Fault 4."""
    with pytest.raises(ValueError, match=message):
        VecEnv(**({"num_envs": 2} | options)).reset()


def test_an_unknown_option_is_an_error():
    """Fault 4."""
    with pytest.raises(TypeError, match="players"):
        VecEnv(2, players=3)  # type: ignore[call-arg]
