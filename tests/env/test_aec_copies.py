"""The PettingZoo environment: seeds, options, copies and rendering."""

import copy
import inspect
import os
import pickle
import random
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pettingzoo.utils import wrappers

from tests.support.episodes import EVERY_PHASE, PHASES, choose, play, transcript
from uno_flex_env import Rules, uno_flex_v0
from uno_flex_env.actions import TEXTS
from uno_flex_env.envs.aec import UnoFlexEnv
from uno_flex_env.game import PHASES as PHASE_NAMES

OTHER_OPTIONS: dict[str, Any] = {
    "num_players": 5,
    "rules": Rules(hand_size=3, stacking=True),
    "match": True,
    "reward": "points",
    "history": 3,
    "render_mode": "ansi",
    "max_decisions": 150,
    "illegal": "terminate",
    "render_seat": 1,
    "dealer": 0,
}
"""Every option at another value than its default."""


# ---- Seeds (fault 6) ----

EPISODES = """
import hashlib, random
import numpy as np
from uno_flex_env import uno_flex_v0

def digest(disturb=lambda: None):
    env, shown, k = uno_flex_v0.env(4, history=3), hashlib.sha256(), 0
    for seed in (11, None, None):
        env.reset(seed=seed)
        for agent in env.agent_iter():
            observation, reward, termination, truncation, info = env.last()
            shown.update(repr((agent, reward, termination)).encode())
            for part in observation.values():
                shown.update(part.tobytes())
            disturb()
            k = (1664525 * k + 1013904223) % 2**32
            legal = np.flatnonzero(observation["action_mask"])
            env.step(None if termination or truncation else int(legal[k * len(legal) >> 32]))
    return shown.hexdigest()
"""


def disturb() -> None:
    """Use and seed the global generators."""
    import torch

    for use in (random.seed, np.random.seed, torch.manual_seed):
        use(random.randrange(1000))
    torch.rand(1)


def episodes_digest(disturb: Callable[[], None] = lambda: None) -> str:
    names: dict[str, Any] = {}
    exec(EPISODES, names)
    shown: str = names["digest"](disturb)
    return shown


@pytest.mark.slow
def test_a_seed_decides_the_episodes_whatever_else_is_random():
    """Fault 6: seeded, and then unseeded, in this process and in another under another hash seed."""
    other = subprocess.run(
        [sys.executable, "-c", EPISODES + "print(digest())"],
        env=os.environ | {"PYTHONHASHSEED": "77", "PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert episodes_digest() == episodes_digest(disturb) == other.stdout.strip()


@pytest.mark.slow
def test_the_seed_check_can_fail(monkeypatch):
    """Fault 6: the seeds of later episodes are taken from numpy's global generator."""
    take = property(lambda env: np.random.default_rng(np.random.randint(1 << 30)))  # noqa: NPY002
    monkeypatch.setattr(UnoFlexEnv, "np_random", take)
    assert episodes_digest() != episodes_digest(disturb)


@pytest.mark.parametrize("seed", [-1, 1 << 64, 1.5, "1", True])
def test_a_seed_is_a_whole_number_of_64_bits(seed):
    """Anything else is refused with its value."""
    with pytest.raises(ValueError, match=re.escape(f"got {seed!r}")):
        uno_flex_v0.env().reset(seed=seed)


# ---- Options (faults 4 and 7) ----


def then(happen: Callable[[UnoFlexEnv], object]) -> Callable[[UnoFlexEnv], Any]:
    """The environment itself, after something has happened to it."""

    def way(env: UnoFlexEnv) -> UnoFlexEnv:
        happen(env)
        return env

    return way


def dealt(env: UnoFlexEnv) -> UnoFlexEnv:
    env.reset()
    return env


def by_pickle(env: UnoFlexEnv) -> UnoFlexEnv:
    copied: UnoFlexEnv = pickle.loads(pickle.dumps(env))
    return copied


WAYS: dict[str, Callable[[UnoFlexEnv], Any]] = {
    "reset": then(lambda env: env.reset()),
    "seeded reset": then(lambda env: env.reset(seed=1)),
    "reset with options": then(lambda env: env.reset(seed=1, options={"num_players": 2})),
    "deepcopy": copy.deepcopy,
    "deepcopy in mid-game": lambda env: copy.deepcopy(dealt(env)),
    "pickle": by_pickle,
    "pickle in mid-game": lambda env: by_pickle(dealt(env)),
    "finished episode": then(lambda env: play(dealt(env), random.Random(0))),
    "PettingZoo's wrappers": lambda env: wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env)),
}


def check_options(way: str) -> None:
    """An environment that has come this way plays like a new one."""
    assert transcript(WAYS[way](uno_flex_v0.env(**OTHER_OPTIONS)), seed=9) == transcript(
        uno_flex_v0.env(**OTHER_OPTIONS), seed=9
    )


@pytest.mark.parametrize("way", WAYS)
def test_options_survive(way):
    """Fault 7: each option at another value than its default."""
    check_options(way)


@pytest.mark.parametrize("option", inspect.signature(UnoFlexEnv).parameters)
def test_the_transcript_shows_every_option(option):
    """So that `test_options_survive` can fail for each of them."""
    others = {name: value for name, value in OTHER_OPTIONS.items() if name != option}
    assert transcript(uno_flex_v0.env(**OTHER_OPTIONS), seed=9) != transcript(uno_flex_v0.env(**others), seed=9)


def test_the_check_of_options_can_fail(monkeypatch):
    """Fault 7: a reset with a seed goes back to the default dealer."""
    reset = UnoFlexEnv.reset

    def forget(env: UnoFlexEnv, seed: int | None = None, options: Any = None) -> None:
        reset(env, seed, options)
        env.options = replace(env.options, dealer=None)

    monkeypatch.setattr(UnoFlexEnv, "reset", forget)
    with pytest.raises(AssertionError):
        check_options("seeded reset")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_players": 1}, "num_players must be from 2 to 8, got 1"),
        ({"num_players": 9}, "num_players must be from 2 to 8, got 9"),
        ({"num_players": 8, "rules": Rules(hand_size=8)}, "8 players, hand_size 8"),
        ({"rules": "official"}, "rules must be a Rules, a dict of switches or None, got 'official'"),
        ({"rules": {"jump_in": True}}, "unknown rule 'jump_in'; there are draw_four"),
        ({"match": 1}, "match must be True or False, got 1"),
        ({"reward": "score"}, "reward must be one of 'win', 'points', got 'score'"),
        ({"history": -1}, "history must be a whole number from 0 to 1024, got -1"),
        ({"max_decisions": 0}, "max_decisions must be a whole number from 1 to"),
        ({"render_mode": "text"}, "render_mode must be one of None, 'ansi', 'rgb_array', 'human', got 'text'"),
        ({"illegal": "ignore"}, "illegal must be one of 'raise', 'terminate', got 'ignore'"),
        ({"render_seat": 2}, "render_seat must be a whole number from 0 to 1, got 2"),
        ({"dealer": 2}, "dealer must be a seat from 0 to 1, got 2"),
    ],
)
def test_bad_options_are_refused_by_name(options, message):
    """Fault 4: nothing is accepted and then ignored."""
    with pytest.raises(ValueError, match=re.escape(message)):
        uno_flex_v0.env(**options)


def test_an_unknown_option_is_an_error():
    """Fault 4."""
    with pytest.raises(TypeError, match="players"):
        uno_flex_v0.env(players=4)  # type: ignore[call-arg]


def test_rules_may_be_a_dict_of_switches():
    assert uno_flex_v0.env(rules={"stacking": True}).options.rules == Rules(stacking=True)


# ---- Copies (fault 8) ----


def check_copies(make: Callable[[UnoFlexEnv], UnoFlexEnv]) -> None:
    """A copy made at a decision of each phase plays on like the original, which does not notice."""
    env, rng, missing = uno_flex_v0.env(3, EVERY_PHASE, match=True, history=4), random.Random(0), set(PHASES)
    for seed in range(200):
        env.reset(seed=seed)
        for _ in range(80):
            if env.terminations[env.agent_selection]:
                break
            phase = PHASE_NAMES[env.core.phase]
            if phase in missing and rng.random() < 0.3:
                missing.remove(phase)
                twin = make(env)
                there = transcript(twin, deal=False)
                assert len(there) > 3
                assert transcript(make(env), deal=False) == there
                assert transcript(copy.deepcopy(env), deal=False) == there
            env.step(choose(env.infos[env.agent_selection]["action_mask"], rng))
        if not missing:
            return
    raise AssertionError(f"never seen: {missing}")


@pytest.mark.slow
@pytest.mark.parametrize("make", [copy.deepcopy, by_pickle])
def test_copies_play_on_identically(make):
    """Fault 8."""
    check_copies(make)


def shallow(env: UnoFlexEnv) -> UnoFlexEnv:
    twin = object.__new__(UnoFlexEnv)
    twin.__dict__.update(env.__dict__)
    return twin


def reshuffled(env: UnoFlexEnv) -> UnoFlexEnv:
    twin = copy.deepcopy(env)
    twin.core = env.core.hide(env.core.current_player).determinize(random.randrange(1 << 60))
    return twin


@pytest.mark.parametrize("make", [shallow, reshuffled])
def test_the_check_of_copies_can_fail(make):
    """Fault 8: a copy that shares the game with its original, and one that has lost the order of the pile."""
    with pytest.raises((AssertionError, KeyError, IndexError)):
        check_copies(make)


# ---- Rendering ----


@pytest.mark.parametrize(("seat", "shown"), [("current_player", ["0"]), (2, ["2"]), (None, [])])
def test_the_text_is_what_the_render_seat_sees(seat, shown):
    """The line of the seat that looks says "you"."""
    env: Any = uno_flex_v0.env(3, render_mode="ansi", render_seat=seat)
    env.reset(seed=4)
    assert re.findall(r"player_(\d) .*\byou\b", env.render()) == shown


def test_the_text_tells_what_was_done_last():
    """The table names the seat that decided and its action."""
    env: Any = uno_flex_v0.env(2, render_mode="ansi")
    env.reset(seed=0)
    before = env.render()
    env.step(TEXTS.index("draw"))
    assert "player_0 draws" not in before
    assert "player_0 draws" in env.render()


def test_rendering_without_a_mode_is_a_warning():
    """As Gymnasium's and PettingZoo's environments do."""
    env = uno_flex_v0.env()
    env.reset()
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert env.render() is None
