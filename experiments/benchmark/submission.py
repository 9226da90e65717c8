"""Entries of the leaderboard: a folder with a policy, its card, and the win rates that it claims.

    NAME/card.json           who made it, and how
    NAME/policy.safetensors  the network, or policy.onnx
    NAME/runs.parquet        its rows of the table `runs`, at the end of its budget
    NAME/checked.parquet     the same rows, measured again by `benchmark check`

Nothing in such a folder is run as code.
"""

from __future__ import annotations

import json
from dataclasses import MISSING, asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from agents.atomic import write_new_folder
from agents.checkpoint import find_policy
from agents.json_text import read_json
from agents.policy import Policy
from agents.policy_factory import make_policy
from agents.policy_spec import PolicySpec
from experiments.benchmark.calibration import calibrate
from experiments.benchmark.cell import CELL, parameters, process_columns
from experiments.benchmark.suites import Suite, find_suite
from experiments.benchmark.tables import make_table, read_table, table_bytes, write_table
from experiments.benchmark.yardsticks import FINAL_DEALS, YARDSTICKS, exact, win_rates
from experiments.settings import check_folder_name, from_table
from uno_flex_env.errors import did_you_mean

CARD, RUNS, CHECKED = "card.json", "runs", "checked"
POLICIES = {"network": "policy.safetensors", "onnx": "policy.onnx"}
"""The file of a policy by its kind."""

SUITE = "core"
"""The suite whose tasks and yardsticks the leaderboard has."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Card:
    """What an entry says about itself."""

    name: str
    """The name of the entry and of its folder."""
    author: str
    task: str
    """The task of the suite that it plays."""
    algorithm: str
    """How it was trained, in a few words."""
    description: str = ""
    decisions: int = 0
    """From how many decisions it has learned; 0 if that is not known."""
    greedy: bool = False
    """Whether it always takes its most probable action."""
    suite_version: int = 1
    """The version of the suite that its rows are from."""

    def __post_init__(self) -> None:
        check_folder_name(self.name)
        for name in ("author", "algorithm"):
            if not getattr(self, name).strip():
                raise ValueError(f"{name} must not be empty")
        if self.decisions < 0:
            raise ValueError(f"decisions must be at least 0, got {self.decisions}")
        tasks, now = find_suite(SUITE).tasks, find_suite(SUITE).version
        if self.task not in tasks:
            raise ValueError(
                f"no such task: {self.task!r}; there are {', '.join(tasks)}{did_you_mean(self.task, tasks)}"
            )
        if self.suite_version != now:
            raise ValueError(f"suite_version must be {now}, got {self.suite_version}: measure the policy again")


NEEDED = tuple(each.name for each in fields(Card) if each.default is MISSING)


@dataclass(frozen=True)
class Entry:
    """An entry in its folder."""

    folder: Path
    card: Card

    @classmethod
    def read(cls, folder: Path) -> Entry:
        """The entry in a folder.

        Raises:
            OSError: there is no card, policy or table.
            ValueError: the card or the table is wrong; the message names the file.
        """
        path = folder / CARD
        table = read_json(path)
        if not isinstance(table, dict):
            raise ValueError(f"{path} must hold a JSON object")
        try:
            for name in NEEDED:
                if name not in table:
                    raise ValueError(f"{name} is missing")
            card: Card = from_table(Card, table)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None
        if card.name != folder.resolve().name:
            raise ValueError(f"{path}: name is {card.name!r}, but the folder is called {folder.resolve().name!r}")
        entry = cls(folder, card)
        for name in (RUNS, CHECKED):
            if name == RUNS or (folder / f"{name}.parquet").is_file():
                entry.rows(name)
        return entry

    def rows(self, name: str = RUNS) -> dict[str, Row]:
        """The claimed rows, or those that were measured again, by yardstick."""
        table = read_table(self.folder, "runs", file=name)
        rows = {row["opponent"]: row for row in table.to_pylist()}
        if sorted(rows) != sorted(YARDSTICKS) or len(rows) != table.num_rows:
            raise ValueError(f"{self.folder}/{name}.parquet must have one row for each of {', '.join(YARDSTICKS)}")
        for row in rows.values():
            about = row["suite"], row["task"], row["suite_version"]
            if about != (SUITE, self.card.task, self.card.suite_version):
                raise ValueError(f"{self.folder}/{name}.parquet has a row of {about}, and the card is of another task")
        return rows

    @property
    def is_checked(self) -> bool:
        """Whether it was measured again."""
        return (self.folder / f"{CHECKED}.parquet").is_file()

    def policy(self) -> Policy:
        """Its policy; FileNotFoundError if there is none."""
        for file in POLICIES.values():
            if (self.folder / file).is_file():
                return _load(self.folder / file, greedy=self.card.greedy)
        raise FileNotFoundError(f"{self.folder} has neither {' nor '.join(POLICIES.values())}")

    def check(self) -> list[tuple[Row, Row]]:
        """Measure the policy again, on the deals of all final results, and write the rows; the claimed and the measured
        row of each yardstick."""
        suite = find_suite(SUITE)
        measured = make_table("runs", measure(self.policy(), self.card, suite))
        write_table(self.folder, "runs", measured, file=CHECKED)
        claimed, found = self.rows(RUNS), self.rows(CHECKED)
        return [(claimed[name], found[name]) for name in YARDSTICKS]


def _load(file: Path, *, greedy: bool) -> Policy:
    """The policy in a file of one of the kinds of `POLICIES`."""
    kind = "onnx:" if file.suffix == ".onnx" else ""
    return make_policy(f"{kind}{file}{':greedy' if greedy else ''}")


def agrees(claimed: Row, measured: Row) -> bool:
    """Whether the measured win rate lies within the claimed interval. On one machine the two are equal: the deals and
    the random numbers are the same. Processors differ in the last digits of a network's outputs."""
    return bool(claimed["low"] <= measured["wins"] <= claimed["high"])


def measure(policy: Policy, card: Card, suite: Suite) -> list[Row]:
    """The rows of a policy at tables of all yardsticks."""
    task = suite.tasks[card.task]
    about = {"suite": SUITE, "suite_version": suite.version, "task": card.task, "algorithm": card.name, "seed": 0}
    about |= {"point": suite.points, "at": "decisions", "decisions": card.decisions}
    about |= {"wall_seconds": 0.0, "cpu_seconds": 0.0, "parameters": parameters(policy)}
    about |= {"exploitability": exact(policy, task) if task.exact_every else None}
    machine = calibrate(suite.calibration_seconds)
    return [
        about | row | process_columns(machine)
        for row, _ in win_rates(policy, task, YARDSTICKS, suite.final_games, FINAL_DEALS, greedy=card.greedy)
    ]


def submit(policy: str, card: Card, to: Path) -> Entry:
    """Pack a policy with its rows; return its entry in a new folder.

    Args:
        policy: the folder of a finished cell, whose rows are taken; or the name of another network or of an ONNX file,
            which is measured now.
        card: what is said about it. `greedy` is taken from the name of the policy.
        to: the folder of the entries.

    Raises:
        ValueError: the policy is of another kind, the cell is of another task, or there is an entry of this name.
    """
    spec = PolicySpec.parse(policy)
    if spec.kind not in POLICIES:
        raise ValueError(f"an entry is a network or onnx:FILE, got {policy!r}")
    if (to / card.name).exists():
        raise ValueError(f"{to} has an entry {card.name!r} already; choose another name")
    card = replace(card, greedy=spec.greedy)
    make_policy(policy)  # or it says why there is none
    file = find_policy(spec.name) if spec.kind == "network" else Path(spec.name)
    assert file is not None
    made = _load(file, greedy=spec.greedy)  # not by the name of a yardstick, which would not play itself
    cell = Path(spec.name)
    rows = _rows_of_cell(cell, card) if (cell / CELL).is_file() else measure(made, card, find_suite(SUITE))
    files = {
        CARD: json.dumps(asdict(card), indent=1).encode() + b"\n",
        POLICIES[spec.kind]: file.read_bytes(),
        f"{RUNS}.parquet": table_bytes("runs", make_table("runs", rows)),
    }
    return Entry.read(write_new_folder(to, card.name, files))


def _rows_of_cell(folder: Path, card: Card) -> list[Row]:
    """The rows of a cell at the end of its budget of decisions."""
    rows: list[Row] = (
        read_table(folder, "runs")
        .filter((pc.field("at") == "decisions") & (pc.field("greedy") == card.greedy))
        .to_pylist()
    )
    for row in rows:
        if (row["suite"], row["task"]) != (SUITE, card.task):
            raise ValueError(
                f"{folder} is a run of {row['task']} of the suite {row['suite']}, the card says {card.task}"
            )
    return rows
