"""Settings and commands: what is read, what is refused, and that every command is there."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, get_type_hints

import pytest
from sb3_contrib import MaskablePPO

from agents.checkpoint import POLICY, save_network
from agents.network import ActorCritic, NetworkConfig
from experiments import __main__ as command
from experiments.command_line import parse
from experiments.commands.train import Config
from experiments.commands.train import main as train
from experiments.settings import from_table, read
from experiments.speed import learner_rates
from experiments.training.train_config import load_config
from tests.support.paths import ROOT
from uno_flex_env.batch import bot_number
from uno_flex_env.rules import Rules

CONFIGS = sorted((ROOT / "configs").glob("*/*.toml"))
SMOKE = str(ROOT / "configs" / "train" / "smoke.toml")


# ---- Files of settings ----


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_file_of_settings_can_be_read(path, tmp_path, monkeypatch):
    """By the command that its folder is named after, once there is the run that some are about; a run is named as its
    file is. It begins with a line that says what to expect.

    Seen to fail with a letter changed in a name."""
    (tmp_path / "runs" / "quick").mkdir(parents=True)
    save_network(tmp_path / "runs" / "quick" / POLICY, ActorCritic(NetworkConfig(width=4)), {})
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(f"experiments.commands.{path.parent.name}")

    config = read(module.Config, path)

    assert getattr(config, "name", path.stem) == path.stem
    assert path.read_text().startswith("# ")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("stepz = 3", "no such setting: 'stepz'; there are name, runs, seed, "),
        ("[ppo]\nclipp = 3", "no such setting: 'ppo.clipp'; there are ppo.learning_rate, "),
        ("decisions = 1.5", "decisions must be int, got 1.5"),
        ("decisions = true", "decisions must be int, got True"),
        ("decisions = '1'", "decisions must be int, got '1'"),
        ("decisions = 0", "decisions must be at least 1, got 0"),
        ("ppo = 3", "ppo must be PPOConfig, got 3"),
        ("[ppo]\nclip_coef = 'wide'", "ppo.clip_coef must be float, got 'wide'"),
        ("[ppo]\nclip_coef = 2", "ppo.clip_coef must lie in (0, 1), got 2.0"),
        ("[game]\nplayers = 3", "game.players must be"),
        ("[game]\nplayers = [2.5]", "game.players must be int, got 2.5"),
        ("[game]\nmax_decisions = 'no'", "game.max_decisions must be int or nothing, got 'no'"),
        ("[game.rules]\nstackin = true", "no such setting: 'game.rules.stackin'; there are game.rules.draw_four, "),
        ("[network]\nkind = 'tree'", "network.kind must be one of 'mlp', 'residual', 'history', got 'tree'"),
        ("baselines = ['clever']", "no such policy: 'clever'; there are random, "),
        ("baselines = []", "baselines must name at least one policy"),
        ("name = '../elsewhere'", "name must be that of a folder, got '../elsewhere'"),
        ("[game]\nmax_decisions = 50\n[network]\nkind = 'history'", "can't estimate games cut by game.max_decisions"),
        ("seed = -1", "seed must be a whole number from 0"),
        ("device = 'gpu'", "device must be auto or one that is there, "),
        ("num_threads = -1", "num_threads must be a whole number from 0 to 1024, got -1"),
        ("checkpoint_seconds = nan", "checkpoint_seconds must be at least 0 and finite, got nan"),
        ("name = '..'", "name must be that of a folder, got '..'"),
        ("[ppo]\nlearning_rate = inf", "ppo.learning_rate must be above 0 and finite, got inf"),
        ("[network]\nhistory = 2000", "network.history must be at most 1024, got 2000"),
        ("[league]\nsharpness = nan", "league.snapshots and .sharpness must be at least 0 and finite"),
        ("decisions = ", "Invalid value"),
    ],
)
def test_a_bad_file_of_settings_is_refused(tmp_path, lines, message):
    """By the file's name and the setting's, with those that there are.

    Seen to fail without the check of each kind of value."""
    path = tmp_path / "bad.toml"
    path.write_text(lines)

    with pytest.raises(ValueError, match=re.escape(f"{path}: ") + f".*{re.escape(message)}"):
        read(Config, path)


@dataclass(frozen=True)
class Inner:
    size: float = 1.0
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outer:
    """One field of every kind."""

    inner: Inner = Inner()
    where: Path = Path("here")
    limit: int | None = None
    mode: Literal["a", "b"] = "a"


def test_files_hold_what_differs():
    """Everything else keeps its default; whole numbers are floats too, lists are tuples, texts are paths.

    Seen to fail with a default in place of a value, and without each of the conversions."""
    table = {"inner": {"size": 2, "names": ["x", "y"]}, "where": "there", "limit": 3, "mode": "b"}

    filled = from_table(Outer, table)

    assert from_table(Outer, {}) == Outer()
    assert filled == Outer(Inner(2.0, ("x", "y")), Path("there"), 3, "b")
    assert type(filled.inner.size) is float
    assert from_table(Config, {"game": {"rules": {"stacking": True}}}).game.rules == Rules(stacking=True)
    assert from_table(Rules, {"deck": {"r1": 1}, "hand_size": 1}) == Rules(deck={"r1": 1}, hand_size=1)


def test_settings_survive_the_file_of_a_run(tmp_path, monkeypatch):
    """What `--resume` reads is what `train` was given. Seen to fail with a setting left out of the file."""
    monkeypatch.setattr("experiments.commands.train.run", lambda config, folder: 0)
    table = {
        "name": "x",
        "runs": str(tmp_path),
        "game": {"players": [2, 4], "rules": {"stacking": True}, "max_decisions": 500},
        "network": {"kind": "residual", "privileged": True},
        "league": {"fraction": 0.5, "opponents": ["random"]},
        "ppo": {"magnet_coef": 0.1},
    }
    config = from_table(Config, table)

    assert train(config) == 0

    assert load_config(tmp_path / "x") == config.settings()
    assert load_config(tmp_path / "x").to_dict() == config.settings().to_dict()


def test_flags_come_before_the_file():
    """And the file before the defaults, wherever `--config` stands. Seen to fail with the file read last."""
    module = importlib.import_module("experiments.commands.train")

    config = parse(module, "train", ["--seed", "7", "--config", SMOKE, "--network.width", "8"])

    assert (config.name, config.seed, config.network.width) == ("smoke", 7, 8)
    assert config.game.num_envs == 128


# ---- Commands ----


@pytest.mark.parametrize("name", command.COMMANDS)
def test_every_command_explains_itself(name, capsys):
    """With status 0, an example, and each setting with its meaning. Seen to fail with a command that can't be
    imported."""
    with pytest.raises(SystemExit) as done:
        command.main([*name.split(), "--help"])

    text = " ".join(capsys.readouterr().out.split())
    module = importlib.import_module(f"experiments.commands.{name.replace(' ', '_')}")
    assert done.value.code == 0
    assert f"python -m experiments {name}" in text
    for flag in flags(module.Config):
        assert flag in text


def flags(kind: type) -> list[str]:
    """Those of the plain fields, and of those in the fields that are dataclasses; switches of the rules for training
    come from files alone."""
    found, types = [], get_type_hints(kind, include_extras=True)
    for field in fields(kind):
        inside = types[field.name]
        dashed = field.name.replace("_", "-")
        if is_dataclass(inside):
            found += [f"--{dashed}.{inner.name.replace('_', '-')}" for inner in fields(inside) if inner.name != "rules"]
        elif inside in (int, float, str):
            found.append(f"--{dashed}")
    return found


def test_the_commands_are_listed(capsys):
    """Each with a line: all modules that explain themselves. Seen to fail with one left out."""
    modules = (ROOT / "experiments" / "commands").glob("*.py")
    names = {name.replace(" ", "_") for name in command.COMMANDS}
    assert names == {path.stem for path in modules if path.stem != "__init__"}

    assert command.main(["--help"]) == 0

    text = capsys.readouterr().out
    for name, what in command.COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(what)}$", text, flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "usage: python -m experiments COMMAND"),
        (["jump"], "no such command: 'jump'"),
        (["train", "--config"], "--config needs a file"),
        (["train", "--config", "nowhere.toml"], "--config: there is no file 'nowhere.toml'"),
        (["train", "--resume", "nowhere"], "nowhere is not the folder of a run"),
    ],
)
def test_bad_commands_are_refused(capsys, arguments: list[str], message):
    """With status 2 and no traceback. Seen to fail without the translation of errors."""
    assert command.main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("evalute", "no such command: 'evalute'; did you mean 'evaluate'?"),
        (
            "train --config configs/train/quik.toml",
            "no file 'configs/train/quik.toml'; did you mean 'configs/tr",
        ),
        ("train --config quick", "--config: there is no file 'quick'; did you mean 'configs/train/quick.toml'?"),
        ("evaluate --players 2, 4", "numbers are separated by spaces: --players 2 4, got '2, 4'"),
        ("ladder --players=2,3,4", "numbers are separated by spaces: --players 2 3 4, got '2,3,4'"),
        ("train --game.players 2,3", "numbers are separated by spaces: --game.players 2 3, got '2,3'"),
        ("play --players 2,4", "--players takes one whole number without commas, got '2,4'"),
        ("play --players 2 4", "'4' belongs to no flag: --players takes one value"),
        ("evaluate --games 1,000", "--games takes one whole number without commas, got '1,000'"),
        ("train --decision 3", "no such flag: --decision; did you mean '--decisions'?"),
        ("play --rules.stackin", "no such flag: --rules.stackin; did you mean '--rules.stacking'?"),
        ("play --no-macht", "no such flag: --no-macht; did you mean '--no-match'?"),
        ("play --record nowhere.jsonl", "python -m experiments play: nowhere.jsonl: No such file or directory"),
        ("evaluate champion:greedi expert", "no such policy: 'champion:greedi'; did you mean 'champion:greedy'?"),
        ("evaluate chmpion expert", "no such policy: 'chmpion'; did you mean 'champion'?"),
        ("evaluate serach:50ms expert", "no such policy: 'serach:50ms'; did you mean 'search:50ms'?"),
        ("evaluate runs/quik expert", "no such policy: 'runs/quik'; did you mean 'runs/quick'?"),
        ("evaluate runs/quik:greedy expert", "'runs/quik:greedy'; did you mean 'runs/quick:greedy'?"),
        ("evaluate nowhere:Bot expert", "there is no module 'nowhere'"),
        ("evaluate agents.rule_bot:RulBot expert", "agents.rule_bot has no 'RulBot'; did you mean 'RuleBot'?"),
        ("evaluate flexany expert", "no such policy: 'flexany'; did you mean 'flex_any'?"),
        ("evaluate expert-say_unno expert", "no heuristic 'say_unno'; did you mean 'say_uno'?"),
        ("ablation say_unno", "no heuristic 'say_unno'; did you mean 'say_uno'?"),
    ],
)
def test_a_mistake_is_answered_with_the_near_name(tmp_path, monkeypatch, capsys, arguments, message):
    """Fault 2-30: `champion:greedi` ended in "No module named 'champion'", a config that isn't there in `[Errno 2]`, a
    number too many in "Unrecognized options: 4". Seen to fail without `did_you_mean`, and each without its check."""
    (tmp_path / "runs" / "quick").mkdir(parents=True)
    save_network(tmp_path / "runs" / "quick" / POLICY, ActorCritic(NetworkConfig(width=4)), {})
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    monkeypatch.chdir(tmp_path)

    try:
        status: Any = command.main(arguments.split())
    except SystemExit as refused:
        status = refused.code

    said = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert status == 2
    assert message in re.sub(r"; there are [^;]*;", ";", said)


def test_near_settings_and_rules_are_offered(tmp_path):
    """Fault 2-30, in files and in Python. Seen to fail without `did_you_mean`."""
    path = tmp_path / "bad.toml"
    path.write_text("[game.rules]\nstackin = true")
    with pytest.raises(ValueError, match=r"did you mean 'game\.rules\.stacking'"):
        read(Config, path)
    with pytest.raises(ValueError, match=r"unknown rule 'stackin'; there are .*; did you mean 'stacking'"):
        Rules.from_dict({"stackin": True})
    with pytest.raises(ValueError, match=r"no such bot: 'flexany'; there are .*; did you mean 'flex_any'"):
        bot_number("flexany")


@pytest.mark.parametrize("flags", [["--stepz", "3"], ["--decisions", "many"], ["--decisions", "0"]])
def test_bad_flags_are_refused(capsys, flags: list[str]):
    """With status 2; the message names the setting. Seen to fail when a ValueError of the settings comes through."""
    try:
        status: Any = command.main(["train", *flags])
    except SystemExit as refused:
        status = refused.code

    assert status == 2
    assert flags[0].lstrip("-") in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("ablation say_uno --players 2 --games 40 --workers 1", "say_uno"),
        (
            f"best_response --config {ROOT}/configs/best_response/smoke.toml --train.num-threads 1",
            "This is a lower bound",
        ),
        ("learning_speed --repeats 1 --seconds 0.01 --num-envs 64 --num-threads 1", "MaskablePPO, its defaults"),
        (f"tournament --config {ROOT}/configs/tournament/smoke.toml --workers 1", "points above flex_any"),
        (f"evaluate --config {ROOT}/configs/evaluate/smoke.toml --workers 1", "one against"),
    ],
    ids=lambda value: value.split()[0],
)
def test_every_other_command_runs(arguments: str, said, tmp_path, monkeypatch, capsys):
    """In seconds, and tells its result; the rest have smoke runs in test_training, test_network_costs and
    test_curves. Seen to fail with a command that ends before it says anything."""
    monkeypatch.chdir(tmp_path)
    short = {"n_steps": 8, "batch_size": 8, "n_epochs": 1}
    monkeypatch.setattr(learner_rates, "MaskablePPO", lambda *args, **options: MaskablePPO(*args, **options | short))
    monkeypatch.setattr(learner_rates, "MINIBATCH", 512)

    assert command.main(arguments.split()) == 0

    assert said in capsys.readouterr().out


def test_a_run_that_is_interrupted_says_so_by_its_status(monkeypatch):
    """130, as shells do. Seen to fail without it."""

    def interrupted(config: Config) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("experiments.commands.train.main", interrupted)

    assert command.main(["train", "--config", SMOKE]) == 130


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, "10000 PASSIVE"),
        ({"GOMP_SPINCOUNT": "7"}, "7 PASSIVE"),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, "10000 ACTIVE"),
    ],
)
def test_threads_are_told_how_to_wait_before_torch_is_loaded(given, found):
    """Later it would do nothing; what the user has set stays. Seen to fail with torch imported at the top of the
    module, and without `setdefault`."""
    code = (
        "import os, sys, experiments.__main__ as command\n"
        "assert 'torch' not in sys.modules\n"
        "command.prepare()\n"
        "print(os.environ['GOMP_SPINCOUNT'], os.environ['OMP_WAIT_POLICY'])"
    )
    settings = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    env = {name: value for name, value in os.environ.items() if name not in settings} | given

    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout.strip() == found


def test_the_help_ends_quietly_at_a_closed_pipe():
    """Seen to fail with the help printed outside of what answers a closed pipe: a traceback."""
    script = f"{sys.executable} -m experiments --help | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], cwd=ROOT, capture_output=True, text=True)

    assert done.stderr == ""
    assert done.stdout.strip() in ("0", "1")
