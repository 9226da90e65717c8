"""Shapes and type on an off-screen surface, in the units of a 1200 x 800 picture."""

from __future__ import annotations

import math
import os
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from uno_flex_env.errors import needs_extra

if TYPE_CHECKING:
    import pygame

WIDTH, HEIGHT = 1200, 800
SHARP = 2
"""Each pixel is the mean of SHARP x SHARP drawn pixels. This smooths edges in the same way on every machine."""

Color = tuple[int, int, int]
Point = tuple[float, float]
Picture = np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]


def import_pygame() -> ModuleType:
    """The pygame module, or an ImportError that says how to install it. Suppresses its greeting on standard output."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    with needs_extra("a picture", "render"):
        import pygame
    return pygame


def mix(one: Color, other: Color, share: float) -> Color:
    """A mixture of two colors, with this share of the second one."""
    red, green, blue = (round(a + (b - a) * share) for a, b in zip(one, other, strict=True))
    return red, green, blue


def box(x: float, y: float, width: float, height: float, radius: float = 0, turn: float = 0) -> list[Point]:
    """The corners of a rounded rectangle around (x, y), turned clockwise by an angle in radians."""
    points = []
    for quarter, (sx, sy) in enumerate([(1, 1), (-1, 1), (-1, -1), (1, -1)]):
        for step in range(9 if radius else 1):
            angle = (quarter + step / 8) * math.pi / 2
            px = sx * (width / 2 - radius) + radius * math.cos(angle)
            py = sy * (height / 2 - radius) + radius * math.sin(angle)
            points.append((px, py))
    cos, sin = math.cos(turn), math.sin(turn)
    return [(x + px * cos - py * sin, y + px * sin + py * cos) for px, py in points]


def below(points: list[Point], left: float, right: float, span: tuple[float, float]) -> list[Point]:
    """The part of a convex shape under the line from (span[0], left) to (span[1], right)."""

    def depth(p: Point) -> float:
        return p[1] - left - (right - left) * (p[0] - span[0]) / (span[1] - span[0])

    kept = []
    for p, q in zip(points, points[1:] + points[:1], strict=True):
        if depth(p) >= 0:
            kept.append(p)
        if (depth(p) >= 0) != (depth(q) >= 0):
            share = depth(p) / (depth(p) - depth(q))
            kept.append((p[0] + share * (q[0] - p[0]), p[1] + share * (q[1] - p[1])))
    return kept


class Canvas:
    """A surface of `size` (width, height) pixels. Its 1200 x 800 units are centered and scaled to fit."""

    def __init__(self, size: tuple[int, int], ground: Color) -> None:
        self._pygame = import_pygame()
        self._pygame.font.init()
        self._fonts: dict[int, pygame.font.Font] = {}
        self.size = size
        width, height = size[0] * SHARP, size[1] * SHARP
        self._scale = min(width / WIDTH, height / HEIGHT)
        self._left = (width - WIDTH * self._scale) / 2
        self._top = (height - HEIGHT * self._scale) / 2
        self._surface = self._pygame.Surface((width, height), 0, 32)
        self._surface.fill(ground)

    def shape(self, color: Color, points: list[Point], alpha: int = 255) -> None:
        """Fill a polygon."""
        at = [self._at(p) for p in points]
        if alpha == 255:
            self._pygame.draw.polygon(self._surface, color, at)
            return
        left, top = (math.floor(min(p[i] for p in at)) for i in (0, 1))
        right, bottom = (math.ceil(max(p[i] for p in at)) for i in (0, 1))
        veil = self._pygame.Surface((right - left + 1, bottom - top + 1), self._pygame.SRCALPHA, 32)
        self._pygame.draw.polygon(veil, (*color, alpha), [(px - left, py - top) for px, py in at])
        self._surface.blit(veil, (left, top))

    def line(self, color: Color, start: Point, end: Point, width: float) -> None:
        """A straight line with square ends."""
        (ax, ay), (bx, by) = start, end
        turn = math.atan2(by - ay, bx - ax)
        self.shape(color, box((ax + bx) / 2, (ay + by) / 2, math.hypot(bx - ax, by - ay), width, turn=turn))

    def disc(self, color: Color, x: float, y: float, radius: float) -> None:
        """Fill a circle."""
        self.shape(color, box(x, y, 2 * radius, 2 * radius, radius))

    def text(
        self, color: Color, text: str, x: float, y: float, height: float, *, align: float = 0.5, room: float = math.inf
    ) -> float:
        """Write a line with its middle at height y and its left edge (align 0), middle (0.5) or right edge (1) at x.

        The font shrinks until the line is no wider than `room`. Returns the width of the line.
        """
        font = self._font(height)
        width = font.size(text)[0] / self._scale
        if width > room:
            font = self._font(height * room / width)
        drawn = font.render(text, True, color)
        px, py = self._at((x, y))
        self._surface.blit(drawn, (round(px - align * drawn.get_width()), round(py - drawn.get_height() / 2)))
        return drawn.get_width() / self._scale

    def pixels(self) -> Picture:
        """The picture, uint8 (height, width, 3), a new array."""
        fine = self._pygame.surfarray.pixels3d(self._surface)
        total = np.full((*self.size, 3), SHARP * SHARP // 2, np.uint16)
        for i in range(SHARP):
            for j in range(SHARP):
                total += fine[i::SHARP, j::SHARP]
        return np.ascontiguousarray((total // (SHARP * SHARP)).astype(np.uint8).transpose(1, 0, 2))

    def _at(self, point: Point) -> Point:
        return self._left + point[0] * self._scale, self._top + point[1] * self._scale

    def _font(self, height: float) -> pygame.font.Font:
        """The typeface that comes with pygame, with lines of this height."""
        size = max(1, round(height * self._scale))
        if size not in self._fonts:
            self._fonts[size] = self._pygame.font.Font(None, size)
        return self._fonts[size]
