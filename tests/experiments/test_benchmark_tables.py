"""The tables of the benchmark: what they hold comes back, and what is wrong is refused by file and column."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from experiments.benchmark.tables import SCHEMAS, make_table, read_table, wins_by_deal, write_table

TUNED: dict[str, Any] = {
    "suite": "core",
    "suite_version": 1,
    "task": "full-2",
    "algorithm": "ppo",
    "trial": 0,
    "stage": 0,
    "seed": 3,
    "knobs": '{"lr": 0.001}',
    "decisions": 2_000_000,
    "score": -0.5,
}
DEALT: dict[str, Any] = {
    "suite": "core",
    "suite_version": 1,
    "task": "full-2",
    "algorithm": "ppo",
    "seed": 1,
    "at": "decisions",
    "opponent": "expert",
    "players": 2,
    "greedy": False,
    "deal_seed": 7,
    "wins": [0, 1, 2, 1],
}


def test_a_table_comes_back_from_its_file(tmp_path):
    """Seen to fail when the first row is left out."""
    table = make_table("deals", [DEALT, DEALT | {"seed": 2, "wins": [2, 2, 2, 0]}])

    write_table(tmp_path, "deals", table)

    assert read_table(tmp_path, "deals").equals(table)


def test_a_deal_takes_few_bits(tmp_path):
    """20,000 games of 50 runs take less than three bits a deal. Seen to fail without the dictionary."""
    rng = np.random.default_rng(0)
    rows = [DEALT | {"seed": seed, "wins": rng.binomial(2, 0.5, 10_000)} for seed in range(50)]

    path = write_table(tmp_path, "deals", make_table("deals", rows))

    assert path.stat().st_size < 50 * 10_000 * 2 / 8


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        ("tuning", {k: v for k, v in TUNED.items() if k != "score"}, "tuning table: column 'score' is missing"),
        ("tuning", TUNED | {"scores": 1}, "unknown column 'scores'; did you mean 'score'"),
        ("tuning", TUNED | {"seed": "one"}, "column 'seed' must hold int64"),
        ("tuning", TUNED | {"task": None}, "column 'task' has 1 empty values"),
        ("tuning", TUNED | {"decisions": -1}, "column 'decisions' must be at least 0 and finite, got -1"),
        ("deals", DEALT | {"at": "end"}, "column 'at' must be one of curve, decisions, seconds, got 'end'"),
        ("deals", DEALT | {"wins": [3]}, "column 'wins' has a deal with more wins than players"),
        ("deals", DEALT | {"wins": []}, "column 'wins' has a row without deals"),
    ],
)
def test_a_bad_row_is_refused_by_table_and_column(name, row, message):
    with pytest.raises(ValueError, match=message):
        make_table(name, [row])


def test_a_row_that_is_there_twice_is_refused():
    """Seen to fail without the check of keys."""
    with pytest.raises(ValueError, match=r"a row is there 2 times: .*'seed': 3"):
        make_table("tuning", [TUNED, TUNED | {"score": 0.5}])


def test_two_versions_of_a_suite_are_not_mixed():
    with pytest.raises(ValueError, match="'suite_version' has 1 and 2 for the suite 'core'"):
        make_table("tuning", [TUNED, TUNED | {"trial": 1, "suite_version": 2}])


def test_a_bad_file_is_refused_by_its_path(tmp_path):
    path = write_table(tmp_path, "tuning", make_table("tuning", [TUNED]))
    pq.write_table(pq.read_table(path).drop_columns("knobs"), path)
    with pytest.raises(ValueError, match=rf"{re.escape(str(path))}: column 'knobs' is missing"):
        read_table(tmp_path, "tuning")

    pq.write_table(pa.table({f.name: pa.array([TUNED[f.name]]).cast(pa.string()) for f in SCHEMAS["tuning"]}), path)
    with pytest.raises(
        ValueError, match=rf"{re.escape(str(path))}: column 'suite_version' must hold int64, got string"
    ):
        read_table(tmp_path, "tuning")

    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(ValueError, match=rf"{re.escape(str(path))} is not a Parquet file"):
        read_table(tmp_path, "tuning")


def test_an_unknown_table_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no such table: 'run'; there are runs, deals, cross, exploiters, tuning"):
        read_table(tmp_path, "run")


def test_the_wins_of_deals_are_shares_of_one_seat():
    table = make_table("deals", [DEALT, DEALT | {"seed": 2, "wins": [2, 2, 2, 0]}])

    assert wins_by_deal(table).tolist() == [[0, 0.5, 1, 0.5], [1, 1, 1, 0]]


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"deal_seed": 8}, "differ in 'deal_seed'"),
        ({"task": "small-2"}, "differ in 'task'"),
        ({"wins": [1, 1]}, "different numbers of deals"),
    ],
)
def test_runs_on_other_deals_are_not_compared(other, message):
    """Seen to fail without the check of `deal_seed`."""
    with pytest.raises(ValueError, match=message):
        wins_by_deal(make_table("deals", [DEALT, DEALT | {"seed": 2} | other]))
