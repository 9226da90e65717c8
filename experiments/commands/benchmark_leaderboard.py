"""Make the page of the leaderboard."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agents.atomic import write_whole
from experiments.benchmark.leaderboard import find_entries, leaderboard_text

HELP = """\
Make the page of the leaderboard from the folders of its entries. Nothing is measured: `benchmark check` does that.

  python -m experiments benchmark leaderboard
"""


@dataclass(frozen=True)
class Config:
    """Settings of the page."""

    entries: Path = Path("docs/leaderboard")
    """The folder of the entries. The page is README.md in it."""


def main(config: Config) -> int:
    """Write the page, and print it."""
    entries = find_entries(config.entries)
    if not entries:
        raise ValueError(f"{config.entries} has no entries; `benchmark submit` makes them")
    text = leaderboard_text(entries)
    write_whole(config.entries / "README.md", text.encode())
    print(text, flush=True)
    return 0
