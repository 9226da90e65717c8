"""Pictures of results: what their marks and scales say."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from agents.flex_policies import FlexRule
from agents.match.results import Rate
from experiments.flex_timing import figures
from experiments.flex_timing.estimates import Estimate
from experiments.flex_timing.tree_rules import Leaf, Tree, answer_text
from experiments.match_tables.plots import rungs
from experiments.training.curve_plot import curve_plot
from experiments.training.learning_curves import Curve
from tests.support.paths import ROOT


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that are written."""
    figures: list[Any] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: figures.append(figure))
    return figures


def test_policies_of_a_ladder_are_dots_without_a_line(drawn):
    """Fault 2-33: a line joined categories. Seen to fail with `linestyle="-"` in `intervals`."""
    rungs(["random", "expert"], [2], {(name, 2): Rate(0.5, 0.4, 0.6, 0.5, 9) for name in ("random", "expert")}, "wins")

    data = drawn[0].axes[0].lines[0]
    assert (data.get_marker(), data.get_linestyle()) == ("o", "None")


def test_learning_curves_at_several_numbers_of_players_share_one_scale(drawn):
    """Fault 2-33: seven panels had seven scales. Seen to fail without `sharey`."""
    steps = np.array([1e6, 2e6])
    wins = {2: np.array([[0.4, 0.6]]), 8: np.array([[0.1, 0.25]])}
    curve_plot([Curve("quick", "expert", n, steps, steps / 1e6, share) for n, share in wins.items()])

    one, other = drawn[0].axes[:2]
    assert one.get_ylim() == other.get_ylim()
    assert [list(axes.lines[0].get_ydata()) for axes in (one, other)] == [[0.8, 1.2], [0.8, 2.0]]


def test_ladders_at_several_numbers_of_players_share_one_scale(drawn):
    """Fault 2-33: each panel had its own scale. Seen to fail without `sharey` and without `scale=count`."""
    rungs(["a"], [2, 8], {("a", 2): Rate(0.6, 0.5, 0.7, 0.5, 9), ("a", 8): Rate(0.25, 0.2, 0.3, 0.125, 9)}, "wins")

    one, other = drawn[0].axes
    assert one.get_ylim() == other.get_ylim()
    assert [axes.containers[0].lines[0].get_ydata()[0] for axes in (one, other)] == [1.2, 2.0]


def leaf(spend: bool, worth: Estimate, above: bool) -> Leaf:
    path = (("players", above, 3.5),)
    return Leaf(path, FlexRule(path, spend), worth, 0.5)


def test_a_leaf_whose_interval_holds_zero_is_undecided(drawn):
    """Fault 2-33: SPEND was printed in bold for +1.7 [-0.9, +4.2]. Seen to fail with `if False` in `_verdict`."""
    open_, clear = Estimate(0.017, -0.009, 0.042, 50), Estimate(0.043, 0.017, 0.067, 50)
    none = Estimate(0.0, 0.0, 0.0, 50)
    figure = figures.tree(Tree((leaf(True, open_, False), leaf(True, clear, True)), none, none, none))

    said = {t.get_text().split()[0]: t.get_fontweight() for t in figure.axes[0].texts if "cases" in t.get_text()}
    assert said == {"undecided": "normal", "SPEND": "bold"}


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        (("hand", False, 0.5), "none"),
        (("hand", False, 1.5), "1 or fewer"),
        (("hand", True, 0.5), "1 or more"),
        (("skip_all", False, 0.5), "no"),
    ],
)
def test_the_answers_of_the_tree_are_words(condition, answer):
    """Seen to fail with "0 or fewer"."""
    assert answer_text(condition) == answer


def test_each_cell_of_a_map_shows_its_number(drawn):
    """Fault 2-33: gray cells told apart by color only. Seen to fail with the mean's size in place of its sign."""
    figure = figures.maps({2: {(0, 0): Estimate(-0.105, -0.17, -0.03, 50), (1, 0): Estimate(0.02, -0.03, 0.07, 50)}})

    shown = {text.get_position(): text.get_text() for text in figure.axes[0].texts}
    assert (shown[0, 0], shown[1, 0]) == ("-10.5\n±7.0", "+2.0\n±5.0")
    assert {text for at, text in shown.items() if at not in {(0, 0), (1, 0)}} == {"few\ndeals"}


def test_only_the_style_makes_figures_and_names_colors():
    """Fault 2-33: each module had colors, sizes and text of its own. Seen to fail with `color="#0072b2"` in
    `figures.py` and with `fig = Figure(size)` in `curve_plot.py`."""
    own = re.compile(r"""["']#[0-9a-f]{6}["']|\bFigure\(|figsize|dpi=|color=["']""")
    files = [*(ROOT / "experiments").rglob("*.py"), *(ROOT / "notebooks").glob("*.py")]
    plots = [file for file in files if re.search("matplotlib|plot_style", file.read_text())]

    assert len(plots) > 6
    found = [file.name for file in plots if file.name != "plot_style.py" and own.search(file.read_text())]
    assert found == []
