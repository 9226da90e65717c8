"""The best response on the tiniest decks by counting every history, by the rules of the reference."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

from tests.support.notation import cards
from tests.support.reference import Table
from uno_flex_env import Rules


def all_deals(rules: Rules, starter: int) -> dict[object, list[tuple[float, Table]]]:
    """Every order of the cards with its probability, grouped by what seat 0 sees after the deal."""
    deck = cards(" ".join(rules.deck or {}))
    orders = list(permutations(deck))
    deals: dict[object, list[tuple[float, Table]]] = {}
    for order in orders:
        table = Table(2, 1 - starter, rules.to_dict(), list(order))
        deals.setdefault(looks(table), []).append((1.0 / len(orders), table))
    return deals


def looks(table: Table) -> object:
    """What seat 0 sees of a table of the reference."""
    drawn = table.drawn if table.to_move == 0 else table.drawn is not None
    sizes = [len(hand) for hand in table.hands]
    lies = sorted(table.discard_pile), table.top, len(table.draw_pile)
    return str((sorted(table.hands[0]), sizes, lies, table.power, table.to_move, table.phase, drawn))


def after(table: Table, text: str) -> list[tuple[float, Table]]:
    """What an action leads to: every order of a renewed pile is another table."""

    def with_order(order: Callable[[list[str]], list[str]]) -> Table:
        twin = table.copy()
        twin.order = order
        return twin.play(text)

    twin = with_order(sorted)
    if len(twin.reshuffles) == len(table.reshuffles):
        return [(1.0, twin)]
    orders = list(permutations(twin.reshuffles[-1]))
    return [(1.0 / len(orders), with_order(lambda _, order=order: list(order))) for order in orders]  # type: ignore[misc]


def counted(tables: list[tuple[float, Table]], opponent: str, depth: int) -> float:
    """The best that seat 0 can get within so many decisions from tables that it can't tell apart, weights as they are:
    every history by itself, every order of the cards by itself, by the reference's rules."""
    table = tables[0][1]
    if table.phase == "over":
        return sum(weight * {0: 1.0, 1: -1.0, None: 0.0}[table.winner] for weight, table in tables)
    if depth == 0:
        return 0.0
    values = []
    for action in table.legal() if table.to_move == 0 else [None]:
        found: dict[object, list[tuple[float, Table]]] = {}
        for weight, table in tables:
            plays = [text for text in table.legal() if text not in ("draw", "keep")]
            choices = (opponent == "flex_any" and plays) or table.legal() if action is None else [action]
            for text in choices:
                for p, twin in after(table, text):
                    found.setdefault((text, looks(twin)), []).append((weight * p / len(choices), twin))
        values.append(sum(counted(group, opponent, depth - 1) for group in found.values()))
    return max(values)
