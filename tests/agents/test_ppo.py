"""The learner's arithmetic by hand-computed numbers, its schedules, its randomness and its alarms."""

from __future__ import annotations

import math
import random
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from agents.device import choose_device, matmul_dtype
from agents.learners.league import League, LeagueConfig
from agents.learners.ppo import PPO, PPOConfig
from agents.learners.rollout import Experience, Rollout
from agents.learners.task import GameConfig
from agents.network import ActorCritic, NetworkConfig
from tests.support.learning import CPU, KINDS, NAMES, make_network
from uno_flex_env.actions import NUM_ACTIONS

LN2 = math.log(2)
PLAIN = PPOConfig(precision="float32", minibatch_size=1000, update_epochs=1, entropy_coef=0.0, entropy_coef_end=0.0)


def blank_network(*logits: float) -> ActorCritic:
    """It gives these logits to the first actions, 0 to all others, and every position a value of 0, whatever it sees.
    Only the last layer's biases get a gradient."""
    network = ActorCritic(NetworkConfig(width=4, layers=1))
    for parameter in network.parameters():
        torch.nn.init.zeros_(parameter)
    network.policy.bias.data[: len(logits)] = torch.tensor(logits)
    return network


def experience(
    advantages: list[float],
    *,
    actions: list[int] | None = None,
    old: list[float] | None = None,
    values: list[float] | None = None,
    legal: int = 2,
) -> Experience:
    """Decisions between the first `legal` actions; `old` are the probabilities with which they were taken."""
    rows = len(advantages)
    allowed = torch.zeros(rows, NUM_ACTIONS, dtype=torch.bool)
    allowed[:, :legal] = True
    return Experience(
        rows=torch.arange(rows),
        observation=torch.zeros(rows, 640, dtype=torch.uint8),
        legal=allowed,
        action=torch.tensor(actions or [0] * rows),
        log_prob=torch.tensor(old or [0.5] * rows).log(),
        value=torch.tensor(values or [0.0] * rows),
        advantage=torch.tensor(advantages),
        history=None,
        hidden=None,
    )


def real_experience(network: ActorCritic, games: int = 64, steps: int = 12, seed: int = 0) -> Experience:
    rollout = Rollout(GameConfig(num_envs=games, num_steps=steps), network, League(LeagueConfig(), seed), seed)
    return rollout.collect(network, CPU, 1.0, 0.9)


# ---- Numbers ----


def test_the_clipped_loss_is_that_computed_by_hand():
    """Both actions have probability 1/2; the ratios to the old ones are 1, 1.25, 2 and 1/2, the clip is 0.2 and the
    advantages have mean 0 and deviation 1: min(1, 1) + min(-1.25, -1.2) + min(2, 1.2) + min(-0.5, -0.8) = 0.15.

    Seen to fail with max for min, with the clipped term alone, without the clip, and with unbiased variances."""
    seen = experience([1.0, -1.0, 1.0, -1.0], old=[0.5, 0.4, 0.25, 1.0], values=[2.0, -2.0, 0.0, 0.0])

    metrics = PPO(PLAIN, blank_network(), CPU, 0).update(seen, 0.0)

    assert metrics["policy_loss"] == pytest.approx(-0.15 / 4, abs=1e-6)
    assert metrics["value_loss"] == pytest.approx((9 + 9 + 1 + 1) / 4, abs=1e-6)
    assert metrics["entropy"] == pytest.approx(LN2, abs=1e-6)
    assert metrics["approx_kl"] == pytest.approx((0.0 + 0.25 - math.log(1.25) + 1.0 - LN2 - 0.5 + LN2) / 4, abs=1e-6)
    assert metrics["clip_fraction"] == 0.75
    assert metrics["explained_variance"] == pytest.approx(1 - 1 / 5, abs=1e-6)
    assert metrics["magnet_kl"] == 0.0


@pytest.mark.parametrize("scale", [0.01, 1.0, 300.0])
def test_the_scale_of_advantages_does_not_matter(scale):
    """They are brought to mean 0 and deviation 1 over all decisions of an update, not of a minibatch.

    Seen to fail without that, and with the mean of each minibatch."""
    config = replace(PLAIN, minibatch_size=1, learning_rate=1e-12)
    seen = experience([5 * scale, 7 * scale, 5 * scale, 7 * scale], old=[0.5, 0.5, 0.5, 0.25])

    metrics = PPO(config, blank_network(), CPU, 0).update(seen, 0.0)

    # -1 + 1 - 1 + min(2, 1.2), whatever the order.
    assert metrics["policy_loss"] == pytest.approx(-0.2 / 4, abs=1e-4)


def test_the_gradient_is_that_computed_by_hand():
    """Two decisions, advantages 1 for action 0 and -1 for action 1: (-1/2, 1/2) for the logits; targets of mean 1/4,
    half weight: -1/4 for the value. Longer than `max_gradient`, it is shortened; Adam's first step is the rate in each.

    Seen to fail with a value loss that is halved twice, and without the rate of the schedule."""
    network = blank_network()
    config = replace(PLAIN, max_grad_norm=0.5, learning_rate=0.25)
    seen = experience([1.0, -1.0], actions=[0, 1], values=[0.25, 0.25])

    metrics = PPO(config, network, CPU, 0).update(seen, 0.0)

    assert metrics["grad_norm"] == pytest.approx(0.75, abs=1e-6)
    assert network.policy.bias[:3].tolist() == pytest.approx([0.25, -0.25, 0.0], abs=1e-4)
    assert network.value.bias.item() == pytest.approx(0.25, abs=1e-4)


@pytest.mark.parametrize(("actions", "old", "moves"), [([0, 1], [0.4, 0.6], False), ([0, 1], [0.6, 0.4], True)])
def test_a_ratio_beyond_the_clip_is_pushed_no_further(actions, old, moves):
    """The better action is already 1.25 times, the worse 0.83 times as likely as before: with a clip of 0.1 neither
    has a gradient. If they have moved the wrong way, both have.

    Seen to fail without the clip."""
    network = blank_network()

    metrics = PPO(replace(PLAIN, clip_coef=0.1, value_coef=0.0), network, CPU, 0).update(
        experience([1.0, -1.0], actions=actions, old=old), 0.0
    )

    assert (metrics["grad_norm"] > 0.1) == moves
    assert (network.policy.bias != 0).any() == moves


def test_the_entropy_bonus_pulls_towards_even_odds():
    """Probabilities 3/4 and 1/4 have an entropy of 0.562; its slope is -3/4 * (ln 3/4 + 0.562) = -0.206 and 0.206.

    Seen to fail with the opposite sign."""
    network = blank_network(math.log(3.0))
    config = replace(PLAIN, entropy_coef=2.0, value_coef=0.0, max_grad_norm=10.0)

    metrics = PPO(config, network, CPU, 0).update(experience([1.0, 1.0], old=[0.75, 0.75]), 0.0)

    assert metrics["entropy"] == pytest.approx(0.562335, abs=1e-6)
    assert metrics["grad_norm"] == pytest.approx(2.0 * 0.205990 * math.sqrt(2), abs=1e-5)
    assert network.policy.bias[0] < math.log(3.0)
    assert network.policy.bias[1] > 0.0


def test_the_magnet_pulls_back():
    """The magnet is the network as it was at first, with even odds; by now it has 3/4 and 1/4, a divergence of
    3/4 ln 3/2 + 1/4 ln 1/2 = 0.131 from it, with a slope of 3/4 * (ln 3/2 - 0.131) = 0.206.

    Seen to fail with the opposite sign, and with a magnet that is the network itself."""
    network = blank_network()
    ppo = PPO(replace(PLAIN, magnet_coef=2.0, value_coef=0.0, max_grad_norm=10.0), network, CPU, 0)
    network.policy.bias.data[0] = math.log(3.0)

    metrics = ppo.update(experience([1.0, 1.0], old=[0.75, 0.75]), 0.0)

    assert metrics["magnet_kl"] == pytest.approx(0.130812, abs=1e-6)
    assert metrics["grad_norm"] == pytest.approx(2.0 * 0.205990 * math.sqrt(2), abs=1e-5)
    assert network.policy.bias[0] < math.log(3.0)


def test_the_magnet_follows_now_and_then():
    """After every second update it is a copy of the policy, and stays that when the policy moves on.

    Seen to fail when it follows at once, and when it never does."""
    network = make_network(KINDS[0])
    ppo = PPO(replace(PLAIN, magnet_coef=0.1, magnet_every=2), network, CPU, 0)
    assert ppo.magnet is not None
    first = network.policy.weight.detach().clone()
    seen = real_experience(network)

    follows = []
    for _ in range(4):
        ppo.update(seen, 0.0)
        follows.append(torch.equal(ppo.magnet.policy.weight, network.policy.weight))

    assert follows == [False, True, False, True]
    assert not torch.equal(ppo.magnet.policy.weight, first)


@pytest.mark.parametrize(("progress", "rate", "bonus"), [(0.0, 1e-3, 0.02), (0.25, 7.75e-4, 0.0155), (1.0, 1e-4, 2e-3)])
def test_rates_fall_in_a_straight_line(progress, rate, bonus):
    """From the first value to the last. Seen to fail with the ends exchanged."""
    config = PPOConfig(
        learning_rate=1e-3,
        update_epochs=1,
        learning_rate_end=1e-4,
        entropy_coef=0.02,
        entropy_coef_end=0.002,
        precision="float32",
        max_grad_norm=9,
    )
    network = blank_network()

    metrics = PPO(config, network, CPU, 0).update(experience([1.0, -1.0], actions=[0, 1]), progress)

    assert metrics["learning_rate"] == pytest.approx(rate)
    assert metrics["entropy_coef"] == pytest.approx(bonus)
    assert network.policy.bias[0].item() == pytest.approx(rate, rel=1e-3)


def test_illegal_logits_are_never_read():
    """Fault 18: whatever the network says of illegal actions, loss and step are the same bit for bit, and those logits
    stay where they are. There is no bootstrap from actions: the critic values positions.

    Seen to fail with the mask left out of the loss."""
    outcomes = []
    for illegal in (0.0, 1e4, -1e4):
        network = blank_network(0.3, -0.2)
        network.policy.bias.data[2:] = illegal
        ppo = PPO(replace(PLAIN, entropy_coef=0.1, magnet_coef=0.1), network, CPU, 0)
        metrics = ppo.update(experience([1.0, -1.0, 0.5], actions=[0, 1, 1]), 0.0)
        assert (network.policy.bias[2:] == illegal).all()
        outcomes.append((metrics, network.policy.bias[:2].tolist()))

    assert outcomes[0] == outcomes[1] == outcomes[2]


def test_each_decision_is_learned_from_once_an_epoch():
    """25 of 40 rows, in parts of 13 and 12 for a minibatch of 10 that does not divide them, in another order each time.

    Seen to fail with all rows, and with one order for all epochs."""
    network = blank_network()
    seen = experience([0.0] * 40)
    used = torch.arange(3, 28)
    for row in range(40):
        seen.observation[row, row] = 1
    parts: list[list[int]] = []
    network.trunk.register_forward_pre_hook(lambda _, inputs: parts.append(inputs[0].argmax(dim=1).tolist()))

    PPO(replace(PLAIN, update_epochs=3, minibatch_size=10), network, CPU, 0).update(replace(seen, rows=used), 0.0)

    assert [len(part) for part in parts] == [13, 12] * 3
    epochs = [parts[2 * epoch] + parts[2 * epoch + 1] for epoch in range(3)]
    assert all(sorted(order) == used.tolist() for order in epochs)
    assert epochs[0] != epochs[1] != epochs[2]


# ---- Randomness and precision ----


def learned(config: NetworkConfig = KINDS[0], seed: int = 0, **ppo: Any) -> dict[str, torch.Tensor]:
    """Weights after three updates on the same games."""
    network = make_network(config)
    learner = PPO(replace(PLAIN, minibatch_size=100, magnet_coef=0.1, **ppo), network, CPU, seed)
    seen = real_experience(network)
    for _ in range(3):
        learner.update(seen, 0.0)
    return {name: value.clone() for name, value in network.state_dict().items()}


@pytest.mark.parametrize("config", KINDS, ids=NAMES)
def test_the_same_seed_gives_the_same_weights(config):
    """Bit for bit; another seed others. Seen to fail with the global generator's order of decisions."""
    first, again, other = (learned(config, seed) for seed in (1, 1, 2))

    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


def test_global_generators_are_neither_used_nor_disturbed():
    """Fault 6, by numpy, torch and Python. Seen to fail with `torch.randperm` without a generator."""
    torch.manual_seed(1)
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()  # type: ignore[index]  # noqa: NPY002
    network = make_network(KINDS[0])
    first = learned()
    after = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()  # type: ignore[index]  # noqa: NPY002
    torch.manual_seed(2)
    again = learned()

    assert torch.equal(before[0], after[0])
    assert before[1:] == after[1:]
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert network.training


def test_half_precision_learns_about_the_same():
    """bfloat16 in the matrix products alone: losses within two percent, a step in nearly the same direction.

    Seen to fail without autocast."""
    steps, reports = [], []
    for precision in ("float32", "bfloat16"):
        network = make_network(KINDS[0])
        ppo = PPO(replace(PLAIN, precision=precision), network, CPU, 0)
        seen = real_experience(network, games=256)
        before = torch.nn.utils.parameters_to_vector(network.parameters()).detach()
        reports.append(ppo.update(seen, 0.0))
        steps.append(torch.nn.utils.parameters_to_vector(network.parameters()).detach() - before)
        assert all(parameter.dtype == torch.float32 for parameter in network.parameters())

    assert reports[0] != reports[1]
    for name in ("value_loss", "entropy", "grad_norm"):
        assert reports[1][name] == pytest.approx(reports[0][name], rel=0.02), name
    first, second = steps
    assert torch.nn.functional.cosine_similarity(first, second, dim=0) > 0.9


def test_precision_and_device_are_those_asked_for():
    """`auto` never asks for bfloat16 where the processor would have to emulate it."""
    able = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}

    assert matmul_dtype("float32", CPU) == torch.float32
    assert matmul_dtype("bfloat16", CPU) == torch.bfloat16
    assert (matmul_dtype("auto", CPU) == torch.bfloat16) == bool(able.get("avx512_bf16") or able.get("amx_bf16"))
    assert choose_device("cpu") == CPU


# ---- Alarms ----


def test_a_loss_that_is_no_number_stops_the_learner():
    """It says which update and what was computed; the network is as before. Seen to fail without the check."""
    network = make_network(KINDS[0])
    ppo = PPO(PLAIN, network, CPU, 0)
    seen = real_experience(network)
    ppo.update(seen, 0.0)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    seen.log_prob[seen.rows[5]] = math.nan

    with pytest.raises(FloatingPointError, match=r"update 1 is no number: \{'policy_loss': nan, 'value_loss'"):
        ppo.update(seen, 0.0)

    assert all(torch.equal(before[name], value) for name, value in network.state_dict().items())


def test_a_gradient_that_is_no_number_stops_the_learner():
    """Also where the loss is one; the network is as before. Seen to fail when only the loss is checked."""
    network = blank_network()
    network.policy.bias.register_hook(lambda slope: slope * math.nan)  # type: ignore[no-untyped-call]
    ppo = PPO(PLAIN, network, CPU, 0)

    with pytest.raises(FloatingPointError, match=r"update 0 is no number: .*'grad_norm': nan"):
        ppo.update(experience([1.0, -1.0], actions=[0, 1]), 0.0)

    assert (network.policy.bias == 0).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"clip_coef": 1.0}, "ppo.clip_coef must lie in (0, 1), got 1.0"),
        ({"gamma": 1.1}, "ppo.gamma must lie in [0, 1], got 1.1"),
        ({"gae_lambda": -0.1}, "ppo.gae_lambda must lie in [0, 1], got -0.1"),
        ({"learning_rate": 0.0}, "ppo.learning_rate must be above 0 and finite, got 0.0"),
        ({"max_grad_norm": math.nan}, "ppo.max_grad_norm must be above 0 and finite, got nan"),
        ({"learning_rate_end": -1.0}, "ppo.learning_rate_end must be at least 0 and finite, got -1.0"),
        ({"entropy_coef": -0.1}, "ppo.entropy_coef must be at least 0 and finite, got -0.1"),
        ({"value_coef": -0.1}, "ppo.value_coef must be at least 0 and finite, got -0.1"),
        ({"magnet_coef": -0.1}, "ppo.magnet_coef must be at least 0 and finite, got -0.1"),
        ({"update_epochs": 0}, "ppo.update_epochs must be at least 1, got 0"),
        ({"minibatch_size": 0}, "ppo.minibatch_size must be at least 1, got 0"),
        ({"magnet_every": 0}, "ppo.magnet_every must be at least 1, got 0"),
        ({"precision": "float8"}, "ppo.precision must be one of auto, float32, bfloat16, got 'float8'"),
    ],
)
def test_settings_out_of_bounds_are_refused(settings, message):
    """By the setting's name. Seen to fail without the checks."""
    with pytest.raises(ValueError, match=re.escape(message)):
        PPOConfig(**settings)
