"""What `benchmark report` makes of finished cells: merged tables, text and figures; cross-play and exploiters."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import Any, TypeVar

import pytest

import uno_flex_env
from agents.network import NetworkConfig
from experiments.__main__ import main
from experiments.benchmark.cell import ALL_YARDSTICKS, Cell
from experiments.benchmark.cross_play import cross_pairs
from experiments.benchmark.exploiter_runs import exploiter_runs
from experiments.benchmark.job_runner import Job
from experiments.benchmark.suite_cells import finished_cells
from experiments.benchmark.suites import SUITES, Budget, Suite, SuiteTask
from experiments.benchmark.tables import make_table, read_table, write_table
from tests.support.benchmark_rows import learned_rows, random_row

J = TypeVar("J", bound=Job)

TASKS = {name: SuiteTask(name, Budget(1000, 1.0, 2.0)) for name in ("tiny-2", "full-4")}
PLANTED = Suite(
    3,
    TASKS,
    ("ppo", "dqn"),
    cross_games=8,
    curve_games=8,
    final_games=8,
    exploiter_decisions=1,
    calibration_seconds=0.01,
)


@pytest.fixture
def planted(monkeypatch, tmp_path):
    """A function that writes finished cells: a task, an algorithm, and the final scores of its runs."""
    monkeypatch.setitem(SUITES, "planted", PLANTED)

    def write(task: str, algorithm: str, *scores: float) -> None:
        players = PLANTED.tasks[task].options.num_players
        for seed, score in enumerate(scores, 1):
            cell = Cell("planted", task, algorithm, seed, tmp_path)
            rows = [row | cell.about | {"players": players} for row in learned_rows(algorithm, seed, [0.0, score])]
            ends = [row for row in rows if row["at"] != "curve"]
            wins = [round(row["wins"] * players) for row in ends for _ in range(100)]
            deals = [
                cell.about
                | {name: row[name] for name in ("at", "opponent", "players", "greedy")}
                | {"deal_seed": 7, "wins": wins[100 * i : 100 * i + 100]}
                for i, row in enumerate(ends)
            ]
            finish(cell, rows, deals)
        cell = Cell("planted", task, ALL_YARDSTICKS, 0, tmp_path)
        row = random_row(task) | cell.about | {"algorithm": "random", "players": players}
        finish(cell, [row], [])

    return write


def finish(cell: Cell, rows: list[dict[str, Any]], deals: list[dict[str, Any]]) -> None:
    cell.folder.mkdir(parents=True, exist_ok=True)
    write_table(cell.folder, "runs", make_table("runs", rows))
    write_table(cell.folder, "deals", make_table("deals", deals))
    about = {"suite_version": cell.plan.version, "package_version": uno_flex_env.__version__}
    (cell.folder / "cell.json").write_text(json.dumps(cell.about | about))


def report(runs: Path, *more: str) -> int:
    return main(["benchmark", "report", "planted", "--runs", str(runs), "--to", str(runs / "to"), *more])


def rows_of(text: str, heading: str) -> list[list[str]]:
    """The cells of the first table after a heading."""
    lines = text[text.index(heading) :].splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("| ---"))
    table = takewhile(lambda line: line.startswith("|"), lines[first + 1 :])
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_the_better_algorithm_is_above_the_other_in_every_table(planted, tmp_path, capsys):
    """At two players `expert` wins 50 %, so a score of 1 is 50 %. Seen to fail with the tables in the order of
    names."""
    planted("tiny-2", "ppo", 1.0, 1.0)
    planted("tiny-2", "dqn", 0.0, 0.0)

    assert report(tmp_path) == 0

    text = (tmp_path / "to" / "results.md").read_text()
    for heading in ("At the budget of decisions", "At the budget of processor time"):
        rows = rows_of(text, heading)
        assert [row[0] for row in rows] == ["`ppo`", "`dqn`"]
        assert [row[1] for row in rows] == ["2", "2"]
    costs = rows_of(text, "What it cost")
    assert [row[:4] for row in costs] == [
        ["`dqn`", "50", "not reached", "not reached"],
        ["`ppo`", "50", "0.0", "0.2"],
    ]
    assert text in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "to").iterdir()} >= {
        "runs.parquet",
        "deals.parquet",
        "scores_by_decisions.png",
        "scores_by_minutes.png",
        "interquartile_means.png",
        "profiles.png",
    }


def test_all_tasks_are_summed_up_for_the_algorithms_that_have_them_all(planted, tmp_path):
    """Seen to fail with algorithms that lack a task."""
    for task in TASKS:
        planted(task, "ppo", 0.0, 0.0)
    planted("tiny-2", "dqn", 1.0, 1.0)

    assert report(tmp_path) == 0

    assert [row[:2] for row in rows_of((tmp_path / "to" / "results.md").read_text(), "## All tasks")] == [
        ["`ppo`", "0.000 [0.000, 0.000]"]
    ]


def test_published_rows_stay_unless_there_are_newer_ones(planted, tmp_path):
    """So two machines can add their results. Seen to fail with the published rows left out, and with the old row kept
    beside the new one, which the table refuses."""
    planted("tiny-2", "ppo", 0.25, 0.5)
    assert report(tmp_path) == 0
    first = read_table(tmp_path / "to", "runs")
    (tmp_path / "planted" / "tiny-2" / "ppo" / "1" / "cell.json").unlink()
    planted("tiny-2", "dqn", 0.75)
    planted("tiny-2", "ppo", 0.25, 1.0)
    (tmp_path / "planted" / "tiny-2" / "ppo" / "1" / "cell.json").unlink()

    assert report(tmp_path) == 0

    found = {
        (row["algorithm"], row["seed"]): round((row["wins"] - 0.1) / 0.4, 2)
        for row in read_table(tmp_path / "to", "runs").to_pylist()
        if row["at"] == "decisions"
    }
    assert found == {("dqn", 1): 0.75, ("ppo", 1): 0.25, ("ppo", 2): 1.0, ("random", 0): 0.0}
    assert first.num_rows == 9


def test_a_report_on_nothing_and_on_cells_of_another_version_is_refused(planted, tmp_path, capsys):
    assert report(tmp_path) == 2
    assert "has no finished run; `benchmark run planted` makes them" in capsys.readouterr().err
    planted("tiny-2", "ppo", 0.5)
    path = tmp_path / "planted" / "tiny-2" / "ppo" / "1" / "cell.json"
    path.write_text(path.read_text().replace('"suite_version": 3', '"suite_version": 2'))

    assert report(tmp_path) == 2
    assert "was made with suite_version 2, now it is 3" in capsys.readouterr().err
    assert not (tmp_path / "to").exists()


def test_a_moved_cell_is_refused(planted, tmp_path, capsys):
    """Seen to fail without the comparison: its rows then count for the algorithm that it is from."""
    planted("tiny-2", "ppo", 0.5)
    (tmp_path / "planted" / "tiny-2" / "ppo").rename(tmp_path / "planted" / "tiny-2" / "dqn")

    assert report(tmp_path) == 2
    assert "is about tiny-2 ppo 1, so it should be in" in capsys.readouterr().err


def done(jobs: list[J]) -> list[J]:
    for job in jobs:
        job.run()
        assert job.is_done()
    return jobs


@pytest.mark.slow
def test_runs_play_each_other_and_are_exploited(monkeypatch, tmp_path):
    """Run against run, both ways round, and a run never itself; then exploiters. Untrained policies are enough. Seen to
    fail with pairs of one algorithm left out, and with the rows of only one side."""
    task = SuiteTask("tiny-2", Budget(1, 1e-9, 1.0), NetworkConfig(width=16))
    monkeypatch.setitem(SUITES, "planted", replace(PLANTED, tasks={"tiny-2": task}, points=1))
    for name, seed in (("dmc", 1), ("dmc", 2), ("a2c", 1)):
        Cell("planted", "tiny-2", name, seed, tmp_path).run()
    cells = finished_cells("planted", tmp_path)

    pairs = done(cross_pairs(cells))
    (exploited, *_) = done(exploiter_runs(cells[:1]))

    met = [
        (row["algorithm"], row["seed"], row["other_algorithm"], row["other_seed"])
        for pair in pairs
        for row in pair.rows()
    ]
    runs = [("a2c", 1), ("dmc", 1), ("dmc", 2)]
    assert sorted(met) == sorted((*one, *other) for one in runs for other in runs if one != other)
    row = exploited.row()
    assert (row["algorithm"], row["exploiters"], row["exploiter_decisions"], row["games"]) == ("a2c", 2, 1, 8)
