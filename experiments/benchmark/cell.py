"""A cell of the benchmark: one run of one algorithm on one task, measured along its way and where its budgets end.

The folder of a cell is that of a training run, `SUITE/TASK/ALGORITHM/SEED`. You can kill a cell at any time: it
continues from its last checkpoint, and what it measured after that is measured again.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch

import uno_flex_env
from agents import checkpoint
from agents.atomic import write_whole
from agents.folder_lock import locked
from agents.json_text import read_json
from agents.network_policy import NetworkPolicy
from agents.policy import Policy
from agents.policy_factory import make_policy
from experiments.benchmark.calibration import Machine, calibrate
from experiments.benchmark.run_scores import EXPERT
from experiments.benchmark.suites import Suite, SuiteTask, find_suite
from experiments.benchmark.tables import make_table, read_table, write_table
from experiments.benchmark.tuned import tuned_settings
from experiments.benchmark.yardsticks import (
    CURVE_DEALS,
    FINAL_DEALS,
    YARDSTICKS,
    exact,
    greedy_copy,
    win_rates,
)
from experiments.training.checkpoint_file import CHECKPOINT
from experiments.training.train_config import CONFIG, TrainConfig
from experiments.training.trainer import Trainer

CELL = "cell.json"
"""The file of a finished cell: what it was made for, and how it ended."""

ALL_YARDSTICKS = "yardsticks"
"""The cell in which the yardsticks play each other. In the tables each is an algorithm that has not learned."""

CHECKPOINT_SECONDS = 120.0

Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """A cell, by its names."""

    suite: str
    task: str
    algorithm: str
    """A learner, or `ALL_YARDSTICKS` with the seed 0."""
    seed: int
    runs: Path
    """The folder of all suites."""

    @property
    def folder(self) -> Path:
        """Where its results go. The colon of module:Class is written as "-"."""
        return self.runs / self.suite / self.task / self.algorithm.replace(":", "-") / str(self.seed)

    @property
    def plan(self) -> Suite:
        """The suite."""
        return find_suite(self.suite)

    @property
    def suite_task(self) -> SuiteTask:
        """The task in this suite."""
        return self.plan.tasks[self.task]

    @property
    def about(self) -> Row:
        """The columns that name the cell in the tables."""
        names = {"suite": self.suite, "suite_version": self.plan.version, "task": self.task}
        return names | {"algorithm": self.algorithm, "seed": self.seed}

    def __str__(self) -> str:
        return f"{self.task} {self.algorithm} {self.seed}"

    def is_done(self) -> bool:
        """Whether the cell is finished.

        Raises:
            ValueError: it was made by another version of this package or of the suite.
        """
        path = self.folder / CELL
        if not path.is_file():
            return False
        found = read_json(path)
        for name, now in _made_for(self).items():
            if not isinstance(found, dict) or found.get(name) != now:
                was = found.get(name) if isinstance(found, dict) else None
                raise ValueError(f"{self.folder} was made with {name} {was!r}, now it is {now!r}: move the folder away")
        return True

    def run(self) -> None:
        """Run the cell to its end, or continue it.

        Raises:
            ValueError: another process is at work in its folder, or the folder holds a run with other settings.
        """
        torch.set_num_threads(1)
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder):
            if self.is_done():
                return
            if self.algorithm == ALL_YARDSTICKS:
                _measure_yardsticks(self)
            else:
                _CellRun(self).run()

    def summary(self) -> str:
        """A line about the result, when the cell is done."""
        if self.algorithm == ALL_YARDSTICKS:
            return "have played each other"
        about, rows = read_json(self.folder / CELL), read_table(self.folder, "runs").to_pylist()
        *_, last = [row for row in rows if row["at"] == "curve"]
        state = f"diverged ({about['diverged']}), " if about.get("diverged") else ""
        wins = f"{100 * last['wins']:.1f} % against {last['opponent']}"
        return f"{state}{last['decisions']:,} decisions in {last['cpu_seconds']:.0f} s, {wins}"


def train_config(cell: Cell) -> TrainConfig:
    """The settings of a cell's run: those that tuning found for its algorithm, in the games of its task."""
    task, settings = cell.suite_task, tuned_settings(cell.algorithm)
    options = task.options
    max_decisions = None if task.network.events else options.max_decisions
    game = replace(
        settings.game, players=(options.num_players,), rules=options.rules, reward="win", max_decisions=max_decisions
    )
    return replace(
        settings,
        name=str(cell.seed),
        runs=cell.folder.parent,
        seed=cell.seed,
        learner=cell.algorithm,
        decisions=task.budget.decisions,
        game=game,
        network=task.network,
        baselines=(EXPERT,),
        device="cpu",
        num_threads=1,
    )


def _made_for(cell: Cell) -> Row:
    """What must not change between two processes that work on a cell."""
    return {"suite_version": cell.plan.version, "package_version": uno_flex_env.__version__}


def _finish(cell: Cell, **about: Any) -> None:
    """Write the file that says that a cell is done."""
    write_whole(cell.folder / CELL, json.dumps(cell.about | _made_for(cell) | about, indent=1).encode() + b"\n")


def _measure_yardsticks(cell: Cell) -> None:
    run: Row = {"point": 0, "at": "curve", "decisions": 0, "wall_seconds": 0.0, "cpu_seconds": 0.0, "parameters": 0}
    rows, deals, machine = [], [], calibrate(cell.plan.calibration_seconds)
    for name in YARDSTICKS:
        about, policy = cell.about | {"algorithm": name}, make_policy(name)
        run["exploitability"] = exact(policy, cell.suite_task) if cell.suite_task.exact_every else None
        for row, deal in win_rates(policy, cell.suite_task, YARDSTICKS, cell.plan.final_games, FINAL_DEALS):
            rows.append(about | run | row | process_columns(machine))
            deals.append(about | {"at": "decisions"} | deal)
    _write(cell.folder, rows, deals)
    _finish(cell)


def process_columns(machine: Machine) -> Row:
    """The columns about the process and the machine."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << (20 if sys.platform == "darwin" else 10))
    versions = {"package_version": uno_flex_env.__version__, "torch_version": torch.__version__}
    return asdict(machine) | versions | {"peak_memory_mib": peak}


def _write(folder: Path, rows: Sequence[Mapping[str, Any]], deals: Sequence[Mapping[str, Any]]) -> None:
    write_table(folder, "runs", make_table("runs", rows))
    write_table(folder, "deals", make_table("deals", deals))


class _CellRun:
    """The run of a cell and what has been measured in it."""

    def __init__(self, cell: Cell) -> None:
        self.cell, self.suite, self.task = cell, cell.plan, cell.suite_task
        config, folder = train_config(cell), cell.folder
        self.trainer = Trainer(config, folder, 1)
        self.rows: list[Row] = []
        self.deals: list[Row] = []
        self.machine = calibrate(cell.plan.calibration_seconds)
        if (folder / CHECKPOINT).is_file():
            self.trainer.restore()
            self._recall()
        else:
            write_whole(folder / CONFIG, json.dumps(config.to_dict() | {"made_by": {}}, indent=2).encode() + b"\n")

    def _recall(self) -> None:
        """Take up the rows that were measured before the checkpoint."""
        for name, rows in (("runs", self.rows), ("deals", self.deals)):
            found: pa.Table = read_table(self.cell.folder, name)
            rows.extend(found.to_pylist())
        self.rows = [row for row in self.rows if row["decisions"] <= self.trainer.decisions]
        ends = {row["at"] for row in self.rows}
        self.deals = [row for row in self.deals if row["at"] in ends]

    @property
    def spent(self) -> tuple[int, float]:
        """Decisions and processor seconds so far."""
        return self.trainer.decisions, self.trainer.seconds["processor"]

    def run(self) -> None:
        """Learn until the budgets are spent."""
        diverged, saved = "", time.monotonic()
        self._measure_due()
        while self.task.budget.share(*self.spent) < 1.0 and not diverged:
            try:
                self.trainer.step()
            except FloatingPointError as error:
                diverged = str(error)
            if self._measure_due(end=bool(diverged)) or time.monotonic() - saved > CHECKPOINT_SECONDS:
                self._save()
                saved = time.monotonic()
        self._save()
        _finish(self.cell, diverged=diverged)
        (self.cell.folder / CHECKPOINT).unlink()  # a replay buffer is large, and the run is over

    def _measure_due(self, end: bool = False) -> bool:
        """Measure what is due at this place of the run; return whether anything was. `end`: the run ends here."""
        share = 1.0 if end else self.task.budget.share(*self.spent)
        point = int(share * self.suite.points)
        due = not any(row["at"] == "curve" and row["point"] >= point for row in self.rows)
        ends = [
            at
            for at in ("decisions", "seconds")
            if (end or self.task.budget.spent(at, *self.spent)) and not any(row["at"] == at for row in self.rows)
        ]
        if not due and not ends:
            return False
        began, policy = time.perf_counter(), self.trainer.learner.policy()
        if due:
            self._add("curve", point, policy)
        if ends:
            self._add_ends(ends, policy)
        self.trainer.seconds["measuring"] += time.perf_counter() - began
        return True

    def _add_ends(self, ends: Sequence[str], policy: Policy) -> None:
        """Measure the policy with many games, once for all budgets that end here; keep it in a file for each."""
        first, *others = ends
        self._add(first, self.suite.points, policy)
        if (greedy := greedy_copy(policy)) is not None:
            self._add(first, self.suite.points, greedy, greedy=True)
        for rows in (self.rows, self.deals):
            rows.extend([row | {"at": at} for at in others for row in rows if row["at"] == first])
        for at in ends:
            file = policy_file(self.cell.folder, at)
            file.parent.mkdir(exist_ok=True)
            self.trainer.save_policy(file)

    def _add(self, at: str, point: int, policy: Policy, *, greedy: bool = False) -> None:
        """Measure a policy and add its rows: at the points of the curve at tables of `expert`, where a budget ends at
        those of all yardsticks."""
        curve = at == "curve"
        opponents = (EXPERT,) if curve else YARDSTICKS
        games, deal_seed = (self.suite.curve_games, CURVE_DEALS) if curve else (self.suite.final_games, FINAL_DEALS)
        every = self.task.exact_every
        decisions, processor = self.spent
        run = {"point": point, "at": at, "decisions": decisions, "wall_seconds": self.trainer.seconds["training"]}
        run |= {"exploitability": exact(policy, self.task) if every and point % every == 0 else None}
        run |= {"cpu_seconds": processor, "parameters": parameters(policy)}
        for row, deals in win_rates(policy, self.task, opponents, games, deal_seed, greedy=greedy):
            self.rows.append(self.cell.about | run | row | process_columns(self.machine))
            if not curve:
                self.deals.append(self.cell.about | {"at": at} | deals)

    def _save(self) -> None:
        """Write the measurements, then the checkpoint: what was measured after a checkpoint is measured again."""
        _write(self.cell.folder, self.rows, self.deals)
        self.trainer.save()


def parameters(policy: Policy) -> int:
    """The number of weights of a policy's network; 0 for another policy."""
    return sum(part.numel() for part in policy.network.parameters()) if isinstance(policy, NetworkPolicy) else 0


def policy_file(folder: Path, at: str) -> Path:
    """The network of a cell at the end of the budget `decisions` or `seconds`."""
    return folder / at / checkpoint.POLICY
