"""Full tables of a tiny game for two, and what an action makes of them with which probability.

The order of the draw pile is chance, so a table holds the cards of the pile without their order. Chance is enumerated:
the engine of the core makes every step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from uno_flex_env._core import Reshuffles, State
from uno_flex_env.actions import DRAW
from uno_flex_env.cards import FACES, SYMBOLS, text_to_card
from uno_flex_env.rules import Rules

ME, THEM = 0, 1
"""The seat that responds, and the seat of the policy that is measured."""

Cards = tuple[int, ...]

SWITCHES = {"deck", "hand_size", "two_player_reverse", "flex_action_match", "play_drawn_card", "target_score"}
"""The switches that a table of this module can follow."""


class World(NamedTuple):
    """A full table. Cards are sorted."""

    hands: tuple[Cards, Cards]
    pile: Cards
    top: int
    color: int
    green: int
    direction: int
    current_player: int
    drawn: int
    """The card just drawn in phase drawn, or -1."""
    empty: int
    """1 after a draw that yielded no card."""
    payoff: float | None
    """For `ME`, once the round is over: 1, -1, or 0 without a winner. All rounds that pay the same are one world."""


def over(payoff: float) -> World:
    """The world at the end of a round."""
    return World(((), ()), (), -1, -1, 0, 0, -1, -1, 0, payoff)


def world_of(state: State, empty: int = 0) -> World:
    """The world of a state of the core."""
    if state.is_over:
        return over({ME: 1.0, THEM: -1.0}.get(state.winner, 0.0))
    hands = tuple(sorted(state.hand(ME))), tuple(sorted(state.hand(THEM)))
    pile = tuple(sorted(state.pile_order()))
    table = state.top, state.color, state.green, state.direction, state.current_player, state.drawn
    return World(hands, pile, *table, empty, None)


def state_of(rules: Rules, world: World, pile: Iterable[int]) -> State:
    """The core's state of a world, its pile in this order. The state is set up: it doesn't say what came before."""
    hands, order = [list(hand) for hand in world.hands], list(pile)
    if world.drawn >= 0:
        hands[world.current_player].remove(world.drawn)
        order.insert(0, world.drawn)
    current_player = world.current_player ^ world.empty
    state = State.position(
        rules.core, hands, world.top, world.color, current_player, world.direction, world.green, [], order, 0
    )
    if world.drawn >= 0 or world.empty:
        state.apply(DRAW)
    return state


@lru_cache(1 << 14)
def picks(cards: Cards, count: int) -> list[tuple[float, list[int]]]:
    """Every choice of so many cards, its probability, and an order of all cards in which they come first."""
    chosen = Counter(combinations(cards, count))
    rest = {first: (Counter(cards) - Counter(first)).elements() for first in chosen}
    return [(ways / chosen.total(), [*first, *rest[first]]) for first, ways in chosen.items()]


def outcomes(rules: Rules, world: World, action: int) -> tuple[dict[World, float], bool]:
    """The worlds that can follow an action, with their probabilities, and whether the draw pile has been renewed.

    The cards drawn come from the pile and, when it runs out in the middle, from the discards under the top. A player
    who draws several cards gets the same ones in any order.
    """
    trial = state_of(rules, world, world.pile)
    held, under = len(world.hands[ME] + world.hands[THEM]) - (action < DRAW), trial.discards
    trial.apply(action)
    if trial.is_over:
        return {world_of(trial): 1.0}, False
    drawn = sum(trial.sizes) - held
    if not drawn:
        return {world_of(trial, int(action == DRAW)): 1.0}, False
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
    return found, drawn > from_pile


def deals(rules: Rules, starter: int) -> dict[World, float]:
    """Every world after the deal in which this seat begins, with its probability."""
    assert rules.deck is not None
    deck = tuple(sorted(text_to_card(card) for card, count in rules.deck.items() for _ in range(count)))
    found: dict[World, float] = {}
    for p, mine in picks(deck, rules.hand_size):
        rest = tuple(sorted(mine[rules.hand_size :]))
        for q, theirs in picks(rest, rules.hand_size):
            hands = tuple(mine[: rules.hand_size]), tuple(theirs[: rules.hand_size])
            for r, top, pile in _starters(tuple(sorted(theirs[rules.hand_size :]))):
                color = FACES[top].color
                assert color is not None
                world = World(hands, pile, top, color, 3, 1, starter, -1, 0, None)
                found[world] = found.get(world, 0.0) + p * q * r
    return found


def _starters(cards: Cards) -> Iterator[tuple[float, int, Cards]]:
    """Each first card of the discard pile with its probability, and the draw pile then (rules 2.4)."""
    for p, (card, *rest) in picks(cards, 1):
        pile = tuple(sorted(rest))
        symbol = FACES[card].symbol
        if symbol is not None and SYMBOLS[symbol].isdigit():
            yield p, card, pile
        else:
            yield from ((p * q, top, left) for q, top, left in _starters(pile))
