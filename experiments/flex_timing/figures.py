"""Figures of the study of flex timing, which can be read in gray and by color-blind people."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from agents.atomic import write_whole
from agents.flex_policies import FLEX_KINDS
from experiments.flex_timing.estimates import Estimate, points
from experiments.flex_timing.findings import LEADER_LABELS, OWN_LABELS, Cells, Reset, bin_label
from experiments.flex_timing.tree_rules import Leaf, Tree, answer_text, question_text
from experiments.plot_style import COLOR_MAP

STYLES = (
    ("#000000", "o"),
    ("#0072b2", "s"),
    ("#d55e00", "^"),
    ("#009e73", "D"),
    ("#cc79a7", "v"),
    ("#56b4e9", "P"),
    ("#e69f00", "X"),
)
"""A color and a marker for each number of players (doi:10.1038/nmeth.1618)."""
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


def new(width: float, height: float) -> Figure:
    """An empty figure; sizes in inches."""
    return Figure(figsize=(width, height), layout="constrained", dpi=130)


def save(figure: Figure, folder: Path, name: str) -> None:
    """Write a figure as PNG and SVG. The same figure gives the same bytes."""
    for kind, metadata in (("png", {"Software": None}), ("svg", {"Date": None})):
        file = BytesIO()
        with mpl.rc_context({"svg.hashsalt": "uno-flex", "svg.fonttype": "none"}):
            figure.savefig(file, format=kind, metadata=metadata)
        write_whole(folder / f"{name}.{kind}", file.getvalue())


def _as_points(axes: Axes, direction: str) -> None:
    """Label an axis in percentage points; zero is marked."""
    axis = axes.xaxis if direction == "x" else axes.yaxis
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:+.3g}" if abs(value) > 1e-9 else "0"))
    (axes.axvline if direction == "x" else axes.axhline)(0, color="#666666", linewidth=0.9, zorder=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _style(players: int, numbers: Sequence[int]) -> tuple[str, str]:
    return STYLES[list(numbers).index(players) % len(STYLES)]


def _errors(values: Sequence[Estimate]) -> Any:
    """The lengths of the error bars, (2, values), not negative."""
    ends = [[v.mean - v.low for v in values], [v.high - v.mean for v in values]]
    return np.clip(np.nan_to_num(np.array(ends).reshape(2, -1)), 0, None)


def by_features(rows: Mapping[str, Cells], numbers: Sequence[int], ylabel: str) -> Figure:
    """A row for each feature, a column for each number of players: means with their intervals."""
    figure = new(1.0 + 2.1 * len(numbers), 2.0 * len(rows))
    panels = figure.subplots(len(rows), len(numbers), sharey=True, squeeze=False)
    for row, (feature, by_players) in enumerate(rows.items()):
        begins = sorted({begin for line in by_players.values() for begin in line})
        for column, players in enumerate(numbers):
            axes = panels[row, column]
            line = by_players.get(players, {})
            at = [begins.index(begin) for begin in sorted(line)]
            values = [line[begin] for begin in sorted(line)]
            color, marker = _style(players, numbers)
            mean = [value.mean for value in values]
            axes.errorbar(at, mean, _errors(values), color=color, marker=marker, linestyle="", markersize=4)
            axes.set_xticks(range(len(begins)), [bin_label(feature, begin) for begin in begins], fontsize=8)
            axes.set_xlim(-0.4, max(len(begins) - 0.6, 0.4))
            _as_points(axes, "y")
        panels[row, len(numbers) // 2].set_xlabel(FEATURE_LABELS[feature])
    for column, players in enumerate(numbers):
        panels[0, column].set_title(f"{players} players", fontsize=10)
    figure.supylabel(ylabel, fontsize=10)
    return figure


def maps(cells: Mapping[int, Mapping[tuple[int, int], Estimate]]) -> Figure:
    """A heat map for each number of players: rows are the own hand, columns the smallest other hand.

    Light cells favor the flex, dark ones the other play; empty cells have too few deals; bold ones are `sure`.
    """
    figure = new(1.2 + 2.5 * len(cells), 3.4)
    most = max((abs(value.mean) for grid in cells.values() for value in grid.values()), default=0.01)
    image = None
    for place, (players, values) in enumerate(cells.items()):
        axes = figure.add_subplot(1, len(cells), place + 1)
        grid = np.full((len(OWN_LABELS), len(LEADER_LABELS)), np.nan)
        for (leader, hand), value in values.items():
            grid[hand, leader] = value.mean
            color = "black" if value.mean > 0 else "white"
            text = f"{100 * value.mean:+.1f}\n±{50 * (value.high - value.low):.1f}"
            weight = "bold" if value.sure else "normal"
            axes.text(leader, hand, text, ha="center", va="center", color=color, fontsize=9, fontweight=weight)
        image = axes.imshow(grid, cmap=COLOR_MAP, vmin=-most, vmax=most, origin="lower")
        axes.set_xticks(range(len(LEADER_LABELS)), LEADER_LABELS)
        axes.set_yticks(range(len(OWN_LABELS)), OWN_LABELS if place == 0 else [])
        axes.set_xlabel("smallest other hand")
        axes.set_ylabel("own hand" if place == 0 else "")
        axes.set_title(f"{players} players", fontsize=10)
    if image is not None:
        bar = figure.colorbar(image, ax=figure.axes, shrink=0.8, label="flex less other play, points")
        bar.formatter = FuncFormatter(lambda value, _: f"{100 * value:+.3g}")
        bar.update_ticks()
    return figure


def _dots(axes: Axes, rows: Sequence[str], cells: Mapping[tuple[int, int], Estimate], numbers: Sequence[int]) -> None:
    """Estimates with their intervals: a row for each label, a marker for each number of players."""
    gap = 0.7 / max(len(numbers), 1)
    for order, players in enumerate(numbers):
        color, marker = _style(players, numbers)
        found = {row: value for (number, row), value in cells.items() if number == players}
        at = [row + (order - (len(numbers) - 1) / 2) * gap for row in found]
        mean = np.array([value.mean for value in found.values()])
        label, errors = f"{players} players", _errors(list(found.values()))
        axes.errorbar(mean, at, xerr=errors, color=color, marker=marker, linestyle="", markersize=5, label=label)
    axes.set_yticks(range(len(rows)), rows)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    for row in range(1, len(rows)):
        axes.axhline(row - 0.5, color="#dddddd", linewidth=0.6, zorder=0)
    _as_points(axes, "x")


def kinds(cells: Cells, numbers: Sequence[int]) -> Figure:
    """The worth of each kind of flex over another play."""
    figure = new(7.2, 5.4)
    axes = figure.add_subplot()
    _dots(axes, FLEX_KINDS, {(p, kind): value for p, row in cells.items() for kind, value in row.items() if p}, numbers)
    axes.set_xlabel("the favorite flex of this kind less the favorite other play, points of win probability")
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=len(numbers), frameon=False)
    return figure


def ladders(panels: Mapping[str, Mapping[tuple[int, str], Estimate]], numbers: Sequence[int]) -> Figure:
    """A panel for each ladder: wins above a fair share of one seat that flexes at other times."""
    figure = new(5.3 * len(panels), 4.4)
    for place, (title, cells) in enumerate(panels.items()):
        axes = figure.add_subplot(1, len(panels), place + 1)
        ones = list(dict.fromkeys(one for _, one in cells))
        _dots(axes, [LADDER_LABELS[o] for o in ones], {(p, ones.index(o)): v for (p, o), v in cells.items()}, numbers)
        axes.set_title(title, fontsize=10)
        axes.set_xlabel("wins above a fair share, points")
    handles = figure.axes[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside upper center", ncols=len(numbers), frameon=False)
    return figure


def resets(found: Mapping[int, Reset]) -> Figure:
    """Panels by the number of players: red Powers, resets, and chances to flex that are taken."""
    figure = new(10.4, 3.5)
    panels: list[tuple[str, float, dict[str, Callable[[Reset], Estimate]]]] = [
        ("share of turns with a red Power, %", 100, {"": lambda r: r.red}),
        ("resets in a round", 1, {"": lambda r: r.resets}),
        (
            "chances to flex that are taken, %",
            100,
            {"last green player": lambda r: r.flexes_last, "others": lambda r: r.flexes_not_last},
        ),
    ]
    for place, (ylabel, scale, lines) in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), place + 1)
        for (label, read), (color, marker) in zip(lines.items(), STYLES, strict=False):
            values = [read(reset) for reset in found.values()]
            mean = scale * np.array([value.mean for value in values])
            errors = scale * _errors(values)
            axes.errorbar(list(found), mean, errors, color=color, linestyle="", marker=marker, label=label)
        axes.set_xlabel("players")
        axes.set_xticks(list(found))
        axes.set_ylabel(ylabel)
        axes.set_ylim(bottom=0)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
        if len(lines) > 1:
            axes.legend(frameon=False)
    return figure


def tree(found: Tree) -> Figure:
    """The tree, from the first question on the left to the leaves on the right."""
    figure = new(11.0, 1.0 + 0.75 * len(found.leaves))
    axes = figure.add_subplot()
    axes.set_axis_off()
    depth = max((len(leaf.path) for leaf in found.leaves), default=0)
    _branch(axes, found.leaves, 0, 0, depth)
    axes.set_xlim(-0.45, depth + 0.45)
    axes.set_ylim(len(found.leaves) - 0.4, -0.6)
    return figure


def _branch(axes: Axes, leaves: Sequence[Leaf], first: int, level: int, depth: int) -> float:
    """Draw a part of the tree with its leaves in the rows from `first` on; returns the height of its root."""
    if len(leaves) == 1:
        leaf = leaves[0]
        what = "SPEND" if leaf.rule.spend else "HOLD"
        text = f"{what}   {points(leaf.worth)}\n{100 * leaf.share:.0f} % of the cases"
        face = "#f5e79e" if leaf.rule.spend else "#c8d3e8"
        if leaf.worth.low <= 0 <= leaf.worth.high:
            face = "white"
        _box(axes, depth, first, text, face, "bold" if leaf.rule.spend else "normal")
        return float(first)
    asked = leaves[0].path[level]
    low = [leaf for leaf in leaves if leaf.path[level] == asked]
    high = leaves[len(low) :]
    tops = [_branch(axes, part, start, level + 1, depth) for part, start in ((low, first), (high, first + len(low)))]
    middle = (tops[0] + tops[1]) / 2
    for part, height in zip((low, high), tops, strict=True):
        to = depth if len(part) == 1 else level + 1
        axes.plot([level, to], [middle, height], color="#888888", linewidth=1.0, zorder=0)
        at = level + 0.42, middle + (height - middle) * 0.42 / (to - level)
        box: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 1}
        axes.text(*at, answer_text(part[0].path[level]), fontsize=8, ha="center", va="center", bbox=box)
    _box(axes, level, middle, fill(question_text(asked), 26), "white", "normal")
    return middle


def _box(axes: Axes, x: float, y: float, text: str, face: str, weight: str) -> None:
    box: dict[str, Any] = {"boxstyle": "round,pad=0.4", "facecolor": face, "edgecolor": "#555555", "linewidth": 0.8}
    axes.text(x, y, text, ha="center", va="center", fontsize=9, fontweight=weight, bbox=box)
