"""Networks as action values: the logits of an `ActorCritic` are read as Q(observation, action)."""

from __future__ import annotations

import copy
from math import inf
from typing import Any

import torch
from torch import Tensor, nn

from agents.learners.task import LearningTask
from agents.network import ActorCritic
from agents.network_policy import NetworkPolicy


def masked_argmax(values: Tensor, legal: Tensor) -> Tensor:
    """The legal action with the highest value of each row, (B,) int64; values (B, A), legal (B, A) bool."""
    return torch.where(legal, values.float(), -inf).argmax(dim=1)


def epsilon_greedy(values: Tensor, legal: Tensor, epsilon: float, generator: torch.Generator) -> Tensor:
    """The best legal action of each row, or with probability `epsilon` one drawn evenly from the legal ones, (B,)."""
    keys = torch.rand(legal.shape, generator=generator)
    explores = torch.rand(len(legal), generator=generator) < epsilon
    return torch.where(explores, masked_argmax(keys, legal), masked_argmax(values, legal))


def value_of(network: nn.Module, observation: Tensor, action: Tensor) -> Tensor:
    """The value of one action of each row, (B,) float32."""
    values: Tensor = network(observation)[0]
    return values.gather(1, action[:, None]).squeeze(1).float()


def gradient_step(optimizer: torch.optim.Optimizer, network: nn.Module, loss: Tensor, max_grad_norm: float) -> Tensor:
    """One step down the loss; return the norm of the gradient before it is scaled down.

    Raises:
        FloatingPointError: the loss or the gradient is not finite; the network is as before.
    """
    optimizer.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    norm = nn.utils.clip_grad_norm_(network.parameters(), max_grad_norm)
    if not torch.isfinite(loss + norm):
        raise FloatingPointError(f"the loss is {loss.item()}, the norm of its gradient {norm.item()}")
    optimizer.step()
    return norm.detach()


def greedy_policy(network: ActorCritic, name: str, task: LearningTask) -> NetworkPolicy:
    """A copy of the network as the policy that takes the action of the highest value."""
    return NetworkPolicy(copy.deepcopy(network), name, greedy=True, reward=task.game.reward)


def check_task(task: LearningTask, learner: str) -> None:
    """ValueError if the task has what learners by single transitions don't support."""

    def need(fine: bool, setting: str, wanted: str, got: object) -> None:
        if not fine:
            raise ValueError(f"{setting} must be {wanted} for the learner {learner}, got {got!r}")

    need(not task.network.events, "network.kind", '"mlp" or "residual"', task.network.kind)
    need(not task.network.privileged, "network.privileged", "false", task.network.privileged)
    need(task.league.fraction == 0.0, "league.fraction", "0", task.league.fraction)
    need(task.device in ("auto", "cpu"), "device", '"cpu"', task.device)


def check_range(prefix: str, config: Any, **ranges: tuple[float, float]) -> None:
    """ValueError unless each of these settings is at least the first and at most the second number, and finite."""
    for name, (least, most) in ranges.items():
        value = getattr(config, name)
        if not (least <= value <= most) or value == inf:
            bound = f"from {least:,} to {most:,}" if most < inf else f"at least {least:,} and finite"
            raise ValueError(f"{prefix}.{name} must be {bound}, got {value!r}")
