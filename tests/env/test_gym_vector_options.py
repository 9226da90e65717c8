"""Gymnasium's vector environment: seeds, options and copies."""

import copy
import pickle
import random
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from tests.support.episodes import first_legal
from uno_flex_env import Rules
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.envs.gym_vector import UnoFlexVectorEnv

OTHER_OPTIONS: dict[str, Any] = {
    "num_players": 3,
    "rules": Rules(hand_size=2, stacking=True, target_score=60),
    "opponents": ["flex_any", first_legal],
    "seat": "random",
    "match": True,
    "reward": "points",
    "history": 3,
    "max_decisions": 12,
}
"""Every option that changes what is played, at another value than its default."""


def choices(masks: Any, rng: np.random.Generator) -> Any:
    """A random legal action for each row; 0 where there is none."""
    return (rng.random(masks.shape) * masks).argmax(axis=1)


def transcript(env: UnoFlexVectorEnv, rows: int, steps: int = 60) -> list[bytes]:
    """All that the first games show from where the environment stands, and what unseeded resets bring."""
    rng, lines = np.random.default_rng(0), []
    for step in range(steps):
        masks = np.zeros((64, NUM_ACTIONS), np.int8)
        masks[: env.num_envs] = env.seat_games.action_masks
        observations, *results, infos = env.step(choices(masks, rng)[: env.num_envs])
        lines += [part[:rows].tobytes() for part in (*observations.values(), *results, infos["action_mask"])]
        if step == steps // 2:
            env.reset(options={"reset_mask": np.arange(env.num_envs) % 2 == 0})
    observations, _ = env.reset()
    return [*lines, *(part[:rows].tobytes() for part in observations.values())]


# ---- Seeds (fault 6) ----


def test_a_seed_decides_the_games_whatever_else_is_random():
    """Fault 6: deals, bots and seats, also of seeded and unseeded resets that follow."""
    shown: list[list[bytes]] = []
    for _ in range(2):
        env = UnoFlexVectorEnv(5, **OTHER_OPTIONS)
        env.reset(seed=12)
        np.random.seed(len(shown))  # noqa: NPY002  (the global generator must not matter)
        random.seed(len(shown))
        shown.append(transcript(env, rows=5))
    assert shown[0] == shown[1]
    env.reset(seed=13)
    assert transcript(env, rows=5) != shown[0]


@pytest.mark.slow
def test_neither_batch_size_nor_threads_matter():
    """Games 0 to 4 are the same in any batch, on any number of threads."""
    shown: list[list[bytes]] = []
    for num_envs, num_threads in [(5, 1), (5, 2), (12, 1), (64, 3)]:
        env = UnoFlexVectorEnv(num_envs, **OTHER_OPTIONS, num_threads=num_threads)
        env.reset(seed=2)
        shown.append(transcript(env, rows=5))
    assert shown == shown[:1] * 4


# ---- Options (faults 4 and 7) ----

WAYS: dict[str, Callable[[Any], Any]] = {
    "as new": lambda env: env,
    "reset": lambda env: env.reset() and env,
    "seeded reset": lambda env: env.reset(seed=1) and env,
    "reset with options": lambda env: env.reset(seed=1, options={"num_players": 2}) and env,
    "deepcopy": copy.deepcopy,
    "deepcopy in mid-game": lambda env: env.reset() and copy.deepcopy(env),
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
    "pickle in mid-game": lambda env: env.reset() and pickle.loads(pickle.dumps(env)),
}


def shown_after(way: str, **options: Any) -> list[bytes]:
    env = WAYS[way](UnoFlexVectorEnv(4, **options))
    env.reset(seed=9)
    return transcript(env, rows=4)


@pytest.mark.parametrize("way", WAYS)
def test_options_survive(way):
    """Fault 7: each option at another value than its default, the mode included."""
    options = OTHER_OPTIONS | {"autoreset_mode": "SameStep"}
    assert shown_after(way, **options) == shown_after("as new", **options)


@pytest.mark.parametrize("option", [*OTHER_OPTIONS, "autoreset_mode"])
def test_the_check_of_options_sees_every_option(option):
    """Fault 7: one that is lost is noticed."""
    options = OTHER_OPTIONS | {"autoreset_mode": "SameStep"}
    lost = {name: value for name, value in options.items() if name != option}
    if option == "num_players":
        lost["opponents"] = "flex_any"
    assert shown_after("as new", **lost) != shown_after("as new", **options)


def test_copies_play_on_identically():
    """Fault 8: from the midst of games; the original does not notice."""
    env = UnoFlexVectorEnv(5, **OTHER_OPTIONS)
    env.reset(seed=4)
    transcript(env, rows=5)
    copies = copy.deepcopy(env), pickle.loads(pickle.dumps(env))
    expected = transcript(env, rows=5)
    assert [transcript(twin, rows=5) for twin in copies] == [expected, expected]


def test_gymnasium_makes_it():
    """With its mode declared, and the options handed on."""
    for mode in AutoresetMode:
        env = gymnasium.make_vec("UnoFlex-v0", 3, autoreset_mode=mode, num_players=5, history=2)
        assert isinstance(env, UnoFlexVectorEnv)
        assert env.metadata["autoreset_mode"] is mode
        assert env.seat_games.num_players == 5
        assert env.observation_space.sample()["history"].shape == (3, 2, 3)
        assert env.single_action_space == gymnasium.make("UnoFlex-v0").action_space
    assert gymnasium.make_vec("UnoFlex-v0").metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    assert UnoFlexVectorEnv(2, autoreset_mode="SameStep").autoreset_mode is AutoresetMode.SAME_STEP


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_envs": 0}, "num_envs must be a whole number"),
        ({"autoreset_mode": "Never"}, "autoreset_mode must be one of 'NextStep', 'SameStep', 'Disabled', got 'Never'"),
        ({"copy": 1}, "copy must be True or False"),
        ({"seat": 2}, "seat must be a whole number from 0 to 1"),
        ({"seat": "first"}, "seat must be a whole number"),
        ({"opponents": "clever"}, "no such bot: 'clever'"),
        ({"opponents": ["random", "random"]}, "2 players: the learning seat has 1 opponents, got 2"),
        ({"opponents": [1]}, "or a function of a batch, got 1"),
        ({"num_threads": 0}, "num_threads must be a whole number"),
        ({"history": -1}, "history must be a whole number"),
        ({"rules": {"stackin": True}}, "stackin"),
    ],
)
def test_bad_options_are_refused_by_name(options, message):
    """Fault 4."""
    with pytest.raises(ValueError, match=message):
        UnoFlexVectorEnv(**({"num_envs": 2} | options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"players": 3}, "no option 'players'; did you mean 'num_players'"),
        ({"max_episode_steps": 100}, "no option 'max_episode_steps': use max_decisions"),
        ({"illegal": "terminate"}, "no option 'illegal': an illegal action raises IllegalActionError; .* mask"),
        ({"render_mode": "ansi"}, "no option 'render_mode': .*gymnasium.make"),
    ],
)
def test_an_option_that_a_batch_does_not_have_is_refused_with_what_to_use(options, message):
    """Faults 4 and 2-24. Seen to fail with `unexpected keyword argument` and no more."""
    with pytest.raises(TypeError, match=message):
        gymnasium.make_vec("UnoFlex-v0", 2, **options)


def test_options_that_ask_for_what_a_batch_does_are_taken():
    """Fault 2-24: programs pass on `render_mode=None`. Seen to fail when every option that is not known is refused."""
    env = gymnasium.make_vec("UnoFlex-v0", 2, render_mode=None, illegal="raise")
    assert env.reset(seed=1)[0]["observation"].shape == (2, 640)
