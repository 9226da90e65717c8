"""sb3-contrib's MaskablePPO as a learner. What all learners have in common is in test_learners."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from agents.learners.league import LeagueConfig
from agents.learners.maskable_ppo import PAST_SELVES, MaskablePPO, MaskablePPOConfig
from agents.learners.task import GameConfig, LearningTask
from agents.network import NetworkConfig, new_network
from experiments.training.monitor import GROUPS
from tests.support.learning import equal, make_network
from uno_flex_env import Rules
from uno_flex_env.errors import IllegalActionError
from uno_flex_env.policy_input import Decisions

TASK = LearningTask(GameConfig(num_envs=64, num_steps=8, rules=Rules(hand_size=1)), NetworkConfig(width=16))
FAST = MaskablePPOConfig(learning_rate=0.01, batch_size=512, n_epochs=1)
LEAGUE = LeagueConfig(1.0, ("flex_any", "expert"), 2, 1000)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"game": GameConfig(players=(2, 3))}, r"game.players must be one number for the learner maskable_ppo"),
        ({"network": NetworkConfig("history")}, 'network.kind must be "mlp" or "residual"'),
        ({"network": NetworkConfig(privileged=True)}, "network.privileged must be false"),
        ({"league": LeagueConfig(0.5, ("random",))}, "league.fraction must be 0 or 1"),
        ({"device": "cuda"}, 'device must be "cpu"'),
        (
            {"game": GameConfig(num_envs=27, num_steps=19)},
            "no minibatch of a single decision: .* is 513, batch_size",
        ),
    ],
)
def test_what_it_does_not_support_is_refused(settings, message):
    """Seen to fail without each of the checks."""
    with pytest.raises(ValueError, match=message):
        MaskablePPO(replace(TASK, **settings), 1, FAST)


def test_the_global_generators_stay_as_they_are():
    """Those of Python, numpy and torch. Seen to fail when any of them is not put back."""

    def states() -> list[Any]:
        name, key, *rest = np.random.get_state()  # noqa: NPY002 (Stable-Baselines3 draws from it)
        return [
            random.getstate(),
            name,
            torch.from_numpy(np.asarray(key).astype(np.int64)),
            rest,
            torch.get_rng_state(),
        ]

    before = states()
    learner = MaskablePPO(TASK, 1, FAST)
    learner.step(0.0)

    assert equal(before, states())


@pytest.mark.parametrize("kind", ["mlp", "residual"])
def test_it_begins_as_other_learners_do(kind):
    """With the weights that its seed gives an `ActorCritic`, or with those that it is given.

    Seen to fail with SB3's own, and when given weights are ignored."""
    network = NetworkConfig(kind, width=32)
    learner = MaskablePPO(replace(TASK, network=network), 3)
    expected = new_network(network, 3).state_dict()
    assert equal(learner.policy().network.state_dict(), expected)
    assert sum(w.numel() for w in learner.model.policy.parameters()) == sum(w.numel() for w in expected.values())

    others = make_network(network).state_dict()
    learner.load_weights(others)

    assert equal(learner.policy().network.state_dict(), others)


def test_probabilities_and_values_are_those_of_sb3():
    """Seen to fail when any of trunk, policy and value is left out of what is copied."""
    learner = MaskablePPO(TASK, 1)
    learner.load_weights(make_network(TASK.network).state_dict())
    games = learner.envs.seat_games
    observation, mask = games.observations.copy(), games.action_masks.copy()
    inputs = torch.from_numpy(observation)

    with torch.no_grad():
        theirs = learner.model.policy.get_distribution(inputs, action_masks=mask != 0).distribution
        values = learner.model.policy.predict_values(inputs).squeeze(1)
        ours = learner.policy().network(inputs)[1]

    decisions = Decisions(observation, mask, np.zeros(len(mask), np.uint64))
    assert isinstance(theirs, torch.distributions.Categorical)
    assert torch.allclose(learner.policy().probabilities(decisions), theirs.probs, atol=1e-5)
    assert torch.allclose(ours, values, atol=1e-5)
    assert values.std() > 0.01


def test_it_meets_bots_and_past_selves():
    """One for each update; the league is told who won. An own league begins with the first policy.

    Seen to fail when the opponent never changes, without snapshots, and when the league gets no results or those of
    another seat."""
    learner = MaskablePPO(replace(TASK, league=LEAGUE), 1, FAST)
    met = set()
    for step in range(12):
        learner.step(step / 12)
        opponents = learner.envs.opponents
        assert isinstance(opponents, tuple)
        met.add(opponents[0] if isinstance(opponents[0], str) else getattr(opponents[0], "name", ""))
    assert [policy.name for policy in learner.league.policies] == ["flex_any", "expert", "00004", "00005"]
    assert len(met) > 3
    assert "flex_any" in met

    learner = MaskablePPO(TASK, 1, FAST)
    assert learner.league.config == PAST_SELVES
    won = games = 0
    for step in range(4):
        learner.step(step / 4)
        rewards, starts = learner.model.rollout_buffer.rewards, learner.model.rollout_buffer.episode_starts
        won += int((rewards > 0).sum())
        games += int((rewards != 0).sum())
        assert starts.any()
    assert [policy.name for policy in learner.league.policies] == ["00000"]
    (wins, played) = learner.league.wins[0], learner.league.games[0]
    assert wins == pytest.approx(won, rel=0.3)  # results fade
    assert played == pytest.approx(games, rel=0.3)
    assert wins / played == pytest.approx(won / games, abs=0.05)


@pytest.mark.parametrize("league", [LEAGUE, LeagueConfig(1.0, snapshots=2, every=500)])
def test_it_resumes_with_its_league(league):
    """Seen to fail without the results, the snapshots, the games or the count of decisions."""
    where = replace(TASK, league=league)
    whole, cut = (MaskablePPO(where, 5, FAST) for _ in range(2))
    for step in range(4):
        if step in (0, 2):
            state, cut = cut.state_dict(), MaskablePPO(where, 6, FAST)
            cut.load_state_dict(state)
        whole.step(step / 4)
        cut.step(step / 4)
        assert whole.metrics == cut.metrics
    assert equal(whole.state_dict(), cut.state_dict())


def test_a_bad_update_is_undone_and_said():
    """Seen to fail when the weights are not looked at, and when they are kept."""
    learner = MaskablePPO(TASK, 1, replace(FAST, vf_coef=1e39))

    with pytest.raises(FloatingPointError, match="not finite"):
        learner.step(0.0)

    assert equal(learner.policy().network.state_dict(), new_network(TASK.network, 1).state_dict())


def test_training_without_masks_is_refused():
    """Fault 14: by the games, at the first illegal action, so the other tests would notice."""
    learner = MaskablePPO(TASK, 1)
    learner.envs.opponents = "random"
    with pytest.raises(IllegalActionError):
        learner.model.learn(512, use_masking=False)


def test_its_metrics_have_charts():
    """The names of this project's learners. Seen to fail when a name is misspelled."""
    learner = MaskablePPO(TASK, 1, FAST)
    learner.step(0.5)
    charts = {name for names in GROUPS.values() for name in names}
    assert set(learner.metrics) <= charts
    assert {"policy_loss", "value_loss", "entropy", "explained_variance", "flex_rate"} <= set(learner.metrics)
    assert learner.metrics["learning_rate"] == pytest.approx((0.01 + 1e-4) / 2)
    assert 0.0 < learner.metrics["entropy"] < 3.0
