"""The PettingZoo environment refuses what PettingZoo's three standard wrappers refuse (fault 19)."""

import random
from typing import Any

import numpy as np
import pytest
from pettingzoo.utils import wrappers
from pettingzoo.utils.env_logger import EnvLogger

from tests.support.episodes import SHORT, choose, illegal_action, play, transcript
from uno_flex_env import IllegalActionError, uno_flex_v0
from uno_flex_env.actions import TEXTS
from uno_flex_env.envs import aec
from uno_flex_env.envs.aec import UnoFlexEnv


@pytest.mark.parametrize("action", [0, 208, np.int64(3)])
def test_a_real_action_of_a_finished_agent_gets_a_clear_message(action):
    """PettingZoo: the last step of each agent is None. Fault 13."""
    env = finished()
    with pytest.raises(IllegalActionError, match="player_0 is finished: only None is left to it"):
        env.step(action)
    env.step(None)
    assert env.agents == ["player_1", "player_2"]


def finished() -> UnoFlexEnv:
    """An environment whose three agents have their last steps before them."""
    env = uno_flex_v0.env(3, SHORT)
    env.reset(seed=1)
    rng = random.Random(1)
    while not any(env.terminations.values()):
        env.step(choose(env.infos[env.agent_selection]["action_mask"], rng))
    return env


def test_an_illegal_action_raises_and_changes_nothing():
    """Fault 19: the message names the action, the agent and all that is legal."""
    env, same = uno_flex_v0.env(3, history=2), uno_flex_v0.env(3, history=2)
    env.reset(seed=0)
    same.reset(seed=0)
    action = illegal_action(env)
    with pytest.raises(IllegalActionError) as caught:
        env.step(action)
    legal = " ".join(TEXTS[number] for number in np.flatnonzero(env.infos["player_0"]["action_mask"]))
    assert str(caught.value) == f"player_0: action {action} ({TEXTS[action]}) is illegal now; legal: {legal}"
    assert transcript(env, deal=False) == transcript(same, deal=False)


def wrapped(env: UnoFlexEnv) -> Any:
    """As PettingZoo's own classic environments are."""
    env = wrappers.TerminateIllegalWrapper(env, illegal_reward=-1)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env))


def illegal_episode(env: Any, seed: int, moves: int) -> list[Any]:
    """What `last` returns in an episode whose action after so many moves is illegal; warnings at the end."""
    env.reset(seed=seed)
    EnvLogger.flush()
    rng, lines = random.Random(seed), []
    for agent in env.agent_iter():
        observation, *outcome, _ = env.last()
        lines.append((agent, observation["observation"].tobytes(), *outcome, dict(env.rewards)))
        action = None if True in outcome[1:] else choose(observation["action_mask"], rng)
        env.step(illegal_action(env) if moves == 0 else action)
        moves -= 1
    return [*lines, list(EnvLogger.mqueue)]


@pytest.mark.parametrize("moves", [0, 1, 7])
def test_terminate_does_what_pettingzoos_wrapper_does(num_players, moves):
    """-1 for the agent that moved, 0 for all others; all agents are finished; the log has a warning."""
    for seed in range(3):
        ours = illegal_episode(uno_flex_v0.env(num_players, illegal="terminate"), seed, moves)
        theirs = illegal_episode(wrapped(uno_flex_v0.raw_env(num_players)), seed, moves)
        assert ours == theirs
        assert "Illegal move made" in ours[-1][0]
        rewards = {line[0]: line[2] for line in ours[-1 - num_players : -1]}
        assert sorted(rewards.values()) == [-1.0] + [0.0] * (num_players - 1)


def test_an_illegal_move_is_logged_once():
    """Fault 2-25: in the second episode no more. Seen to fail when every one was logged."""
    env = uno_flex_v0.env(2, illegal="terminate")
    assert illegal_episode(env, 0, 0)[-1]
    assert not illegal_episode(env, 1, 0)[-1]


def test_terminate_and_raise_differ_only_in_that():
    """`illegal` changes nothing about an episode of legal actions."""
    raising, ending = (transcript(uno_flex_v0.env(3, illegal=kind), seed=2) for kind in ("raise", "terminate"))
    assert (raising[0], ending[0]) == ("raises", "ends the game")
    assert raising[1:] == ending[1:]


@pytest.mark.parametrize("action", [-1, 216, 10**30, 3.0, np.float64(3), "draw", None, np.array([3]), [3]])
@pytest.mark.parametrize("illegal", ["raise", "terminate"])
def test_an_invalid_action_is_out_of_bounds(action, illegal):
    """As in `AssertOutOfBoundsWrapper`: an AssertionError, whatever `illegal` says, and nothing has changed."""
    for env in (uno_flex_v0.env(2, illegal=illegal), wrapped(uno_flex_v0.raw_env(2))):
        env.reset(seed=0)
        with pytest.raises(AssertionError):
            env.step(action)
        assert env.agent_selection == "player_0"
        assert env.unwrapped.core.ply == 0
    env = uno_flex_v0.env(2)
    env.reset()
    with pytest.raises(aec.OutOfBoundsError, match="player_0's action must be a whole number from 0 to 215, got "):
        env.step(action)


@pytest.mark.parametrize(
    "call",
    [
        lambda env: env.step(208),
        lambda env: env.observe("player_0"),
        lambda env: env.state(),
        lambda env: env.render(),
        lambda env: env.agent_iter(),
    ],
)
def test_calls_before_reset_are_refused(call):
    """As in `OrderEnforcingWrapper`."""
    for env in (uno_flex_v0.env(2), wrapped(uno_flex_v0.raw_env(2))):
        with pytest.raises(AssertionError, match=r"reset\(\) needs to be called before"):
            call(env)


@pytest.mark.parametrize(
    "name", ["rewards", "terminations", "truncations", "infos", "agent_selection", "num_agents", "agents"]
)
def test_attributes_before_reset_are_refused(name):
    """As in `OrderEnforcingWrapper`."""
    for env in (uno_flex_v0.env(2), wrapped(uno_flex_v0.raw_env(2))):
        with pytest.raises(AttributeError, match=f"{name} cannot be accessed before reset"):
            getattr(env, name)


def test_a_missing_attribute_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'UnoFlexEnv' object has no attribute 'hands'"):
        uno_flex_v0.env().hands  # noqa: B018


def test_each_agent_that_is_iterated_needs_a_step():
    """As in `OrderEnforcingWrapper`."""
    for env in (uno_flex_v0.env(2), wrapped(uno_flex_v0.raw_env(2))):
        env.reset(seed=0)
        agents = iter(env.agent_iter())
        next(agents)
        with pytest.raises(AssertionError, match=r"need to call step\(\) or reset\(\)"):
            next(agents)


def test_agent_iter_stops_after_max_iter():
    """PettingZoo: `max_iter` agents at most."""
    env = uno_flex_v0.env(3)
    env.reset(seed=0)
    seen = 0
    for _ in env.agent_iter(4):
        env.step(choose(env.infos[env.agent_selection]["action_mask"], random.Random(0)))
        seen += 1
    assert seen == 4


def test_a_step_after_the_last_of_all_agents_is_a_warning():
    """As in `OrderEnforcingWrapper`."""
    for env in (uno_flex_v0.env(2, SHORT), wrapped(uno_flex_v0.raw_env(2, SHORT))):
        env.reset(seed=0)
        play(env, random.Random(0))
        EnvLogger.flush()
        env.step(None)
        assert "Should reset() first" in EnvLogger.mqueue[-1]
