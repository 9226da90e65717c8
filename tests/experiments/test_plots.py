"""Pictures of results: what their marks and scales say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from agents.match.results import Rate
from experiments.match_tables.plots import rungs
from experiments.training.curve_plot import curve_plot
from experiments.training.learning_curves import Curve


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The figures that are written."""
    figures: list[Any] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *_, **__: figures.append(figure))
    return figures


def test_policies_of_a_ladder_are_dots_without_a_line(drawn):
    """Fault 2-33: a line joined categories. Seen to fail with `fmt="o-"`."""
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
