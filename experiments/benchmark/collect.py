"""Collects the rows of finished cells, cross-play, exploiters and tuning into the published tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from experiments.benchmark.cross_play import cross_pairs
from experiments.benchmark.exploiter_runs import exploiter_runs
from experiments.benchmark.suite_cells import finished_cells
from experiments.benchmark.tables import KEYS, SCHEMAS, make_table, read_table
from experiments.benchmark.tuning import SPACES, finished_trials

TUNING = "tuning"
"""The folder of the trials, beside those of the suites."""


def collect(suite: str, runs: Path) -> dict[str, pa.Table]:
    """All tables of a suite's finished cells; tables without rows are left out.

    Raises:
        ValueError: no cell is finished, or a cell was made by another version of this package or of the suite.
    """
    cells = finished_cells(suite, runs)
    exploited = [run.row() for run in exploiter_runs(cells) if run.is_done()]
    tried = [trial.row() for name in SPACES for trial in finished_trials(name, runs / TUNING)]
    found = {
        "runs": pa.concat_tables([read_table(cell.folder, "runs") for cell in cells]),
        "deals": pa.concat_tables([read_table(cell.folder, "deals") for cell in cells]),
        "cross": make_table("cross", [row for pair in cross_pairs(cells) for row in pair.rows()]),
        "exploiters": make_table("exploiters", exploited),
        "tuning": make_table("tuning", tried),
    }
    return {name: table for name, table in found.items() if table.num_rows}


def merged(found: dict[str, pa.Table], published: Path) -> dict[str, pa.Table]:
    """The rows that have been found and those that are published already; where both have a row, the found one counts.

    Raises:
        ValueError: a published table is damaged, or has rows of another version of the suite.
    """
    tables = {}
    for name in SCHEMAS:
        parts = [found[name]] if name in found else []
        if (published / f"{name}.parquet").is_file():
            before = read_table(published, name)
            new = set(_keys(found[name], name)) if name in found else set()
            parts.append(before.filter(pa.array([key not in new for key in _keys(before, name)], pa.bool_())))
        if parts:
            tables[name] = sorted_rows(pa.concat_tables(parts), name)
    return tables


def sorted_rows(table: pa.Table, name: str) -> pa.Table:
    """The rows in the order of their keys, so that the same rows make the same file."""
    return table.take(pc.sort_indices(table, [(key, "ascending") for key in KEYS[name]]))


def _keys(table: pa.Table, name: str) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in table.select(list(KEYS[name])).to_pylist()]


def of_suite(tables: dict[str, pa.Table], suite: str) -> dict[str, pa.Table]:
    """The rows of one suite; those of tuning belong to all."""
    return {
        name: table if name == "tuning" else table.filter(pc.field("suite") == suite) for name, table in tables.items()
    }
