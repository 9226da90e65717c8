"""The state of a training run, and the step from one update to the next."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import torch

from agents import checkpoint
from agents.learners.league import League
from agents.learners.learner_factory import make_learner
from agents.network_policy import NetworkPolicy
from agents.policy import Policy
from experiments.training.checkpoint_file import CHECKPOINT, load_checkpoint, save_checkpoint
from experiments.training.train_config import TrainConfig


class Trainer:
    """The learner of a run, its count of decisions, its clock and its files.

    Args:
        config: the settings of the run.
        folder: the run's folder, for the policy and the checkpoint.
        num_threads: threads of the games.

    Attributes:
        learner: what learns.
        decisions: how many decisions the run has learned from.
        updates: how many steps the learner has done.
        seconds: time spent so far on "training" and "measuring", and the "processor" time of training.
    """

    def __init__(self, config: TrainConfig, folder: Path, num_threads: int) -> None:
        self.config, self.folder = config, folder
        # Digests of the files as they are loaded here: a file may be replaced during the run.
        self.opponents = checkpoint.digests(config.league.opponents)
        self.learner = make_learner(config.learner, config.task(num_threads), config.seed, config.learner_config())
        self.decisions = self.updates = 0
        self.seconds = {"training": 0.0, "measuring": 0.0, "processor": 0.0}

    def load_weights(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Replace the random first weights; ValueError if the learner can't begin with given ones."""
        load = getattr(self.learner, "load_weights", None)
        if load is None:
            raise ValueError(f"init_from: the learner {self.config.learner} can't begin with the weights of a policy")
        load(weights)

    @property
    def is_done(self) -> bool:
        """Whether the run has learned from all of its decisions."""
        return self.decisions >= self.config.decisions

    @property
    def minutes(self) -> float:
        """Time spent so far on learning and measuring."""
        return (self.seconds["training"] + self.seconds["measuring"]) / 60

    def step(self) -> dict[str, float]:
        """Let the learner do a step; return its metrics, the speed and the time."""
        began, used = time.perf_counter(), time.process_time()
        learned = self.learner.step(min(1.0, self.decisions / self.config.decisions))
        seconds = time.perf_counter() - began
        self.seconds["processor"] += time.process_time() - used
        self.decisions += learned
        self.updates += 1
        self.seconds["training"] += seconds
        return {**self.learner.metrics, "decisions_per_second": learned / seconds, "minutes": self.minutes}

    def policy(self, name: str = "agent", *, greedy: bool = True) -> Policy:
        """A copy of the policy as it is now. With `greedy`, a network always takes its likeliest action."""
        policy = self.learner.policy(name)
        if isinstance(policy, NetworkPolicy):
            policy.greedy = policy.greedy or greedy
        return policy

    def league_rates(self) -> dict[str, float]:
        """The learner's recent win rate against each member of its league, by name; empty without a league."""
        league = getattr(self.learner, "league", None)
        return league.win_rates() if isinstance(league, League) else {}

    # ---- Files ----

    def save_policy(self, path: Path) -> None:
        """Write the network alone, for playing. A learner whose policy is no network writes no such file."""
        policy = self.learner.policy()
        if isinstance(policy, NetworkPolicy):
            about = {"decisions": self.decisions, "config": self.config.portable()}
            about |= {"greedy": True} if policy.greedy else {}
            checkpoint.save_network(path, policy.network, about)

    def save(self) -> None:
        """Write the policy, and a checkpoint from which `restore` continues bit for bit."""
        self.save_policy(self.folder / checkpoint.POLICY)
        state = {
            "config": self.config.to_dict(),
            "opponents": self.opponents,
            "decisions": self.decisions,
            "updates": self.updates,
            "seconds": self.seconds,
            "learner": self.learner.state_dict(),
        }
        save_checkpoint(self.folder / CHECKPOINT, state)

    def restore(self) -> None:
        """Continue from the last `save`.

        Raises:
            ValueError: the checkpoint was made with other settings or other opponents, which the message names.
        """
        state = load_checkpoint(self.folder / CHECKPOINT)
        for name, value in self.config.to_dict().items():
            if state["config"].get(name) != value:
                raise ValueError(f"{self.folder}: {name} is not what it was: {state['config'].get(name)}, now {value}")
        if state["opponents"] != self.opponents:
            raise ValueError(f"{self.folder}: the networks of its opponents {list(state['opponents'])} have changed")
        self.decisions, self.updates, self.seconds = state["decisions"], state["updates"], state["seconds"]
        self.learner.load_state_dict(state["learner"])
