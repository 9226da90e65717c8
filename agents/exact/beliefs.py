"""The graph of beliefs on a tiny deck, which is the same for all policies that the responder can meet.

A belief says how likely each full table is, given all that the responder has seen. When the draw pile runs out, the
other hand is known, so every belief is a short way behind a table without secrets, and the graph is finite.

The graph is found once, with an arbitrary policy that gives every legal action its own probability. Two histories
whose beliefs agree under it (to ten digits) are one node. `solve` in `agents.exact.solution` then fills in the
probabilities of any other policy, and checks that the histories of each node still agree.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from agents.exact.worlds import ME, SWITCHES, THEM, World, deals, outcomes, state_of
from uno_flex_env._core import State
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import derived_seeds, uniforms

Floats = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

MAX_BELIEFS = 1_000_000
"""The largest graph, which takes some two minutes to build and 2 GB."""

_LIKE = 5, 2_800, 11.0
"""A deck of five cards has about so many beliefs, and each further card multiplies them by so much; see
docs/measuring.md."""

Belief = tuple[tuple[int, float], ...]
"""Numbers of worlds that the responder can't tell apart, each with its probability."""


def check_deck(rules: Rules, num_players: int = 2) -> None:
    """ValueError unless the game can be solved."""
    if num_players != 2:
        raise ValueError(f"exact exploitability is for 2 players, got {num_players}")
    if rules.deck is None:
        raise ValueError("exact exploitability needs a tiny deck of about 7 cards, got the official deck of 104")
    cards = sum(rules.deck.values())
    least, beliefs, factor = _LIKE
    estimate = beliefs * factor ** (cards - least)
    if estimate > MAX_BELIEFS:
        most = least + int(np.log(MAX_BELIEFS / beliefs) / np.log(factor))
        raise ValueError(
            f"the deck is too large: {cards} cards have about {estimate:.0e} beliefs, and at most {MAX_BELIEFS:,} are "
            f"allowed, which is about {most} cards"
        )
    if "W4/" in rules.deck:
        raise ValueError("exact exploitability does not know challenges: the deck must not hold W4/")
    if twice := [card for card, count in rules.deck.items() if count > 1]:
        raise ValueError(f"exact exploitability needs a deck without copies, got more than one of {', '.join(twice)}")
    if other := sorted(rules.to_dict().keys() - SWITCHES):
        allowed = ", ".join(sorted(SWITCHES))
        raise ValueError(f"exact exploitability does not know the rules {', '.join(other)}; it knows {allowed}")
    rules.check(2)


class Tables:
    """The worlds of a deck, numbered as they come up, what each seat sees of them, and what follows from actions.

    Attributes:
        worlds: by number.
        seen: by world, what the responder sees: equal numbers for worlds that look alike.
        legal: by world, the legal actions.
        infostates: by world, what the measured policy sees where it decides, by number; -1 elsewhere.
        states: a state of the core for each infostate.
    """

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.worlds: list[World] = []
        self.seen: list[int] = []
        self.legal: list[list[int]] = []
        self.infostates: list[int] = []
        self.states: list[State] = []
        self.numbers: dict[World, int] = {}
        self._signals: dict[object, int] = {}
        self._views: dict[bytes, int] = {}
        self._row = np.zeros(NUM_FEATURES, np.uint8)
        self._steps: dict[tuple[int, int], tuple[list[tuple[int, float]], bool]] = {}

    def number(self, world: World) -> int:
        """The number of a world; a new one is entered."""
        number = self.numbers.get(world)
        if number is not None:
            return number
        number = self.numbers[world] = len(self.worlds)
        hidden = tuple(sorted(world.hands[THEM] + world.pile))
        drawn = world.drawn if world.current_player == ME else world.drawn >= 0
        signal = world.hands[ME], len(world.pile), hidden, world[2:7], drawn, world[8:]
        self.worlds.append(world)
        self.seen.append(self._signals.setdefault(signal, len(self._signals)))
        state = None if world.payoff is not None else state_of(self.rules, world, world.pile)
        self.legal.append([] if state is None else state.legal_actions())
        self.infostates.append(-1 if state is None or world.current_player == ME else self._infostate(state))
        return number

    def _infostate(self, state: State) -> int:
        state.encode(THEM, self._row)
        number = self._views.setdefault(self._row.tobytes(), len(self.states))
        if number == len(self.states):
            self.states.append(state)
        return number

    def step(self, world: int, action: int) -> tuple[list[tuple[int, float]], bool]:
        """`outcomes` by numbers, computed once."""
        found = self._steps.get((world, action))
        if found is None:
            after, renewed = outcomes(self.rules, self.worlds[world], action)
            found = self._steps[world, action] = [(self.number(other), p) for other, p in after.items()], renewed
        return found


class BeliefGraph:
    """All beliefs that can come up, as flat arrays.

    A row is a way to go on from a node: one for each of the responder's actions, or one for the turn of the measured
    policy. An edge leads from a row to a node that can follow. A slot is a world of a node. An entry is a way from a
    slot along an edge to a slot of the next node. Nodes have a level, and an entry to a node whose belief depends on
    the policy always comes from a higher level. Nodes lie by rising level, rows by node, edges by row.

    Attributes:
        levels: (L+1,) first node of each level, and the number of nodes.
        first_rows, first_edges, first_slots: (nodes+1,), (rows+1,), (nodes+1,).
        actions: (rows,), -1 for the policy's turn.
        targets, taken: (edges,), node and action.
        worlds: (slots,).
        priors: (slots,), the belief itself where it is the same for all policies, otherwise -1.
        entry_edges, entry_sources, entry_targets, entry_chances, entry_choices: (entries,). A target is a slot, a
            choice is infostate * 216 + action, or -1 on the responder's turn.
        end_rows, end_sources, end_payoffs, end_choices: (ends,), the same where the round ends; a payoff is that of the
            responder, times the probability.
        starts: for both seats that can begin, (node, probability) of what the responder can see after the deal.
    """

    levels: Whole
    first_rows: Whole
    first_edges: Whole
    first_slots: Whole
    actions: Whole
    targets: Whole
    taken: Whole
    worlds: Whole
    priors: Floats

    def __init__(self, rules: Rules, progress: Callable[[int], object] | None = None) -> None:
        check_deck(rules)
        self.tables = Tables(rules)
        self.starts: list[list[tuple[int, float]]] = []
        draft = _Draft(self.tables, progress)
        draft.begin(self.starts)
        draft.expand()
        self._lay_out(draft)

    @property
    def size(self) -> dict[str, int]:
        """How large the graph is."""
        return {
            "worlds": len(self.tables.worlds),
            "infostates": len(self.tables.states),
            "beliefs": len(self.first_rows) - 1,
            "edges": len(self.targets),
            "entries": len(self.entry_edges),
        }

    def _lay_out(self, draft: _Draft) -> None:
        """Number nodes by level, and everything else in the order of the nodes."""
        levels = np.array(draft.levels)
        order = np.argsort(levels, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        self.levels = np.searchsorted(levels[order], np.arange(levels.max() + 2))
        self.starts = [[(int(place[node]), p) for node, p in starts] for starts in self.starts]

        row_nodes, edge_rows = np.array(draft.row_nodes), np.array(draft.edge_rows)
        slot_nodes = np.repeat(np.arange(len(order)), [len(belief) for belief in draft.beliefs])
        rows, self.first_rows = _sorted_by(place[row_nodes], len(order))
        row_place = _inverse(rows)
        edges, self.first_edges = _sorted_by(row_place[edge_rows], len(rows))
        edge_place = _inverse(edges)
        slots, self.first_slots = _sorted_by(place[slot_nodes], len(order))
        slot_place, first = _inverse(slots), np.searchsorted(slot_nodes, np.arange(len(order)))

        self.actions = np.array(draft.actions)[rows]
        self.targets, self.taken = place[np.array(draft.targets)[edges]], np.array(draft.taken)[edges]
        self.worlds = np.array([world for belief in draft.beliefs for world, _ in belief])[slots]
        priors = np.array([p for belief in draft.beliefs for _, p in belief])
        self.priors = np.where(np.array(draft.fixed)[slot_nodes], priors, -1.0)[slots]

        entry_edges = edge_place[np.array(draft.entry_edges)]
        by_edge = np.argsort(entry_edges, kind="stable")
        source_nodes = row_nodes[edge_rows[np.array(draft.entry_edges)]]
        target_nodes = np.array(draft.targets)[np.array(draft.entry_edges)]
        self.entry_edges = entry_edges[by_edge]
        self.entry_sources = slot_place[first[source_nodes] + np.array(draft.entry_sources)][by_edge]
        self.entry_targets = slot_place[first[target_nodes] + np.array(draft.entry_targets)][by_edge]
        self.entry_chances, self.entry_choices = (
            np.array(draft.entry_chances)[by_edge],
            np.array(draft.entry_choices)[by_edge],
        )
        end_rows = np.array(draft.end_rows)
        self.end_rows, self.end_payoffs = row_place[end_rows], np.array(draft.end_payoffs)
        self.end_sources = slot_place[first[row_nodes[end_rows]] + np.array(draft.end_sources)]
        self.end_choices = np.array(draft.end_choices)


def _sorted_by(owners: Whole, number: int) -> tuple[Whole, Whole]:
    """The order that sorts by owner, and where the part of each of the `number` owners begins."""
    order = np.argsort(owners, kind="stable")
    return order, np.searchsorted(owners[order], np.arange(number + 1))


def _inverse(order: Whole) -> Whole:
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return place


class _Draft:
    """The graph while it grows; names as in `BeliefGraph`, nodes in the order in which they come up."""

    def __init__(self, tables: Tables, progress: Callable[[int], object] | None) -> None:
        self.tables, self.progress = tables, progress
        self.numbers: dict[Belief, int] = {}
        self.beliefs: list[Belief] = []
        self.places: list[dict[int, int]] = []
        self.fixed: list[bool] = []
        self.levels = array("q")
        self.row_nodes, self.actions = array("q"), array("q")
        self.edge_rows, self.targets, self.taken = array("q"), array("q"), array("q")
        self.entry_edges, self.entry_sources, self.entry_targets = array("q"), array("q"), array("q")
        self.entry_chances, self.entry_choices = array("d"), array("q")
        self.end_rows, self.end_sources, self.end_choices = array("q"), array("q"), array("q")
        self.end_payoffs = array("d")
        self._policies: list[dict[int, float]] = []

    def begin(self, starts: list[list[tuple[int, float]]]) -> None:
        """Enter the beliefs after the deal."""
        for starter in (ME, THEM):
            groups: dict[int, dict[int, float]] = {}
            for world, p in deals(self.tables.rules, starter).items():
                number = self.tables.number(world)
                groups.setdefault(self.tables.seen[number], {})[number] = p
            starts.append([(self.node(group, True), sum(group.values())) for group in groups.values()])

    def node(self, weights: dict[int, float], fixed: bool) -> int:
        """The number of a belief. `fixed`: it is the same for all policies."""
        total = sum(weights.values())
        belief = tuple(sorted((world, round(weight / total, 10)) for world, weight in weights.items()))
        number = self.numbers.setdefault(belief, len(self.beliefs))
        if number == len(self.beliefs):
            if number == MAX_BELIEFS:
                raise ValueError(f"the deck is too large: it has more than {MAX_BELIEFS:,} beliefs")
            self.beliefs.append(belief)
            self.places.append({world: place for place, (world, _) in enumerate(belief)})
            self.fixed.append(False)
            self.levels.append(_level(self.tables.worlds[belief[0][0]]))
        self.fixed[number] = self.fixed[number] or fixed or len(belief) == 1
        return number

    def policy(self, infostate: int, legal: list[int]) -> dict[int, float]:
        """The probabilities of the arbitrary policy."""
        while len(self._policies) <= infostate:
            self._policies.append({})
        found = self._policies[infostate]
        if not found:
            keys = derived_seeds(infostate, np.array(legal))
            odds = uniforms(keys) + 0.1
            found.update(zip(legal, (odds / odds.sum()).tolist(), strict=True))
        return found

    def expand(self) -> None:
        """Find all beliefs, with their rows, edges and entries."""
        tables = self.tables
        for node, belief in enumerate(self.beliefs):  # it grows on the way
            if self.progress is not None and node % 1000 == 999:
                self.progress(1000)
            first = belief[0][0]
            mine = tables.worlds[first].current_player == ME
            for action in tables.legal[first] if mine else (None,):
                self.row_nodes.append(node)
                self.actions.append(-1 if action is None else action)
                self._go_on(belief, action)

    def _go_on(self, belief: Belief, action: int | None) -> None:
        """The edges and entries of the last row: the responder's action, or None for the policy's turn."""
        tables, row = self.tables, len(self.actions) - 1
        groups: dict[tuple[int, int], list[tuple[int, int, float, int, float, bool]]] = {}
        for slot, (world, weight) in enumerate(belief):
            infostate = tables.infostates[world]
            odds = {action: 1.0} if action is not None else self.policy(infostate, tables.legal[world])
            for taken, q in odds.items():
                choice = -1 if action is not None else infostate * NUM_ACTIONS + taken
                after, renewed = tables.step(world, taken)
                for other, p in after:
                    payoff = tables.worlds[other].payoff
                    if payoff is None:
                        entry = slot, other, p, choice, weight * q * p, renewed
                        groups.setdefault((taken, tables.seen[other]), []).append(entry)
                    else:
                        self.end_rows.append(row)
                        self.end_sources.append(slot)
                        self.end_choices.append(choice)
                        self.end_payoffs.append(p * payoff)
        for (taken, _), entries in groups.items():
            weights: dict[int, float] = {}
            for _, other, _, _, weight, _ in entries:
                weights[other] = weights.get(other, 0.0) + weight
            target = self.node(weights, entries[0][5])
            edge, places = len(self.targets), self.places[target]
            self.edge_rows.append(row)
            self.targets.append(target)
            self.taken.append(taken)
            for slot, other, p, choice, _, _ in entries:
                self.entry_edges.append(edge)
                self.entry_sources.append(slot)
                self.entry_targets.append(places[other])
                self.entry_chances.append(p)
                self.entry_choices.append(choice)


def _level(world: World) -> int:
    """It falls with every action, unless the pile is renewed or the other hand is known anyway."""
    return 2 * (2 * len(world.pile) + sum(map(len, world.hands))) + (world.drawn >= 0)


@lru_cache(4)
def belief_graph(rules: Rules) -> BeliefGraph:
    """The graph of these rules, built once in a process."""
    return BeliefGraph(rules)
