"""Rows of the benchmark's table `runs` for planted runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

RANDOM_RATE = 0.1
"""The win rate of `random` at tables of `expert` in these rows, at two players."""


def run_row(algorithm: str, seed: int, wins: float, **columns: Any) -> dict[str, Any]:
    """A row of one run at a table of the expert; `columns` replace what is there."""
    return {
        "suite": "core",
        "suite_version": 1,
        "task": "full-2",
        "algorithm": algorithm,
        "seed": seed,
        "point": 20,
        "at": "decisions",
        "decisions": 1000,
        "wall_seconds": 10.0,
        "cpu_seconds": 20.0,
        "opponent": "expert",
        "players": 2,
        "greedy": False,
        "games": 2000,
        "wins": wins,
        "low": wins,
        "high": wins,
        "exploitability": None,
        "parameters": 616_665,
        "peak_memory_mib": 900.0,
        "machine": "two cores",
        "core_decisions_per_second": 1e7,
        "matmul_gflops": 50.0,
        "package_version": "0.2.0",
        "torch_version": "2.8.0",
    } | columns


def random_row(task: str = "full-2") -> dict[str, Any]:
    """The row of the random policy."""
    return run_row("random", 0, RANDOM_RATE, task=task, point=0, decisions=0, wall_seconds=0.0, cpu_seconds=0.0)


def learned_rows(algorithm: str, seed: int, scores: Sequence[float], **columns: Any) -> list[dict[str, Any]]:
    """The rows of a run with these normalized scores along its curve, and of its end by both budgets.

    The points are 1000 decisions and 10 seconds apart."""
    wins = [RANDOM_RATE + score * (0.5 - RANDOM_RATE) for score in scores]
    curve = [
        run_row(algorithm, seed, rate, point=k, at="curve", decisions=1000 * k, wall_seconds=10.0 * k, **columns)
        for k, rate in enumerate(wins)
    ]
    ends = [
        run_row(algorithm, seed, wins[-1], at=at, decisions=1000 * len(wins), games=20_000, **columns)
        for at in ("decisions", "seconds")
    ]
    return curve + ends
