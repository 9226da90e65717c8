"""Figures of the study of flex timing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from agents.atomic import write_whole
from agents.flex_policies import FLEX_KINDS
from experiments import plot_style
from experiments.flex_timing.estimates import Estimate, points
from experiments.flex_timing.findings import LEADER_LABELS, OWN_LABELS, Cells, Reset, bin_label
from experiments.flex_timing.tree_rules import Leaf, Tree, answer_text, question_text

FEATURE_LABELS = {
    "hand": "cards in hand",
    "flex_cards": "cards with a flex side in hand",
    "others_green": "green Powers of others",
    "leader": "cards in the smallest other hand",
}
LADDER_LABELS = {
    "never": "never flexes",
    "first_chance": "flexes at the first chance",
    "when_stuck": "flexes only when stuck",
    "as_learned": "as learned (control)",
    "never_flex": "never flexes",
    "always_flex": "flexes at the first chance",
    "flex_any": "flexes like any card",
    "flex_by_rules": "flexes by the rules found",
}


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write a figure as PNG and SVG. The same figure gives the same bytes."""
    for kind in ("png", "svg"):
        write_whole(folder / f"{name}.{kind}", plot_style.image(figure, kind))


def _as_points(axes: Axes, direction: str) -> None:
    """Label an axis in percentage points; zero is marked."""
    axis = axes.xaxis if direction == "x" else axes.yaxis
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:+.3g}" if abs(value) > 1e-9 else "0"))
    plot_style.reference(axes, 0, direction)


@plot_style.styled
def by_features(rows: Mapping[str, Cells], numbers: Sequence[int], ylabel: str) -> Figure:
    """A row for each feature, a column for each number of players: means with their intervals."""
    size = 1.0 + 2.1 * len(numbers), 2.0 * len(rows)
    figure, panels = plot_style.panels(len(rows), len(numbers), size, sharey=True)
    for row, (feature, by_players) in enumerate(rows.items()):
        begins = sorted({begin for line in by_players.values() for begin in line})
        for column, players in enumerate(numbers):
            axes = panels[row, column]
            line = by_players.get(players, {})
            at = [begins.index(begin) for begin in sorted(line)]
            plot_style.intervals(axes, at, [line[begin] for begin in sorted(line)], column)
            axes.set_xticks(range(len(begins)), [bin_label(feature, begin) for begin in begins])
            axes.set_xlim(-0.4, max(len(begins) - 0.6, 0.4))
            _as_points(axes, "y")
        panels[row, len(numbers) // 2].set_xlabel(FEATURE_LABELS[feature])
    for column, players in enumerate(numbers):
        panels[0, column].set_title(f"{players} players")
    figure.supylabel(ylabel, fontsize=10)
    return figure


@plot_style.styled
def maps(cells: Mapping[int, Mapping[tuple[int, int], Estimate]]) -> Figure:
    """A heat map for each number of players: rows are the own hand, columns the smallest other hand.

    Amber cells favor the flex, blue ones the other play; gray ones have too few deals; bold ones are `sure`.
    """
    figure, row = plot_style.panels(1, max(1, len(cells)), (1.2 + 2.3 * len(cells), 3.2))
    most = max((abs(value.mean) for grid in cells.values() for value in grid.values()), default=0.01)
    image = None
    for place, (axes, (players, values)) in enumerate(zip(row[0], cells.items(), strict=False)):
        grid = np.full((len(OWN_LABELS), len(LEADER_LABELS)), np.nan)
        texts = [["few\ndeals"] * len(LEADER_LABELS) for _ in OWN_LABELS]
        for (leader, hand), value in values.items():
            grid[hand, leader] = value.mean
            texts[hand][leader] = f"{100 * value.mean:+.1f}\n±{50 * (value.high - value.low):.1f}"
        sure = np.array(
            [[(x, y) in values and values[x, y].sure for x in range(len(grid[0]))] for y in range(len(grid))]
        )
        image = plot_style.heat_map(axes, grid, texts, most, bold=sure)
        axes.invert_yaxis()
        axes.set_facecolor(plot_style.PALEST_GRAY)
        axes.set_xticks(range(len(LEADER_LABELS)), LEADER_LABELS)
        axes.set_yticks(range(len(OWN_LABELS)), OWN_LABELS if place == 0 else [])
        axes.set_xlabel("smallest other hand")
        axes.set_ylabel("own hand" if place == 0 else "")
        axes.set_title(f"{players} players")
    if image is not None:
        bar = figure.colorbar(image, ax=figure.axes, shrink=0.8, label="flex less other play, points")
        bar.formatter = FuncFormatter(lambda value, _: f"{100 * value:+.3g}" if abs(value) > 1e-9 else "0")
        bar.update_ticks()
    return figure


def _dots(axes: Axes, rows: Sequence[str], cells: Mapping[tuple[int, int], Estimate], numbers: Sequence[int]) -> None:
    """Estimates with their intervals: a row for each label, a marker for each number of players."""
    gap = 0.7 / max(len(numbers), 1)
    for order, players in enumerate(numbers):
        found = {row: value for (number, row), value in cells.items() if number == players}
        at = [row + (order - (len(numbers) - 1) / 2) * gap for row in found]
        plot_style.intervals(axes, at, list(found.values()), order, across=True, label=f"{players} players")
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.grid(False, axis="y")
    for row in range(1, len(rows)):
        axes.axhline(row - 0.5, color=plot_style.PALE_GRAY, linewidth=0.6, zorder=0)
    _as_points(axes, "x")


@plot_style.styled
def kinds(cells: Cells, numbers: Sequence[int]) -> Figure:
    """The worth of each kind of flex over another play."""
    figure, ((axes,),) = plot_style.panels(1, 1, (7.2, 5.4))
    _dots(axes, FLEX_KINDS, {(p, kind): value for p, row in cells.items() for kind, value in row.items() if p}, numbers)
    axes.set_xlabel("the favorite flex of this kind less the favorite other play, points of win probability")
    plot_style.top_legend(figure, axes)
    return figure


@plot_style.styled
def ladders(panels: Mapping[str, Mapping[tuple[int, str], Estimate]], numbers: Sequence[int]) -> Figure:
    """A panel for each ladder: wins above a fair share of one seat that flexes at other times."""
    figure, row = plot_style.panels(1, len(panels), (5.3 * len(panels), 4.4))
    for axes, (title, cells) in zip(row[0], panels.items(), strict=True):
        ones = list(dict.fromkeys(one for _, one in cells))
        _dots(axes, [LADDER_LABELS[o] for o in ones], {(p, ones.index(o)): v for (p, o), v in cells.items()}, numbers)
        axes.set_title(title)
        axes.set_xlabel("wins above a fair share, points")
    plot_style.top_legend(figure, row[0, 0])
    return figure


@plot_style.styled
def resets(found: Mapping[int, Reset]) -> Figure:
    """Panels by the number of players: red Powers, resets, and chances to flex that are taken."""
    figure, row = plot_style.panels(1, 3, (10.4, 3.5))
    panels: list[tuple[str, float, dict[str, Callable[[Reset], Estimate]]]] = [
        ("share of turns with a red Power, %", 100, {"": lambda r: r.red}),
        ("resets in a round", 1, {"": lambda r: r.resets}),
        (
            "chances to flex that are taken, %",
            100,
            {"last green player": lambda r: r.flexes_last, "others": lambda r: r.flexes_not_last},
        ),
    ]
    for axes, (ylabel, scale, lines) in zip(row[0], panels, strict=True):
        for series, (label, read) in enumerate(lines.items()):
            plot_style.intervals(
                axes, list(found), [read(reset) for reset in found.values()], series, scale=scale, label=label
            )
        axes.set_xlabel("players")
        axes.set_xticks(list(found))
        axes.set_ylabel(ylabel)
        axes.set_ylim(bottom=0)
        if len(lines) > 1:
            axes.legend()
    return figure


@plot_style.styled
def tree(found: Tree) -> Figure:
    """The tree, from the first question on the left to the leaves on the right."""
    figure, ((axes,),) = plot_style.panels(1, 1, (11.0, 1.0 + 0.75 * len(found.leaves)))
    axes.set_axis_off()
    depth = max((len(leaf.path) for leaf in found.leaves), default=0)
    _branch(axes, found.leaves, 0, 0, depth)
    axes.set_xlim(-0.45, depth + 0.45)
    axes.set_ylim(len(found.leaves) - 0.4, -0.6)
    return figure


def _verdict(leaf: Leaf) -> tuple[str, str, str]:
    """What a leaf says, the color of its box, and the weight of its text. An interval that holds zero says nothing."""
    if leaf.worth.low <= 0 <= leaf.worth.high:
        return "undecided", "white", "normal"
    return ("SPEND", plot_style.PALE_AMBER, "bold") if leaf.rule.spend else ("HOLD", plot_style.PALE_BLUE, "bold")


def _branch(axes: Axes, leaves: Sequence[Leaf], first: int, level: int, depth: int) -> float:
    """Draw a part of the tree with its leaves in the rows from `first` on; returns the height of its root."""
    if len(leaves) == 1:
        leaf = leaves[0]
        what, face, weight = _verdict(leaf)
        text = f"{what}   {points(leaf.worth)}\n{100 * leaf.share:.0f} % of the cases"
        _box(axes, depth, first, text, face, weight)
        return float(first)
    asked = leaves[0].path[level]
    low = [leaf for leaf in leaves if leaf.path[level] == asked]
    high = leaves[len(low) :]
    tops = [_branch(axes, part, start, level + 1, depth) for part, start in ((low, first), (high, first + len(low)))]
    middle = (tops[0] + tops[1]) / 2
    for part, height in zip((low, high), tops, strict=True):
        to = depth if len(part) == 1 else level + 1
        axes.plot([level, to], [middle, height], color=plot_style.GRAY, linewidth=1.0, zorder=0)
        at = level + 0.42, middle + (height - middle) * 0.42 / (to - level)
        box: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        axes.text(*at, answer_text(part[0].path[level]), fontsize=8, ha="center", va="center", bbox=box)
    _box(axes, level, middle, fill(question_text(asked), 26), "white", "normal")
    return middle


def _box(axes: Axes, x: float, y: float, text: str, face: str, weight: str) -> None:
    box: dict[str, Any] = {
        "boxstyle": "round,pad=0.4",
        "facecolor": face,
        "edgecolor": plot_style.GRAY,
        "linewidth": 0.8,
    }
    axes.text(x, y, text, ha="center", va="center", fontsize=9, fontweight=weight, bbox=box)
