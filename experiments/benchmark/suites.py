"""The suites of the benchmark: which tasks, which algorithms, which budgets."""

from __future__ import annotations

from dataclasses import dataclass

from agents.learners.learner_factory import LEARNERS
from agents.network import NetworkConfig
from agents.tasks import find_task
from uno_flex_env.errors import did_you_mean
from uno_flex_env.options import EpisodeOptions


@dataclass(frozen=True)
class Budget:
    """What a run may spend. It ends when both `decisions` and `seconds` are spent, or at `most_seconds`.

    All seconds are processor seconds of learning: a run has one thread, and measurements don't count. So a busy machine
    makes a run longer, but hardly changes what its budget buys.
    """

    decisions: int
    seconds: float
    most_seconds: float

    def share(self, decisions: int, seconds: float) -> float:
        """How much of the run is done, in [0, 1]."""
        both = min(decisions / self.decisions, seconds / self.seconds)
        return min(1.0, max(both, seconds / self.most_seconds))

    def spent(self, at: str, decisions: int, seconds: float) -> bool:
        """Whether the budget `decisions` or `seconds` is spent, or the run is at its end."""
        used = {"decisions": decisions / self.decisions, "seconds": seconds / self.seconds}
        return used[at] >= 1.0 or self.share(decisions, seconds) >= 1.0


@dataclass(frozen=True)
class SuiteTask:
    """A task of a suite."""

    game: str
    """Its game, by its name in `agents.tasks`."""
    budget: Budget
    network: NetworkConfig = NetworkConfig()  # noqa: RUF009 (it is frozen)
    """The network that every algorithm learns with."""
    exact_every: int = 0
    """Every how many points of the curve the exact exploitability is computed; 0 for never."""

    @property
    def options(self) -> EpisodeOptions:
        """The options of the game."""
        return find_task(self.game)


@dataclass(frozen=True)
class Suite:
    """What is measured, and how. Results of two versions of a suite are never mixed."""

    version: int
    tasks: dict[str, SuiteTask]
    algorithms: tuple[str, ...]
    """Those that `benchmark run` trains unless you name others."""
    seeds: tuple[int, ...] = (1, 2, 3, 4, 5)
    points: int = 20
    """Points of a learning curve after the untrained policy."""
    curve_games: int = 2_000
    """Games at each point, at tables of `expert`."""
    final_games: int = 20_000
    """Games where a budget is spent, at tables of each yardstick."""
    cross_games: int = 500
    """Games of each pair of runs in cross-play."""
    exploiters: int = 2
    """Learners that train against each final policy."""
    exploiter_decisions: int = 2_000_000
    """Decisions that each of them learns from."""
    calibration_seconds: float = 5.0
    """How long the speed of the machine is measured before each run."""


_FULL = Budget(10_000_000, 600.0, 2_400.0)
_TINY = Budget(1_000_000, 120.0, 480.0)
_MEMORY = NetworkConfig(kind="history", history=32)

SUITES = {
    "smoke": Suite(
        version=1,
        tasks={
            "tiny-2": SuiteTask("tiny-2", Budget(8_000, 0.2, 20.0), NetworkConfig(width=32), exact_every=2),
            "small-2": SuiteTask("small-2", Budget(8_000, 0.2, 20.0), NetworkConfig(width=32)),
        },
        algorithms=("ppo", "dqn"),
        seeds=(1, 2),
        points=2,
        curve_games=40,
        final_games=80,
        cross_games=40,
        exploiter_decisions=8_000,
        calibration_seconds=0.1,
    ),
    "core": Suite(
        version=1,
        tasks={
            "tiny-2": SuiteTask("tiny-2", _TINY, exact_every=1),
            "small-2": SuiteTask("small-2", _FULL),
            "full-2": SuiteTask("full-2", _FULL),
            "full-4": SuiteTask("full-4", _FULL),
        },
        algorithms=tuple(LEARNERS),
    ),
    "long": Suite(
        version=1,
        tasks={
            "full-8": SuiteTask("full-8", _FULL),
            "full-2-memory": SuiteTask("full-2", _FULL, _MEMORY),
        },
        algorithms=("ppo",),
        seeds=(1, 2, 3),
    ),
}
"""By name. smoke: checks in a minute that everything runs. core: what is published. long: more players, and memory."""


def find_suite(name: str) -> Suite:
    """A suite by its name; ValueError for an unknown one."""
    if name not in SUITES:
        raise ValueError(f"no such suite: {name!r}; there are {', '.join(SUITES)}{did_you_mean(name, SUITES)}")
    return SUITES[name]
