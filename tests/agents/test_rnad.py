"""What R-NaD learns from: targets and loss worked out by hand, and the regularization policy that moves on."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agents.learners.rnad import RNaD, RNaDConfig
from agents.learners.rnad_targets import neurd_loss, v_trace
from agents.learners.seat_steps import Transitions
from agents.learners.task import GameConfig, LearningTask
from agents.network import NetworkConfig, new_network
from tests.support.learning import equal
from uno_flex_env import Rules


def column(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_v_trace_by_hand():
    """A round of three decisions, and one decision of a round that is still open.

    Seen to fail when ratios above 1 count in full, without lambda, when the targets of two rounds are joined, and when
    a next target is the next value."""
    target, next_target = v_trace(
        value=column(1, 2, 4, 5),
        next_value=column(2, 4, 0, 7),
        reward=column(0.5, 1, 3, 1),
        ratio=column(0.5, 2, 1, 1),
        goes_on=np.array([True, True, False, False]),
        lambda_=0.5,
    )
    # Third: 4 + (3 - 4). Second: 2 + (1 + 4 - 2) + 0.5 (3 - 4). First: 1 + 0.5 (0.5 + 2 - 1) + 0.5 * 0.5 (4.5 - 2).
    assert target.tolist() == [2.375, 4.5, 3.0, 8.0]
    assert next_target.tolist() == [4.5, 3.0, 0.0, 7.0]


def test_the_gradient_of_neurd_by_hand():
    """Minus the advantages, less their mean; logits too far from the mean of the legal ones are pushed back alone.

    Seen to fail with the softmax in the gradient, when illegal actions count, and with the bound on one side only."""
    logits = torch.tensor([[0.0, 1.0, -1.0, 9.0], [3.0, -3.0, 0.0, 9.0], [3.0, -3.0, 0.0, 9.0]], requires_grad=True)
    legal = torch.tensor([[True, True, True, False]] * 3)
    advantage = torch.tensor([[2.0, -1.0, 0.5, 4.0], [1.0, -1.0, 0.3, 4.0], [-1.0, 1.0, 0.3, 4.0]])

    neurd_loss(logits, legal, advantage, beta=2.0).backward()  # type: ignore[no-untyped-call]

    pushes = torch.tensor([[2.0, -1.0, 0.5], [0.0, 0.0, 0.3], [-1.0, 1.0, 0.3]])
    expected = -(pushes - pushes.mean(dim=1, keepdim=True)) / 3
    assert logits.grad is not None
    assert torch.allclose(logits.grad[:, :3], expected)
    assert (logits.grad[:, 3] == 0).all()


def test_the_regularization_policy_moves_on_once_per_iteration():
    """The target network becomes the last one and the last one the one before; alpha rises to 1 in the first half.

    Seen to fail when the online network is copied, when either stays, and when alpha never rises."""
    games = GameConfig(num_envs=50, num_steps=4, rules=Rules(hand_size=1))
    learner = RNaD(LearningTask(games, NetworkConfig(width=16)), 1, RNaDConfig(iteration=800))
    first = learner.state_dict()["regularization"][0]
    first = {name: weights.clone() for name, weights in first.items()}
    alphas = []
    for _ in range(4):
        alphas.append(learner.alpha)
        last, earlier = learner.state_dict()["regularization"]
        assert equal(first, last)
        assert equal(first, earlier)
        learner.step(0.5)

    state = learner.state_dict()
    assert alphas == pytest.approx([0.0, 0.5, 1.0, 1.0])
    assert learner.alpha == 0.0
    assert equal(state["regularization"][0], state["target"])
    assert not equal(state["target"], state["network"])
    assert equal(state["regularization"][1], first)
    second = {name: weights.clone() for name, weights in state["target"].items()}
    for _ in range(4):
        learner.step(0.5)
    assert equal(learner.state_dict()["regularization"][1], second)


ETA = 0.5


def regularized() -> RNaD:
    """A learner whose policy differs from its regularization policy, and whose values are 0."""
    games = GameConfig(players=(3,), num_envs=200, num_steps=1, rules=Rules(hand_size=1))
    config = RNaDConfig(eta=ETA, clip=1e9, max_weight=1e9, vtrace_lambda=1.0, precision="float32")
    learner = RNaD(LearningTask(games, NetworkConfig(width=16)), 1, config)
    learner.decisions = config.iteration * 3 // 4  # alpha is 1
    learner.regularization[0].load_state_dict(new_network(NetworkConfig(width=16), 2).state_dict())
    with torch.no_grad():
        for network in (learner.network, *learner.regularization):
            network.policy.weight.mul_(1000)  # the first weights make all policies nearly uniform
        learner.target.value.weight.zero_()
        learner.target.value.bias.zero_()
    return learner


def policies(learner: RNaD, observation: np.ndarray, mask: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """Probabilities of the policy, and their log-ratios to those of the regularization policy."""
    with torch.no_grad():
        logits = [network(torch.from_numpy(observation))[0] for network in (learner.network, learner.regularization[0])]
    mine, other = (each.masked_fill(torch.from_numpy(mask == 0), -torch.inf).softmax(dim=1) for each in logits)
    return mine, torch.where(mine > 0, (mine / other).log(), 0.0)


def test_opponents_are_paid_for_a_divergence():
    """Equal parts of eta times the divergence; the seat that decides starts anew.

    Seen to fail when they get nothing."""
    learner = regularized()
    seat = learner.games.current_player.astype(np.int64).copy()
    mine, ratio = policies(learner, learner.games.observation.copy(), learner.games.action_mask.copy())

    learner.step(0.0)

    expected = np.repeat(ETA * (mine * ratio).sum(dim=1).numpy()[:, None] / 2, 3, axis=1)
    expected[np.arange(len(seat)), seat] = 0.0
    assert expected.max() > 0.01
    assert np.allclose(learner.gained[:, :3], expected, atol=1e-5)


def test_targets_and_advantages_of_the_changed_game_by_hand():
    """Where a round ends, and at the decision before: without values, a target is what is still paid to the seat, less
    its own divergences.

    Seen to fail with either divergence added, without what opponents pay, and when an action's worth leaves out what
    comes after it."""
    learner = regularized()
    parts = []
    for _ in range(40):
        mine, _ = policies(learner, learner.games.observation, learner.games.action_mask)
        parts.append(learner.games.step(torch.multinomial(mine, 1).squeeze(1).numpy()))
    every = Transitions.concatenated(parts)
    every = every[np.argsort(every.game * 8 + every.seat, kind="stable")]
    (ends,) = np.nonzero(every.terminated[1:] & ~every.done[:-1] & (np.diff(every.game * 8 + every.seat) == 0))
    pairs = every[np.stack([ends, ends + 1], axis=1).ravel()]
    mine, ratio = policies(learner, pairs.observation, pairs.action_mask)
    chosen = torch.from_numpy(pairs.action)[:, None]
    log_prob = mine.gather(1, chosen).squeeze(1).log().numpy()
    gained = np.linspace(0.0, 1.0, len(pairs), dtype=np.float32)

    target, advantage, _ = learner.targets(pairs, log_prob, gained)

    paid, own = pairs.reward + gained, ETA * (mine * ratio).sum(dim=1).numpy()
    last = paid[1::2] - own[1::2]
    following = np.stack([last, np.zeros_like(last)], axis=1).ravel()
    assert len(ends) > 50
    assert np.allclose(target[1::2], last, atol=1e-4)
    assert np.allclose(target[::2], paid[::2] - own[::2] + last, atol=1e-4)
    worth = -ETA * ratio
    worth.scatter_add_(1, chosen, torch.from_numpy((paid + following) / np.exp(log_prob))[:, None].float())
    expected = worth - (mine * worth).sum(dim=1, keepdim=True)
    legal = torch.from_numpy(pairs.action_mask != 0)
    assert torch.allclose(advantage[legal], expected[legal], rtol=1e-3, atol=1e-3)
