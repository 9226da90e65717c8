"""Progress of a long command: a bar on a terminal where tqdm is installed, else a line every ten seconds."""

from __future__ import annotations

import importlib
import time
from types import TracebackType
from typing import Any, Self, TextIO

_EVERY = 10.0  # seconds between lines


class Progress:
    """A context manager that reports to `stream` how many of `total` units are done."""

    def __init__(self, total: int, unit: str, stream: TextIO) -> None:
        self.total, self.unit, self.stream = total, unit, stream
        self.done = 0
        self._begin = self._told = time.monotonic()
        self._bar = _bar(total, unit, stream)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self, count: int = 1) -> None:
        """Count this many more units as done."""
        self.done += count
        if self._bar is not None:
            self._bar.update(count)
            return
        now = time.monotonic()
        if now - self._told >= _EVERY:
            self._told = now
            left = (now - self._begin) * max(self.total - self.done, 0) / self.done
            self.stream.write(f"{self.done:,} of {self.total:,} {self.unit}, about {_minutes(left)} left\n")
            self.stream.flush()


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _bar(total: int, unit: str, stream: TextIO) -> Any:
    if not stream.isatty():
        return None
    try:
        tqdm: Any = importlib.import_module("tqdm")
    except ImportError:
        return None
    return tqdm.tqdm(
        total=total, unit=f" {unit}", unit_scale=total > 10_000, file=stream, leave=False, dynamic_ncols=True
    )
