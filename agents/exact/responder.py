"""The best response as a policy that can be played."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import numpy.typing as npt

from agents.exact.exploit import Exploitability
from agents.exact.worlds import ME, THEM, state_of
from agents.policy import Actions
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.policy_input import Decisions

Beliefs = dict[int, float]
"""Nodes of the graph with their weights."""

EVENTS = 256
"""How many events it reads. In the rare rounds that are longer, it takes the first legal action."""

KEPT = 200_000
"""Histories whose beliefs are kept."""


class BestResponse:
    """Plays the best response that `exploitability` has found, from the observation and the events of the round.

    The policy does not see in which order it has drawn cards between two of its decisions. Where that leaves several
    nodes of the graph, it takes the action that is best on average. So it can get slightly less than the exact value.
    """

    history = EVENTS

    def __init__(self, found: Exploitability) -> None:
        self.name = f"best response to {found.policy}"
        self._solution, self._graph = found.solution, found.solution.graph
        self._returns = found.solution.returns(found.solution.low)
        self._looks: dict[int, bytes] = {}
        self._kept: OrderedDict[bytes, Beliefs] = OrderedDict()

    def act(self, decisions: Decisions) -> Actions:
        """As `Policy.act`."""
        assert decisions.history is not None
        actions: Actions = decisions.action_mask.argmax(axis=1).astype(np.int64)
        for row, (look, events) in enumerate(zip(decisions.observation, decisions.history, strict=True)):
            events = events[events[:, 1] >= 0]
            if len(events) < EVENTS:
                actions[row] = self._best(self._after(events), look.tobytes(), actions[row])
        return actions

    def _after(self, events: npt.NDArray[np.int16]) -> Beliefs:
        """The nodes where these events can have led, before a look at the cards."""
        key = events.tobytes()
        beliefs = self._kept.get(key)
        if beliefs is None:
            if not len(events):
                beliefs = dict(self._graph.starts[ME])
            else:
                before = self._after(events[:-1])
                if len(events) == 1:
                    before = dict(self._graph.starts[THEM if events[0, 0] else ME])
                beliefs = self._follow(before, int(events[-1, 0]), int(events[-1, 1]))
            self._kept[key] = beliefs
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return beliefs

    def _follow(self, before: Beliefs, seat: int, action: int) -> Beliefs:
        graph, after = self._graph, dict[int, float]()
        for node, weight in before.items():
            for row in range(graph.first_rows[node], graph.first_rows[node + 1]):
                if graph.actions[row] != (-1 if seat else action):
                    continue
                for edge in range(graph.first_edges[row], graph.first_edges[row + 1]):
                    chance = weight * self._solution.chances[edge]
                    if graph.taken[edge] == action and chance > 0:
                        target = int(graph.targets[edge])
                        after[target] = after.get(target, 0.0) + chance
        return after

    def _best(self, beliefs: Beliefs, look: bytes, otherwise: int) -> int:
        """The best action for a responder who sees this."""
        graph, scores = self._graph, dict[int, float]()
        for node, weight in beliefs.items():
            if graph.actions[graph.first_rows[node]] < 0 or self._look(node) != look:
                continue
            for row in range(graph.first_rows[node], graph.first_rows[node + 1]):
                action = int(graph.actions[row])
                bonus = 1e-6 * (self._solution.best[node] == row)  # of actions as good: the one that gets there
                scores[action] = scores.get(action, 0.0) + weight * (self._returns[row] + bonus)
        return max(scores, key=scores.__getitem__) if scores else otherwise

    def _look(self, node: int) -> bytes:
        """The responder's observation at a node."""
        look = self._looks.get(node)
        if look is None:
            tables, row = self._graph.tables, np.zeros(NUM_FEATURES, np.uint8)
            world = tables.worlds[self._graph.worlds[self._graph.first_slots[node]]]
            state_of(tables.rules, world, world.pile).encode(ME, row)
            look = self._looks[node] = row.tobytes()
        return look
