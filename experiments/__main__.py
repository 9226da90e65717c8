"""The commands: python -m experiments train."""

from __future__ import annotations

import sys
from pathlib import Path

import tyro

from experiments.config import read
from experiments.evaluate import table
from experiments.train import TrainConfig, train

HELP = """\
Train an agent: sb3-contrib's MaskablePPO learns one seat of UNO Flex, against a rule bot and then against snapshots of
itself. Ends with a table of win rates against every rule bot.

  python -m experiments train --config configs/train/quick.toml
  python -m experiments train --config configs/train/quick.toml --name wide --hidden 512 512 --seed 2
  tensorboard --logdir runs

--config FILE reads the settings that differ from the defaults, by the names of the flags below (with _ for -). A flag
goes before the file. Results: runs/NAME/model.pt, config.json and TensorBoard events.
"""


def main(arguments: list[str]) -> int:
    """Run a command; its exit status."""
    if arguments[:1] != ["train"]:
        print("usage: python -m experiments train [--config FILE] [flags]; train --help lists them", file=sys.stderr)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    try:
        config = parse(arguments[1:])
    except (OSError, ValueError) as error:
        print(f"python -m experiments train: {error}", file=sys.stderr)
        return 2
    try:
        folder, rates = train(config)
    except KeyboardInterrupt:
        return 130
    print(table(rates))
    print(f"network and TensorBoard events: {folder}")
    return 0


def parse(arguments: list[str]) -> TrainConfig:
    """The settings: defaults, then those of the file that --config names, then flags."""
    default, rest = TrainConfig(), list(arguments)
    if "--config" in rest:
        at = rest.index("--config")
        if at + 1 == len(rest):
            raise ValueError("--config needs a file")
        default = read(TrainConfig, Path(rest[at + 1]))
        del rest[at : at + 2]
    return tyro.cli(TrainConfig, args=rest, default=default, prog="python -m experiments train", description=HELP)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
