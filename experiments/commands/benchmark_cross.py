"""Let the final policies of a suite's runs play each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from agents.match.workers import cores
from experiments.benchmark.cross_play import cross_pairs
from experiments.benchmark.job_runner import run_jobs
from experiments.benchmark.suite_cells import finished_cells
from uno_flex_env.options import check_whole

HELP = """\
Let the final policies of a suite's runs play each other, run against run: one takes one seat, the other all other
seats. The policies are those at the end of the budget of decisions. `benchmark report` makes a matrix and ratings.

  python -m experiments benchmark cross smoke
  python -m experiments benchmark cross core --workers 2

Call it when `benchmark run` has finished some runs; a later call adds the matches of new runs.
"""


@dataclass(frozen=True)
class Config:
    """Settings of cross-play."""

    suite: tyro.conf.Positional[str] = "core"
    """The suite whose finished runs play."""
    runs: Path = Path("runs/benchmark")
    """The folder in which each suite has its folder."""
    workers: int = 0
    """Processes that run side by side; 0 for one on each core."""

    def __post_init__(self) -> None:
        check_whole("workers", self.workers, 0, 1024)


def main(config: Config) -> int:
    """Play the matches that are missing; return 1 if some could not be played."""
    pairs = cross_pairs(finished_cells(config.suite, config.runs))
    return int(run_jobs(pairs, config.workers or cores()) > 0)
