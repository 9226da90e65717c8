"""Runs jobs that take minutes each in processes of their own, resumably."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter, deque
from collections.abc import Sequence
from multiprocessing import get_all_start_methods, get_context, parent_process
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

from agents.match.workers import RESTARTS
from experiments.process_setup import prepare

FAILED = 3
"""The exit status of a process whose job can't be run."""


class Job(Protocol):
    """A piece of work that keeps its state in files; its text names it."""

    def is_done(self) -> bool:
        """Whether it is finished; ValueError if its files are those of something else."""

    def run(self) -> None:
        """Do it, or continue it. A ValueError or an OSError says that it can't be done."""

    def summary(self) -> str:
        """What came out, in a few words, when it is done."""


def run_jobs(jobs: Sequence[Job], workers: int) -> int:
    """Run the jobs that are not done, each in a process of its own, and print a line about each.

    If a process is killed, its job continues in a new one. If this process ends, the others end too; a later call
    continues their jobs.

    Args:
        workers: how many jobs run side by side.

    Returns:
        How many jobs could not be run. Their errors are on standard error.
    """
    waiting = deque(job for job in jobs if not job.is_done())
    total, failed, ended = len(waiting), 0, 0
    print(f"{len(jobs)} runs, {len(jobs) - total} of them done before", flush=True)
    running = dict[Any, tuple[BaseProcess, Job]]()  # by the sentinel of the process
    killed = Counter[Job]()
    context: Any = get_context("forkserver" if "forkserver" in get_all_start_methods() else "spawn")
    if context.get_start_method() == "forkserver":
        context.set_forkserver_preload([type(job).__module__ for job in jobs[:1]])  # torch is loaded once
    try:
        while waiting or running:
            while waiting and len(running) < workers:
                job = waiting.popleft()
                process = context.Process(target=_run, args=(job,))
                process.start()
                running[process.sentinel] = process, job
            for sentinel in wait(list(running)):
                process, job = running.pop(sentinel)
                process.join()
                if process.exitcode in (0, FAILED) or killed[job] == RESTARTS:
                    ended += 1
                    failed += process.exitcode != 0
                    print(f"{ended}/{total} {_summary(job, process.exitcode)}", flush=True)
                else:
                    killed[job] += 1
                    waiting.appendleft(job)
    finally:
        for process, _ in running.values():
            process.terminate()
        for process, _ in running.values():
            process.join()
    return failed


def _summary(job: Job, status: int | None) -> str:
    if status == 0:
        return f"{job}: {job.summary()}"
    return f"{job}: " + ("failed" if status == FAILED else f"killed {RESTARTS + 1} times")


def _run(job: Job) -> None:
    """Run one job in a process of its own."""
    _end_with_parent()
    prepare()
    try:
        job.run()
    except (ValueError, OSError) as error:
        print(f"{job}: {error}", file=sys.stderr, flush=True)
        sys.exit(FAILED)


def _end_with_parent() -> None:
    """End this process when the one that has started it dies: a job must not run on unseen, and hold its lock."""
    parent = parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
