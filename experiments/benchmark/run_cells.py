"""Runs cells of a benchmark in worker processes."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import asdict
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any

from agents.atomic import write_whole
from agents.json_text import read_json
from agents.match.workers import RESTARTS
from experiments.benchmark.cell import ALL_YARDSTICKS, Cell, is_done, run_cell, summary, train_config
from experiments.benchmark.suites import find_suite
from experiments.process_setup import prepare
from uno_flex_env.errors import did_you_mean

SUITE = "suite.json"
"""The file in a suite's folder that keeps what its cells were made for."""

FAILED = 3
"""The exit status of a process whose cell can't be run."""


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


def run_cells(cells: Sequence[Cell], workers: int) -> int:
    """Run the cells that are not done, each in a process of its own, and print a line about each.

    If a process is killed, its cell continues in a new one. If this process ends, the others end too; a later call
    continues their cells.

    Args:
        workers: how many cells run side by side, each with one thread.

    Returns:
        How many cells could not be run. Their errors are on standard error.
    """
    waiting = deque(cell for cell in cells if not is_done(cell))
    total, failed, ended = len(waiting), 0, 0
    print(f"{len(cells)} cells, {len(cells) - total} of them done before", flush=True)
    running = dict[Any, tuple[SpawnProcess, Cell]]()  # by the sentinel of the process
    killed = Counter[Cell]()
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                cell = waiting.popleft()
                process = get_context("spawn").Process(target=_run, args=(cell,))
                process.start()
                running[process.sentinel] = process, cell
            for sentinel in wait(list(running)):
                process, cell = running.pop(sentinel)
                process.join()
                if process.exitcode in (0, FAILED) or killed[cell] == RESTARTS:
                    ended += 1
                    failed += process.exitcode != 0
                    print(f"{ended}/{total} {_summary(cell, process.exitcode)}", flush=True)
                else:
                    killed[cell] += 1
                    waiting.appendleft(cell)
    finally:
        for process, _ in running.values():
            process.terminate()
        for process, _ in running.values():
            process.join()
    return failed


def _summary(cell: Cell, status: int | None) -> str:
    if status == 0:
        return f"{cell}: {summary(cell)}"
    return f"{cell}: " + ("failed" if status == FAILED else f"killed {RESTARTS + 1} times")


def _run(cell: Cell) -> None:
    """Run one cell in a process of its own."""
    _end_with_parent()
    prepare()
    try:
        run_cell(cell)
    except (ValueError, OSError) as error:
        print(f"{cell}: {error}", file=sys.stderr, flush=True)
        sys.exit(FAILED)


def _end_with_parent() -> None:
    """End this process when the one that has started it dies: a cell must not run on unseen, and hold its lock."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
