"""Learning curves of runs: strength over decisions and over time, with a band over seeds."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import tyro

from agents.atomic import write_whole
from experiments.match_tables.plots import learning_curves
from experiments.output import say
from experiments.training.monitor import METRICS

HELP = """\
Draw the learning curves of runs that differ in nothing but their seeds: win rates against the yardsticks, their mean
and the band from the worst to the best seed. Runs of one name (wide, wide-2, wide-3) make one curve, so several kinds
can be compared. The numbers go to a CSV file beside the picture, from which it can be drawn again.

  python -m experiments curves runs/two_players runs/two_players-2 runs/two_players-3 --out docs/learning.png
  python -m experiments curves docs/learning.csv --out docs/learning.png
"""


@dataclass(frozen=True)
class Config:
    """What is drawn."""

    sources: tyro.conf.Positional[tuple[Path, ...]] = ()
    """Folders of runs, or one CSV file that this command has written."""
    out: Path = Path("learning.png")
    """The picture; the numbers go to the same name with .csv."""


@dataclass(frozen=True)
class Point:
    """One measurement of one run."""

    run: str
    decisions: int
    minutes: float
    yardstick: str
    players: int
    wins: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Curve:
    """Strength against one yardstick at one number of players, over M measurements of R runs of one name."""

    name: str
    yardstick: str
    players: int
    decisions: npt.NDArray[np.float64]
    """(M,), mean over the runs."""
    minutes: npt.NDArray[np.float64]
    """(M,), mean over the runs."""
    wins: npt.NDArray[np.float64]
    """(R, M)"""


def main(config: Config) -> int:
    """The command."""
    if not config.sources:
        raise ValueError("name the folders of runs, or a CSV file that this command has written")
    names = [source.name for source in config.sources]
    if len(set(names)) < len(names):
        raise ValueError(f"runs are told apart by the names of their folders, got {', '.join(names)}")
    if config.out.suffix != ".png":
        raise ValueError(f"out must be the name of a .png file, got {config.out}")
    points = [point for source in config.sources for point in read(source)]
    if not points:
        raise ValueError("nothing has been measured in these runs yet")
    write_whole(config.out, learning_curves(curves(points)))
    write_whole(config.out.with_suffix(".csv"), table(points).encode())
    runs = len({point.run for point in points})
    say(f"{config.out}: {len(points)} measurements of {runs} runs; the numbers: {config.out.with_suffix('.csv')}")
    return 0


def read(source: Path) -> list[Point]:
    """The measurements of a run, or of a table of several."""
    if source.is_file():
        rows = csv.DictReader(io.StringIO(source.read_text(encoding="utf-8")))
        if list(rows.fieldnames or ()) != list(Point.__dataclass_fields__):
            raise ValueError(f"{source} is no table that this command has written")
        return [
            Point(
                row["run"],
                int(row["decisions"]),
                float(row["minutes"]),
                row["yardstick"],
                int(row["players"]),
                *(float(row[name]) for name in ("wins", "low", "high")),
            )
            for row in rows
        ]
    if not (source / METRICS).is_file():
        raise ValueError(f"{source} is neither the folder of a run nor a CSV file")
    entries = map(json.loads, (source / METRICS).read_text(encoding="utf-8").splitlines())
    return [
        Point(source.name, entry["decisions"], round(entry["minutes"], 3), name, players, *rates)
        for entry in entries
        if "strength" in entry
        for name, players, *rates in entry["strength"]
    ]


def table(points: Sequence[Point]) -> str:
    """All measurements as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(Point.__dataclass_fields__), lineterminator="\n")
    writer.writeheader()
    writer.writerows(vars(point) for point in points)
    return text.getvalue()


def curves(points: Sequence[Point]) -> list[Curve]:
    """A curve for each name of runs, yardstick and number of players.

    Raises:
        ValueError: runs of one name were not measured equally often.
    """
    kinds: dict[tuple[str, str, int], dict[str, list[Point]]] = {}
    for point in points:
        name = re.sub(r"-\d+$", "", point.run)
        kinds.setdefault((name, point.yardstick, point.players), {}).setdefault(point.run, []).append(point)
    return [_curve(*kind, list(runs.values())) for kind, runs in kinds.items()]


def _curve(name: str, yardstick: str, players: int, runs: Sequence[Sequence[Point]]) -> Curve:
    if len({len(run) for run in runs}) > 1:
        raise ValueError(f"the runs {name} were not measured equally often: they must differ in the seed alone")
    decisions, minutes, wins = (
        np.array([[getattr(point, field) for point in run] for run in runs], np.float64)
        for field in ("decisions", "minutes", "wins")
    )
    return Curve(name, yardstick, players, decisions.mean(axis=0), minutes.mean(axis=0), wins)
