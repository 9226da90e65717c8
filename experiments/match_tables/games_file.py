"""Every game of some matches as a Parquet file."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO

import pyarrow.parquet as pq

from agents.match.results import MatchResult, games_table


def parquet(results: Sequence[MatchResult]) -> bytes:
    """The contents of a Parquet file with a row for each game; the columns are those of `games_table`."""
    file = BytesIO()
    pq.write_table(games_table(results), file)
    return file.getvalue()
