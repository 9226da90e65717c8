"""What the person at the terminal sees.

Everything is drawn from worlds that `visible` makes from what the seat knows, so no hidden card can be shown. Colors
also have letters, since rich prints no colors where NO_COLOR is set or the terminal is dumb.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.columns import Columns
from rich.console import Group, JustifyMethod
from rich.table import Table
from rich.text import Text

from experiments.terminal.chair import Chair
from experiments.terminal.coach import Difference
from experiments.terminal.events import Event
from experiments.terminal.menu import Option, meaning
from uno_flex_env import render
from uno_flex_env._core import State
from uno_flex_env.actions import ACTIONS, NUM_ACTIONS, TEXTS
from uno_flex_env.cards import CODES, cards_to_text
from uno_flex_env.game import Game
from uno_flex_env.render import phrases
from uno_flex_env.rules import official_deck

PAINT = {
    "r": "bold bright_white on red",
    "y": "bold black on yellow",
    "g": "bold black on green",
    "b": "bold bright_white on blue",
    "W": "bold bright_white on bright_black",
}
CARD = re.compile(rf"(?<![\w/^])(?:{'|'.join(map(re.escape, CODES))})(?![\w/^])")
SHOWN_HINTS = 6


def paint(text: str) -> Text:
    """A text with its cards in their colors."""
    painted = Text(text)
    for found in CARD.finditer(text):
        card, start = found[0], found.start()
        painted.stylize(PAINT[card[0]], start, found.end())
        if len(card) == 4:
            painted.stylize(PAINT[card[3]], start + 3, found.end())
    return painted


def draw_news(events: Sequence[Event], chair: Chair) -> Table:
    """A line for each event: the player, the action and its effects."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for event in events:
        names = phrases.shown_names(chair.names)
        name = names[event.seat]
        sentence = phrases.action_sentence(event.seat, event.action, names).removeprefix(f"{name} ")
        grid.add_row(name, paint("; ".join([sentence, *_effects(event, chair)])))
    return grid


def _effects(event: Event, chair: Chair) -> Iterator[str]:
    """The effects of an event, in the order of rules 6.21."""
    before, after = event.before, event.after
    yield from _flips(event, chair)
    if before.direction != after.direction:
        yield "now " + _turning(after.direction)
    if TEXTS[event.action] == "challenge" and event.seat == chair.seat:
        yield f"you see {' '.join(cards_to_text(after.known(chair.seat, before.actor))) or 'an empty hand'}"
    yield from _gains(event, chair)


def _gains(event: Event, chair: Chair) -> Iterator[str]:
    gained = [_gained(event, seat) for seat in range(len(chair.names))]
    draws = TEXTS[event.action] == "draw"
    if draws and not any(gained):
        yield "there is no card left"
    for number in sorted(set(gained) - {0}):
        seats = [seat for seat, got in enumerate(gained) if got == number]
        others = [chair.names[seat] for seat in seats if seat != chair.seat]
        if len(seats) == len(chair.names) - 1 > 1 and event.seat not in seats:
            others = ["everyone else"]
        if others and not (draws and number == 1):
            yield f"{', '.join(others)} get{'s' * (len(others) == 1)} {number} card{'s' * (number > 1)}"
    if gained[chair.seat]:
        yield f"you get {' '.join(_new_cards(event, chair.seat))}"


def _played(event: Event, seat: int) -> list[str]:
    """The card that the seat has played, if it has."""
    face = ACTIONS[event.action].face
    return [CODES[face]] if seat == event.seat and face is not None else []


def _gained(event: Event, seat: int) -> int:
    return event.after.sizes[seat] - event.before.sizes[seat] + len(_played(event, seat))


def _new_cards(event: Event, seat: int) -> list[str]:
    kept = Counter(cards_to_text(event.before.hand(seat))) - Counter(_played(event, seat))
    return phrases.in_order(list((Counter(cards_to_text(event.after.hand(seat))) - kept).elements()))


def _flips(event: Event, chair: Chair) -> Iterator[str]:
    green, changed = event.after.green, event.before.green ^ event.after.green
    seats = [seat for seat in range(len(chair.names)) if changed >> seat & 1]
    if len(seats) == len(chair.names):
        yield "all Powers flip"
    elif len(seats) > 1:  # rules 5.4
        yield "all Powers are + green again"
    elif seats:
        seat = seats[0]
        whose = "your" if seat == chair.seat else "its" if seat == event.seat else f"{chair.names[seat]}'s"
        yield f"{whose} Power is now {'+ green' if green >> seat & 1 else '- red'}"


def _turning(direction: int) -> str:
    return "clockwise" if direction == 1 else "counterclockwise"


def draw_middle(state: State, chair: Chair) -> Text:
    """Top, active color, direction and piles."""
    table = chair.look(state)
    color = table.color
    text = Text("Top ") + paint(table.top) + Text("   color ")
    text += Text(f"{color} {phrases.COLORS[color]}", PAINT[color])
    piles = f"   draw pile {table.draw_pile}   discard pile {table.discard_pile}"
    return text + Text(f"   {_turning(table.direction)}{piles}")


def draw_seats(state: State, chair: Chair) -> Table:
    """A line for each player, clockwise from the person: target, name, Power, cards, and what is known of them."""
    table, players = chair.look(state), len(chair.names)
    grid = Table.grid(padding=(0, 2))
    rights: list[JustifyMethod] = ["right"] * (1 + chair.match)
    for justify in ("right", "left", "left", *rights, "left"):
        grid.add_column(justify=justify)
    following = (chair.seat + table.direction) % players
    for offset in range(players):
        seat = (chair.seat + offset) % players
        green, count = table.power[seat], len(table.hands[seat])
        notes = ["you"] * (offset == 0) + ["next"] * (seat == following) + ["dealer"] * (seat == table.dealer)
        known = phrases.in_order(cards_to_text(state.known(chair.seat, seat))) if offset else []
        notes += [f"holds {' '.join(known)}"] if known else []
        power = Text("Power ") + Text("+ green" if green else "- red", PAINT["g" if green else "r"])
        cards = Text(f"{count} card" + ("s" if count != 1 else " "), "bold" if count == 1 else "")
        name = phrases.shown_names(table.names)[seat]
        grid.add_row(f"@{offset}" if offset else ">", name, power, cards, *_score(table, seat), paint(", ".join(notes)))
    return grid


def draw_hand(state: State, chair: Chair, menu: Sequence[Option]) -> Columns:
    """The person's cards, with the numbers of the menu under those that can be played."""
    table = chair.look(state)
    cells = []
    for card in phrases.in_order(table.hands[chair.seat]):
        numbers = [str(n) for n, option in enumerate(menu, start=1) if option.text.rstrip("!") == card]
        drawn = ["new"] if card == table.drawn else []
        cells.append(paint(card) + Text("\n" + ",".join(numbers + drawn)))
    return Columns(cells, padding=(0, 2))


def draw_menu(menu: Sequence[Option], chair: Chair) -> Table:
    """The menu: numbers, choices and their meanings."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(justify="right", style="bold")
    grid.add_column(no_wrap=True)
    grid.add_column()
    for number, option in enumerate(menu, start=1):
        grid.add_row(str(number), paint(option.text), meaning(option.text, chair))
    return grid


def draw_hints(name: str, probs: Sequence[float]) -> Table:
    """The likeliest actions of a policy, by its probabilities of all actions, (216,)."""
    grid = Table.grid(padding=(0, 2))
    for justify in ("left", "right", "left"):
        grid.add_column(justify=justify)
    ranked = sorted(range(NUM_ACTIONS), key=lambda action: -probs[action])[:SHOWN_HINTS]
    for action in ranked:
        if probs[action] >= 0.005:
            grid.add_row(paint(TEXTS[action]), f"{100 * probs[action]:.0f} %", "=" * round(40 * probs[action]))
    grid.title, grid.title_justify, grid.title_style = f"{name} would play", "left", "bold"
    return grid


def draw_review(name: str, count: int, different: Sequence[Difference]) -> Group:
    """How often the policy agrees with the person, and the clearest of the other decisions."""
    grid = Table.grid(padding=(0, 2))
    for _ in range(3):
        grid.add_column()
    for one in different[:SHOWN_HINTS]:
        yours, best = one.probs
        grid.add_row(
            f"decision {one.number}",
            Text("you: ") + paint(TEXTS[one.played]) + Text(f" {100 * yours:.0f} %"),
            Text(f"{name}: ") + paint(TEXTS[one.better]) + Text(f" {100 * best:.0f} %"),
        )
    agrees = f"{name} agrees with {count - len(different)} of your {count} decisions with a choice"
    return Group(Text(agrees, "bold"), grid)


def draw_seen(state: State, chair: Chair) -> Group:
    """The cards of the discard pile, and those that the person has not seen: in other hands or in the draw pile."""
    discards = Counter(cards_to_text(state.discards))
    others = [seat for seat in range(len(chair.names)) if seat != chair.seat]
    known = Counter(card for seat in others for card in cards_to_text(state.known(chair.seat, seat)))
    hand = Counter(cards_to_text(state.hand(chair.seat)))
    unseen = Counter(chair.rules.deck or official_deck()) - discards - known - hand
    lines = [Text(f"In the discard pile, {discards.total()}:", "bold"), _listed(discards)]
    return Group(*lines, Text(f"Not seen by you, {unseen.total()}:", "bold"), _listed(unseen))


def _listed(cards: Counter[str]) -> Text:
    """The cards in order, a line for each color."""
    lines: dict[str, list[str]] = {}
    for card in phrases.in_order(list(cards)):
        lines.setdefault(card[0], []).append(card + (f" x{cards[card]}" if cards[card] > 1 else ""))
    return paint("\n".join("  " + " ".join(line) for line in lines.values()) or "  none")


def draw_end(game: Game, chair: Chair) -> Group:
    """The end of a round: the result and all hands."""
    table = chair.look(game.state)
    grid = Table.grid(padding=(0, 2))
    for seat, name in enumerate(phrases.shown_names(table.names)):
        hand = " ".join(phrases.in_order(table.hands[seat]))
        grid.add_row(Text(name, "bold"), *_score(table, seat), paint(hand or "no cards"))
    return Group(Text(f"{phrases.phase_sentence(table)}.", "bold"), grid)


def _score(table: render.Table, seat: int) -> list[str]:
    """The score of a seat in a match; empty outside a match."""
    return [] if table.scores is None else [f"{table.scores[seat]} points"]
