"""Code that files name: no command imports a class or starts a program that only a file names."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from agents.allowed_code import allow_only
from agents.policy_factory import make_policy
from experiments.__main__ import main
from experiments.settings import read
from experiments.training.train_config import CONFIG, TrainConfig, load_config

BOT = """
from pathlib import Path
from agents.rule_bot import RuleBot

Path("imported").touch()

class Bot:
    name, history = "planted:Bot", 0

    def act(self, decisions):
        return RuleBot("flex_any").act(decisions)
"""

PROGRAM = "stdio:touch imported"

TABLES = {
    "evaluate": 'policies = ["flex_any", "planted:Bot"]',
    "tournament": 'policies = ["flex_any", "planted:Bot"]',
    "ladder": 'against = "planted:Bot"',
    "best_response": 'policy = "planted:Bot"',
    "play": 'opponent = ["planted:Bot"]',
    "study": 'policy = "search:10,planted:Bot"',
    "train": 'baselines = ["planted:Bot"]',
}


@pytest.fixture(autouse=True)
def _planted(tmp_path, monkeypatch):
    """A module in the current folder that leaves a mark when it is imported."""
    (tmp_path / "planted.py").write_text(BOT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("planted", None)


@pytest.mark.parametrize("command", TABLES)
def test_a_class_in_a_settings_file_is_not_imported(capsys, command):
    """Fault 2-18: the message says how to allow it. Seen to fail when `make_policy` imports whatever it is given."""
    Path("settings.toml").write_text(TABLES[command])

    assert main([command, "--config", "settings.toml"]) == 2

    assert "--allow planted:Bot" in capsys.readouterr().err
    assert not Path("imported").exists()


def test_a_class_in_the_settings_of_a_run_is_not_imported(capsys):
    """Fault 2-18: with the input of the fault, `sys:exit`. Seen to fail when it is imported and called (status 0)."""
    run = Path("run")
    run.mkdir()
    for name in ("sys:exit", "planted:Bot", "search:10,planted:Bot"):
        config = TrainConfig().to_dict() | {"baselines": [name], "made_by": {}}
        (run / CONFIG).write_text(json.dumps(config))

        assert main(["train", "--resume", "run"]) == 2
        assert "a file can't choose code to run" in capsys.readouterr().err
        with pytest.raises(ValueError, match="a file can't choose code to run"):
            load_config(run)  # from Python
    assert not Path("imported").exists()


def test_a_class_that_the_command_line_names_is_imported(capsys):
    """Also one that a file names, too. Seen to fail when the flags are ignored."""
    Path("settings.toml").write_text('policies = ["flex_any", "planted:Bot"]\ngames = 20\nworkers = 1')

    for arguments in (
        ["--config", "settings.toml", "--allow", "planted:Bot"],
        ["--allow=planted:Bot", "--config=settings.toml"],
        ["flex_any", "planted:Bot", "--games", "20", "--workers", "1"],
    ):
        assert main(["evaluate", *arguments]) == 0
        assert "planted:Bot" in capsys.readouterr().out
    assert Path("imported").exists()


def test_a_run_with_a_class_of_your_own_can_be_resumed(capsys):
    """With --allow, up to the checkpoint that is missing here."""
    Path("run").mkdir()
    config = TrainConfig().to_dict() | {"baselines": ["planted:Bot"], "made_by": {}}
    Path("run", CONFIG).write_text(json.dumps(config))

    assert main(["train", "--resume", "run", "--allow", "planted:Bot"]) == 2

    assert "there is no checkpoint.pt" in capsys.readouterr().err
    with allow_only(["planted:Bot"]):
        assert load_config(Path("run")).baselines == ("planted:Bot",)


def test_a_program_can_be_any_policy():
    """The name is in the program itself, but not in a file that the program reads."""
    Path("settings.toml").write_text(TABLES["train"])

    with pytest.raises(ValueError, match="a file can't choose code to run"):
        read(TrainConfig, Path("settings.toml"))
    assert make_policy("planted:Bot").name == "planted:Bot"


@pytest.mark.parametrize("command", TABLES)
def test_a_program_in_a_settings_file_is_not_started(capsys, command):
    """The message says how to allow it. Seen to fail when `make_policy` makes programs without asking, in the commands
    that go on to play."""
    Path("settings.toml").write_text(TABLES[command].replace("planted:Bot", PROGRAM))

    assert main([command, "--config", "settings.toml"]) == 2

    assert f"a file names the program '{PROGRAM}'" in (said := capsys.readouterr().err)
    assert f"--allow '{PROGRAM}'" in said
    assert not Path("imported").exists()


def test_a_program_in_the_settings_of_a_run_is_not_started(capsys):
    """Seen to fail when `make_policy` makes programs without asking."""
    Path("run").mkdir()
    for name in (PROGRAM, f"search:10,{PROGRAM}"):
        config = TrainConfig().to_dict() | {"baselines": [name], "made_by": {}}
        Path("run", CONFIG).write_text(json.dumps(config))

        assert main(["train", "--resume", "run"]) == 2
        assert "a file can't choose code to run" in capsys.readouterr().err
    assert not Path("imported").exists()


def test_a_program_that_the_command_line_names_is_started(capsys):
    """Also with commas and = in its name. Seen to fail when the words of the command line are cut at these."""
    name = "stdio:5s,sh -c 'a=b,c; touch imported; while read -r line; do echo 208; done'"
    Path("settings.toml").write_text(f"policies = ['flex_any', \"{name}\"]\ngames = 2\nworkers = 1")

    assert main(["evaluate", "--config", "settings.toml", "--allow", name]) == 2  # drawing is not always legal

    assert "wrote '208', which is illegal now" in capsys.readouterr().err
    assert Path("imported").exists()


def test_a_flag_without_a_class_is_refused(capsys):
    assert main(["evaluate", "--allow"]) == 2

    assert "--allow needs a NAME" in capsys.readouterr().err
