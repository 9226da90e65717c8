"""Worker processes: what is lost with one of them is done again, and the result is the same."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from agents.match import workers
from agents.match.runner import duel
from agents.match.workers import WorkerPool
from agents.policy import Actions
from agents.rule_bot import RuleBot
from uno_flex_env.policy_input import Decisions


class KilledOnce:
    """Plays like `flex_any`; the first process that asks is killed, as by a system without memory."""

    name, history = "killed once", 0

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def act(self, decisions: Decisions) -> Actions:
        die_once(self.mark)
        return RuleBot("flex_any").act(decisions)


def die_once(mark: Path) -> None:
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def divide(number: int) -> float:
    return 1 / number


def die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def note(job: tuple[Path, int]) -> int:
    """The job's number; a file keeps how often each has been finished, and job 5 kills its process once."""
    folder, number = job
    if number == 5:
        die_once(folder / "mark")
    (folder / f"{number}-{os.getpid()}").touch()
    return number


@pytest.mark.slow
def test_a_match_survives_the_death_of_a_worker(tmp_path):
    """Fault 2-10: the games are the same as without. Seen to fail with a bare ProcessPoolExecutor
    (BrokenProcessPool)."""
    (tmp_path / "there").touch()
    undisturbed = duel(KilledOnce(tmp_path / "there"), "random", games=600)

    result = duel(KilledOnce(tmp_path / "mark"), "random", games=600, workers=2)

    assert (tmp_path / "mark").exists()
    assert result.winners.tobytes() == undisturbed.winners.tobytes()
    assert result.decisions.tobytes() == undisturbed.decisions.tobytes()


@pytest.mark.slow
def test_results_are_kept_and_come_in_order(tmp_path):
    """Fault 2-10: what was finished before the kill does not run again. Seen to fail when all items are submitted
    anew."""
    pool = WorkerPool(1)

    assert list(pool.map(note, [(tmp_path, number) for number in range(10)])) == list(range(10))
    pool.close()

    done = [int(path.name.split("-")[0]) for path in tmp_path.glob("*-*")]
    assert sorted(done) == list(range(10))


@pytest.mark.slow
def test_workers_that_always_die_end_with_a_message(monkeypatch):
    """Fault 2-10: an OSError, which the commands print. Seen to fail with retries without end."""
    monkeypatch.setattr(workers, "RESTARTS", 1)

    pool = WorkerPool(2)
    with pytest.raises(OSError, match=r"were killed 2 times, 3 parts are left .* fewer workers"):
        list(pool.map(die, range(3)))
    pool.close()


@pytest.mark.slow
def test_errors_of_the_work_itself_are_not_retried():
    """Seen to fail when any exception counts as the death of a worker."""
    pool = WorkerPool(1)
    with pytest.raises(ZeroDivisionError):
        list(pool.map(divide, [1, 0, 2]))
    assert list(pool.map(divide, [1, 2])) == [1.0, 0.5]
    pool.close()
