"""Regularized Nash dynamics in self-play (R-NaD, the algorithm of DeepNash, arXiv:2206.15378).

The game is changed so that a policy is paid for being near a regularization policy. In the changed game, the dynamics
settle. Then the policy that has been found becomes the next regularization policy, and so on. One network plays all
seats.

Implementation details:

- Reward transformation: at each of its decisions, a seat pays eta * KL(policy, regularization policy), and each
  opponent gets an equal part of that. So the game stays zero-sum with any number of players; with two it is that of the
  paper, which has guarantees for two players alone. As in OpenSpiel's code, the divergence is computed over all
  legal actions, where the formula of the paper has the log-ratio of the action taken.
- An outer iteration takes `iteration` decisions. In its first half, the regularization moves in a straight line from
  the last regularization policy but one to the last one (alpha of the paper, in log-probabilities). At its end, the
  target network becomes the regularization policy.
- Values are learned by v-trace on the decisions of each seat, with values of the target network. The importance weights
  are those of the seat's own action; the paper also has the opponents' actions in between. Most weights are 1, since
  all decisions but those still open are learned from at once.
- The policy learns by NeuRD (arXiv:1906.00190): the gradient by a logit is the action's advantage. The advantage is
  clipped, and a logit that is `beta` above or below the mean of the legal ones is not pushed further. Where the action
  taken was unlikely, its weight 1 / probability is at most `max_weight`; the paper has no such bound.
- The target network is an exponential moving average of the online network.
- Adam has no momentum (its first beta is 0), as in the paper. The learning rate falls in a straight line.
- The policy that is handed out samples from the online network. The paper also drops unlikely actions after training;
  that is left out here.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor

from agents.device import Precision, matmul_dtype
from agents.learners.behavior import behavior
from agents.learners.buffers import MAX_CAPACITY
from agents.learners.q_network import check_range, check_task, gradient_step
from agents.learners.rnad_targets import Floats, neurd_loss, v_trace
from agents.learners.schedules import set_learning_rate
from agents.learners.seat_steps import SeatSteps, Transitions
from agents.learners.task import LearningTask
from agents.masked import masked_log_softmax, sample
from agents.network import ActorCritic, new_network
from agents.network_policy import NetworkPolicy
from uno_flex_env.rules import MAX_PLAYERS

ROWS = 4096
"""Decisions in one pass of a network that does not learn."""


@dataclass(frozen=True)
class RNaDConfig:
    """Hyperparameters of R-NaD."""

    learning_rate: float = 3e-4
    """Adam's learning rate at the beginning."""
    learning_rate_end: float = 3e-5
    """The learning rate at the end; in between it falls in a straight line."""
    eta: float = 0.02
    """Weight of the divergence from the regularization policy, in units of reward per nat."""
    iteration: int = 500_000
    """Decisions in an outer iteration (Delta m in the paper, there in gradient steps)."""
    vtrace_lambda: float = 0.95
    """0 trusts the critic after one decision, 1 uses all decisions that follow."""
    beta: float = 4.0
    """How far a logit may be pushed from the mean of the legal ones."""
    clip: float = 10.0
    """Advantages are clipped to this size."""
    max_weight: float = 5.0
    """The most that 1 / (probability of the action taken) counts."""
    target_rate: float = 0.01
    """How far a gradient step moves the target network towards the online network, as a share."""
    minibatch_size: int = 512
    """Decisions per gradient step."""
    max_grad_norm: float = 10.0
    """Gradients with a larger norm are scaled down to this norm."""
    precision: Precision = "auto"
    """Number type of matrix products. auto: bfloat16 if the processor has instructions for it, else float32."""

    def __post_init__(self) -> None:
        positive = dict.fromkeys(("learning_rate", "beta", "clip", "max_grad_norm"), (1e-12, inf))
        check_range("rnad", self, **positive, learning_rate_end=(0.0, inf), eta=(0.0, inf), max_weight=(1.0, inf))
        check_range("rnad", self, vtrace_lambda=(0.0, 1.0), target_rate=(1e-12, 1.0))
        if self.precision not in get_args(Precision):
            raise ValueError(f"rnad.precision must be one of {', '.join(get_args(Precision))}, got {self.precision!r}")
        check_range("rnad", self, iteration=(1, inf), minibatch_size=(1, MAX_CAPACITY))


class RNaD:
    """See `agents.learners.learner.Learner`.

    Args:
        task: the games and the network; no league.
        seed: fixes the first weights and all random numbers.
        config: the hyperparameters.

    Attributes:
        network, target: the online network and its moving average.
        regularization: the networks of the last regularization policy and of the one before.
        decisions: how many decisions it has taken.
    """

    Config = RNaDConfig

    def __init__(self, task: LearningTask, seed: int, config: RNaDConfig = RNaDConfig()) -> None:
        check_task(task, "rnad")
        self.task, self.config = task, config
        self.network = new_network(task.network, seed)
        self.target = copy.deepcopy(self.network).requires_grad_(False)
        self.regularization = [copy.deepcopy(self.target) for _ in range(2)]
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), config.learning_rate, betas=(0.0, 0.999), eps=1e-8, fused=True
        )
        self.precision = matmul_dtype(config.precision, torch.device("cpu"))
        self.generator = torch.Generator().manual_seed(seed)
        self.games = SeatSteps(task.game, seed, task.num_threads)
        # Of the last decision of each seat, (N, 8): the log-probability of its action, and what opponents have paid to
        # the seat since then.
        self.log_prob, self.gained = np.zeros((2, task.game.num_envs, MAX_PLAYERS), np.float32)
        self.decisions = 0
        self.metrics: Mapping[str, float] = {}

    def step(self, progress: float) -> int:
        """Play `num_steps` decisions in each game, then learn from those whose seats have decided again."""
        game, config = self.task.game, self.config
        rate = set_learning_rate(self.optimizer, config.learning_rate, config.learning_rate_end, progress)
        parts: list[Transitions] = []
        extra: list[Floats] = []
        for _ in range(game.num_steps):
            legal = torch.from_numpy(self.games.action_mask != 0)
            action = self._act(legal)
            done = self.games.step(action.numpy())
            parts.append(done)
            extra.append(np.stack([self.log_prob[done.game, done.seat], self.gained[done.game, done.seat]]))
        losses = self.learn(Transitions.concatenated(parts), *np.concatenate(extra, axis=1))
        taken = game.num_steps * game.num_envs
        self.metrics = {"learning_rate": rate, **behavior(legal, action), **losses}
        before, self.decisions = self.decisions, self.decisions + taken
        if self.decisions // config.iteration > before // config.iteration:
            last, earlier = self.regularization
            earlier.load_state_dict(last.state_dict())
            last.load_state_dict(self.target.state_dict())
        return taken

    @property
    def alpha(self) -> float:
        """The weight of the last regularization policy; the rest is that of the one before."""
        return min(1.0, 2.0 * (self.decisions % self.config.iteration) / self.config.iteration)

    @torch.inference_mode()
    def _act(self, legal: Tensor) -> Tensor:
        """Sample actions, (N,), and note their log-probabilities and what opponents are paid for them."""
        games, seats = np.arange(len(legal)), self.games.current_player.astype(np.int64)
        log_probs, _, divergence = self._look(torch.from_numpy(self.games.observation), legal)
        action = sample(log_probs.exp(), torch.rand(len(legal), generator=self.generator))
        share = self.config.eta * divergence.numpy() / (self.games.num_players - 1)
        self.gained += share[:, None]
        self.gained[games, seats] = 0.0
        self.log_prob[games, seats] = log_probs.gather(1, action[:, None]).squeeze(1).numpy()
        return action

    def _outputs(self, network: ActorCritic, observation: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and values, float32."""
        with torch.autocast("cpu", self.precision, enabled=self.precision != torch.float32):
            logits, value = network(observation)
        return logits.float(), value.float()

    def _look(self, observation: Tensor, legal: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Log-probabilities, and their excess over those of the regularization policy, (B, 216) each; the divergence
        from it, (B,)."""
        logits, _ = self._outputs(self.network, observation)
        log_probs, probs = masked_log_softmax(logits, legal)
        last, earlier = self.regularization
        regular = self.alpha * masked_log_softmax(self._outputs(last, observation)[0], legal)[0]
        if self.alpha < 1.0:
            regular += (1.0 - self.alpha) * masked_log_softmax(self._outputs(earlier, observation)[0], legal)[0]
        log_ratio = torch.where(legal, log_probs - regular, 0.0)
        return log_probs, log_ratio, (probs * log_ratio).sum(dim=1)

    # ---- Learning ----

    def learn(self, done: Transitions, log_prob: Floats, gained: Floats) -> dict[str, float]:
        """Do the gradient steps; return means of their metrics.

        Args:
            done: K transitions in order of time.
            log_prob: (K,), log-probabilities of the actions when they were taken.
            gained: (K,), what opponents have paid since then.
        """
        if not len(done):
            return {}
        order = np.argsort(done.game * MAX_PLAYERS + done.seat, kind="stable")
        done, log_prob, gained = done[order], log_prob[order], gained[order]
        observation, legal = torch.from_numpy(done.observation), torch.from_numpy(done.action_mask != 0)
        target, advantage, entropy = self.targets(done, log_prob, gained)
        metrics: list[Tensor] = []
        shuffled = torch.randperm(len(done), generator=self.generator)
        for rows in shuffled.chunk(max(1, round(len(done) / self.config.minibatch_size))):
            logits, value = self._outputs(self.network, observation[rows])
            policy_loss = neurd_loss(logits, legal[rows], advantage[rows], self.config.beta)
            value_loss = (value - target[rows]).square().mean()
            loss = policy_loss + value_loss
            norm = gradient_step(self.optimizer, self.network, loss, self.config.max_grad_norm)
            for average, weights in zip(self.target.parameters(), self.network.parameters(), strict=True):
                average.lerp_(weights.detach(), self.config.target_rate)
            metrics.append(torch.stack([policy_loss.detach(), value_loss.detach(), norm]))
        names = "policy_loss", "value_loss", "grad_norm"
        means = dict(zip(names, torch.stack(metrics).mean(dim=0).tolist(), strict=True))
        return means | {"entropy": entropy}

    @torch.inference_mode()
    def targets(self, done: Transitions, log_prob: Floats, gained: Floats) -> tuple[Tensor, Tensor, float]:
        """What the critic learns, (K,), the advantages of all actions, (K, 216), and the policy's mean entropy; the
        transitions are in order of game, seat and time."""
        config = self.config
        seat = done.game * MAX_PLAYERS + done.seat
        goes_on = np.append((seat[:-1] == seat[1:]) & ~done.done[:-1], False)
        value = self._values(done.observation)
        next_value = np.append(value[1:], np.float32(0.0))
        ends = np.flatnonzero(~goes_on)
        next_value[ends] = self._values(done.next_observation[ends]) * ~done.terminated[ends]

        observation, legal = torch.from_numpy(done.observation), torch.from_numpy(done.action_mask != 0)
        parts = [slice(begin, begin + ROWS) for begin in range(0, len(done), ROWS)]
        looks = [self._look(observation[rows], legal[rows]) for rows in parts]
        log_probs, log_ratio, divergence = (torch.cat(columns) for columns in zip(*looks, strict=True))
        action = torch.from_numpy(done.action)[:, None]
        ratio = (log_probs.gather(1, action).squeeze(1) - torch.from_numpy(log_prob)).exp().numpy()
        paid = done.reward + gained
        own = paid - (config.eta * divergence).numpy()
        target, next_target = v_trace(value, next_value, own, ratio, goes_on, config.vtrace_lambda)

        # Values of all actions, without the value of the position: that of the action taken by importance sampling.
        weight = np.minimum(np.exp(-log_prob), config.max_weight)
        surprise = torch.from_numpy(weight * (paid + next_target - value))[:, None]
        worth = (-config.eta * log_ratio).scatter_add_(1, action, surprise)
        probs = log_probs.exp() * legal
        advantage = worth - (probs * worth).sum(dim=1, keepdim=True)
        entropy = -(probs * log_probs).sum(dim=1).mean().item()
        return torch.from_numpy(target), advantage.clamp_(-config.clip, config.clip), entropy

    def _values(self, observation: np.ndarray[Any, Any]) -> Floats:
        """Values by the target network, (B,)."""
        parts = [
            self._outputs(self.target, torch.from_numpy(observation[i : i + ROWS]))[1]
            for i in range(0, len(observation), ROWS)
        ]
        return torch.cat(parts).numpy()

    def policy(self, name: str = "agent") -> NetworkPolicy:
        """A copy of the policy, which samples its actions."""
        return NetworkPolicy(copy.deepcopy(self.network), name, reward=self.task.game.reward)

    # ---- Resuming ----

    def state_dict(self) -> dict[str, Any]:
        """See `Learner.state_dict`."""
        return {
            "network": self.network.state_dict(),
            "target": self.target.state_dict(),
            "regularization": [network.state_dict() for network in self.regularization],
            "optimizer": self.optimizer.state_dict(),
            "generator": self.generator.get_state(),
            "games": self.games.state_dict(),
            "log_prob": torch.from_numpy(self.log_prob.copy()),
            "gained": torch.from_numpy(self.gained.copy()),
            "decisions": self.decisions,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See `Learner.load_state_dict`."""
        self.network.load_state_dict(state["network"])
        self.target.load_state_dict(state["target"])
        for network, weights in zip(self.regularization, state["regularization"], strict=True):
            network.load_state_dict(weights)
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["generator"])
        self.games.load_state_dict(state["games"])
        self.log_prob[...], self.gained[...] = state["log_prob"].numpy(), state["gained"].numpy()
        self.decisions = state["decisions"]
