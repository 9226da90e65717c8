"""Networks as ONNX files: what onnxruntime makes of them is what they are here, masks and all, without torch."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
import safetensors.torch
import torch

import uno_flex_env
from agents import checkpoint
from agents.checkpoint import POLICY, save, save_network
from agents.network import ActorCritic, NetworkConfig
from agents.network_policy import NetworkPolicy
from experiments import __main__ as command
from experiments.commands import export
from experiments.training import onnx_file
from experiments.training.onnx_file import to_onnx
from tests.support.learning import KINDS, NAMES, make_network
from tests.support.paths import ROOT
from uno_flex_env import Game, VecEnv
from uno_flex_env.actions import NUM_ACTIONS, TEXTS
from uno_flex_env.observation import LAYOUT, NUM_FEATURES
from uno_flex_env.policy_input import Decisions

EXAMPLE = ROOT / "docs" / "play_onnx.py"

CLOSE = 2e-6
"""How far probabilities of the file may lie from those of the network."""

MLP, RESIDUAL, HISTORY, PRIVILEGED = range(4)


@cache
def exported(kind: int) -> bytes:
    """The file of a network of that kind."""
    return to_onnx(make_network(KINDS[kind]), {"decisions": 7, "kind": KINDS[kind].kind})


def session(data: bytes) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def run(network: onnxruntime.InferenceSession, decisions: Decisions) -> dict[str, npt.NDArray[np.float32]]:
    """All that the file answers, by name."""
    inputs = {entry.name: getattr(decisions, entry.name) for entry in network.get_inputs()}
    return dict(zip((entry.name for entry in network.get_outputs()), network.run(None, inputs), strict=True))


def draw(probabilities: npt.NDArray[np.float32], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """An action of each row by its probabilities."""
    reached = probabilities.astype(float).cumsum(axis=1)
    drawn: npt.NDArray[np.int64] = (reached > rng.random((len(reached), 1)) * reached[:, -1:]).argmax(axis=1)
    return drawn


def positions(players: int, events: int, steps: int = 40, games: int = 24) -> Iterator[Decisions]:
    """Batches of a random game under rules in which every phase occurs."""
    rules = {"uno_call": "explicit", "stacking": True} if players % 2 else {}
    env = VecEnv(games, players, rules, history=events, seed=players)
    env.reset()
    for _ in range(steps):
        histories = env.histories.copy() if events else None
        yield Decisions(env.observations.copy(), env.action_masks.copy(), np.zeros(games, np.uint64), histories)
        env.step(env.sample())


# ---- The same probabilities ----


@pytest.mark.slow
@pytest.mark.parametrize("kind", range(len(KINDS)), ids=NAMES)
def test_onnxruntime_gives_the_probabilities_of_the_policy(kind):
    """At 3,840 positions of 2, 3, 4 and 8 players, in every phase of a round; exactly 0 where illegal. The value, too,
    but none where the critic sees all hands.

    Seen to fail with the mask left out, with the events in the opposite order, and with the logits halved."""
    network = make_network(KINDS[kind])
    policy, file = NetworkPolicy(network, "x"), session(exported(kind))
    phases = np.zeros(LAYOUT["phase"].shape, np.int64)

    for players in (2, 3, 4, 8):
        for seen in positions(players, KINDS[kind].events):
            answer = run(file, seen)
            history = None if seen.history is None else torch.from_numpy(seen.history)
            with torch.inference_mode():
                value = network(torch.from_numpy(seen.observation), history)[1].numpy()

            probabilities = answer.pop("probabilities")
            assert probabilities.dtype == np.float32
            assert np.abs(probabilities - policy.probabilities(seen).numpy()).max() < CLOSE
            assert (probabilities[seen.action_mask == 0] == 0).all()
            if kind != PRIVILEGED:
                assert np.abs(answer.pop("value") - value).max() < 10 * CLOSE  # of values of the order of 10
            assert answer == {}
            phases += seen.observation[:, LAYOUT["phase"].slice].sum(axis=0, dtype=np.int64)

    assert (phases > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", range(len(KINDS)), ids=NAMES)
def test_a_batch_has_any_size(kind):
    """One row, or all; a row's answer does not depend on the others.

    Seen to fail with a file of fixed shapes."""
    file = session(exported(kind))
    (seen,) = positions(4, KINDS[kind].events, steps=1, games=300)

    together = run(file, seen)["probabilities"]
    alone = np.concatenate([run(file, seen[row : row + 1])["probabilities"] for row in range(0, 300, 50)])

    assert together.shape == (300, NUM_ACTIONS)
    assert np.abs(together[::50] - alone).max() < CLOSE


# ---- Masks ----


@pytest.mark.parametrize("players", range(2, 9))
def test_nothing_illegal_is_ever_played(players):
    """Fault 14. Whole games in the environment in which an illegal action is an error.

    Seen to fail with the mask left out."""
    file, rng = session(exported(RESIDUAL)), np.random.default_rng(players)
    env = VecEnv(16, players, seed=players)
    env.reset()
    finished = 0

    for _ in range(60 * players):
        inputs = {"observation": env.observations, "action_mask": env.action_masks}
        env.step(draw(file.run(["probabilities"], inputs)[0], rng))
        finished += int(np.count_nonzero(env.terminated))

    assert finished > 16


def test_masks_of_other_dtypes_mean_the_same_or_are_refused():
    """Faults 14 and 17. As int8 after bool, and where another number than 1 means legal; a bool mask as it is gets
    onnxruntime's own error, not another meaning.

    Seen to fail with `action_mask == 1` in the file."""
    file = session(exported(MLP))
    (seen,) = positions(3, 0, steps=1)
    mask = seen.action_mask.astype(bool)
    expected = run(file, seen)["probabilities"]

    for other in (mask.astype(np.int8), mask.view(np.int8), -mask.astype(np.int8), 2 * mask.astype(np.int8)):
        answer = run(file, Decisions(seen.observation, other, seen.noise))["probabilities"]
        assert (answer == expected).all()
    with pytest.raises(Exception, match=r"tensor\(bool\).*expected.*tensor\(int8\)"):
        run(file, Decisions(seen.observation, mask, seen.noise))


def test_extreme_logits_leave_illegal_actions_at_zero():
    """Fault 15, in the file: logits of +-1e4, and rows in which one action is legal, or none.

    Seen to fail with -1e4 in place of the mask, and without the second mask: a row without legal actions was
    uniform."""
    network = make_network(KINDS[MLP])
    with torch.no_grad():
        network.policy.weight.zero_()
        network.policy.bias.copy_(torch.linspace(-1e4, 1e4, NUM_ACTIONS))
    file = session(to_onnx(network, {}))
    mask = np.concatenate([np.eye(NUM_ACTIONS, dtype=np.int8), np.zeros((1, NUM_ACTIONS), np.int8)])
    observation = np.zeros((len(mask), NUM_FEATURES), np.uint8)

    answer = run(file, Decisions(observation, mask, np.zeros(len(mask), np.uint64)))["probabilities"]

    assert (answer == mask).all()


# ---- What the file says about itself ----


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=NAMES)
def test_the_file_describes_itself(kind):
    """Observation and actions by name, what it was made for and by; inputs and outputs as they are.

    Seen to fail without one of the parts, and with a dtype changed in the file or in its words."""
    file = session(exported(kind))
    facts = {name: json.loads(fact) for name, fact in file.get_modelmeta().custom_metadata_map.items()}

    assert facts["format"] == "uno-flex-onnx/1"
    environment = {"name": "uno_flex_v0", "features": 640, "actions": 216, "version": uno_flex_env.__version__}
    assert facts["environment"] == environment
    assert facts["actions"] == list(TEXTS)
    layout = {
        part.name: (part.slice.start, part.slice.stop, list(part.shape), part.meaning) for part in LAYOUT.values()
    }
    described = {p["name"]: (p["start"], p["stop"], p["shape"], p["meaning"]) for p in facts["observation"]}
    assert described == layout
    assert NetworkConfig(**facts["network"]) == KINDS[kind]
    assert facts["about"] == {"decisions": 7, "kind": KINDS[kind].kind}
    for words, entries in (("inputs", file.get_inputs()), ("outputs", file.get_outputs())):
        assert list(facts[words]) == [entry.name for entry in entries]
        for entry in entries:
            shape = ", ".join("B" if size == "batch" else str(size) for size in entry.shape)
            dtype = entry.type.removeprefix("tensor(").removesuffix(")").replace("float", "float32")
            assert facts[words][entry.name].startswith(f"({shape}{',' * (len(entry.shape) == 1)}) {dtype}, ")


@pytest.mark.slow
def test_a_file_holds_nothing_of_the_machine_that_made_it():
    """The same network gives the same bytes, without a path.

    Seen to fail with the exporter's notes left in."""
    again = to_onnx(make_network(KINDS[HISTORY]), {"decisions": 7, "kind": "history"})

    assert again == exported(HISTORY)
    for data in map(exported, range(len(KINDS))):
        assert re.search(rb"site-packages|\.py\b", data) is None
        assert str(ROOT).encode() not in data


# ---- The command ----


def saved(folder: Path, network: ActorCritic | None = None) -> Path:
    """A run's folder with a network in it."""
    run_folder = folder / "runs" / "mine"
    run_folder.mkdir(parents=True)
    save_network(run_folder / POLICY, network or make_network(KINDS[MLP]), {"decisions": 7, "kind": "mlp"})
    return run_folder


@pytest.mark.slow
def test_a_network_is_exported_by_its_name(tmp_path, monkeypatch, capsys):
    """Fault 22. In the current folder under the name of its run, or in the file that you name; in place of what was
    there.

    Seen to fail with a file of another kind, and with the name of the file in the run."""
    monkeypatch.chdir(tmp_path)
    saved(tmp_path)
    Path("other.onnx").write_bytes(b"old")

    assert command.main(["export", "runs/mine"]) == 0
    assert command.main(["export", f"runs/mine/{POLICY}", "--to", "other.onnx"]) == 0

    assert Path("mine.onnx").read_bytes() == Path("other.onnx").read_bytes() == exported(MLP)
    assert "mine.onnx: mlp network, " in (said := capsys.readouterr().out)
    assert "the network's own probabilities at 896 positions" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.onnx", "other.onnx", "runs"]


@pytest.mark.parametrize(
    "policy", ["flex_any", "expert", "random", "search:200", "runs/mine:greedy", "nowhere", "runs", ""]
)
def test_what_is_not_a_network_is_refused_at_once(tmp_path, monkeypatch, policy):
    """Bots, search, options, and what there is not. Seen to fail without the check."""
    monkeypatch.chdir(tmp_path)
    saved(tmp_path)

    with pytest.raises(ValueError, match=rf"policy must be a network, .* got '{policy}'"):
        export.Config(policy, Path("x.onnx"))


@pytest.mark.parametrize(
    ("to", "message"),
    [
        ("x.pt", "to must be an .onnx file, got x.pt"),
        ("x", "to must be an .onnx file, got x"),
        ("nowhere/x.onnx", "to must lie in a folder that there is, got nowhere/x.onnx"),
        ("folder.onnx", "to must be a file, and there is a folder folder.onnx"),
    ],
)
def test_an_impossible_path_is_refused_at_once(tmp_path, monkeypatch, capsys, to, message):
    """With status 2, before anything is computed or written. Seen to fail without each of the checks."""
    monkeypatch.chdir(tmp_path)
    saved(tmp_path)
    Path("folder.onnx").mkdir()

    with pytest.raises(ValueError, match=re.escape(message)):
        export.Config("runs/mine", Path(to))
    with pytest.raises(SystemExit) as refused:
        command.main(["export", "runs/mine", "--to", to])

    assert refused.value.code == 2
    assert "to must" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.onnx", "runs"]


class Trap:
    """Unpickled, it would run code."""

    def __reduce__(self) -> Any:
        return Path("trapped").touch, ()


def text(path: Path) -> None:
    path.write_text("not a network")


def code(path: Path) -> None:
    path.write_bytes(pickle.dumps(Trap()))


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def unnamed(path: Path) -> None:
    safetensors.torch.save_file({"policy.weight": torch.zeros(216, 256)}, path)


def other_format(path: Path) -> None:
    save(path, "uno-flex-run/1", {"x": torch.zeros(1)}, {})


def other_environment(path: Path) -> None:
    """As many bytes as before, so that nothing else changes."""
    path.write_bytes(path.read_bytes().replace(b"uno_flex_v0", b"uno_flex_v9"))


def other_width(path: Path) -> None:
    weights, about = checkpoint.load(path, checkpoint.POLICY_FORMAT)
    save(path, checkpoint.POLICY_FORMAT, weights, {"network": about["network"] | {"width": 17}, "about": {}})


def other_kind(path: Path) -> None:
    weights, about = checkpoint.load(path, checkpoint.POLICY_FORMAT)
    save(path, checkpoint.POLICY_FORMAT, weights, {"network": about["network"] | {"kind": "residual"}, "about": {}})


def not_a_number(path: Path) -> None:
    network = make_network(KINDS[MLP])
    with torch.no_grad():
        network.policy.bias[3] = torch.nan
    save_network(path, network, {})


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (text, "is no checkpoint"),
        (code, "is no checkpoint"),
        (half, "is no checkpoint"),
        (unnamed, "must be of the format 'uno-flex-policy/1', got None"),
        (other_format, "must be of the format 'uno-flex-policy/1', got 'uno-flex-run/1'"),
        (other_environment, "was made for the environment"),
        (other_width, "weights and network don't fit"),
        (other_kind, "weights and network don't fit"),
        (not_a_number, "policy.bias holds numbers that are not finite"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_file_that_was_tampered_with_is_refused(tmp_path, monkeypatch, capsys, tamper, message):
    """Fault 22. With status 2; no code in it runs, and an older export stays as it is.

    Seen to fail without the check of format, environment and weights, without the comparison, and with a file that is
    written before it is checked."""
    monkeypatch.chdir(tmp_path)
    tamper(saved(tmp_path) / POLICY)
    Path("mine.onnx").write_bytes(b"old")

    assert command.main(["export", "runs/mine"]) == 2

    assert message in capsys.readouterr().err
    assert Path("mine.onnx").read_bytes() == b"old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.onnx", "runs"]


@pytest.mark.slow
def test_a_file_that_plays_otherwise_is_not_written(tmp_path, monkeypatch, capsys):
    """As if the exporter had a fault: the file of another network of the same shape.

    Seen to fail with a comparison of shapes alone."""
    monkeypatch.chdir(tmp_path)
    saved(tmp_path)
    monkeypatch.setattr(
        onnx_file, "Player", lambda network, real=onnx_file.Player: real(make_network(KINDS[MLP], seed=1))
    )

    assert command.main(["export", "runs/mine"]) == 2

    assert "file and network differ by " in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


# ---- In programs that know nothing of torch ----

ALONE = """
import runpy, sys
for name in ("torch", "agents", "experiments", "safetensors", "onnx", "onnxscript", "stable_baselines3"):
    sys.modules[name] = None  # an import of it is an error
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def play(file: Path, players: int) -> subprocess.CompletedProcess[str]:
    """The example, in a process of its own in which neither torch nor this checkout's agents can be imported."""
    command_line = [sys.executable, "-W", "error", "-c", ALONE, str(EXAMPLE), str(file), str(players)]
    return subprocess.run(command_line, capture_output=True, text=True, cwd=file.parent, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "players"), [(MLP, 2), (HISTORY, 8), (PRIVILEGED, 3)])
def test_the_example_plays_a_game_without_torch(tmp_path, kind, players):
    """Faults 14 and 22. What it prints is a game by the rules, replayed here, and each player's reward at its end.

    Seen to fail with torch imported in the example, with the mask left out of the file, and with a reward missing."""
    file = tmp_path / "x.onnx"
    file.write_bytes(exported(kind))

    done = play(file, players)

    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    game = Game(players, seed=1)
    for player, action in lines[:-players]:
        assert player == f"player_{game.current_player}"
        game.play(action)
    rewards = {player: float(reward) for player, reward in lines[-players:]}
    won = {f"player_{seat}": 1.0 if seat == game.winner else -1 / (players - 1) for seat in range(players)}
    assert game.is_over
    assert rewards == pytest.approx(won)


@pytest.mark.slow
def test_the_example_refuses_files_of_others(tmp_path):
    """A network for something else, by its metadata; half of a file, by onnxruntime. Without a file it says its usage.

    Seen to fail without the look at the metadata."""
    model = onnx.load_from_string(exported(MLP))
    onnx.helper.set_model_props(model, {"environment": json.dumps({"name": "chess_v6"})})
    (tmp_path / "other.onnx").write_bytes(model.SerializeToString())
    del model.metadata_props[:]
    (tmp_path / "silent.onnx").write_bytes(model.SerializeToString())
    (tmp_path / "half.onnx").write_bytes(exported(MLP)[: len(exported(MLP)) // 2])

    usage = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, check=False)
    assert usage.returncode == 1
    assert "docs/play_onnx.py champion.onnx 3" in usage.stderr
    assert "Traceback" not in usage.stderr
    for name, message in (("other", "other.onnx is no network for uno_flex_v0"), ("half", "half.onnx failed")):
        done = play(tmp_path / f"{name}.onnx", 2)
        assert done.returncode == 1
        assert message in done.stderr
        assert done.stdout == ""
    assert "silent.onnx is no network for uno_flex_v0" in play(tmp_path / "silent.onnx", 2).stderr


# ---- The champion ----

WATCHED = """
import sys
from agents.checkpoint import find_policy, load_network

seen, watching = [], False
sys.addaudithook(lambda event, _: seen.append(event) if watching else None)
file = find_policy(sys.argv[1])
load_network(file)  # once before: torch imports parts of itself when they are first used
watching = True
network, about = load_network(file)
watching = False
print(*seen)
"""


@pytest.mark.slow
def test_the_champions_file_runs_no_code_when_it_is_loaded():
    """Fault 22. In a process of its own: nothing is compiled, imported, unpickled or started.

    Seen to fail with the weights in a pickle."""
    command_line = [sys.executable, "-c", WATCHED, "champion"]
    events = subprocess.run(command_line, capture_output=True, text=True, cwd=ROOT, check=True).stdout.split()

    assert "open" in events
    assert set(events) & {"compile", "exec", "import", "pickle.find_class", "subprocess.Popen", "os.system"} == set()


@pytest.mark.slow
def test_the_champion_is_exported(tmp_path, capsys):
    """As it comes with the project. Seen to fail with the file moved away."""
    file = tmp_path / "champion.onnx"

    assert command.main(["export", "champion", "--to", str(file)]) == 0

    facts = session(file.read_bytes()).get_modelmeta().custom_metadata_map
    assert asdict(NetworkConfig(**json.loads(facts["network"]))) == json.loads(facts["network"])
    assert "decisions" in json.loads(facts["about"])
    assert file.stat().st_size < 8 << 20
    assert "champion.onnx: " in capsys.readouterr().out
