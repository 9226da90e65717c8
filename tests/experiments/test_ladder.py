"""The command `ladder`: cells are those of match play, and a ladder that was interrupted continues."""

from __future__ import annotations

import json

import pytest

from agents.checkpoint import save_network
from agents.match.results import Rate
from agents.match.runner import duel
from experiments.__main__ import main
from experiments.commands.ladder import Config
from experiments.match_tables.ladder_results import ladder_table, read_rates
from experiments.settings import read
from tests.support.learning import KINDS, make_network
from tests.support.paths import ROOT

SMALL = ["random", "flex_any", "--against", "flex_when_stuck", "--players", "2", "3", "--games", "60", "--workers", "1"]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_the_cells_are_those_of_match_play(tmp_path, capsys):
    """Seen to fail with the seed of the ladder left out."""
    assert main(["ladder", *SMALL, "--seed", "4"]) == 0

    rate = duel("random", "flex_when_stuck", 3, games=60, seed=4).rate("random")
    assert f"| `random` | {duel('random', 'flex_when_stuck', 2, games=60, seed=4).rate('random')} | {rate} |" in (
        capsys.readouterr().out
    )
    folder = tmp_path / "runs" / "ladder" / "ladder"
    assert (folder / "ladder.png").read_bytes().startswith(b"\x89PNG")
    assert str(rate) in (folder / "ladder.md").read_text()


def test_existing_results_are_not_played_again(tmp_path, capsys):
    """Only the new policy is played; the cells that a killed ladder has left are kept."""
    main(["ladder", *SMALL])
    path = tmp_path / "runs" / "ladder" / "ladder" / "results.json"
    results = json.loads(path.read_text())
    results["rates"][0]["rate"]["mean"] = 0.123
    path.write_text(json.dumps(results))
    capsys.readouterr()

    main(["ladder", "always_flex", *SMALL])

    out = capsys.readouterr().out
    assert "| `random` | 12.3 %" in out
    assert "| `always_flex` | " in out
    assert len(json.loads(path.read_text())["rates"]) == 6


@pytest.mark.parametrize("other", [["--seed", "9"], ["--rules.stacking"]], ids=["seed", "rules"])
def test_other_settings_are_not_mixed_in(tmp_path, capsys, other):
    """Seen to fail with either of them left out of the conditions."""
    main(["ladder", *SMALL])

    assert main(["ladder", *SMALL, *other]) == 2

    assert "choose another --name" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"settings": {}, "rates": [{"policy": "random"}]}'])
def test_damaged_results_are_refused(tmp_path, text):
    (tmp_path / "results.json").write_text(text)

    with pytest.raises(ValueError, match=r"results\.json holds no results of a ladder"):
        read_rates(tmp_path, Config().conditions())


def test_results_of_other_weights_are_not_kept(tmp_path):
    """A network that was trained on under the same name is another policy."""
    config = Config(policies=("random", "champion:greedy"))
    rate = {"mean": 0.5, "low": 0.4, "high": 0.6, "fair": 0.5, "deals": 100}
    row = {"policy": "champion:greedy", "players": 2, "weights": "0" * 64, "rate": rate}
    (tmp_path / "results.json").write_text(json.dumps({"settings": config.conditions(), "rates": [row]}))

    with pytest.raises(ValueError, match="the network of champion:greedy has changed"):
        read_rates(tmp_path, config.conditions())


def test_results_against_other_weights_are_not_kept(tmp_path):
    """The same for the network in all other seats. Seen to fail when only its name was kept."""
    save_network(tmp_path / "net.safetensors", make_network(KINDS[0], seed=1), {})
    config = Config(policies=("random", "flex_any"), against=str(tmp_path / "net.safetensors"))
    (tmp_path / "results.json").write_text(json.dumps({"settings": config.conditions(), "rates": []}))
    assert read_rates(tmp_path, config.conditions()) == {}

    save_network(tmp_path / "net.safetensors", make_network(KINDS[0], seed=2), {})

    with pytest.raises(ValueError, match="choose another --name"):
        read_rates(tmp_path, config.conditions())


def test_the_opponent_itself_needs_no_games():
    """Its row is the fair share by definition."""
    config = Config(policies=("random", "expert"), against="expert", players=(2, 3))
    rate = Rate(0.1, 0.05, 0.2, 0.5, 100)

    rows = ladder_table(
        config.policies, "expert", config.players, {("random", 2): rate, ("random", 3): rate}
    ).splitlines()

    assert rows[-1] == "| `expert` | 50 % | 33.3 % |"


@pytest.mark.parametrize("name", ["ladder", "budgets"])
def test_the_page_shows_the_committed_results(name):
    """With the committed settings and the present champion: `read_rates` refuses those of others.

    Seen to fail with one figure changed, and with another champion."""
    config = read(Config, ROOT / "configs" / "ladder" / f"{name}.toml")

    rates = read_rates(ROOT / "docs" / name, config.conditions())

    page = (ROOT / "docs" / "search_and_champion.md").read_text(encoding="utf-8")
    assert ladder_table(config.policies, config.against, config.players, rates) in page


def test_policies_that_look_ahead_play_fewer_games():
    config = Config(policies=("search:50", "random"), games=1000, search_games=10)

    assert (config.games_for("search:50"), config.games_for("random")) == (10, 1000)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policies": ("random", "random")}, "each policy once"),
        ({"policies": ("nobody", "random")}, "no such policy: 'nobody'"),
        ({"against": "nobody"}, "no such policy: 'nobody'"),
        ({"players": (1,)}, "2 to 8"),
        ({"players": ()}, "at least one"),
        ({"players": (2, 2)}, "different numbers"),
        ({"games": 0}, "games must be a whole number from 1"),
        ({"name": "../x"}, "name must be that of a folder"),
    ],
)
def test_mistakes_are_refused_at_once(options, message):
    with pytest.raises(ValueError, match=message):
        Config(**options)


def test_a_folder_without_results_is_a_new_ladder(tmp_path):
    assert read_rates(tmp_path, Config().conditions()) == {}
