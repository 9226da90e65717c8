"""The speed of the environments beside RLCard's, and the instructions that a decision costs."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from agents.atomic import write_whole
from experiments.speed.callgrind import INSTRUCTION_RUNS, check_available, instruction_figures
from experiments.speed.peers import check_installed, peer_contestants, peer_figures
from uno_flex_env.bench.measure import Figure, race
from uno_flex_env.bench.report import as_json, as_table, load
from uno_flex_env.progress import Progress

HELP = """\
Compare the speed of the environments with RLCard's UNO, and count the instructions that a decision costs. The first
needs RLCard (pip install rlcard==1.2.0), the second needs Valgrind. `python -m uno_flex_env bench` measures the rest.

  python -m experiments core_speed
  python -m experiments core_speed --no-rlcard --instructions
"""


@dataclass(frozen=True)
class Config:
    """Settings of the measurement."""

    rlcard: bool = True
    """Measure the environments and RLCard's UNO in turn."""
    instructions: bool = False
    """Count the instructions of a decision with Callgrind, which takes minutes."""
    runs: int = 7
    """Number of runs. Each run measures everything in turn, and the medians are shown."""
    seconds: float = 0.2
    """Seconds for each measurement in a run."""
    json: Path | None = None
    """A JSON file to write, with everything that was measured."""

    def __post_init__(self) -> None:
        if not (self.rlcard or self.instructions):
            raise ValueError("nothing to measure: rlcard and instructions are both off")
        if self.runs < 1:
            raise ValueError(f"runs must be at least 1, got {self.runs}")
        if not 0.001 <= self.seconds <= 60:
            raise ValueError(f"seconds must be from 0.001 to 60, got {self.seconds}")


def main(config: Config) -> int:
    """Measure and print a table."""
    if config.rlcard:
        check_installed()
    if config.instructions:
        check_available()
    if config.json is not None:
        config.json.open("a").close()  # refused now and not after minutes
    before = load()
    figures = _beside_rlcard(config) if config.rlcard else []
    if config.instructions:
        with Progress(INSTRUCTION_RUNS, "runs of callgrind", sys.stderr) as progress:
            figures += instruction_figures(progress.advance)
    settings = asdict(config) | {"json": None}
    report = as_json(figures, settings, (before, load()))
    if config.json is not None:
        write_whole(config.json, json.dumps(report, indent=1).encode() + b"\n")
    print(as_table(report), flush=True)
    return 0


def _beside_rlcard(config: Config) -> list[Figure]:
    contestants = peer_contestants()
    with Progress(len(contestants) * (config.runs + 1), "runs", sys.stderr) as progress:
        return peer_figures(race(contestants, config.runs, config.seconds, progress.advance))
