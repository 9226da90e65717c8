"""Proximal policy optimization (arXiv:1707.06347) for self-play, to be read from top to bottom.

In games with hidden cards, plain policy gradients in self-play tend to cycle. Two remedies are a strong entropy bonus
(arXiv:2502.08938) and a magnet: the loss penalizes the divergence from an older copy of the policy (arXiv:2206.05825).

Implementation details, next to "The 37 Implementation Details of Proximal Policy Optimization" (Huang et al., ICLR Blog
Track 2022, here "37") and "What Matters In On-Policy Reinforcement Learning?" (Andrychowicz et al., arXiv:2006.05990):

- Adam's epsilon is 1e-5 (37: core detail 3).
- The learning rate falls in a straight line (37: core detail 4), and so does the weight of the entropy bonus.
- Advantages are estimated for each seat on its own decisions (`agents.learners.rollout.advantages`; 37: core detail 5).
- Advantages are normalized once over the whole rollout, not in each minibatch (37: core detail 7; arXiv:2006.05990
  finds little difference).
- Each epoch goes through the rollout in a new order, in minibatches of about equal size (37: core detail 6).
- The value loss is the plain squared error. It is not clipped (37: core detail 9; arXiv:2006.05990 finds that clipping
  hurts), and it has the factor `value_coef` alone, without another 1/2.
- The entropy is that of the distribution over the legal actions, computed exactly.
- Gradients are scaled down to a norm of at most `max_grad_norm` over all parameters (37: core detail 11).
- The weights of both heads are orthogonal with gain 0.01, their biases 0 (`agents.network.ActorCritic`; 37: core detail
  2, with gain 1 for the value; arXiv:2006.05990 recommends a small last layer of the policy). All other layers start
  as torch makes them.
- Policy and value share their layers, unless the critic is privileged (37: core detail 13).
- Logits of illegal actions become -1e38 before the softmax (`agents.masked`), so that they get neither probability nor
  gradient (arXiv:2006.14171).
- `approx_kl` is the third estimator in joschu.net/blog/kl-approx.html (37: core detail 12). It never stops an update.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from agents.device import matmul_dtype
from agents.learners.actor_critic_config import ActorCriticConfig
from agents.learners.rollout import Experience
from agents.learners.schedules import between, set_learning_rate
from agents.masked import kl_divergence, log_prob_and_entropy, masked_log_softmax
from agents.network import ActorCritic


@dataclass(frozen=True)
class PPOConfig(ActorCriticConfig):
    """Hyperparameters of PPO (arXiv:1707.06347)."""

    TABLE: ClassVar[str] = "ppo"

    clip_coef: float = 0.2
    """How far the probability ratio may move from 1 (equation 7 of the paper)."""
    gae_lambda: float = 0.9
    """Lambda of generalized advantage estimation: 0 trusts the critic after one decision, 1 waits for the end of the
    game (arXiv:1506.02438)."""
    update_epochs: int = 2
    """Passes over each rollout."""
    minibatch_size: int = 2048
    """Decisions per gradient step."""
    magnet_coef: float = 0.0
    """Weight of the divergence from the policy to its magnet; 0 for no magnet (arXiv:2206.05825)."""
    magnet_every: int = 50
    """Copy the policy to the magnet every so many updates."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(0.0 < self.clip_coef < 1.0, "clip_coef", "lie in (0, 1)")
        self._check(0.0 <= self.gae_lambda <= 1.0, "gae_lambda", "lie in [0, 1]")
        self._check(0.0 <= self.magnet_coef < inf, "magnet_coef", "be at least 0 and finite")
        for name in ("update_epochs", "minibatch_size", "magnet_every"):
            self._check(getattr(self, name) >= 1, name, "be at least 1")


class PPO:
    """The learner: a network, its optimizer, and the update of the network by experience.

    Args:
        config: see `PPOConfig`.
        network: the network that learns; it is moved to the device.
        device: where it learns.
        seed: fixes the order of the decisions in each epoch.
    """

    def __init__(self, config: PPOConfig, network: ActorCritic, device: torch.device, seed: int) -> None:
        self.config, self.device = config, device
        self.network = network.to(device)
        self.magnet = copy.deepcopy(self.network).requires_grad_(False) if config.magnet_coef else None
        self.optimizer = torch.optim.Adam(self.network.parameters(), config.learning_rate, eps=1e-5, fused=True)
        self.precision = matmul_dtype(config.precision, device)
        self.updates = 0
        self.generator = torch.Generator().manual_seed(seed)

    def autocast(self) -> AbstractContextManager[Any]:
        """A context in which matrix products have the precision of the config."""
        if self.precision == torch.float32:
            return nullcontext()
        return torch.autocast(self.device.type, self.precision)

    def update(self, experience: Experience, progress: float) -> dict[str, float]:
        """Do all gradient steps on one rollout.

        Args:
            experience: the decisions of the rollout.
            progress: the share of the run that is done, in [0, 1).

        Returns:
            Metrics by name: those of `_loss` and `grad_norm`, the norm before it is scaled down, as means over the
            minibatches; `explained_variance` of the returns by the critic; `learning_rate` and `entropy_coef`.

        Raises:
            FloatingPointError: the loss is not finite; the network is as before that step.
        """
        config = self.config
        rates = config.learning_rate, config.learning_rate_end
        learning_rate = set_learning_rate(self.optimizer, *rates, progress)
        entropy_coef = between(config.entropy_coef, config.entropy_coef_end, progress)
        used = experience.advantage[experience.rows]
        mean, deviation = used.mean(), used.std(correction=0) + 1e-8
        minibatches: list[dict[str, Tensor]] = []
        for rows in self._minibatches(experience.rows):
            advantage = (experience.advantage[rows] - mean) / deviation
            loss, metrics = self._loss(experience, rows, advantage, entropy_coef)
            self.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            metrics["grad_norm"] = nn.utils.clip_grad_norm_(self.network.parameters(), config.max_grad_norm)
            if not torch.isfinite(loss + metrics["grad_norm"]):
                raise FloatingPointError(f"update {self.updates} is no number: {_means([metrics])}")
            self.optimizer.step()
            minibatches.append({name: value.detach() for name, value in metrics.items()})
        self.updates += 1
        if self.magnet is not None and self.updates % config.magnet_every == 0:
            self.magnet.load_state_dict(self.network.state_dict())
        return _means(minibatches) | {
            "explained_variance": _explained_variance(experience),
            "learning_rate": learning_rate,
            "entropy_coef": entropy_coef,
        }

    def _minibatches(self, rows: Tensor) -> Iterator[Tensor]:
        """The decisions in a new order for each epoch, in parts of about equal size."""
        for _ in range(self.config.update_epochs):
            order = rows[torch.randperm(len(rows), generator=self.generator)]
            yield from order.chunk(max(1, round(len(rows) / self.config.minibatch_size)))

    def _loss(
        self, experience: Experience, rows: Tensor, advantage: Tensor, entropy_coef: float
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of a minibatch of B decisions, with its parts and other metrics by name; all are scalars.

        Args:
            rows: (B,) int64, the decisions.
            advantage: (B,) float32, normalized.
        """
        config, device = self.config, self.device

        def pick(part: Tensor) -> Tensor:  # `index_select` copies whole rows, which is faster than brackets
            return part.index_select(0, rows).to(device)

        legal, action = pick(experience.legal), pick(experience.action)  # (B, 216) bool, (B,) int64
        inputs = [
            None if part is None else pick(part)
            for part in (experience.observation, experience.history, experience.hidden)
        ]
        with self.autocast():
            logits, value = self.network(*inputs)  # (B, 216), (B,)

        # The policy: clipped surrogate objective (equation 7).
        log_prob, entropies = log_prob_and_entropy(logits, legal, action)  # (B,) float32 each
        log_ratio = log_prob - pick(experience.log_prob)
        ratio = log_ratio.exp()  # (B,)
        advantage = advantage.to(device)
        clipped = ratio.clamp(1.0 - config.clip_coef, 1.0 + config.clip_coef)
        policy_loss = -torch.minimum(ratio * advantage, clipped * advantage).mean()

        # The critic: squared error to the lambda-return.
        value_loss = (value.float() - experience.target[rows].to(device)).square().mean()

        entropy = entropies.mean()
        loss = policy_loss + config.value_coef * value_loss - entropy_coef * entropy

        magnet_kl = torch.zeros((), device=device)
        if self.magnet is not None:
            with torch.no_grad(), self.autocast():
                magnet_logits, _ = self.magnet(*inputs)  # (B, 216)
            log_probs, probs = masked_log_softmax(logits, legal)  # (B, 216) each
            magnet_kl = kl_divergence(log_probs, probs, masked_log_softmax(magnet_logits, legal)[0]).mean()
            loss = loss + config.magnet_coef * magnet_kl

        return loss, {
            "policy_loss": policy_loss,
            "value_loss": value_loss,
            "entropy": entropy,
            "approx_kl": (ratio - 1.0 - log_ratio).mean(),
            "clip_fraction": ((ratio - 1.0).abs() > config.clip_coef).float().mean(),
            "magnet_kl": magnet_kl,
        }


def _means(metrics: list[dict[str, Tensor]]) -> dict[str, float]:
    """The mean of each metric over the minibatches."""
    means = torch.stack([torch.stack(list(each.values())) for each in metrics]).mean(dim=0).tolist()
    return dict(zip(metrics[0], means, strict=True))


def _explained_variance(experience: Experience) -> float:
    """The share of the returns' variance that the critic explains; 1 if it is always right."""
    target = experience.target[experience.rows]
    errors = (experience.target - experience.value)[experience.rows]
    unexplained = errors.var(correction=0) / target.var(correction=0).clamp(min=1e-8)
    return 1.0 - unexplained.item()
