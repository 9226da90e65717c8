"""Measure the speed of learning."""

from __future__ import annotations

from dataclasses import dataclass

from agents.match.workers import cores
from experiments.speed.learner_rates import measure_learners

HELP = """\
Measure the speed of learning on this machine: this project's PPO and sb3-contrib's MaskablePPO with the same network,
the share of time that the games take, and the speed beside that of bare matrix products of the same sizes.

  python -m experiments learning_speed
"""


@dataclass(frozen=True)
class Config:
    """Settings of the measurement."""

    repeats: int = 3
    """Number of runs. Each run measures everything in turn, and the medians are shown."""
    seconds: float = 8.0
    """Seconds that each measurement takes at least."""
    num_envs: int = 4096
    """Games that this project's learner plays side by side."""
    num_threads: int = 0
    """Threads of torch and of the games; 0 uses every core that this process may use."""

    def __post_init__(self) -> None:
        if self.repeats < 1 or self.num_envs < 1 or self.seconds <= 0 or self.num_threads < 0:
            raise ValueError("repeats and num_envs must be at least 1, seconds above 0, num_threads at least 0")


def main(config: Config) -> int:
    """Measure, and print the report."""
    num_threads = config.num_threads or cores()
    print(measure_learners(config.repeats, config.seconds, config.num_envs, num_threads), flush=True)
    return 0
