"""Networks, and the distributions that they give: never a number that is none, never an illegal action."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from agents.masked import entropy, kl_divergence, log_prob_and_entropy, masked_log_softmax, sample
from agents.network import ActorCritic, NetworkConfig
from agents.network_policy import NetworkPolicy
from tests.support.learning import KINDS, NAMES, make_network
from uno_flex_env import VecEnv
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.batch import NUM_HIDDEN_FEATURES
from uno_flex_env.policy_input import Decisions

ROWS = 3_400
"""Masks of each part of the largest test: 102,000 in all."""


def random_masks(rows: int, seed: int = 0) -> Tensor:
    """From one legal action to nearly all of them."""
    rng = np.random.default_rng(seed)
    masks = rng.random((rows, NUM_ACTIONS), np.float32) < rng.random((rows, 1), np.float32) ** 4
    masks[np.arange(rows), rng.integers(NUM_ACTIONS, size=rows)] = True
    masks[: rows // 4] = np.arange(NUM_ACTIONS) == rng.integers(NUM_ACTIONS, size=(rows // 4, 1))
    return torch.from_numpy(masks)


def logits_like(kind: str, rows: int) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    if kind == "equal":
        return torch.full((rows, NUM_ACTIONS), 3.0)
    if kind == "huge":
        return 1e4 * (2.0 * torch.randint(0, 2, (rows, NUM_ACTIONS), generator=generator) - 1.0)
    return torch.randn((rows, NUM_ACTIONS), generator=generator)


# ---- Masked distributions ----


@pytest.mark.parametrize("kind", ["equal", "huge", "normal"])
def test_distributions_hold_for_a_hundred_thousand_masks(kind):
    """Fault 15: probabilities add up to one and are exactly 0 where illegal; entropy and divergence are what doubles
    say; no gradient is infinite or no number, and that of an illegal logit is exactly 0.

    Seen to fail with -inf in place of -1e38 (NaN), with -1e4 (an illegal action is possible where all legal ones have
    -1e4), and without the mask."""
    for part in range(10):
        legal, logits = random_masks(ROWS, part), logits_like(kind, ROWS).requires_grad_()
        other = logits_like("normal", ROWS)

        log_probs, probs = masked_log_softmax(logits, legal)
        spread = entropy(log_probs, probs)
        moved = kl_divergence(log_probs, probs, masked_log_softmax(other, legal)[0])
        (slope,) = torch.autograd.grad((spread + moved).mean(), logits)

        for numbers in (log_probs, probs, spread, moved, slope):
            assert numbers.isfinite().all()
        assert (probs[~legal] == 0).all()
        assert (slope[~legal] == 0).all()
        assert torch.allclose(probs.sum(dim=1), torch.ones(ROWS), atol=1e-5)
        assert (spread >= -1e-6).all()
        assert (moved >= -1e-4).all()
        check_against_doubles(logits, other, legal, spread, moved)


def check_against_doubles(logits: Tensor, other: Tensor, legal: Tensor, spread: Tensor, moved: Tensor) -> None:
    """The textbook's formulas, over the legal actions of the first rows alone."""
    for row in range(0, len(logits), 500):
        mine, theirs = (numbers[row][legal[row]].detach().double() for numbers in (logits, other))
        p, q = mine.softmax(0), theirs.softmax(0)
        known = torch.where(p > 0, p * p.clamp(min=1e-300).log(), 0.0)
        assert spread[row].item() == pytest.approx(-known.sum().item(), abs=1e-4)
        assert moved[row].item() == pytest.approx((known - p * q.log()).sum().item(), abs=1e-3)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", ["equal", "huge", "normal"])
def test_the_gradient_that_is_written_out_is_that_of_autograd(kind, dtype):
    """The gradient of the log-probability of an action and of the entropy, with another weight for each row. An illegal
    logit has no gradient.

    Seen to fail without the entropy's own term, without that of the action, and with the sign reversed."""
    legal, logits = random_masks(ROWS), logits_like(kind, ROWS).to(dtype).requires_grad_()
    action = legal.float().multinomial(1, generator=torch.Generator().manual_seed(3)).squeeze(1)
    weights = torch.rand(2, ROWS, generator=torch.Generator().manual_seed(4)) - 0.5

    log_prob, spread = log_prob_and_entropy(logits, legal, action)
    (slope,) = torch.autograd.grad((weights * torch.stack([log_prob, spread])).sum(), logits)
    log_probs, probs = masked_log_softmax(logits, legal)
    known = torch.stack([log_probs.gather(1, action[:, None]).squeeze(1), entropy(log_probs, probs)])
    (wanted,) = torch.autograd.grad((weights * known).sum(), logits)

    assert torch.equal(torch.stack([log_prob, spread]), known)
    assert slope.dtype == dtype
    assert torch.allclose(slope.float(), wanted.float(), atol=1e-5 if dtype == torch.float32 else 0.02)
    assert (slope[~legal] == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("kind", ["equal", "huge", "normal"])
def test_a_sample_is_always_possible(kind, dtype):
    """Fault 15: at 0, just below 1 and in between, whether the uniform numbers are floats or doubles.

    Seen to fail with `<` in place of `<=`, which takes the first action at 0."""
    legal = random_masks(20_000)
    _, probs = masked_log_softmax(logits_like(kind, 20_000), legal)
    below = 1.0 - torch.finfo(dtype).eps / 2

    for uniform in (0.0, below, None):
        numbers = torch.full((20_000,), uniform or 0.0, dtype=dtype)
        if uniform is None:
            numbers.uniform_(generator=torch.Generator().manual_seed(2))
        chosen = sample(probs, numbers)
        assert (probs[torch.arange(20_000), chosen] > 0).all()


def test_a_single_legal_action_is_certain():
    """With a probability of exactly 1, whatever its logit, without entropy or gradient."""
    logits = torch.tensor([[1e4, -1e4, 0.0]], requires_grad=True)
    legal = torch.tensor([[False, True, False]])

    log_probs, probs = masked_log_softmax(logits, legal)
    (slope,) = torch.autograd.grad(entropy(log_probs, probs).sum(), logits)

    assert probs.tolist() == [[0.0, 1.0, 0.0]]
    assert log_probs[0, 1].item() == 0.0
    assert slope.tolist() == [[0.0, 0.0, 0.0]]


def test_numbers_computed_by_hand():
    """Probabilities 1/4 and 3/4 against 1/2 and 1/2, with an illegal action between.

    Seen to fail with the divergence the other way around."""
    legal = torch.tensor([[True, False, True]])
    log_probs, probs = masked_log_softmax(torch.tensor([[0.0, 50.0, math.log(3.0)]]), legal)
    even, _ = masked_log_softmax(torch.zeros(1, 3), legal)

    assert probs.tolist()[0] == pytest.approx([0.25, 0.0, 0.75])
    assert entropy(log_probs, probs).item() == pytest.approx(0.562335, abs=1e-6)
    assert kl_divergence(log_probs, probs, even).item() == pytest.approx(0.130812, abs=1e-6)
    uniform = torch.tensor([0.0, 0.2499, 0.2501, 0.9999])
    assert sample(probs.expand(4, 3), uniform).tolist() == [0, 0, 2, 2]


# ---- Networks ----


def inputs_for(config: NetworkConfig, rows: int = 40) -> dict[str, Tensor | None]:
    """Observations, histories and hidden hands of games under way."""
    env = VecEnv(rows, 3, history=max(1, config.events), seed=1)
    env.reset()
    for _ in range(12):
        env.step(env.sample())
    return {
        "observation": torch.from_numpy(env.observations.copy()),
        "history": torch.from_numpy(env.histories.copy()) if config.events else None,
        "hidden": torch.from_numpy(env.hidden_hands()) if config.privileged else None,
    }


@pytest.mark.parametrize("config", KINDS, ids=NAMES)
def test_every_kind_gives_finite_logits_and_values(config):
    """(B, 216) and (B,), from bytes and from floats alike; a row does not depend on the others."""
    network, inputs = make_network(config), inputs_for(config)

    with torch.no_grad():
        logits, value = network(**inputs)
        from_floats, _ = network(**inputs | {"observation": inputs["observation"].float()})  # type: ignore[union-attr]
        alone, _ = network(**{name: None if part is None else part[7:8] for name, part in inputs.items()})

    assert logits.shape == (40, NUM_ACTIONS)
    assert value.shape == (40,)
    assert logits.isfinite().all()
    assert value.isfinite().all()
    assert torch.equal(logits, from_floats)
    assert torch.allclose(logits[7:8], alone, atol=1e-4)


@pytest.mark.parametrize("config", KINDS, ids=NAMES)
def test_a_new_network_has_no_opinion(config):
    """All legal actions are about equally likely, and every position is worth about nothing.

    Seen to fail without the small weights of the heads."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = ActorCritic(config)

    with torch.no_grad():
        logits, value = network(**inputs_for(config))

    assert logits.abs().max() < 0.1
    assert value.abs().max() < 0.1


@pytest.mark.parametrize("config", KINDS, ids=NAMES)
def test_every_parameter_learns(config):
    """A gradient reaches each of them, in the first step or the second (a residual block begins as the identity).

    Seen to fail with a critic that is computed but not used, and with the events' answer left out."""
    network, inputs = make_network(config), inputs_for(config)
    reached = set[str]()

    for _ in range(2):
        logits, value = network(**inputs)
        network.zero_grad()
        (logits.square().mean() + (value - 1).square().mean()).backward()
        with torch.no_grad():
            for name, parameter in network.named_parameters():
                assert parameter.grad is not None, name
                reached |= {name} if parameter.grad.abs().sum() > 0 else set()
                parameter.sub_(parameter.grad, alpha=0.01)

    assert reached == {name for name, _ in network.named_parameters()}


def test_the_history_is_read():
    """Who, what and how many cards, when, of each event: changing any of them changes the logits.

    Seen to fail without each of the four embeddings."""
    config = KINDS[2]
    network, inputs = make_network(config), inputs_for(config)
    history = inputs["history"]
    assert history is not None

    with torch.no_grad():
        before, _ = network(**inputs)
        for event in range(config.history):
            for part in range(3):
                other = history.clone()
                other[:, event, part] = (other[:, event, part] + 1) % 3
                after, _ = network(**inputs | {"history": other})
                assert (before != after).any(dim=1).all(), (event, part)
        turned, _ = network(**inputs | {"history": history.flip(1)})

    assert (before - turned).abs().max() > 1e-3


def test_a_history_that_is_missing_is_refused():
    network, inputs = make_network(KINDS[2]), inputs_for(KINDS[2])

    with pytest.raises(ValueError, match="reads the last 5 events: history is missing"):
        network(inputs["observation"])


def test_a_policy_does_not_depend_on_hidden_hands():
    """Fault 3: only the critic of training sees them; logits stay the same bit for bit, without them too.

    Seen to fail with the policy's head on the critic's trunk."""
    network, inputs = make_network(KINDS[3]), inputs_for(KINDS[3])
    generator = torch.Generator().manual_seed(3)
    noise = torch.randint(0, 2, (40, NUM_HIDDEN_FEATURES), dtype=torch.uint8, generator=generator)

    with torch.no_grad():
        logits, value = network(**inputs)
        same, other_value = network(**inputs | {"hidden": noise})
        blind, _ = network(inputs["observation"])

    assert torch.equal(logits, same)
    assert torch.equal(logits, blind)
    assert (value != other_value).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "tree"}, "network.kind must be one of mlp, residual, history, got 'tree'"),
        ({"width": 0}, "network.width must be at least 1, got 0"),
        ({"layers": 0}, "network.layers must be at least 1, got 0"),
        ({"history": 0}, "network.history must be at least 1, got 0"),
    ],
)
def test_networks_that_cannot_be_made_are_refused(settings, message):
    """Seen to fail without each of the checks."""
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        NetworkConfig(**settings)


# ---- Networks as policies ----


def constant_policy(logits: Any, *, greedy: bool = False) -> NetworkPolicy:
    """Gives these logits whatever it sees."""
    network = ActorCritic(NetworkConfig(width=1, layers=1))
    torch.nn.init.zeros_(network.policy.weight)
    network.policy.bias.data = torch.as_tensor(logits, dtype=torch.float32)
    return NetworkPolicy(network, "constant", greedy=greedy)


def decisions(masks: Any, seed: int = 0) -> Decisions:
    rows = len(masks)
    noise = np.random.default_rng(seed).integers(0, 2**64, rows, np.uint64)
    return Decisions(np.zeros((rows, 640), np.uint8), np.asarray(masks, np.int8), noise)


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e4])
@pytest.mark.parametrize("greedy", [False, True])
def test_a_network_never_plays_an_illegal_action(scale, greedy):
    """Faults 14 and 15: 20,000 random masks, also with one legal action, and extreme logits.

    Seen to fail with the mask left out of `probabilities`."""
    rng = np.random.default_rng(0)
    policy = constant_policy(scale * rng.choice([-1.0, 1.0], NUM_ACTIONS), greedy=greedy)
    masks = random_masks(20_000).numpy()

    actions = policy.act(decisions(masks))

    assert masks[np.arange(20_000), actions].all()


def test_a_network_plays_with_its_probabilities():
    """The softmax over the legal actions: chi-square of 20,000 choices; the greedy one takes the likeliest.

    Seen to fail with a softmax over half of the logits."""
    logits = np.linspace(-2, 2, NUM_ACTIONS)
    legal = np.array([3, 50, 100, 150, 215])
    masks = np.zeros((20_000, NUM_ACTIONS))
    masks[:, legal] = 1

    counts = np.bincount(constant_policy(logits).act(decisions(masks)), minlength=NUM_ACTIONS)

    expected = 20_000 * np.exp(logits[legal]) / np.exp(logits[legal]).sum()
    assert ((counts[legal] - expected) ** 2 / expected).sum() < 25
    assert set(constant_policy(logits, greedy=True).act(decisions(masks[:10]))) == {215}


@pytest.mark.parametrize(("size", "most"), [("layers", "256"), ("width", "16,384")])
def test_a_network_that_is_too_large_is_refused_at_once(size, most):
    """Fault 2-19: `train --network.layers 1000000000` built layers until the memory was full. Seen to fail without the
    bounds."""
    with pytest.raises(ValueError, match=f"network.{size} must be at most {most}, got 1,000,000,000"):
        NetworkConfig(**{size: 10**9})  # type: ignore[arg-type]
