"""Tuning, equal for all algorithms: random settings from a declared space, then the best of them with several seeds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch

import uno_flex_env
from agents.atomic import write_whole
from agents.folder_lock import locked
from agents.json_text import read_json
from experiments.benchmark.run_scores import EXPERT
from experiments.benchmark.suites import Budget, SuiteTask
from experiments.benchmark.tuned import DEFAULT_GAME
from experiments.benchmark.yardsticks import TUNING_DEALS, win_rates
from experiments.training.checkpoint_file import CHECKPOINT
from experiments.training.train_config import TrainConfig
from experiments.training.trainer import Trainer
from uno_flex_env.errors import did_you_mean
from uno_flex_env.seeding import derived_seed

TASK = SuiteTask("full-2", Budget(2_000_000, 0.0, 0.0))
"""What all algorithms are tuned on, and with how many decisions. Time does not count."""
TRIALS, FINALISTS, SEEDS = 16, 3, 3
"""Settings that are tried with one seed; how many of them are tried with other seeds, and with how many."""
GAMES = 4_000
"""Games at tables of `expert` that a trial is judged by, on deals of their own."""
RESULT = "result.json"

Knob = int | float


@dataclass(frozen=True)
class Range:
    """Real numbers, drawn evenly on a logarithmic axis."""

    low: float
    high: float

    def draw(self, rng: np.random.Generator) -> Knob:
        """A number with three digits."""
        return float(f"{exp(rng.uniform(log(self.low), log(self.high))):.3g}")


@dataclass(frozen=True)
class OneOf:
    """Values that are drawn evenly."""

    values: tuple[Knob, ...]

    def draw(self, rng: np.random.Generator) -> Knob:
        """One of the values."""
        return self.values[int(rng.integers(len(self.values)))]


Space = dict[str, Range | OneOf]

_ENVS = OneOf((128, 512, 2048))
_ON_POLICY: Space = {
    "learning_rate": Range(3e-4, 5e-3),
    "entropy_coef": Range(3e-3, 1e-1),
    "game.num_envs": _ENVS,
}
_PPO: Space = _ON_POLICY | {
    "gae_lambda": OneOf((0.8, 0.9, 0.95, 1.0)),
    "update_epochs": OneOf((1, 2, 4)),
    "minibatch_size": OneOf((512, 1024, 2048, 4096)),
}
_OFF_POLICY: Space = {
    "learning_rate": Range(2e-4, 4e-3),
    "minibatch_size": OneOf((256, 512, 1024, 2048)),
    "game.num_envs": _ENVS,
}
_EXPLORATION: Space = {"epsilon_end": Range(0.005, 0.2), "epsilon_share": OneOf((0.1, 0.3, 0.6))}

SPACES: dict[str, Space] = {
    "ppo": _PPO,
    "mmd": _PPO | {"magnet_coef": Range(3e-3, 3e-1)},
    "ppo_league": _PPO,
    "a2c": _ON_POLICY
    | {"n_step": OneOf((5, 10, 20)), "max_grad_norm": OneOf((0.5, 2.0)), "value_coef": OneOf((0.25, 0.5, 1.0))},
    "ppg": _ON_POLICY
    | {"update_epochs": OneOf((1, 2)), "minibatch_size": OneOf((512, 1024, 2048, 4096))}
    | {"n_pi": OneOf((4, 8, 16)), "aux_epochs": OneOf((1, 3, 6))},
    "dqn": _OFF_POLICY
    | _EXPLORATION
    | {"gamma": OneOf((0.9, 0.95, 0.97, 0.99)), "target_every": OneOf((100, 250, 1000))},
    "nfsp": _OFF_POLICY
    | {"anticipatory": OneOf((0.1, 0.2, 0.4)), "reservoir_ratio": OneOf((0.25, 0.5, 1.0))}
    | {"dqn.learning_rate": Range(2e-4, 4e-3), "dqn.epsilon_end": Range(0.005, 0.2)},
    "dmc": _OFF_POLICY | _EXPLORATION | {"update_epochs": OneOf((1, 2))},
    "rnad": _OFF_POLICY
    | {"eta": Range(0.02, 0.5), "iteration": OneOf((200_000, 500_000, 1_000_000)), "target_rate": Range(1e-3, 1e-1)}
    | {"max_weight": OneOf((5.0, 20.0, 100.0))},
    "maskable_ppo": {
        "learning_rate": Range(3e-4, 5e-3),
        "ent_coef": Range(3e-3, 1e-1),
        "gae_lambda": OneOf((0.8, 0.9, 0.95, 1.0)),
        "n_epochs": OneOf((1, 2, 4)),
        "batch_size": OneOf((512, 1024, 2048, 4096)),
        "game.num_envs": _ENVS,
    },
}
"""The knobs of each algorithm. One without a dot is a setting of the learner itself."""


@dataclass(frozen=True)
class Trial:
    """One setting with one seed: see `experiments.benchmark.job_runner.Job`."""

    algorithm: str
    number: int
    """Which setting: 0 is that of the defaults, the others are drawn."""
    stage: int
    """0 for all settings, 1 for the finalists."""
    seed: int
    folder: Path
    """Its own folder."""

    def __str__(self) -> str:
        return f"tuning {self.algorithm} {self.number}, stage {self.stage}, seed {self.seed}"

    @property
    def knobs(self) -> dict[str, Knob]:
        """The setting."""
        return knobs(self.algorithm, self.number)

    def config(self) -> TrainConfig:
        """The settings of its run."""
        return replace(
            trial_config(self.algorithm, self.knobs),
            seed=derived_seed(self.stage, self.seed) >> 1,  # a run's seed has 63 bits
            name=self.folder.name,
            runs=self.folder.parent,
        )

    def _about(self) -> dict[str, Any]:
        about = {"package_version": uno_flex_env.__version__, "knobs": self.knobs, "decisions": TASK.budget.decisions}
        return json.loads(json.dumps(about))  # type: ignore[no-any-return]

    def is_done(self) -> bool:
        """Whether it has a result; ValueError if that is of another setting or version."""
        path = self.folder / RESULT
        if not path.is_file():
            return False
        found = read_json(path)
        for name, now in self._about().items():
            if not isinstance(found, dict) or found.get(name) != now:
                was = found.get(name) if isinstance(found, dict) else None
                raise ValueError(f"{self.folder} was made with {name} {was!r}, now it is {now!r}: move the folder away")
        return True

    def run(self) -> None:
        """Learn from `TASK.budget.decisions` decisions and play."""
        torch.set_num_threads(1)
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder):
            if self.is_done():
                return
            trainer = Trainer(self.config(), self.folder, 1)
            if (self.folder / CHECKPOINT).is_file():
                trainer.restore()
            diverged, saved = "", trainer.seconds["training"]
            while not trainer.is_done and not diverged:
                try:
                    trainer.step()
                except FloatingPointError as error:
                    diverged = str(error)
                if trainer.seconds["training"] - saved > 60.0:
                    trainer.save()
                    saved = trainer.seconds["training"]
            ((row, _),) = win_rates(trainer.learner.policy(), TASK, [EXPERT], GAMES, TUNING_DEALS)
            result = self._about() | {"score": row["wins"], "diverged": diverged, "seconds": trainer.seconds}
            write_whole(self.folder / RESULT, json.dumps(result, indent=1).encode() + b"\n")
            (self.folder / CHECKPOINT).unlink(missing_ok=True)

    @property
    def score(self) -> float:
        """The win rate at tables of `expert`, when it is done."""
        return float(read_json(self.folder / RESULT)["score"])

    def summary(self) -> str:
        """A line about the result, when it is done."""
        return f"{100 * self.score:.1f} % against {EXPERT} with {self.knobs or 'the defaults'}"

    def row(self) -> dict[str, Any]:
        """Its row of the table `tuning`, when it is done."""
        about = {"suite": "tuning", "suite_version": 1, "task": TASK.game, "algorithm": self.algorithm}
        about |= {"trial": self.number, "stage": self.stage, "seed": self.seed, "score": self.score}
        return about | {"knobs": json.dumps(self.knobs), "decisions": TASK.budget.decisions}


def check_algorithms(algorithms: Sequence[str]) -> None:
    """ValueError unless all algorithms have a declared space."""
    for name in algorithms:
        if name not in SPACES:
            near = did_you_mean(name, SPACES)
            raise ValueError(f"no space is declared for the algorithm {name!r}; there are {', '.join(SPACES)}{near}")


def knobs(algorithm: str, number: int) -> dict[str, Knob]:
    """The setting with this number. Settings of two algorithms are drawn alike, as far as their knobs agree."""
    if number == 0:
        return {}
    space = SPACES[algorithm]
    return {name: space[name].draw(np.random.default_rng([number, *name.encode()])) for name in sorted(space)}


def trial_config(algorithm: str, chosen: Mapping[str, Knob]) -> TrainConfig:
    """The defaults of an algorithm with other knobs, in the games of the task."""
    options = TASK.options
    config = TrainConfig(
        learner=algorithm,
        decisions=TASK.budget.decisions,
        game=replace(DEFAULT_GAME, players=(options.num_players,), max_decisions=options.max_decisions),
        network=TASK.network,
        baselines=(EXPERT,),
        device="cpu",
        num_threads=1,
    )
    for name, value in chosen.items():
        config = _with(config, _path(algorithm, name), value)
    return config


def _path(algorithm: str, name: str) -> list[str]:
    """Where in the settings of a run a knob is."""
    return name.split(".") if name.startswith("game.") else [algorithm, *name.split(".")]


def _with(config: Any, path: Sequence[str], value: Knob) -> Any:
    """A copy of a dataclass with another value at this place."""
    name, *rest = path
    return replace(config, **{name: _with(getattr(config, name), rest, value) if rest else value})


def first_trials(algorithm: str, folder: Path) -> list[Trial]:
    """A trial of each setting."""
    return [Trial(algorithm, n, 0, 1, folder / algorithm / f"{n}-first") for n in range(TRIALS)]


def final_trials(algorithm: str, folder: Path) -> list[Trial]:
    """The trials of the best settings with other seeds, once the first trials are done."""
    ranked = sorted(first_trials(algorithm, folder), key=lambda trial: -trial.score)
    return [
        Trial(algorithm, trial.number, 1, seed, folder / algorithm / f"{trial.number}-seed-{seed}")
        for trial in ranked[:FINALISTS]
        for seed in range(1, SEEDS + 1)
    ]


def finished_trials(algorithm: str, folder: Path) -> list[Trial]:
    """All trials that are done."""
    first = first_trials(algorithm, folder)
    done = [trial for trial in first if trial.is_done()]
    if len(done) == len(first):
        done += [trial for trial in final_trials(algorithm, folder) if trial.is_done()]
    return done


def best_knobs(algorithm: str, folder: Path) -> dict[str, Knob]:
    """The setting with the best mean of its final trials, once these are done."""
    trials = final_trials(algorithm, folder)
    numbers = {trial.number for trial in trials}
    means = {n: fmean(trial.score for trial in trials if trial.number == n) for n in numbers}
    return knobs(algorithm, max(means, key=lambda n: means[n]))


def tuned_file(algorithm: str, chosen: Mapping[str, Knob]) -> str:
    """The settings as the text of a file for `--config`."""
    game = trial_config(algorithm, chosen).game
    tables: dict[str, dict[str, Knob]] = {"game": {"num_envs": game.num_envs, "num_steps": game.num_steps}}
    for name, value in chosen.items():
        *path, last = _path(algorithm, name)
        tables.setdefault(".".join(path), {})[last] = value
    lines = [
        f"# Found by `python -m experiments benchmark tune --algorithms {algorithm}`; docs/benchmark has all trials."
    ]
    lines.append(f'learner = "{algorithm}"')
    for table, values in tables.items():
        lines += ["", f"[{table}]", *(f"{name} = {value}" for name, value in values.items())]
    return "\n".join(lines) + "\n"
