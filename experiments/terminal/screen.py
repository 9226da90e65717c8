"""A table as the person in one seat sees it, for the terminal.

Everything is drawn from worlds that `visible` makes up out of what the seat knows, so no hidden card can be shown.
Colors are always said by letters too; rich leaves the paint out where NO_COLOR is set or the terminal is dumb.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from rich.columns import Columns
from rich.console import Group, JustifyMethod
from rich.table import Table
from rich.text import Text

from uno_flex_env._core import State
from uno_flex_env.actions import ACTIONS, NUM_ACTIONS, TEXTS, text_to_action
from uno_flex_env.cards import CODES, cards_to_text
from uno_flex_env.game import Game
from uno_flex_env.observation import NUM_FEATURES, decode
from uno_flex_env.render import phrases as words
from uno_flex_env.render.modes import table_of
from uno_flex_env.rules import Rules

PAINT = {
    "r": "bold bright_white on red",
    "y": "bold black on yellow",
    "g": "bold black on green",
    "b": "bold bright_white on blue",
    "W": "bold bright_white on bright_black",
}
CARD = re.compile(rf"(?<![\w/^])(?:{words.CARD.pattern})(?![\w/^])")
SHOWN_HINTS = 6


@dataclass(frozen=True)
class Option:
    """One side of a card that can be played, or another decision: what the menu has a number for."""

    text: str
    """As in the notation, without called color and target."""
    actions: tuple[str, ...]
    """In notation; several if a color or a target is to be chosen."""


@dataclass(frozen=True)
class Event:
    """What somebody has done, as one seat has seen it."""

    seat: int
    action: int
    before: State
    after: State

    @property
    def drawn(self) -> int:
        """How many cards were drawn in all, a card that was played aside."""
        return sum(self.after.sizes) - sum(self.before.sizes) + (ACTIONS[self.action].face is not None)


def visible(state: State, seat: int) -> State:
    """A state that agrees with all that the seat knows, the rest made up. At the end all hands are laid open."""
    return state if state.is_over else state.hide(seat).determinize(0)


def steps(game: Game) -> list[Event]:
    """All that has happened in a round, with the true states."""
    back, found = game.copy(), list[Event]()
    for action in reversed(game.actions):
        after = back.state
        before = back.undo().state
        found.append(Event(before.current_player, text_to_action(action), before, after))
    return found[::-1]


def since_last_decision(game: Game, seat: int) -> list[Event]:
    """What has happened since the seat decided last, its own action included, as it has seen it."""
    found = list[Event]()
    for event in reversed(steps(game)):
        seen = visible(event.before, seat), visible(event.after, seat)
        found.append(Event(event.seat, event.action, *seen))
        if event.seat == seat:
            break
    return found[::-1]


def options(legal: Sequence[str]) -> list[Option]:
    """The legal actions, together what differs in called color and target alone; by color, symbol and side."""
    plays = [words.PLAY.fullmatch(action) for action in legal]
    sides = {play[0]: play["card"] + (play["flex"] or "") for play in plays if play}
    cards = words.in_order(list({play["card"] for play in plays if play}))
    ordered = sorted(sides, key=lambda action: (cards.index(sides[action].rstrip("!")), sides[action]))
    found = [Option(text, tuple(same)) for text, same in groupby(ordered, key=sides.__getitem__)]
    return found + [Option(action, (action,)) for action in legal if action not in sides]


# ---- Drawing ----


@dataclass(frozen=True)
class Chair:
    """The person's place: what is drawn depends on it and on what it sees."""

    seat: int
    names: tuple[str, ...]
    """Of all players, by seat."""
    rules: Rules
    match: bool = False

    def look(self, state: State) -> dict[str, Any]:
        """The table as the words of `uno_flex_env.render` want it."""
        table = table_of(visible(state, self.seat), self.rules, self.match, None)
        return table | {"names": list(self.names)}

    def offset(self, seat: int) -> int:
        """How many seats clockwise somebody sits, as targets are named."""
        return (seat - self.seat) % len(self.names)


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
    """Who has done what and what came of it, a line each."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for event in events:
        about = {"last": (event.seat, TEXTS[event.action]), "names": chair.names, "players": len(chair.names)}
        name = words.names(about)[event.seat]
        sentence = words.last_sentence(about).removeprefix(f"{name} ")
        grid.add_row(name, paint("; ".join([sentence, *_effects(event, chair)])))
    return grid


def _effects(event: Event, chair: Chair) -> Iterator[str]:
    """What came of it, in the order of rules 6.21."""
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
    return words.in_order(list((Counter(cards_to_text(event.after.hand(seat))) - kept).elements()))


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
    color = table["color"]
    text = Text("Top ") + paint(table["top"]) + Text("   color ")
    text += Text(f"{color} {words.COLORS[color]}", PAINT[color])
    piles = f"   draw pile {table['draw_pile']}   discard pile {table['discard_pile']}"
    return text + Text(f"   {_turning(table['direction'])}{piles}")


def draw_seats(state: State, chair: Chair) -> Table:
    """A line for each player, clockwise from the person: target, name, Power, cards, and what is known of them."""
    table, players = chair.look(state), len(chair.names)
    grid = Table.grid(padding=(0, 2))
    rights: list[JustifyMethod] = ["right"] * (1 + chair.match)
    for justify in ("right", "left", "left", *rights, "left"):
        grid.add_column(justify=justify)
    following = (chair.seat + table["direction"]) % players
    for offset in range(players):
        seat = (chair.seat + offset) % players
        green, count = table["power"][seat], len(table["hands"][seat])
        notes = ["you"] * (offset == 0) + ["next"] * (seat == following) + ["dealer"] * (seat == table["dealer"])
        known = words.in_order(cards_to_text(state.known(chair.seat, seat))) if offset else []
        notes += [f"holds {' '.join(known)}"] if known else []
        power = Text("Power ") + Text("+ green" if green else "- red", PAINT["g" if green else "r"])
        cards = Text(f"{count} card" + ("s" if count != 1 else " "), "bold" if count == 1 else "")
        name = words.names(table)[seat]
        grid.add_row(f"@{offset}" if offset else ">", name, power, cards, *_score(table, seat), paint(", ".join(notes)))
    return grid


def draw_hand(state: State, chair: Chair, menu: Sequence[Option]) -> Columns:
    """The person's cards, with the numbers of the menu under those that can be played."""
    table = chair.look(state)
    cells = []
    for card in words.in_order(table["hands"][chair.seat]):
        numbers = [str(n) for n, option in enumerate(menu, start=1) if option.text.rstrip("!") == card]
        drawn = ["new"] if card == table["drawn"] else []
        cells.append(paint(card) + Text("\n" + ",".join(numbers + drawn)))
    return Columns(cells, padding=(0, 2))


def draw_menu(menu: Sequence[Option], chair: Chair) -> Table:
    """What can be chosen, numbered, in words."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(justify="right", style="bold")
    grid.add_column(no_wrap=True)
    grid.add_column()
    for number, option in enumerate(menu, start=1):
        grid.add_row(str(number), paint(option.text), meaning(option.text, chair))
    return grid


def draw_hints(name: str, probs: Sequence[float]) -> Table:
    """What a policy would play, the likeliest first, with its probabilities, (216,)."""
    grid = Table.grid(padding=(0, 2))
    for justify in ("left", "right", "left"):
        grid.add_column(justify=justify)
    ranked = sorted(range(NUM_ACTIONS), key=lambda action: -probs[action])[:SHOWN_HINTS]
    for action in ranked:
        if probs[action] >= 0.005:
            grid.add_row(paint(TEXTS[action]), f"{100 * probs[action]:.0f} %", "=" * round(40 * probs[action]))
    grid.title, grid.title_justify, grid.title_style = f"{name} would play", "left", "bold"
    return grid


def draw_end(game: Game, chair: Chair) -> Group:
    """How a round has ended, with all hands."""
    table = chair.look(game.state)
    grid = Table.grid(padding=(0, 2))
    for seat, name in enumerate(words.names(table)):
        hand = " ".join(words.in_order(table["hands"][seat]))
        grid.add_row(Text(name, "bold"), *_score(table, seat), paint(hand or "no cards"))
    return Group(Text(f"{words.phase_sentence(table)}.", "bold"), grid)


def _score(table: dict[str, Any], seat: int) -> list[str]:
    """In a match."""
    return [] if table["scores"] is None else [f"{table['scores'][seat]} points"]


# ---- Words ----

REGULAR = {
    "S": "next is skipped",
    "R": "direction turns",
    "D": "next draws 2 and is skipped",
    "WF": "flips every Power",
    "WT": "color only",
    "WA": "color only",
    "W4": "next draws 4 and is skipped",
}
FLEX = {
    "S": "you play again",
    "R": "direction turns, next is skipped",
    "D": "everyone else draws 1",
    "WT": "whom you aim at draws 2",
    "WA": "everyone else draws 2",
    "W4": "whom you aim at draws 4",
}
VERBS = {
    "draw": "take from the draw pile",
    "keep": "keep the drawn card",
    "accept": "take the cards",
    "challenge": "see the hand and find out",
    "uno": "say it",
    "silent": "say nothing",
    "catch": "whoever forgot UNO draws 2",
    "ignore": "let it pass",
}


def meaning(text: str, chair: Chair) -> str:
    """What an option of the menu does, in words."""
    if text in VERBS:
        return VERBS[text]
    card, flex, rules = text.rstrip("!"), text.endswith("!"), chair.rules
    effect = (FLEX if flex else REGULAR).get(card[:2] if card[0] == "W" else card[1], "")
    if card[1] == "R" and len(chair.names) == 2:
        effect = REGULAR["R"] if rules.two_player_reverse == "pass" and not flex else "you play again"
    if card == "W4/" and (rules.flex_draw_four_challenge if flex else rules.draw_four == "challenge"):
        effect += ", or challenges"
    if card[1] == "D" and rules.stacking and not flex:
        effect += ", or adds another"
    effects = [effect] * bool(effect) + ["flips your Power"] * ("^" in card) + ["uses your Power"] * flex
    return "; ".join([words.side(card, flex) + ", flex" * flex, *effects])


def explain_phase(game: Game, chair: Chair) -> str:
    """What is asked of the person, in a sentence or two."""
    state, legal = game.state, game.legal_actions
    who = chair.names[state.actor] if game.phase in ("challenge", "catch") else ""
    if game.phase == "play":
        return "Play a card or draw." if len(legal) > 1 else "No card of yours fits: draw."
    if game.phase == "drawn":
        kept = "or keep it" if "keep" in legal else "and under these rules you must"
        return f"You have drawn {game.drawn}. It fits: you may play it, and no other card, {kept}."
    if game.phase == "uno":
        return "You are down to one card: say uno. If you stay silent and somebody catches you, you draw 2."
    if game.phase == "catch":
        return f"{who} is down to one card and has not said UNO: catch it, and {who} draws 2; or ignore it."
    if game.phase == "stack":
        return f"A Draw Two is on you: add a Draw Two, or draw {game.pending_draw} and lose the turn."
    row = np.empty(NUM_FEATURES, np.uint8)
    state.encode(chair.seat, row)
    prior = words.COLORS[decode(row)["prior_color"]]
    lost = "" if game.actions[-1].startswith("W4/!") else " and lose the turn"  # rules 9.2
    return (
        f"{who} has played a Draw Four on {prior}. Accept: you draw 4{lost}. Challenge: you see the hand; if it has "
        f"a {prior} card or another wild, {who} draws 4; if not, you draw 6{lost}."
    )


def why_not(action: str, game: Game, seat: int) -> str:
    """Why the person can't take an action now; it exists, but is not legal."""
    play = words.PLAY.fullmatch(action)
    if play is None:
        return f"{action} is for another moment."
    card, table = play["card"], game.snapshot()
    if card not in table["hands"][seat]:
        return f"You do not hold {card}."
    if game.phase == "drawn":
        return f"Only the drawn card can be played now, {game.drawn}."
    if game.phase == "stack":
        return "Only the regular side of a Draw Two can be played now."
    if game.phase != "play":
        return "No card can be played now."
    if play["flex"] and not table["power"][seat]:
        return f"Your Power is red, so {card} can't be played by its flex side."
    if play["offset"] and int(play["offset"]) >= game.num_players:
        return f"There are targets from @1 to @{game.num_players - 1}."
    if card[0] == "W":
        return f"{card} can't be played while you hold a card of the active color or another wild (rules 9.1)."
    side, color = words.side(card, bool(play["flex"])), words.COLORS[game.color]
    if play["flex"] and not card[1].isdigit() and game.rules.flex_action_match == "color":
        return f"{side} fits its own color alone (rules 9.4), and the color is {color}."
    return f"{side} fits neither the color {color} nor the top {game.top}."
