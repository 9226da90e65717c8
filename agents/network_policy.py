"""A trained network as a policy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from agents.checkpoint import load_network, trained_by
from agents.json_text import field_of
from agents.masked import masked_softmax, sample
from agents.network import ActorCritic
from agents.policy import Actions
from uno_flex_env.options import REWARDS, check_one_of
from uno_flex_env.policy_input import Decisions
from uno_flex_env.seeding import uniforms

ROWS = 4096
"""Decisions in one pass: enough to keep the processor busy, few enough to stay in its cache."""


class NetworkPolicy:
    """Samples legal actions with the probabilities that a network gives them.

    It always computes in float32 on the CPU, so that measurements don't depend on how the network was trained.

    Args:
        network: used as it is; pass a copy of a network that continues to learn.
        name: see `Policy.name`.
        greedy: always take the likeliest action instead.
        reward: what its critic has learned to expect, see `uno_flex_env.vec_env.VecEnv`.
    """

    def __init__(self, network: ActorCritic, name: str, *, greedy: bool = False, reward: str = "win") -> None:
        self.network, self.name, self.greedy, self.reward = network.eval(), name, greedy, reward
        self.history = network.config.events

    @torch.inference_mode()
    def probabilities(self, decisions: Decisions) -> torch.Tensor:
        """The probabilities of all actions, (B, 216) float32; exactly 0 where illegal."""
        return masked_softmax(self._outputs(decisions)[0], torch.from_numpy(decisions.action_mask) != 0)

    @torch.inference_mode()
    def values(self, decisions: Decisions) -> torch.Tensor:
        """What the critic expects the player to be paid in the rest of the round, (B,) float32, in units of `reward`;
        zeros if the critic is privileged."""
        return self._outputs(decisions)[1]

    def _outputs(self, decisions: Decisions) -> tuple[torch.Tensor, torch.Tensor]:
        """The logits and the values of the network."""
        history = None
        if self.history:
            if decisions.history is None or decisions.history.shape[1] < self.history:
                raise ValueError(f"{self.name} reads the last {self.history} events: history is missing or too short")
            history = torch.from_numpy(np.ascontiguousarray(decisions.history[:, -self.history :]))
        with torch.autocast("cpu", enabled=False):  # a learner's precision is its own
            outputs: tuple[torch.Tensor, torch.Tensor] = self.network(torch.from_numpy(decisions.observation), history)
        return outputs

    def act(self, decisions: Decisions) -> Actions:
        """As `Policy.act`."""
        actions = np.empty(len(decisions), np.int64)
        for start in range(0, len(decisions), ROWS):
            part = decisions[start : start + ROWS]
            probs = self.probabilities(part)
            chosen = probs.argmax(dim=1) if self.greedy else sample(probs, torch.from_numpy(uniforms(part.noise)))
            actions[start : start + ROWS] = chosen.numpy()
        return actions


def load_policy(path: Path, name: str, *, greedy: bool = False) -> NetworkPolicy:
    """The policy in a file that `agents.checkpoint.save_network` has written.

    It is greedy if you ask for that, or if the learner's own policy is, as that of Q-learning.
    """
    network, about = load_network(path)
    reward = trained_by(path, about, "reward", str, "win")
    check_one_of(f"{path}: reward", reward, REWARDS)
    always_greedy = field_of(about, "greedy", bool, path) if "greedy" in about else False
    return NetworkPolicy(network, name, greedy=greedy or always_greedy, reward=reward)
