"""Pictures of results, as PNG files in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO

import numpy as np
import numpy.typing as npt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from agents.match.results import Rate
from experiments.match_tables.cross_table import CrossTable
from experiments.plot_style import COLOR_MAP, LINES


def heat_maps(tables: Sequence[CrossTable]) -> bytes:
    """A heat map for each number of players: how often one seat (row) wins against another policy (column).

    Light cells are above the fair share, dark ones below. The numbers are percentages with half the width of the
    interval.
    """
    policies = tables[0].policies
    ratios = [_ratios(table) for table in tables]
    most = max(np.nanmax(np.abs(ratio - 1)) for ratio in ratios) or 1.0
    size = 1.2 + 0.85 * len(policies)
    figure = Figure(figsize=(size * len(tables), size), layout="constrained", dpi=120)
    for place, (table, ratio) in enumerate(zip(tables, ratios, strict=True)):
        axes = figure.add_subplot(1, len(tables), place + 1)
        axes.imshow(ratio, cmap=COLOR_MAP, vmin=1 - most, vmax=1 + most)  # in the middle: even
        _write_rates(axes, table, ratio)
        axes.set_title(f"{table.num_players} players, fair share {100 / table.num_players:.1f} %", fontsize=10)
        axes.set_xticks(range(len(policies)), policies, rotation=30, ha="right")
        axes.set_xlabel(f"against {table.num_players - 1}")
        axes.set_yticks(range(len(policies)), policies if place == 0 else [])
        axes.set_ylabel("one" if place == 0 else "")
    file = BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()


def _ratios(table: CrossTable) -> npt.NDArray[np.float64]:
    """Win rates over the fair share, (policies, policies); NaN on the diagonal."""
    return np.array(
        [
            [np.nan if one == others else table.rate(one, others).mean * table.num_players for others in table.policies]
            for one in table.policies
        ]
    )


def _write_rates(axes: Axes, table: CrossTable, ratio: npt.NDArray[np.float64]) -> None:
    for (row, column), value in np.ndenumerate(ratio):
        if not np.isnan(value):
            rate = table.rate(table.policies[row], table.policies[column])
            text = f"{100 * rate.mean:.1f}\n±{50 * (rate.high - rate.low):.1f}"
            axes.text(column, row, text, ha="center", va="center", color="black" if value > 1 else "white", fontsize=9)


def rungs(policies: Sequence[str], players: Sequence[int], rates: Mapping[tuple[str, int], Rate], title: str) -> bytes:
    """A panel for each number of players: the win rate of each policy with its interval, from left to right.

    Policies are categories, so they are dots without a line."""
    figure = Figure(figsize=(1.0 + (0.9 + 0.42 * len(policies)) * len(players), 3.8), layout="constrained", dpi=120)
    for place, count in enumerate(players):
        axes = figure.add_subplot(1, len(players), place + 1)
        shown = [(x, rates[policy, count]) for x, policy in enumerate(policies) if (policy, count) in rates]
        means = [100 * rate.mean for _, rate in shown]
        bars = [[100 * (r.mean - r.low) for _, r in shown], [100 * (r.high - r.mean) for _, r in shown]]
        color, _ = LINES[0]
        axes.errorbar([x for x, _ in shown], means, yerr=bars, fmt="o", color=color, capsize=3, linewidth=1)
        axes.axhline(100 / count, color="gray", linewidth=0.8, linestyle=":")
        axes.set_title(f"{count} players, fair share {100 / count:.1f} %", fontsize=10)
        axes.set_xticks(range(len(policies)), policies, rotation=40, ha="right", fontsize=8)
        axes.set_ylabel(f"{title}, %" if place == 0 else "")
    file = BytesIO()
    figure.savefig(file, format="png")
    return file.getvalue()
