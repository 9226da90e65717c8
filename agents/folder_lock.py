"""A lock on a folder, so that only one process at a time writes to it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder against other calls of `locked`. The system releases the lock when the process ends or is killed.

    Systems and file systems that can't lock a folder are used without a lock.

    Raises:
        ValueError: another process is at work in the folder.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(f"another process is at work in {folder}: wait until it ends, or end it") from None
        except OSError:
            pass  # some network file systems have no locks
        yield
    finally:
        os.close(handle)
