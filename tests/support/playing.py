"""Random games up to a position of interest: any switches and any phase, fixed by a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from hypothesis import strategies as st

from tests.support.notation import deal as deal_record
from tests.support.notation import deck_of
from tests.support.reference import SWITCHES, choose, random_deck, random_rules
from uno_flex_env import Game, Rules

PHASES = ["play", "drawn", "challenge", "uno", "catch", "stack", "over"]

# What lets a phase occur at all.
_NEEDS: dict[str, dict[str, Any]] = {
    "challenge": {"draw_four": "challenge"},
    "uno": {"uno_call": "explicit"},
    "catch": {"uno_call": "explicit"},
    "stack": {"stacking": True},
}


def switches_with(phase: str, rng: random.Random, num_players: int) -> Rules:
    """Random rules under which the phase occurs."""
    return Rules(**random_rules(rng, num_players) | _NEEDS.get(phase, {}))


def wander(game: Game, rng: random.Random, style: str = "uniform", patience: int = 1500) -> Iterator[Game]:
    """Play the game at random to its end and yield it at every decision; after `patience` actions nobody draws by
    choice, so that it ends."""
    while True:
        yield game
        if game.is_over:
            return
        game.play(choose(rng, game.legal_actions, style if game.ply < patience else "eager"))


def decision(phase: str, num_players: int, seed: int, *, reshuffled: bool = False) -> Game:
    """A random game at one of its first decisions of this phase; with `reshuffled`, after a reshuffle."""
    return _decision(phase, num_players, seed, reshuffled).copy()


LONG = 250
"""Longer games are skipped, since tests replay them many times."""


@cache
def _decision(phase: str, num_players: int, seed: int, reshuffled: bool) -> Game:
    rng = random.Random(f"{phase} {num_players} {seed} {reshuffled}")
    while True:
        game = Game(num_players, switches_with(phase, rng, num_players), seed=rng.getrandbits(64))
        skipped = rng.randrange(4)
        style = "bluffer" if phase in ("challenge", "catch") else rng.choice(["uniform", "hoarder", "collector"])
        for at in wander(game, rng, style, patience=100):
            if at.phase == phase and (at.state.reshuffles > 0 or not reshuffled):
                skipped -= 1
                if skipped < 0 or at.is_over:
                    return at
            if at.ply > LONG:
                break


def small_deal(deck: str, num_players: int, hand_size: int, actions: str, pile: str) -> Game:
    """A deal of these cards only, after these actions, in which the draw pile is renewed once."""
    return deal_record(deck, num_players, actions=actions, reshuffles=[pile], hand_size=hand_size, deck=deck_of(deck))


# The pile is renewed, seat 1 of 3 draws WA/, seat 2 sees WF, WA/, y2 and b3^ of it, and it draws four.
SEEN_AFTER = ("WF r3 r1 WA/ r5 b2 WA/ W4/ y6 b4 WF y8 gS bS rS yS gR bR yR r7 b6 b8 y2 y4 b1^ b3^", 3, 4)
SEEN_AFTER_DRAW = "WF:r r3 r1 WA/:r r5" + 9 * " draw" + " keep draw draw W4/:r challenge"
SEEN_AFTER_PILE = "gS bS WA/ gR yS rS r3 r7 r1 bR yR WF"


def mixed_table() -> Game:
    """As above; then seat 1 plays another WF, which it has just drawn and which counts as the known one."""
    return small_deal(*SEEN_AFTER, SEEN_AFTER_DRAW + " draw draw draw WF:b", SEEN_AFTER_PILE)


@st.composite
def tables(draw: st.DrawFn) -> tuple[int, Rules, int, int]:
    """Players, switches with hand size and deck, dealer and seed of a game: what `deal` takes."""
    num_players = draw(st.integers(2, 8))
    switches: dict[str, Any] = {name: draw(st.sampled_from(values)) for name, values in SWITCHES.items()}
    switches["hand_size"] = draw(st.integers(1, 63 // num_players))
    deck = draw(st.none() | st.builds(random_deck, st.randoms(use_true_random=False)))
    rules = Rules(**switches)
    if deck and not Rules(**switches, deck=deck).core.refuse(num_players):
        rules = Rules(**switches, deck=deck)
    return num_players, rules, draw(st.integers(0, num_players - 1)), draw(st.integers(0, 2**64 - 1))


def deal(table: tuple[int, Rules, int, int]) -> Game:
    """The game of such a tuple, before the first action."""
    num_players, rules, dealer, seed = table
    return Game(num_players, rules, seed=seed, dealer=dealer)
