"""Going on with a run that was interrupted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from experiments.commands.train import CHECKPOINT, load_config, run

HELP = """\
Go on with a training run that was killed, exactly where its last checkpoint was made; all settings are the run's own.

  python -m experiments resume runs/quick
"""


@dataclass(frozen=True)
class Config:
    """Which run."""

    run: tyro.conf.Positional[Path] = Path("runs/quick")
    """Its folder."""


def main(config: Config) -> int:
    """The command."""
    settings = load_config(config.run)
    if settings.learner != "ppo":
        raise ValueError(f"{config.run} was trained by {settings.learner}, whose runs can't be resumed")
    if not (config.run / CHECKPOINT).is_file():
        raise ValueError(f"{config.run} can't be resumed: there is no {CHECKPOINT} in it")
    return run(settings, config.run, resume=True)
