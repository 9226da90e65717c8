"""Figures of the benchmark: their marks are the numbers that they were given."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from experiments.benchmark.benchmark_figures import (
    cross_play,
    exploitability_curves,
    interval_dots,
    profile_lines,
    score_curves,
)
from experiments.benchmark.run_scores import RunCurve
from experiments.benchmark.run_statistics import Interval, performance_profile
from experiments.plot_style import image

NAMES = ["ppo", "dqn", "nfsp"]


def curve(algorithm: str, seed: int, end: float, speed: float = 1.0, task: str = "full-2") -> RunCurve:
    """A straight line from 0 to `end` in a million decisions."""
    share = np.linspace(0, 1, 5)
    return RunCurve(task, algorithm, seed, 1e6 * share, 600 * share / speed, end * share, np.exp(-share))


def lines(figure: Figure, panel: int = 0) -> dict[str, Any]:
    return {str(line.get_label()): line for line in figure.axes[panel].lines if line.get_label() in NAMES}


def test_a_line_is_the_mean_of_the_runs_as_far_as_all_go():
    """Two runs, one twice as fast: by minutes both are read up to the end of the faster.

    Seen to fail when seconds are drawn as minutes, and when lines go on to the end of the slower."""
    runs = [curve("ppo", 1, 1.0), curve("ppo", 2, 0.5, speed=2.0)]

    by_decisions = lines(score_curves(runs, NAMES, "decisions", "caption"))["ppo"]
    by_minutes = lines(score_curves(runs, NAMES, "seconds", "caption"))["ppo"]

    assert (by_decisions.get_xdata()[-1], by_decisions.get_ydata()[-1]) == pytest.approx((1.0, 0.75))
    assert (by_minutes.get_xdata()[-1], by_minutes.get_ydata()[-1]) == pytest.approx((5.0, 0.5))


def test_the_legend_names_algorithms_of_all_panels():
    """Seen to fail when it names those of the first panel only."""
    figure = score_curves([curve("ppo", 1, 1.0), curve("dqn", 1, 1.0, task="tiny-2")], NAMES, "decisions", "caption")

    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["ppo", "dqn"]


def test_an_algorithm_looks_the_same_in_each_figure_and_unlike_others():
    """Seen to fail when the number of a line is its place among those drawn."""
    runs = [curve(name, 1, 1.0) for name in NAMES]
    looks = [
        {name: (line.get_color(), line.get_linestyle(), line.get_marker()) for name, line in lines(figure).items()}
        for figure in (score_curves(runs, NAMES, "decisions", ""), score_curves(runs[1:], NAMES, "seconds", ""))
    ]

    assert looks[1].items() <= looks[0].items()
    assert len(set(looks[0].values())) == len(NAMES)


def test_exploitability_has_a_logarithmic_axis_and_only_curves_that_have_it():
    unknown = replace(curve("dqn", 1, 1.0), exploitability=np.full(5, np.nan))

    figure = exploitability_curves([curve("ppo", 1, 1.0, task="tiny-2"), unknown], NAMES, "decisions", "caption")

    assert [axes.get_title() for axes in figure.axes] == ["tiny-2"]
    assert figure.axes[0].get_yscale() == "log"
    with pytest.raises(ValueError, match="no curves of exploitability"):
        exploitability_curves([unknown], NAMES, "decisions", "caption")


def test_the_best_value_is_the_first_row():
    """Seen to fail with the order reversed."""
    figure = interval_dots({"a": Interval(0.2, 0.1, 0.3), "b": Interval(0.9, 0.8, 1.0)}, "score", "b leads", 1.0)

    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["b", "a"]
    assert np.asarray(axes.lines[1].get_xdata()).tolist() == [0.9, 0.2]
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # row 0 is on top


def test_cells_of_cross_play_hold_their_numbers():
    """Seen to fail when rows and columns are swapped."""
    cells = {("a", "b"): Interval(0.6, 0.58, 0.62), ("b", "a"): Interval(0.4, np.nan, np.nan)}

    axes = cross_play(cells, ["a", "b"], 2, "caption").axes[0]

    texts = {text.get_position(): text.get_text() for text in axes.texts}
    assert texts == {(0, 0): "-", (1, 0): "60.0\n±2.0", (0, 1): "40.0", (1, 1): "-"}


def test_a_caption_is_below_all_panels_and_fits():
    """Seen to fail when the caption is one line."""
    profile = performance_profile([np.array([0.1, 0.7, 1.1])], np.linspace(0, 1.5, 31))
    text = (
        "Most runs of each algorithm beat the random policy, and a third of them are better than the expert bot. " * 2
    )

    figure = profile_lines({"ppo": profile, "dqn": profile}, text)

    assert image(figure, "svg") == image(figure, "svg")
    drawn = next(a for a in figure.findobj(Text) if isinstance(a, Text) and a.get_text().startswith(text[:20]))
    assert drawn.get_text().replace("\n", " ") == text.strip()
    assert drawn.get_window_extent().width < figure.bbox.width


def test_an_unknown_algorithm_is_refused():
    with pytest.raises(ValueError, match="'dmc' is not one of the algorithms ppo, dqn, nfsp"):
        score_curves([curve("dmc", 1, 1.0)], NAMES, "decisions", "caption")
