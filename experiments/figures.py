"""Pictures of results, as PNG files in memory."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.cross import CrossTable

COLORS = "cividis"
"""From dark to light, also in grey and for people who are color-blind (doi:10.1371/journal.pone.0199239)."""


def heat_maps(tables: Sequence[CrossTable]) -> bytes:
    """A heat map for each number of players: how often one (row) wins against a table of another (column).

    Light wins more than its fair share, dark less; the numbers are percentages with half the width of the interval.
    """
    policies = tables[0].policies
    size = 1.6 + 1.05 * len(policies)
    figure = Figure(figsize=(size * len(tables), size), layout="constrained", dpi=120)
    for place, (axes, table) in enumerate(zip(figure.subplots(1, len(tables), squeeze=False)[0], tables, strict=True)):
        _heat_map(axes, table)
        if place == 0:
            axes.set_yticks(range(len(policies)), policies)
            axes.set_ylabel("one")
    file = BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def _heat_map(axes: Axes, table: CrossTable) -> None:
    names, fair = table.policies, 1 / table.num_players
    ratio = np.full((len(names), len(names)), np.nan)
    for row, one in enumerate(names):
        for column, others in enumerate(names):
            if one != others:
                ratio[row, column] = table.rate(one, others).mean / fair
    # A rate from none to twice the fair share; 1, the middle, is even.
    axes.imshow(ratio, cmap=COLORS, vmin=0.0, vmax=2.0)
    axes.set_facecolor("white")
    for row, one in enumerate(names):
        for column, others in enumerate(names):
            if one != others:
                rate = table.rate(one, others)
                text = f"{100 * rate.mean:.1f}\n±{50 * (rate.high - rate.low):.1f}"
                color = "black" if ratio[row, column] > 1.1 else "white"
                axes.text(column, row, text, ha="center", va="center", color=color, fontsize=9)
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_yticks([])
    axes.set_xlabel("others")
    axes.set_title(f"{table.num_players} players, fair share {100 * fair:.1f} %", fontsize=10)
