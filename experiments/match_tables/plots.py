"""Pictures of results, as PNG files in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from agents.match.results import Rate
from experiments import plot_style
from experiments.match_tables.cross_table import CrossTable


@plot_style.styled
def heat_maps(tables: Sequence[CrossTable]) -> bytes:
    """A heat map for each number of players: how often one seat (row) wins against another policy (column).

    Amber cells are above the fair share, blue ones below; all maps share one scale. The numbers are percentages with
    half the width of the interval.
    """
    policies = tables[0].policies
    excess = [_ratios(table) - 1 for table in tables]
    most = max(np.nanmax(np.abs(grid)) for grid in excess) or 1.0
    side = 1.2 + 0.85 * len(policies)
    figure, maps = plot_style.panels(1, len(tables), (side * len(tables), side))
    for place, (axes, table, grid) in enumerate(zip(maps[0], tables, excess, strict=True)):
        plot_style.heat_map(axes, grid, [[_cell(table, one, other) for other in policies] for one in policies], most)
        axes.set_title(_panel_title(table.num_players))
        axes.set_xticks(range(len(policies)), policies, rotation=30, ha="right")
        axes.set_xlabel(f"against {table.num_players - 1}")
        axes.set_yticks(range(len(policies)), policies if place == 0 else [])
        axes.set_ylabel("one" if place == 0 else "")
    return plot_style.image(figure)


def _ratios(table: CrossTable) -> npt.NDArray[np.float64]:
    """Win rates over the fair share, (policies, policies); NaN on the diagonal."""
    return np.array(
        [
            [np.nan if one == others else table.rate(one, others).mean * table.num_players for others in table.policies]
            for one in table.policies
        ]
    )


def _cell(table: CrossTable, one: str, other: str) -> str:
    if one == other:
        return ""
    rate = table.rate(one, other)
    return f"{100 * rate.mean:.1f}\n±{50 * (rate.high - rate.low):.1f}"


def _panel_title(players: int) -> str:
    return f"{players} players, fair share {100 / players:.1f} %"


@plot_style.styled
def rungs(policies: Sequence[str], players: Sequence[int], rates: Mapping[tuple[str, int], Rate], title: str) -> bytes:
    """A panel for each number of players: the win rate of each policy with its interval, from left to right.

    The panels share one scale, in which 1 is the fair share. Policies are categories, so they are dots without a line.
    """
    width = 0.9 + (0.5 + 0.42 * len(policies)) * len(players)
    figure, row = plot_style.panels(1, len(players), (width, 3.8), sharey=True)
    for axes, count in zip(row[0], players, strict=True):
        shown = [(x, rates[policy, count]) for x, policy in enumerate(policies) if (policy, count) in rates]
        plot_style.intervals(axes, [x for x, _ in shown], [rate for _, rate in shown], scale=count)
        plot_style.reference(axes, 1)
        axes.set_title(_panel_title(count))
        axes.set_xticks(range(len(policies)), policies, rotation=40, ha="right")
        axes.set_xlim(-0.6, len(policies) - 0.4)
    row[0, 0].set_ylabel(f"{title} / fair share")
    return plot_style.image(figure)
