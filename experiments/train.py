"""The main job: sb3-contrib's MaskablePPO learns to play one seat, against a rule bot and then against itself."""

from __future__ import annotations

import copy
import json
import sys
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Self

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import configure
from stable_baselines3.common.vec_env import VecMonitor
from torch import nn
from tqdm import tqdm

import uno_flex_env
from experiments.evaluate import WinRate, win_rate
from agents.files import write_whole
from experiments.network import NetworkPolicy, save
from uno_flex_env.sb3 import SB3VecEnv
from uno_flex_env.vector import BOTS


@dataclass(frozen=True)
class TrainConfig:
    """Settings of a training run."""

    name: str = "quick"
    """The results go to runs/NAME, or NAME-2 and so on if that is there already."""
    seed: int = 1
    """Of deals, weights and choices."""
    num_players: int = 2
    """At the table, 2 to 8."""
    steps: int = 1_600_000
    """Decisions of the learner in all."""
    first_opponent: str = "flex_when_stuck"
    """The rule bot in all other seats at first."""
    first_steps: int = 400_000
    """After so many decisions the learner meets snapshots of itself."""
    snapshot_every: int = 100_000
    """Decisions between two snapshots; at each the network is saved and its win rate logged."""
    num_envs: int = 256
    """Games played at once."""
    rollout: int = 64
    """Decisions in each game before every update."""
    minibatch: int = 2048
    """Decisions per gradient step."""
    epochs: int = 3
    """Passes over the decisions of an update."""
    learning_rate: float = 1e-3
    """At the beginning; it falls to a tenth in a straight line."""
    gae_lambda: float = 0.95
    """Of generalized advantage estimation (arXiv:1506.02438)."""
    entropy: float = 0.01
    """Weight of the entropy in the loss."""
    hidden: tuple[int, ...] = (256, 256)
    """Widths of the hidden layers, of the policy and of the value each."""
    deals: int = 2000
    """In the evaluation at the end, against each bot, each played from every seat."""
    threads: int = 2
    """Of torch."""

    def __post_init__(self) -> None:
        for name in ("steps", "snapshot_every", "num_envs", "rollout", "minibatch", "epochs", "deals", "threads"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.first_opponent not in BOTS:
            raise ValueError(f"first_opponent must be one of {', '.join(BOTS)}, got {self.first_opponent!r}")
        if not self.name or Path(self.name).name != self.name:
            raise ValueError(f"name must be that of a folder, got {self.name!r}")


def train(config: TrainConfig, runs: Path = Path("runs")) -> tuple[Path, list[WinRate]]:
    """Train, save the network as `model.pt` in the run's folder, and measure it against every rule bot."""
    torch.set_num_threads(config.threads)
    folder = new_folder(runs, config.name)
    notes = {"version": uno_flex_env.__version__, "torch": torch.__version__, "config": asdict(config)}
    write_whole(folder / "config.json", json.dumps(notes, indent=2).encode() + b"\n")
    envs = SB3VecEnv(config.num_envs, config.num_players, opponents=config.first_opponent)
    model = learner(config, envs)
    model.set_logger(configure(str(folder), ["tensorboard"]))
    with Supervision(config, envs, folder) as supervision:
        model.learn(config.steps, callback=supervision)
    return folder, [measure(model, config, bot, config.deals, config.seed) for bot in BOTS]


def new_folder(runs: Path, name: str) -> Path:
    """A folder that no run has written to."""
    for number in count(1):
        folder = runs / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        break
    return folder


def learner(config: TrainConfig, envs: SB3VecEnv) -> MaskablePPO:
    """MaskablePPO with these settings."""
    return MaskablePPO(
        "MlpPolicy",
        VecMonitor(envs),
        n_steps=config.rollout,
        batch_size=config.minibatch,
        n_epochs=config.epochs,
        learning_rate=lambda left: config.learning_rate * (0.1 + 0.9 * left),
        gamma=1.0,  # a round is short, and only its end pays
        gae_lambda=config.gae_lambda,
        ent_coef=config.entropy,
        policy_kwargs={"net_arch": list(config.hidden), "activation_fn": nn.ReLU},
        seed=config.seed,
        device="cpu",
    )


def snapshot(model: MaskablePPO, config: TrainConfig, *, greedy: bool = False) -> NetworkPolicy:
    """A copy of the policy as it is now."""
    network = nn.Sequential(*model.policy.mlp_extractor.policy_net, model.policy.action_net)
    return NetworkPolicy(copy.deepcopy(network), config.hidden, seed=model.num_timesteps, greedy=greedy)


def measure(model: MaskablePPO, config: TrainConfig, bot: str, deals: int, seed: int) -> WinRate:
    """How often the likeliest actions win against a bot in all other seats."""
    policy = snapshot(model, config, greedy=True)
    return win_rate(policy, bot, num_players=config.num_players, deals=deals, seed=seed)


class Supervision(BaseCallback):
    """Between rollouts: show how far the run is, and now and then save the network, log its win rate and let the
    learner meet it."""

    def __init__(self, config: TrainConfig, envs: SB3VecEnv, folder: Path) -> None:
        super().__init__()
        self.config, self.envs, self.folder = config, envs, folder
        self._next_snapshot = config.snapshot_every
        # Where nobody watches, a line now and then is enough.
        interval = 0.1 if sys.stderr.isatty() else 10.0
        self._bar = tqdm(total=config.steps, unit=" decisions", unit_scale=True, mininterval=interval)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.close()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_start(self) -> None:
        self._bar.update(min(self.num_timesteps, self.config.steps) - self._bar.n)
        if self.num_timesteps >= self._next_snapshot:
            self._next_snapshot += self.config.snapshot_every
            self._take_snapshot()

    def _on_training_end(self) -> None:
        self._bar.update(self.config.steps - self._bar.n)
        self._take_snapshot()
        self.logger.dump(self.num_timesteps)

    def _take_snapshot(self) -> None:
        config, model = self.config, self.model
        assert isinstance(model, MaskablePPO)
        network = snapshot(model, config)
        save(network, self.folder / "model.pt", decisions=self.num_timesteps, config=asdict(config))
        # Other deals than those of the evaluation at the end.
        rate = measure(model, config, config.first_opponent, 200, config.seed + 1)
        self.logger.record(f"win_rate/{rate.bot}", rate.mean)
        self.logger.record(f"win_rate/{rate.bot}_margin", rate.margin)
        self._bar.set_postfix_str(f"wins {100 * rate.mean:.0f} % against {rate.bot}", refresh=False)
        if self.num_timesteps >= config.first_steps:
            self.envs.opponents = network
