"""What the tests of the environments share: ways to play, and payoffs by the rules."""

import random
from typing import Any

import numpy as np
import numpy.typing as npt

from uno_flex_env import Game, Rules
from uno_flex_env.rules import CHOICES

SWITCHES: dict[str, dict[str, Any]] = {
    **{f"{name}={values[1]}": {name: values[1]} for name, values in CHOICES.items()},
    "hand_size=2": {"hand_size": 2},
    "deck": {"hand_size": 1, "deck": {"r1": 1, "r3": 1, "r5": 1, "y1^": 1, "y3^": 1, "y5/b": 1, "WF": 1, "W4/": 2}},
}
"""Each switch of rules 9 at another value than the official one."""

EVERY_PHASE = Rules(uno_call="explicit", stacking=True, flex_draw_four_challenge=True, hand_size=3)
"""Rules under which random play comes through all phases soon."""

SHORT = Rules(hand_size=2)
PHASES = {"play", "drawn", "challenge", "uno", "catch", "stack"}

NO_MATCHES = Rules(hand_size=1, deck={"r1": 1, "y3^": 1, "g5": 1, "b7^": 1})
"""Cards of which none matches another: two players draw until both piles are empty, and nobody wins (rules 3)."""


def choose(mask: npt.NDArray[np.int8], rng: random.Random) -> int:
    """A random legal action."""
    return rng.choice(np.flatnonzero(mask).tolist())


def card_points(code: str) -> int:
    """Rules 1."""
    return 50 if code[0] == "W" else int(code[1]) if code[1].isdigit() else 20


def payoffs(game: Game, reward: str) -> list[float]:
    """What each seat is paid for a finished round, from the cards on the table."""
    hands = [sum(map(card_points, hand)) for hand in game.hands]
    n = game.num_players
    if game.winner is None:
        return [0.0] * n
    if reward == "win":
        return [1.0 if seat == game.winner else -1.0 / (n - 1) for seat in range(n)]
    return [(sum(hands) if seat == game.winner else -hands[seat]) / 100 for seat in range(n)]
