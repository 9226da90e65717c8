"""Neural fictitious self-play (arXiv:1603.01121).

Each seat plays by its best response, a double DQN (`agents.learners.dqn`), or by the average policy, a classifier of
the actions that best responses have taken so far. The average policy is what is learned in the end.

Implementation details:

- One pair of networks plays all seats. Each seat of each round draws which of the two it plays by: the best response
  with probability `anticipatory` (section 4.1 of the paper).
- The transitions of all seats go to the replay buffer of the best response, which learns off-policy. Decisions of
  seats that play by the best response go to a reservoir of all that were ever taken, exploring ones included.
- The average policy learns by cross-entropy over the legal actions.
- Both networks do their gradient steps in proportion to the new decisions, as in `agents.learners.dqn`.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
import torch
from torch import Tensor

from agents.learners.behavior import behavior
from agents.learners.buffers import MAX_CAPACITY, ReservoirBuffer
from agents.learners.dqn import DQN, DQNConfig
from agents.learners.q_network import check_range, check_task, gradient_step
from agents.learners.task import LearningTask
from agents.masked import log_prob_and_entropy, masked_softmax, sample
from agents.network import new_network
from agents.network_policy import NetworkPolicy
from uno_flex_env.rules import MAX_PLAYERS
from uno_flex_env.seeding import derived_seed


@dataclass(frozen=True)
class NFSPConfig:
    """Hyperparameters of NFSP."""

    anticipatory: float = 0.1
    """Probability that a seat plays a round by its best response (eta in the paper)."""
    learning_rate: float = 1e-3
    """Adam's learning rate of the average policy."""
    capacity: int = 2_000_000
    """Decisions in the reservoir."""
    learning_starts: int = 2_000
    """Decisions in the reservoir before the first gradient step of the average policy."""
    minibatch_size: int = 1024
    """Decisions per gradient step of the average policy."""
    reservoir_ratio: float = 0.5
    """Decisions drawn from the reservoir for each new decision."""
    max_grad_norm: float = 1.0
    """Gradients of the average policy with a larger norm are scaled down to this norm."""
    dqn: DQNConfig = field(default_factory=DQNConfig)
    """The best response."""

    def __post_init__(self) -> None:
        check_range("nfsp", self, anticipatory=(0.0, 1.0), learning_rate=(1e-12, inf), capacity=(1, MAX_CAPACITY))
        check_range("nfsp", self, learning_starts=(1, MAX_CAPACITY), minibatch_size=(1, MAX_CAPACITY))
        check_range("nfsp", self, reservoir_ratio=(1e-6, 1e3), max_grad_norm=(1e-12, inf))


class NFSP:
    """See `agents.learners.learner.Learner`.

    Args:
        task: the games and the network, which both roles have; no league.
        seed: fixes the first weights and all random numbers.
        config: the hyperparameters.
    """

    Config = NFSPConfig

    def __init__(self, task: LearningTask, seed: int, config: NFSPConfig = NFSPConfig()) -> None:
        check_task(task, "nfsp")
        self.task, self.config = task, config
        self.best_response = DQN(task, seed, config.dqn)
        self.network = new_network(task.network, derived_seed(seed, 0))  # the average policy
        self.optimizer = torch.optim.Adam(self.network.parameters(), config.learning_rate, eps=1e-5, fused=True)
        self.generator = torch.Generator().manual_seed(derived_seed(seed, 1) >> 1)
        self.reservoir = ReservoirBuffer(config.capacity)
        self.owed = 0.0
        self.responds = self._draw_roles(np.ones(task.game.num_envs, np.bool_), None)
        self.metrics: Mapping[str, float] = {}

    def _draw_roles(self, games: np.ndarray[Any, Any], roles: Tensor | None) -> Tensor:
        """Draw which seats play these games by the best response, (N, 8) bool; other games keep their roles."""
        drawn = torch.rand((len(games), MAX_PLAYERS), generator=self.generator) < self.config.anticipatory
        return drawn if roles is None else torch.where(torch.from_numpy(games)[:, None], drawn, roles)

    def step(self, progress: float) -> int:
        """Play `num_steps` decisions in each game, then do the gradient steps that they pay for."""
        games, config = self.best_response.games, self.config
        epsilon = self.best_response.begin_step(progress)
        for _ in range(self.task.game.num_steps):
            legal = torch.from_numpy(games.action_mask != 0)
            seat = torch.from_numpy(games.current_player).long()
            responds = self.responds.gather(1, seat[:, None]).squeeze(1)
            action = self._act(games.observation, legal, responds, epsilon)
            rows = responds.numpy()
            observation, mask = games.observation[rows], games.action_mask[rows]
            self.reservoir.add(observation, mask, action.numpy()[rows], self.generator)
            transitions = games.step(action.numpy())
            self.best_response.buffer.add(transitions[~transitions.truncated])
            self.responds = self._draw_roles(games.ended, self.responds)
        decisions = self.task.game.num_steps * self.task.game.num_envs
        losses = self.best_response.learn(decisions) | self._learn(decisions)
        self.metrics = {"epsilon": epsilon, "learning_rate": config.learning_rate, **behavior(legal, action), **losses}
        return decisions

    @torch.inference_mode()
    def _act(self, observation: np.ndarray[Any, Any], legal: Tensor, responds: Tensor, epsilon: float) -> Tensor:
        action = torch.empty(len(legal), dtype=torch.int64)
        rows = responds.numpy()
        if rows.any():
            action[responds] = self.best_response.act(observation[rows], legal[responds], epsilon)
        if not rows.all():
            logits, _ = self.network(torch.from_numpy(observation[~rows]))
            uniform = torch.rand(len(logits), generator=self.generator)
            action[~responds] = sample(masked_softmax(logits, legal[~responds]), uniform)
        return action

    def _learn(self, decisions: int) -> dict[str, float]:
        """Do the gradient steps of the average policy for so many new decisions; return means of their metrics."""
        config = self.config
        if len(self.reservoir) < config.learning_starts:
            return {}
        self.owed += decisions * config.reservoir_ratio
        metrics: list[Tensor] = []
        while self.owed >= config.minibatch_size:
            self.owed -= config.minibatch_size
            drawn = self.reservoir.sample(config.minibatch_size, self.generator)
            logits, _ = self.network(drawn["observation"])
            log_prob, entropies = log_prob_and_entropy(logits, drawn["action_mask"], drawn["action"])
            loss = -log_prob.mean()
            gradient_step(self.optimizer, self.network, loss, config.max_grad_norm)
            metrics.append(torch.stack([loss.detach(), entropies.detach().mean()]))
        if not metrics:
            return {}
        return dict(zip(("policy_loss", "entropy"), torch.stack(metrics).mean(dim=0).tolist(), strict=True))

    def policy(self, name: str = "agent") -> NetworkPolicy:
        """A copy of the average policy, which samples its actions."""
        return NetworkPolicy(copy.deepcopy(self.network), name, reward=self.task.game.reward)

    # ---- Resuming ----

    def state_dict(self) -> dict[str, Any]:
        """See `Learner.state_dict`."""
        return {
            "best_response": self.best_response.state_dict(),
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "reservoir": self.reservoir.state_dict(),
            "responds": self.responds,
            "owed": self.owed,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See `Learner.load_state_dict`."""
        self.best_response.load_state_dict(state["best_response"])
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"])
        self.reservoir.load_state_dict(state["reservoir"])
        self.responds, self.owed = state["responds"], state["owed"]
