"""Deep Monte-Carlo control in self-play (DouZero, arXiv:2106.06135).

One network plays all seats and estimates the return of each action. It learns from the returns of whole rounds, without
bootstrapping.

Implementation details:

- The exploring policy draws evenly from the legal actions with probability epsilon. It falls over the first part of the
  run, where DouZero's is always 0.01: a new network would draw cards for thousands of turns.
- The target of a decision is the sum of the seat's later rewards in the round, without discount. Decisions of rounds
  that were cut off are left out.
- The network has one output for each action, where DouZero gives an encoded action to the network.
- The loss is the squared error of the action taken. The optimizer is RMSprop with epsilon 1e-5, as in DouZero; its
  learning rate falls in a straight line.
- Each decision is learned from `update_epochs` times, soon after its round has ended; there is no replay buffer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import torch
from torch import Tensor

from agents.learners.behavior import behavior
from agents.learners.buffers import MAX_CAPACITY
from agents.learners.q_network import (
    check_range,
    check_task,
    epsilon_greedy,
    gradient_step,
    greedy_policy,
    value_of,
)
from agents.learners.schedules import exploration, set_learning_rate
from agents.learners.seat_steps import ReturnCollector, Returns, SeatSteps
from agents.learners.task import LearningTask
from agents.network import new_network
from agents.network_policy import NetworkPolicy


@dataclass(frozen=True)
class DMCConfig:
    """Hyperparameters of deep Monte-Carlo control."""

    learning_rate: float = 1e-3
    """RMSprop's learning rate at the beginning."""
    learning_rate_end: float = 1e-4
    """The learning rate at the end; in between it falls in a straight line."""
    epsilon: float = 1.0
    """Probability of a random legal action at the beginning."""
    epsilon_end: float = 0.02
    """The probability after the share `epsilon_share` of the run, and from then on."""
    epsilon_share: float = 0.1
    """The share of the run over which epsilon falls, in a straight line."""
    minibatch_size: int = 1024
    """Decisions per gradient step."""
    update_epochs: int = 1
    """How often each decision is learned from."""
    max_grad_norm: float = 10.0
    """Gradients with a larger norm are scaled down to this norm."""

    def __post_init__(self) -> None:
        check_range("dmc", self, learning_rate=(1e-12, inf), learning_rate_end=(0.0, inf), epsilon=(0.0, 1.0))
        check_range("dmc", self, epsilon_end=(0.0, 1.0), epsilon_share=(0.0, 1.0))
        check_range("dmc", self, minibatch_size=(1, MAX_CAPACITY), update_epochs=(1, 1000), max_grad_norm=(1e-12, inf))


class DMC:
    """See `agents.learners.learner.Learner`.

    Args:
        task: the games and the network; no league.
        seed: fixes the first weights and all random numbers.
        config: the hyperparameters.
    """

    Config = DMCConfig

    def __init__(self, task: LearningTask, seed: int, config: DMCConfig = DMCConfig()) -> None:
        check_task(task, "dmc")
        self.task, self.config = task, config
        self.network = new_network(task.network, seed)
        self.optimizer = torch.optim.RMSprop(self.network.parameters(), config.learning_rate, eps=1e-5)
        self.generator = torch.Generator().manual_seed(seed)
        self.games, self.collector = SeatSteps(task.game, seed, task.num_threads), ReturnCollector()
        self.metrics: Mapping[str, float] = {}

    def step(self, progress: float) -> int:
        """Play `num_steps` decisions in each game, then learn from those whose rounds have ended."""
        config = self.config
        rate = set_learning_rate(self.optimizer, config.learning_rate, config.learning_rate_end, progress)
        ended: list[Returns] = []
        epsilon = exploration(config.epsilon, config.epsilon_end, config.epsilon_share, progress)
        for _ in range(self.task.game.num_steps):
            legal = torch.from_numpy(self.games.action_mask != 0)
            with torch.inference_mode():
                values, _ = self.network(torch.from_numpy(self.games.observation))
                action = epsilon_greedy(values, legal, epsilon, self.generator)
            ended.append(self.collector.add(self.games.step(action.numpy())))
        self.metrics = {"epsilon": epsilon, "learning_rate": rate, **behavior(legal, action)}
        self.metrics |= self.learn(Returns.concatenated(ended))
        return self.task.game.num_steps * self.task.game.num_envs

    def learn(self, returns: Returns) -> dict[str, float]:
        """Do the gradient steps; return means of their metrics."""
        returns = returns[~returns.truncated]
        if not len(returns):
            return {}
        observation, action = torch.from_numpy(returns.observation), torch.from_numpy(returns.action)
        target = torch.from_numpy(returns.return_to_go)
        metrics: list[Tensor] = []
        for _ in range(self.config.update_epochs):
            order = torch.randperm(len(returns), generator=self.generator)
            for rows in order.chunk(max(1, round(len(returns) / self.config.minibatch_size))):
                values = value_of(self.network, observation[rows], action[rows])
                loss = (values - target[rows]).square().mean()
                norm = gradient_step(self.optimizer, self.network, loss, self.config.max_grad_norm)
                metrics.append(torch.stack([loss.detach(), values.detach().mean(), norm]))
        return dict(zip(("q_loss", "q_value", "grad_norm"), torch.stack(metrics).mean(dim=0).tolist(), strict=True))

    def policy(self, name: str = "agent") -> NetworkPolicy:
        """A copy of the greedy policy."""
        return greedy_policy(self.network, name, self.task)

    # ---- Resuming ----

    def state_dict(self) -> dict[str, Any]:
        """See `Learner.state_dict`."""
        return {
            "network": self.network.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "games": self.games.state_dict(),
            "collector": self.collector.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See `Learner.load_state_dict`."""
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"])
        self.games.load_state_dict(state["games"])
        self.collector.load_state_dict(state["collector"])
