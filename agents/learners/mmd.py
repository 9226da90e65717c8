"""Magnetic mirror descent in self-play (MMD, arXiv:2206.05825): PPO whose loss pulls the policy to a magnet.

Implementation details, beside those of `agents.learners.ppo`:

- The magnet is a lagged copy of the policy, which moves to the policy every `magnet_every` updates. With a magnet that
  stands still, MMD finds an equilibrium of the game with a bonus for nearness to the magnet; a magnet that moves takes
  the bonus away (section 4 of the paper).
- The loss adds `magnet_coef` * KL(policy, magnet), over the legal actions, computed exactly.
- A uniform magnet is the same as an entropy bonus. So the entropy bonus of PPO is a second, weaker magnet.
- The paper also penalizes the divergence from the policy before the update. Here PPO's clipped ratio has that role.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from agents.learners.ppo import PPOConfig
from agents.learners.self_play_ppo import SelfPlayPPO
from agents.learners.task import LearningTask


@dataclass(frozen=True)
class MMDConfig(PPOConfig):
    """Hyperparameters of MMD."""

    TABLE: ClassVar[str] = "mmd"

    magnet_coef: float = 0.05
    """Weight of the divergence from the policy to its magnet."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(self.magnet_coef > 0.0, "magnet_coef", "be above 0: without a magnet it is the learner ppo")


class MMD(SelfPlayPPO):
    """See `agents.learners.self_play_ppo.SelfPlayPPO`."""

    Config = MMDConfig

    def __init__(self, task: LearningTask, seed: int, config: MMDConfig = MMDConfig()) -> None:
        super().__init__(task, seed, config)
