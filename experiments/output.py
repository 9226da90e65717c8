"""What commands tell people."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """A text and the end of its last line, on standard output."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
