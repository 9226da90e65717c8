"""Which cells of a suite are run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from agents.atomic import write_whole
from agents.json_text import read_json
from experiments.benchmark.cell import ALL_YARDSTICKS, CELL, Cell, train_config
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
    check_tasks(suite, tasks)
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


def check_tasks(suite: str, tasks: Sequence[str]) -> None:
    """ValueError unless the suite has these tasks."""
    known = find_suite(suite).tasks
    for task in tasks:
        if task not in known:
            raise ValueError(
                f"the suite {suite} has no task {task!r}; there are {', '.join(known)}{did_you_mean(task, known)}"
            )


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


def finished_cells(suite: str, runs: Path) -> list[Cell]:
    """The cells of a suite that are done, by task, algorithm and seed.

    Raises:
        ValueError: a cell was made by another version of this package or of the suite, or there are none.
    """
    find_suite(suite)
    found = []
    for path in sorted((runs / suite).glob(f"*/*/*/{CELL}")):
        about = read_json(path)
        if not isinstance(about, dict) or not {"task", "algorithm", "seed"} <= about.keys():
            raise ValueError(f"{path} is not the file of a cell")
        cell = Cell(suite, about["task"], about["algorithm"], about["seed"], runs)
        if cell.folder != path.parent:
            raise ValueError(f"{path} is about {cell}, so it should be in {cell.folder}")
        if cell.is_done():
            found.append(cell)
    if not found:
        raise ValueError(f"{runs / suite} has no finished run; `benchmark run {suite}` makes them")
    return sorted(found, key=lambda cell: (cell.task, cell.algorithm, cell.seed))
