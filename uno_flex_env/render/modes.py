"""The render modes of the environments."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from uno_flex_env._core import State
from uno_flex_env.actions import TEXTS
from uno_flex_env.game import snapshot
from uno_flex_env.render import Window, ansi, picture
from uno_flex_env.rules import Rules

RENDER_MODES = ("ansi", "rgb_array", "human")
RENDER_FPS = 2
"""Decisions a second in the window."""


class Display:
    """Draws tables in one render mode. Copies and pickles leave the window behind and open their own."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self._window: Window | None = None

    def draw(self, table: dict[str, Any], seat: int | None) -> str | npt.NDArray[np.uint8] | None:
        """What a seat, or with None a spectator, sees: as text, as (height, width, 3) uint8, or in a window."""
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


def table_of(state: State, rules: Rules, match: bool, last: tuple[int, int] | None) -> dict[str, Any]:
    """A state as the renderers want it.

    Args:
        last: the seat that decided last and the number of its action; None after a deal.
    """
    return snapshot(state) | {
        "players": state.num_players,
        "dealer": state.dealer,
        "scores": list(state.scores) if match else None,
        "target_score": rules.target_score if match else None,
        "last": None if last is None else (last[0], TEXTS[last[1]]),
        "names": [f"player_{seat}" for seat in range(state.num_players)],
    }
