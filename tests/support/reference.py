"""A second opinion on the rules: the whole rules page in plain Python, one card text at a time.

It is written from the text of the rules alone, to be read beside it, and knows nothing of the engine. It looks at every
card of a hand for every question, which makes it slow and obvious. The tests compare the engine with it.
"""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

Record = dict[str, Any]
Snapshot = dict[str, Any]

# --- Rules 1: the deck ----------------------------------------------------------------------------------------------

COLORS = "rygb"
FLEX_COLOR = {"y": "gggbbbrr", "r": "bbbgggyy", "b": "rrryyygg", "g": "yyyrrrbb"}
FLIP_ICON = {"y": "1357", "b": "1357", "r": "2468", "g": "2468"}
WILDS = ["WF", "WT/", "WA/", "W4/"]


def faces() -> list[str]:
    """The 92 faces in the order of rules 10."""
    found = []
    for color in COLORS:
        found += [color + number + ("^" if number in FLIP_ICON[color] else "") for number in "12345678"]
        found += [color + action for action in "SRD"]
        found += [f"{color}{number}/{FLEX_COLOR[color][int(number) - 1]}" for number in "12345678"]
        found += [f"{color}{action}/" for action in "SRD"]
    return found + WILDS


OFFICIAL = {face: 4 if face in WILDS else 1 for face in faces()}


def is_wild(card: str) -> bool:
    """Whether the card is a wild."""
    return card in WILDS


def is_number(card: str) -> bool:
    """Whether the card shows a number."""
    return card[1] in "12345678" and not is_wild(card)


def color_of(card: str) -> str | None:
    """The regular color; a wild has none."""
    return None if is_wild(card) else card[0]


def symbol_of(card: str) -> str | None:
    """Number, S, R or D; a wild shows no symbol (rules 4)."""
    return None if is_wild(card) else card[1]


def has_flex_side(card: str) -> bool:
    """Whether the card has a flex side."""
    return "/" in card


def flex_color_of(card: str) -> str:
    """A Flex number has another color on its flex side, a Flex action its own."""
    return card[-1] if is_number(card) else card[0]


def points_of(card: str) -> int:
    """The points of a card (rules 1)."""
    if is_wild(card):
        return 50
    return int(card[1]) if is_number(card) else 20


# --- Rules 9: the switches ------------------------------------------------------------------------------------------

SWITCHES: dict[str, list[Any]] = {
    "draw_four": ["challenge", "strict"],
    "flex_draw_four_challenge": [False, True],
    "two_player_reverse": ["skip", "pass"],
    "flex_action_match": ["color_or_symbol", "color"],
    "play_drawn_card": ["optional", "forced"],
    "uno_call": ["automatic", "explicit"],
    "last_card_draws": [True, False],
    "stacking": [False, True],
    "draw_until_playable": [False, True],
}
NUMBERS = {"hand_size": 7, "target_score": 500}


def full_rules(rules: dict[str, Any], players: int) -> dict[str, Any]:
    """Every switch with its value; ValueError for an unknown switch or a value that rules 9 does not allow."""
    full = {name: values[0] for name, values in SWITCHES.items()} | NUMBERS | {"deck": OFFICIAL}
    for name, value in rules.items():
        if name not in full:
            raise ValueError(f"no switch is called {name!r}")
        if name in SWITCHES and not any(type(value) is type(choice) and value == choice for choice in SWITCHES[name]):
            raise ValueError(f"{name} can't be {value!r}")
        if name in NUMBERS and (type(value) is not int or value < 1):
            raise ValueError(f"{name} must be at least 1, not {value!r}")
        if name == "deck":
            check_deck(value)
        full[name] = value
    dealt = players * full["hand_size"]
    others = sum(count for face, count in full["deck"].items() if not is_number(face))
    if dealt > 63 or others + dealt >= sum(full["deck"].values()):
        raise ValueError(f"{full['hand_size']} cards for each of {players} players leave no number to start with")
    return full


def check_deck(deck: Any) -> None:
    """Raise ValueError for a deck that rules 9 does not allow."""
    if not isinstance(deck, dict):
        raise ValueError("deck must be counts by face")
    for face, count in deck.items():
        if face not in OFFICIAL or type(count) is not int or not 0 <= count <= OFFICIAL[face]:
            raise ValueError(f"deck can't hold {count!r} of {face!r}")


DECISIONS = {"challenge": ["accept", "challenge"], "uno": ["silent", "uno"], "catch": ["catch", "ignore"], "over": []}
"""What is legal where no card is played (rules 10)."""


# --- The game -------------------------------------------------------------------------------------------------------


class Table:
    """One round. The fields that a snapshot names are named alike; a pile's next card comes first.

    `order` makes the new draw pile out of the discards where no script of reshuffles says it.
    """

    def __init__(
        self,
        players: int,
        dealer: int,
        rules: dict[str, Any],
        deck: list[str],
        order: Callable[[list[str]], list[str]] = sorted,
        script: list[list[str]] | None = None,
    ) -> None:
        if type(players) is not int or not 2 <= players <= 8:
            raise ValueError(f"players must be 2 to 8, not {players!r}")
        if type(dealer) is not int or not 0 <= dealer < players:
            raise ValueError(f"dealer must be a seat, not {dealer!r}")
        self.players, self.dealer, self.given_rules = players, dealer, dict(rules)
        self.rules = full_rules(rules, players)
        if Counter(deck) != +Counter(self.rules["deck"]):
            raise ValueError("the deck does not hold the cards that it should")
        self.order, self.script = order, script
        self.deck = list(deck)
        self.reshuffles: list[list[str]] = []
        self.actions: list[str] = []
        self.deal()

    def deal(self) -> None:
        """Rules 2."""
        n = self.players
        self.draw_pile, self.discard_pile = list(self.deck), []
        self.hands: list[list[str]] = [[] for _ in range(n)]
        for _ in range(self.rules["hand_size"]):
            for k in range(n):
                self.hands[(self.dealer + 1 + k) % n].append(self.draw_pile.pop(0))
        self.discard_pile.append(self.draw_pile.pop(0))
        while not is_number(self.discard_pile[-1]):
            self.discard_pile.append(self.draw_pile.pop(0))
        self.power = [True] * n
        self.direction = 1
        self.color = color_of(self.top)
        self.phase = "play"
        self.to_move: Any = (self.dealer + 1) % n  # a seat; None in phase over
        self.drawn: Any = None  # a card in phase drawn
        self.pending_draw = 0
        self.winner: int | None = None
        self.points = 0
        self.empty_draws = 0  # draws without a card that followed one another (rules 3)
        self.known: dict[tuple[int, int], list[str]] = {}  # (viewer, owner): cards seen in a challenge (rules 7)
        self.actor: int = self.to_move  # who played last
        self.upcoming: int = self.to_move  # who takes the next turn
        self.stack = 0  # what Draw Twos add up to (switch stacking)
        self.guilty = self.flex_challenge = False  # what is being challenged in phase challenge
        self.catchers: list[int] = []  # who may still catch

    @property
    def top(self) -> str:
        return self.discard_pile[-1]

    @property
    def ply(self) -> int:
        return len(self.actions)

    def seat(self, player: int, steps: int) -> int:
        """The seat so many turns after `player` in the current direction."""
        return (player + steps * self.direction) % self.players

    def others(self, player: int) -> list[int]:
        """Everyone else in turn order, beginning with next (rules 6)."""
        return [self.seat(player, k) for k in range(1, self.players)]

    # --- Rules 4 and 10: what is legal ---

    def legal(self) -> list[str]:
        """The legal actions as texts, sorted by character code."""
        if self.phase in DECISIONS:
            return list(DECISIONS[self.phase])
        hand = self.hands[self.to_move]
        if self.phase == "stack":
            return sorted([card for card in hand if symbol_of(card) == "D"] + ["draw"])
        if self.phase == "play":
            return sorted({text for card in hand for text in self.plays(card)} | {"draw"})
        forced = self.rules["play_drawn_card"] == "forced"
        return sorted(self.plays(self.drawn) + ([] if forced else ["keep"]))

    def plays(self, card: str) -> list[str]:
        """Every legal play of a card in the hand of the player to move."""
        texts = []
        if self.regular_is_legal(card):
            texts += [f"{card}:{color}" for color in COLORS] if is_wild(card) else [card]
        if self.flex_is_legal(card):
            texts += [f"{card}!:{color}" for color in COLORS] if is_wild(card) else [card + "!"]
        if card in ("WT/", "W4/"):
            flexed = [text for text in texts if "!" in text]
            texts = [text for text in texts if "!" not in text]
            texts += [f"{text}@{k}" for text in flexed for k in range(1, self.players)]
        return texts

    def regular_is_legal(self, card: str) -> bool:
        if card == "W4/" and self.rules["draw_four"] == "strict":
            return not self.is_guilty(self.to_move)
        return is_wild(card) or color_of(card) == self.color or symbol_of(card) == symbol_of(self.top)

    def flex_is_legal(self, card: str) -> bool:
        if not has_flex_side(card) or not self.power[self.to_move]:
            return False
        if is_wild(card) or flex_color_of(card) == self.color:
            return True
        if not is_number(card) and self.rules["flex_action_match"] == "color":
            return False
        return symbol_of(card) == symbol_of(self.top)

    def is_guilty(self, player: int) -> bool:
        """Whether a Draw Four that the player still holds would be played guilty (rules 7)."""
        rest = list(self.hands[player])
        rest.remove("W4/")
        return any(is_wild(card) or color_of(card) == self.color for card in rest)

    # --- One action ---

    def play(self, text: str) -> Table:
        """Take one action; ValueError if it is not legal or if a scripted reshuffle does not fit."""
        if text not in self.legal():
            raise ValueError(f"{text!r} is not legal: {' '.join(self.legal()) or 'the game is over'}")
        self.actions.append(text)
        decisions: dict[str, Callable[[], None]] = {
            "draw": self.draw_action,
            "keep": self.keep,
            "accept": lambda: self.answer(challenged=False),
            "challenge": lambda: self.answer(challenged=True),
            "uno": self.begin_turn,
            "silent": self.stay_silent,
            "catch": lambda: self.catch(True),
            "ignore": lambda: self.catch(False),
        }
        if text in decisions:
            decisions[text]()
        else:
            rest, _, offset = text.partition("@")
            side, _, called = rest.partition(":")
            target = (self.to_move + int(offset)) % self.players if offset else None
            self.play_card(side.removesuffix("!"), side.endswith("!"), called or None, target)
        return self

    # --- Rules 3: drawing ---

    def give(self, player: int, count: int) -> int:
        """Let a player draw up to `count` cards; how many there were."""
        for got in range(count):
            if not self.draw_pile and not self.renew():
                return got
            self.hands[player].append(self.draw_pile.pop(0))
            self.empty_draws = 0
        return count

    def renew(self) -> bool:
        """Make a new draw pile of everything below the top; whether there was anything."""
        rest = self.discard_pile[:-1]
        if not rest:
            return False
        if self.script is None:
            pile = self.order(rest)
        elif not self.script:
            raise ValueError("a reshuffle is missing")
        else:
            pile = self.script.pop(0)
        if Counter(pile) != Counter(rest):
            raise ValueError("the reshuffle has other cards than the discard pile")
        self.reshuffles.append(list(pile))
        self.draw_pile, self.discard_pile = list(pile), [self.top]
        return True

    def draw_action(self) -> None:
        player = self.to_move
        if self.phase == "stack":
            got = self.give(player, self.stack)
            self.stack = self.pending_draw = 0
        else:
            got = self.give(player, 1)
            while got and self.rules["draw_until_playable"] and not self.plays(self.hands[player][-1]):
                if not self.give(player, 1):
                    break
        if not got:
            self.empty_draws += 1
            if self.empty_draws == self.players:
                self.end(winner=None)
                return
        if got and self.phase == "play" and self.plays(self.hands[player][-1]):
            self.phase, self.drawn = "drawn", self.hands[player][-1]
            return
        self.upcoming = self.seat(player, 1)
        self.begin_turn()

    def keep(self) -> None:
        self.upcoming = self.seat(self.to_move, 1)
        self.begin_turn()

    # --- Rules 5 and 6: playing a card ---

    def play_card(self, card: str, flex: bool, called: str | None, target: Any) -> None:
        """In the order of rules 6: discard pile, Power, direction, draws or a decision, then what follows a play."""
        player = self.actor = self.to_move
        self.guilty = card == "W4/" and self.is_guilty(player)
        self.hands[player].remove(card)
        for (_, owner), cards in self.known.items():
            if owner == player and card in cards:
                cards.remove(card)
        self.discard_pile.append(card)
        self.color = called or color_of(card)
        self.drawn, self.pending_draw, self.empty_draws = None, 0, 0
        self.change_power(player, card, flex)
        if symbol_of(card) == "R":
            self.direction = -self.direction
        self.upcoming = self.seat(player, self.turns_onward(card, flex))
        if self.hands[player] or self.rules["last_card_draws"]:
            if card == "W4/" and self.opens_challenge(flex, target):
                return
            self.make_draw(player, card, flex, target)
        self.after_play()

    def change_power(self, player: int, card: str, flex: bool) -> None:
        if flex:
            self.power[player] = False
        if card.endswith("^"):
            self.power[player] = not self.power[player]
        if card == "WF":
            self.power = [not green for green in self.power]
        if not any(self.power):
            self.power = [True] * self.players

    def turns_onward(self, card: str, flex: bool) -> int:
        """How many seats on, in the direction after the play, the next turn is; 0 is the same player again."""
        symbol = symbol_of(card)
        if symbol == "S":
            return 0 if flex else 2
        if symbol == "R" and flex:
            return 2
        if symbol == "R" and self.players == 2:
            return 0 if self.rules["two_player_reverse"] == "skip" else 1
        if symbol == "D" and not flex:
            return 1 if self.rules["stacking"] else 2
        if card == "W4/" and not flex:
            return 2
        return 1

    def make_draw(self, player: int, card: str, flex: bool, target: Any) -> None:
        """What a card makes others draw."""
        if symbol_of(card) == "D" and not flex:
            self.stack += 2
            if not self.rules["stacking"] or not self.hands[player]:
                self.give(self.seat(player, 1), self.stack)
                self.stack = 0
        elif symbol_of(card) == "D" or (card == "WA/" and flex):
            for other in self.others(player):
                self.give(other, 2 if card == "WA/" else 1)
        elif card == "WT/" and flex:
            self.give(target, 2)
        elif card == "W4/":
            self.give(target if flex else self.seat(player, 1), 4)

    def opens_challenge(self, flex: bool, target: Any) -> bool:
        """Rules 7: whether somebody decides about this Draw Four; if so, it is that player's decision."""
        if not (self.rules["flex_draw_four_challenge"] if flex else self.rules["draw_four"] == "challenge"):
            return False
        self.phase, self.flex_challenge = "challenge", flex
        self.to_move = target if flex else self.seat(self.actor, 1)
        return True

    def answer(self, challenged: bool) -> None:
        """Rules 7, and the switch flex_draw_four_challenge: accept or challenge a Draw Four."""
        decider, player = self.to_move, self.actor
        if challenged:
            self.known[decider, player] = list(self.hands[player])
        if challenged and self.guilty:
            self.give(player, 4)
            if not self.flex_challenge:
                self.upcoming = decider
        else:
            self.give(decider, 6 if challenged else 4)
        self.after_play()

    # --- Rules 8: UNO and the end ---

    def after_play(self) -> None:
        """What follows a play and its challenge: the end of the round, UNO, the next turn."""
        if not self.hands[self.actor]:
            self.end(winner=self.actor)
        elif len(self.hands[self.actor]) == 1 and self.rules["uno_call"] == "explicit":
            self.phase, self.to_move = "uno", self.actor
        else:
            self.begin_turn()

    def stay_silent(self) -> None:
        self.catchers = self.others(self.actor)
        self.phase, self.to_move = "catch", self.catchers.pop(0)

    def catch(self, caught: bool) -> None:
        if not caught and self.catchers:
            self.to_move = self.catchers.pop(0)
            return
        if caught:
            self.give(self.actor, 2)
        self.begin_turn()

    def begin_turn(self) -> None:
        self.drawn = None
        self.to_move, self.phase = self.upcoming, "stack" if self.stack else "play"
        self.pending_draw = self.stack

    def end(self, winner: int | None) -> None:
        self.phase, self.to_move, self.drawn, self.winner = "over", None, None, winner
        self.pending_draw = 0
        if winner is not None:
            self.points = sum(points_of(card) for hand in self.hands for card in hand)

    # --- Rules 11: records and snapshots ---

    def snapshot(self) -> Snapshot:
        return {
            "ply": self.ply,
            "phase": self.phase,
            "to_move": self.to_move,
            "direction": self.direction,
            "top": self.top,
            "color": self.color,
            "hands": [sorted(hand) for hand in self.hands],
            "power": list(self.power),
            "draw_pile": len(self.draw_pile),
            "discard_pile": len(self.discard_pile),
            "drawn": self.drawn,
            "pending_draw": self.pending_draw,
            "winner": self.winner,
            "points": self.points,
            "legal": self.legal(),
        }

    def to_record(self) -> Record:
        return {
            "format": "uno-flex/1",
            "players": self.players,
            "dealer": self.dealer,
            "rules": self.given_rules,
            "deck": self.deck,
            "reshuffles": copy.deepcopy(self.reshuffles),
            "actions": list(self.actions),
        }

    @classmethod
    def start(cls, record: Record) -> Table:
        """The table of a record before its first action, its reshuffles scripted; ValueError if it is broken."""
        if not isinstance(record, dict):
            raise ValueError("ply 0: a record is an object")
        for key, kind in {"rules": dict, "deck": list, "reshuffles": list, "actions": list}.items():
            if not isinstance(record.get(key), kind):
                raise ValueError(f"ply 0: {key} is missing or no {kind.__name__}")
        if record.get("format") != "uno-flex/1":
            raise ValueError(f"ply 0: format is {record.get('format')!r}, not 'uno-flex/1'")
        lists = [record["deck"], *record["reshuffles"]]
        if not all(isinstance(cards, list) and all(isinstance(card, str) for card in cards) for cards in lists):
            raise ValueError("ply 0: a pile is no list of cards")
        try:
            script = copy.deepcopy(record["reshuffles"])
            players, dealer = record.get("players", 0), record.get("dealer", 0)
            return cls(players, dealer, record["rules"], record["deck"], script=script)
        except ValueError as error:
            raise ValueError(f"ply 0: {error}") from None

    def follow(self, record: Record) -> list[Snapshot]:
        """Play all actions of the record that this table was started from; the snapshots, ply 0 first."""
        snapshots = [self.snapshot()]
        for text in record["actions"]:
            try:
                self.play(text)
            except ValueError as error:
                raise ValueError(f"ply {len(snapshots) - 1}: {error}") from None
            snapshots.append(self.snapshot())
        if self.script:
            raise ValueError(f"ply {self.ply}: {len(self.script)} reshuffles too many")
        return snapshots

    @classmethod
    def from_record(cls, record: Record) -> Table:
        """The table after the record's last action; ValueError with ply and reason if it is broken or illegal."""
        table = cls.start(record)
        table.follow(record)
        return table

    def copy(self) -> Table:
        """A table that plays on by itself."""
        twin = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list):
                setattr(twin, name, [list(part) if isinstance(part, list) else part for part in value])
        twin.known = {pair: list(cards) for pair, cards in self.known.items()}
        return twin


def replay(record: Record) -> list[Snapshot]:
    """The snapshots of a record, ply 0 first."""
    return Table.start(record).follow(record)


def perft(table: Table, depth: int) -> int:
    """How many ways there are to take `depth` actions, a game that ends earlier counting once."""
    if depth == 0 or table.phase == "over":
        return 1
    return sum(perft(table.copy().play(text), depth - 1) for text in table.legal())


# --- Random games ---------------------------------------------------------------------------------------------------

STYLES: dict[str, dict[str, float]] = {
    "uniform": {},
    "eager": {"draw": 1e-6, "keep": 1e-6},
    "hoarder": {"draw": 20, "keep": 20},
    "flexer": {"!": 20, "draw": 0.1},
    "bluffer": {"W": 10, "W4": 10, "silent": 5, "challenge": 5, "draw": 0.1},
    "collector": {"D": 30, "WA": 30, "W": 3, "draw": 0.1},
}
"""By how much a style prefers actions in whose text something occurs."""


def choose(rng: random.Random, legal: list[str], style: str) -> str:
    """One legal action, in a style of play."""
    weights = [1.0] * len(legal)
    for part, factor in STYLES[style].items():
        weights = [weight * factor if part in text else weight for text, weight in zip(legal, weights, strict=True)]
    return rng.choices(legal, weights)[0]


def shuffled(rng: random.Random, cards: list[str]) -> list[str]:
    """The cards in a random order."""
    return rng.sample(cards, len(cards))


def random_game(rng: random.Random, players: int, rules: dict[str, Any], dealer: int, patience: int = 300) -> Record:
    """The record of a game, each seat in a style of its own; after `patience` actions nobody draws by choice.

    The game is whole, save for a few in thin decks: in some of these nobody can ever get rid of the last cards.
    """
    counts = rules.get("deck", OFFICIAL)
    deck = shuffled(rng, [face for face, count in counts.items() for _ in range(count)])
    table = Table(players, dealer, rules, deck, order=lambda cards: shuffled(rng, cards))
    styles = rng.choices(list(STYLES), k=players)
    while table.phase != "over" and table.ply < patience + 1000:
        style = styles[table.to_move] if table.ply < patience else "eager"
        table.play(choose(rng, table.legal(), style))
    return table.to_record()


def random_rules(rng: random.Random, players: int) -> dict[str, Any]:
    """Switches at random, naming only those that differ from the official reading; hands mostly small."""
    rules = {name: rng.choice(values) for name, values in SWITCHES.items()}
    rules["hand_size"] = rng.choice([1, 2, 3, 7, 7, 63 // players])
    official = full_rules({}, 2)
    rules = {name: value for name, value in rules.items() if value != official[name]}
    small = rules | {"deck": random_deck(rng)}
    try:
        full_rules(small, players)
    except ValueError:  # too few numbers for these hands
        return rules
    return rng.choice([rules, small])


def random_deck(rng: random.Random) -> dict[str, int]:
    """Counts by face of a smaller deck, thin in anything between nearly nothing and nearly everything."""
    density = rng.random()
    counts = {face: sum(rng.random() < density for _ in range(most)) for face, most in OFFICIAL.items()}
    return {face: count for face, count in counts.items() if count}
