"""Threads and signals: long work stops at a signal, and no fault in a thread ends the process."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tests.support.paths import ROOT
from uno_flex_env import Game, VecEnv, _core
from uno_flex_env.positions import Positions

# ---- Signals ----


class Stopped(Exception):  # noqa: N818
    """What the signal handler of these tests raises."""


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise `Stopped` after so many seconds.

    Meanwhile nothing is collected as garbage: an exception that a signal raises in a callback of the collector is lost.
    """

    def stop(*_: object) -> None:
        raise Stopped

    before = signal.signal(signal.SIGALRM, stop)
    gc.disable()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def position() -> Game:
    """Four players, and the first of them has several actions to choose from."""
    return next(game for game in (Game(4, seed=seed) for seed in range(100)) if len(game.legal_actions) > 4)


def search(method: str, threads: int, **budget: Any) -> object:
    state = position().state
    default = state.legal_actions()[:1]
    return Positions([state]).hide().search(default, [1], method=method, num_threads=threads, **budget)


def random_steps(threads: int) -> None:
    env = VecEnv(4, num_threads=threads, seed=1)
    env.reset()
    env.batch.random_steps(1 << 30)


LONG_WORK: dict[str, Callable[[int], object]] = {
    "flat search": lambda threads: search("flat", threads, simulations=40_000_000, confidence=1e9),
    "tree search": lambda threads: search("tree", threads, simulations=10_000_000),
    "timed search": lambda threads: search("flat", threads, seconds=600, confidence=1e9),
    "playouts": lambda threads: Positions([position().state]).playout(
        "flex_any", [1], repeats=1 << 24, num_threads=threads
    ),
    "random steps": random_steps,
    "soak": lambda _: _core.soak(position().rules.core, 4, False, 1, 1 << 40),
    "perft": lambda _: position().state.perft(100),
}


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("work", LONG_WORK)
def test_long_work_stops_at_a_signal(work, threads):
    """Fault 2-16: Ctrl-C in a search of 4,000,000 simulations was answered 46 seconds later.

    Seen to fail when `Interrupt::poll` always returned false: it came too late or not within 15 seconds."""
    began = time.perf_counter()
    with alarm(0.1), pytest.raises(Stopped):
        LONG_WORK[work](threads)

    assert time.perf_counter() - began < 1.1


def test_work_in_another_thread_is_not_stopped():
    """Only the main thread runs signal handlers; the others keep their results."""
    results = []
    keys = np.arange(1, dtype=np.uint64)
    states = Positions([position().state])

    def play() -> None:
        results.append(states.playout("flex_any", keys, repeats=100_000)[0])

    thread = threading.Thread(target=play)
    thread.start()
    thread.join()

    assert np.array_equal(results[0], states.playout("flex_any", keys, repeats=100_000, num_threads=2)[0])


# ---- Two threads at one object ----


def test_a_batch_that_is_being_stepped_refuses_other_threads():
    """Fault 2-14: two threads that stepped one VecEnv with two threads of its own waited for each other for ever, and a
    reader beside a writer saw half a step. Seen to fail (it hung) without `Turn`."""
    env = VecEnv(16, num_threads=2, seed=1)
    env.reset()
    stop, refusals = threading.Event(), []

    def walk() -> None:
        while not stop.is_set():
            env.batch.random_steps(20_000)

    thread = threading.Thread(target=walk, daemon=True)
    thread.start()
    calls: list[Callable[[], object]] = [
        env.step,
        env.sample,
        env.reset,
        env.to_bytes,
        env.hidden_hands,
        lambda: env.state(0),
        lambda: env.use_buffers(np.zeros((16, 640), np.uint8)),
        lambda: env.batch.seed(1),
        lambda: env.batch.episode_seed(0),
    ]
    for call in calls:
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                call()
            except RuntimeError as error:
                refusals.append(str(error))
                break
    stop.set()
    thread.join(20)

    assert not thread.is_alive()
    assert refusals == ["the batch is being stepped by another thread"] * len(calls)
    assert [env.state(game).check() for game in range(16)] == [None] * 16
    env.step(env.sample())


def test_positions_that_are_being_played_out_do_not_change():
    """Fault 2-14: `apply` beside a playout in another thread. Seen to fail without `Reading`: it moved."""
    positions = Positions([position().state])
    thread = threading.Thread(
        target=lambda: positions.playout("flex_any", [1], repeats=300_000, num_threads=2), daemon=True
    )
    thread.start()
    action = position().state.legal_actions()[:1]
    until = time.monotonic() + 20
    while not (busy := positions.core.readers) and time.monotonic() < until:
        time.sleep(0.001)
    assert busy
    with pytest.raises(RuntimeError, match="being played out by another thread"):
        positions.apply(action)
    with pytest.raises(RuntimeError, match="being played out by another thread"):
        positions.set_power([1])
    thread.join(20)

    positions.apply(action)
    assert positions.state(0).ply == 1


@pytest.mark.slow
def test_the_actions_that_are_checked_are_those_that_are_taken():
    """Fault 2-14: another thread wrote into `actions` between the check and the step. Seen to fail with a batch that
    reads the given array twice."""
    env = VecEnv(4096, num_threads=2, seed=1)
    env.reset()
    stop = threading.Event()

    def scribble() -> None:
        generator = np.random.default_rng(1)
        while not stop.is_set():
            env.batch.actions[:] = generator.integers(0, 216, 4096)

    thread = threading.Thread(target=scribble, daemon=True)
    thread.start()
    for _ in range(200):
        try:
            env.sample()
            env.batch.step()
        except ValueError:
            pass
    stop.set()
    thread.join(20)

    assert [env.state(game).check() for game in range(4096)] == [None] * 4096


# ---- Threads that can't start or fail ----

LIMITED = """
import resource, sys
import numpy as np
from uno_flex_env import Game, VecEnv
from uno_flex_env.positions import Positions

states = Positions([Game(4, seed=3).state])
pages = int(open("/proc/self/statm").read().split()[0])
room = int(sys.argv[1]) << 20
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + room,) * 2)
try:
    {call}
except {error} as error:
    print(type(error).__name__, error)
env = VecEnv(8, num_threads=2, seed=1)
env.reset()
env.step(env.sample())
print("still here")
"""


def run_limited(call: str, error: str, megabytes: int) -> list[str]:
    """The lines that a process prints whose call meets a limit of its memory."""
    code = LIMITED.format(call=call, error=error)
    done = subprocess.run(
        [sys.executable, "-c", code, str(megabytes)], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


linux = pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process as Linux does")


@linux
@pytest.mark.parametrize(
    "call",
    [
        "VecEnv(8, num_threads=1024)",
        "states.playout('random', [1], num_threads=1024)",
        "states.hide().determinize([1], num_threads=1024)",
    ],
)
def test_threads_that_cannot_start_are_an_error(call):
    """Fault 2-13: std::system_error left the constructor of a pool with threads running, which ended the process.

    Seen to fail without the handler in `Pool`: SIGABRT."""
    error, last = run_limited(call, "RuntimeError", 400)

    assert error.startswith("RuntimeError the system allows only ")
    assert " of 1024 threads" in error
    assert last == "still here"


@linux
@pytest.mark.slow
def test_a_worker_without_memory_is_an_error():
    """Fault 2-13: std::bad_alloc in a worker ended the process. Seen to fail without `Pool::attempt`: SIGABRT."""
    call = (
        "states.repeat(8).hide().search([states.state(0).legal_actions()[0]] * 8, range(8), "
        "method='tree', simulations=10**9, num_threads=2)"
    )
    error, last = run_limited(call, "MemoryError", 20)

    assert error.startswith("MemoryError")
    assert last == "still here"
