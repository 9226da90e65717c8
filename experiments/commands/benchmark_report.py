"""Tables and figures of a suite's results."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import tyro

from agents.atomic import write_whole
from experiments.benchmark.collect import collect, merged, of_suite
from experiments.benchmark.marl_eval import marl_eval_results
from experiments.benchmark.report_figures import figures
from experiments.benchmark.results_text import Results, results_text
from experiments.benchmark.tables import write_table
from experiments.plot_style import image

HELP = """\
Collect the results of a suite into tables, and write what they say as text and figures.

  python -m experiments benchmark report smoke
  python -m experiments benchmark report core --to docs/benchmark

The folder gets runs, deals, cross, exploiters and tuning as Parquet, results.md and the figures. Rows that are there
already stay, unless the runs have newer ones, so several machines can add their results. --marl-eval FILE also writes
the results in the JSON format of the library marl-eval.
"""


@dataclass(frozen=True)
class Config:
    """Settings of the report."""

    suite: tyro.conf.Positional[str] = "core"
    """The suite."""
    runs: Path = Path("runs/benchmark")
    """The folder in which each suite has its folder."""
    to: Path | None = None
    """Where the tables, text and figures go; None for runs/benchmark/SUITE/report."""
    marl_eval: Path | None = None
    """A file for marl-eval; None for none."""


def main(config: Config) -> int:
    """Write everything, and print the text."""
    to = config.to or config.runs / config.suite / "report"
    tables = merged(collect(config.suite, config.runs), to)
    results = Results(of_suite(tables, config.suite))
    text = results_text(results, config.suite)
    exported = marl_eval_results(results.runs) if config.marl_eval else None
    to.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        write_table(to, name, table)
    write_whole(to / "results.md", text.encode())
    for name, figure in figures(results):
        write_whole(to / name, image(figure))
    if config.marl_eval:
        write_whole(config.marl_eval, json.dumps(exported, indent=1).encode() + b"\n")
    print(text)
    print(f"results: {to}", flush=True)
    return 0
