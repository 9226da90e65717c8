"""Train every algorithm on every task of a suite."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from agents.match.workers import cores
from experiments.benchmark.job_runner import run_jobs
from experiments.benchmark.suite_cells import check_suite, choose_cells
from uno_flex_env.options import check_whole

HELP = """\
Train every algorithm on every task of a suite, with several seeds, and measure all runs on the same deals.

  python -m experiments benchmark run smoke
  python -m experiments benchmark run core --workers 2
  python -m experiments benchmark run core --tasks full-2 --algorithms ppo dqn --seeds 1 2 3
  python -m experiments benchmark run smoke --algorithms docs.reinforce:Reinforce

A run, or cell, has one thread. It ends when its budgets of decisions and of processor seconds are both spent, and is
measured along its way. Its folder is runs/benchmark/SUITE/TASK/ALGORITHM/SEED, and works as that of `train`. You can
end or kill the command at any time, and start it again to continue. `benchmark report` makes tables and figures.
"""


@dataclass(frozen=True)
class Config:
    """Settings of the runs of a suite."""

    suite: tyro.conf.Positional[str] = "core"
    """smoke: checks in a minute that everything runs; core: what is published; long: more players, and memory."""
    tasks: tuple[str, ...] = ()
    """Tasks of the suite; all if you name none."""
    algorithms: tuple[str, ...] = ()
    """Learners, also module:Class; those of the suite if you name none."""
    seeds: tuple[int, ...] = ()
    """Seeds of the runs; those of the suite if you name none."""
    runs: Path = Path("runs/benchmark")
    """The folder in which each suite has its folder."""
    workers: int = 0
    """Cells that run side by side; 0 for one on each core."""

    def __post_init__(self) -> None:
        check_whole("workers", self.workers, 0, 1024)
        for seed in self.seeds:
            check_whole("seeds", seed, 1, (1 << 63) - 1)


def main(config: Config) -> int:
    """Run the cells; return 1 if some of them could not be run."""
    cells = choose_cells(config.suite, config.runs, config.tasks, config.algorithms, config.seeds)
    check_suite(config.suite, config.runs)
    return int(run_jobs(cells, config.workers or cores()) > 0)
