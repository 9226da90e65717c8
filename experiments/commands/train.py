"""Train an agent by self-play, or continue a run."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

from experiments.trained_rules import compare_rules
from experiments.training.advice import report_unfinished
from experiments.training.train_config import TrainConfig
from experiments.training.training_run import begin, resume, run

HELP = """\
Train an agent by self-play with PPO. It plays thousands of games at once and learns from all seats. The run ends with a
table of win rates.

  python -m experiments train --config configs/train/quick.toml
  python -m experiments train --config configs/train/four_players.toml --name wide --network.width 512 --seed 2
  python -m experiments train --resume runs/quick        continue an interrupted run, bit for bit
  tensorboard --logdir runs

The folder runs/NAME gets policy.safetensors, config.json, metrics.jsonl and TensorBoard events. In other commands the
policy runs/NAME samples actions with the network's probabilities, and runs/NAME:greedy always takes the likeliest one.
The charts and the final table measure runs/NAME:greedy.
"""


@dataclass(frozen=True)
class Config(TrainConfig):
    """Settings of a training run, or the run to continue."""

    resume: Path | None = None
    """Continue the run in this folder with the settings that it has. The only other flag that you can give is
    --num-threads; with another number of threads than before, the run does not continue bit for bit."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.resume is None:
            return
        default = Config()
        names = [field.name for field in fields(TrainConfig) if field.name != "num_threads"]
        given = [name for name in names if getattr(self, name) != getattr(default, name)]
        if given:
            raise ValueError(f"resume continues a run with its own settings: leave out {', '.join(given)}")

    def settings(self) -> TrainConfig:
        """The settings of a new run."""
        return TrainConfig(**{field.name: getattr(self, field.name) for field in fields(TrainConfig)})


def main(config: Config) -> int:
    """Run the command."""
    if config.resume is not None:
        return resume(config.resume, config.num_threads)
    settings = config.settings()
    known = [*settings.baselines, *settings.league.opponents, *filter(None, [settings.init_from])]
    compare_rules(known, settings.game.rules, other_rules=True)
    report_unfinished(settings)
    return run(settings, begin(settings))
