"""The speed of this project's learner, of MaskablePPO and of bare matrix products, measured in turn."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import torch
from sb3_contrib import MaskablePPO
from torch import Tensor, nn
from tqdm import tqdm

from agents.device import Precision, matmul_dtype
from agents.learners.ppo import PPOConfig
from agents.learners.sb3_network import Trunk
from agents.learners.task import GameConfig
from agents.network import ActorCritic, NetworkConfig
from experiments.training.train_config import TrainConfig
from experiments.training.trainer import Trainer
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.envs.sb3 import SB3VecEnv
from uno_flex_env.observation import NUM_FEATURES

NETWORK = NetworkConfig(kind="mlp", width=256, layers=2)
MINIBATCH = 8192
"""The minibatch size of this project's learner here, its fastest one (docs/speed.md). The default is smaller."""


SHARED = {
    "features_extractor_class": Trunk,
    "features_extractor_kwargs": {"network": ActorCritic(NETWORK)},
    "net_arch": [],
}
"""Stable-Baselines3 with exactly that network."""
TOWERS = {"net_arch": [NETWORK.width] * NETWORK.layers, "activation_fn": nn.ReLU}
"""Stable-Baselines3 as it is commonly used: layers of the same sizes for the policy, and once more for the critic."""


def measure_learners(repeats: int, seconds: float, num_envs: int, num_threads: int) -> str:
    """Measure everything in turn, `repeats` times; return the report of the medians.

    Args:
        seconds: the least time of each measurement.
        num_envs: games that this project's learner plays side by side.
        num_threads: threads of torch and of the games.
    """
    torch.set_num_threads(num_threads)
    precisions: list[Precision] = ["float32"]
    if matmul_dtype("auto", torch.device("cpu")) == torch.bfloat16:
        precisions.append("bfloat16")
    with tempfile.TemporaryDirectory() as folder:
        ours = {
            (precision, epochs): Ours(num_envs, seconds, precision, epochs, Path(folder), num_threads)
            for precision in precisions
            for epochs in (1, 2)
        }
        measures: dict[Any, Callable[[], float]] = {key: learner.measure for key, learner in ours.items()}
        for precision in precisions:
            measures["products", precision] = Products(num_envs, precision).measure
        # The fastest settings that were found for two cores, and the defaults.
        fastest = {"n_steps": 256, "batch_size": 4096, "n_epochs": 2}
        measures["fastest"] = Theirs(seconds, 64, SHARED, **fastest).measure
        measures["towers"] = Theirs(seconds, 64, TOWERS, **fastest).measure
        measures["default"] = Theirs(seconds, 1, TOWERS).measure
        rates: dict[Any, list[float]] = {name: [] for name in measures}
        with tqdm(total=repeats * len(measures), unit=" measurements") as bar:
            for _ in range(repeats):
                for name, measure in measures.items():
                    rates[name].append(measure())
                    bar.update()
    shares = {key: median(learner.shares) for key, learner in ours.items()}
    return report({name: median(values) for name, values in rates.items()}, shares, num_threads)


class Ours:
    """This project's learner in self-play."""

    def __init__(
        self, num_envs: int, seconds: float, precision: Precision, epochs: int, folder: Path, num_threads: int
    ) -> None:
        settings = TrainConfig(
            game=GameConfig(num_envs=num_envs),
            network=NETWORK,
            ppo=PPOConfig(precision=precision, update_epochs=epochs, minibatch_size=MINIBATCH),
            baselines=("flex_any",),
            device="cpu",
        )
        self.trainer, self.seconds, self.shares = Trainer(settings, folder, num_threads), seconds, list[float]()
        self.trainer.step()

    def measure(self) -> float:
        """Measure decisions per second, and append the games' share of the time to `shares`."""
        decisions, began = self.trainer.decisions, time.perf_counter()
        while (elapsed := time.perf_counter() - began) < self.seconds:
            self.shares.append(self.trainer.step()["games_share"])
        return (self.trainer.decisions - decisions) / elapsed


class Theirs:
    """MaskablePPO against rule bots, which the core plays."""

    def __init__(self, seconds: float, num_envs: int, network: dict[str, Any], **settings: Any) -> None:
        envs = SB3VecEnv(num_envs, opponents="flex_any")
        self.model = MaskablePPO("MlpPolicy", envs, policy_kwargs=network, device="cpu", **settings)
        self.rollout, self.seconds = self.model.n_steps * num_envs, seconds
        self.model.learn(self.rollout)

    def measure(self) -> float:
        """Measure decisions per second."""
        decisions, began = self.model.num_timesteps, time.perf_counter()
        while (elapsed := time.perf_counter() - began) < self.seconds:
            self.model.learn(self.rollout, reset_num_timesteps=False)
        return (self.model.num_timesteps - decisions) / elapsed


class Products:
    """The matrix products of one decision and of learning from it once, and nothing else."""

    def __init__(self, num_envs: int, precision: Precision) -> None:
        kind = torch.float32 if precision == "float32" else torch.bfloat16
        sizes = [(NUM_FEATURES, NETWORK.width), (NETWORK.width, NETWORK.width), (NETWORK.width, NUM_ACTIONS)]
        self.work: list[tuple[Tensor, Tensor, int]] = []
        for layer, (inputs, outputs) in enumerate(sizes):
            weights = torch.randn(outputs, inputs).to(kind)
            for rows in (num_envs, MINIBATCH):
                self.work.append((torch.randn(rows, inputs).to(kind), weights.t(), rows))
            gradient = torch.randn(rows, outputs).to(kind)
            self.work.append((gradient.t(), torch.randn(rows, inputs).to(kind), rows))
            if layer:  # the observation needs no gradient
                self.work.append((gradient, weights, rows))

    @torch.inference_mode()
    def measure(self, times: int = 20) -> float:
        """Measure decisions per second of a learner that does nothing else."""
        total = 0.0
        for left, right, rows in self.work:
            left @ right
            began = time.perf_counter()
            for _ in range(times):
                left @ right
            total += (time.perf_counter() - began) / times / rows
        return 1.0 / total


def report(rates: dict[Any, float], shares: dict[Any, float], num_threads: int) -> str:
    """The measurements as text."""
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
