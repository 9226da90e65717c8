"""What one player can know: `State.hide` and `View.determinize`."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.playing import PHASES, decision, switches_with, wander
from tests.rules.table import cards, deal, deck_of, table
from uno_flex_env import Game, RecordError, Rules, State
from uno_flex_env._core import NUM_FEATURES, View
from uno_flex_env.cards import CODES
from uno_flex_env.state import STATE_DTYPE

AGES = ["fresh", "old", "old_wilds", "flags", "blurred"]
"""What a state says about which cards are older than the last reshuffle."""


# ---- Two worlds that look alike to a player (fault 3) -----------------------------------------------------------------


def sees(game: Game, viewer: int) -> dict[str, Any]:
    """What lies open to this player, in the order of the rules; nothing else about the table."""
    mine = game.to_move == viewer
    return {
        "hand": game.hands[viewer],
        "sizes": [len(hand) for hand in game.hands],
        "discards": game.state.discards,
        "table": (game.top, game.color, game.direction, game.power, game.draw_pile, game.phase, game.to_move),
        "owed": game.state.owed,
        "drawn": game.drawn if mine else None,
        "legal": game.legal_actions if mine else None,
        "end": (game.winner, game.points),
    }


def story(game: Game, viewer: int) -> list[Any]:
    """All that this player has seen since the deal: every action, the table after it, hands shown in a challenge."""
    game, actions = game.copy(), game.actions
    told: list[Any] = []
    while game.ply:
        told.append((actions[game.ply - 1], sees(game, viewer)))
        decider = game.undo().to_move
        if actions[game.ply] == "challenge" and decider == viewer:
            told.append(game.hands[game.state.actor])
    return [sees(game, viewer), *reversed(told)]


def worlds(game: Game, viewer: int, rng: random.Random, tries: int = 60) -> Iterator[Game]:
    """Games with the same story for this player in which other cards are hidden: two cards that he has not seen change
    places in the deck or in the last renewed pile."""
    record, told = game.to_record(), story(game, viewer)
    last = record["reshuffles"][-1] if record["reshuffles"] else record["deck"]
    for _ in range(tries):
        pile = rng.choice([last, last, record["deck"]])
        a, b = rng.randrange(len(pile)), rng.randrange(len(pile))
        pile[a], pile[b] = pile[b], pile[a]
        try:
            other = Game.from_record(record)
        except RecordError:
            other = None
        if other and other.hands != game.hands and story(other, viewer) == told:
            yield other
        pile[a], pile[b] = pile[b], pile[a]


def look(game: Game, viewer: int) -> list[bytes]:
    """Everything that anybody is given in this player's place: the view, the observation, the mask if it decides."""
    features, mask = np.zeros(NUM_FEATURES, np.uint8), np.zeros(216, np.int8)
    game.state.encode(viewer, features)
    if game.to_move == viewer:
        game.state.write_mask(mask)
    return [game.state.hide(viewer).to_bytes(), features.tobytes(), mask.tobytes()]


def watched(phase: str, num_players: int, seed: int) -> Iterator[tuple[Game, Game, int]]:
    """Pairs of games that look alike to a player, in this phase."""
    for reshuffled in (False, True):
        game = decision(phase, num_players, seed, reshuffled=reshuffled)
        game = Game.from_record(game.to_record())  # the generator of a game and of its record differ
        rng = random.Random(f"{phase} {num_players} {seed}")
        for viewer in rng.sample(range(num_players), 2):
            for other in worlds(game, viewer, rng):
                yield game, other, viewer
