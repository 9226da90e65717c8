"""The batch environment, playouts and search."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from uno_flex_env import Rules, _core
from uno_flex_env.batch import bot_number
from uno_flex_env.bench.measure import Contestant, Figure, Race, rate, ratios
from uno_flex_env.positions import METHODS, Positions, Views
from uno_flex_env.vec_env import VecEnv

PLAYERS = (2, 4, 8)
RULES_ONLY, MASK, OBSERVATION, ALL = range(4)
PARTS = {"rules": RULES_ONLY, "mask": MASK, "observation": OBSERVATION}
"""What `Batch.random_steps` writes besides playing by the rules."""

PLAYOUT_BOT = "flex_when_stuck"
"""What search plays states out with: of the bots the strongest at two players."""

PLAYOUT_DEALS = 256
_SETTLE = 200  # steps after the deal until the games of a batch are at all stages


def batch_of(num_envs: int, num_players: int, num_threads: int = 1) -> VecEnv:
    """A batch whose games are at all stages."""
    env = VecEnv(num_envs, num_players, num_threads=num_threads, seed=1)
    env.reset()
    env.batch.random_steps(_SETTLE)
    return env


def batch_contestant(env: VecEnv) -> Contestant:
    """Random play inside the core, with mask and observation written for every decision."""
    return Contestant(f"batch_{env.num_players}", _in_core(env, ALL))


def batch_contestants(num_envs: int, large: int | None, num_threads: int) -> list[Contestant]:
    """Random play in the core with everything written, its parts, its floor, and the same stepped from Python."""
    contestants = []
    for players in PLAYERS:
        env = batch_of(num_envs, players)
        contestants += [
            batch_contestant(env),
            Contestant(f"floor_{players}", _floor(batch_of(num_envs, players))),
            Contestant(f"python_{players}", _from_python(env)),
        ]
        if large:
            contestants.append(Contestant(f"large_{players}", _in_core(batch_of(large, players), ALL)))
    env = batch_of(num_envs, PLAYERS[0])
    contestants += [Contestant(f"{name}_{PLAYERS[0]}", _in_core(env, parts)) for name, parts in PARTS.items()]
    if num_threads > 1:
        contestants.append(Contestant("batch_threads", _in_core(batch_of(num_envs, PLAYERS[0], num_threads), ALL)))
    return contestants


def playout_contestants(num_threads: int) -> list[Contestant]:
    """Playouts by the bot `random`, which decides as the random play in the batch does."""
    contestants = [Contestant(f"playout_{players}", _playouts(players, 1)) for players in PLAYERS]
    if num_threads > 1:
        contestants.append(Contestant("playout_threads", _playouts(PLAYERS[0], num_threads)))
    return contestants


def batch_figures(values: Race, num_envs: int, large: int | None, num_threads: int) -> list[Figure]:
    """Rates and ratios of `batch_contestants`."""
    group = f"Random play, {num_envs:,} games: mask and observation written for every decision"
    figures = [Figure(f"batch_{n}", group, f"{n} players", "decisions/s", tuple(values[f"batch_{n}"])) for n in PLAYERS]
    spread = tuple(max(row) / min(row) for row in zip(*(values[f"batch_{n}"] for n in PLAYERS), strict=True))
    figures.append(Figure("spread", group, "fastest / slowest number of players", "ratio", spread, "<= 1.25"))
    for n in PLAYERS:
        name, times = f"floor_ratio_{n}", ratios(values, f"floor_{n}", f"batch_{n}")
        figures.append(Figure(name, group, f"time / touching the memory, {n} players", "ratio", times, "<= 2.5"))
    for n in PLAYERS:
        name, times = f"python_ratio_{n}", ratios(values, f"batch_{n}", f"python_{n}")
        figures.append(Figure(name, group, f"time from Python / in the core, {n} players", "ratio", times, "<= 1.15"))
    if num_threads > 1:
        gain = ratios(values, "batch_threads", f"batch_{PLAYERS[0]}")
        label = f"{num_threads} threads / 1, {PLAYERS[0]} players"
        figures.append(Figure("batch_threads_ratio", group, label, "ratio", gain, _thread_target(num_threads)))
    return figures + _detail_figures(values, large)


def _detail_figures(values: Race, large: int | None) -> list[Figure]:
    group = "The same in detail"
    rows = [(f"python_{n}", f"stepped from Python, {n} players") for n in PLAYERS]
    rows += [(f"floor_{n}", f"only touching the memory, {n} players") for n in PLAYERS]
    rows += [(f"large_{n}", f"{large:,} games, {n} players") for n in PLAYERS if large]
    first = PLAYERS[0]
    rows += [
        (f"rules_{first}", f"neither mask nor observation, {first} players"),
        (f"mask_{first}", f"mask, no observation, {first} players"),
        (f"observation_{first}", f"observation, no mask, {first} players"),
    ]
    return [Figure(name, group, label, "decisions/s", tuple(values[name])) for name, label in rows]


def playout_figures(values: Race, num_threads: int) -> list[Figure]:
    """Rates and ratios of `playout_contestants`."""
    group = f"Playouts by {PLAYOUT_BOT} to the end of the round, no observations"
    names = [f"playout_{n}" for n in PLAYERS]
    figures = [
        Figure(name, group, f"{n} players", "decisions/s", tuple(values[name]))
        for name, n in zip(names, PLAYERS, strict=True)
    ]
    for name, n in zip(names, PLAYERS, strict=True):
        gain = ratios(values, name, f"batch_{n}")
        figures.append(Figure(f"{name}_ratio", group, f"playouts / random play, {n} players", "ratio", gain, ">= 2"))
    if num_threads > 1:
        gain = ratios(values, "playout_threads", names[0])
        label = f"{num_threads} threads / 1, {PLAYERS[0]} players"
        figures.append(Figure("playout_threads_ratio", group, label, "ratio", gain, _thread_target(num_threads)))
    return figures


def search_contestants() -> list[Contestant]:
    """What a search is made of: worlds drawn from views, and simulations of both methods from the first decision."""
    contestants = []
    for players in PLAYERS:
        positions = Positions.deal(np.arange(PLAYOUT_DEALS), players)
        views, defaults = positions.hide(), positions.observe()[1].argmax(axis=1)
        contestants.append(Contestant(f"worlds_{players}", _worlds(views)))
        for method in METHODS:
            contestants.append(Contestant(f"{method}_{players}", _simulations(views, defaults, method)))
    return contestants


def search_figures(values: Race) -> list[Figure]:
    """Rates of `search_contestants`."""
    group = f"Search from the first decision, one core, playouts by {PLAYOUT_BOT}"
    rows = [("worlds", "worlds drawn", "worlds/s")]
    rows += [(method, f"{method} search", "simulations/s") for method in METHODS]
    return [
        Figure(f"{name}_{n}", group, f"{label}, {n} players", unit, tuple(values[f"{name}_{n}"]))
        for name, label, unit in rows
        for n in PLAYERS
    ]


def _worlds(views: Views) -> Callable[[int], float]:
    keys = np.arange(len(views), dtype=np.uint64)

    def work(repeats: int) -> int:
        for _ in range(repeats):
            views.determinize(keys)
        return repeats * len(views)

    return lambda repeats: rate(lambda: work(repeats))


def _simulations(views: Views, defaults: npt.NDArray[np.int64], method: str) -> Callable[[int], float]:
    keys = np.arange(len(views), dtype=np.uint64)

    def work(repeats: int) -> int:
        return int(views.search(defaults, keys, simulations=100 * repeats, method=method)[1].sum())

    return lambda repeats: rate(lambda: work(repeats))


def _thread_target(num_threads: int) -> str:
    return ">= 1.8" if num_threads == 2 else ""


def _in_core(env: VecEnv, parts: int) -> Callable[[int], float]:
    def work(steps: int) -> int:
        env.batch.random_steps(steps, parts)
        return steps * env.num_envs

    return lambda steps: rate(lambda: work(steps))


def _floor(env: VecEnv) -> Callable[[int], float]:
    # `touch` leaves no games behind and so deals new ones, which is not to count.
    dealing = min(_seconds(env.batch.reset) for _ in range(10))

    def run(steps: int) -> float:
        return steps * env.num_envs / max(_seconds(lambda: env.batch.touch(steps)) - dealing, 1e-9)

    return run


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _from_python(env: VecEnv) -> Callable[[int], float]:
    def work(steps: int) -> int:
        for _ in range(steps):
            env.sample()
            env.step()
        return steps * env.num_envs

    return lambda steps: rate(lambda: work(steps))


def _playouts(players: int, num_threads: int) -> Callable[[int], float]:
    rules = Rules().core
    positions = _core.Positions.deal(np.arange(PLAYOUT_DEALS, dtype=np.uint64), rules, players, players - 1)
    keys = np.arange(PLAYOUT_DEALS, dtype=np.uint64)
    bots = [bot_number(PLAYOUT_BOT)] * players

    def work(repeats: int) -> int:
        winners = np.empty((PLAYOUT_DEALS, repeats), np.int8)
        points = np.empty((PLAYOUT_DEALS, repeats), np.int16)
        return positions.play_out(bots, keys, repeats, num_threads, winners, points)

    return lambda repeats: rate(lambda: work(repeats))
