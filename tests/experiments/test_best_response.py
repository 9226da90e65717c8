"""The search for a best response."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents.exact.exploit import exploitability
from agents.learners.league import LeagueConfig
from agents.learners.ppo import PPOConfig
from agents.learners.task import GameConfig
from agents.match.runner import duel
from agents.network import NetworkConfig
from agents.policy_factory import make_policy
from experiments.training.exploiters import BestResponseConfig, best_response
from experiments.training.train_config import TrainConfig
from tests.support.learning import SOLVED
from uno_flex_env.seeding import derived_seed


@pytest.mark.slow
def test_the_best_of_several_learners_is_measured_on_deals_that_did_not_choose_it(tmp_path: Path):
    """Seen to fail when the worst learner is taken, and when it is measured on the deals of the selection."""
    learner = TrainConfig(
        name="answer",
        runs=tmp_path,
        seed=5,
        decisions=20_000,
        game=GameConfig(num_envs=64, num_steps=16, max_decisions=400),  # weak learners draw for thousands of turns
        network=NetworkConfig(width=16),
        evaluations=1,
        evaluation_games=100,
        device="cpu",
        num_threads=1,
    )

    found = best_response(BestResponseConfig("never_flex", seeds=2, selection_games=200, games=200, train=learner))

    gains = found.selection
    assert gains.keys() == {str(tmp_path / "answer-1"), str(tmp_path / "answer-2")}
    assert gains[str(found.folder)] == max(gains.values()) > min(gains.values())
    name = f"{found.folder}:greedy"
    again = {
        seed: duel(name, "never_flex", games=200, seed=derived_seed(5, seed), max_decisions=400).rate(name)
        for seed in (2**32, 2**33)
    }
    assert again[2**32].mean - 0.5 == pytest.approx(gains[str(found.folder)])
    assert found.rates[2] == again[2**33] != again[2**32]
    assert json.loads((found.folder / "result.json").read_text())["rates"]["2"]["mean"] == found.rates[2].mean
    assert "lower bound" in str(found)


@pytest.mark.slow
def test_it_finds_nearly_the_exact_best_response_on_a_tiny_deck(tmp_path: Path):
    """The exact one gets 0.242 of a round. Seen to fail when the learner trains against another
    policy than the frozen one."""
    exact = exploitability(make_policy("never_flex"), SOLVED).low
    learner = TrainConfig(
        name="answer",
        runs=tmp_path,
        decisions=50_000,
        game=GameConfig(rules=SOLVED, num_envs=256, num_steps=16, max_decisions=60),
        network=NetworkConfig(width=64),
        ppo=PPOConfig(learning_rate=6e-3, entropy_coef=0.2, minibatch_size=512, precision="float32"),
        evaluations=1,
        evaluation_games=100,
        device="cpu",
        num_threads=1,
    )

    config = BestResponseConfig("never_flex", seeds=1, selection_games=200, games=10_000, train=learner)
    rate = best_response(config).rates[2]

    assert exact - 0.03 < 2 * rate.mean - 1
    assert 2 * rate.low - 1 < exact


def test_settings_that_a_best_response_has_no_use_for_are_refused():
    with pytest.raises(ValueError, match="league"):
        BestResponseConfig("flex_any", train=TrainConfig(league=LeagueConfig(1.0, ("expert",))))
    with pytest.raises(ValueError, match="ppo"):
        BestResponseConfig("flex_any", train=TrainConfig(learner="dqn"))
    with pytest.raises(ValueError, match="seeds must be a whole number from 1"):
        BestResponseConfig("flex_any", seeds=0)
    with pytest.raises(ValueError, match="no such policy: 'nobody'"):
        best_response(BestResponseConfig("nobody"))


@pytest.mark.parametrize("policy", ["search:10", "stdio:sh bot.sh"])
def test_policies_that_need_views_are_refused_before_a_run_begins(tmp_path: Path, policy):
    """Seen to fail when the league refuses them: the folders of all learners were there by then."""
    config = BestResponseConfig(policy, train=TrainConfig(name="answer", runs=tmp_path))

    with pytest.raises(ValueError, match=f"no search and no program, got '{policy}'"):
        best_response(config)

    assert list(tmp_path.iterdir()) == []
