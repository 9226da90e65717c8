"""The training job: settings, files that survive a kill, networks as policies, win rates, and the smoke run."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from experiments import __main__ as command
from experiments.config import from_table, read
from experiments.evaluate import table, win_rate
from agents.files import write_whole
from experiments.network import NetworkPolicy, layers, load, save
from experiments.train import TrainConfig, new_folder, train
from tests.faces import first_legal
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.learner import LearnerGames
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.vector import BOTS

ROOT = Path(__file__).parent.parent
CONFIGS = sorted((ROOT / "configs" / "train").glob("*.toml"))


@pytest.fixture(autouse=True)
def _one_thread():
    """More of them only wait for each other in networks as small as these."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """The command in a process of its own, which writes its runs below a folder."""
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    program = [sys.executable, "-m", "experiments", "train", *arguments]
    return subprocess.Popen(program, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


# ---- The run ----


@pytest.mark.slow
def test_the_smoke_run_trains_saves_and_measures(tmp_path):
    """Fault 22: what it saves plays here, in another process, exactly as it was measured there."""
    smoke = read(TrainConfig, ROOT / "configs" / "train" / "smoke.toml")
    run = start(tmp_path, "--config", str(ROOT / "configs" / "train" / "smoke.toml"), "--seed", "5")
    output, progress = run.communicate(timeout=300)
    assert run.returncode == 0, progress
    folder = tmp_path / "runs" / "smoke"
    assert sorted(path.name.partition(".")[0] for path in folder.iterdir()) == ["config", "events", "model"]
    policy = load(folder / "model.pt", greedy=True)
    rates = [win_rate(policy, bot, deals=smoke.deals, seed=5) for bot in BOTS]
    assert output == f"{table(rates)}\nnetwork and TensorBoard events: runs/smoke\n"
    assert "decisions" in progress
    assert "wins" in progress


@pytest.mark.slow
def test_a_killed_run_leaves_whole_files(tmp_path):
    """Wherever it is killed, the last network that it has saved can be loaded."""
    run = start(tmp_path, "--config", str(ROOT / "configs" / "train" / "smoke.toml"), "--steps", "1000000")
    model = tmp_path / "runs" / "smoke" / "model.pt"
    try:
        while not model.exists():
            assert run.poll() is None, run.communicate()
            time.sleep(0.05)
    finally:
        run.send_signal(signal.SIGKILL)
        run.communicate()
    assert load(model).hidden == (32,)


@pytest.mark.slow
def test_learning_learns(tmp_path):
    """Fault 23: with the settings of the smoke run, for ten times as long, the win rate against `flex_when_stuck` rises
    well above that of an untrained network."""
    smoke = read(TrainConfig, ROOT / "configs" / "train" / "smoke.toml")
    _, rates = train(replace(smoke, steps=20_000, first_steps=20_000, snapshot_every=20_000, deals=200), tmp_path)
    untrained = NetworkPolicy(layers(smoke.hidden), smoke.hidden, greedy=True)
    before = win_rate(untrained, "flex_when_stuck", deals=200)
    assert rates[-1].bot == before.bot
    assert rates[-1].mean - rates[-1].margin > before.mean + before.margin + 0.1


# ---- Settings ----


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_every_file_of_settings_can_be_read(path):
    """And is named as the run is."""
    assert read(TrainConfig, path).name == path.stem


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("stepz = 3", "no such setting: 'stepz'; there are name, seed, num_players, steps"),
        ("steps = 1.5", "steps must be int, got 1.5"),
        ("steps = true", "steps must be int, got True"),
        ("steps = '1'", "steps must be int, got '1'"),
        ("steps = 0", "steps must be at least 1, got 0"),
        ("hidden = [1.5]", "hidden must be int, got 1.5"),
        ("hidden = 3", "hidden must be tuple"),
        ("first_opponent = 'clever'", "first_opponent must be one of random, flex_any"),
        ("name = '../elsewhere'", "name must be that of a folder"),
        ("steps = ", "Invalid value"),
    ],
)
def test_a_bad_file_of_settings_is_refused(tmp_path, line, message):
    """By the file's name and the setting's, with those that there are."""
    path = tmp_path / "bad.toml"
    path.write_text(line)
    with pytest.raises(ValueError, match=re.escape(f"{path}: ") + f".*{re.escape(message)}"):
        read(TrainConfig, path)


def test_files_hold_what_differs_and_flags_come_first():
    """Defaults, then the file, then flags; whole numbers are floats too and lists are tuples."""
    assert from_table(TrainConfig, {}) == TrainConfig()
    assert from_table(TrainConfig, {"entropy": 1, "hidden": [3, 4]}) == TrainConfig(entropy=1.0, hidden=(3, 4))
    smoke = str(ROOT / "configs" / "train" / "smoke.toml")
    config = command.parse(["--seed", "7", "--config", smoke, "--hidden", "8", "9"])
    assert (config.name, config.seed, config.hidden) == ("smoke", 7, (8, 9))


def test_help_teaches_every_setting(capsys):
    """Each flag with its meaning, examples and the file."""
    with pytest.raises(SystemExit):
        command.main(["train", "--help"])
    text = " ".join(capsys.readouterr().out.split())
    for field in fields(TrainConfig):
        assert f"--{field.name.replace('_', '-')}" in text
    assert "python -m experiments train --config configs/train/quick.toml" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "usage: python -m experiments train"),
        (["play"], "usage: python -m experiments train"),
        (["train", "--config"], "--config needs a file"),
        (["train", "--config", "nowhere.toml"], "nowhere.toml"),
    ],
)
def test_bad_commands_are_refused(capsys, arguments, message):
    """With status 2 and no traceback."""
    assert command.main(arguments) == 2
    assert message in capsys.readouterr().err


def test_bad_flags_are_refused(capsys):
    """With status 2; the message names the flag."""
    with pytest.raises(SystemExit) as refused:
        command.main(["train", "--stepz", "3"])
    assert refused.value.code == 2
    assert "--stepz" in capsys.readouterr().err


# ---- Files ----


def test_no_two_runs_share_a_folder(tmp_path):
    """What is there stays."""
    folders = [new_folder(tmp_path / "runs", "a") for _ in range(3)]
    assert [folder.name for folder in folders] == ["a", "a-2", "a-3"]


def check_replacement(write: Callable[[Path, bytes], object], folder: Path) -> None:
    """A failure in the midst of writing leaves the old file, and nothing else."""
    path = folder / "file"
    write(path, b"old")
    with pytest.raises(TypeError):
        write(path, "no bytes")  # type: ignore[arg-type]  # the file is open when this fails
    assert path.read_bytes() == b"old"
    assert list(folder.iterdir()) == [path]
    write(path, b"new")
    assert path.read_bytes() == b"new"


def test_files_are_replaced_whole(tmp_path):
    """A failure in the midst of writing leaves the old one."""
    check_replacement(write_whole, tmp_path)


def test_the_check_of_replacement_can_fail(tmp_path):
    """By opening the file itself."""

    def naive(path: Path, data: bytes) -> None:
        with path.open("wb") as file:
            file.write(data)

    with pytest.raises(AssertionError):
        check_replacement(naive, tmp_path)


def test_loading_never_runs_code(tmp_path):
    """A file that would is refused."""

    class Trap:
        def __reduce__(self) -> Any:
            return exec, ("raise AssertionError('code has run')",)

    torch.save({"format": 1, "weights": Trap()}, tmp_path / "trap.pt")
    with pytest.raises(Exception, match=r"[Ww]eights.only"):
        load(tmp_path / "trap.pt")


def test_other_files_are_refused(tmp_path):
    """By name."""
    torch.save({"weights": {}}, tmp_path / "other.pt")
    with pytest.raises(ValueError, match=r"other\.pt is no network of format 1"):
        load(tmp_path / "other.pt")


# ---- Networks as policies ----


def with_logits(logits: Any) -> NetworkPolicy:
    """A network that gives these logits whatever it sees."""
    network = layers(())
    linear = network[0]
    assert isinstance(linear, torch.nn.Linear)
    torch.nn.init.zeros_(linear.weight)
    linear.bias.data = torch.as_tensor(logits, dtype=torch.float32)
    return NetworkPolicy(network, ())


def batch_of(masks: Any) -> dict[str, Any]:
    return {"observation": np.zeros((len(masks), NUM_FEATURES), np.uint8), "action_mask": masks.astype(np.int8)}


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e4])
@pytest.mark.parametrize("greedy", [False, True])
def test_a_network_never_chooses_an_illegal_action(scale, greedy):
    """Faults 14 and 15: 20,000 random masks, also with one legal action, and extreme logits."""
    rng = np.random.default_rng(0)
    policy = with_logits(scale * rng.choice([-1.0, 1.0], NUM_ACTIONS))
    policy.greedy = greedy
    masks = rng.random((20_000, NUM_ACTIONS)) < rng.random((20_000, 1)) ** 4
    masks[np.arange(20_000), rng.integers(NUM_ACTIONS, size=20_000)] = True
    assert masks[np.arange(20_000), policy(batch_of(masks))].all()


def test_a_network_chooses_with_its_probabilities():
    """The softmax over the legal actions: chi-square of 20,000 choices; the greedy one takes the likeliest."""
    logits = np.linspace(-2, 2, NUM_ACTIONS)
    legal = np.array([3, 50, 100, 150, 215])
    masks = np.zeros((20_000, NUM_ACTIONS))
    masks[:, legal] = 1
    policy = with_logits(logits)
    counts = np.bincount(policy(batch_of(masks)), minlength=NUM_ACTIONS)
    expected = 20_000 * np.exp(logits[legal]) / np.exp(logits[legal]).sum()
    assert ((counts[legal] - expected) ** 2 / expected).sum() < 25
    policy.greedy = True
    assert set(policy(batch_of(masks[:10]))) == {215}


def test_a_network_is_saved_and_loaded_as_it_is(tmp_path):
    """Weights and widths; the same seed gives the same choices."""
    policy = NetworkPolicy(layers((20, 10)), (20, 10), seed=4)
    save(policy, tmp_path / "model.pt", steps=5, config={"name": "x", "hidden": (20, 10)})
    again = load(tmp_path / "model.pt", seed=4)
    assert again.hidden == (20, 10)
    games = LearnerGames(50, 3, opponents="random")
    games.reset(0)
    assert np.array_equal(policy(games.seen()), again(games.seen()))


# ---- Win rates ----


@pytest.mark.parametrize("num_players", [2, 3])
def test_equals_win_equally_often(num_players):
    """A policy that plays as the bot does wins its share, and the interval says how sure that is."""
    rng = np.random.default_rng(1)

    def as_random(batch: dict[str, Any]) -> Any:
        return (rng.random(batch["action_mask"].shape) * batch["action_mask"]).argmax(axis=1)

    rate = win_rate(as_random, "random", num_players=num_players, deals=600)
    assert rate.games == 600 * num_players
    assert 0.01 < rate.margin < 0.05
    assert abs(rate.mean - 1 / num_players) < 1.5 * rate.margin


def test_a_win_rate_repeats_with_its_seed():
    """Other deals give another one."""
    rates = [win_rate(first_legal, "flex_any", deals=100, seed=seed).mean for seed in (1, 1, 2, 3)]
    assert rates[0] == rates[1]
    assert len(set(rates)) > 1


def test_deals_are_played_from_every_seat():
    """Fault 24: what a seat is worth cancels out. The margin is that of the deals' means."""
    seats = set[int]()
    make = LearnerGames.__init__

    def watched(games: LearnerGames, *arguments: Any, **options: Any) -> None:
        seats.add(options["seat"])
        make(games, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LearnerGames, "__init__", watched)
        win_rate(first_legal, "flex_any", num_players=4, deals=10)
    assert seats == {0, 1, 2, 3}


def test_the_table_is_for_people():
    """One line a bot."""
    text = table([win_rate(first_legal, bot, deals=50) for bot in BOTS])
    assert [line.split()[0] for line in text.splitlines()] == ["against", *BOTS]
    assert re.search(r"random +\d+\.\d \+- \d+\.\d % +100$", text, flags=re.MULTILINE)
