"""The tables of results as Markdown: what each algorithm reached on each task, and what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from experiments.benchmark.run_scores import EXPERT, RunCurve, cross_ratings, final_scores, random_rates, run_curves
from experiments.benchmark.run_statistics import (
    Floats,
    Interval,
    first_reached,
    hierarchical_difference,
    hierarchical_interval,
    interquartile_mean,
    normalized_score,
    probability_of_improvement,
    stratified_interval,
)
from experiments.benchmark.tables import wins_by_deal

BUDGETS = {"decisions": "the budget of decisions", "seconds": "the budget of processor time"}

DEALT: dict[str, Any] = {"opponent": EXPERT, "greedy": False}


@dataclass(frozen=True, eq=False)
class Results:
    """The tables of one suite, with what is read from them again and again."""

    tables: Mapping[str, pa.Table]

    @property
    def runs(self) -> pa.Table:
        """The table `runs`."""
        return self.tables["runs"]

    @property
    def tasks(self) -> list[str]:
        """The tasks, by name."""
        return sorted(self.runs["task"].unique().to_pylist())

    @property
    def algorithms(self) -> list[str]:
        """Those that have learned, by name."""
        return sorted(self.runs.filter(pc.field("decisions") > 0)["algorithm"].unique().to_pylist())

    def common(self, at: str) -> dict[str, list[Floats]]:
        """By algorithm the scores of its runs on each task, for the algorithms that have runs on all tasks."""
        scores = final_scores(self.runs, at)
        return {
            name: [scores[name][task] for task in self.tasks]
            for name in self.algorithms
            if all(task in scores.get(name, {}) for task in self.tasks)
        }

    def by_deal(self, task: str, algorithm: str, at: str, **kept: Any) -> Floats:
        """The share of each deal's games that one seat wins, (runs, D)."""
        rows = _only(self.tables["deals"], task=task, algorithm=algorithm, at=at, **(DEALT | kept))
        return wins_by_deal(rows.sort_by("seed"))

    def scores_by_deal(self, task: str, algorithm: str, at: str) -> Floats:
        """The normalized score of each run in each deal, (runs, D)."""
        rows = _only(self.runs, task=task)
        fair = 1 / rows["players"][0].as_py()
        return normalized_score(self.by_deal(task, algorithm, at), random_rates(rows)[task], fair)


def results_text(results: Results, suite: str) -> str:
    """The whole page."""
    parts = [f"# Results of the suite {suite}", INTRODUCTION]
    if len(results.tasks) > 1 and results.common("decisions"):
        parts += ["## All tasks", *(_overall(results, at) for at in BUDGETS)]
    for task in results.tasks:
        parts += [f"## {task}", *(_task(results, task, at) for at in BUDGETS), _costs(results, task)]
        parts += _cross(results, task) + _exploited(results, task)
    return "\n\n".join(parts) + "\n"


INTRODUCTION = """\
Written by `python -m experiments benchmark report`. Wins are those of one seat, in percent, on the same deals for all
policies. Intervals are 95 %: a hierarchical bootstrap over runs and deals, or a bootstrap over runs where it says so. A
score of 0 is that of `random`, a score of 1 that of `expert`."""


def _overall(results: Results, at: str) -> str:
    scores = results.common(at)
    order = sorted(scores, key=lambda name: -float(interquartile_mean(np.concatenate(scores[name]))))
    best = order[0]
    rows = []
    for name in order:
        deals = [results.scores_by_deal(task, name, at) for task in results.tasks]
        first = [results.scores_by_deal(task, best, at) for task in results.tasks]
        over_runs, over_deals = stratified_interval(scores[name]), hierarchical_interval(deals)
        behind = "" if name == best else _interval(hierarchical_difference(deals, first), 3)
        better = "" if name == best else _interval(probability_of_improvement(scores[best], scores[name]), 2)
        rows.append([f"`{name}`", _interval(over_runs, 3), _interval(over_deals, 3), behind, better])
    heads = ["algorithm", "interquartile mean over runs", "mean over runs and deals", f"difference from `{best}`"]
    heads.append(f"probability that a run of `{best}` is better")
    return f"Scores at {BUDGETS[at]}:\n\n" + markdown_table(heads, rows)


def _task(results: Results, task: str, at: str) -> str:
    rows_of = _only(results.runs, task=task, at=at)
    opponents = [name for name in dict.fromkeys(rows_of["opponent"].to_pylist()) if name != EXPERT]
    exact = _only(results.runs, task=task, at="curve")["exploitability"].null_count < len(
        _only(results.runs, task=task)
    )
    lines = []
    for name in results.algorithms:
        if not (seeds := len(_only(rows_of, algorithm=name, **DEALT))):
            continue
        greedy = _only(rows_of, algorithm=name, opponent=EXPERT, greedy=True).num_rows
        line = [f"`{name}`", str(seeds), _percent(hierarchical_interval([results.by_deal(task, name, at)]))]
        line.append(_percent(hierarchical_interval([results.by_deal(task, name, at, greedy=True)])) if greedy else "")
        line += [_mean_percent(_only(rows_of, algorithm=name, opponent=other, greedy=False)) for other in opponents]
        if exact:
            line.append(_exact(_only(rows_of, algorithm=name, **DEALT)))
        lines.append(line)
    lines.sort(key=lambda line: -float(line[2].split()[0]))
    heads = ["algorithm", "runs", "wins against `expert`", "the same, greedy", *(f"`{name}`" for name in opponents)]
    return f"At {BUDGETS[at]}:\n\n" + markdown_table([*heads, *(["exploitability"] if exact else [])], lines)


def _costs(results: Results, task: str) -> str:
    curves = [curve for curve in run_curves(_only(results.runs, task=task)) if curve.task == task]
    lines = []
    for name in results.algorithms:
        runs = [curve for curve in curves if curve.algorithm == name]
        rows = _only(results.runs, task=task, algorithm=name, at="curve").to_pylist()
        if not runs:
            continue
        ends = [row for row in rows if row["point"] == max(row["point"] for row in rows)]
        rates = [row["decisions"] / row["cpu_seconds"] for row in ends if row["cpu_seconds"]]
        memory = max(row["peak_memory_mib"] for row in ends)
        speed = f"{np.median(rates):,.0f}" if rates else ""
        lines.append([f"`{name}`", speed, *_reached(runs), f"{ends[0]['parameters']:,}", f"{memory:,.0f}"])
    heads = ["algorithm", "decisions a second and core", "million decisions to `expert`", "minutes to `expert`"]
    return "What it cost (medians over runs):\n\n" + markdown_table([*heads, "parameters", "peak memory, MiB"], lines)


def _reached(runs: Sequence[RunCurve]) -> list[str]:
    decisions = float(np.median([first_reached(run.decisions, run.scores) for run in runs]))
    seconds = float(np.median([first_reached(run.seconds, run.scores) for run in runs]))
    return [f"{decisions / 1e6:.1f}", f"{seconds / 60:.1f}"] if np.isfinite(decisions) else ["not reached"] * 2


def _cross(results: Results, task: str) -> list[str]:
    cross = _only(results.tables["cross"], task=task) if "cross" in results.tables else None
    if not cross or not cross.num_rows:
        return []
    ratings = cross_ratings(cross)
    names = sorted({name for name, _ in ratings})
    mean = {name: float(np.mean([value for (run, _), value in ratings.items() if run == name])) for name in names}
    rows = []
    for name in sorted(names, key=lambda name: -mean[name]):
        values = [value for (run, _), value in ratings.items() if run == name]
        rows.append([f"`{name}`", f"{mean[name]:+.0f}", f"{min(values):+.0f} to {max(values):+.0f}"])
    title = "Ratings from cross-play, run against run (mean 0; 400 points are odds of ten to one):"
    return [title, markdown_table(["algorithm", "mean of its runs", "lowest to highest run"], rows)]


def _exploited(results: Results, task: str) -> list[str]:
    table = _only(results.tables["exploiters"], task=task) if "exploiters" in results.tables else None
    if not table or not table.num_rows:
        return []
    lines = []
    for name in sorted(set(table["algorithm"].to_pylist())):
        rows = _only(table, algorithm=name).to_pylist()
        gains = [row["wins"] - 1 / row["players"] for row in rows]
        lines.append([f"`{name}`", str(len(rows)), f"{100 * np.mean(gains):+.1f}", f"{100 * max(gains):+.1f}"])
    lines.sort(key=lambda line: float(line[2]))
    first = table.to_pylist()[0]
    about = f"{first['exploiters']} exploiters with {first['exploiter_decisions']:,} decisions each"
    title = f"What exploiters gain, in points above the fair share ({about}, the best one counts):"
    return [title, markdown_table(["algorithm", "runs", "mean over runs", "the most"], lines)]


def _only(table: pa.Table, **values: Any) -> pa.Table:
    """The rows with these values."""
    for column, value in values.items():
        table = table.filter(pc.field(column) == value)
    return table


def _percent(value: Interval) -> str:
    return _interval(Interval(*(100 * x for x in (value.mean, value.low, value.high))), 1)


def _interval(value: Interval, digits: int) -> str:
    """The value with its interval, which a single run does not have."""
    ends = f" [{value.low:.{digits}f}, {value.high:.{digits}f}]" if np.isfinite(value.low) else ""
    return f"{value.mean:.{digits}f}{ends}"


def _mean_percent(rows: pa.Table) -> str:
    return f"{100 * pc.mean(rows['wins']).as_py():.1f}" if rows.num_rows else ""


def _exact(rows: pa.Table) -> str:
    known = [value for value in rows["exploitability"].to_pylist() if value is not None]
    return f"{np.mean(known):.4f}" if known else ""


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
