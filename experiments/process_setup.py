"""The settings of a process that learns."""

from __future__ import annotations

import ctypes
import os
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Parameters of `mallopt`, from glibc's malloc.h."""


def prepare() -> None:
    """Set up the process for fast learning. Settings that a system does not have are skipped.

    A gradient step frees tens of megabytes and needs them again at once. This sets the C library (glibc) to keep this
    memory, because fresh pages from the system are slow.

    After a matrix product torch's threads spin for a while in case there is another one, and so keep the threads of the
    games off the cores. This makes them sleep, or with libgomp spin only for microseconds. Call this before torch
    is loaded, which is when it reads both variables.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(M_TRIM_THRESHOLD, 256 << 20)
        mallopt(M_MMAP_THRESHOLD, 64 << 20)
