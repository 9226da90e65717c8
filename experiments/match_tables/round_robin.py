"""The results of a round robin: ratings as text, and the files of its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import inf
from typing import Any

import uno_flex_env
from agents.match.ratings import Rating, ratings
from agents.match.results import MatchResult
from experiments.match_tables.cross_table import CrossTable
from experiments.match_tables.games_file import parquet
from experiments.match_tables.plots import heat_maps

Rated = dict[str, tuple[Rating, ...]]
"""The ratings of all policies at each number of players, and over "all" of them if there are several."""


def rate_policies(tables: Sequence[CrossTable]) -> Rated:
    """The ratings of the policies in these cross tables, one table for each number of players."""
    rated = {f"{table.num_players} players": ratings(table.results) for table in tables}
    if len(tables) > 1:
        rated["all"] = ratings([result for table in tables for result in table.results])
    return rated


def ratings_table(rated: Rated) -> str:
    """A table to print: a row for each policy, the best first, and a column for each number of players."""
    last = list(rated.values())[-1]
    policies = [rating.policy for rating in sorted(last, key=lambda rating: -rating.mean)]
    rows = [["rating", *rated]]
    for policy in policies:
        rows.append([policy, *(str(next(r for r in column if r.policy == policy)) for column in rated.values())])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([f"{row[0]:{widths[0]}}", *(f"{c:>{w}}" for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
    return "\n".join([*lines, "", f"points above {last[0].policy}; 400 are odds of ten to one between two"])


def round_robin_files(
    tables: Sequence[CrossTable], rated: Rated, text: str, settings: Mapping[str, Any]
) -> dict[str, bytes]:
    """The files of a folder: settings, rates and ratings as JSON, the tables as text, a heat map and all games."""
    results = [result for table in tables for result in table.results]
    notes = {
        "version": uno_flex_env.__version__,
        "config": settings,
        "rates": [_rates(result) for result in results],
        "ratings": {name: [_rating(rating) for rating in column] for name, column in rated.items()},
    }
    return {
        "results.json": json.dumps(notes, indent=2, allow_nan=False).encode() + b"\n",
        "tables.txt": text.encode() + b"\n",
        "heat_map.png": heat_maps(tables),
        "games.parquet": parquet(results),
    }


def _rating(rating: Rating) -> dict[str, Any]:
    """A rating for JSON, which has no infinity: an infinite end is null."""
    return {name: None if value in (-inf, inf) else value for name, value in asdict(rating).items()}


def _rates(result: MatchResult) -> dict[str, Any]:
    one, others = result.policies
    counts = {"games": result.num_games, "no_winner": result.no_winner, "truncated": result.truncated}
    return {"num_players": result.num_players, "one": one, "others": others, **asdict(result.rate(0)), **counts}
