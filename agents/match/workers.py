"""Processes that share the work of matches."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

from uno_flex_env.options import check_whole


def cores() -> int:
    """How many processor cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def worker_pool(workers: int) -> Iterator[int | Executor]:
    """Processes for the `workers` of several matches, each with one thread. One worker is this process itself."""
    check_whole("workers", workers, 1, 1024)
    if workers == 1:
        yield 1
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), _prepare_worker) as pool:
        yield pool


def _prepare_worker() -> None:
    """Give torch one thread: there are as many workers as cores, and torch would start as many threads in each."""
    os.environ["OMP_NUM_THREADS"] = "1"  # for a torch that is imported later
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # as in `experiments.__main__.prepare`
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
