"""The rules by which a network was trained: no command plays by others without saying so."""

from __future__ import annotations

from pathlib import Path

import pytest

from agents.checkpoint import POLICY, save_network, trained_rules
from agents.learners.task import GameConfig
from agents.network import NetworkConfig
from experiments.__main__ import main
from experiments.trained_rules import compare_rules
from experiments.training.train_config import TrainConfig
from tests.support.learning import make_network
from uno_flex_env import Rules

STACKING = Rules(stacking=True)


@pytest.fixture(autouse=True)
def _runs(tmp_path, monkeypatch):
    """Networks in runs/NAME, by the rules of NAME."""
    monkeypatch.chdir(tmp_path)
    for name, rules in (("stacking", STACKING), ("official", Rules()), ("target", Rules(target_score=100))):
        folder = Path("runs", name)
        folder.mkdir(parents=True)
        config = TrainConfig(game=GameConfig(rules=rules)).portable()
        save_network(folder / POLICY, make_network(NetworkConfig(width=4)), {"config": config})
    save_network(Path("runs", "silent.safetensors"), make_network(NetworkConfig(width=4)), {})


SMALL = ["--games", "8", "--workers", "1", "--players", "2"]
COMMANDS = {
    "evaluate": ["evaluate", "runs/stacking:greedy", "flex_any", *SMALL],
    "evaluate search": ["evaluate", "search:1,runs/stacking", "flex_any", *SMALL],
    "tournament": ["tournament", "flex_any", "runs/stacking", *SMALL],
    "ladder": ["ladder", "random", "flex_any", "--against", "runs/stacking", *SMALL],
}


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_rules_that_were_not_asked_for_are_refused(capsys, command):
    """Fault 2-7: both rules are named, and what to add. Seen to fail when the official rules are played without a
    word."""
    assert main(COMMANDS[command]) == 2

    error = capsys.readouterr().err
    assert "runs/stacking" in error
    assert "was trained by rules with stacking=True, and this match is by the official rules" in error
    assert "--other-rules" in error
    assert main([*COMMANDS[command], "--other-rules"]) == 0
    assert "was trained by rules with stacking=True, and plays by the official rules here" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["best_response", "play"])
def test_single_opponents_are_compared_too(capsys, command):
    """Fault 2-7."""
    assert main([command, *(["--opponent"] if command == "play" else []), "runs/stacking"]) == 2

    assert "runs/stacking was trained by rules with stacking=True" in capsys.readouterr().err


def test_the_rules_of_the_training_are_played_without_a_notice(capsys):
    """Also if some other policy knows other rules, which is said. Seen to fail with all policies compared with each
    other."""
    assert main([*COMMANDS["evaluate"], "--rules.stacking"]) == 0
    assert "was trained by" not in capsys.readouterr().err

    assert main(["evaluate", "runs/stacking", "champion", "--rules.stacking", *SMALL]) == 0

    error = capsys.readouterr().err
    assert "champion was trained by the official rules, and plays by rules with stacking=True here" in error
    assert "runs/stacking was" not in error


def test_rules_that_change_no_round_are_not_compared(capsys):
    """The target score. Networks that don't say how they were trained are played as before."""
    compare_rules(["runs/official", "runs/target", "runs/silent.safetensors", "expert"], Rules(), other_rules=False)

    assert capsys.readouterr().err == ""


def test_the_rules_are_read_from_the_file():
    assert trained_rules("search:10,runs/stacking:greedy") == STACKING
    assert trained_rules("champion") == Rules()
    assert trained_rules("runs/silent.safetensors") is None
    assert trained_rules("flex_any") is None


def test_damaged_rules_are_refused_by_the_name_of_the_file():
    """Fault 2-17."""
    path = Path("odd.safetensors")
    save_network(path, make_network(NetworkConfig(width=4)), {"config": {"game": {"rules": {"stakking": True}}}})

    with pytest.raises(ValueError, match=r"odd\.safetensors: unknown rule 'stakking'"):
        trained_rules("odd.safetensors")
