"""Files of networks and runs: written whole, refused when they are something else, and never code."""

from __future__ import annotations

import json
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

from agents import checkpoint
from agents.atomic import new_folder, write_new_folder, write_whole
from agents.checkpoint import POLICY, find_policy, load, load_network, save, save_network
from agents.network import ActorCritic, NetworkConfig
from agents.policy_factory import make_policy
from tests.support.learning import KINDS, NAMES, make_network
from tests.support.paths import ROOT

# ---- Networks ----


@pytest.mark.parametrize("config", KINDS, ids=NAMES)
def test_a_network_is_loaded_as_it_was_saved(tmp_path, config):
    """Weights bit for bit, what it is made of, and the notes. Seen to fail with weights rounded to bfloat16."""
    network = make_network(config)

    save_network(tmp_path / "x.safetensors", network, {"decisions": 7})
    again, about = load_network(tmp_path / "x.safetensors")

    assert again.config == config
    assert about == {"decisions": 7}
    weights = again.state_dict()
    assert all(torch.equal(weights[name], value) for name, value in network.state_dict().items())


def test_policies_are_found_by_run_and_by_file(tmp_path):
    """A run's folder, a file in it, and neither. Seen to fail without the folder."""
    path = tmp_path / "run" / POLICY
    path.parent.mkdir()
    save_network(path, make_network(KINDS[0]), {})

    assert find_policy(str(path)) == find_policy(str(path.parent)) == path
    assert find_policy(str(tmp_path)) is None
    assert make_policy(f"{path.parent}:greedy").name == f"{path.parent}:greedy"
    with pytest.raises(ValueError, match="no such policy"):
        make_policy(str(tmp_path))


# ---- Files that are refused ----


class Trap:
    """Unpickled, it would run code."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.mark),)


def test_a_pickle_does_nothing(tmp_path):
    """Also one that torch has written; the trap is shown to be one. Seen to fail with `pickle.loads`."""
    path, mark = tmp_path / "trap.safetensors", tmp_path / "code has run"
    plain, zipped = pickle.dumps(Trap(mark)), tmp_path / "zipped"
    torch.save({"weights": Trap(mark)}, zipped)

    for data in (plain, zipped.read_bytes()):
        path.write_bytes(data)
        with pytest.raises(ValueError, match=r"trap\.safetensors is no checkpoint"):
            load_network(path)
        with pytest.raises(ValueError, match=r"trap\.safetensors is no checkpoint"):
            make_policy(str(path))

    assert not mark.exists()
    pickle.loads(plain)
    assert mark.exists()


@pytest.mark.parametrize("damage", ["empty", "garbage", "half", "one byte less", "header only"])
def test_broken_files_are_refused_by_name(tmp_path, damage):
    """Seen to fail without the translation of safetensors' errors."""
    path = tmp_path / "broken.safetensors"
    save_network(path, make_network(KINDS[0]), {})
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    damaged = {
        "empty": b"",
        "garbage": os.urandom(1000),
        "half": data[: len(data) // 2],
        "one byte less": data[:-1],
        "header only": data[: 8 + size],
    }
    path.write_bytes(damaged[damage])

    with pytest.raises(ValueError, match=r"broken\.safetensors is no checkpoint"):
        load_network(path)


def test_files_of_another_kind_are_refused(tmp_path):
    """The message says what is wanted and what was found. Seen to fail without the check of the format."""
    run, foreign = tmp_path / "run.safetensors", tmp_path / "foreign.safetensors"
    save(run, "uno-flex-training/1", {"x": torch.zeros(1)}, {})
    safetensors.torch.save_file({"x": torch.zeros(1)}, foreign)

    with pytest.raises(ValueError, match="must be of the format 'uno-flex-policy/1', got 'uno-flex-training/1'"):
        load_network(run)
    with pytest.raises(ValueError, match="must be of the format 'uno-flex-policy/1', got None"):
        load_network(foreign)


def test_networks_for_another_environment_are_refused(tmp_path, monkeypatch):
    """Both versions are named. Seen to fail without the check."""
    path = tmp_path / "old.safetensors"
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "ENVIRONMENT", {"name": "uno_flex_v9", "features": 640, "actions": 216})
        save_network(path, make_network(KINDS[0]), {})

    with pytest.raises(ValueError, match=r"was made for the environment .*uno_flex_v9.*, this one is .*uno_flex_v0"):
        load_network(path)


@pytest.mark.parametrize("change", ["width", "kind", "missing", "unknown"])
def test_weights_that_do_not_fit_are_refused(tmp_path, change):
    """By the file's name: a file whose description says something else than its weights are.

    Seen to fail with `strict=False`."""
    path = tmp_path / "odd.safetensors"
    network = make_network(NetworkConfig(width=16))
    about: dict[str, Any] = {"network": {"width": 16}, "about": {}}
    weights = dict(network.state_dict())
    if change == "width":
        about["network"]["width"] = 17
    if change == "kind":
        about["network"]["kind"] = "residual"
    if change == "missing":
        del weights["value.bias"]
    if change == "unknown":
        about["network"]["depth"] = 3
    save(path, checkpoint.POLICY_FORMAT, weights, about)

    with pytest.raises(ValueError, match=r"odd\.safetensors: weights and network don't fit"):
        load_network(path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"layers": 100_000}, "network.layers must be at most 256, got 100,000"),
        ({"width": 10**9}, "network.width must be at most 16,384, got 1,000,000,000"),
        ({"layers": 250}, "network.layers is 250, with 8 tensors"),
        ({"width": 10_000}, r"trunk.0.weight must be \(10000, 640\) float32, got \(16, 640\) float32"),
        ({"width": 0}, "network.width must be at least 1, got 0"),
        ({"width": "16"}, "network: width must be a whole number, got '16'"),
        ({"width": 16.0}, "network: width must be a whole number, got 16.0"),
        ({"privileged": 1}, "network: privileged must be true or false, got 1"),
        ({"kind": "transformer"}, "network.kind must be one of mlp"),
    ],
    ids=str,
)
def test_sizes_are_checked_before_a_network_is_built(tmp_path, settings, message):
    """Fault 2-17: the message is that of the check. Seen to fail when the network is built first: 40 s, or
    terabytes."""
    path = tmp_path / "huge.safetensors"
    weights = ActorCritic(NetworkConfig(width=16)).state_dict()
    save(path, checkpoint.POLICY_FORMAT, weights, {"network": {"width": 16} | settings, "about": {}})

    with pytest.raises(ValueError, match=rf"huge\.safetensors.*{message}"):
        load_network(path)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("name", ["policy.weight", "value.bias"])
def test_weights_that_are_not_finite_are_refused(tmp_path, name, value):
    """Fault 2-17: by the names of file and tensor, also by everything that makes policies.

    Seen to fail without the check: the file loads, and play blames the policy."""
    path = tmp_path / "odd.safetensors"
    network = ActorCritic(NetworkConfig(width=16))
    network.state_dict()[name].view(-1)[-1] = value
    save_network(path, network, {})

    for load_it in (load_network, lambda path: make_policy(str(path))):
        with pytest.raises(ValueError, match=rf"odd\.safetensors: {name} holds numbers that are not finite"):
            load_it(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"environment": None}, "was made for the environment None"),
        ({"network": None}, "network must be an object, got None"),
        ({"about": []}, "about must be an object"),
        ({"about": {"config": 1}}, "config must be an object, got 1"),
        ({"about": {"config": {"game": {"reward": 1}}}}, "reward must be a text, got 1"),
        ({"about": {"config": {"game": {"reward": "fame"}}}}, "reward must be one of 'win', 'points', got 'fame'"),
    ],
    ids=str,
)
def test_damaged_descriptions_are_refused(tmp_path, change, message):
    """Fault 2-17: by the names of file and field. Seen to fail with the fields taken as they are (KeyError, TypeError,
    AttributeError)."""
    path = tmp_path / "odd.safetensors"
    weights = ActorCritic(NetworkConfig(width=16)).state_dict()
    save(path, checkpoint.POLICY_FORMAT, weights, {"network": {"width": 16}, "about": {}} | change)

    with pytest.raises(ValueError, match=rf"odd\.safetensors.*{message}"):
        make_policy(str(path))


@pytest.mark.parametrize("text", ["[" * 50_000, "NaN", "{", ""])
def test_descriptions_that_are_no_json_are_refused(tmp_path, text):
    """Fault 2-17: seen to fail without the translation of RecursionError."""
    path = tmp_path / "odd.safetensors"
    path.write_bytes(safetensors.torch.save({"x": torch.zeros(1)}, {"uno_flex": text}))

    with pytest.raises(ValueError, match=r"odd\.safetensors: its description is no JSON"):
        load_network(path)


# ---- Writing ----

WRITER = """
import sys, torch
from pathlib import Path
from agents.checkpoint import save
for number in range(10**9):
    save(Path(sys.argv[1]), "test", {"x": torch.full((300_000,), float(number))}, {"number": number})
"""


@pytest.mark.slow
def test_a_kill_in_the_midst_of_saving_leaves_a_whole_file(tmp_path):
    """kill -9 while one file is written over and over; a reader finds a whole one each time.

    Seen to fail when `write_whole` opens the file itself."""
    path = tmp_path / "x.safetensors"
    environ = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    writer = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], cwd=ROOT, env=environ)
    try:
        while not path.exists():
            assert writer.poll() is None
            time.sleep(0.02)
        numbers = {check_whole(path) for _ in range(50)}
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()

    assert len(numbers) > 1
    assert check_whole(path) >= max(numbers)


def check_whole(path: Path) -> int:
    """The number in a file that the writer has written."""
    tensors, about = load(path, "test")
    number: int = about["number"]
    assert (tensors["x"] == number).all()
    return number


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
    check_replacement(write_whole, tmp_path)


def test_the_check_of_replacement_can_fail(tmp_path):
    """By opening the file itself."""

    def naive(path: Path, data: bytes) -> None:
        with path.open("wb") as file:
            file.write(data)

    with pytest.raises(AssertionError):
        check_replacement(naive, tmp_path)


def test_no_two_runs_share_a_folder(tmp_path):
    """What is there stays. Seen to fail with `exist_ok`."""
    folders = [new_folder(tmp_path / "runs", "a") for _ in range(3)]

    assert [folder.name for folder in folders] == ["a", "a-2", "a-3"]


def test_a_folder_has_its_name_only_with_all_of_its_files(tmp_path):
    """What is there stays. Seen to fail with files written under the final name, and without removing
    what is unfinished."""
    write_new_folder(tmp_path / "runs", "a", {"x": b"1", "y": b"2"})
    with pytest.raises(TypeError):
        write_new_folder(tmp_path / "runs", "a", {"x": b"3", "y": "no bytes"})  # type: ignore[dict-item]
    second = write_new_folder(tmp_path / "runs", "a", {"x": b"4", "y": b"5"})

    assert second.name == "a-2"
    found = {str(path.relative_to(tmp_path / "runs")): path.read_bytes() for path in tmp_path.glob("runs/*/*")}
    assert found == {"a/x": b"1", "a/y": b"2", "a-2/x": b"4", "a-2/y": b"5"}
    assert len(list((tmp_path / "runs").iterdir())) == 2


def test_descriptions_are_plain_json(tmp_path):
    """Other programs can read them: safetensors, with a JSON text in the header."""
    path = tmp_path / "x.safetensors"
    save_network(path, ActorCritic(NetworkConfig(width=4)), {"note": "ü"})

    with safetensors.safe_open(path, framework="pt") as file:
        about = json.loads(file.metadata()["uno_flex"])

    assert about["network"]["width"] == 4
    assert about["about"] == {"note": "ü"}
    assert re.match(r"uno-flex-policy/\d", about["format"])
