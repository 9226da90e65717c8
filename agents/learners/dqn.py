"""Double DQN in self-play (arXiv:1312.5602, arXiv:1509.06461), with masks.

One network plays all seats. It learns from the transitions of every seat, in which the next state is that seat's next
decision. So the game of the others is part of the environment, and no sign is turned.

Implementation details:

- The exploring policy draws evenly from the legal actions with probability epsilon, which falls in a straight line over
  the first part of the run.
- The target is r + gamma * Q_target(s', argmax over the legal a' of Q(s', a')) (equation 4 of arXiv:1509.06461).
  Illegal actions are never read. Where the round ended, the target is r.
- Transitions that end where a round was cut off are left out, since the legal actions are not known there.
- The loss is Huber's with threshold 1. Adam's epsilon is 1e-5; its learning rate falls in a straight line.
- The target network is copied from the online network every `target_every` gradient steps.
- Transitions are drawn evenly from the buffer; there are no priorities.
- Each new decision is followed by `replay_ratio` samples from the buffer, once `learning_starts` are in it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from agents.learners.behavior import behavior
from agents.learners.buffers import MAX_CAPACITY, ReplayBuffer
from agents.learners.q_network import (
    check_range,
    check_task,
    epsilon_greedy,
    gradient_step,
    greedy_policy,
    masked_argmax,
    value_of,
)
from agents.learners.schedules import exploration, set_learning_rate
from agents.learners.seat_steps import SeatSteps
from agents.learners.task import LearningTask
from agents.network import new_network
from agents.network_policy import NetworkPolicy


@dataclass(frozen=True)
class DQNConfig:
    """Hyperparameters of double DQN."""

    learning_rate: float = 1e-3
    """Adam's learning rate at the beginning."""
    learning_rate_end: float = 1e-4
    """The learning rate at the end; in between it falls in a straight line."""
    gamma: float = 0.97
    """Discount per decision of the same player. With 1, a player can draw cards in a circle, and the values of that
    circle are overestimated."""
    epsilon: float = 1.0
    """Probability of a random legal action at the beginning."""
    epsilon_end: float = 0.05
    """The probability after the share `epsilon_share` of the run, and from then on."""
    epsilon_share: float = 0.1
    """The share of the run over which epsilon falls, in a straight line."""
    capacity: int = 400_000
    """Transitions in the replay buffer."""
    learning_starts: int = 20_000
    """Transitions in the buffer before the first gradient step."""
    minibatch_size: int = 1024
    """Transitions per gradient step."""
    replay_ratio: float = 1.0
    """Transitions drawn from the buffer for each new decision."""
    target_every: int = 250
    """Gradient steps between two copies to the target network."""
    max_grad_norm: float = 10.0
    """Gradients with a larger norm are scaled down to this norm."""

    def __post_init__(self) -> None:
        shares = dict.fromkeys(("gamma", "epsilon", "epsilon_end", "epsilon_share"), (0.0, 1.0))
        check_range("dqn", self, **shares, learning_rate=(1e-12, inf), learning_rate_end=(0.0, inf))
        check_range("dqn", self, capacity=(1, MAX_CAPACITY), learning_starts=(1, MAX_CAPACITY), target_every=(1, inf))
        check_range("dqn", self, minibatch_size=(1, MAX_CAPACITY), replay_ratio=(1e-6, 1e3), max_grad_norm=(1e-12, inf))


class DQN:
    """See `agents.learners.learner.Learner`.

    Args:
        task: the games and the network; no league.
        seed: fixes the first weights and all random numbers.
        config: the hyperparameters.
    """

    Config = DQNConfig

    def __init__(self, task: LearningTask, seed: int, config: DQNConfig = DQNConfig()) -> None:
        check_task(task, "dqn")
        self.task, self.config = task, config
        self.network = new_network(task.network, seed)
        self.target = copy.deepcopy(self.network).requires_grad_(False)
        self.optimizer = torch.optim.Adam(self.network.parameters(), config.learning_rate, eps=1e-5, fused=True)
        self.generator = torch.Generator().manual_seed(seed)
        self.games = SeatSteps(task.game, seed, task.num_threads)
        self.buffer = ReplayBuffer(config.capacity)
        self.updates, self.owed = 0, 0.0  # gradient steps done, and samples not yet drawn
        self.metrics: Mapping[str, float] = {}

    def step(self, progress: float) -> int:
        """Play `num_steps` decisions in each game, then do the gradient steps that they pay for."""
        epsilon = self.begin_step(progress)
        for _ in range(self.task.game.num_steps):
            legal = torch.from_numpy(self.games.action_mask != 0)
            action = self.act(self.games.observation, legal, epsilon)
            transitions = self.games.step(action.numpy())
            self.buffer.add(transitions[~transitions.truncated])
        decisions = self.task.game.num_steps * self.task.game.num_envs
        rate = self.optimizer.param_groups[0]["lr"]
        self.metrics = {"epsilon": epsilon, "learning_rate": rate, **behavior(legal, action), **self.learn(decisions)}
        return decisions

    def begin_step(self, progress: float) -> float:
        """Set the learning rate; return epsilon."""
        config = self.config
        set_learning_rate(self.optimizer, config.learning_rate, config.learning_rate_end, progress)
        return exploration(config.epsilon, config.epsilon_end, config.epsilon_share, progress)

    @torch.inference_mode()
    def act(self, observation: np.ndarray[Any, Any], legal: Tensor, epsilon: float) -> Tensor:
        """Exploring actions, (B,)."""
        values, _ = self.network(torch.from_numpy(observation))
        return epsilon_greedy(values, legal, epsilon, self.generator)

    def learn(self, decisions: int) -> dict[str, float]:
        """Do the gradient steps for so many new decisions; return means of their metrics."""
        if len(self.buffer) < self.config.learning_starts:
            return {}
        self.owed += decisions * self.config.replay_ratio
        metrics: list[Tensor] = []
        while self.owed >= self.config.minibatch_size:
            self.owed -= self.config.minibatch_size
            metrics.append(self.update(self.buffer.sample(self.config.minibatch_size, self.generator)))
        if not metrics:
            return {}
        return dict(zip(("q_loss", "q_value", "grad_norm"), torch.stack(metrics).mean(dim=0).tolist(), strict=True))

    def update(self, sample: Mapping[str, Tensor]) -> Tensor:
        """One gradient step; return loss, mean value and norm of the gradient, (3,)."""
        target = self.targets(sample)
        values = value_of(self.network, sample["observation"], sample["action"])
        loss = nn.functional.smooth_l1_loss(values, target)
        norm = gradient_step(self.optimizer, self.network, loss, self.config.max_grad_norm)
        self.updates += 1
        if self.updates % self.config.target_every == 0:
            self.target.load_state_dict(self.network.state_dict())
        return torch.stack([loss.detach(), values.detach().mean(), norm])

    @torch.no_grad()
    def targets(self, sample: Mapping[str, Tensor]) -> Tensor:
        """The targets of double DQN, (B,)."""
        following = sample["next_observation"]
        best = masked_argmax(self.network(following)[0], sample["next_action_mask"])
        later = value_of(self.target, following, best)
        return sample["reward"] + self.config.gamma * torch.where(sample["terminated"], 0.0, later)

    def policy(self, name: str = "agent") -> NetworkPolicy:
        """A copy of the greedy policy."""
        return greedy_policy(self.network, name, self.task)

    # ---- Resuming ----

    def state_dict(self) -> dict[str, Any]:
        """See `Learner.state_dict`."""
        return {
            "network": self.network.state_dict(),
            "target": self.target.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "games": self.games.state_dict(),
            "buffer": self.buffer.state_dict(),
            "updates": self.updates,
            "owed": self.owed,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See `Learner.load_state_dict`."""
        self.network.load_state_dict(state["network"])
        self.target.load_state_dict(state["target"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"])
        self.games.load_state_dict(state["games"])
        self.buffer.load_state_dict(state["buffer"])
        self.updates, self.owed = state["updates"], state["owed"]
