"""Reports on a training run: TensorBoard, a file of metrics, a progress bar, and warnings."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from math import hypot, sqrt
from pathlib import Path
from statistics import fmean
from typing import Any, Self

from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from agents.atomic import write_whole
from agents.match.results import Rate

METRICS = "metrics.jsonl"
"""The file of metrics in a run's folder: a JSON line for each update and each measurement of strength."""

GROUPS = {
    "2 play": ("flex_rate", "draw_rate", "keep_rate", "challenge_rate", "game_length"),
    "3 learning": (
        "entropy",
        "approx_kl",
        "clip_fraction",
        "explained_variance",
        "policy_loss",
        "value_loss",
        "magnet_kl",
        "aux_value_loss",
        "clone_kl",
        "q_loss",
        "q_value",
        "epsilon",
        "grad_norm",
        "learning_rate",
        "entropy_coef",
    ),
    "4 speed": ("decisions_per_second", "games_share"),
}
"""The charts of TensorBoard by group. TensorBoard sorts the groups by name, so "1 strength", in per cent, comes first.
"6 intervals" are its bounds; the tab Custom Scalars shows both as one chart with a band."""

WINDOW = 20
"""How many updates a warning looks back on."""


class Monitor:
    """Writes the metrics of a run and shows its progress. The x-axis is the number of decisions learned from.

    Args:
        folder: the folder of the run.
        total: decisions of the whole run.
        decisions: decisions at which the run starts or continues. Later metrics in the file are dropped: they were
            written after the checkpoint that the run continues from.

    Attributes:
        strengths: all measurements of strength so far, as in the file of metrics.
    """

    def __init__(self, folder: Path, total: int, decisions: int) -> None:
        self._file = folder / METRICS
        lines = self._file.read_text().splitlines() if self._file.exists() else []
        self._lines = [line for line in lines if json.loads(line)["decisions"] <= decisions]
        self.strengths = [entry for entry in map(json.loads, self._lines) if "strength" in entry]
        self._recent: list[Mapping[str, float]] = []
        self._warned = ""
        self._bands_shown = False
        resumed = any(folder.glob("events.*"))
        self._writer = SummaryWriter(str(folder), purge_step=decisions + 1 if resumed else None)
        # Without a terminal each refresh is a line of its own, so there are few.
        interval = 0.1 if sys.stderr.isatty() else 10.0
        self._bar = tqdm(total=total, initial=decisions, unit=" decisions", unit_scale=True, mininterval=interval)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.flush()
        self._writer.close()
        self._bar.close()

    def update(self, decisions: int, updates: int, metrics: Mapping[str, float], league: Mapping[str, float]) -> None:
        """Write the metrics of one update.

        Args:
            league: the learner's win rate against each member of the league.
        """
        for group, names in GROUPS.items():
            for name in names:
                if name in metrics:
                    self._writer.add_scalar(f"{group}/{name}", metrics[name], decisions)
        for name, rate in league.items():
            self._writer.add_scalar(f"5 league/{name}", rate, decisions)
        self._add({"decisions": decisions, "update": updates, **metrics})
        self._recent = [*self._recent[1 - WINDOW :], metrics]
        self._bar.update(min(decisions, int(self._bar.total)) - self._bar.n)
        self._warn(diverging(self._recent))

    def strength(self, decisions: int, minutes: float, rates: Mapping[tuple[str, int], Rate]) -> None:
        """Write a measurement of strength: win rates by baseline and number of players. The bar shows the first one."""
        charts = {f"{name}, {players} players": rate for (name, players), rate in rates.items()}
        for chart, rate in charts.items():
            for tag, value in zip(_strength_tags(chart), (rate.mean, rate.low, rate.high), strict=True):
                self._writer.add_scalar(tag, 100 * value, decisions)
        if not self._bands_shown:
            self._writer.add_custom_scalars(
                {"strength in %, with 95 % intervals": {chart: ["Margin", _strength_tags(chart)] for chart in charts}}
            )
            self._bands_shown = True
        strength = [[name, players, rate.mean, rate.low, rate.high] for (name, players), rate in rates.items()]
        entry = {"decisions": decisions, "minutes": minutes, "strength": strength}
        self._add(entry)
        self.strengths.append(entry)
        (name, _), rate = next(iter(rates.items()))
        margin = 50 * (rate.high - rate.low)
        self._bar.set_postfix_str(f"wins {100 * rate.mean:.1f} +- {margin:.1f} % against {name}", refresh=False)
        self._warn(stalled(self.strengths))

    def _add(self, entry: Mapping[str, Any]) -> None:
        self._lines.append(json.dumps(entry))

    def _warn(self, text: str) -> None:
        """Print a warning above the bar, once."""
        if text and text != self._warned:
            self._bar.write(text, file=sys.stderr)
        self._warned = text or self._warned

    def flush(self) -> None:
        """Write everything to the files. Call it before you write the checkpoint of the same moment."""
        write_whole(self._file, ("\n".join(self._lines) + "\n").encode() if self._lines else b"")
        self._writer.flush()


def _strength_tags(chart: str) -> list[str]:
    """The names of the win rate, and of the lower and the upper bound of its interval, in TensorBoard."""
    return [f"1 strength/{chart}", f"6 intervals/{chart}/low", f"6 intervals/{chart}/high"]


def diverging(recent: Sequence[Mapping[str, float]]) -> str:
    """A warning if the last updates look wrong, else an empty text. Metrics that a learner does not have look right."""
    if len(recent) < WINDOW:
        return ""

    def mean(name: str, right: float) -> float:
        return fmean(metrics.get(name, right) for metrics in recent)

    if mean("approx_kl", 0.0) > 0.1:
        return "the policy jumps (approx_kl above 0.1): lower learning_rate, or raise minibatch_size"
    if mean("explained_variance", 1.0) < -0.1:
        return "the critic is worse than a constant (explained_variance below -0.1): lower learning_rate"
    if mean("entropy", 1.0) < 0.02:
        return "the policy is nearly deterministic (entropy below 0.02): raise entropy_coef"
    return ""


def stalled(strengths: Sequence[Mapping[str, Any]]) -> str:
    """A warning if strength does not rise, else an empty text.

    Strength does not rise if, over at least eight measurements, the mean of the second half exceeds that of the first
    by less than the standard error of the difference. All measurements of a run play the same deals, so the true error
    is smaller.
    """
    if len(strengths) < 8:
        return ""
    half = len(strengths) // 2
    wins = [fmean(rate[2] for rate in entry["strength"]) for entry in strengths]
    # Standard error of one measurement, from its intervals: several baselines are independent.
    rates = strengths[-1]["strength"]
    error = hypot(*((rate[4] - rate[3]) / 2 / 1.96 for rate in rates)) / len(rates)
    if fmean(wins[half:]) - fmean(wins[:half]) > error * sqrt(2 / half):
        return ""
    return "the run is stalled: the second half of the measurements is no better than the first"
