"""Proximal policy optimization (arXiv:1707.06347) for self-play, to be read from top to bottom.

In games of hidden cards plain policy gradients do well if something keeps the policy from chasing its own tail: a
strong entropy bonus (arXiv:2502.08938), or a magnet, the divergence to a copy of itself that follows slowly
(arXiv:2206.05825).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from math import inf
from typing import Any

import torch
from torch import Tensor, nn

from agents.device import Precision, matmul_dtype
from agents.network import ActorCritic, chosen, kl_divergence, masked_log_softmax
from agents.rollout import Experience


@dataclass(frozen=True)
class PPOConfig:
    """Hyperparameters of the learner (arXiv:1707.06347)."""

    learning_rate: float = 2e-3
    """Of Adam, at the beginning."""
    learning_rate_end: float = 1e-4
    """At the end; in between it falls in a straight line."""
    clip: float = 0.2
    """How far the probability ratio may move from 1 (equation 7)."""
    gamma: float = 1.0
    """Discount per decision of the same player, not per turn of the table."""
    gae_lambda: float = 0.9
    """0 trusts the critic after one decision, 1 waits for the end (arXiv:1506.02438)."""
    epochs: int = 2
    """How often each decision is learned from."""
    minibatch: int = 2048
    """Decisions per gradient step."""
    entropy: float = 0.02
    """Weight of the entropy bonus at the beginning, in units of reward per nat."""
    entropy_end: float = 0.002
    """At the end; in between it falls in a straight line."""
    value: float = 0.5
    """Weight of the critic's squared error."""
    max_gradient: float = 0.5
    """Longer gradients are shortened to this norm."""
    magnet: float = 0.0
    """Weight of the divergence from the policy to its magnet; 0 for none (arXiv:2206.05825)."""
    magnet_every: int = 50
    """Updates after which the magnet becomes a copy of the policy."""
    precision: Precision = "auto"
    """Of matrix products: bfloat16 where the processor has instructions for it, else float32."""

    def __post_init__(self) -> None:
        def check(name: str, fine: bool, wanted: str) -> None:
            if not fine:
                raise ValueError(f"ppo.{name} must {wanted}, got {getattr(self, name)!r}")

        check("clip", 0.0 < self.clip < 1.0, "lie in (0, 1)")
        for name in ("gamma", "gae_lambda"):
            check(name, 0.0 <= getattr(self, name) <= 1.0, "lie in [0, 1]")
        for name in ("learning_rate", "max_gradient"):
            check(name, 0.0 < getattr(self, name) < inf, "be above 0 and finite")
        for name in ("learning_rate_end", "entropy", "entropy_end", "value", "magnet"):
            check(name, 0.0 <= getattr(self, name) < inf, "be at least 0 and finite")
        for name in ("epochs", "minibatch", "magnet_every"):
            check(name, getattr(self, name) >= 1, "be at least 1")
        choices = ("auto", "float32", "bfloat16")
        check("precision", self.precision in choices, f"be one of {', '.join(choices)}")


class PPO:
    """The learner: a network, its optimizer, and how the one follows from experience.

    Args:
        config: see `PPOConfig`.
        network: is moved to the device and learns.
        seed: of the order in which decisions are learned from.
    """

    def __init__(self, config: PPOConfig, network: ActorCritic, device: torch.device, seed: int) -> None:
        self.config, self.device = config, device
        self.network = network.to(device)
        self.magnet = copy.deepcopy(self.network).requires_grad_(False) if config.magnet else None
        self.optimizer = torch.optim.Adam(self.network.parameters(), config.learning_rate, eps=1e-5, fused=True)
        self.precision = matmul_dtype(config.precision, device)
        self.updates = 0
        self.generator = torch.Generator().manual_seed(seed)

    def autocast(self) -> AbstractContextManager[Any]:
        """Within it, matrix products have the precision of the config."""
        if self.precision == torch.float32:
            return nullcontext()
        return torch.autocast(self.device.type, self.precision)

    def update(self, seen: Experience, progress: float) -> dict[str, float]:
        """Learn from some decisions, at this point of the run in [0, 1); returns the means of what is worth watching.

        Raises:
            FloatingPointError: the loss is no number; the network is as before that step.
        """
        config = self.config
        rate = _between(config.learning_rate, config.learning_rate_end, progress)
        bonus = _between(config.entropy, config.entropy_end, progress)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        used = seen.advantage[seen.rows]
        mean, deviation = used.mean(), used.std(correction=0) + 1e-8
        watched: list[Tensor] = []
        for rows in self._minibatches(seen.rows):
            loss, metrics = self._loss(seen, rows, (seen.advantage[rows] - mean) / deviation, bonus)
            self.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            norm = nn.utils.clip_grad_norm_(self.network.parameters(), config.max_gradient)
            if not torch.isfinite(loss + norm):
                raise FloatingPointError(f"update {self.updates} is no number: {_named([*metrics, norm])}")
            self.optimizer.step()
            watched.append(torch.stack([*metrics, norm]).detach())
        self.updates += 1
        if self.magnet is not None and self.updates % config.magnet_every == 0:
            self.magnet.load_state_dict(self.network.state_dict())
        errors = (seen.target - seen.value)[seen.rows]
        unexplained = errors.var(correction=0) / seen.target[seen.rows].var(correction=0).clamp(min=1e-8)
        report = _named(list(torch.stack(watched).mean(dim=0)))
        return report | {"explained_variance": 1.0 - unexplained.item(), "learning_rate": rate, "entropy_bonus": bonus}

    def _minibatches(self, rows: Tensor) -> Iterator[Tensor]:
        """The decisions in a new order for each epoch, in parts of about equal size."""
        for _ in range(self.config.epochs):
            order = rows[torch.randperm(len(rows), generator=self.generator)]
            yield from order.chunk(max(1, round(len(rows) / self.config.minibatch)))

    def _loss(self, seen: Experience, rows: Tensor, advantage: Tensor, bonus: float) -> tuple[Tensor, list[Tensor]]:
        config, device = self.config, self.device
        # `index_select` copies whole rows, thirty times as fast as indexing with brackets.
        legal, action, old = (
            part.index_select(0, rows).to(device) for part in (seen.legal, seen.action, seen.log_prob)
        )
        inputs = [
            None if part is None else part.index_select(0, rows).to(device)
            for part in (seen.observation, seen.history, seen.hidden)
        ]
        with self.autocast():
            logits, value = self.network(*inputs)
        log_prob, spread = chosen(logits, legal, action)
        log_ratio = log_prob - old
        ratio = log_ratio.exp()
        advantage = advantage.to(device)
        clipped = ratio.clamp(1.0 - config.clip, 1.0 + config.clip)
        policy_loss = -torch.minimum(ratio * advantage, clipped * advantage).mean()
        value_loss = (value.float() - seen.target[rows].to(device)).square().mean()
        spread = spread.mean()
        loss = policy_loss + config.value * value_loss - bonus * spread
        pull = torch.zeros((), device=device)
        if self.magnet is not None:
            with torch.no_grad(), self.autocast():
                magnet_logits, _ = self.magnet(*inputs)
            log_probs, probs = masked_log_softmax(logits, legal)
            pull = kl_divergence(log_probs, probs, masked_log_softmax(magnet_logits, legal)[0]).mean()
            loss = loss + config.magnet * pull
        # The divergence from the policy that has acted, by its third estimator in joschu.net/blog/kl-approx.html.
        moved = (ratio - 1.0 - log_ratio).mean()
        outside = ((ratio - 1.0).abs() > config.clip).float().mean()
        return loss, [policy_loss, value_loss, spread, moved, outside, pull]


METRICS = ("policy_loss", "value_loss", "entropy", "kl", "clip_fraction", "magnet_kl", "gradient_norm")


def _named(values: list[Tensor]) -> dict[str, float]:
    return {name: value.item() for name, value in zip(METRICS, values, strict=True)}


def _between(start: float, end: float, progress: float) -> float:
    return start + (end - start) * progress
