"""The progress bar of matches."""

from __future__ import annotations

import sys

from tqdm import tqdm


def progress_bar(games: int, hidden: bool = False) -> tqdm:
    """A bar on standard error for so many games; without a terminal, one line every ten seconds."""
    pause = 0.1 if sys.stderr.isatty() else 10.0
    return tqdm(total=games, unit=" games", unit_scale=True, mininterval=pause, disable=hidden)
