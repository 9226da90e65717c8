"""The tried candidates, decision by decision: differences between the best of each kind, free of the winner's curse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import stdtrit
from scipy.stats import binom

from agents.flex_policies import FEATURES, FLEX_KINDS
from agents.match.intervals import CONFIDENCE
from experiments.flex_timing.estimates import Floats
from experiments.flex_timing.tried_actions import DRAWING, OTHER

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_EVEN = np.uint64(0x5555555555555555)


@dataclass(frozen=True, eq=False)
class Tried:
    """Candidates, C of them, of N decisions of one deal each."""

    columns: dict[str, npt.NDArray[Any]]
    """(C,) each; those of a decision follow one another."""
    start: Whole
    """(N,), the first candidate of each decision."""
    worlds: int

    @classmethod
    def of(cls, table: pa.Table) -> Tried:
        """From the rows of one variant and situation. ValueError if there is none."""
        if not len(table):
            raise ValueError("no decision of this kind was found: more deals are needed")
        columns = {name: table[name].to_numpy() for name in table.column_names if name not in ("variant", "stage")}
        new = np.diff(columns["deal"], prepend=-1) != 0
        new |= np.diff(columns["num_players"], prepend=0) != 0
        return cls(columns, np.flatnonzero(new), int(columns["worlds"][0]))

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """What is the same for all candidates of a decision, (N,)."""
        return self.columns[name][self.start]

    @property
    def features(self) -> dict[str, npt.NDArray[Any]]:
        """By name, (N,) each."""
        return {name: self[name] for name in FEATURES}

    @property
    def flexed(self) -> Flags:
        """(N,), whether the policy flexed."""
        flexed: Flags = self["taken"] < len(FLEX_KINDS)
        return flexed

    def rows(self, which: Flags, score: npt.NDArray[Any] | None = None) -> Whole:
        """The candidate with the highest score among these (C,), the first of equals; -1 where there is none, (N,)."""
        scores = np.where(which, np.zeros(len(which)) if score is None else score, -1.0)
        best = np.maximum.reduceat(scores, self.start)
        decision = np.repeat(np.arange(len(self)), np.diff(self.start, append=len(scores)))
        top = np.flatnonzero((scores == best[decision]) & (scores >= 0))
        rows = np.full(len(self), -1)
        owner, first = np.unique(decision[top], return_index=True)
        rows[owner] = top[first]
        return rows

    def kind(self, *kinds: int) -> Flags:
        """(C,), the candidates of these kinds."""
        return np.isin(self.columns["kind"], kinds)

    @property
    def flex(self) -> Flags:
        """(C,), the candidates that flex."""
        flexes: Flags = self.columns["kind"] < len(FLEX_KINDS)
        return flexes

    def won(self, half: int | None = None) -> Floats:
        """(C,), the share of the worlds that is won; of those with an even (0) or an odd number (1) only."""
        mask = np.uint64(2**64 - 1) if half is None else _EVEN << np.uint64(half)
        size = self.worlds if half is None else (self.worlds + 1 - half) // 2
        share: Floats = np.bitwise_count(self.columns["won"] & mask) / size
        return share

    def difference(self, one: Whole, other: Whole, half: int | None = None) -> Floats:
        """(N,), how much more one candidate wins than another, given as rows; NaN where there are not both."""
        won = self.won(half)
        return np.where((one >= 0) & (other >= 0), won[one] - won[other], np.nan)

    def best(self, one: Flags, other: Flags) -> Floats:
        """(N,), the difference between the best of some candidates and the best of others; NaN without any of them.

        The best are chosen in one half of the worlds and compared in the other half, both ways round, so that it is no
        advantage to have had luck. ValueError with less than two worlds.
        """
        if self.worlds < 2:
            raise ValueError(f"choosing in one half of the worlds needs at least two, got {self.worlds}")
        halves = []
        for half in (0, 1):
            score = self.won(half)
            halves.append(self.difference(self.rows(one, score), self.rows(other, score), 1 - half))
        mean: Floats = np.mean(halves, axis=0)
        return mean

    def spend_or_hold(self) -> Floats:
        """(N,), the best flex against the best other play."""
        return self.best(self.flex, self.kind(OTHER))

    def flex_or_draw(self) -> Floats:
        """(N,), the best flex against drawing."""
        return self.best(self.flex, self.kind(DRAWING))

    def favorites(self) -> tuple[Whole, Whole]:
        """The policy's favorite flex, and its favorite other play, or drawing where there is none: rows, (N,)."""
        own = self.columns["favorite"]
        other = self.rows(self.kind(OTHER) & own)
        return self.rows(self.flex & own), np.where(other < 0, self.rows(self.kind(DRAWING)), other)

    def sure(self, one: Whole, other: Whole, half: int | None = None) -> npt.NDArray[np.int64]:
        """(N,), 1 or -1 where a candidate is better or worse than another with 95 % confidence, else 0.

        Student's t over the worlds, with one world of each extreme added, as in match play.
        """
        plus, minus = self._worlds_apart(one, other, half)
        size = self.worlds if half is None else (self.worlds + 1 - half) // 2
        return np.where((one >= 0) & (other >= 0), _clear(plus, minus, size), 0)

    def sure_by_chance(self, one: Whole, other: Whole) -> float:
        """The share of decisions in which `sure` would find a difference if every world that is won after one candidate
        and lost after the other were as likely to be the other way round."""
        plus, minus = self._worlds_apart(one, other)
        apart = plus + minus
        wins = np.arange(self.worlds + 1)
        likely = binom.pmf(wins, apart[:, None], 0.5)
        clear = _clear(wins, np.maximum(apart[:, None] - wins, 0), self.worlds) != 0
        return float((likely * clear).sum(axis=1)[(one >= 0) & (other >= 0)].mean())

    def _worlds_apart(self, one: Whole, other: Whole, half: int | None = None) -> tuple[Whole, Whole]:
        """(N,) each: worlds that are won after one and lost after the other, and the other way round."""
        mask = np.uint64(2**64 - 1) if half is None else _EVEN << np.uint64(half)
        a, b = (self.columns["won"][rows] & mask for rows in (one, other))
        return np.bitwise_count(a & ~b).astype(np.int64), np.bitwise_count(b & ~a).astype(np.int64)


def _clear(plus: Whole, minus: Whole, worlds: int) -> Whole:
    """See `Tried.sure`."""
    size = worlds + 2
    mean = (plus - minus) / size
    error = np.sqrt(((plus + minus + 2) / size - mean**2) / (size - 1))
    clear = np.abs(mean) > stdtrit(size - 1, (1 + CONFIDENCE) / 2) * error
    return np.where(clear, np.sign(mean), 0).astype(np.int64)
