"""Figures of the benchmark. Each takes a caption, which says what it shows, and puts it below the panels.

An algorithm has the same color, marker and line in every figure whose `algorithms` are the same, so pass all of them in
one order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Literal

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.benchmark.run_scores import RunCurve
from experiments.benchmark.run_statistics import Interval, Profile
from experiments.plot_style import DOTS, GRAY, LINES, heat_map, intervals, panels, reference, styled, top_legend

POINTS = 101
"""Places at which the curves of several runs are averaged."""

Floats = npt.NDArray[np.float64]
Clock = Literal["decisions", "seconds"]
UNITS: dict[Clock, tuple[str, float]] = {"decisions": ("million decisions", 1e6), "seconds": ("minutes", 60.0)}


@styled
def score_curves(curves: Sequence[RunCurve], algorithms: Sequence[str], clock: Clock, caption: str) -> Figure:
    """A panel for each task: the mean score of each algorithm's runs over decisions or minutes, and a band from the
    lowest to the highest run. Lines end where the first of the runs ends."""
    return _over_training(curves, algorithms, clock, "scores", "score (random 0, expert 1)", caption)


@styled
def exploitability_curves(curves: Sequence[RunCurve], algorithms: Sequence[str], clock: Clock, caption: str) -> Figure:
    """As `score_curves` for the exact exploitability, on a logarithmic axis; curves without it are left out.

    Raises:
        ValueError: no curve has an exploitability.
    """
    known = [curve for curve in curves if np.isfinite(curve.exploitability).all()]
    figure = _over_training(known, algorithms, clock, "exploitability", "exploitability", caption)
    for axes in figure.axes:
        axes.set_yscale("log")
    return figure


@styled
def interval_dots(values: Mapping[str, Interval], label: str, caption: str, marked: float | None = None) -> Figure:
    """A row for each algorithm, from the highest value down: a dot with its interval.

    Args:
        values: by algorithm.
        label: what the values are, for the axis.
        caption: the text below.
        marked: a value to compare with, such as the expert's score 1.
    """
    order = sorted(values, key=lambda name: -values[name].mean)
    figure, grid = panels(1, 1, (7.0, 1.6 + 0.32 * len(order)))
    axes = grid[0, 0]
    if marked is not None:
        reference(axes, marked, "x")
    intervals(axes, range(len(order)), [values[name] for name in order], across=True)
    axes.set_yticks(range(len(order)), order)
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_xlabel(label)
    _caption(figure, caption)
    return figure


@styled
def profile_lines(profiles: Mapping[str, Profile], caption: str) -> Figure:
    """The performance profiles of all algorithms with their bands."""
    figure, grid = panels(1, 1, (7.0, 4.6))
    axes = grid[0, 0]
    for number, (name, profile) in enumerate(profiles.items()):
        _line(axes, number, name, profile.thresholds, profile.share, profile.low, profile.high)
    reference(axes, 1.0, "x")
    axes.set_ylim(-0.02, 1.02)
    axes.set_xlabel("score (random 0, expert 1)")
    axes.set_ylabel("share of runs above it")
    top_legend(figure, axes)
    _caption(figure, caption)
    return figure


@styled
def cross_play(
    cells: Mapping[tuple[str, str], Interval], algorithms: Sequence[str], players: int, caption: str
) -> Figure:
    """A heat map: how often one seat of an algorithm (row) wins at tables of another (column), in percent.

    A cell has half the width of its interval too, where it has one; a cell without matches has a dash. Colors show the
    distance from the fair share.
    """
    size = len(algorithms)
    figure, grid = panels(1, 1, (1.8 + 0.85 * size, 2.0 + 0.7 * size))
    axes = grid[0, 0]
    found = [[cells.get((one, other)) for other in algorithms] for one in algorithms]
    away = np.array([[np.nan if cell is None else cell.mean - 1 / players for cell in row] for row in found])
    most = float(np.nanmax(np.abs(away))) if np.isfinite(away).any() else 0.0
    heat_map(axes, away, [[_percent(cell) for cell in row] for row in found], most or 1.0)
    axes.set_xticks(range(size), algorithms, rotation=35, ha="right")
    axes.set_yticks(range(size), algorithms)
    axes.set_xlabel("against" if players == 2 else f"against {players - 1} seats of")
    axes.set_ylabel("one seat of")
    axes.set_title(f"wins in %, fair share {100 / players:.1f} %")
    _caption(figure, caption)
    return figure


def _over_training(
    curves: Sequence[RunCurve], algorithms: Sequence[str], clock: Clock, value: str, label: str, caption: str
) -> Figure:
    if not curves:
        raise ValueError(f"there are no curves of {value} to draw")
    if unknown := [curve.algorithm for curve in curves if curve.algorithm not in algorithms]:
        raise ValueError(f"{unknown[0]!r} is not one of the algorithms {', '.join(algorithms)}")
    tasks = list(dict.fromkeys(curve.task for curve in curves))
    columns = min(len(tasks), 2)
    rows = -(-len(tasks) // columns)
    figure, grid = panels(rows, columns, (1.6 + 4.2 * columns, 1.4 + 2.9 * rows), sharey=value == "scores")
    unit, scale = UNITS[clock]
    for place, task in enumerate(tasks):
        axes = grid.flat[place]
        for number, name in enumerate(algorithms):
            runs = [curve for curve in curves if (curve.task, curve.algorithm) == (task, name)]
            if runs:
                at, values = _on_one_axis([(getattr(run, clock) / scale, getattr(run, value)) for run in runs])
                _line(axes, number, name, at, values.mean(axis=0), values.min(axis=0), values.max(axis=0))
            elif any(curve.algorithm == name for curve in curves):  # in another panel: the legend of all names it
                _line(axes, number, name, *[np.array([])] * 4)
        if value == "scores":
            reference(axes, 1.0)
        axes.set_title(task)
        axes.set_xlabel(unit)
        axes.set_ylabel(label if place % columns == 0 else "")
    for axes in grid.flat[len(tasks) :]:
        axes.set_axis_off()
    top_legend(figure, grid.flat[0])
    _caption(figure, caption)
    return figure


def _on_one_axis(runs: Sequence[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """The curves of several runs at the same places, (POINTS,) and (runs, POINTS), as far as all of them go."""
    at = np.linspace(max(x[0] for x, _ in runs), min(x[-1] for x, _ in runs), POINTS)
    return at, np.stack([np.interp(at, x, y) for x, y in runs])


def _line(axes: Axes, number: int, name: str, at: Floats, middle: Floats, low: Floats, high: Floats) -> None:
    """A line with a band. Colors repeat after 7 lines and styles after 4, so 28 lines differ; markers help in gray."""
    color, marker = DOTS[number % len(DOTS)]
    _, style = LINES[number % len(LINES)]
    every = max(1, len(at) // 8)
    marks = (number * every // 3 % every, every)
    axes.plot(at, middle, style, color=color, marker=marker, markevery=marks, markersize=4, label=name)
    axes.fill_between(at, low, high, color=color, alpha=0.15, linewidth=0)


def _percent(cell: Interval | None) -> str:
    if cell is None:
        return "-"
    half = 50 * (cell.high - cell.low)
    return f"{100 * cell.mean:.1f}" + (f"\n±{half:.1f}" if np.isfinite(half) else "")


def _caption(figure: Figure, text: str) -> None:
    """Put a text below the panels, in lines that fit the figure's width."""
    width = int(figure.get_figwidth() * 14)  # characters of 9 points
    figure.supxlabel(fill(text, width), x=0.01, ha="left", fontsize=9, color=GRAY)
