"""The cells of a benchmark: runs with budgets, measured along their way."""

import json
import re
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from agents.network import NetworkConfig
from agents.network_policy import NetworkPolicy
from agents.policy_factory import make_policy
from experiments.__main__ import main
from experiments.benchmark.cell import ALL_YARDSTICKS, Cell, train_config
from experiments.benchmark.run_scores import final_scores, run_curves
from experiments.benchmark.suites import SUITES, Budget, Suite, SuiteTask
from experiments.benchmark.tables import read_table
from experiments.benchmark.yardsticks import YARDSTICKS
from experiments.training.trainer import Trainer

TASK = SuiteTask("tiny-2", Budget(40_000, 1e-3, 100.0), NetworkConfig(width=16))
SHORT = Suite(1, {"tiny-2": TASK}, ("dmc",), points=4, curve_games=20, final_games=20, calibration_seconds=0.01)


@pytest.fixture
def short(monkeypatch):
    """A suite of 40,000 decisions."""
    monkeypatch.setitem(SUITES, "short", SHORT)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder in which two runs are finished, and the yardsticks have played."""
    runs = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SUITES, "short", SHORT)
        for cell in (dmc(runs), dmc(runs, 2), Cell("short", "tiny-2", ALL_YARDSTICKS, 0, runs)):
            cell.run()
    return runs


def dmc(runs: Path, seed: int = 1) -> Cell:
    """A cell of the suite."""
    return Cell("short", "tiny-2", "dmc", seed, runs)


def test_a_cell_is_measured_along_its_run_and_where_each_budget_ends(short, finished):
    """A step has 16,384 decisions: points come after one and two of them, and at the end. The budget of seconds ends
    with the first step, that of decisions with the third. Seen to fail with both ends measured at the end of the run,
    and with a point for each step."""
    cell = dmc(finished)

    rows = read_table(cell.folder, "runs").to_pylist()
    deals = read_table(cell.folder, "deals").to_pylist()

    assert [(row["point"], row["decisions"]) for row in rows if row["at"] == "curve"] == [
        (0, 0),
        (1, 16_384),
        (3, 32_768),
        (4, 49_152),
    ]
    assert {(row["at"], row["decisions"]) for row in rows if row["at"] != "curve"} == {
        ("seconds", 16_384),
        ("decisions", 49_152),
    }
    assert [row["opponent"] for row in rows if row["at"] == "seconds"] == list(YARDSTICKS)
    assert {(row["at"], row["opponent"], len(row["wins"])) for row in deals} == {
        (at, opponent, 10) for at in ("decisions", "seconds") for opponent in YARDSTICKS
    }
    for row, wins in zip([row for row in rows if row["at"] != "curve"], deals, strict=True):
        assert row["wins"] == pytest.approx(sum(wins["wins"]) / row["games"])
    assert all(row["parameters"] > 640 * 16 and row["cpu_seconds"] >= 0 for row in rows)
    assert cell.is_done()
    assert "49,152 decisions" in cell.summary()
    for kept in (cell.folder, cell.folder / "seconds"):
        policy = make_policy(str(kept))
        assert isinstance(policy, NetworkPolicy)
        assert policy.greedy
    assert not (cell.folder / "checkpoint.pt").exists()


class Killed(BaseException):
    """Stands for the end of the process."""


def test_a_killed_cell_continues_as_if_nothing_had_happened(short, finished, tmp_path, monkeypatch):
    """Killed after a step whose checkpoint has been written, and after one that has not. Seen to fail with rows kept
    that were measured after the checkpoint (twice there), and with the trainer's restore left out."""
    whole, parts = dmc(finished), dmc(tmp_path)
    step, save, left = Trainer.step, Trainer.save, iter([1, 1])

    def killed_step(trainer):
        step(trainer)
        if trainer.updates == 2 and next(left, 0):
            raise Killed

    def killed_save(trainer):
        if trainer.updates == 3 and next(left, 0):
            raise Killed
        save(trainer)

    monkeypatch.setattr(Trainer, "step", killed_step)
    monkeypatch.setattr(Trainer, "save", killed_save)
    for _ in range(2):
        with pytest.raises(Killed):
            parts.run()
    parts.run()

    timeless = ("point", "at", "decisions", "opponent", "greedy", "games", "wins", "parameters")
    ours, theirs = (
        [tuple(row[name] for name in timeless) for row in read_table(cell.folder, "runs").to_pylist()]
        for cell in (whole, parts)
    )
    assert ours == theirs
    assert read_table(whole.folder, "deals").equals(read_table(parts.folder, "deals"))
    one, other = ((cell.folder / "policy.safetensors").read_bytes() for cell in (whole, parts))
    assert one == other


def test_yardsticks_play_each_other(short, finished):
    """Seen to fail with a yardstick left out. What is read from the tables needs `random` at tables of `expert`."""
    rows = read_table(Cell("short", "tiny-2", ALL_YARDSTICKS, 0, finished).folder, "runs")

    assert {(row["algorithm"], row["opponent"]) for row in rows.to_pylist()} == {
        (one, other) for one in YARDSTICKS for other in YARDSTICKS if one != other
    }
    both = pa.concat_tables([rows, read_table(dmc(finished).folder, "runs")])
    assert list(final_scores(both, "seconds")) == ["dmc"]
    assert [len(curve.scores) for curve in run_curves(both)] == [4]


def test_a_cell_of_another_version_is_refused(short, tmp_path):
    """Seen to fail without the comparison."""
    cell = dmc(tmp_path)
    cell.folder.mkdir(parents=True)
    (cell.folder / "cell.json").write_text(json.dumps({"suite_version": 1, "package_version": "0.0.9"}))

    with pytest.raises(ValueError, match=r"dmc/1 was made with package_version '0\.0\.9', now it is '"):
        cell.run()


def test_a_run_with_other_settings_is_refused(short, tmp_path, monkeypatch):
    """Seen to fail with the settings not compared: the trainer's own check."""
    monkeypatch.setattr(Trainer, "step", lambda trainer: (_ for _ in ()).throw(Killed))
    cell = dmc(tmp_path)
    with pytest.raises(Killed):
        cell.run()
    Trainer(train_config(cell), cell.folder, 1).save()
    wider = SuiteTask("tiny-2", TASK.budget, NetworkConfig(width=32))
    monkeypatch.setitem(SUITES, "short", Suite(1, {"tiny-2": wider}, ("dmc",), points=4, calibration_seconds=0.01))

    with pytest.raises(ValueError, match="network is not what it was"):
        cell.run()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["coer"], "no such suite: 'coer'; there are smoke, core, long; did you mean 'core'"),
        (["core", "--tasks", "ful-2"], "the suite core has no task 'ful-2'; there are .*; did you mean 'full-2'"),
        (["core", "--algorithms", "pppo"], "no such learner: 'pppo'; there are .*; did you mean 'ppo'"),
    ],
)
def test_what_the_benchmark_does_not_have_is_refused(arguments, message, tmp_path, capsys):
    """Before a folder is made. Seen to fail with the folder made first."""
    assert main(["benchmark", "run", *arguments, "--runs", str(tmp_path / "runs")]) == 2
    assert re.search(message, capsys.readouterr().err)
    assert not (tmp_path / "runs").exists()


def test_finished_cells_are_not_run_again_and_a_changed_suite_is_refused(short, finished, tmp_path, capsys):
    """`make benchmark` runs the whole command. Seen to fail with done cells run again, and with the suite's file not
    compared."""
    runs = tmp_path / "runs"
    shutil.copytree(finished, runs)
    arguments = ["benchmark", "run", "short", "--runs", str(runs), "--seeds", "1", "2"]

    assert main(arguments) == 0
    assert capsys.readouterr().out == "3 runs, 3 of them done before\n"
    file = runs / "short" / "suite.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"final_games": 7}))
    assert main(arguments) == 2
    assert "short was made with final_games = 7, now it is 20: move the folder away" in capsys.readouterr().err
