"""Tiny decks for two, solved exactly: the best that anybody can do who knows only what a player may know.

The opponent's policy is given, so the rest is a decision problem with hidden cards. Its states are beliefs: how likely
each full table is, given all that the player has seen. There are finitely many, because a pile is renewed only when it
is empty, and with two players an empty pile means that the other hand is known: every belief is a short way behind a
table without secrets. The graph of all beliefs that can come up is built by stepping the core, chance and the opponent
enumerated, and solved by value iteration from above and from below.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from uno_flex_env import Rules
from uno_flex_env._core import Reshuffles, State
from uno_flex_env.actions import DRAW, NUM_ACTIONS
from uno_flex_env.cards import FACES, text_to_card
from uno_flex_env.observation import NUM_FEATURES

ME, THEM = 0, 1

Cards = tuple[int, ...]
Floats = npt.NDArray[np.float64]
Choices = Callable[[list[int]], list[int]]
"""A fixed opponent: among which of the legal actions it chooses, all equally likely."""


def uniform(legal: list[int]) -> list[int]:
    """The bot `random`."""
    return legal


def flex_any(legal: list[int]) -> list[int]:
    """The bot of this name, where there are no wilds: any play rather than none."""
    return [action for action in legal if action < DRAW] or legal


# --- Tables, and what an action makes of them -------------------------------------------------------------------------


class World(NamedTuple):
    """A table with everything that matters for what comes; cards are sorted, the order of the pile is chance. With two
    players and no wilds, the direction is nothing to remember and the top shows the active color."""

    hands: tuple[Cards, Cards]
    pile: Cards
    top: int
    green: int
    current_player: int
    drawn: int
    """The card just drawn in phase drawn, or -1."""
    empty: int
    """1 after a draw that yielded no card."""
    payoff: float | None
    """For me, once the round is over: 1, -1, or 0 without a winner."""


def world_of(state: State, empty: int = 0) -> World:
    """What a state of the core is, the order of its pile forgotten."""
    hands = tuple(sorted(state.hand(ME))), tuple(sorted(state.hand(THEM)))
    pile = tuple(sorted(state.pile_order()))
    if state.is_over:
        return World(hands, pile, state.top, state.green, -1, -1, 0, {ME: 1.0, THEM: -1.0}.get(state.winner, 0.0))
    return World(hands, pile, state.top, state.green, state.current_player, state.drawn, empty, None)


def state_of(rules: Rules, world: World, pile: Iterable[int]) -> State:
    """The core's state of a world, its pile in this order."""
    hands, order = [list(hand) for hand in world.hands], list(pile)
    if world.drawn >= 0:
        hands[world.current_player].remove(world.drawn)
        order.insert(0, world.drawn)
    color, current_player = FACES[world.top].color, world.current_player ^ world.empty
    assert color is not None
    state = State.position(rules.core, hands, world.top, color, current_player, 1, world.green, [], order, 0)
    if world.drawn >= 0 or world.empty:
        state.apply(DRAW)
    return state


@cache
def picks(cards: Cards, count: int) -> list[tuple[float, list[int]]]:
    """Every choice of so many cards, how likely it is, and an order of all cards in which they come first."""
    chosen = Counter(combinations(cards, count))
    rest = {first: (Counter(cards) - Counter(first)).elements() for first in chosen}
    return [(ways / chosen.total(), [*first, *rest[first]]) for first, ways in chosen.items()]


def outcomes(rules: Rules, world: World, action: int) -> dict[World, float]:
    """What an action can lead to, and how likely: the cards drawn are chance, from the pile and, when it runs out in
    the middle, from the discards under the top. Who draws several cards gets the same in any order."""
    trial = state_of(rules, world, world.pile)
    held, under = len(world.hands[ME] + world.hands[THEM]) - (action < DRAW), trial.discards
    trial.apply(action)
    drawn = sum(trial.sizes) - held
    if not drawn:
        return {world_of(trial, int(action == DRAW)): 1.0}
    if action == DRAW:
        under.remove(world.top)
    from_pile = min(drawn, len(world.pile))
    found: dict[World, float] = {}
    for p, pile in picks(world.pile, from_pile):
        for q, renewed in picks(tuple(sorted(under)), drawn - from_pile):
            state = state_of(rules, world, pile)
            Reshuffles([renewed] if drawn > from_pile else []).apply(state, action)
            after = world_of(state)
            found[after] = found.get(after, 0.0) + p * q
    return found


def deals(rules: Rules, starter: int) -> dict[World, float]:
    """Every table after the deal, this seat to begin, and how likely it is."""
    assert rules.deck is not None
    deck = [text_to_card(card) for card, count in rules.deck.items() for _ in range(count)]
    dealt = Counter(world_of(State.deal_deck(rules.core, 2, 1 - starter, list(order))) for order in permutations(deck))
    return {world: count / dealt.total() for world, count in dealt.items()}


# --- Beliefs ----------------------------------------------------------------------------------------------------------

Belief = tuple[tuple[int, float], ...]
"""Numbers of worlds that the player can't tell apart, each with its probability."""


def belief_of(weights: dict[int, float]) -> Belief:
    """Normalized, and rounded, so that equal beliefs that were reached in different ways are one."""
    total = sum(weights.values())
    return tuple(sorted((world, round(weight / total, 12)) for world, weight in weights.items()))


class Game:
    """What the player sees of the game against one opponent. Worlds have numbers, as they come up."""

    def __init__(self, rules: Rules, opponent: Choices) -> None:
        official = rules.to_dict().keys() <= {"deck", "hand_size"}
        if not official or not rules.deck or any(card.startswith("W") for card in rules.deck):
            raise ValueError(f"the solver takes the official rules and a deck of colored cards, got {rules}")
        self.rules, self.opponent = rules, opponent
        self.worlds: list[World] = []
        self.numbers: dict[World, int] = {}
        self.seen: list[int] = []
        """By world, what the player sees of it: equal numbers for worlds that look alike."""
        self.legal: list[list[int]] = []
        self._signals: dict[object, int] = {}
        self._steps: dict[tuple[int, int], list[tuple[int, float]]] = {}
        self.starts = [self._deal(starter) for starter in (ME, THEM)]
        """The possible worlds with their probabilities, by who begins and by what I see after the deal."""

    def number(self, world: World) -> int:
        number = self.numbers.get(world)
        if number is None:
            number = self.numbers[world] = len(self.worlds)
            hidden = tuple(sorted(world.hands[THEM] + world.pile))
            drawn = world.drawn if world.current_player == ME else world.drawn >= 0
            signal = (world.hands[ME], len(world.pile), hidden, world[2:5], drawn, world[6:])
            self.worlds.append(world)
            self.seen.append(self._signals.setdefault(signal, len(self._signals)))
            over = world.payoff is not None
            self.legal.append([] if over else state_of(self.rules, world, world.pile).legal_actions())
        return number

    def step(self, world: int, action: int) -> list[tuple[int, float]]:
        """`outcomes` by numbers, computed once."""
        found = self._steps.get((world, action))
        if found is None:
            after = outcomes(self.rules, self.worlds[world], action)
            found = self._steps[world, action] = [(self.number(other), p) for other, p in after.items()]
        return found

    def react(self, belief: Belief, action: int | None) -> dict[tuple[int, int], dict[int, float]]:
        """My action, or the opponent's, which I don't foresee (None): by action taken and what I see then, the worlds
        that it can be, with their probabilities, which sum to 1 in all."""
        found: dict[tuple[int, int], dict[int, float]] = {}
        for world, weight in belief:
            choices = self.opponent(self.legal[world]) if action is None else [action]
            for choice in choices:
                for after, p in self.step(world, choice):
                    group = found.setdefault((choice, self.seen[after]), {})
                    group[after] = group.get(after, 0.0) + weight * p / len(choices)
        return found

    def actions(self, belief: Belief) -> list[int | None]:
        """What I can do; [None] where the opponent decides."""
        world = belief[0][0]
        return [*self.legal[world]] if self.worlds[world].current_player == ME else [None]

    def _deal(self, starter: int) -> dict[int, dict[int, float]]:
        found: dict[int, dict[int, float]] = {}
        for world, p in deals(self.rules, starter).items():
            number = self.number(world)
            found.setdefault(self.seen[number], {})[number] = p
        return found


class Solution:
    """All beliefs that can come up, and what each is worth under the best policy: the mean of 1 for a round won, -1 for
    one lost, 0 for one without a winner.

    The graph is flat. Rows are the ways to go on from a belief: one for each of my actions, or one for the opponent's
    turn. Those of a belief lie side by side, the first at `first_rows`. Edges lead from rows to the beliefs that can
    follow; where the round ends instead, the row has a payoff.

    Attributes:
        values: (beliefs,), by their numbers.
        low, high: the same from below and from above. Between them lies the value, whatever a round without an end is
            worth from -1 to 1.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.numbers: dict[Belief, int] = {}
        self.beliefs: list[Belief] = []
        self.starts = [[(self._number(worlds), sum(worlds.values())) for worlds in by.values()] for by in game.starts]
        self._expand()
        self.owners = np.repeat(np.arange(len(self.beliefs)), np.diff([*self.first_rows, len(self.actions)]))
        self.low, self.best = self._climb()
        self.high = self.iterate(1.0)
        self.values = (self.low + self.high) / 2

    def _number(self, worlds: dict[int, float]) -> int:
        belief = belief_of(worlds)
        number = self.numbers.setdefault(belief, len(self.beliefs))
        if number == len(self.beliefs):
            self.beliefs.append(belief)
        return number

    def _expand(self) -> None:
        first_rows, actions, payoffs = array("l"), array("l"), array("d")
        sources, targets, chances = array("l"), array("l"), array("d")
        for belief in self.beliefs:  # it grows on the way
            first_rows.append(len(actions))
            for action in self.game.actions(belief):
                payoff = 0.0
                for worlds in self.game.react(belief, action).values():
                    p = sum(worlds.values())
                    paid = self.game.worlds[next(iter(worlds))].payoff
                    if paid is not None:
                        payoff += p * paid
                        continue
                    sources.append(len(actions))
                    targets.append(self._number(worlds))
                    chances.append(p)
                actions.append(-1 if action is None else action)
                payoffs.append(payoff)
        self.first_rows, self.actions, self.payoffs = np.array(first_rows), np.array(actions), np.array(payoffs)
        self.sources, self.targets, self.chances = np.array(sources), np.array(targets), np.array(chances)

    def returns(self, values: Floats) -> Floats:
        """(rows,): what each way to go on is worth if the beliefs after it are worth `values`."""
        return self.payoffs + np.bincount(self.sources, self.chances * values[self.targets], len(self.actions))

    def _climb(self) -> tuple[Floats, npt.NDArray[np.intp]]:
        """Value iteration from -1, and for each belief the row that last made it rise, (beliefs,). A row that is only
        as good in the end may lead round in a circle, where what is promised never comes."""
        values, best = np.full(len(self.beliefs), -1.0), self.first_rows.copy()
        while True:
            returns = self.returns(values)
            better = np.maximum.reduceat(returns, self.first_rows)
            rises = better > values + 1e-10
            if not rises.any():
                return values, best
            best[rises] = self.first_best(returns)[rises]
            values = better

    def iterate(self, start: float, sweeps: int = 10**6, barred: npt.NDArray[np.bool_] | None = None) -> Floats:
        """Value iteration, (beliefs,): what so many more decisions, of either player, are worth if `start` is paid for
        a round that goes on. From -1 it rises, from 1 it falls, so it never passes the value; it stops where it stands
        still.

        Args:
            barred: (rows,), ways that may not be taken; a belief needs another one.
        """
        values = np.full(len(self.beliefs), start)
        for _ in range(sweeps):
            returns = self.returns(values)
            if barred is not None:
                returns[barred] = -np.inf
            before, values = values, np.maximum.reduceat(returns, self.first_rows)
            if np.abs(values - before).max() < 1e-9:
                break
        return values

    def value(self, starter: int | None = None, values: Floats | None = None) -> float:
        """Before the cards are dealt, this seat to begin, or each in half of the rounds. `values` are the beliefs', by
        default those of the best policy."""
        if starter is None:
            return (self.value(ME, values) + self.value(THEM, values)) / 2
        values = self.values if values is None else values
        return float(sum(p * values[number] for number, p in self.starts[starter]))

    def first_best(self, scores: Floats) -> npt.NDArray[np.intp]:
        """(beliefs,): of each belief's rows the first with the highest score, (rows,)."""
        best = np.flatnonzero(scores >= np.maximum.reduceat(scores, self.first_rows)[self.owners])
        return best[np.unique(self.owners[best], return_index=True)[1]]

    def act(self, belief: Belief) -> int:
        """A best action."""
        return int(self.actions[self.best[self.numbers[belief]]])


# --- Without a memory -------------------------------------------------------------------------------------------------


def memoryless(solution: Solution, rounds: int) -> float:
    """What a policy reaches that sees the present observation and remembers nothing: the best of several that were
    found by turns of weighing, for each observation, the beliefs that come with it by how often the policy before met
    them. So the best one without a memory is worth at least that."""
    views = observations(solution)
    mine, start = views[solution.owners] >= 0, np.zeros(len(solution.beliefs))
    for starts in solution.starts:
        for number, p in starts:
            start[number] += p / 2
    choices = views[solution.owners] * NUM_ACTIONS + solution.actions
    returns, rows, best = solution.returns(solution.low), solution.best, -1.0
    for _ in range(rounds):
        weights = visits(solution, rows, start)[solution.owners] + 1e-9
        scores = np.bincount(choices[mine], (weights * (returns + 1.0))[mine], choices.max() + 1)
        rows = solution.first_best(np.where(mine, scores[choices], 0.0))
        values = evaluate(solution, rows)
        best, returns = max(best, solution.value(values=values)), solution.returns(values)
    return best


def observations(solution: Solution) -> npt.NDArray[np.intp]:
    """(beliefs,): equal numbers for beliefs at which I see the same observation, -1 where it isn't my turn."""
    game, row, found = solution.game, np.zeros(NUM_FEATURES, np.uint8), dict[bytes, int]()
    numbers = np.full(len(solution.beliefs), -1)
    for number, ((first, _), *_) in enumerate(solution.beliefs):
        world = game.worlds[first]
        if world.current_player == ME:
            state_of(game.rules, world, world.pile).encode(ME, row)
            numbers[number] = found.setdefault(row.tobytes(), len(found))
    return numbers


def edges_from(
    solution: Solution, rows: npt.NDArray[np.intp]
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Floats]:
    """The edges that leave these rows, one row per belief: the belief they leave, the one they reach, the chance."""
    taken = np.zeros(len(solution.actions), np.bool_)
    taken[rows] = True
    used = taken[solution.sources]
    return solution.owners[solution.sources[used]], solution.targets[used], solution.chances[used]


def evaluate(solution: Solution, rows: npt.NDArray[np.intp]) -> Floats:
    """(beliefs,): what 200 more decisions by these rows are worth, one row per belief, if a round that goes on then
    pays -1."""
    sources, targets, chances = edges_from(solution, rows)
    values, payoffs = np.full(len(solution.beliefs), -1.0), solution.payoffs[rows]
    for _ in range(200):
        before, values = values, payoffs + np.bincount(sources, chances * values[targets], len(values))
        if np.abs(values - before).max() < 1e-9:
            break
    return values


def visits(solution: Solution, rows: npt.NDArray[np.intp], start: Floats) -> Floats:
    """(beliefs,): how often a round that goes on by these rows comes by, in its first 200 decisions."""
    sources, targets, chances = edges_from(solution, rows)
    now, found = start, start.copy()
    for _ in range(200):
        now = np.bincount(targets, chances * now[sources], len(start)).astype(np.float64)
        found += now
    return found
