"""How fast learning is, as ratios between things measured in turn in one run."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import torch
from sb3_contrib import MaskablePPO
from torch import Tensor, nn
from tqdm import tqdm

from agents.device import Precision, matmul_dtype
from agents.match.workers import cores
from agents.network import ActorCritic, NetworkConfig
from agents.ppo import PPOConfig
from agents.rollout import GameConfig
from experiments.training.maskable_ppo import Trunk
from experiments.training.train_config import TrainConfig
from experiments.training.trainer import Trainer
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.envs.sb3 import SB3VecEnv
from uno_flex_env.observation import NUM_FEATURES

HELP = """\
Measure the speed of learning on this machine: our PPO and sb3-contrib's MaskablePPO with the same network, the share of
time that goes to the games, and how near our matrix products come to nothing but such products.

  python -m experiments learning_speed
"""

NETWORK = NetworkConfig(kind="mlp", width=256, layers=2)
MINIBATCH = 8192
"""Of our learner: as large as it still learns with, for speed; the default is smaller."""


SHARED = {
    "features_extractor_class": Trunk,
    "features_extractor_kwargs": {"network": ActorCritic(NETWORK)},
    "net_arch": [],
}
"""Stable-Baselines3 with exactly that network."""
TOWERS = {"net_arch": [NETWORK.width] * NETWORK.layers, "activation_fn": nn.ReLU}
"""Stable-Baselines3 as it is commonly used: layers of the same sizes for the policy, and once more for the critic."""


@dataclass(frozen=True)
class Config:
    """What is measured."""

    repeats: int = 3
    """Rounds in which everything is measured in turn; the medians are shown."""
    seconds: float = 8.0
    """Of each measurement, at least."""
    games: int = 4096
    """Of our learner, played at once."""
    num_threads: int = 0
    """Threads of torch and of the games; 0 uses every core that this process may use."""

    def __post_init__(self) -> None:
        if self.repeats < 1 or self.games < 1 or self.seconds <= 0 or self.num_threads < 0:
            raise ValueError("repeats and games must be at least 1, seconds above 0, num_threads at least 0")


def main(config: Config) -> int:
    """The command."""
    num_threads = config.num_threads or cores()
    torch.set_num_threads(num_threads)
    precisions: list[Precision] = ["float32"]
    if matmul_dtype("auto", torch.device("cpu")) == torch.bfloat16:
        precisions.append("bfloat16")
    with tempfile.TemporaryDirectory() as folder:
        ours = {
            (precision, epochs): Ours(config, precision, epochs, Path(folder), num_threads)
            for precision in precisions
            for epochs in (1, 2)
        }
        measures: dict[Any, Callable[[], float]] = {key: learner.measure for key, learner in ours.items()}
        for precision in precisions:
            measures["products", precision] = Products(config.games, precision).measure
        # The fastest setting that was found for two cores, and the defaults.
        fastest = {"n_steps": 256, "batch_size": 4096, "n_epochs": 2}
        measures["fastest"] = Theirs(config, 64, SHARED, **fastest).measure
        measures["towers"] = Theirs(config, 64, TOWERS, **fastest).measure
        measures["default"] = Theirs(config, 1, TOWERS).measure
        rates: dict[Any, list[float]] = {name: [] for name in measures}
        with tqdm(total=config.repeats * len(measures), unit=" measurements") as bar:
            for _ in range(config.repeats):
                for name, measure in measures.items():
                    rates[name].append(measure())
                    bar.update()
    shares = {key: median(learner.shares) for key, learner in ours.items()}
    print(report({name: median(values) for name, values in rates.items()}, shares, num_threads), flush=True)
    return 0


class Ours:
    """Our learner, in self-play."""

    def __init__(self, config: Config, precision: Precision, epochs: int, folder: Path, num_threads: int) -> None:
        settings = TrainConfig(
            game=GameConfig(num_envs=config.games),
            network=NETWORK,
            ppo=PPOConfig(precision=precision, update_epochs=epochs, minibatch_size=MINIBATCH),
            baselines=("flex_any",),
            device="cpu",
        )
        self.trainer, self.seconds, self.shares = Trainer(settings, folder, num_threads), config.seconds, list[float]()
        self.trainer.step()

    def measure(self) -> float:
        """Decisions a second; notes the share of time that games and bookkeeping take."""
        decisions, began = self.trainer.decisions, time.perf_counter()
        while (elapsed := time.perf_counter() - began) < self.seconds:
            self.shares.append(self.trainer.step()["games_share"])
        return (self.trainer.decisions - decisions) / elapsed


class Theirs:
    """MaskablePPO against bots that the core plays."""

    def __init__(self, config: Config, games: int, network: dict[str, Any], **settings: Any) -> None:
        envs = SB3VecEnv(games, opponents="flex_any")
        self.model = MaskablePPO("MlpPolicy", envs, policy_kwargs=network, device="cpu", **settings)
        self.rollout, self.seconds = self.model.n_steps * games, config.seconds
        self.model.learn(self.rollout)

    def measure(self) -> float:
        """Decisions a second."""
        decisions, began = self.model.num_timesteps, time.perf_counter()
        while (elapsed := time.perf_counter() - began) < self.seconds:
            self.model.learn(self.rollout, reset_num_timesteps=False)
        return (self.model.num_timesteps - decisions) / elapsed


class Products:
    """Nothing but the matrix products of one decision and of learning from it once."""

    def __init__(self, games: int, precision: Precision) -> None:
        kind = torch.float32 if precision == "float32" else torch.bfloat16
        sizes = [(NUM_FEATURES, NETWORK.width), (NETWORK.width, NETWORK.width), (NETWORK.width, NUM_ACTIONS)]
        self.work: list[tuple[Tensor, Tensor, int]] = []
        for layer, (inputs, outputs) in enumerate(sizes):
            weights = torch.randn(outputs, inputs).to(kind)
            for rows in (games, MINIBATCH):
                self.work.append((torch.randn(rows, inputs).to(kind), weights.t(), rows))
            gradient = torch.randn(rows, outputs).to(kind)
            self.work.append((gradient.t(), torch.randn(rows, inputs).to(kind), rows))
            if layer:  # nobody wants the gradient of the observation
                self.work.append((gradient, weights, rows))

    @torch.inference_mode()
    def measure(self, times: int = 20) -> float:
        """Decisions a second if there were nothing else to do."""
        total = 0.0
        for left, right, rows in self.work:
            left @ right
            began = time.perf_counter()
            for _ in range(times):
                left @ right
            total += (time.perf_counter() - began) / times / rows
        return 1.0 / total


def report(rates: dict[Any, float], shares: dict[Any, float], num_threads: int) -> str:
    """What was measured, for people."""
    peers = {
        "fastest": "MaskablePPO, 64 games, 2 epochs, same network",
        "towers": "the same with a network for each of policy and critic",
        "default": "MaskablePPO, its defaults",
    }
    lines = [
        f"{NUM_FEATURES} -> {NETWORK.width} -> {NETWORK.width} -> {NUM_ACTIONS} network, "
        f"{num_threads} threads, medians",
        "",
        f"{'':54} {'decisions/s':>11}  {'games':>6}  of products alone",
    ]
    for precision, epochs in shares:
        rate = rates[precision, epochs]
        # The products were measured for one epoch.
        part = f"{100 * rate / rates['products', precision]:.0f} %" if epochs == 1 else ""
        share = f"{100 * shares[precision, epochs]:.0f} %"
        lines.append(f"{_ours(precision, epochs):54} {rate:>11,.0f}  {share:>6}  {part}")
    lines += [f"{name:54} {rates[peer]:>11,.0f}" for peer, name in peers.items()]
    lines += ["", f"{'ratios':54} {'same':>8} {'two':>8} {'defaults':>8}"]
    for precision, epochs in shares:
        ratios = (f"{rates[precision, epochs] / rates[peer]:>8.1f}" for peer in peers)
        lines.append(f"{_ours(precision, epochs):54} {' '.join(ratios)}")
    lines += [
        "",
        "games: the share of time that the games and the bookkeeping of trajectories take",
        "of products alone: speed as a share of that of plain torch products of the same sizes",
    ]
    return "\n".join(lines)


def _ours(precision: str, epochs: int) -> str:
    return f"ours, {precision}, {epochs} epoch{'s' * (epochs > 1)}"
