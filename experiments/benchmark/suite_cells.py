"""Which cells of a suite are run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from agents.atomic import write_whole
from agents.json_text import read_json
from experiments.benchmark.cell import ALL_YARDSTICKS, Cell, train_config
from experiments.benchmark.suites import find_suite
from uno_flex_env.errors import did_you_mean

SUITE = "suite.json"
"""The file in a suite's folder that keeps what its cells were made for."""


def choose_cells(
    suite: str, runs: Path, tasks: Sequence[str], algorithms: Sequence[str], seeds: Sequence[int]
) -> list[Cell]:
    """The cells of a suite: the yardsticks, then all tasks and algorithms seed by seed, so that results which come
    early are about all of them. Empty sequences stand for all that the suite has.

    Raises:
        ValueError: the suite has no such task, there is no such algorithm, or its settings don't fit a task.
    """
    plan = find_suite(suite)
    for task in tasks:
        if task not in plan.tasks:
            near = did_you_mean(task, plan.tasks)
            raise ValueError(f"the suite {suite} has no task {task!r}; there are {', '.join(plan.tasks)}{near}")
    tasks = tuple(tasks or plan.tasks)
    cells = [Cell(suite, task, ALL_YARDSTICKS, 0, runs) for task in tasks]
    cells += [
        Cell(suite, task, algorithm, seed, runs)
        for seed in seeds or plan.seeds
        for task in tasks
        for algorithm in algorithms or plan.algorithms
    ]
    for cell in cells:
        if cell.algorithm != ALL_YARDSTICKS:
            train_config(cell)
    return cells


def check_suite(suite: str, runs: Path) -> None:
    """Write what the suite is into its folder, or compare with what is there.

    Raises:
        ValueError: the folder was made for other settings of the suite, which the message names.
    """
    folder = runs / suite
    folder.mkdir(parents=True, exist_ok=True)
    now = json.loads(json.dumps(asdict(find_suite(suite))))
    now["algorithms"] = now["seeds"] = None  # these only choose cells
    path = folder / SUITE
    if not path.is_file():
        write_whole(path, json.dumps(now, indent=1).encode() + b"\n")
        return
    was = read_json(path)
    for name, value in now.items():
        if not isinstance(was, dict) or was.get(name) != value:
            old = was.get(name) if isinstance(was, dict) else None
            raise ValueError(f"{folder} was made with {name} = {old}, now it is {value}: move the folder away")
