"""Decisions with tried candidates: differences between the best candidates of two kinds, without selection bias."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy.special import stdtrit
from scipy.stats import binom

from agents.flex_policies import FEATURES, FLEX_KINDS
from agents.match.intervals import CONFIDENCE
from experiments.flex_timing.estimates import Floats
from experiments.flex_timing.tried_actions import DRAWING, OTHER, Situation

Whole = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
_EVEN = np.uint64(0x5555555555555555)


def rows_where(table: pa.Table, **values: str | int | None) -> pa.Table:
    """The rows in which each named column has the given value; None leaves a column open."""
    for name, value in values.items():
        if value is not None:
            column = pc.cast(table[name], pa.string()) if isinstance(value, str) else table[name]
            table = table.filter(pc.equal(column, value))
    return table


def columns_of(table: pa.Table) -> dict[str, npt.NDArray[Any]]:
    """The columns of numbers by name, (rows,) each."""
    return {name: table[name].to_numpy() for name in table.column_names if name not in ("variant", "stage")}


@dataclass(frozen=True, eq=False)
class Tried:
    """N decisions, each from a deal of its own, with C candidates in all."""

    columns: dict[str, npt.NDArray[Any]]
    """(C,) each; the candidates of a decision follow one another."""
    start: Whole
    """(N,), the row of each decision's first candidate."""
    worlds: int
    """Sampled worlds in which each candidate was tried."""

    @classmethod
    def select(cls, table: pa.Table, situation: Situation, variant: str = "main", players: int | None = None) -> Tried:
        """The decisions of one situation, from all candidates of a study. ValueError if there is none."""
        return cls.of(rows_where(table, stage=situation, variant=variant, num_players=players))

    @classmethod
    def of(cls, table: pa.Table) -> Tried:
        """The decisions in the rows of one variant and situation. ValueError if there is none."""
        if not len(table):
            raise ValueError("no decision of this kind was found: more deals are needed")
        columns = columns_of(table)
        new = np.diff(columns["deal"], prepend=-1) != 0
        new |= np.diff(columns["num_players"], prepend=0) != 0
        return cls(columns, np.flatnonzero(new), int(columns["worlds"][0]))

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """(N,), a column that is the same for all candidates of a decision."""
        return self.columns[name][self.start]

    @property
    def features(self) -> dict[str, npt.NDArray[Any]]:
        """What the player sees (`FEATURES`), by name, (N,) each."""
        return {name: self[name] for name in FEATURES}

    @property
    def flexed(self) -> Flags:
        """(N,), whether the policy flexed in the game itself."""
        flexed: Flags = self["taken"] < len(FLEX_KINDS)
        return flexed

    def rows(self, which: Flags, score: npt.NDArray[Any] | None = None) -> Whole:
        """(N,), the row of each decision's best candidate; -1 where it has none.

        Args:
            which: (C,), the candidates to choose from.
            score: (C,), not negative; the highest is the best, and the first among equals. All are equal by default.
        """
        scores = np.where(which, np.zeros(len(which)) if score is None else score, -1.0)
        best = np.maximum.reduceat(scores, self.start)
        decision = np.repeat(np.arange(len(self)), np.diff(self.start, append=len(scores)))
        top = np.flatnonzero((scores == best[decision]) & (scores >= 0))
        rows = np.full(len(self), -1)
        owner, first = np.unique(decision[top], return_index=True)
        rows[owner] = top[first]
        return rows

    def kind(self, *kinds: int) -> Flags:
        """(C,), whether a candidate is of one of these kinds."""
        return np.isin(self.columns["kind"], kinds)

    @property
    def flex(self) -> Flags:
        """(C,), whether a candidate is a flex."""
        flexes: Flags = self.columns["kind"] < len(FLEX_KINDS)
        return flexes

    def won(self, half: int | None = None) -> Floats:
        """(C,), the share of the worlds that is won: of all, or of those with an even (0) or odd (1) number."""
        mask = np.uint64(2**64 - 1) if half is None else _EVEN << np.uint64(half)
        size = self.worlds if half is None else (self.worlds + 1 - half) // 2
        share: Floats = np.bitwise_count(self.columns["won"] & mask) / size
        return share

    def difference(self, one: Whole, other: Whole, half: int | None = None) -> Floats:
        """(N,), the win rate of one candidate minus that of another, both given as rows; NaN where one is missing."""
        won = self.won(half)
        return np.where((one >= 0) & (other >= 0), won[one] - won[other], np.nan)

    def best(self, one: Flags, other: Flags) -> Floats:
        """(N,), the best of some candidates minus the best of others, in win rate; NaN where either has none.

        The best are chosen in one half of the worlds and compared in the other half, then with the halves exchanged.
        So the choice of a candidate does not bias its result (the winner's curse). ValueError with fewer than two
        worlds.
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
        """(N,), the best flex less the best other play, in win rate."""
        return self.best(self.flex, self.kind(OTHER))

    def flex_or_draw(self) -> Floats:
        """(N,), the best flex less drawing, in win rate."""
        return self.best(self.flex, self.kind(DRAWING))

    def favorites(self) -> tuple[Whole, Whole]:
        """(N,) each: the rows of the policy's favorite flex and favorite other play, or drawing where it has none."""
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
        """The share of decisions in which `sure` would find a difference if the two candidates were equally good. Then
        a world that only one of them wins is equally likely to be won by either."""
        plus, minus = self._worlds_apart(one, other)
        apart = plus + minus
        wins = np.arange(self.worlds + 1)
        likely = binom.pmf(wins, apart[:, None], 0.5)
        clear = _clear(wins, np.maximum(apart[:, None] - wins, 0), self.worlds) != 0
        return float((likely * clear).sum(axis=1)[(one >= 0) & (other >= 0)].mean())

    def _worlds_apart(self, one: Whole, other: Whole, half: int | None = None) -> tuple[Whole, Whole]:
        """(N,) each: how many worlds only the one candidate wins, and how many only the other."""
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
