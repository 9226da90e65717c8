"""Scores, curves and ratings from the tables of the benchmark, and their form for marl-eval."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from agents.match.ratings import POINTS
from experiments.benchmark.marl_eval import marl_eval_results
from experiments.benchmark.run_scores import cross_cells, cross_ratings, final_scores, random_rates, run_curves
from experiments.benchmark.tables import make_table
from tests.support.benchmark_rows import RANDOM_RATE, learned_rows, random_row, run_row


def runs(*rows: dict[str, Any]) -> pa.Table:
    return make_table("runs", [random_row(), *rows])


def met(one: tuple[str, int], other: tuple[str, int], wins: float, **columns: Any) -> dict[str, Any]:
    """A row of the table `cross`."""
    return {
        "suite": "core",
        "suite_version": 1,
        "task": "full-2",
        "algorithm": one[0],
        "seed": one[1],
        "other_algorithm": other[0],
        "other_seed": other[1],
        "at": "decisions",
        "players": 2,
        "games": 100_000,
        "wins": wins,
        "low": wins - 0.01,
        "high": wins + 0.01,
    } | columns


# ---- Scores and curves ----


def test_final_scores_are_those_of_the_asked_budget_by_seed():
    """Seen to fail when rows of the other budget, of greedy policies or of other yardsticks count."""
    table = runs(
        run_row("ppo", 2, 0.5),
        run_row("ppo", 1, 0.3),
        run_row("ppo", 1, 0.9, at="seconds"),
        run_row("ppo", 1, 0.9, greedy=True),
        run_row("ppo", 1, 0.9, opponent="champion:greedy"),
        run_row("expert", 0, 0.5, point=0, decisions=0),
    )

    found = final_scores(table, "decisions")

    assert {name: list(tasks) for name, tasks in found.items()} == {"ppo": ["full-2"]}
    assert found["ppo"]["full-2"].tolist() == pytest.approx([0.5, 1.0])


def test_curves_are_in_the_order_of_their_points():
    """Seen to fail without sorting by point."""
    rows = learned_rows("dqn", 4, [0.0, 0.5, 1.25])

    (curve,) = run_curves(runs(*rows[::-1]))

    assert (curve.task, curve.algorithm, curve.seed) == ("full-2", "dqn", 4)
    assert curve.decisions.tolist() == [0, 1000, 2000]
    assert curve.seconds.tolist() == [0, 10, 20]
    assert curve.scores.tolist() == pytest.approx([0, 0.5, 1.25])
    assert np.isnan(curve.exploitability).all()


def test_scores_need_the_random_policy_at_each_task():
    table = runs(run_row("ppo", 1, 0.5, task="small-2"))

    with pytest.raises(ValueError, match="no row of 'random' against 'expert' for the task 'small-2'"):
        final_scores(table, "decisions")


def test_rows_of_the_random_policy_are_pooled_by_their_games():
    """Seen to fail with the plain mean."""
    table = runs(random_row() | {"at": "seconds", "games": 6000, "wins": 0.2})

    assert random_rates(table) == {"full-2": pytest.approx((2000 * RANDOM_RATE + 6000 * 0.2) / 8000)}


def test_suites_are_not_mixed():
    with pytest.raises(ValueError, match="several suites can't be compared: core, long"):
        run_curves(runs(run_row("ppo", 1, 0.5, suite="long")))


# ---- Cross-play ----


def test_ratings_of_cross_play_are_those_of_the_planted_odds():
    """Odds of 3 to 1 are 400 log10(3) points. Seen to fail with the winners swapped."""
    ppo, dqn, dmc = ("ppo", 1), ("dqn", 1), ("dmc", 2)
    found = cross_ratings(make_table("cross", [met(ppo, dqn, 0.75), met(dqn, dmc, 0.75), met(ppo, ppo, 0.5)]))

    assert found[ppo] - found[dqn] == pytest.approx(POINTS * np.log(3), abs=0.1)
    assert found[dqn] - found[dmc] == pytest.approx(POINTS * np.log(3), abs=0.1)


def test_at_four_players_one_seat_meets_three():
    """Twice as strong as each of the three wins 2 of 5 games. Seen to fail with one seat for the others."""
    found = cross_ratings(make_table("cross", [met(("ppo", 1), ("dqn", 1), 0.4, task="full-4", players=4)]))

    assert found["ppo", 1] - found["dqn", 1] == pytest.approx(POINTS * np.log(2), abs=0.1)


def test_runs_that_never_meet_have_no_ratings():
    apart = [met(("a", 1), ("b", 1), 0.5), met(("c", 1), ("d", 1), 0.5)]

    with pytest.raises(ValueError, match=r"no chain of matches joins \('a', 1\) and \('c', 1\)"):
        cross_ratings(make_table("cross", apart))
    with pytest.raises(ValueError, match="rows of one task, got full-2, full-4"):
        cross_ratings(make_table("cross", [apart[0], met(("a", 1), ("b", 1), 0.2, task="full-4", players=4)]))


def test_a_cell_is_the_mean_over_pairs_of_runs():
    rows = [met(("a", 1), ("b", 1), 0.5), met(("a", 2), ("b", 1), 0.7), met(("b", 1), ("a", 1), 0.4)]

    cells = cross_cells(make_table("cross", rows))

    assert cells["a", "b"].mean == pytest.approx(0.6)
    assert np.isnan(cells["a", "b"].low)
    assert (cells["b", "a"].low, cells["b", "a"].high) == pytest.approx((0.39, 0.41))


# ---- marl-eval ----


def test_results_for_marl_eval_have_its_documented_structure():
    """The structure of its README: environment, task, algorithm, run; then steps in order with lists of one value for
    each metric, and last the absolute metrics with the same names. marl-eval takes the last key for them.

    Seen to fail when the absolute metrics come first, and when they are those of the other budget."""
    rows = [row for name in ("dqn", "ppo") for seed in (1, 2) for row in learned_rows(name, seed, [0, 0.5, 1])]
    ends = [row | {"wins": 0.42} if row["at"] == "decisions" else row for row in rows]

    results = json.loads(json.dumps(marl_eval_results(runs(*ends[::-1]))))

    assert list(results) == ["uno_flex"]
    assert list(results["uno_flex"]) == ["full-2"]
    assert list(results["uno_flex"]["full-2"]) == ["dqn", "ppo"]
    assert list(results["uno_flex"]["full-2"]["ppo"]) == ["run_1", "run_2"]
    run = results["uno_flex"]["full-2"]["ppo"]["run_2"]
    assert list(run) == ["step_1", "step_2", "step_3", "absolute_metrics"]
    assert [run[f"step_{k}"]["step_count"] for k in (1, 2, 3)] == [0, 1000, 2000]
    assert run["step_2"]["score"] == pytest.approx([0.5])
    assert run["step_2"]["win_rate"] == pytest.approx([0.3])
    assert run["absolute_metrics"] == {"win_rate": [0.42], "score": [pytest.approx(0.8)]}
    by_time = marl_eval_results(runs(*ends[::-1]), at="seconds")["uno_flex"]["full-2"]["ppo"]["run_2"]
    assert by_time["absolute_metrics"]["win_rate"] == [0.5]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [*learned_rows("ppo", 1, [0, 1]), *learned_rows("dqn", 1, [0, 1]), *learned_rows("dqn", 2, [0, 1])],
            "the same runs everywhere; full-2, dqn has 2, full-2, ppo has 1",
        ),
        (
            [*learned_rows("ppo", 1, [0, 1]), *learned_rows("ppo", 2, [0, 0.5, 1])],
            "the same points everywhere; full-2, ppo, run_1 has 2, full-2, ppo, run_2 has 3",
        ),
        (
            [
                random_row("small-2"),
                *learned_rows("ppo", 1, [0, 1], task="small-2"),
                *learned_rows("dqn", 1, [0, 1]),
            ],
            r"the same algorithms everywhere; full-2 has \['dqn'\], small-2 has \['ppo'\]",
        ),
        (learned_rows("ppo", 1, [0, 1])[:-2], "no row at 'decisions' for full-2, ppo, run_1"),
    ],
)
def test_what_marl_eval_cannot_read_is_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        marl_eval_results(runs(*rows))
