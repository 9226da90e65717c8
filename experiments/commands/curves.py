"""Draw the learning curves of runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from agents.atomic import write_whole
from experiments.training.curve_plot import curve_plot
from experiments.training.learning_curves import curves, read_points, to_csv

HELP = """\
Draw learning curves: the mean win rate against each baseline over runs that differ only in their seeds, with a band
from the worst to the best run. Runs of one name (wide, wide-2, wide-3) make one curve, so you can compare several
names. The numbers go to a CSV file beside the picture. You can draw the picture again from that file.

  python -m experiments curves runs/two_players runs/two_players-2 runs/two_players-3 --out docs/learning.png
  python -m experiments curves docs/learning.csv --out docs/learning.png
"""


@dataclass(frozen=True)
class Config:
    """Settings of the picture."""

    sources: tyro.conf.Positional[tuple[Path, ...]] = ()
    """Folders of runs, or a CSV file that this command has written."""
    out: Path = Path("learning.png")
    """The picture to write, a .png file. The numbers go to the same name with .csv."""


def main(config: Config) -> int:
    """Run the command."""
    if not config.sources:
        raise ValueError("name the folders of runs, or a CSV file that this command has written")
    names = [source.name for source in config.sources]
    if len(set(names)) < len(names):
        raise ValueError(f"runs are told apart by the names of their folders, got {', '.join(names)}")
    if config.out.suffix != ".png":
        raise ValueError(f"out must be the name of a .png file, got {config.out}")
    points = [point for source in config.sources for point in read_points(source)]
    if not points:
        raise ValueError("nothing has been measured in these runs yet")
    picture = curve_plot(curves(points))
    numbers = config.out.with_suffix(".csv")
    write_whole(numbers, to_csv(points).encode())  # before the picture, which can be drawn from it again
    write_whole(config.out, picture)
    runs = len({point.run for point in points})
    print(f"{config.out}: {len(points)} measurements of {runs} runs; the numbers: {numbers}", flush=True)
    return 0
