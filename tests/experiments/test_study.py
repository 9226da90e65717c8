"""The command `study`: one smoke run, looked at from all sides."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from experiments.__main__ import parse
from experiments.commands import study
from experiments.flex_timing.estimates import Estimate
from experiments.flex_timing.jobs import Job
from experiments.flex_timing.words import caption, listed
from experiments.settings import read
from tests.support.learning import one_thread
from tests.support.paths import ROOT

SMOKE = ROOT / "configs" / "study" / "smoke.toml"
FIGURES = ("power", "spend", "spend_map", "kinds", "resets", "ladders", "tree")
TABLES = ("resets", "twins", "choices", "matches")


def smoke(out: Path, *flags: str) -> study.Config:
    config: study.Config = parse(study, "study", ["--config", str(SMOKE), "--out", str(out), *flags])
    return config


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """The results of the smoke run."""
    out: Path = tmp_path_factory.mktemp("study") / "smoke"
    with one_thread():
        assert study.main(smoke(out)) == 0
    return out


@pytest.mark.slow
def test_a_study_leaves_its_results_figures_and_report(finished):
    """All that the report shows is there, as PNG and SVG; the raw results name the settings.

    Seen red with a figure of another name."""
    report = (finished / "report.md").read_text()

    shown = re.findall(r"!\[[^]]*\]\((figures/\w+)\.png\)", report)
    assert shown == [f"figures/{name}" for name in FIGURES]
    for name in shown:
        assert (finished / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"</svg>" in (finished / f"{name}.svg").read_bytes()
    settings = json.loads((finished / "config.json").read_text())
    assert settings["config"]["seed"] == 0
    assert settings["config"]["policy"] == "flex_any"
    for name in TABLES:
        table = pq.read_table(finished / f"{name}.parquet")
        assert json.loads(table.schema.metadata[b"study"]) == settings
        assert {"variant", "num_players", "deal"} <= set(table.column_names)
    assert not (finished / "parts").exists()


@pytest.mark.slow
def test_every_question_is_answered_at_every_table(finished):
    """With a row or a column for two and for three players. Seen red with only the first of them played."""
    report = (finished / "report.md").read_text()

    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", report, flags=re.M | re.S))
    assert len(sections) == 10
    for title in ("What is a green Power worth?", "Spend now, or hold?"):
        assert re.search(r"^\| 2 \|.*\n\| 3 \|", sections[title], flags=re.M)
    for title in ("The reset", "The whole policy, flexing otherwise", "Rules that a person can use"):
        assert "| 2 players | 3 players |" in sections[title]
    robust = sections["Do the findings depend on the player and on the rules?"]
    for variant in ("main", "search", *study.SWITCHES):
        assert f"| 2 | {variant} |" in robust


@pytest.mark.slow
def test_an_interrupted_study_goes_on_to_the_same_results(finished, tmp_path, monkeypatch):
    """Bit for bit, and without playing again what it has. Seen red when everything is played again."""
    played, run = list[str](), Job.run

    def until_the_tenth(job: Job) -> bytes:
        played.append(job.file)
        if len(played) == 10:
            raise KeyboardInterrupt
        return run(job)

    monkeypatch.setattr(Job, "run", until_the_tenth)
    with one_thread(), pytest.raises(KeyboardInterrupt):
        study.main(smoke(tmp_path / "smoke"))
    with one_thread():
        assert study.main(smoke(tmp_path / "smoke")) == 0

    assert played.pop(9) == played[9]
    assert len(played) == len(set(played))
    for name in (*(f"{table}.parquet" for table in TABLES), "report.md"):
        assert (tmp_path / "smoke" / name).read_bytes() == (finished / name).read_bytes()


@pytest.mark.slow
def test_a_finished_study_is_drawn_again_from_its_results(finished, monkeypatch):
    """Nothing is played. Seen red when it is."""
    before = (finished / "report.md").read_bytes(), (finished / "figures" / "power.svg").read_bytes()
    monkeypatch.setattr(Job, "run", None)

    assert study.main(smoke(finished)) == 0

    assert ((finished / "report.md").read_bytes(), (finished / "figures" / "power.svg").read_bytes()) == before


def test_a_switch_for_two_players_is_looked_at_with_two_players_alone():
    """At other tables it changes nothing (rules 9.3), so it would show the same deals again. Seen red without that."""
    tables = {variant.name: players for variant, _, players in study.variants(study.Config(policy="flex_any"))}

    assert tables.pop("two_player_reverse=pass") == (2,)
    assert tables.pop("main") == (2, 3, 4, 6, 8)
    assert set(tables.values()) == {(2, 4)}


@pytest.mark.slow
def test_workers_change_nothing(finished, tmp_path):
    """Seen red when a part depends on how many there are."""
    assert study.main(smoke(tmp_path / "smoke", "--workers", "2")) == 0

    for name in TABLES:
        assert (tmp_path / "smoke" / f"{name}.parquet").read_bytes() == (finished / f"{name}.parquet").read_bytes()


# ---- Settings ----


@pytest.mark.slow
def test_results_of_other_settings_are_not_mixed(finished):
    """Seen red without the comparison."""
    with pytest.raises(ValueError, match="holds results of other settings or weights"):
        study.main(smoke(finished, "--seed", "1"))


@pytest.mark.parametrize("words", [["2,3,4"], ["2", "3", "4"], ["2,3", "4"]])
def test_numbers_of_players_come_with_commas_or_spaces(words):
    """Seen red with either of the two alone."""
    config = parse(study, "study", ["flex_timing", "--policy", "flex_any", "--players", *words])

    assert (config.study, config.policy, config.players) == ("flex_timing", "flex_any", (2, 3, 4))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("players = []", "players must be different numbers, at least one"),
        ("players = [2, 2]", "players must be different numbers"),
        ("players = [9]", "num_players must be from 2 to 8, got 9"),
        ("robust_players = []", "robust_players must be different numbers"),
        ("policy = 'clever'", "no such policy: 'clever'"),
        ("search = 'clever'", "no such policy: 'clever'"),
        ("study = 'poker'", "study must be one of 'flex_timing', got 'poker'"),
        ("seed = -1", "seed must be a whole number"),
        ("workers = -1", "workers must be a whole number from 0 to 1024, got -1"),
        ("[budget]\nworlds = 65", "worlds must be a whole number from 2 to 64, got 65"),
        ("[budget]\nworlds = 1", "worlds must be a whole number from 2 to 64, got 1"),
        ("[budget]\nhold = -1", "hold must be a whole number from 0"),
        ("[budget]\nholds = 5", "no such setting: 'budget.holds'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(tmp_path, line, message):
    """Seen red without each of the checks."""
    path = tmp_path / "bad.toml"
    path.write_text(line if "policy" in line or "[" in line[:1] else f"policy = 'flex_any'\n{line}")

    with pytest.raises(ValueError, match=re.escape(message)):
        read(study.Config, path)


# ---- Words ----


def found(mean: float, sure: bool) -> Estimate:
    return Estimate(mean, mean - 0.01, mean + 0.01, 100, 0.01, 0.01 if sure else 0.5)


def test_captions_say_no_more_than_the_intervals():
    """Seen red with a sign that is not looked at, and with a difference that is not beyond doubt called one."""
    cells: dict[int, Any] = {2: found(0.02, True), 3: found(-0.013, True), 4: found(0.03, False)}

    text = caption("Flexing", "is worth", cells, "more", "less")

    assert text == (
        "Flexing is worth 2.0 points more at 2 players; is worth 1.3 points less at 3 players; "
        "no difference is beyond doubt at 4 players."
    )
    assert caption("It", "wins", {4: cells[4]}, "more", "less") == "It: no difference is beyond doubt at 4 players."


def test_lists_read_as_in_a_sentence():
    assert [listed(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == ["", "a", "a and b", "a, b and c"]
