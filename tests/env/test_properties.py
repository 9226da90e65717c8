"""What holds in every game, whatever the players, switches, hands, decks and seeds."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import random
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import uno_flex_env.game
from tests.support.paths import ROOT
from tests.support.playing import deal, tables, wander
from tests.support.reference import OFFICIAL, STYLES
from uno_flex_env import Game, Match, Rules, State
from uno_flex_env.cards import CODES
from uno_flex_env.state import state_to_json

MANY = settings(derandomize=True, deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])

# --- Invariants (rules 1, 5, 10; fault 25) --------------------------------------------------------------------------


def check_table(game: Game, cards: Counter[str]) -> None:
    """What holds at every decision."""
    state = game.state
    lying = [CODES[face] for face in (*state.pile_order(), *state.discards)]
    assert Counter([*lying, *(card for hand in game.hands for card in hand)]) == cards
    assert (len(state.pile_order()), len(state.discards)) == (game.draw_pile, game.discard_pile)
    assert "+" in game.power
    assert (game.legal_actions == []) == game.is_over
    assert (game.current_player is None) == game.is_over
    assert game.top in [CODES[face] for face in state.discards]
    assert state.check() is None


@pytest.mark.slow
@MANY
@given(tables(), st.integers(0, 2**32), st.sampled_from(list(STYLES)))
def test_at_every_decision_of_every_game(dealt, seed, style):
    """Rules 1, 5 and 10: all cards are there, a Power is green, an action is legal until the end. Rules 3: it comes.

    Red if `flip_powers` does not turn all green again, `renew_pile` leaves the discards, `forget_known` is left out, or
    `end_turn` does not end the round (a game never ends)."""
    game = deal(dealt)
    cards = Counter(OFFICIAL if game.rules.deck is None else game.rules.deck)

    for at in wander(game, random.Random(seed), style, patience=250):
        check_table(at, cards)
        assert at.ply < 5000
    assert game.is_over


@pytest.mark.parametrize("hand_size", [1, 2, 7])
def test_the_official_deck_has_104_cards_at_every_decision(num_players, hand_size):
    """Rules 1."""
    game = Game(num_players, Rules(hand_size=hand_size, stacking=True, uno_call="explicit"), seed=hand_size)
    for at in wander(game, random.Random(1), patience=300):
        assert at.draw_pile + at.discard_pile + sum(map(len, at.hands)) == 104


def test_a_game_in_which_no_card_is_played_ends_without_a_winner(num_players):
    """Rules 3, fault 25: all cards are drawn and kept, then there is none left."""
    game = Game(num_players, Rules(hand_size=3), seed=1)
    for _ in range(1000):
        if not game.is_over:
            game.play("draw" if "draw" in game.legal_actions else "keep")

    assert game.is_over
    assert (game.winner, game.points, game.draw_pile, game.discard_pile) == (None, 0, 0, 1)


@pytest.mark.parametrize("broken", ["cards", "power", "legal"])
def test_the_invariants_are_noticed_when_they_break(monkeypatch, broken):
    """The tests above can fail: what a game shows is falsified."""
    game = Game(3, seed=1)
    cards = Counter(OFFICIAL)
    check_table(game, cards)
    monkeypatch.setattr(
        Game, *{"cards": ("hands", [["r1"]] * 3), "power": ("power", "---"), "legal": ("legal_actions", [])}[broken]
    )

    with pytest.raises(AssertionError):
        check_table(game, cards)


# --- Same seed, same game (fault 6) ---------------------------------------------------------------------------------


def telling(seed: int, disturb: bool = False) -> str:
    """A digest of some whole games and a match: every state of them, from this seed alone."""
    digest = hashlib.sha256()
    rng = random.Random(seed)
    for num_players in (2, 3, 5, 8):
        game = Game(num_players, Rules(hand_size=5, stacking=True, uno_call="explicit"), seed=seed)
        match = Match(num_players, Rules(hand_size=2), seed=seed)
        for table in (game, match):
            for _ in range(150):
                if table.is_over:
                    break
                if disturb:
                    use_the_global_generators()
                table.play(rng.choice(table.legal_actions))
                state = table.state if isinstance(table, Game) else table.game.state
                digest.update(repr(state_to_json(state)).encode())
                if not state.is_over:
                    digest.update(state.hide(0).determinize(seed).to_bytes())
    return digest.hexdigest()


def use_the_global_generators() -> None:
    random.seed(random.random())
    np.random.seed(np.random.randint(1000))  # noqa: NPY002
    if "torch" in sys.modules:
        sys.modules["torch"].rand(3)
        sys.modules["torch"].manual_seed(random.getrandbits(30))


def global_numpy() -> list[int]:
    words: list[int] = np.random.get_state(legacy=True)[1].tolist()  # type: ignore[index]  # noqa: NPY002
    return words


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 2**64 - 1])
def test_the_same_seed_gives_the_same_game_whatever_else_is_drawn(seed):
    """Fault 6."""
    before = random.getstate(), global_numpy()
    told = telling(seed)

    assert (random.getstate(), global_numpy()) == before
    assert telling(seed, disturb=True) == told
    assert telling(seed ^ 1) != told


@pytest.mark.slow
def test_a_deal_from_the_global_generator_is_noticed(monkeypatch):
    """The test above can fail."""

    def deal_carelessly(rules, players, dealer, seed):
        return State.deal(rules, players, dealer, seed ^ random.getrandbits(64))

    monkeypatch.setattr(uno_flex_env.game, "State", SimpleNamespace(deal=deal_carelessly))

    assert telling(0, disturb=True) != telling(0)


ELSEWHERE = """
import sys
sys.path.insert(0, sys.argv[1])
if len(sys.argv) > 2:
    import torch
from tests.env.test_properties import telling
print(telling(3, disturb=True))
"""


@pytest.mark.slow
@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_the_same_seed_gives_the_same_game_in_another_process(hash_seed):
    """Fault 6: under another PYTHONHASHSEED; in one of them torch draws numbers in between, too."""
    root = str(ROOT)
    torch = ["torch"] if hash_seed == "1" and importlib.util.find_spec("torch") else []

    told = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, root, *torch],
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )

    assert told.stdout.strip() == telling(3)


@MANY
@given(tables())
def test_another_seed_deals_other_cards(dealt):
    """Or the seed would not matter: at least one of twenty does."""
    num_players, rules, dealer, seed = dealt
    first = Game(num_players, rules, dealer=dealer, seed=seed).to_record()["deck"]
    if len(first) > 4:
        assert any(
            Game(num_players, rules, dealer=dealer, seed=(seed + k) % 2**64).to_record()["deck"] != first
            for k in range(1, 21)
        )
