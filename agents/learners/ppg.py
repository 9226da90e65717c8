"""Phasic policy gradient in self-play (PPG, arXiv:2009.04416).

A policy phase of `n_pi` rollouts trains the policy as PPO does. An auxiliary phase then trains the shared layers on the
values of all of these rollouts, while the policy is held in place.

Implementation details, beside those of `agents.learners.ppo`:

- It is the variant with a single network (section 3.6 of the paper). In the policy phase the gradient of the value
  stops at the layers that it shares with the policy; in the auxiliary phase it passes.
- So the value head is also the auxiliary head, and is trained in both phases. In the policy phase it is trained as
  often as the policy.
- The auxiliary loss is (V - target)^2 / 2 + `beta_clone` * KL(old policy, policy), over the legal actions. The old
  policy is that at the beginning of the auxiliary phase; the targets are those of the rollouts.
- Each of the `aux_epochs` goes through all kept decisions in a new order, in minibatches of about equal size.
- The auxiliary phase has an Adam of its own, with the same learning rate.
- Observations and masks are kept as bits.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from agents.learners.ppo import PPOConfig
from agents.learners.q_network import gradient_step
from agents.learners.rollout import Experience
from agents.learners.schedules import set_learning_rate
from agents.learners.self_play_ppo import SelfPlayPPO
from agents.learners.task import LearningTask
from agents.masked import kl_divergence, masked_log_softmax
from agents.network import ActorCritic
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.observation import NUM_FEATURES

Kept = dict[str, Tensor]
"""K decisions: `observation` (K, 80) and `legal` (K, 27) as bits in uint8, `target` (K,) float32, and `history`
(K, H, 3) int16 if the network reads it."""


@dataclass(frozen=True)
class PPGConfig(PPOConfig):
    """Hyperparameters of PPG, by the paper's names: E_pi is `update_epochs`."""

    TABLE: ClassVar[str] = "ppg"

    update_epochs: int = 1
    """Passes over each rollout in the policy phase."""
    n_pi: int = 8
    """Rollouts in a policy phase."""
    aux_epochs: int = 3
    """Passes over the decisions of all of these rollouts in an auxiliary phase (E_aux)."""
    beta_clone: float = 1.0
    """Weight of the divergence from the old policy in an auxiliary phase."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("n_pi", "aux_epochs"):
            self._check(1 <= getattr(self, name) <= 1000, name, "be from 1 to 1,000")
        self._check(0.0 <= self.beta_clone < inf, "beta_clone", "be at least 0 and finite")


class PPG(SelfPlayPPO):
    """See `agents.learners.self_play_ppo.SelfPlayPPO`.

    Raises:
        ValueError: the network has a privileged critic, which shares no layers with the policy.
    """

    Config = PPGConfig

    def __init__(self, task: LearningTask, seed: int, config: PPGConfig = PPGConfig()) -> None:
        if task.network.privileged:
            raise ValueError("network.privileged must be false for the learner ppg: its critic shares no layers")
        super().__init__(task, seed, config)
        self.config = config
        self.network.detach_value = True
        self.aux_optimizer = torch.optim.Adam(self.network.parameters(), config.learning_rate, eps=1e-5, fused=True)
        self.kept: list[Kept] = []

    def _learn(self, experience: Experience, progress: float) -> dict[str, float]:
        metrics = super()._learn(experience, progress)
        self.kept.append(_packed(experience))
        if len(self.kept) == self.config.n_pi:
            metrics |= self._auxiliary_phase(metrics["learning_rate"])
            self.kept = []
        return metrics

    def _auxiliary_phase(self, learning_rate: float) -> dict[str, float]:
        """Train the value with all layers on the kept decisions; return means of the metrics."""
        config, ppo = self.config, self.ppo
        set_learning_rate(self.aux_optimizer, learning_rate, learning_rate, 0.0)
        kept = {name: torch.cat([each[name] for each in self.kept]) for name in self.kept[0]}
        old = copy.deepcopy(self.network).requires_grad_(False)
        decisions = len(kept["target"])
        metrics: list[Tensor] = []
        for _ in range(config.aux_epochs):
            order = torch.randperm(decisions, generator=ppo.generator)
            for rows in order.chunk(max(1, round(decisions / config.minibatch_size))):
                value_loss, clone_kl = self._auxiliary_loss(old, {name: part[rows] for name, part in kept.items()})
                loss = 0.5 * value_loss + config.beta_clone * clone_kl
                gradient_step(self.aux_optimizer, self.network, loss, config.max_grad_norm)
                metrics.append(torch.stack([value_loss, clone_kl]).detach())
        return dict(zip(("aux_value_loss", "clone_kl"), torch.stack(metrics).mean(dim=0).tolist(), strict=True))

    def _auxiliary_loss(self, old: ActorCritic, kept: Kept) -> tuple[Tensor, Tensor]:
        """The squared error of the value, and the divergence from the old policy; both are means."""
        device = self.ppo.device
        history = kept.get("history")
        legal = _bits(kept["legal"], NUM_ACTIONS).view(torch.bool).to(device)
        inputs = [_bits(kept["observation"], NUM_FEATURES).to(device), None if history is None else history.to(device)]
        with self.ppo.autocast():
            self.network.detach_value = False
            logits, value = self.network(*inputs)
            self.network.detach_value = True
            old_logits, _ = old(*inputs)
        value_loss = (value.float() - kept["target"].to(device)).square().mean()
        old_log_probs, old_probs = masked_log_softmax(old_logits, legal)
        return value_loss, kl_divergence(old_log_probs, old_probs, masked_log_softmax(logits, legal)[0]).mean()

    # ---- Resuming ----

    def state_dict(self) -> dict[str, Any]:
        """See `Learner.state_dict`."""
        return super().state_dict() | {"aux_optimizer": self.aux_optimizer.state_dict(), "kept": self.kept}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See `Learner.load_state_dict`."""
        super().load_state_dict(state)
        self.aux_optimizer.load_state_dict(state["aux_optimizer"])
        self.kept = list(state["kept"])


def _packed(experience: Experience) -> Kept:
    """A copy of the decisions to learn from."""
    rows = experience.rows
    kept = {
        name: torch.from_numpy(np.packbits(part.index_select(0, rows).numpy(), axis=1))
        for name, part in (("observation", experience.observation), ("legal", experience.legal))
    }
    kept["target"] = experience.target.index_select(0, rows)
    return kept if experience.history is None else kept | {"history": experience.history.index_select(0, rows)}


def _bits(packed: Tensor, count: int) -> Tensor:
    return torch.from_numpy(np.unpackbits(packed.numpy(), axis=1, count=count))
