"""Scores, learning curves and ratings of runs, read from the tables of one suite."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from agents.match.ratings import POINTS, strengths
from experiments.benchmark.run_statistics import Floats, Interval, normalized_score

RANDOM, EXPERT = "random", "expert"


@dataclass(frozen=True, eq=False)
class RunCurve:
    """The learning curve of one run at P points, the first of which is the untrained policy."""

    task: str
    algorithm: str
    seed: int
    decisions: Floats
    """(P,)"""
    seconds: Floats
    """(P,), wall-clock time spent on learning."""
    scores: Floats
    """(P,), 0 for a random policy and 1 for the expert."""
    exploitability: Floats
    """(P,), NaN where it is not known."""


def random_rates(runs: pa.Table) -> dict[str, float]:
    """By task the win rate of one seat of `random` at tables of `expert`, from rows of the table `runs`.

    Raises:
        ValueError: the rows of `random` are missing for a task, or there are several suites.
    """
    _check_one_suite(runs)
    wins: dict[str, float] = defaultdict(float)
    games: dict[str, int] = defaultdict(int)
    for row in _rows(runs, algorithm=RANDOM, opponent=EXPERT):
        wins[row["task"]] += row["wins"] * row["games"]
        games[row["task"]] += row["games"]
    if missing := [task for task in runs["task"].unique().to_pylist() if task not in games]:
        raise ValueError(f"runs table: there is no row of {RANDOM!r} against {EXPERT!r} for the task {missing[0]!r}")
    return {task: wins[task] / games[task] for task in games}


def final_scores(runs: pa.Table, at: str, greedy: bool = False) -> dict[str, dict[str, Floats]]:
    """By algorithm and task the normalized scores where a budget is spent, a value for each run, ordered by seed.

    Args:
        runs: rows of the table `runs`. Policies that have not learned are left out.
        at: the budget, `decisions` or `seconds`.
        greedy: score the greedy policies.
    """
    random = random_rates(runs)
    found: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for row in sorted(_rows(runs, opponent=EXPERT, at=at, greedy=greedy), key=lambda row: row["seed"]):
        if row["decisions"]:
            found[row["algorithm"]][row["task"]].append(_score(row, random))
    return {name: {task: np.array(scores) for task, scores in tasks.items()} for name, tasks in found.items()}


def run_curves(runs: pa.Table, greedy: bool = False) -> list[RunCurve]:
    """The learning curves of all runs at tables of the expert; policies that never learned are left out."""
    random = random_rates(runs)
    found: dict[tuple[str, str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(_rows(runs, opponent=EXPERT, at="curve", greedy=greedy), key=lambda row: row["point"]):
        found[row["task"], row["algorithm"], row["seed"]].append(row)
    return [
        RunCurve(
            *run,
            decisions=_column(rows, "decisions"),
            seconds=_column(rows, "wall_seconds"),
            scores=np.array([_score(row, random) for row in rows]),
            exploitability=_column(rows, "exploitability"),
        )
        for run, rows in found.items()
        if rows[-1]["decisions"]
    ]


def cross_cells(cross: pa.Table) -> dict[tuple[str, str], Interval]:
    """How often one seat of an algorithm wins at tables of another, the mean over pairs of their runs.

    The key is (algorithm, other algorithm). The ends are NaN where several pairs of runs have met.
    """
    found: dict[tuple[str, str], list[Interval]] = defaultdict(list)
    for row in cross.to_pylist():
        found[row["algorithm"], row["other_algorithm"]].append(Interval(row["wins"], row["low"], row["high"]))
    return {
        pair: cells[0] if len(cells) == 1 else Interval(float(np.mean([c.mean for c in cells])), np.nan, np.nan)
        for pair, cells in found.items()
    }


def cross_ratings(cross: pa.Table) -> dict[tuple[str, int], float]:
    """The rating of each run, (algorithm, seed), from rows of the table `cross` of one task; their mean is 0.

    Ratings are those of `agents.match.ratings`, which has intervals too if you have the matches themselves. A game
    without a winner counts as won by the other policy.

    Raises:
        ValueError: there are no rows, rows of several tasks, or runs that no chain of matches joins.
    """
    _check_one_suite(cross)
    if len(tasks := cross["task"].unique().to_pylist()) != 1:
        raise ValueError(f"cross table: ratings need the rows of one task, got {', '.join(tasks) or 'none'}")
    rows = [row for row in cross.to_pylist() if _one(row) != _other(row)]
    runs = list(dict.fromkeys(run for row in rows for run in (_one(row), _other(row))))
    if not runs:
        raise ValueError("cross table: ratings need at least one match between two runs, got none")
    tables, wins = [], []
    for row in rows:
        one, other = runs.index(_one(row)), runs.index(_other(row))
        tables.append(_at(len(runs), {one: 1, other: row["players"] - 1}))
        won = row["wins"] * row["games"]
        wins.append(_at(len(runs), {one: won, other: row["games"] - won}))
    _check_joined(runs, tables)
    return dict(zip(runs, (float(POINTS * value) for value in strengths(tables, wins)), strict=True))


def _one(row: dict[str, Any]) -> tuple[str, int]:
    return row["algorithm"], row["seed"]


def _other(row: dict[str, Any]) -> tuple[str, int]:
    return row["other_algorithm"], row["other_seed"]


def _at(size: int, values: dict[int, float]) -> Floats:
    array = np.zeros(size)
    array[list(values)] = list(values.values())
    return array


def _check_joined(runs: Sequence[tuple[str, int]], tables: Sequence[Floats]) -> None:
    met = {0}
    for _ in runs:
        met |= {int(run) for table in tables for run in np.flatnonzero(table) if met & set(np.flatnonzero(table))}
    if apart := [runs[run] for run in range(len(runs)) if run not in met]:
        raise ValueError(f"cross table: no chain of matches joins {runs[0]} and {apart[0]}")


def _rows(runs: pa.Table, **values: Any) -> list[dict[str, Any]]:
    """The rows with these values, as dictionaries."""
    kept = runs
    for column, value in values.items():
        kept = kept.filter(pc.field(column) == value)
    rows: list[dict[str, Any]] = kept.to_pylist()
    return rows


def _column(rows: Sequence[dict[str, Any]], name: str) -> Floats:
    """A column as numbers, NaN for empty values."""
    return np.array([row[name] for row in rows], np.float64)


def _score(row: dict[str, Any], random: dict[str, float]) -> float:
    return float(normalized_score(row["wins"], random[row["task"]], 1 / row["players"]))


def _check_one_suite(table: pa.Table) -> None:
    if len(suites := table["suite"].unique().to_pylist()) > 1:
        raise ValueError(f"rows of several suites can't be compared: {', '.join(suites)}")
