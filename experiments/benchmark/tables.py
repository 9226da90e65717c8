"""The tables that hold the results of the benchmark: their columns, checks, and Parquet files.

A table is a `pyarrow.Table` and lives in the file `NAME.parquet`:

- `runs`: win rates along each run and where its budgets are spent, at tables of each yardstick.
- `deals`: the wins of each final policy, deal by deal. All policies of a task play the same deals.
- `cross`: matches between final policies.
- `exploiters`: what learners gain that train against a final policy.
- `tuning`: every setting that was tried.

A yardstick that is measured itself has rows as if it were an algorithm: seed 0, point 0, decisions 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from agents.atomic import write_whole
from uno_flex_env.errors import did_you_mean

AT = ("curve", "decisions", "seconds")
"""What a row is measured for: a point of the learning curve, the end of the budget of decisions, or of seconds."""
POINTS = 20
"""Points of a learning curve after the untrained policy, which is point 0. The last one is the end of the run."""

_TEXT, _COUNT, _SMALL, _REAL = pa.string(), pa.int64(), pa.int8(), pa.float64()


def _schema(*columns: tuple[str, pa.DataType], nullable: Sequence[str] = ()) -> pa.Schema:
    return pa.schema([pa.field(name, kind, nullable=name in nullable) for name, kind in columns])


_SUITE = (("suite", _TEXT), ("suite_version", _COUNT), ("task", _TEXT))
_RUN = (("algorithm", _TEXT), ("seed", _COUNT))
_RATE = (("games", _COUNT), ("wins", _REAL), ("low", _REAL), ("high", _REAL))

SCHEMAS = {
    "runs": _schema(
        *_SUITE,
        *_RUN,
        ("point", _SMALL),  # 0 to POINTS; POINTS where a budget ends
        ("at", _TEXT),  # one of AT
        ("decisions", _COUNT),  # learned from so far
        ("wall_seconds", _REAL),  # spent on learning so far
        ("cpu_seconds", _REAL),
        ("opponent", _TEXT),  # the yardstick in all other seats
        ("players", _SMALL),
        ("greedy", pa.bool_()),  # whether the policy takes its most probable action
        *_RATE,  # `wins` is the win rate of one seat
        ("exploitability", _REAL),  # of the policy at this point, where it can be computed
        ("parameters", _COUNT),
        ("peak_memory_mib", _REAL),
        ("machine", _TEXT),
        ("core_decisions_per_second", _REAL),  # the calibration of the machine
        ("matmul_gflops", _REAL),
        ("package_version", _TEXT),
        ("torch_version", _TEXT),
        nullable=("exploitability",),
    ),
    "deals": _schema(
        *_SUITE,
        *_RUN,
        ("at", _TEXT),  # "decisions" or "seconds"
        ("opponent", _TEXT),
        ("players", _SMALL),
        ("greedy", pa.bool_()),
        ("deal_seed", _COUNT),  # the seed of the match, which fixes the deals
        ("wins", pa.list_(pa.uint8())),  # (D,), seatings won in each deal, of `players` seatings
    ),
    "cross": _schema(
        *_SUITE, *_RUN, ("other_algorithm", _TEXT), ("other_seed", _COUNT), ("at", _TEXT), ("players", _SMALL), *_RATE
    ),  # one seat of `algorithm`, all other seats of `other_algorithm`
    "exploiters": _schema(
        *_SUITE,
        *_RUN,
        ("at", _TEXT),
        ("players", _SMALL),
        ("exploiters", _COUNT),
        ("exploiter_decisions", _COUNT),
        *_RATE,
    ),  # `wins` is the win rate of one seat of the best exploiter, with the policy in all other seats
    "tuning": _schema(
        *_SUITE,
        ("algorithm", _TEXT),
        ("trial", _COUNT),
        ("stage", _COUNT),
        ("seed", _COUNT),
        ("knobs", _TEXT),  # a JSON object
        ("decisions", _COUNT),
        ("score", _REAL),
    ),
}
"""The columns of each table by its name. Only `exploitability` may be null."""

KEYS = {
    "runs": ("suite", "task", "algorithm", "seed", "point", "at", "opponent", "greedy"),
    "deals": ("suite", "task", "algorithm", "seed", "at", "opponent", "greedy"),
    "cross": ("suite", "task", "algorithm", "seed", "other_algorithm", "other_seed", "at"),
    "exploiters": ("suite", "task", "algorithm", "seed", "at"),
    "tuning": ("suite", "task", "algorithm", "trial", "stage", "seed"),
}
"""Columns that together name a row; no two rows of a table agree in all of them."""

_BOUNDS: dict[str, tuple[float, float]] = {
    "point": (0, POINTS),
    "players": (2, 8),
    "games": (1, np.inf),
    **dict.fromkeys(("wins", "low", "high"), (0, 1)),
    **dict.fromkeys(("seed", "other_seed", "decisions", "wall_seconds", "cpu_seconds", "peak_memory_mib"), (0, np.inf)),
    "exploiters": (1, np.inf),
    "exploiter_decisions": (1, np.inf),
    **dict.fromkeys(("parameters", "core_decisions_per_second", "matmul_gflops", "trial", "stage"), (0, np.inf)),
}
"""The least and the most value of columns."""


def make_table(name: str, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """A table from one mapping of columns to values for each row, checked; ValueError names what is wrong."""
    schema = _schema_of(name)
    for row in rows:
        _check_names(f"{name} table", row.keys(), [f.name for f in schema if not f.nullable], schema.names)
    columns = {}
    for field in schema:
        try:
            columns[field.name] = pa.array([row.get(field.name) for row in rows], field.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise ValueError(f"{name} table: column {field.name!r} must hold {field.type}: {error}") from None
    table = pa.table(columns, schema=schema)
    _check(f"{name} table", name, table)
    return table


def table_bytes(name: str, table: pa.Table) -> bytes:
    """A table as the contents of its file; ValueError if it is wrong."""
    _check(f"{name} table", name, table)
    file = BytesIO()
    # A dictionary packs the wins of a deal into 2 or 3 bits before they are compressed.
    pq.write_table(table, file, compression="zstd", compression_level=19, use_dictionary=True)
    return file.getvalue()


def write_table(folder: Path, name: str, table: pa.Table, file: str = "") -> Path:
    """Write or replace the file of a table in a folder, and return its path; ValueError if the table is wrong. `file`
    is the name of the file without its ending; "" for that of the table."""
    path = folder / f"{file or name}.parquet"
    write_whole(path, table_bytes(name, table))
    return path


def read_table(folder: Path, name: str, file: str = "") -> pa.Table:
    """Read and check the file of a table; `file` as in `write_table`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged, a column is missing, unknown or of another type, or a value is out of bounds.
            The message names the file and the column.
    """
    _schema_of(name)
    path = folder / f"{file or name}.parquet"
    data = path.read_bytes()
    try:
        table = pq.read_table(BytesIO(data))
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} is not a Parquet file that can be read: {error}") from None
    _check(str(path), name, table)
    return table


def wins_by_deal(deals: pa.Table) -> npt.NDArray[np.float64]:
    """The share of each deal's games that one seat of the policy won, (rows, D), from rows of the table `deals`.

    Raises:
        ValueError: there are no rows, or they are not on the same deals.
    """
    if not deals.num_rows:
        raise ValueError("deals table: no rows are left to compare")
    for column in ("task", "players", "deal_seed"):
        if len(found := deals[column].unique()) > 1:
            raise ValueError(f"deals table: rows to compare differ in {column!r}: {found.to_pylist()}")
    lengths = pc.list_value_length(deals["wins"]).unique().to_pylist()
    if len(lengths) > 1:
        raise ValueError(f"deals table: rows to compare have different numbers of deals: {sorted(lengths)}")
    wins = deals["wins"].combine_chunks().flatten().to_numpy().reshape(deals.num_rows, -1)
    share: npt.NDArray[np.float64] = wins / deals["players"][0].as_py()
    return share


def _schema_of(name: str) -> pa.Schema:
    if name not in SCHEMAS:
        raise ValueError(f"no such table: {name!r}; there are {', '.join(SCHEMAS)}{did_you_mean(name, SCHEMAS)}")
    return SCHEMAS[name]


def _check_names(where: str, given: Any, needed: Sequence[str], known: Sequence[str]) -> None:
    if missing := [column for column in needed if column not in given]:
        raise ValueError(f"{where}: column {missing[0]!r} is missing")
    if unknown := [column for column in given if column not in known]:
        raise ValueError(f"{where}: unknown column {unknown[0]!r}{did_you_mean(unknown[0], known)}")


def _check(where: str, name: str, table: pa.Table) -> None:
    """ValueError unless the table has the columns of its name, with values within their bounds, and each row once."""
    schema = _schema_of(name)
    _check_names(where, table.column_names, schema.names, schema.names)
    for field in schema:
        column = table[field.name]
        if not column.type.equals(field.type):
            raise ValueError(f"{where}: column {field.name!r} must hold {field.type}, got {column.type}")
        if column.null_count and not field.nullable:
            raise ValueError(f"{where}: column {field.name!r} has {column.null_count} empty values")
        _check_values(where, field, column)
    _check_versions(where, table)
    rows = table.select(list(KEYS[name])).group_by(list(KEYS[name])).aggregate([([], "count_all")])
    if twice := rows.filter(pc.greater(rows["count_all"], 1)).to_pylist():
        raise ValueError(f"{where}: a row is there {twice[0].pop('count_all')} times: {twice[0]}")
    if name == "deals":
        _check_wins(where, table)


def _check_values(where: str, field: pa.Field, column: pa.ChunkedArray) -> None:
    """ValueError unless the values of a column are within its bounds."""
    if field.name == "at" and (unknown := set(column.unique().to_pylist()) - set(AT)):
        raise ValueError(f"{where}: column 'at' must be one of {', '.join(AT)}, got {min(unknown)!r}")
    if field.name not in _BOUNDS or not pa.types.is_primitive(field.type):
        return
    least, most = _BOUNDS[field.name]
    values = column.drop_null().to_numpy()
    inside = (values >= least) & (values <= most) & np.isfinite(values)
    if not inside.all():
        bounds = f"in [{least}, {most}]" if np.isfinite(most) else f"at least {least} and finite"
        raise ValueError(f"{where}: column {field.name!r} must be {bounds}, got {values[~inside][0]}")


def _check_versions(where: str, table: pa.Table) -> None:
    """ValueError if rows of several versions of a suite are mixed: their numbers can't be compared."""
    versions: dict[str, int] = {}
    for pair in table.select(["suite", "suite_version"]).group_by(["suite", "suite_version"]).aggregate([]).to_pylist():
        suite, version = pair["suite"], pair["suite_version"]
        if versions.setdefault(suite, version) != version:
            both = sorted((versions[suite], version))
            raise ValueError(f"{where}: column 'suite_version' has {both[0]} and {both[1]} for the suite {suite!r}")


def _check_wins(where: str, table: pa.Table) -> None:
    """ValueError unless each row has deals, each won in no more seatings than there are."""
    lengths = pc.list_value_length(table["wins"]).to_numpy()
    if not lengths.all():
        raise ValueError(f"{where}: column 'wins' has a row without deals")
    wins = pc.list_flatten(table["wins"]).to_numpy()
    if (wins > np.repeat(table["players"].to_numpy(), lengths)).any():
        raise ValueError(f"{where}: column 'wins' has a deal with more wins than players")
