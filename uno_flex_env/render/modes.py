"""The render modes of the environments."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from uno_flex_env.render import Table, Window, ansi, picture

RENDER_MODES = ("ansi", "rgb_array", "human")
RENDER_FPS = 2
"""Decisions per second in the window."""


class Display:
    """Draws tables in one render mode. A copy or a pickle opens a new window."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self._window: Window | None = None

    def draw(self, table: Table, seat: int | None) -> str | npt.NDArray[np.uint8] | None:
        """Draw what a seat sees, or a spectator with None: as text, as (height, width, 3) uint8, or in a window."""
        if self.mode == "ansi":
            return ansi(table, seat)
        if self.mode == "rgb_array":
            return picture(table, seat)
        self._window = self._window or Window(fps=RENDER_FPS)
        self._window.show(table, seat)
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        return {"mode": self.mode, "_window": None}
