"""The commands evaluate and tournament: what they print, write and refuse."""

from __future__ import annotations

import json
import re
from io import BytesIO
from pathlib import Path

import matplotlib.image
import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import pytest

from agents.match.runner import duel
from agents.rule_bot import RuleBot
from experiments.__main__ import main
from experiments.match_tables.cross_table import CrossTable, cross_table
from experiments.match_tables.plots import heat_maps
from tests.support.paths import ROOT
from uno_flex_env import Rules

CONFIGS = ROOT / "configs"


class Namesake(RuleBot):
    """A policy of another name for `make_policy` that is called "random" like the rule bot."""

    def __init__(self) -> None:
        super().__init__("random")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    """Runs are written below the working folder."""
    monkeypatch.chdir(tmp_path)


def cross(*policies: str, num_players: int = 2, games: int = 300) -> CrossTable:
    return cross_table(policies, num_players, games=games, seed=0, rules=Rules())


# ---- Cross tables ----


def test_with_two_players_the_win_rates_add_up_to_one():
    """Each pair plays once.

    Seen to fail with the rate of the first policy in both cells."""
    table = cross("flex_any", "never_flex", "random")

    assert len(table.results) == 3
    for one, others in (("flex_any", "random"), ("never_flex", "flex_any")):
        assert table.rate(one, others).mean == pytest.approx(1 - table.rate(others, one).mean)
    assert table.rate("flex_any", "random").mean > 0.9


def test_at_larger_tables_every_ordered_pair_plays():
    table = cross("flex_any", "random", num_players=3)

    assert [result.lineup for result in table.results] == [(0, 1, 1), (0, 1, 1)]
    assert table.rate("flex_any", "random").mean > 0.8
    assert table.rate("random", "flex_any").mean < 0.1


def test_a_cross_table_holds_the_results_of_single_matches():
    """On the deals of the same seed. Seen to fail with another one."""
    table = cross("flex_any", "never_flex", num_players=4)

    assert table.rate("never_flex", "flex_any") == duel("never_flex", "flex_any", 4, games=300).rate(0)


def test_a_cross_table_is_readable():
    """A row for the one, a column for the others, rates with intervals, the fair share."""
    lines = str(cross("flex_any", "random", num_players=4)).splitlines()

    assert "4 players: wins of one (row) against 3 of another (column)" in lines[0]
    assert "95 % intervals; fair share 25.0 %" in lines[0]
    assert lines[2].split() == ["one", "against", "flex_any", "random"]
    assert re.fullmatch(r"flex_any +- +\d+\.\d \[\d+\.\d, \d+\.\d\]", lines[3])
    assert re.fullmatch(r"random +\d+\.\d \[\d+\.\d, \d+\.\d\] +-", lines[4])
    assert re.fullmatch(r"600 games, \d+\.\d decisions each", lines[6])


def test_heat_maps_have_a_part_for_each_number_of_players():
    """Seen to fail with a picture of one width."""
    one = picture(cross("flex_any", "random"))
    two = picture(*(cross("flex_any", "random", num_players=n) for n in (2, 3)))

    assert two.shape[0] == one.shape[0]
    assert two.shape[1] == pytest.approx(2 * one.shape[1], abs=2)


def test_on_a_heat_map_the_better_policy_is_lighter():
    """Also in grey. Most of the picture is white, then come the cells of the two policies.

    Seen to fail with the color map reversed."""
    grey = picture(cross("flex_any", "random"))

    levels, counts = np.unique(grey, return_counts=True)
    dark, light, white = np.sort(levels[np.argsort(counts)[-3:]])
    rows = {level: np.flatnonzero((grey == level).any(axis=1)).mean() for level in (dark, light)}
    assert white == 3.0
    assert rows[light] < rows[dark]  # flex_any is the first row


def picture(*tables: CrossTable) -> npt.NDArray[np.float32]:
    """The heat maps as a picture in grey, (height, width)."""
    pixels: npt.NDArray[np.float32] = matplotlib.image.imread(BytesIO(heat_maps(tables)))
    grey: npt.NDArray[np.float32] = pixels[..., :3].sum(axis=2)
    return grey


# ---- Commands ----


def test_evaluate_prints_and_writes(capsys):
    """The settings of the smoke run; the file has every game."""
    status = main(["evaluate", "--config", str(CONFIGS / "evaluate" / "smoke.toml"), "--out", "games.parquet"])

    output = capsys.readouterr().out
    assert status == 0
    assert "3 players: wins of one (row) against 2 of another" in output
    assert "120 games, " in output
    games = pq.read_table("games.parquet").to_pylist()
    assert len(games) == 120
    share = np.mean([game["winner"] == "flex_when_stuck" for game in games[:60]])
    assert re.search(rf"^flex_when_stuck +- +{100 * share:.1f} ", output, flags=re.MULTILINE)


def test_evaluate_stops_early_if_asked_to(capsys):
    """Seen to fail when all games are played."""
    arguments = ["flex_any", "random", "--games", "8192", "--threshold", "0.5", "--workers", "1"]

    assert main(["evaluate", *arguments]) == 0

    assert "512 games, " in capsys.readouterr().out


def test_evaluate_has_a_table_for_each_number_of_players(capsys):
    """And all games in one file. Seen to fail with the first number alone."""
    arguments = ["flex_any", "random", "--players", "2", "3", "--games", "60", "--workers", "1", "--out", "it.parquet"]

    assert main(["evaluate", *arguments]) == 0

    output = capsys.readouterr().out
    assert [str(cross("flex_any", "random", num_players=n, games=60)) in output for n in (2, 3)] == [True, True]
    assert pq.read_table("it.parquet").num_rows == 60 * 3


def test_evaluate_plays_by_the_rules_that_are_asked_for(capsys):
    """With two cards each games are short. Seen to fail with the official rules whatever is asked for."""
    outputs = []
    for flags in ([], ["--rules.hand-size", "2"]):
        assert main(["evaluate", "flex_any", "random", "--games", "40", "--workers", "1", *flags]) == 0
        outputs.append(float(re.search(r"games, (\d+\.\d) decisions", capsys.readouterr().out)[1]))  # type: ignore[index]

    assert outputs[1] < outputs[0] / 2


@pytest.mark.slow
def test_a_tournament_leaves_a_folder_with_everything(capsys):
    """The settings of the smoke run: tables, ratings, heat map, every game. A second run leaves the first alone.

    Seen to fail with a folder that may be there already."""
    smoke = ["tournament", "--config", str(CONFIGS / "tournament" / "smoke.toml")]

    assert main(smoke) == 0

    output = capsys.readouterr().out
    folder = Path("runs", "tournament", "smoke")
    assert sorted(path.name for path in folder.iterdir()) == [
        "games.parquet",
        "heat_map.png",
        "results.json",
        "tables.txt",
    ]
    assert output == f"{(folder / 'tables.txt').read_text()}\nresults: {folder}\n"
    assert "2 players: wins" in output
    assert "3 players: wins" in output
    assert re.search(r"rating +2 players +3 players +all\nflex_any +\+0 \[\+0, \+0\]", output)
    results = json.loads((folder / "results.json").read_text())
    assert results["config"]["players"] == [2, 3]
    assert len(results["rates"]) == 3 + 6
    assert [rating["policy"] for rating in results["ratings"]["all"]] == ["flex_any", "never_flex", "random"]
    assert pq.read_table(folder / "games.parquet").num_rows == 60 * (3 + 6)
    assert main(smoke) == 0
    assert Path("runs", "tournament", "smoke-2", "results.json").read_bytes() == (folder / "results.json").read_bytes()


def test_a_tournament_of_one_deal_claims_nothing(capsys):
    """Fault 2-2: win rates of [0, 100] have ratings without bounds, which are null in strict JSON.

    Seen to fail with the bootstrap ("+123 [+123, +123]"), and with Python's "Infinity" in the file."""
    arguments = ["flex_any", "random", "--games", "2", "--players", "4", "--workers", "1"]

    assert main(["tournament", *arguments]) == 0

    text = Path("runs", "tournament", "round_robin", "results.json").read_text()
    rating = json.loads(text, parse_constant=pytest.fail)["ratings"]["4 players"][1]
    assert (rating["low"], rating["high"]) == (None, None)
    assert "[-inf, +inf]" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["evaluate", "tournament"])
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["flex_any"], "two policies or more, got flex_any"),
        (["flex_any", "flex_any"], "each policy once, got flex_any 2 times"),
        (["flex_any", "random", "--players", "9"], "num_players must be from 2 to 8, got 9"),
        (["flex_any", "random", "--games", "0"], "games must be a whole number from 1"),
        (["flex_any", "random", "--workers", "-1"], "workers must be a whole number from 0"),
        (["flex_any", "random", "clever"], "no such policy: 'clever'; there are random, flex_any"),
        (["flex_any", "random", f"{__name__}:Namesake"], "each policy once, got random 2 times"),
    ],
)
def test_bad_arguments_are_refused(capsys, command, arguments, message):
    """With status 2, before anything is played or written.

    Seen to fail with each name checked only when its turn comes."""
    assert status_of(command, *arguments) == 2

    assert message in " ".join(re.sub("[│╭╰─╮╯]", " ", capsys.readouterr().err).split())
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "--out", "games.csv"], "out must be a .parquet file, got games.csv"),
        (["evaluate", "--threshold", "2"], "stop.threshold must lie in (0, 1), got 2.0"),
        (["tournament", "--players", "2", "2"], "players must be different numbers, at least one, got (2, 2)"),
        (["tournament", "--name", "../x"], "name must be that of a folder, got '../x'"),
        (["tournament", "--name", "x" * 300], "name must be at most 200 bytes long, got 300"),
    ],
)
def test_bad_options_are_refused(capsys, arguments, message):
    assert status_of(*arguments) == 2

    assert message in " ".join(re.sub("[│╭╰─╮╯]", " ", capsys.readouterr().err).split())


def status_of(*arguments: str) -> object:
    """The status of a command; the parser of flags exits by itself."""
    try:
        return main(list(arguments))
    except SystemExit as end:
        return end.code
