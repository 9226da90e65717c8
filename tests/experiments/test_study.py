"""The command `study`, tested on one smoke run."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import uno_flex_env
from agents.atomic import write_whole
from experiments.command_line import parse
from experiments.commands import study
from experiments.flex_timing.jobs import RESULT_FILES, Job
from experiments.flex_timing.study_settings import SWITCHES, Config, variants
from experiments.settings import read
from tests.support.paths import ROOT

SMOKE = ROOT / "configs" / "study" / "smoke.toml"
FIGURES = ("power", "spend", "spend_map", "kinds", "resets", "ladders", "tree")


def smoke(out: Path, *flags: str) -> Config:
    config: Config = parse(study, "study", ["--config", str(SMOKE), "--out", str(out), *flags])
    return config


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Path:
    """The results of the smoke run."""
    out: Path = tmp_path_factory.mktemp("study") / "smoke"
    assert study.main(smoke(out)) == 0
    return out


@pytest.mark.slow
def test_a_study_leaves_its_results_figures_and_appendix(finished):
    """All figures of the appendix are there, as PNG and SVG; the raw results name the settings.

    Seen to fail with a figure of another name."""
    text = (finished / "appendix.md").read_text()

    shown = re.findall(r"!\[[^]]*\]\((figures/\w+)\.png\)", text)
    assert shown == [f"figures/{name}" for name in FIGURES]
    for name in shown:
        assert (finished / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert b"</svg>" in (finished / f"{name}.svg").read_bytes()
    settings = json.loads((finished / "config.json").read_text())
    assert settings["config"]["seed"] == 0
    assert settings["config"]["policy"] == "flex_any"
    for name in RESULT_FILES:
        table = pq.read_table(finished / name)
        assert json.loads(table.schema.metadata[b"study"]) == settings
        assert {"variant", "num_players", "deal"} <= set(table.column_names)
    assert not (finished / "parts").exists()


@pytest.mark.slow
def test_every_question_is_answered_for_every_number_of_players(finished):
    """With a row or a column for two and for three players. Seen to fail with only the first of them played."""
    text = (finished / "appendix.md").read_text()

    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", text, flags=re.M | re.S))
    assert list(sections) == [
        "What a green Power is worth",
        "Spend or hold",
        "Flex or draw",
        "Which flex, and at whom",
        "Powers and resets",
        "Duels",
        "A tree of rules",
        "Other players and rules",
        "The files",
    ]
    for title in (title for title in list(sections)[:7] if title != "Which flex, and at whom"):  # too few deals
        assert "| 2 players | 3 players |" in sections[title], title
    assert re.search(r"^\| 2 players \|.*\n\| 3 players \|", sections["What a green Power is worth"], flags=re.M)
    for title in ("Spend or hold", "Flex or draw"):
        assert re.search(r"^\| 2 \|.*\n\| 3 \|", sections[title], flags=re.M)
    for variant in ("main", "search", *SWITCHES):
        assert f"| 2 | `{variant}` |" in sections["Other players and rules"]


@pytest.mark.slow
def test_an_interrupted_study_goes_on_to_the_same_results_with_other_workers(finished, tmp_path, monkeypatch):
    """Bit for bit, and without playing again what it has. Another test draws the results.

    Seen to fail when everything is played again, and when a part depends on how many workers there are."""
    out, run = tmp_path / "smoke", Job.run
    played, written = list[str](), list[str]()

    def until_the_tenth(job: Job) -> bytes:
        played.append(job.file)
        if len(played) == 10:
            raise KeyboardInterrupt
        return run(job)

    def note(path: Path, data: bytes) -> None:
        written.append(path.name)
        write_whole(path, data)

    monkeypatch.setattr("experiments.flex_timing.jobs.write_whole", note)
    monkeypatch.setattr(study, "write_appendix", lambda *_: None)
    monkeypatch.setattr(Job, "run", until_the_tenth)
    with pytest.raises(KeyboardInterrupt):
        study.main(smoke(out))
    assert study.main(smoke(out, "--workers", "2")) == 0

    assert written[:9] == played[:9]
    assert len(written) == len(set(written))
    for name in RESULT_FILES:
        assert (out / name).read_bytes() == (finished / name).read_bytes()


@pytest.mark.slow
def test_a_finished_study_is_drawn_again_from_its_results(finished, monkeypatch):
    """Also by a later version. Nothing is played, and the files keep the version that played.

    Seen to fail when it is, and when a later version is refused."""
    files = [finished / "appendix.md", finished / "figures" / "power.svg", finished / "config.json"]
    before = [file.read_bytes() for file in files]
    monkeypatch.setattr(Job, "run", None)
    monkeypatch.setattr(uno_flex_env, "__version__", "99.0")

    assert study.main(smoke(finished)) == 0

    assert [file.read_bytes() for file in files] == before


def test_a_two_player_switch_matters_only_with_two_players():
    """At others it changes nothing (rule 9.3), so it would show the same deals again. Seen to fail without that."""
    played = {variant.name: players for variant, _, players in variants(Config(policy="flex_any"))}

    assert played.pop("two_player_reverse=pass") == (2,)
    assert played.pop("main") == (2, 3, 4, 6, 8)
    assert set(played.values()) == {(2, 4)}


@pytest.mark.slow
def test_an_unfinished_study_is_not_finished_by_another_version(finished, tmp_path, monkeypatch):
    """Its numbers might differ. Seen to fail when the version is never compared."""
    out = tmp_path / "smoke"
    out.mkdir()
    (out / "config.json").write_bytes((finished / "config.json").read_bytes())
    monkeypatch.setattr(uno_flex_env, "__version__", "99.0")

    with pytest.raises(ValueError, match="holds results of other settings, weights or another version"):
        study.main(smoke(out))


# ---- Settings ----


@pytest.mark.slow
def test_results_of_other_settings_are_not_mixed(finished):
    """Seen to fail without the comparison."""
    with pytest.raises(ValueError, match="holds results of other settings, weights or another version"):
        study.main(smoke(finished, "--seed", "1"))


def test_numbers_of_players_are_separated_by_spaces():
    """As in every other command. Seen to fail with commas."""
    config = parse(study, "study", ["flex_timing", "--policy", "flex_any", "--players", "2", "3", "4"])

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
    """Seen to fail without each of the checks."""
    path = tmp_path / "bad.toml"
    path.write_text(line if "policy" in line or "[" in line[:1] else f"policy = 'flex_any'\n{line}")

    with pytest.raises(ValueError, match=re.escape(message)):
        read(Config, path)
