"""Cross-play: the final policies of finished cells play each other, run against run."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import torch

from agents.folder_lock import locked
from agents.match.results import Rate
from agents.match.runner import duel
from experiments.benchmark.cell import ALL_YARDSTICKS, Cell, policy_file
from experiments.benchmark.tables import make_table, read_table, write_table
from experiments.benchmark.yardsticks import CROSS_DEALS

AT = "decisions"
"""The budget at whose end the policies are taken."""

Row = dict[str, Any]


@dataclass(frozen=True)
class CrossPair:
    """All matches between the runs of two algorithms on one task: see `experiments.benchmark.job_runner.Job`."""

    ones: tuple[Cell, ...]
    others: tuple[Cell, ...]
    """The runs of the other algorithm, or of the same one."""

    def __str__(self) -> str:
        return f"{self.ones[0].task} {self.ones[0].algorithm} and {self.others[0].algorithm}"

    @property
    def folder(self) -> Path:
        """Where its rows are."""
        one, other = (cells[0].folder.parent for cells in (self.ones, self.others))
        return one.parent / "cross" / f"{one.name}-{other.name}"

    def is_done(self) -> bool:
        """Whether all runs have met."""
        return not self._missing()

    def rows(self) -> list[Row]:
        """What has been played so far."""
        if not (self.folder / "cross.parquet").is_file():
            return []
        found: list[Row] = read_table(self.folder, "cross").to_pylist()
        return found

    def _missing(self) -> list[tuple[Cell, Cell]]:
        """Pairs of runs that have not met."""
        met = {(row["algorithm"], row["seed"], row["other_algorithm"], row["other_seed"]) for row in self.rows()}
        pairs = [(one, other) for one in self.ones for other in self.others if one != other]
        return [pair for pair in pairs if _names(*pair) not in met]

    def run(self) -> None:
        """Play the matches that are missing."""
        torch.set_num_threads(1)
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder):
            rows = self.rows()
            while missing := self._missing():
                rows += play(*missing[0])
                write_table(self.folder, "cross", make_table("cross", rows))

    def summary(self) -> str:
        """The mean win rate."""
        rows = [row["wins"] for row in self.rows() if row["algorithm"] == self.ones[0].algorithm]
        return f"{100 * sum(rows) / len(rows):.1f} % in {len(rows)} pairs of runs"


def _names(one: Cell, other: Cell) -> tuple[str, int, str, int]:
    return one.algorithm, one.seed, other.algorithm, other.seed


def play(one: Cell, other: Cell) -> list[Row]:
    """One seat of a run's policy at tables of another's: a row; at two players also the row of the other side."""
    options, games = one.suite_task.options, one.plan.cross_games
    match = duel(
        str(policy_file(one.folder, AT)),
        str(policy_file(other.folder, AT)),
        options.num_players,
        games=games,
        seed=CROSS_DEALS,
        rules=options.rules,
        max_decisions=options.max_decisions,
    )

    def row(one: Cell, other: Cell, rate: Rate) -> Row:
        about = one.about | {"other_algorithm": other.algorithm, "other_seed": other.seed, "at": AT}
        rates = {"games": match.num_games, "wins": rate.mean, "low": rate.low, "high": rate.high}
        return about | {"players": options.num_players} | rates

    rows = [row(one, other, match.rate(0))]
    return rows if options.num_players > 2 else [*rows, row(other, one, match.rate(1))]


def cross_pairs(cells: list[Cell]) -> list[CrossPair]:
    """The matches between all algorithms of each task; at more than two players both ways round."""
    pairs = []
    for task in dict.fromkeys(cell.task for cell in cells):
        learned = [cell for cell in cells if cell.task == task and cell.algorithm != ALL_YARDSTICKS]
        by_algorithm = {
            name: tuple(cell for cell in learned if cell.algorithm == name)
            for name in dict.fromkeys(cell.algorithm for cell in learned)
        }
        for one, other in combinations_with_replacement(by_algorithm, 2):
            pairs.append(CrossPair(by_algorithm[one], by_algorithm[other]))
            if one != other and learned[0].suite_task.options.num_players > 2:
                pairs.append(CrossPair(by_algorithm[other], by_algorithm[one]))
    return pairs
