"""A folder that only one process at a time writes to."""

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
    """Keep other processes that ask for it out of a folder. The system frees it when the process ends, also by a kill.
    Nothing is locked on systems or file systems that can't lock a folder.

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
