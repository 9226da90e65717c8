"""One bench run: which contestants race, and the report of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, TextIO

from experiments.core_speed.callgrind import INSTRUCTION_RUNS, check_available, instruction_figures
from experiments.core_speed.peers import check_installed, peer_contestants, peer_figures
from uno_flex_env.bench.aec_speed import aec_contestants, aec_figures
from uno_flex_env.bench.batch_speed import (
    batch_contestants,
    batch_figures,
    playout_contestants,
    playout_figures,
    search_contestants,
    search_figures,
)
from uno_flex_env.bench.measure import race
from uno_flex_env.bench.progress import Progress
from uno_flex_env.bench.report import as_json, load
from uno_flex_env.bench.startup import start_contestants, start_figures


@dataclass(frozen=True)
class Settings:
    """What a bench run measures, and how long."""

    games: int = 1024
    large: int | None = 16_384
    """Games of a second, larger batch; None for none."""
    threads: int = 2
    """Of the contestants with more than one; 1 leaves them out."""
    runs: int = 7
    seconds: float = 0.2
    """Of each contestant in each run."""
    peers: bool = False
    instructions: bool = False


QUICK = Settings(games=256, large=None, runs=3, seconds=0.02)
"""Enough to see that everything can be measured; the figures are rough."""


def bench(settings: Settings, stream: TextIO) -> dict[str, Any]:
    """Measure everything and tell the stream how far it is. The report as JSON."""
    if settings.peers:
        check_installed()
    if settings.instructions:
        check_available()
    before = load()
    contestants = [
        *batch_contestants(settings.games, settings.large, settings.threads),
        *playout_contestants(settings.threads),
        *search_contestants(),
        *aec_contestants(),
        *(peer_contestants() if settings.peers else []),
        *start_contestants(),
    ]
    with Progress(len(contestants) * (settings.runs + 1), "runs", stream) as progress:
        values = race(contestants, settings.runs, settings.seconds, progress.advance)
    figures = [
        *batch_figures(values, settings.games, settings.large, settings.threads),
        *playout_figures(values, settings.threads),
        *search_figures(values),
        *aec_figures(values),
        *(peer_figures(values) if settings.peers else []),
        *start_figures(values),
    ]
    if settings.instructions:
        with Progress(INSTRUCTION_RUNS, "runs of callgrind", stream) as progress:
            figures += instruction_figures(progress.advance)
    return as_json(figures, asdict(settings), (before, load()))
