"""Results in the JSON format of marl-eval (id-marl-eval 0.0.4; Gorsane et al., arXiv:2209.10485)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from experiments.benchmark.run_scores import EXPERT, random_rates
from experiments.benchmark.run_statistics import normalized_score

ENVIRONMENT = "uno_flex"
"""The name of the environment. marl-eval looks for names in lower case."""

Json = dict[str, Any]


def marl_eval_results(runs: pa.Table, at: str = "decisions", greedy: bool = False) -> Json:
    """Learning curves and final results at tables of `expert`, as the input of marl-eval.

    The levels are environment, task, algorithm, `run_SEED`, then `step_K` in the order of the curve, and last
    `absolute_metrics`. Each step has a `step_count` in decisions and lists of one value: `win_rate` and the normalized
    `score`. marl-eval means the best policy of a run by its absolute metrics; here it is the final one, since a
    benchmark that picks the best point overstates it.

    Args:
        runs: rows of the table `runs` of one suite. Policies that never learned are left out.
        at: the budget at whose end the absolute metrics are measured, `decisions` or `seconds`.
        greedy: results of the greedy policies.

    Raises:
        ValueError: marl-eval can't read the result: tasks differ in their algorithms, or algorithms in their numbers
            of runs or points; or a run has no end.
    """
    tasks, ends = _read(runs, at, greedy)
    for task, algorithms in tasks.items():
        for algorithm, seeds in algorithms.items():
            for run, steps in seeds.items():
                if (task, algorithm, run) not in ends:
                    raise ValueError(f"runs table: no row at {at!r} for {task}, {algorithm}, {run}")
                steps["absolute_metrics"] = ends[task, algorithm, run]
    _check_even(tasks)
    return {ENVIRONMENT: tasks}


def _read(runs: pa.Table, at: str, greedy: bool) -> tuple[Json, dict[tuple[str, str, str], Json]]:
    """The steps by task, algorithm and run, and the metrics of each run where the budget `at` is spent."""
    random = random_rates(runs)
    order = [(column, "ascending") for column in ("task", "algorithm", "seed", "point")]
    rows = runs.filter((pc.field("opponent") == EXPERT) & (pc.field("greedy") == greedy)).sort_by(order).to_pylist()
    learned = {(row["task"], row["algorithm"]) for row in rows if row["decisions"]}
    tasks: Json = {}
    ends: dict[tuple[str, str, str], Json] = {}
    for row in rows:
        task, algorithm, run = row["task"], row["algorithm"], f"run_{row['seed']}"
        if (task, algorithm) not in learned:
            continue
        score = float(normalized_score(row["wins"], random[task], 1 / row["players"]))
        metrics = {"win_rate": [row["wins"]], "score": [score]}
        steps = tasks.setdefault(task, {}).setdefault(algorithm, {}).setdefault(run, {})
        if row["at"] == "curve":
            steps[f"step_{len(steps) + 1}"] = {"step_count": row["decisions"], **metrics}
        elif row["at"] == at:
            ends[task, algorithm, run] = metrics
    return tasks, ends


def _check_even(tasks: Json) -> None:
    """ValueError unless all tasks have the same algorithms, and all algorithms as many runs and points."""
    first: dict[str, tuple[str, Any]] = {}
    for task, algorithms in tasks.items():
        _same(first, "algorithms", task, sorted(algorithms))
        for algorithm, runs in algorithms.items():
            _same(first, "runs", f"{task}, {algorithm}", len(runs))
            for run, steps in runs.items():
                _same(first, "points", f"{task}, {algorithm}, {run}", len(steps) - 1)


def _same(first: dict[str, tuple[str, Any]], what: str, where: str, found: Any) -> None:
    place, expected = first.setdefault(what, (where, found))
    if found != expected:
        raise ValueError(
            f"marl-eval needs the same {what} everywhere; {place} has {expected}, {where} has {found}; "
            "leave rows out until they agree"
        )
