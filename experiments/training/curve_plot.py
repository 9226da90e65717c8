"""The picture of learning curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

from experiments import plot_style
from experiments.training.learning_curves import Curve


@plot_style.styled
def curve_plot(curves: Sequence[Curve]) -> bytes:
    """A PNG file: for each number of players a panel with the win rates over the decisions learned from.

    Each baseline has a line, the mean over the runs, and a band from the worst to the best run. Several panels share
    one scale, in which 1 is the fair share; one panel is in per cent.
    """
    counts = list(dict.fromkeys(curve.players for curve in curves))
    several = len({curve.name for curve in curves}) > 1
    columns = min(len(counts), 4)
    rows = -(-len(counts) // columns)
    size = (6.5, 3.9) if len(counts) == 1 else (0.6 + 2.9 * columns, 0.6 + 2.8 * rows)
    figure, grid = plot_style.panels(rows, columns, size, sharey=True)
    for place, (axes, players) in enumerate(zip(grid.flat, counts, strict=False)):
        unit = players if len(counts) > 1 else 100
        shown = [curve for curve in curves if curve.players == players]
        for curve, (color, style) in zip(shown, cycle(plot_style.LINES), strict=False):
            wins, millions = unit * curve.wins, curve.decisions / 1e6
            label = f"{curve.name} against {curve.baseline}" if several else f"against {curve.baseline}"
            axes.plot(millions, wins.mean(axis=0), style, color=color, label=label)
            axes.fill_between(millions, wins.min(axis=0), wins.max(axis=0), color=color, alpha=0.2, linewidth=0)
        plot_style.reference(axes, unit / players)
        axes.set_title(f"{players} players, fair share {100 / players:.1f} %")
        axes.set_xlabel("million decisions")
        if not several and place < columns:
            minutes = axes.secondary_xaxis("top", functions=_scale(shown[0]))
            minutes.grid(False)
            minutes.set_xlabel("minutes")
    for axes in grid[:, 0]:
        axes.set_ylabel("wins, %" if len(counts) == 1 else "wins / fair share")
    for axes in grid.flat[len(counts) :]:
        axes.set_axis_off()
    plot_style.top_legend(figure, grid[0, 0])
    return plot_style.image(figure)


def _scale(curve: Curve) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Functions from millions of decisions to minutes and back, by the mean speed."""
    speed = curve.decisions[-1] / curve.minutes[-1] / 1e6
    return lambda million: million / speed, lambda minutes: minutes * speed
