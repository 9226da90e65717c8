"""Learning curves of runs: the measurements of strength, read from runs or from a CSV file, and their means."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from experiments.training.monitor import METRICS


@dataclass(frozen=True)
class Point:
    """One measurement of one run; the fields are the columns of the CSV file."""

    run: str
    decisions: int
    minutes: float
    baseline: str
    players: int
    wins: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Curve:
    """Strength against one baseline at one number of players, over M measurements of R runs of one name."""

    name: str
    baseline: str
    players: int
    decisions: npt.NDArray[np.float64]
    """(M,), mean over the runs."""
    minutes: npt.NDArray[np.float64]
    """(M,), mean over the runs."""
    wins: npt.NDArray[np.float64]
    """(R, M)"""


def read_points(source: Path) -> list[Point]:
    """The measurements in the folder of a run, or in a CSV file that `to_csv` has written.

    Raises:
        ValueError: it is neither of the two, or damaged.
    """
    if source.is_file():
        rows = csv.DictReader(io.StringIO(source.read_text(encoding="utf-8")))
        if list(rows.fieldnames or ()) != list(Point.__dataclass_fields__):
            raise ValueError(f"{source} is no table that this command has written")
        return [_point(row, f"{source}, line {line}") for line, row in enumerate(rows, start=2)]
    if not (source / METRICS).is_file():
        raise ValueError(f"{source} is neither the folder of a run nor a CSV file")
    try:
        return _measurements(source.name, (source / METRICS).read_text(encoding="utf-8").splitlines())
    except (LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{source} is damaged: {type(error).__name__}: {error}") from None


def _measurements(run: str, lines: Iterable[str]) -> list[Point]:
    """The measurements in these lines of metrics."""
    return [
        Point(run, entry["decisions"], round(entry["minutes"], 3), name, players, *rates)
        for entry in map(json.loads, lines)
        if "strength" in entry
        for name, players, *rates in entry["strength"]
    ]


def _point(row: Mapping[str, str], where: str) -> Point:
    try:
        return Point(
            row["run"],
            int(row["decisions"]),
            float(row["minutes"]),
            row["baseline"],
            int(row["players"]),
            *(float(row[name]) for name in ("wins", "low", "high")),
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from None


def to_csv(points: Sequence[Point]) -> str:
    """All measurements as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(Point.__dataclass_fields__), lineterminator="\n")
    writer.writeheader()
    writer.writerows(vars(point) for point in points)
    return text.getvalue()


def curves(points: Sequence[Point]) -> list[Curve]:
    """One curve for each name of runs, baseline and number of players.

    Raises:
        ValueError: runs of one name were not measured equally often.
    """
    kinds: dict[tuple[str, str, int], dict[str, list[Point]]] = {}
    for point in points:
        name = re.sub(r"-\d+$", "", point.run)
        kinds.setdefault((name, point.baseline, point.players), {}).setdefault(point.run, []).append(point)
    return [_curve(*kind, list(runs.values())) for kind, runs in kinds.items()]


def _curve(name: str, baseline: str, players: int, runs: Sequence[Sequence[Point]]) -> Curve:
    if len({len(run) for run in runs}) > 1:
        raise ValueError(f"the runs {name} were not measured equally often: they must differ in the seed alone")
    decisions, minutes, wins = (
        np.array([[getattr(point, field) for point in run] for run in runs], np.float64)
        for field in ("decisions", "minutes", "wins")
    )
    return Curve(name, baseline, players, decisions.mean(axis=0), minutes.mean(axis=0), wins)
