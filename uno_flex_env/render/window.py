"""A window on the screen, for render mode "human"."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from uno_flex_env.render.canvas import Picture, import_pygame
from uno_flex_env.render.picture import SIZE, picture
from uno_flex_env.render.table import Table

if TYPE_CHECKING:
    import pygame


class Window:
    """Shows tables, at most `fps` per second. The first one opens the window, which needs a display."""

    def __init__(self, *, size: tuple[int, int] = SIZE, fps: float = 10, caption: str = "UNO Flex") -> None:
        self._pygame = import_pygame()
        self._size, self._fps, self._caption = size, fps, caption
        self._clock = self._pygame.time.Clock()
        self._screen: pygame.Surface | None = None

    def show(self, table: Table | Picture, seat: int | None = None) -> None:
        """Show a picture, or a table as a seat sees it, or a spectator with None."""
        drawn = table if isinstance(table, np.ndarray) else picture(table, seat, size=self._size)
        size = (drawn.shape[1], drawn.shape[0])
        if self._screen is None or self._screen.get_size() != size:
            self._pygame.display.init()
            self._pygame.display.set_caption(self._caption)
            self._screen = self._pygame.display.set_mode(size)
        self._pygame.surfarray.blit_array(self._screen, drawn.transpose(1, 0, 2))
        self._pygame.event.pump()
        self._pygame.display.update()
        self._clock.tick(self._fps)

    def close(self) -> None:
        """Close the window. `show` opens it again. You may close it twice."""
        if self._screen is not None:
            self._pygame.display.quit()
            self._screen = None
