"""Advantage actor-critic in self-play (A2C, arXiv:1602.01783 without the asynchronous threads).

A2C is PPO with one gradient step for each rollout (arXiv:2205.09123): the probability ratio is 1, and nothing is
clipped.

Implementation details, beside those of `agents.learners.ppo`:

- A rollout has `n_step` decisions of each player, on average. The target of a decision is the n-step return: the
  rewards until the player's last decision in the rollout, plus the critic's value there. This is generalized
  advantage estimation with lambda 1.
- The optimizer is Adam, where the paper has RMSprop.
- Advantages are normalized over the rollout, where the paper takes them as they are.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, fields, replace
from typing import ClassVar

from agents.learners.actor_critic_config import ActorCriticConfig
from agents.learners.ppo import PPOConfig
from agents.learners.self_play_ppo import SelfPlayPPO
from agents.learners.task import LearningTask


@dataclass(frozen=True)
class A2CConfig(ActorCriticConfig):
    """Hyperparameters of A2C."""

    TABLE: ClassVar[str] = "a2c"

    n_step: int = 5
    """Decisions of each player in a rollout, on average. A2C uses this in place of `game.num_steps`."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(1 <= self.n_step <= 10_000, "n_step", "be from 1 to 10,000")

    def as_ppo(self) -> PPOConfig:
        """The settings with which PPO is A2C."""
        shared = {field.name: getattr(self, field.name) for field in fields(ActorCriticConfig)}
        return PPOConfig(**shared, gae_lambda=1.0, update_epochs=1, minibatch_size=sys.maxsize)


class A2C(SelfPlayPPO):
    """See `agents.learners.self_play_ppo.SelfPlayPPO`."""

    Config = A2CConfig

    def __init__(self, task: LearningTask, seed: int, config: A2CConfig = A2CConfig()) -> None:
        steps = config.n_step * max(task.game.players)
        super().__init__(replace(task, game=replace(task.game, num_steps=steps)), seed, config.as_ppo())
