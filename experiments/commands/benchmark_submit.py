"""Pack a policy for the leaderboard."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from experiments.benchmark.submission import Card, submit

HELP = """\
Pack a policy for the leaderboard: its file, a card, and its win rates against all yardsticks. The rates are those of a
finished run of `benchmark run core`; any other network or ONNX file is measured now, which takes some minutes.

  python -m experiments benchmark submit runs/benchmark/core/full-2/ppo/1 --name my_ppo --author "A. Player" \\
    --task full-2 --algorithm "PPO, tuned" --decisions 10_000_000
  python -m experiments benchmark submit onnx:net.onnx:greedy --name my_net --author "A. Player" --task full-4 \\
    --algorithm "my own"

The entry is the folder docs/leaderboard/NAME. `benchmark check` measures it again, and `benchmark leaderboard` makes
the page.
"""


@dataclass(frozen=True)
class Config:
    """Settings of an entry."""

    policy: tyro.conf.Positional[str]
    """The folder of a run, or onnx:FILE; with :greedy behind it, it always takes its most probable action."""
    name: str
    """The name of the entry and of its folder."""
    author: str
    """Who made it."""
    task: str
    """The task of the suite core that it plays, such as full-2."""
    algorithm: str
    """How it was trained, in a few words."""
    description: str = ""
    """More about it."""
    decisions: int = 0
    """From how many decisions it has learned; 0 if that is not known."""
    to: Path = Path("docs/leaderboard")
    """The folder of the entries."""

    def __post_init__(self) -> None:
        self.card()

    def card(self) -> Card:
        """The card of the entry."""
        about = self.name, self.author, self.task, self.algorithm, self.description, self.decisions
        return Card(*about)


def main(config: Config) -> int:
    """Write the entry, and print where it is."""
    entry = submit(config.policy, config.card(), config.to)
    for name, row in entry.rows().items():
        print(f"{name:16} {100 * row['wins']:5.1f} % [{100 * row['low']:.1f}, {100 * row['high']:.1f}]")
    print(f"entry: {entry.folder}", flush=True)
    return 0
