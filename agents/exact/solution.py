"""The best response to one policy on a tiny deck, by value iteration over the graph of beliefs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents.exact.beliefs import BeliefGraph, Floats, Whole
from agents.exact.worlds import ME, THEM

AGREE = 1e-6
"""How far the histories of a node may disagree about the probability of a world."""

PRECISION = 1e-9
"""Value iteration stops when no value changes by more."""

MAX_SWEEPS = 400
"""Sweeps of value iteration. Where rounds can go on for ever, it may stop before the values stand still; the bounds are
valid at any time."""


class Solution:
    """What each belief is worth to the best responder: the mean of 1 for a round won, -1 for one lost and 0 for one
    without a winner.

    Args:
        graph: of the deck.
        probabilities: (infostates, 216), those of the policy; 0 where illegal.

    Attributes:
        chances: (edges,), the probability of each edge, given its row.
        payoffs: (rows,), what the ends of the round pay that follow a row at once.
        low, high: (nodes,), bounds of the value. They differ where rounds can go on for ever: `low` counts such a round
            as lost, `high` as won.
        best: (nodes,), the row of the best response, which gets at least `low`.

    Raises:
        ArithmeticError: histories of one node disagree, so that the graph is not valid for this policy.
    """

    def __init__(self, graph: BeliefGraph, probabilities: Floats) -> None:
        self.graph = graph
        masses = self._propagate(probabilities)
        self.chances: Floats = np.bincount(graph.entry_edges, masses, len(graph.targets)).astype(np.float64)
        self._check(masses)
        ends = self._weights[graph.end_sources] * graph.end_payoffs * _chosen(probabilities, graph.end_choices)
        self.payoffs: Floats = np.bincount(graph.end_rows, ends, len(graph.actions)).astype(np.float64)
        self._edge_rows = np.repeat(np.arange(len(graph.actions)), np.diff(graph.first_edges))
        self.low, self.best = self._iterate(-1.0)
        self.high, _ = self._iterate(1.0)

    def _propagate(self, probabilities: Floats) -> Floats:
        """Set the weights of all slots, level by level; return the probability of each entry, given its row."""
        graph = self.graph
        odds = graph.entry_chances * _chosen(probabilities, graph.entry_choices)
        slots = np.diff(graph.first_slots)
        free = graph.priors < 0
        reached, weights = np.zeros(len(free)), graph.priors.copy()
        bounds = graph.levels
        entries = np.searchsorted(graph.entry_edges, graph.first_edges[graph.first_rows[bounds]])
        masses = np.empty(len(odds))
        for level in range(len(bounds) - 2, -1, -1):
            begin, end = bounds[level], bounds[level + 1]
            part = slice(graph.first_slots[begin], graph.first_slots[end])
            if part.start == part.stop:
                continue
            sums = np.repeat(
                np.add.reduceat(reached[part], graph.first_slots[begin:end] - part.start), slots[begin:end]
            )
            even = 1.0 / np.repeat(slots[begin:end], slots[begin:end])  # where the policy never leads
            given = np.divide(reached[part], sums, out=even, where=sums > 0)
            weights[part] = np.where(free[part], given, weights[part])
            leaving = slice(entries[level], entries[level + 1])
            masses[leaving] = weights[graph.entry_sources[leaving]] * odds[leaving]
            np.add.at(reached, graph.entry_targets[leaving], masses[leaving])
        self._weights = weights
        return masses

    def _check(self, masses: Floats) -> None:
        graph = self.graph
        chance = self.chances[graph.entry_edges]
        size = len(self._weights)
        keys, where = np.unique(graph.entry_edges * size + graph.entry_targets, return_inverse=True)
        shares = np.bincount(where, np.divide(masses, chance, out=np.zeros_like(masses), where=chance > 0))
        wrong = np.abs(shares - self._weights[keys % size]) * (self.chances[keys // size] > 0)
        if len(wrong) and wrong.max() > AGREE:
            raise ArithmeticError(f"histories of one belief disagree by {wrong.max():.2g}")

    def returns(self, values: Floats) -> Floats:
        """(rows,): what each way to go on is worth if the nodes after it are worth `values`."""
        worth = self.chances * values[self.graph.targets]
        returns: Floats = self.payoffs + np.bincount(self._edge_rows, worth, len(self.payoffs))
        return returns

    def _iterate(self, start: float, barred: npt.NDArray[np.bool_] | None = None) -> tuple[Floats, Whole]:
        """Value iteration, level by level, and for each node the row that last made it rise. From -1 the values only
        rise, and from 1 they only fall, so they never pass the true ones.

        The last row to rise is chosen because a row that is only as good in the end may lead round in a circle, where
        what is promised never comes.
        """
        graph, bounds = self.graph, self.graph.levels
        rows, edges = graph.first_rows[bounds], graph.first_edges[graph.first_rows[bounds]]
        payoffs = self.payoffs if barred is None else np.where(barred, -np.inf, self.payoffs)
        values, best = np.full(bounds[-1], start), graph.first_rows[:-1].copy()
        full = [level for level in range(len(bounds) - 1) if bounds[level] < bounds[level + 1]]
        for _ in range(MAX_SWEEPS):
            change = 0.0
            for level in full:
                nodes = slice(bounds[level], bounds[level + 1])
                part, along = slice(rows[level], rows[level + 1]), slice(edges[level], edges[level + 1])
                worth = self.chances[along] * values[graph.targets[along]]
                owners = self._edge_rows[along] - part.start
                returns: Floats = payoffs[part] + np.bincount(owners, worth, part.stop - part.start)
                first = graph.first_rows[nodes] - part.start
                better = np.maximum.reduceat(returns, first)
                moved = np.abs(better - values[nodes])
                change = max(change, float(moved.max()))
                rises = np.flatnonzero(better > values[nodes] + 1e-10)
                if start < 0 and rises.size:
                    best[nodes][rises] = part.start + _first_best(returns, better, first)[rises]
                values[nodes] = better
            if change < PRECISION:
                break
        return values, best

    def value(self, values: Floats, starter: int | None = None) -> float:
        """The value before the deal: with this seat to begin, or each in half of the rounds."""
        if starter is None:
            return (self.value(values, ME) + self.value(values, THEM)) / 2
        return float(sum(p * values[node] for node, p in self.graph.starts[starter]))

    def value_without(self, barred: npt.NDArray[np.bool_]) -> float:
        """The lower bound of the value for a responder who never takes some rows, (rows,); each node keeps one."""
        return self.value(self._iterate(-1.0, barred)[0])


def _first_best(returns: Floats, highest: Floats, first: Whole) -> Whole:
    """By node, the place of its first row that is worth the most."""
    sizes = np.diff(np.append(first, len(returns)))
    best = np.flatnonzero(returns >= np.repeat(highest, sizes))
    owners = np.repeat(np.arange(len(first)), sizes)[best]
    return best[np.unique(owners, return_index=True)[1]]


def _chosen(probabilities: Floats, choices: Whole) -> Floats:
    """The probability of each choice; 1 on the responder's turn."""
    return np.where(choices < 0, 1.0, probabilities.reshape(-1)[np.maximum(choices, 0)])
