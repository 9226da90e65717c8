"""Signals that end a command."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

PATIENCE = 3.0
"""Seconds after a signal in which further signals are ignored, while the command saves its work."""


@contextmanager
def signals_unwind() -> Iterator[None]:
    """Make SIGTERM (`kill`) and SIGHUP (a closed window) raise SystemExit, as Ctrl-C raises KeyboardInterrupt.

    So a command can save its work when it is ended. A closed window often sends several signals at once, so signals
    that follow within PATIENCE seconds are ignored, Ctrl-C included. A later signal ends a command that hangs. A signal
    that the process already ignores, as under `nohup`, stays ignored.
    """
    first: float | None = None

    def leave(number: int, _: FrameType | None) -> None:
        nonlocal first
        if first is not None and time.monotonic() - first < PATIENCE:
            return
        first = time.monotonic()
        if number == signal.SIGINT:
            raise KeyboardInterrupt
        raise SystemExit(128 + number)

    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    caught = [number for number in numbers if before[number] not in (signal.SIG_IGN, None)]
    for number in caught:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in caught:
            signal.signal(number, before[number])
