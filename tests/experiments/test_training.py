"""Training runs: learning, files, exact resuming, and what a run reports."""

from __future__ import annotations

import importlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents import network_policy as neural
from agents.checkpoint import POLICY
from agents.learners import ppo
from agents.learners.league import LeagueConfig
from agents.learners.ppo import PPOConfig
from agents.learners.self_play_ppo import SelfPlayPPO
from agents.learners.task import GameConfig
from agents.masked import log_prob_and_entropy, masked_softmax
from agents.match.runner import duel
from agents.match.workers import WorkerPool
from agents.network import NetworkConfig
from agents.policy_factory import make_policy
from experiments import __main__ as command
from experiments.training.checkpoint_file import CHECKPOINT, load_checkpoint
from experiments.training.monitor import METRICS, WINDOW, Monitor, diverging, stalled
from experiments.training.train_config import TrainConfig, load_config
from experiments.training.trainer import Trainer
from experiments.training.training_run import begin, first_weights
from tests.support.learning import KINDS, NAMES, equal
from tests.support.paths import ROOT
from uno_flex_env import IllegalActionError, Rules

SMOKE = str(ROOT / "configs" / "train" / "smoke.toml")

TINY = TrainConfig(
    name="tiny",
    decisions=3000,
    game=GameConfig(players=(2, 3), rules=Rules(hand_size=2), num_envs=24, num_steps=12),
    network=NetworkConfig(width=16),
    ppo=PPOConfig(minibatch_size=100, magnet_coef=0.1, magnet_every=3, precision="float32"),
    league=LeagueConfig(0.5, ("random",), snapshots=2, every=400),
    baselines=("random",),
    evaluations=2,
    evaluation_games=24,
    final_games=24,
    device="cpu",
    num_threads=1,
)
SECONDS = ("decisions_per_second", "games_share", "minutes")


def without_seconds(metrics: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in metrics.items() if name not in SECONDS}


def learner(trainer: Trainer) -> SelfPlayPPO:
    """The learner of a run."""
    assert isinstance(trainer.learner, SelfPlayPPO)
    return trainer.learner


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in learner(trainer).network.state_dict().items()}


def same(one: Mapping[str, torch.Tensor], other: Mapping[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


# ---- Learning ----


@pytest.mark.slow
def test_learning_learns(tmp_path):
    """Fault 23: with one card each, the first player to play it wins. Against `random`, a new network
    draws as often as plays; some seconds later it wins far more, intervals apart.

    Seen to fail with the opposite sign of the advantage, and with a learning rate of nothing."""
    rules = Rules(hand_size=1)
    config = replace(
        TINY,
        game=GameConfig(players=(2,), num_envs=128, num_steps=16, rules=rules),
        ppo=PPOConfig(learning_rate=0.01, learning_rate_end=0.01, minibatch_size=500, precision="float32"),
        league=LeagueConfig(1.0, ("random",)),
    )
    trainer = Trainer(config, tmp_path, 1)

    rates = [duel(trainer.policy(greedy=False), "random", games=600, seed=9, rules=rules).rate("agent")]
    for _ in range(25):
        trainer.step()
    rates.append(duel(trainer.policy(greedy=False), "random", games=600, seed=9, rules=rules).rate("agent"))

    assert rates[1].low > rates[0].high + 0.05


def test_the_same_seed_gives_the_same_run_whatever_else_draws_numbers(tmp_path):
    """Fault 6: the generators of torch, numpy and Python are neither used nor disturbed; another seed is another run.

    Seen to fail with `torch.rand` without a generator, and with weights from the global one."""
    runs = []
    for number, seed in enumerate((1, 1, 2)):
        torch.manual_seed(number)
        random.seed(number)
        before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
        (tmp_path / str(number)).mkdir()
        trainer = Trainer(replace(TINY, seed=seed), tmp_path / str(number), 1)
        metrics = [without_seconds(trainer.step()) for _ in range(3)]
        after = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]  # noqa: NPY002
        assert torch.equal(before[0], after[0])
        assert before[1:] == after[1:]
        runs.append((metrics, weights(trainer)))

    assert runs[0][0] == runs[1][0]
    assert same(runs[0][1], runs[1][1])
    assert not same(runs[0][1], runs[2][1])


def test_a_run_can_begin_with_the_weights_of_another(tmp_path):
    """The networks must be of the same kind. Seen to fail with random weights in their place."""
    first = Trainer(replace(TINY, seed=5), tmp_path, 1)
    first.save_policy(tmp_path / POLICY)

    second = Trainer(TINY, tmp_path, 1)
    second.load_weights(first_weights(replace(TINY, init_from=str(tmp_path))))

    assert same(weights(first), weights(second))
    runs = tmp_path / "runs"
    with pytest.raises(ValueError, match=r"init_from: .* has the network .*width=16.*, the run .*width=32"):
        begin(replace(TINY, runs=runs, init_from=str(tmp_path), network=NetworkConfig(width=32)))
    with pytest.raises(ValueError, match="init_from: there is no network 'nowhere'"):
        begin(replace(TINY, runs=runs, init_from="nowhere"))
    assert not runs.exists()


def test_a_checkpoint_of_other_settings_or_other_opponents_is_refused(tmp_path):
    """By name, and not as a broken file or in silence. Seen to fail without each of the checks, and when a run notes
    its opponents anew at each checkpoint."""
    opponent = tmp_path / "opponent"
    opponent.mkdir()
    Trainer(TINY, opponent, 1).save_policy(opponent / POLICY)
    config = replace(TINY, league=LeagueConfig(0.5, (f"{opponent}:greedy",)))
    running = Trainer(config, tmp_path, 1)
    running.save()

    Trainer(config, tmp_path, 1).restore()
    for other in (replace(config, seed=9), replace(config, network=NetworkConfig(width=32))):
        with pytest.raises(ValueError, match=r"(seed|network) is not what it was"):
            Trainer(other, tmp_path, 1).restore()
    Trainer(replace(TINY, seed=9), opponent, 1).save_policy(opponent / POLICY)
    with pytest.raises(ValueError, match=r"the networks of its opponents \['.*opponent:greedy'\] have changed"):
        Trainer(config, tmp_path, 1).restore()
    running.save()  # with the opponent that it has loaded
    with pytest.raises(ValueError, match="have changed"):
        Trainer(config, tmp_path, 1).restore()


def test_rollouts_shorter_than_a_round_of_the_table_are_joined(tmp_path):
    """Until somebody has decided twice, so that there is something to learn from. Seen to fail without that."""
    trainer = Trainer(
        replace(TINY, game=GameConfig(players=(8,), num_envs=8, num_steps=1), league=LeagueConfig()), tmp_path, 1
    )

    metrics = trainer.step()

    assert trainer.decisions > 0
    assert np.isfinite(list(metrics.values())).all()


# ---- Resuming ----


@pytest.mark.parametrize("network", KINDS, ids=NAMES)
def test_a_restored_trainer_goes_on_bit_for_bit(tmp_path, network):
    """Fault 22: for every kind of network, with a magnet, past selves, an opponent and mixed numbers of players, seven
    updates are seven updates, wherever they were cut.

    Seen to fail without the optimizer, the magnet, the generator of the order, the league's results and its snapshots
    in their places."""
    config = replace(TINY, network=network)
    folders = [tmp_path / name for name in ("whole", "cut")]
    for folder in folders:
        folder.mkdir()
    whole, cut = (Trainer(config, folder, 1) for folder in folders)
    expected = [without_seconds(whole.step()) for _ in range(7)]

    metrics = []
    for updates in (0, 4, 3):
        metrics += [without_seconds(cut.step()) for _ in range(updates)]
        cut.save()
        cut = Trainer(config, folders[1], 1)
        cut.restore()

    assert metrics == expected
    assert same(weights(cut), weights(whole))
    assert cut.decisions == whole.decisions
    leagues = [learner(trainer).league for trainer in (cut, whole)]
    assert [member.name for member in leagues[0].policies] == [member.name for member in leagues[1].policies]
    assert list(leagues[0].win_rates().items()) == list(leagues[1].win_rates().items())
    assert sum(leagues[0].games) > 5
    assert leagues[0].taken >= 3
    assert whole.step().keys() == cut.step().keys()
    assert same(weights(cut), weights(whole))


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """A command in a process of its own."""
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "OMP_NUM_THREADS": "1"}
    program = [sys.executable, "-m", "experiments", *arguments]
    return subprocess.Popen(program, cwd=folder, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


FLAGS = (
    "--checkpoint-seconds",
    "0",
    "--config",
    SMOKE,
    "--num-threads",
    "1",
    "--game.num-envs",
    "64",
    "--decisions",
    "16000",
    "--final-games",
    "20",
    "--ppo.magnet-coef",
    "0.1",
    "--league.fraction",
    "0.5",
    "--league.opponents",
    "flex_any",
    "--league.snapshots",
    "2",
    "--league.every",
    "3000",
)


def told(folder: Path) -> list[dict[str, Any]]:
    """What a run has on file, but for the times."""
    return [without_seconds(json.loads(line)) for line in (folder / METRICS).read_text().splitlines()]


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_end(tmp_path, monkeypatch, capsys):
    """Fault 22, by the commands: kill -9 after a checkpoint, `--resume` in another process; policy, metrics and the
    table of what it beats are those of a run without an interruption. TensorBoard then shows strength with its interval
    (fault 23), and the policy plays the same in a worker process as here, so masks reach them (fault 16).

    A run that has ended says so, and how to train further. The bar of the table ends at its total.

    Seen to fail without the generator of the rollout, and when lines written after the checkpoint are kept."""
    (tmp_path / "whole").mkdir()
    (tmp_path / "cut").mkdir()
    run = start(tmp_path / "cut", "train", *FLAGS)
    monkeypatch.chdir(tmp_path / "whole")
    folders = [tmp_path / part / "runs" / "smoke" for part in ("whole", "cut")]
    try:
        while not (folders[1] / METRICS).exists() or len(told(folders[1])) < 4:
            assert run.poll() is None, run.communicate()
            time.sleep(0.02)
    finally:
        run.send_signal(signal.SIGKILL)
        run.communicate()
    with (folders[1] / METRICS).open("a") as file:
        file.write('{"decisions": 15999, "update": 99}\n')
    assert load_checkpoint(folders[1] / CHECKPOINT)["decisions"] < 16000

    assert command.main(["train", *FLAGS]) == 0
    whole = capsys.readouterr().out
    monkeypatch.chdir(tmp_path / "cut")
    assert command.main(["train", "--resume", "runs/smoke"]) == 0

    assert capsys.readouterr().out == whole
    assert told(folders[0]) == told(folders[1])
    assert (folders[0] / POLICY).read_bytes() == (folders[1] / POLICY).read_bytes()
    states = [load_checkpoint(folder / CHECKPOINT) for folder in folders]
    assert equal(*({name: part for name, part in state.items() if name != "seconds"} for state in states))
    assert [name for name, _ in states[0]["learner"]["league"]["snapshots"]] == ["00004", "00003"]
    check_charts(folders[1])
    assert command.main(["train", "--resume", "runs/smoke", "--num-threads", "1"]) == 0
    again = capsys.readouterr()
    assert "runs/smoke has learned from all of its 16,000 decisions; its final table follows" in again.out
    assert "--init-from runs/smoke" in again.out
    assert "205/205 [" in again.err
    with closing(WorkerPool(1)) as pool:
        results = [duel("runs/smoke", "random", 3, games=60, workers=workers) for workers in (1, pool)]
    assert np.array_equal(results[0].winners, results[1].winners)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nfsp", "maskable_ppo", "docs.reinforce:Reinforce"])
def test_a_learner_of_any_kind_is_trained_and_resumed_by_the_command(tmp_path, monkeypatch, capsys, name):
    """It ends with its table, `--resume` continues to the same end, and the policy plays.

    Seen to fail when a run of the learner can't be resumed, and when its policy is not written."""
    monkeypatch.chdir(tmp_path)
    flags = ["--config", SMOKE, "--learner", name, "--num-threads", "1", "--game.players", "2", "--evaluations", "1"]
    sizes = ["--evaluation-games", "8", "--final-games", "8", "--decisions", "3000"]

    assert command.main(["train", *flags, *sizes]) == 0

    assert "random                 2" in capsys.readouterr().out
    policy = make_policy("runs/smoke")
    assert duel(policy, "random", games=20).num_games == 20
    assert command.main(["train", "--resume", "runs/smoke", "--allow", name]) == 0
    assert "has learned from all of its 3,000 decisions" in capsys.readouterr().out


def check_charts(folder: Path) -> None:
    """Strength with its interval, and every group of charts, each number of updates once."""
    accumulator: Any = importlib.import_module("tensorboard.backend.event_processing.event_accumulator")
    events = accumulator.EventAccumulator(str(folder))
    events.Reload()
    tags = set(events.Tags()["scalars"])
    for players in (2, 3):
        chart = f"flex_when_stuck, {players} players"
        names = [f"1 strength/{chart}", f"6 intervals/{chart}/low", f"6 intervals/{chart}/high"]
        wins, low, high = ([event.value for event in events.Scalars(name)] for name in names)
        assert len(wins) == 2
        assert all(below < mean < above for below, mean, above in zip(low, wins, high, strict=True))
    groups = {"1 strength", "2 play", "3 learning", "4 speed", "5 league", "6 intervals"}
    assert {tag.split("/")[0] for tag in tags} == groups
    assert {"3 learning/entropy", "3 learning/approx_kl", "3 learning/explained_variance", "2 play/flex_rate"} <= tags
    steps = [event.step for event in events.Scalars("3 learning/entropy")]
    assert steps == sorted(set(steps))
    assert steps == [line["decisions"] for line in told(folder) if "strength" not in line]


def test_only_runs_can_be_resumed(tmp_path, capsys):
    """Status 2 and a message. Seen to fail without the check."""
    assert command.main(["train", "--resume", str(tmp_path)]) == 2
    assert f"{tmp_path} is not the folder of a run" in capsys.readouterr().err


def test_a_run_is_resumed_with_its_own_settings(tmp_path, capsys):
    """Others beside it are refused by name, from flags and from files. Seen to fail when they were ignored."""
    for given, named in ((["--seed", "9"], "seed"), (["--config", SMOKE], "name, decisions, game, network, ppo")):
        with pytest.raises(SystemExit) as refused:
            command.main(["train", "--resume", str(tmp_path), *given])

        assert refused.value.code == 2
        message = " ".join(capsys.readouterr().err.split())
        assert f"resume continues a run with its own settings: leave out {named}" in message


def test_a_run_without_a_checkpoint_is_not_resumed(tmp_path, capsys):
    """A run can be killed before its first one. Seen to fail without the check."""
    folder = begin(replace(TINY, runs=tmp_path))

    assert command.main(["train", "--resume", str(folder)]) == 2
    assert f"{folder} can't be resumed: there is no checkpoint.pt in it" in capsys.readouterr().err


class Foreign:
    """An object that runs code when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("ran"),)


def test_a_damaged_or_foreign_checkpoint_is_refused(tmp_path, monkeypatch):
    """By its name, without running code. Seen to fail with `weights_only=False` and with the format left unchecked."""
    monkeypatch.chdir(tmp_path)
    trainer = Trainer(TINY, tmp_path, 1)
    trainer.save()
    path = tmp_path / CHECKPOINT
    whole = path.read_bytes()
    middle = len(whole) // 2
    damaged = [b"", b"foreign", whole[:middle], whole[:-30], whole[:middle] + bytes(64) + whole[middle + 64 :]]

    for data in damaged:
        path.write_bytes(data)
        with pytest.raises(ValueError, match=re.escape(f"{path} is no checkpoint: ")):
            trainer.restore()
    torch.save({"format": "uno-flex-training/2", "state": Foreign()}, path)
    with pytest.raises(ValueError, match="is no checkpoint: "):
        trainer.restore()
    assert not Path("ran").exists()
    for other in ({"format": "another"}, [1.0]):
        torch.save(other, path)
        with pytest.raises(ValueError, match="must be of the format 'uno-flex-training/2'"):
            trainer.restore()
    path.write_bytes(whole)
    trainer.restore()


# ---- Alarms ----


def test_a_loss_that_is_no_number_ends_the_run_and_keeps_the_last_checkpoint(tmp_path, monkeypatch, capsys):
    """Fault 23: status 1, and a message that says where the last good state is; that can be loaded and played.

    Seen to fail when the checkpoint is written after the error, too."""
    calls = [0]

    def sick(*given: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        calls[0] += 1
        log_prob, entropies = log_prob_and_entropy(*given)
        return log_prob, entropies * (float("nan") if calls[0] > 10 else 1.0)

    monkeypatch.setattr(ppo, "log_prob_and_entropy", sick)
    monkeypatch.chdir(tmp_path)

    status = command.main(["train", *FLAGS])

    folder = Path("runs") / "smoke"
    output = capsys.readouterr().out
    assert status == 1
    assert re.search(r"the run has diverged: update \d+ is no number: .*; runs/smoke/checkpoint", output)
    state = load_checkpoint(folder / CHECKPOINT)
    assert state["updates"] > 1
    assert all(tensor.isfinite().all() for tensor in state["learner"]["network"].values())
    assert duel(make_policy("runs/smoke"), "random", games=10).num_games == 10
    restored = Trainer(load_config(folder), folder, 1)
    restored.restore()
    assert learner(restored).ppo.updates == restored.updates == state["updates"]


HEALTHY = {"approx_kl": 0.01, "explained_variance": 0.3, "entropy": 0.8}


@pytest.mark.parametrize(
    ("sign", "message"),
    [
        ({"approx_kl": 0.2}, r"the policy jumps \(approx_kl above 0.1\): lower learning_rate"),
        ({"explained_variance": -0.5}, "the critic is worse than a constant"),
        ({"entropy": 0.01}, "the policy is nearly deterministic"),
    ],
)
def test_a_diverging_run_says_so(sign, message):
    """After enough updates, with what helps; a healthy one is silent, also with one bad update among many.

    Seen to fail with each of the bounds a hundred times as wide."""
    sick = HEALTHY | sign

    assert re.search(message, diverging([sick] * WINDOW))
    assert diverging([sick] * (WINDOW - 1)) == ""
    assert diverging([HEALTHY] * WINDOW) == ""
    assert diverging([HEALTHY] * (WINDOW - 1) + [HEALTHY | {name: value / 2 for name, value in sign.items()}]) == ""


def history(*wins: float, other: float = 0.5) -> list[dict[str, Any]]:
    """Measurements against two baselines, each with an interval of 2 points."""
    return [
        {"strength": [["a", 2, win, win - 0.02, win + 0.02], ["b", 2, other, other - 0.02, other + 0.02]]}
        for win in wins
    ]


def test_a_stalled_run_says_so():
    """When the second half is no better than the first by more than chance explains (0.5 points here, of the mean of
    both baselines); not while it rises anywhere, or there is too little to tell.

    Seen to fail with one measurement too few, when one baseline is enough to stall, and with the error of one
    measurement in place of that of a half."""
    flat = history(*[0.60, 0.62, 0.61, 0.60] * 2)

    assert stalled(flat) == "the run is stalled: the second half of the measurements is no better than the first"
    assert stalled(history(*[0.6] * 4, *[0.608] * 4)) == stalled(flat)
    assert stalled(flat[1:]) == ""
    assert stalled(history(*[0.6] * 4, *[0.612] * 4)) == ""
    assert stalled(history(*[0.6] * 4) + history(*[0.6] * 4, other=0.512)) == ""


def test_a_warning_is_said_once_and_above_the_bar(tmp_path, capsys):
    """On standard error, where the progress is. Seen to fail when it is said at every update."""
    with Monitor(tmp_path, 10_000, 0) as monitor:
        for update in range(WINDOW + 5):
            monitor.update(10 * update, update, HEALTHY | {"approx_kl": 0.5}, {})

    progress = capsys.readouterr().err
    assert progress.count("the policy jumps") == 1


# ---- Masks ----


def test_the_file_of_a_policy_does_not_say_where_its_run_lay(tmp_path):
    """It may go anywhere, and `export` writes what it says into other files. Seen to fail with all settings in it."""
    trainer = Trainer(replace(TINY, runs=tmp_path), tmp_path, 1)

    trainer.save_policy(tmp_path / POLICY)

    data = (tmp_path / POLICY).read_bytes()
    assert b"minibatch" in data
    assert str(tmp_path).encode() not in data


def test_a_policy_that_plays_without_its_mask_is_found_out_in_evaluation(tmp_path, monkeypatch):
    """Fault 14: the match refuses its first illegal action and names it. Here the mask is dropped; with it the same
    network plays. Training is in `test_rollout`."""
    policy = Trainer(TINY, tmp_path, 1).policy("mine", greedy=False)
    assert duel(policy, "random", games=20).num_games == 20

    monkeypatch.setattr(neural, "masked_softmax", lambda logits, legal: masked_softmax(logits, legal | True))

    with pytest.raises(IllegalActionError, match="policy mine"):
        duel(policy, "random", games=20)
