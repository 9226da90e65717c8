"""REINFORCE with an entropy bonus, as an example of a learner of your own:

python -m experiments train --config configs/train/smoke.toml --learner docs.reinforce:Reinforce --name reinforce
"""

import copy
from typing import Any

import torch

from agents.learners.seat_steps import ReturnCollector, Returns, SeatSteps
from agents.learners.task import LearningTask
from agents.masked import log_prob_and_entropy, masked_softmax, sample
from agents.network import new_network
from agents.network_policy import NetworkPolicy


class Reinforce:
    def __init__(self, task: LearningTask, seed: int) -> None:
        self.task, self.metrics = task, dict[str, float]()
        self.network = new_network(task.network, seed)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=2e-3)
        self.generator = torch.Generator().manual_seed(seed)
        self.games, self.collector = SeatSteps(task.game, seed, task.num_threads), ReturnCollector()
        self.parts: dict[str, Any] = {n: getattr(self, n) for n in ("network", "optimizer", "games", "collector")}

    def step(self, progress: float) -> int:
        ended = []
        for _ in range(self.task.game.num_steps):
            with torch.no_grad():
                logits, _ = self.network(torch.from_numpy(self.games.observation))
            legal = torch.from_numpy(self.games.action_mask != 0)
            uniform = torch.rand(len(legal), generator=self.generator)
            action = sample(masked_softmax(logits, legal), uniform)
            ended.append(self.collector.add(self.games.step(action.numpy())))
        rounds = Returns.concatenated(ended)
        if len(rounds):
            logits, _ = self.network(torch.from_numpy(rounds.observation))
            legal, action = torch.from_numpy(rounds.action_mask != 0), torch.from_numpy(rounds.action)
            log_prob, entropy = log_prob_and_entropy(logits, legal, action)
            loss = -(torch.from_numpy(rounds.return_to_go) * log_prob + 0.02 * entropy).mean()
            self.optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self.optimizer.step()
            self.metrics = {"policy_loss": loss.item(), "entropy": entropy.mean().item()}
        return self.task.game.num_steps * self.task.game.num_envs

    def policy(self, name: str = "agent") -> NetworkPolicy:
        return NetworkPolicy(copy.deepcopy(self.network), name)

    def state_dict(self) -> dict[str, Any]:
        states = {name: part.state_dict() for name, part in self.parts.items()}
        return {"generator": self.generator.get_state(), **states}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, part in self.parts.items():
            part.load_state_dict(state[name])
        self.generator.set_state(state["generator"])
