"""Folders of one process at a time, and disks that are full."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from agents.atomic import write_whole
from agents.folder_lock import locked
from experiments.__main__ import main
from experiments.training.checkpoint_file import CHECKPOINT
from experiments.training.train_config import CONFIG, TrainConfig
from tests.support.paths import ROOT

HOLDER = """
import sys, time
from pathlib import Path
from agents.folder_lock import locked
with locked(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(60)
"""


@contextmanager
def other_process(folder: Path) -> Iterator[None]:
    """Another process that works in this folder, until it is killed."""
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(folder)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "locked\n"
        yield
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        holder.stdout.close()


def test_a_folder_has_one_process_at_a_time(tmp_path):
    """Fault 2-20: the folder is free again after a kill, and holds nothing of the lock.

    Seen to fail with a file as the lock, which outlives a kill."""
    with other_process(tmp_path), pytest.raises(ValueError, match="another process is at work in"), locked(tmp_path):
        pass

    with locked(tmp_path):
        assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_run_is_not_resumed_twice(tmp_path, capsys, monkeypatch):
    """Fault 2-20: nor is a folder of a ladder or a study used twice. Seen to fail without the locks."""
    run = tmp_path / "runs" / "ladder" / "mine"
    run.mkdir(parents=True)
    (run / CONFIG).write_text(json.dumps(TrainConfig().to_dict() | {"made_by": {}}))
    (run / CHECKPOINT).touch()
    monkeypatch.chdir(tmp_path)

    with other_process(run):
        for command in (
            ["train", "--resume", str(run)],
            ["ladder", "random", "flex_any", "--name", "mine"],
            ["study", "--out", str(run)],
        ):
            assert main(command) == 2
            assert "another process is at work in" in capsys.readouterr().err


@contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process may be longer than 1,000 bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_reported_with_the_name_of_the_file(tmp_path):
    """Fault 2-20: and the old file is whole. Seen to fail with the error as it comes, which names no file."""
    path = tmp_path / "results.json"
    write_whole(path, b"old")

    with full_disk(), pytest.raises(OSError, match=r"results\.json'$") as error:
        write_whole(path, bytes(100_000))

    assert error.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("folder", ["missing", "file"])
def test_a_folder_that_cannot_be_written_is_reported_with_the_name_of_the_file(tmp_path, folder):
    """Fault 2-20: not with that of the part beside it. Seen to fail with the error as it comes
    (".results.json.4711")."""
    (tmp_path / "file").touch()

    with pytest.raises(OSError, match=rf"{folder}/results\.json'$"):
        write_whole(tmp_path / folder / "results.json", b"new")
