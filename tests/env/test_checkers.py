"""The checkers that PettingZoo, Gymnasium and Stable-Baselines3 ship, over all players and switches."""

import warnings
from functools import partial
from itertools import count
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.utils import wrappers

from tests.support.episodes import RULE_SETS
from uno_flex_env import uno_flex_v0
from uno_flex_env.envs import ENV_ID
from uno_flex_env.envs.single_agent import SingleAgentEnv
from uno_flex_env.render import Window, picture
from uno_flex_env.render import modes as display

with warnings.catch_warnings():
    # PettingZoo's tests import one of its games by a name that it calls deprecated.
    warnings.simplefilter("ignore", DeprecationWarning)
    from pettingzoo.test import api_test, performance_benchmark, render_test, seed_test

ENDINGS: dict[str, dict[str, Any]] = {
    "match": {"match": True, "rules": {"target_score": 200, "hand_size": 2}},
    "points": {"reward": "points", "match": True, "rules": {"target_score": 200, "hand_size": 2}},
    "history": {"history": 8},
    "cut": {"max_decisions": 20},
    "terminate": {"illegal": "terminate"},
}
OPTIONS = {name: {"rules": switches} for name, switches in RULE_SETS.items()} | ENDINGS

# PettingZoo's api_test expects dicts as observations of its own card games only, by their names; and it looks at the
# mask of agents that are finished, which is empty.
api_warnings = pytest.mark.filterwarnings(
    "ignore:Observation is not a NumPy array",
    "ignore:Observation space for each agent probably should be",
    "ignore:Action mask numpy array is all zeros",
)


@pytest.fixture(autouse=True)
def headless(monkeypatch):
    """Windows open on no display and don't wait for a key."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(display, "RENDER_FPS", 0)


# ---- PettingZoo ----


@api_warnings
def test_api(num_players):
    api_test(uno_flex_v0.env(num_players))


@api_warnings
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("num_players", [2, 3])
def test_api_with_other_options(num_players, options):
    api_test(uno_flex_v0.env(num_players, **options))


@api_warnings
def test_api_under_pettingzoos_wrappers(num_players):
    env = wrappers.TerminateIllegalWrapper(uno_flex_v0.raw_env(num_players), illegal_reward=-1)
    env = wrappers.AssertOutOfBoundsWrapper(env)
    api_test(wrappers.OrderEnforcingWrapper(env))


@api_warnings
def test_the_api_test_can_fail(monkeypatch):
    """A reward that was never in `rewards`."""
    finish = uno_flex_v0.raw_env._finish

    def overpay(env: Any, **flags: bool) -> None:
        env._cumulative_rewards["player_0"] += 1.0
        finish(env, **flags)

    monkeypatch.setattr(uno_flex_v0.raw_env, "_finish", overpay)
    with pytest.raises(AssertionError, match="not the accumulated rewards"):
        api_test(uno_flex_v0.env(2))


def test_seeds(num_players):
    seed_test(partial(uno_flex_v0.env, num_players))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_seeds_with_other_options(options):
    seed_test(partial(uno_flex_v0.env, **options))


@pytest.mark.slow
@pytest.mark.parametrize("num_players", [2, 8])
def test_rendering(monkeypatch, num_players):
    """In small pictures, which are drawn faster."""
    pytest.importorskip("pygame")
    monkeypatch.setattr(display, "picture", partial(picture, size=(240, 160)))
    monkeypatch.setattr(display, "Window", partial(Window, size=(240, 160)))
    render_test(partial(uno_flex_v0.env, num_players))


def test_the_performance_benchmark_runs(monkeypatch, num_players):
    """For 200 cycles instead of five seconds."""
    ticks = count()
    monkeypatch.setitem(performance_benchmark.__globals__, "time", SimpleNamespace(time=lambda: next(ticks) / 40))
    performance_benchmark(uno_flex_v0.env(num_players))
    assert 200 <= next(ticks) <= 203


# ---- Gymnasium and Stable-Baselines3 ----


class AnyAction(SingleAgentEnv):
    """Takes each action for a legal one, since the checkers know no masks."""

    def step(self, action: Any) -> Any:
        legal = np.flatnonzero(self.action_masks())
        return super().step(legal[action % legal.size])


def made(**options: Any) -> gymnasium.Env[Any, Any]:
    """With its spec, by which Gymnasium's checker makes it again."""
    env: gymnasium.Env[Any, Any] = gymnasium.make(ENV_ID, illegal="terminate", **options).unwrapped
    return env


@pytest.mark.parametrize("seat", [0, "random"])
def test_gymnasium(num_players, seat):
    """Without a wrapper: an illegal action ends the episode."""
    check_env(made(num_players=num_players, seat=seat), skip_render_check=True)


def test_gymnasium_in_every_render_mode():
    pytest.importorskip("pygame")
    check_env(made(num_players=3, render_mode="rgb_array"))


# It has no spec, so Gymnasium can't make it again in other render modes.
unregistered = pytest.mark.filterwarnings("ignore:.*Not able to test alternative render modes")


@unregistered
@pytest.mark.parametrize("options", [*OPTIONS.values(), {"opponents": "flex_any", "seat": "random"}])
def test_gymnasium_with_legal_actions(options):
    check_env(AnyAction(**options), skip_render_check=True)


@unregistered
def test_gymnasiums_checker_can_fail(monkeypatch):
    """An observation that is handed out twice."""
    monkeypatch.setattr(
        AnyAction,
        "_observe",
        lambda env: {"observation": env.seat_games.observations[0], "action_mask": env.seat_games.action_masks[0]},
    )
    with pytest.raises(AssertionError, match="share an object"):
        check_env(AnyAction(), skip_render_check=True)


def test_stable_baselines3(num_players):
    """Without a wrapper: an illegal action ends the episode."""
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(SingleAgentEnv(num_players, illegal="terminate"))


# The history is meant for sequence models, which have policies of their own.
@pytest.mark.filterwarnings("ignore:Your observation history has an unconventional shape")
@pytest.mark.parametrize("options", [*OPTIONS.values(), {"opponents": "flex_any", "seat": "random"}])
def test_stable_baselines3_with_legal_actions(options):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(AnyAction(**options))
