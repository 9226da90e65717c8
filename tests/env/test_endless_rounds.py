"""Ways to play that never end a round: each environment cuts them off, or says why not."""

from typing import Any

import gymnasium
import numpy as np
import pytest

from uno_flex_env import VecEnv, uno_flex_v0
from uno_flex_env.actions import ACTIONS, TEXTS
from uno_flex_env.envs.gym_vector import UnoFlexVectorEnv
from uno_flex_env.envs.single_agent import SingleAgentEnv
from uno_flex_env.options import DEFAULT_MAX_DECISIONS

ORDER = [*(i for i, text in enumerate(TEXTS) if text.startswith("WF:")), *map(TEXTS.index, ("draw", "keep", "accept"))]

SCORES = np.ones(len(ACTIONS), np.int64)
SCORES[ORDER] = np.arange(len(ORDER), 0, -1) + 1


def all_flip_or_draw(batch: dict[str, Any]) -> Any:
    """Wild All Flip if it is held, else draw and keep. What it plays the other one draws, for ever at two players."""
    return (batch["action_mask"] * SCORES).argmax(axis=1)


def one(mask: Any) -> int:
    return int(all_flip_or_draw({"action_mask": mask[None]})[0])


@pytest.mark.slow
def test_pettingzoo_truncates_a_round_without_an_end():
    """Fault 2-5. Seen to fail (it never ended) when the default was None."""
    env = uno_flex_v0.env(2)
    env.reset(seed=1)
    for _decisions in range(DEFAULT_MAX_DECISIONS + 1):
        observation, _, termination, truncation, _ = env.last()
        if termination or truncation:
            break
        assert observation is not None
        env.step(one(observation["action_mask"]))
    assert (_decisions, termination, truncation) == (DEFAULT_MAX_DECISIONS, False, True)


@pytest.mark.slow
def test_gymnasium_truncates_a_round_without_an_end():
    """Fault 2-5: the learning seat's decisions count. Seen to fail (it never ended) when the default was None."""
    env = gymnasium.make("UnoFlex-v0", opponents=all_flip_or_draw)
    observation, _ = env.reset(seed=1)
    for _decisions in range(1, DEFAULT_MAX_DECISIONS + 1):
        observation, _, terminated, truncated, _ = env.step(one(observation["action_mask"]))
        if terminated or truncated:
            break
    assert (_decisions, terminated, truncated) == (DEFAULT_MAX_DECISIONS, False, True)


def test_the_other_environments_have_the_same_limit():
    """Fault 2-5. Seen to fail with None as the default of each."""
    limit = DEFAULT_MAX_DECISIONS
    assert UnoFlexVectorEnv(2).seat_games.options.max_decisions == limit
    assert SingleAgentEnv(match=True).seat_games.options.max_decisions == limit
    assert pytest.importorskip("uno_flex_env.envs.sb3").SB3VecEnv(2).seat_games.options.max_decisions == limit
    assert SingleAgentEnv(max_decisions=None).seat_games.options.max_decisions is None


def test_a_batch_has_no_limit_by_default_and_says_why():
    """Fault 2-5: training continues bit for bit, and `final_obs` takes no memory unless you ask for it."""
    env = VecEnv(2)
    assert env.options.max_decisions is None
    assert env.final_obs.size == 0
    assert "bootstrap" in (VecEnv.__doc__ or "")


@pytest.mark.slow
@pytest.mark.parametrize("num_players", [2, 8])
def test_random_rounds_stay_far_below_the_limit(num_players):
    """Fault 2-5: lengths fall off by a constant factor, so three times the length that one round in a hundred exceeds
    is exceeded by one in a million. Seen to fail with a limit of 10,000."""
    env = VecEnv(1024, num_players, seed=3)
    env.reset()
    lengths: list[int] = []
    begun = np.zeros(1024, np.int64)
    for step in range(1, 6000 if num_players == 8 else 2000):
        env.step(env.sample())
        ended = env.terminated
        lengths += (step - begun[ended]).tolist()
        begun[ended] = step
    assert len(lengths) > 4000
    assert 3 * np.quantile(lengths, 0.99) < DEFAULT_MAX_DECISIONS
