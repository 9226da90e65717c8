"""Game records: one game as JSON that replays without a seed (rules 11)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from uno_flex_env.actions import TEXTS, text_to_action
from uno_flex_env.cards import CODES, text_to_card
from uno_flex_env.errors import RecordError
from uno_flex_env.rules import Rules, official_deck

FORMAT = "uno-flex/1"
_KEYS = ("format", "players", "dealer", "rules", "deck", "reshuffles", "actions")
# Keys of the golden games besides those of a record.
_EXTRAS = ("snapshots", "final", "digest")


@dataclass(frozen=True)
class Record:
    """A record whose parts are well formed. Replaying it shows whether its actions are legal."""

    num_players: int
    dealer: int
    rules: Rules
    deck: tuple[int, ...]
    """Face numbers, first dealt first."""
    reshuffles: tuple[tuple[int, ...], ...]
    """For each reshuffle the new draw pile, next card first."""
    actions: tuple[int, ...]

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Read the JSON form. Raises `RecordError`, which says what is wrong with it."""
        if not isinstance(data, Mapping):
            raise RecordError(f"a record is a JSON object, got {type(data).__name__}")
        for key in _KEYS:
            if key not in data:
                raise RecordError(f"the record lacks {key!r}")
        for key in data:
            if key not in _KEYS + _EXTRAS:
                raise RecordError(f"the record has an unknown key {key!r}")
        if data["format"] != FORMAT:
            raise RecordError(f"format must be {FORMAT!r}, got {data['format']!r}")
        try:
            rules = Rules.from_dict(_typed(data, "rules", Mapping))
            players = _typed(data, "players", int)
            rules.check(players)
        except ValueError as error:
            raise RecordError(str(error)) from None
        dealer = _typed(data, "dealer", int)
        if not 0 <= dealer < players:
            raise RecordError(f"dealer must be a seat from 0 to {players - 1}, got {dealer}")
        deck = _cards(_typed(data, "deck", list), "deck")
        _check_deck(deck, rules)
        copies = _deck_of(rules)
        reshuffles = tuple(_pile(pile, i, copies) for i, pile in enumerate(_typed(data, "reshuffles", list), start=1))
        return cls(players, dealer, rules, deck, reshuffles, _actions(_typed(data, "actions", list)))

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "format": FORMAT,
            "players": self.num_players,
            "dealer": self.dealer,
            "rules": self.rules.to_dict(),
            "deck": [CODES[face] for face in self.deck],
            "reshuffles": [[CODES[face] for face in pile] for pile in self.reshuffles],
            "actions": [TEXTS[action] for action in self.actions],
        }


def _typed(data: Mapping[str, Any], key: str, kind: type) -> Any:
    value = data[key]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise RecordError(f"{key} must be {_JSON_NAMES[kind]}, got {value!r}")
    return value


_JSON_NAMES: dict[type, str] = {int: "a whole number", list: "an array", Mapping: "an object"}


def _cards(texts: object, name: str) -> tuple[int, ...]:
    if not isinstance(texts, list):
        raise RecordError(f"{name} must be an array of cards, got {texts!r}")
    try:
        return tuple(text_to_card(text) for text in texts)
    except ValueError as error:
        raise RecordError(f"{name}: {error}") from None


def _pile(texts: object, number: int, copies: Counter[str]) -> tuple[int, ...]:
    """The new draw pile of one reshuffle, from a deck with these copies of each card. Replaying the record shows
    whether it holds the right cards."""
    pile = _cards(texts, f"reshuffle {number}")
    for code, count in Counter(CODES[face] for face in pile).items() if pile else ():
        if count > copies[code]:
            raise RecordError(f"reshuffle {number} lists more copies than the deck has: {count} of {code}")
    return pile


def _deck_of(rules: Rules) -> Counter[str]:
    return Counter(official_deck() if rules.deck is None else rules.deck)


def _check_deck(deck: Sequence[int], rules: Rules) -> None:
    wanted = _deck_of(rules)
    given = Counter(CODES[face] for face in deck)
    if given != wanted:
        missing, extra = sorted((wanted - given).elements()), sorted((given - wanted).elements())
        raise RecordError(f"the deck is not the one the rules name: missing {missing}, too many {extra}")


def _actions(texts: list[object]) -> tuple[int, ...]:
    actions: list[int] = []
    for ply, text in enumerate(texts):
        try:
            actions.append(text_to_action(text))  # type: ignore[arg-type]
        except ValueError as error:
            raise RecordError(str(error), ply) from None
    return tuple(actions)
