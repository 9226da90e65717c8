"""Measure an entry of the leaderboard again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from experiments.benchmark.submission import Entry, agrees

HELP = """\
Measure the policies of some entries of the leaderboard again, at tables of all yardsticks, and write the rates to
checked.parquet in their folders. The status is 1 if a measured win rate lies outside of the claimed interval.

  python -m experiments benchmark check docs/leaderboard/my_ppo

No code of an entry is run.
"""


@dataclass(frozen=True)
class Config:
    """Settings of the check."""

    folders: tyro.conf.Positional[tuple[Path, ...]]
    """The folders of the entries."""

    def __post_init__(self) -> None:
        if not self.folders:
            raise ValueError("folders must name one entry or more")


def main(config: Config) -> int:
    """Measure and compare; return 1 if an entry claims other win rates."""
    entries, wrong = [Entry.read(folder) for folder in config.folders], 0
    for entry in entries:
        print(entry.card.name, flush=True)
        for claimed, found in entry.check():
            fits = agrees(claimed, found)
            wrong += not fits
            rates = f"claimed {100 * claimed['wins']:5.1f} %, measured {100 * found['wins']:5.1f} %"
            print(f"  {found['opponent']:16} {rates}{'' if fits else '  DIFFERS'}", flush=True)
    return int(wrong > 0)
