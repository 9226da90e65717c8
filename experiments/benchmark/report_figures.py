"""The figures of the benchmark's page, by the names of their files."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow.compute as pc
from matplotlib.figure import Figure

from experiments.benchmark.benchmark_figures import (
    cross_play,
    exploitability_curves,
    interval_dots,
    profile_lines,
    score_curves,
)
from experiments.benchmark.results_text import Results
from experiments.benchmark.run_scores import cross_cells, run_curves
from experiments.benchmark.run_statistics import performance_profile, stratified_interval

BANDS = "Lines are means over runs, bands go from the lowest to the highest run."


def figures(results: Results) -> Iterator[tuple[str, Figure]]:
    """All figures that the results have rows for."""
    names, curves = results.algorithms, run_curves(results.runs)
    per_decision = f"Scores at tables of the expert by the decisions that a run has learned from. {BANDS}"
    yield "scores_by_decisions.png", score_curves(curves, names, "decisions", per_decision)
    per_minute = f"The same runs by the time that they have spent on learning. {BANDS}"
    yield "scores_by_minutes.png", score_curves(curves, names, "seconds", per_minute)
    if any(np.isfinite(curve.exploitability).all() for curve in curves):
        exact = f"Exact exploitability in units of the reward: what a best response wins. {BANDS}"
        yield "exploitability.png", exploitability_curves(curves, names, "decisions", exact)
    if scores := results.common("decisions"):
        means = {name: stratified_interval(values) for name, values in scores.items()}
        caption = "Interquartile means of the scores over all tasks and runs, with 95 % intervals over runs."
        yield "interquartile_means.png", interval_dots(means, "score (random 0, expert 1)", caption, 1.0)
        at = np.linspace(0, max(1.2, max(float(np.concatenate(values).max()) for values in scores.values())), 121)
        profiles = {name: performance_profile(values, at) for name, values in scores.items()}
        caption = "How many runs score more than each value, averaged over the tasks; bands are 95 % intervals."
        yield "profiles.png", profile_lines(profiles, caption)
    if "cross" in results.tables:
        cross = results.tables["cross"]
        for task in sorted(set(cross["task"].to_pylist())):
            rows = cross.filter(pc.field("task") == task)
            caption = f"{task}: final policies against each other, means over pairs of runs."
            found = cross_play(cross_cells(rows), names, rows["players"][0].as_py(), caption)
            yield f"cross_play_{task.replace('-', '_')}.png", found
