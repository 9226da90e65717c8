"""The switches of rules 9 with their names, values and checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal, Self

from uno_flex_env import _core
from uno_flex_env.cards import CODES, FACES, NUM_FACES, text_to_card
from uno_flex_env.errors import did_you_mean

MIN_PLAYERS, MAX_PLAYERS = _core.MIN_PLAYERS, _core.MAX_PLAYERS

SWITCHES: dict[str, tuple[str | bool, str | bool]] = {
    name: (official, other) for name, official, other in _core.SWITCHES
}
"""Each switch with its two values, the official one first, in the order of the core's bits."""


@dataclass(frozen=True)
class Rules:
    """The rules of a game; the defaults are the official ones (rules 9).

    With `play_drawn_card="forced"` a round can go on forever: the players have to pass the same few cards around. This
    is rare with the official deck and more likely with a small one. Environments then need `max_decisions`.
    """

    draw_four: Literal["challenge", "strict"] = "challenge"
    """challenge: the next player may challenge a Draw Four. strict: a Draw Four is illegal if a challenge would succeed
    (rules 9.1)."""
    flex_draw_four_challenge: bool = False
    """The target of a flex Draw Four may challenge it (rules 9.2)."""
    two_player_reverse: Literal["skip", "pass"] = "skip"
    """Between two players a regular Reverse skips the opponent, or passes the turn to the opponent (rules 9.3)."""
    flex_action_match: Literal["color_or_symbol", "color"] = "color_or_symbol"
    """The flex side of a colored action card matches by color or symbol, or by color only (rules 9.4)."""
    play_drawn_card: Literal["optional", "forced"] = "optional"
    """A drawn card that fits may be played, or must be played (rules 9.5)."""
    uno_call: Literal["automatic", "explicit"] = "automatic"
    """explicit: players have to say UNO, and can be caught if they do not (rules 9.6)."""
    last_card_draws: bool = True
    """The draws of a last card happen before the round is scored (rules 9.7)."""
    stacking: bool = False
    """House rule: a Draw Two can be answered with another one, and the draws add up (rules 9.8)."""
    draw_until_playable: bool = False
    """House rule: a player draws until a card fits (rules 9.9)."""
    hand_size: int = 7
    """Cards dealt to each player (rules 9.10)."""
    deck: Mapping[str, int] | None = None
    """The number of copies of each card by its code; None is the official deck (rules 9.11)."""
    target_score: int = 500
    """A match ends when a player has this many points (rules 9.12)."""

    def __post_init__(self) -> None:
        for name, values in SWITCHES.items():
            value = getattr(self, name)
            if not any(value == allowed and type(value) is type(allowed) for allowed in values):
                raise ValueError(f"{name} must be {values[0]!r} or {values[1]!r}, got {value!r}")
        for name, most in (("hand_size", _core.MAX_HAND_SIZE), ("target_score", _core.MAX_TARGET_SCORE)):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= most:
                raise ValueError(f"{name} must be a whole number from 1 to {most}, got {value!r}")
        if self.deck is not None:
            object.__setattr__(self, "deck", _checked_deck(self.deck))

    def __hash__(self) -> int:
        return hash(tuple(tuple(v.items()) if isinstance(v, dict) else v for v in self.__dict__.values()))

    @classmethod
    def from_dict(cls, switches: Mapping[str, Any]) -> Self:
        """The rules with these switches, named as in game records, and the others official."""
        known = [field.name for field in fields(cls)]
        for name in switches:
            if name not in known:
                raise ValueError(f"unknown rule {name!r}; there are {', '.join(known)}{did_you_mean(name, known)}")
        return cls(**switches)

    def to_dict(self) -> dict[str, Any]:
        """The switches that differ from the official rules, named as in game records."""
        official = type(self)()
        return {
            f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != getattr(official, f.name)
        }

    def check(self, num_players: int) -> None:
        """Raise ValueError if this many players can't play by these rules."""
        if type(num_players) is not int or not MIN_PLAYERS <= num_players <= MAX_PLAYERS:
            raise ValueError(f"num_players must be from {MIN_PLAYERS} to {MAX_PLAYERS}, got {num_players!r}")
        if why := self.core.refuse(num_players):
            raise ValueError(f"{why}: {num_players} players, hand_size {self.hand_size}")

    @cached_property
    def core(self) -> _core.Rules:
        """These rules as the core takes them."""
        bits = sum((getattr(self, name) != values[0]) << bit for bit, (name, values) in enumerate(SWITCHES.items()))
        counts = None if self.deck is None else [self.deck.get(code, 0) for code in CODES]
        return _core.Rules(bits, self.hand_size, self.target_score, counts)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def official_deck() -> dict[str, int]:
    """The number of copies of each card."""
    return {CODES[face]: FACES[face].copies for face in range(NUM_FACES)}


def _checked_deck(deck: Mapping[str, int]) -> dict[str, int]:
    if not isinstance(deck, Mapping):
        raise ValueError(f"deck must be None or a mapping from cards to counts, got {deck!r}")
    for code, n in deck.items():
        most = FACES[text_to_card(code)].copies
        if type(n) is not int or not 0 <= n <= most:
            raise ValueError(f"deck: the official deck has {most} of {code}, so 0 to {most} are allowed, got {n!r}")
    counts = {code: deck[code] for code in CODES if deck.get(code)}
    return counts
