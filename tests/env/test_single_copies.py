"""The Gymnasium environment: seeds, options, copies, names and rendering."""

import copy
import inspect
import pickle
import random
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from tests.support.episodes import (
    EVERY_PHASE,
    PHASES,
    choose,
    draw_and_keep,
    first_legal,
    learner_transcript,
)
from uno_flex_env import IllegalActionError, Rules
from uno_flex_env.envs.seat_games import SeatGames
from uno_flex_env.envs.single_agent import SingleAgentEnv
from uno_flex_env.game import PHASES as PHASE_NAMES

OTHER_OPTIONS: dict[str, Any] = {
    "num_players": 3,
    "rules": Rules(hand_size=3, stacking=True),
    "opponents": ["flex_any", first_legal],
    "seat": "random",
    "match": True,
    "reward": "points",
    "history": 3,
    "max_decisions": 25,
    "illegal": "terminate",
    "render_mode": "ansi",
}
"""Every option at another value than its default."""


# ---- Seeds, options and copies (faults 4, 6, 7 and 8) ----


def test_a_seed_decides_the_episodes_whatever_else_is_random():
    """Fault 6: the deals, the bots and the seats; also of the unseeded episodes that follow."""
    options: dict[str, Any] = {"num_players": 4, "opponents": "random", "seat": "random"}
    first = learner_transcript(SingleAgentEnv(**options), seed=5, episodes=3)
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    assert learner_transcript(SingleAgentEnv(**options), seed=5, episodes=3) == first
    assert learner_transcript(SingleAgentEnv(**options), seed=6, episodes=3) != first


WAYS: dict[str, Callable[[Any], Any]] = {
    "reset": lambda env: env.reset() and env,
    "seeded reset": lambda env: env.reset(seed=1) and env,
    "reset with options": lambda env: env.reset(seed=1, options={"num_players": 2}) and env,
    "deepcopy": copy.deepcopy,
    "deepcopy in mid-game": lambda env: env.reset() and copy.deepcopy(env),
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
    "pickle in mid-game": lambda env: env.reset() and pickle.loads(pickle.dumps(env)),
    "Gymnasium's wrappers": lambda env: gymnasium.wrappers.PassiveEnvChecker(gymnasium.wrappers.OrderEnforcing(env)),
}


def check_options(way: str) -> None:
    new = SingleAgentEnv(**OTHER_OPTIONS)
    assert learner_transcript(WAYS[way](SingleAgentEnv(**OTHER_OPTIONS)), seed=9) == learner_transcript(new, seed=9)


@pytest.mark.parametrize("way", WAYS)
def test_options_survive(way):
    """Fault 7: each option at another value than its default."""
    check_options(way)


def test_options_survive_gymnasium_make():
    """Fault 7."""
    made = gymnasium.make("UnoFlex-v0", disable_env_checker=True, **OTHER_OPTIONS)
    assert learner_transcript(made, seed=9) == learner_transcript(SingleAgentEnv(**OTHER_OPTIONS), seed=9)


@pytest.mark.parametrize("seed", [-1, 1 << 64, 1.5, True])
def test_a_seed_is_a_whole_number_of_64_bits(seed):
    """Anything else is refused with its value."""
    with pytest.raises(ValueError, match=re.escape(f"got {seed!r}")):
        SingleAgentEnv().reset(seed=seed)


@pytest.mark.parametrize("option", inspect.signature(SingleAgentEnv).parameters)
def test_the_transcript_shows_every_option(option):
    """So that the tests of options can fail for each of them."""
    others = {name: value for name, value in OTHER_OPTIONS.items() if name != option}
    if option == "num_players":
        others["opponents"] = "flex_any"
    other = SingleAgentEnv(**others)
    assert learner_transcript(SingleAgentEnv(**OTHER_OPTIONS), seed=9) != learner_transcript(other, seed=9)


def test_the_check_of_options_can_fail(monkeypatch):
    """Fault 7: a reset forgets who plays the other seats."""
    reset = SeatGames.reset

    def forget(games: SeatGames, seed: int) -> None:
        games.opponents = "random"
        reset(games, seed)

    new = learner_transcript(SingleAgentEnv(**OTHER_OPTIONS), seed=9)
    monkeypatch.setattr(SeatGames, "reset", forget)
    assert learner_transcript(SingleAgentEnv(**OTHER_OPTIONS), seed=9) != new


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_players": 9}, "num_players must be from 2 to 8, got 9"),
        ({"opponents": "expert"}, "no such bot: 'expert'; there are random, flex_any"),
        ({"opponents": ["random", "random"]}, "2 players: the learning seat has 1 opponents, got 2"),
        (
            {"opponents": [3]},
            "an object with act(decisions), or a function of a batch, got 3",
        ),
        ({"seat": 2}, "seat must be a whole number from 0 to 1, got 2"),
        ({"reward": "score"}, "reward must be one of 'win', 'points', got 'score'"),
        ({"history": -1, "render_mode": "ansi"}, "history must be a whole number from 0 to 1024, got -1"),
        ({"max_decisions": 0}, "max_decisions must be a whole number from 1 to"),
        ({"illegal": "ignore"}, "illegal must be one of 'raise', 'terminate', got 'ignore'"),
        ({"render_mode": "text"}, "render_mode must be one of None, 'ansi', 'rgb_array', 'human', got 'text'"),
    ],
)
def test_bad_options_are_refused_by_name(options, message):
    """Fault 4: nothing is accepted and then ignored."""
    with pytest.raises(ValueError, match=re.escape(message)):
        SingleAgentEnv(**options)


def test_an_unknown_option_is_an_error():
    """Fault 4."""
    with pytest.raises(TypeError, match="players"):
        gymnasium.make("UnoFlex-v0", players=4)


def check_copies(make: Callable[[SingleAgentEnv], SingleAgentEnv]) -> None:
    """A copy made at a decision of each phase plays on like the original, which does not notice."""
    env = SingleAgentEnv(3, EVERY_PHASE, opponents=["random", first_legal], seat="random", match=True, history=4)
    rng, missing = random.Random(0), set(PHASES)
    for seed in range(200):
        env.reset(seed=seed)
        while env._live and missing:
            phase = PHASE_NAMES[env.seat_games.state(0).phase]
            if phase in missing and rng.random() < 0.3:
                missing.remove(phase)
                there = learner_transcript(make(env), deal=False)
                assert learner_transcript(make(env), deal=False) == there
                assert learner_transcript(copy.deepcopy(env), deal=False) == there
            env.step(choose(env.action_masks(), rng))
        if not missing:
            return
    raise AssertionError(f"never seen: {missing}")


@pytest.mark.parametrize("make", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))], ids=["copy", "pickle"])
def test_copies_play_on_identically(make):
    """Fault 8."""
    check_copies(make)


def test_the_check_of_copies_can_fail():
    """Fault 8: a copy that shares its game with the original."""

    def shallow(env: SingleAgentEnv) -> SingleAgentEnv:
        twin = object.__new__(SingleAgentEnv)
        twin.__dict__.update(env.__dict__)
        return twin

    with pytest.raises((AssertionError, IllegalActionError)):
        check_copies(shallow)


# ---- Names and rendering ----


@pytest.mark.parametrize(
    "code",
    [
        "import gymnasium, uno_flex_env; gymnasium.make('UnoFlex-v0')",
        "import uno_flex_env, gymnasium; gymnasium.make('uno_flex_env.envs:UnoFlex-v0')",
    ],
)
def test_gymnasium_finds_the_environment(code):
    """In a fresh process, whichever package is imported first."""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_text_is_what_the_learner_sees():
    """Its own line says "you", in any seat, and the last opponent's action is shown."""
    env: Any = SingleAgentEnv(3, opponents=draw_and_keep, render_mode="ansi", seat=2)
    env.reset(seed=0)
    assert re.findall(r"player_(\d) .*\byou\b", env.render()) == ["2"]
    assert re.search("player_1 (draws|keeps)", env.render())


def test_a_truncated_episode_can_be_drawn():
    """It lies at a decision of the learner, with no action left to it."""
    env: Any = SingleAgentEnv(2, opponents=draw_and_keep, render_mode="ansi", max_decisions=1)
    env.reset(seed=0)
    _, _, _, truncated, _ = env.step(208)
    assert truncated
    assert "player_0" in env.render()


def test_rendering_without_a_mode_is_a_warning():
    """As Gymnasium's own environments do."""
    env = SingleAgentEnv()
    env.reset()
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert env.render() is None
