"""One style for all plots: colors, lines, dots, text, grid, and how a figure is made and saved.

Plots can be read in gray and by color-blind people (doi:10.1038/nmeth.1618): lines differ in color and style, dots in
color and marker, and the cells of a heat map show their numbers. Only a sequence, such as time, is a line; categories
are dots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from io import BytesIO
from typing import Any, ParamSpec, Protocol, TypeVar

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

P = ParamSpec("P")
R = TypeVar("R")

BLACK, BLUE, ORANGE, GREEN, PINK = "#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7"
SKY, AMBER = "#56b4e9", "#e69f00"
PALE_BLUE, PALE_AMBER = "#b5d4e8", "#f5dca0"
GRAY, PALE_GRAY, PALEST_GRAY = "#666666", "#dddddd", "#eeeeee"

STYLE: dict[Any, Any] = {
    "figure.figsize": (7.0, 3.6),
    "figure.dpi": 120,
    "figure.constrained_layout.use": True,
    "font.size": 10,
    "axes.titlesize": 10,
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": PALE_GRAY,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.5,
    "lines.markersize": 5,
    "errorbar.capsize": 2,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "uno-flex",
}
"""Matplotlib's settings. A function that draws is `styled`; a notebook updates `plt.rcParams` with them."""

LINES = ((BLUE, "-"), (ORANGE, "--"), (GREEN, "-."), (PINK, ":"))
"""Color and style of each line."""

DOTS = ((BLUE, "o"), (ORANGE, "^"), (GREEN, "s"), (PINK, "v"), (BLACK, "D"), (SKY, "P"), (AMBER, "X"))
"""Color and marker of each series of dots."""

COLOR_MAP = LinearSegmentedColormap.from_list("below_above", (BLUE, "#ffffff", AMBER))
"""From below (blue, dark) over even (white) to above (amber)."""


class Measured(Protocol):
    """A mean with its interval."""

    @property
    def mean(self) -> float: ...

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that draws, so that it draws in `STYLE`."""

    @wraps(draw)
    def in_style(*args: P.args, **kwargs: P.kwargs) -> R:
        with mpl.rc_context(STYLE):
            return draw(*args, **kwargs)

    return in_style


def panels(
    rows: int, columns: int, size: tuple[float, float], *, sharey: bool = False
) -> tuple[Figure, npt.NDArray[Any]]:
    """A figure of `size` (width, height) in inches, and its panels, an array (rows, columns) of `Axes`."""
    figure = Figure(figsize=size)
    return figure, figure.subplots(rows, columns, sharey=sharey, squeeze=False)


@styled
def image(figure: Figure, kind: str = "png") -> bytes:
    """The figure as a file, `png` or `svg`. The same figure gives the same bytes."""
    file = BytesIO()
    figure.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else {"Software": None})
    return file.getvalue()


def top_legend(figure: Figure, axes: Axes) -> None:
    """Put one legend for all panels above them, with the entries of `axes`."""
    handles, labels = axes.get_legend_handles_labels()
    entry = 0.6 + 0.08 * max(map(len, labels), default=0)  # inches
    columns = min(len(labels), int(figure.get_figwidth() / entry))
    figure.legend(handles, labels, loc="outside upper center", ncols=max(1, columns))


def reference(axes: Axes, at: float, axis: str = "y") -> None:
    """Mark the value that the others are compared with, such as zero or a fair share."""
    draw = axes.axvline if axis == "x" else axes.axhline
    draw(at, color=GRAY, linewidth=0.9, zorder=0.9)


def intervals(
    axes: Axes,
    at: Sequence[float],
    values: Sequence[Measured],
    series: int = 0,
    *,
    scale: float | Sequence[float] = 1.0,
    across: bool = False,
    label: str | None = None,
) -> None:
    """Draw means as dots with their intervals as bars, and no line between them.

    Args:
        axes: the panel.
        at: the place of each value on the x axis; with `across`, on the y axis.
        values: the values.
        series: chooses the color and marker in `DOTS`.
        scale: a factor, or one for each value.
        across: bars are horizontal.
        label: the entry in the legend.
    """
    color, marker = DOTS[series % len(DOTS)]
    low, mean, high = (np.array([getattr(v, end) for v in values]) * np.array(scale) for end in ("low", "mean", "high"))
    bars = np.clip(np.nan_to_num(np.array([mean - low, high - mean])), 0, None)
    x, y, ends = (mean, at, {"xerr": bars}) if across else (at, mean, {"yerr": bars})
    axes.errorbar(x, y, **ends, color=color, marker=marker, linestyle="", linewidth=1.2, capsize=2, label=label)


def heat_map(
    axes: Axes, grid: npt.NDArray[np.float64], texts: Sequence[Sequence[str]], most: float, *, bold: Any = None
) -> AxesImage:
    """Draw a heat map of values around zero, each cell with its text.

    Args:
        axes: the panel.
        grid: the values, (rows, columns); NaN where there is none.
        texts: the text of each cell, also of those without a value.
        most: the absolute value that gets the full color.
        bold: where the text is bold, (rows, columns) of bool; by default nowhere.
    """
    drawn = axes.imshow(grid, cmap=COLOR_MAP, vmin=-most, vmax=most)
    axes.grid(False)
    for (row, column), value in np.ndenumerate(grid):
        ink = GRAY if np.isnan(value) else "white" if value < -0.85 * most else "black"
        weight = "bold" if bold is not None and bold[row, column] else "normal"
        axes.text(column, row, texts[row][column], ha="center", va="center", color=ink, fontsize=9, fontweight=weight)
    return drawn
