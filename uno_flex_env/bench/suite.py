"""The measurements of `python -m uno_flex_env bench`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, TextIO

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
from uno_flex_env.bench.report import as_json, load
from uno_flex_env.bench.startup import start_contestants, start_figures
from uno_flex_env.progress import Progress


@dataclass(frozen=True)
class Settings:
    """What a benchmark measures, and for how long."""

    games: int = 1024
    large: int | None = 16_384
    """Games in a second, larger batch; None leaves it out."""
    threads: int = 2
    """Threads of the measurements with several threads; 1 leaves these out."""
    runs: int = 7
    seconds: float = 0.2
    """Time for each measurement in each run."""


QUICK = Settings(games=256, large=None, runs=3, seconds=0.02)
"""Shows that everything can be measured; the figures are rough."""


def bench(settings: Settings, stream: TextIO) -> dict[str, Any]:
    """Measure everything, report progress to `stream`, and return the results as `report.as_json` lays them out."""
    before = load()
    contestants = [
        *batch_contestants(settings.games, settings.large, settings.threads),
        *playout_contestants(settings.threads),
        *search_contestants(),
        *aec_contestants(),
        *start_contestants(),
    ]
    with Progress(len(contestants) * (settings.runs + 1), "runs", stream) as progress:
        values = race(contestants, settings.runs, settings.seconds, progress.advance)
    figures = [
        *batch_figures(values, settings.games, settings.large, settings.threads),
        *playout_figures(values, settings.threads),
        *search_figures(values),
        *aec_figures(values),
        *start_figures(values),
    ]
    return as_json(figures, asdict(settings), (before, load()))
