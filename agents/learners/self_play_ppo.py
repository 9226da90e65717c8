"""PPO in self-play as a learner: games, league and update of `agents.learners.ppo` put together."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping
from typing import Any

import torch

from agents.device import choose_device
from agents.learners.actor_critic_config import ActorCriticConfig
from agents.learners.behavior import behavior
from agents.learners.league import League
from agents.learners.ppo import PPO, PPOConfig
from agents.learners.rollout import Experience, Rollout
from agents.learners.snapshots import league_state, restore_league
from agents.learners.task import LearningTask
from agents.network import ActorCritic, new_network
from agents.network_policy import NetworkPolicy


class SelfPlayPPO:
    """See `agents.learners.learner.Learner`.

    Args:
        task: the games, the network and the league.
        seed: fixes the first weights and all random numbers.
        config: the hyperparameters.

    Attributes:
        decisions: how many decisions it has learned from.
    """

    Config: type[ActorCriticConfig] = PPOConfig

    def __init__(self, task: LearningTask, seed: int, config: PPOConfig = PPOConfig()) -> None:  # noqa: B008 (frozen)
        self.task = task
        network = new_network(task.network, seed)
        self.league = League(task.league, seed)
        self.ppo = PPO(config, network, choose_device(task.device), seed)
        self.rollout = Rollout(task.game, network, self.league, seed, task.num_threads)
        self.decisions = 0
        self.metrics: Mapping[str, float] = {}

    @property
    def network(self) -> ActorCritic:
        """The network that learns."""
        return self.ppo.network

    def load_weights(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Replace the random first weights."""
        self.ppo.network.load_state_dict(weights)
        if self.ppo.magnet is not None:
            self.ppo.magnet.load_state_dict(weights)

    def step(self, progress: float) -> int:
        """Collect one rollout and do one update."""
        began = time.perf_counter()
        experience = self._collect()
        while not len(experience.rows):  # a short rollout of a large table: no player has decided twice
            experience = self._collect()
        metrics = self._learn(experience, progress)
        seconds = time.perf_counter() - began
        sample = experience.rows[::8]
        metrics |= behavior(experience.legal[sample], experience.action[sample])
        metrics["game_length"] = self.rollout.game_length
        metrics["games_share"] = self.rollout.take_seconds() / seconds
        self.metrics = metrics
        before, every = self.decisions, self.task.league.every
        self.decisions += len(experience.rows)
        if self.task.league.snapshots and self.decisions // every > before // every:
            self.league.add(self.policy(f"{self.league.taken:05}"))
        return len(experience.rows)

    def _collect(self) -> Experience:
        config = self.ppo.config
        with self.ppo.autocast():
            return self.rollout.collect(self.ppo.network, self.ppo.device, config.gamma, config.gae_lambda)

    def _learn(self, experience: Experience, progress: float) -> dict[str, float]:
        """Do the update; return its metrics."""
        return self.ppo.update(experience, progress)

    def policy(self, name: str = "agent") -> NetworkPolicy:
        """A copy of the policy, which samples its actions."""
        return NetworkPolicy(copy.deepcopy(self.ppo.network).cpu(), name, reward=self.task.game.reward)

    # ---- Resuming ----

    def state_dict(self) -> dict[str, Any]:
        """See `Learner.state_dict`."""
        magnet = self.ppo.magnet
        return {
            "decisions": self.decisions,
            "updates": self.ppo.updates,
            "network": self.ppo.network.state_dict(),
            "magnet": None if magnet is None else magnet.state_dict(),
            "optimizer": self.ppo.optimizer.state_dict(),
            "generator": self.ppo.generator.get_state(),
            "league": league_state(self.league),
            "rollout": self.rollout.state(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See `Learner.load_state_dict`."""
        self.decisions, self.ppo.updates = state["decisions"], state["updates"]
        self.ppo.network.load_state_dict(state["network"])
        if self.ppo.magnet is not None:
            self.ppo.magnet.load_state_dict(state["magnet"])
        self.ppo.optimizer.load_state_dict(state["optimizer"])
        self.ppo.generator.set_state(state["generator"])
        restore_league(self.league, state["league"], self.policy)
        self.rollout.restore(state["rollout"])
