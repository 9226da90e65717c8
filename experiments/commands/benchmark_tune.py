"""Tune algorithms for the benchmark."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agents.atomic import write_whole
from agents.match.workers import cores
from experiments.benchmark.job_runner import run_jobs
from experiments.benchmark.tuned import TUNED
from experiments.benchmark.tuning import SPACES, best_knobs, check_algorithms, final_trials, first_trials, tuned_file
from uno_flex_env.options import check_whole

HELP = """\
Tune algorithms for the benchmark, with the same effort for each: 16 settings, the defaults and random ones, learn from
2 million decisions of full-2; the best three do so with three other seeds; the best of these is written to
configs/benchmark/tuned/ALGORITHM.toml, which `benchmark run` uses. A setting is judged by its win rate at tables of
expert, on deals that nothing else uses.

  python -m experiments benchmark tune --algorithms ppo dqn

You can end or kill the command at any time, and start it again to continue.
"""


@dataclass(frozen=True)
class Config:
    """Settings of the tuning."""

    algorithms: tuple[str, ...] = ()
    """The algorithms to tune; all that have a declared space if you name none."""
    runs: Path = Path("runs/benchmark/tuning")
    """The folder of the trials."""
    write: bool = True
    """Write the settings that are found. Otherwise they are only printed."""
    workers: int = 0
    """Trials that run side by side; 0 for one on each core."""

    def __post_init__(self) -> None:
        check_algorithms(self.algorithms)
        check_whole("workers", self.workers, 0, 1024)


def main(config: Config) -> int:
    """Run all trials, then write the settings; return 1 if a trial could not be run."""
    workers = config.workers or cores()
    for algorithm in config.algorithms or tuple(SPACES):
        for trials in (first_trials, final_trials):
            if run_jobs(trials(algorithm, config.runs), workers):
                return 1
        text = tuned_file(algorithm, best_knobs(algorithm, config.runs))
        print(f"\n{text}", flush=True)
        if config.write:
            TUNED.mkdir(parents=True, exist_ok=True)
            write_whole(TUNED / f"{algorithm}.toml", text.encode())
    return 0
