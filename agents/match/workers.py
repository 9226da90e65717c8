"""Processes that share the work of matches."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TypeVar

from uno_flex_env.options import check_whole

Item = TypeVar("Item")
Result = TypeVar("Result")

RESTARTS = 3
"""How many times one call starts new processes after a worker has been killed."""


def cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class WorkerPool:
    """Worker processes with one thread each. If a worker is killed, unfinished items run again in new processes. So
    functions must be pure: the same item gives the same result."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._pool = self._start()

    def _start(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._workers, get_context("spawn"), _prepare_worker)

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """The results in the order of the items; errors as in `completed`."""
        early, number = dict[int, Result](), 0
        for done, result in self.completed(function, items):
            early[done] = result
            while number in early:
                yield early.pop(number)
                number += 1

    def completed(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[tuple[int, Result]]:
        """Yield (number of the item, result) as soon as each result is there.

        Raises:
            ChildProcessError: workers have been killed more than `RESTARTS` times.
        """
        left = dict(enumerate(items))
        for _ in range(RESTARTS + 1):
            running = dict[Future[Result], int]()
            try:
                running = self._submit(function, left)
                for future in as_completed(running):
                    if isinstance(future.exception(), BrokenProcessPool):
                        continue
                    result = future.result()
                    number = running[future]
                    del left[number]
                    yield number, result
            finally:
                for future in running:
                    future.cancel()
            if not left:
                return
            self._pool.shutdown()
            self._pool = self._start()
        raise ChildProcessError(
            f"worker processes were killed {RESTARTS + 1} times, {len(left)} parts are left to do: if memory ran out, "
            "choose fewer workers"
        )

    def _submit(self, function: Callable[[Item], Result], items: dict[int, Item]) -> dict[Future[Result], int]:
        """Submit the items, and return their futures; after a worker has been killed, the pool takes no more."""
        running = dict[Future[Result], int]()
        for number, item in items.items():
            try:
                running[self._pool.submit(function, item)] = number
            except BrokenProcessPool:
                break
        return running

    def close(self) -> None:
        """Wait for the processes to end."""
        self._pool.shutdown()


@contextmanager
def worker_pool(workers: int) -> Iterator[int | WorkerPool]:
    """Open the processes that several matches share as `workers`. A single worker is this process itself."""
    check_whole("workers", workers, 1, 1024)
    if workers == 1:
        yield 1
        return
    pool = WorkerPool(workers)
    try:
        yield pool
    finally:
        pool.close()


def _prepare_worker() -> None:
    """Give torch one thread. There are as many workers as cores, and each would start as many threads again."""
    os.environ["OMP_NUM_THREADS"] = "1"  # for a torch that is imported later
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as in `experiments.process_setup.prepare`
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
