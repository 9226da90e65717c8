"""The state of a training run, and the step from one update to the next."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping
from pathlib import Path

import torch

from agents import checkpoint
from agents.device import choose_device
from agents.league import League
from agents.network import ActorCritic
from agents.network_policy import NetworkPolicy, load_policy
from agents.ppo import PPO
from agents.rollout import Experience, Rollout
from experiments.training.behavior import behavior
from experiments.training.checkpoint_file import CHECKPOINT, load_checkpoint, save_checkpoint
from experiments.training.train_config import TrainConfig


class Trainer:
    """Learner, rollout and league of a run.

    Args:
        config: the settings of the run.
        folder: the run's folder, for checkpoints and snapshots of the learner.
        num_threads: threads of the games.

    Attributes:
        decisions: how many decisions the run has learned from.
        seconds: time spent so far on "collecting", "learning" and "measuring".
    """

    def __init__(self, config: TrainConfig, folder: Path, num_threads: int) -> None:
        self.config, self.folder = config, folder
        self.device = choose_device(config.device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            network = ActorCritic(config.network)
        # Digests of the files as they are loaded here: a file may be replaced during the run.
        self.opponents = checkpoint.digests(config.league.opponents)
        self.league = League(config.league, config.seed)
        self.ppo = PPO(config.ppo, network, self.device, config.seed)
        self.rollout = Rollout(config.game, network, self.league, config.seed, num_threads)
        self.decisions = 0
        self.seconds = {"collecting": 0.0, "learning": 0.0, "measuring": 0.0}

    def load_weights(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Replace the random first weights."""
        self.ppo.network.load_state_dict(weights)
        if self.ppo.magnet is not None:
            self.ppo.magnet.load_state_dict(weights)

    @property
    def is_done(self) -> bool:
        """Whether the run has learned from all of its decisions."""
        return self.decisions >= self.config.decisions

    @property
    def minutes(self) -> float:
        """Time spent so far on learning and measuring."""
        return sum(self.seconds.values()) / 60

    def step(self) -> dict[str, float]:
        """Collect one rollout and do one update; return the metrics of both."""
        config = self.config
        began = time.perf_counter()
        experience = self._collect()
        while not len(experience.rows):  # a short rollout of a large table: no player has decided twice
            experience = self._collect()
        collected = time.perf_counter()
        metrics = self.ppo.update(experience, min(1.0, self.decisions / config.decisions))
        learned = time.perf_counter()
        before = self.decisions
        self.decisions += len(experience.rows)
        sample = experience.rows[::8]
        metrics |= behavior(experience.legal[sample], experience.action[sample])
        metrics["game_length"] = self.rollout.game_length
        metrics["decisions_per_second"] = len(experience.rows) / (learned - began)
        metrics["games_share"] = self.rollout.take_seconds() / (learned - began)
        self.seconds["collecting"] += collected - began
        self.seconds["learning"] += learned - collected
        metrics["minutes"] = self.minutes
        if config.league.snapshots and self.decisions // config.league.every > before // config.league.every:
            self._take_snapshot()
        return metrics

    def _collect(self) -> Experience:
        ppo = self.config.ppo
        with self.ppo.autocast():
            return self.rollout.collect(self.ppo.network, self.device, ppo.gamma, ppo.gae_lambda)

    def policy(self, name: str = "agent", *, greedy: bool = True) -> NetworkPolicy:
        """A copy of the policy as it is now."""
        return NetworkPolicy(copy.deepcopy(self.ppo.network).cpu(), name, greedy=greedy)

    # ---- Files ----

    def save_policy(self, path: Path) -> None:
        """Write the network alone, for playing."""
        about = {"decisions": self.decisions, "config": self.config.portable()}
        checkpoint.save_network(path, self.ppo.network, about)

    def _take_snapshot(self) -> None:
        path = self._snapshot(self.league.taken)
        path.parent.mkdir(exist_ok=True)
        self.save_policy(path)
        self.league.add(load_policy(path, path.stem))

    def _snapshot(self, number: int) -> Path:
        return self.folder / "snapshots" / f"{number:05}.safetensors"

    def save(self) -> None:
        """Write the policy, and a checkpoint from which `restore` continues bit for bit."""
        self.save_policy(self.folder / checkpoint.POLICY)
        magnet = self.ppo.magnet
        state = {
            "config": self.config.to_dict(),
            "opponents": self.opponents,
            "decisions": self.decisions,
            "seconds": self.seconds,
            "updates": self.ppo.updates,
            "network": self.ppo.network.state_dict(),
            "magnet": None if magnet is None else magnet.state_dict(),
            "optimizer": self.ppo.optimizer.state_dict(),
            "generator": self.ppo.generator.get_state(),
            "league": self.league.state(),
            "rollout": self.rollout.state(),
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
        self.decisions, self.seconds, self.ppo.updates = state["decisions"], state["seconds"], state["updates"]
        self.ppo.network.load_state_dict(state["network"])
        if self.ppo.magnet is not None:
            self.ppo.magnet.load_state_dict(state["magnet"])
        self.ppo.optimizer.load_state_dict(state["optimizer"])
        self.ppo.generator.set_state(state["generator"])
        taken, kept = state["league"]["taken"], self.config.league.snapshots
        # The league replaces its oldest snapshot: number n is in slot n modulo `snapshots`.
        slots = {number % kept: number for number in range(max(0, taken - kept), taken)} if kept else {}
        paths = [self._snapshot(slots[slot]) for slot in sorted(slots)]
        self.league.restore(state["league"], [load_policy(path, path.stem) for path in paths])
        self.rollout.restore(state["rollout"])
