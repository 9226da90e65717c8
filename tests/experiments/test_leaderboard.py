"""Entries of the leaderboard: packed, measured again, and listed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from agents.checkpoint import save_network
from agents.network import NetworkConfig, new_network
from experiments.__main__ import main
from experiments.benchmark.suites import SUITES, Budget, Suite, SuiteTask
from experiments.benchmark.tables import read_table, write_table
from experiments.benchmark.yardsticks import YARDSTICKS

TASKS = {"tiny-2": SuiteTask("tiny-2", Budget(1, 1.0, 1.0)), "full-4": SuiteTask("full-4", Budget(1, 1.0, 1.0))}


@pytest.fixture(autouse=True)
def small_suite(monkeypatch):
    monkeypatch.setitem(SUITES, "core", Suite(1, TASKS, ("ppo",), final_games=40, calibration_seconds=0.01))


@pytest.fixture(scope="module")
def entries(tmp_path_factory):
    """A folder with one entry."""
    folder = tmp_path_factory.mktemp("board")
    network = folder / "policy.safetensors"
    save_network(network, new_network(NetworkConfig(width=16), 1), {"decisions": 0, "config": {}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(SUITES, "core", Suite(1, TASKS, ("ppo",), final_games=40, calibration_seconds=0.01))
        assert submit(str(network), folder / "entries") == 0
    return folder


def submit(policy: str, to: Path, name: str = "mine", *more: str) -> int:
    about = ["--name", name, "--author", "A. Player", "--task", "tiny-2", "--algorithm", "by | hand"]
    return main(["benchmark", "submit", policy, *about, "--to", str(to), *more])


@pytest.fixture
def entry(entries, tmp_path):
    """A copy of the entry."""
    return Path(shutil.copytree(entries / "entries" / "mine", tmp_path / "mine"))


def test_an_entry_has_the_policy_the_card_and_a_row_for_each_yardstick(entry):
    """Seen to fail with a yardstick left out."""
    rows = read_table(entry, "runs").to_pylist()

    assert {path.name for path in entry.iterdir()} == {"card.json", "policy.safetensors", "runs.parquet"}
    assert [row["opponent"] for row in rows] == list(YARDSTICKS)
    assert json.loads((entry / "card.json").read_text())["author"] == "A. Player"


def test_a_policy_that_is_measured_again_wins_as_often(entry, capsys):
    """On one machine exactly so. Seen to fail with other deals."""
    assert main(["benchmark", "check", str(entry)]) == 0

    assert "DIFFERS" not in capsys.readouterr().out
    claimed, found = read_table(entry, "runs"), read_table(entry, "runs", file="checked")
    for name in ("opponent", "wins", "exploitability"):
        assert claimed[name].to_pylist() == found[name].to_pylist()


def test_a_false_claim_is_found_and_the_page_says_so(entry, capsys):
    """The page then has the measured rates. Seen to fail with the claimed ones in the page, and with any claim
    accepted."""
    table = read_table(entry, "runs")
    high = pa.array([0.99] * table.num_rows)
    for name in ("wins", "low", "high"):
        table = table.set_column(table.column_names.index(name), table.schema.field(name), high)
    write_table(entry, "runs", table)

    assert main(["benchmark", "check", str(entry)]) == 1
    assert capsys.readouterr().out.count("DIFFERS") == len(YARDSTICKS)
    assert main(["benchmark", "leaderboard", "--entries", str(entry.parent)]) == 0
    (line,) = [line for line in (entry.parent / "README.md").read_text().splitlines() if "mine" in line]
    assert "it claimed other rates" in line
    assert "99.0" not in line
    assert "by \\| hand" in line


def test_the_page_says_which_entries_were_not_measured_again(entry):
    assert main(["benchmark", "leaderboard", "--entries", str(entry.parent)]) == 0

    assert (entry.parent / "README.md").read_text().splitlines()[-1].endswith("| no |")


def test_an_onnx_file_is_an_entry_too(entries, tmp_path):
    onnx = tmp_path / "net.onnx"
    assert main(["export", str(entries / "policy.safetensors"), "--to", str(onnx)]) == 0

    assert submit(f"onnx:{onnx}:greedy", tmp_path / "board", "other") == 0

    card = json.loads((tmp_path / "board" / "other" / "card.json").read_text())
    assert card["greedy"]
    assert main(["benchmark", "check", str(tmp_path / "board" / "other")]) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"task": "full-3"}, "no such task: 'full-3'; there are tiny-2, full-4"),
        ({"suite_version": 2}, "suite_version must be 1, got 2"),
        ({"author": " "}, "author must not be empty"),
        ({"author": None}, "author is missing"),
        ({"run": "rm -rf"}, "no such setting: 'run'"),
        ({"task": "full-4"}, "and the card is of another task"),
        ({"name": "yours"}, "name is 'yours', but the folder is called 'mine'"),
    ],
)
def test_a_wrong_card_is_refused_with_its_file(change, message, entry, capsys):
    """Seen to fail without each check."""
    card = json.loads((entry / "card.json").read_text()) | change
    (entry / "card.json").write_text(json.dumps({name: value for name, value in card.items() if value is not None}))

    assert main(["benchmark", "leaderboard", "--entries", str(entry.parent)]) == 2

    assert message in capsys.readouterr().err


def test_an_entry_without_its_policy_or_with_rows_left_out_is_refused(entry, capsys):
    write_table(entry, "runs", read_table(entry, "runs").slice(1))
    assert main(["benchmark", "check", str(entry)]) == 2
    assert "runs.parquet must have one row for each of" in capsys.readouterr().err

    (entry / "policy.safetensors").unlink()
    (entry / "runs.parquet").unlink()
    assert main(["benchmark", "check", str(entry)]) == 2


@pytest.mark.parametrize("policy", ["expert", "search:10", "stdio:true"])
def test_only_networks_are_entries(policy, tmp_path, capsys):
    """Others have no file that could be checked without running code. Seen to fail without the check."""
    assert submit(policy, tmp_path) == 2
    assert "an entry is a network or onnx:FILE" in capsys.readouterr().err


def test_an_entry_is_not_replaced(entries, capsys):
    assert submit(str(entries / "policy.safetensors"), entries / "entries") == 2
    assert "has an entry 'mine' already; choose another name" in capsys.readouterr().err
