"""Learning curves: what is read from runs, and the picture."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from experiments import __main__ as command
from experiments.training.learning_curves import curves, read_points


def run(folder: Path, wins: Sequence[float], players: Sequence[int] = (2,)) -> Path:
    """The metrics of a run that was measured once for each of `wins`."""
    folder.mkdir()
    lines: list[dict[str, Any]] = [{"decisions": 5, "approx_kl": 0.1}]
    for i, rate in enumerate(wins, start=1):
        strength = [["expert", n, rate, rate - 0.1, rate + 0.1] for n in players]
        lines.append({"decisions": 1000 * i, "minutes": 2.0 * i, "strength": strength})
    (folder / "metrics.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    return folder


def test_a_curve_has_a_row_for_each_run_of_its_name(tmp_path):
    """Seen to fail with measurements of other numbers of players mixed in."""
    first, second = run(tmp_path / "a", [0.25, 0.5], (2, 4)), run(tmp_path / "a-2", [0.35, 0.75], (2, 4))

    two, four = curves(read_points(first) + read_points(second))

    assert (two.players, four.players) == (2, 4)
    assert two.wins.tolist() == [[0.25, 0.5], [0.35, 0.75]]
    assert two.decisions.tolist() == [1000, 2000]
    assert two.minutes.tolist() == [2.0, 4.0]


def test_the_picture_can_be_drawn_again_from_its_table(tmp_path, capsys):
    """Seen to fail with the columns low and high exchanged in reading."""
    run(tmp_path / "a", [0.25, 0.5]), run(tmp_path / "b", [0.35, 0.75, 0.8])
    sources = [str(tmp_path / name) for name in "ab"]
    first, again = tmp_path / "first.png", tmp_path / "again.png"

    assert command.main(["curves", *sources, "--out", str(first)]) == 0
    assert command.main(["curves", str(first.with_suffix(".csv")), "--out", str(again)]) == 0

    assert first.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert again.read_bytes() == first.read_bytes()
    assert again.with_suffix(".csv").read_text() == first.with_suffix(".csv").read_text()
    assert "5 measurements of 2 runs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("sources", "why"),
    [([], "name the folders"), (["a", "a-2"], "not measured equally often"), (["nowhere"], "neither the folder")],
)
def test_what_cannot_be_drawn_is_refused(tmp_path, capsys, sources, why):
    run(tmp_path / "a", [0.25, 0.5]), run(tmp_path / "a-2", [0.35])

    status = command.main(["curves", *(str(tmp_path / name) for name in sources), "--out", str(tmp_path / "x.png")])

    assert status == 2
    assert why in capsys.readouterr().err
    assert not (tmp_path / "x.png").exists()


def test_a_table_of_something_else_and_another_kind_of_picture_are_refused(tmp_path, capsys):
    """Before anything is written. Seen to fail without the checks."""
    run(tmp_path / "a", [0.25, 0.5])
    (tmp_path / "b.csv").write_text("x,y\n1,2\n")

    assert command.main(["curves", str(tmp_path / "a"), "--out", str(tmp_path / "x.csv")]) == 2
    assert command.main(["curves", str(tmp_path / "b.csv"), "--out", str(tmp_path / "x.png")]) == 2

    message = capsys.readouterr().err
    assert "out must be the name of a .png file" in message
    assert "b.csv is no table that this command has written" in message
    assert not list(tmp_path.glob("x.*"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ('{"strength": [["expert", 2, 0.5', "a is damaged: JSONDecodeError"),
        ('{"decisions": 3, "strength": [["expert", 2, 0.5, 0.4, 0.6]]}', "a is damaged: KeyError: 'minutes'"),
        ('{"decisions": 3, "minutes": 1.0, "strength": [["expert"]]}', "a is damaged"),
    ],
)
def test_damaged_metrics_are_refused_by_the_name_of_the_run(tmp_path, damage, message):
    """Seen to fail when the error of the JSON reader came through."""
    folder = run(tmp_path / "a", [0.25])
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(damage)
    with pytest.raises(ValueError, match=message):
        read_points(folder)


def test_a_damaged_table_is_refused_by_file_and_line(tmp_path):
    """Seen to fail when only the number was named."""
    path = tmp_path / "points.csv"
    path.write_text(
        "run,decisions,minutes,baseline,players,wins,low,high\na,5,1.0,expert,2,0.5,0.4,0.6\na,x,1,e,2,0,0,0\n"
    )
    with pytest.raises(ValueError, match=r"points.csv, line 3: .*'x'"):
        read_points(path)
