"""The settings with which each algorithm is measured: those that tuning found, in configs/benchmark/tuned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agents.learners.task import GameConfig
from experiments.settings import read
from experiments.training.train_config import TrainConfig

TUNED = Path(__file__).parents[2] / "configs" / "benchmark" / "tuned"

DEFAULT_GAME = GameConfig(num_envs=512, num_steps=32)
"""The size of a rollout for algorithms that have not been tuned."""


def tuned_settings(algorithm: str) -> TrainConfig:
    """The settings of an algorithm: from its file if there is one, else its defaults.

    Only the tables of the learner, of its league and of `game.num_envs` and `game.num_steps` count; the rest belongs to
    the task.

    Raises:
        ValueError: there is no such algorithm, or its file is wrong.
    """
    file = TUNED / f"{algorithm}.toml"
    if file.is_file():
        config: TrainConfig = read(TrainConfig, file)
        return config
    return replace(TrainConfig(learner=algorithm), game=DEFAULT_GAME)
