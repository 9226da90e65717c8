"""The picture of learning curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from itertools import cycle
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.plot_style import LINES
from experiments.training.learning_curves import Curve


def curve_plot(curves: Sequence[Curve]) -> bytes:
    """A PNG file: for each number of players a panel with the win rates over the decisions learned from.

    Each baseline has a line, the mean over the runs, and a band from the worst to the best run. Several panels share
    one scale, in which 1 is the fair share; one panel is in per cent.
    """
    counts = list(dict.fromkeys(curve.players for curve in curves))
    several = len({curve.name for curve in curves}) > 1
    columns = min(len(counts), 4)
    rows = -(-len(counts) // columns)
    figure = Figure(figsize=(1.0 + 4.6 * columns, 3.6 * rows), layout="constrained", dpi=120)
    axes: Axes | None = None
    for place, players in enumerate(counts):
        axes = figure.add_subplot(rows, columns, place + 1, sharey=axes)
        unit = players if len(counts) > 1 else 100
        shown = [curve for curve in curves if curve.players == players]
        for curve, (color, style) in zip(shown, cycle(LINES), strict=False):
            wins = unit * curve.wins
            label = f"{curve.name} against {curve.baseline}" if several else f"against {curve.baseline}"
            axes.plot(curve.decisions / 1e6, wins.mean(axis=0), style, color=color, label=label)
            axes.fill_between(
                curve.decisions / 1e6, wins.min(axis=0), wins.max(axis=0), color=color, alpha=0.2, linewidth=0
            )
        axes.axhline(unit / players, color="gray", linewidth=0.8, linestyle=":")
        axes.set_title(f"{players} players, fair share {100 / players:.1f} %", fontsize=10)
        axes.set_xlabel("million decisions")
        axes.set_ylabel(("wins, %" if unit == 100 else "wins / fair share") if place % columns == 0 else "")
        axes.legend(frameon=False, fontsize=9, loc="best")
        if not several:
            axes.secondary_xaxis("top", functions=_scale(shown[0])).set_xlabel("minutes", fontsize=9)
    file = BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def _scale(curve: Curve) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    """Functions from millions of decisions to minutes and back, by the mean speed."""
    speed = curve.decisions[-1] / curve.minutes[-1] / 1e6
    return lambda million: million / speed, lambda minutes: minutes * speed
