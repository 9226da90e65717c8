"""How a run is doing: TensorBoard, a file of metrics, a progress bar, and a word when it gets nowhere."""

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
        "grad_norm",
        "learning_rate",
        "entropy_coef",
    ),
    "4 speed": ("decisions_per_second", "games_share"),
}
"""The charts of TensorBoard, which sorts them by name: "1 strength" comes first."""

WINDOW = 20
"""Updates that a warning looks back on."""


class Monitor:
    """Tells of a run. Steps are decisions learned from.

    Args:
        folder: of the run.
        total: decisions of the whole run.
        decisions: where it begins; what is on file of later ones, from before a kill, is dropped.
    """

    def __init__(self, folder: Path, total: int, decisions: int) -> None:
        self._file = folder / METRICS
        lines = self._file.read_text().splitlines() if self._file.exists() else []
        self._lines = [line for line in lines if json.loads(line)["decisions"] <= decisions]
        self.strengths = [entry for entry in map(json.loads, self._lines) if "strength" in entry]
        self._recent: list[Mapping[str, float]] = []
        self._said = ""
        resumed = any(folder.glob("events.*"))
        self._writer = SummaryWriter(str(folder), purge_step=decisions + 1 if resumed else None)
        # Where nobody watches, a line now and then is enough.
        interval = 0.1 if sys.stderr.isatty() else 10.0
        self._bar = tqdm(total=total, initial=decisions, unit=" decisions", unit_scale=True, mininterval=interval)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.flush()
        self._writer.close()
        self._bar.close()

    def update(self, decisions: int, updates: int, metrics: Mapping[str, float], league: Mapping[str, float]) -> None:
        """Note one update."""
        for group, names in GROUPS.items():
            for name in names:
                if name in metrics:
                    self._writer.add_scalar(f"{group}/{name}", metrics[name], decisions)
        for name, rate in league.items():
            self._writer.add_scalar(f"5 league/{name}", rate, decisions)
        self._note({"decisions": decisions, "update": updates, **metrics})
        self._recent = [*self._recent[1 - WINDOW :], metrics]
        self._bar.update(min(decisions, int(self._bar.total)) - self._bar.n)
        self._warn(diverging(self._recent))

    def strength(self, decisions: int, minutes: float, rates: Mapping[tuple[str, int], Rate]) -> None:
        """Note what the agent wins: the first chart, and behind the bar."""
        for (name, players), rate in rates.items():
            tag = f"1 strength/{name}, {players} players"
            for part, value in (("wins", rate.mean), ("low", rate.low), ("high", rate.high)):
                self._writer.add_scalar(f"{tag}/{part}", value, decisions)
        strength = [[name, players, rate.mean, rate.low, rate.high] for (name, players), rate in rates.items()]
        entry = {"decisions": decisions, "minutes": minutes, "strength": strength}
        self._note(entry)
        self.strengths.append(entry)
        (name, _), rate = next(iter(rates.items()))
        margin = 50 * (rate.high - rate.low)
        self._bar.set_postfix_str(f"wins {100 * rate.mean:.1f} +- {margin:.1f} % against {name}", refresh=False)
        self._warn(stalled(self.strengths))

    def _note(self, entry: Mapping[str, Any]) -> None:
        self._lines.append(json.dumps(entry))

    def _warn(self, text: str) -> None:
        """Say it once, above the bar."""
        if text and text != self._said:
            self._bar.write(text, file=sys.stderr)
        self._said = text or self._said

    def flush(self) -> None:
        """Put everything on file, before the checkpoint that belongs to it."""
        write_whole(self._file, ("\n".join(self._lines) + "\n").encode() if self._lines else b"")
        self._writer.flush()


def diverging(recent: Sequence[Mapping[str, float]]) -> str:
    """What is wrong with the last updates, or nothing."""
    if len(recent) < WINDOW:
        return ""

    def mean(name: str) -> float:
        return sum(metrics[name] for metrics in recent) / len(recent)

    if mean("approx_kl") > 0.1:
        return "the policy jumps (approx_kl above 0.1): lower ppo.learning_rate, or raise ppo.minibatch_size"
    if mean("explained_variance") < -0.1:
        return "the critic is worse than a constant (explained_variance below -0.1): lower ppo.learning_rate"
    if mean("entropy") < 0.02:
        return "the policy hardly chooses any more (entropy below 0.02): raise ppo.entropy_coef"
    return ""


def stalled(strengths: Sequence[Mapping[str, Any]]) -> str:
    """Whether strength has stood still: over at least eight measurements, the mean of the second half is not above that
    of the first by more than luck can explain.

    All measurements of a run play the same deals, so what luck can explain is rather less than their intervals say.
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
