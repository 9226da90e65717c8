"""Fault 24: seats are egocentric everywhere, and no seat is better than its turn order makes it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from uno_flex_env import Game, Rules, State, playout
from uno_flex_env.batch import BOTS
from uno_flex_env.cards import CODES, FACES
from uno_flex_env.observation import LAYOUT, NUM_FEATURES, parts

ALL_SWITCHES = Rules(uno_call="explicit", stacking=True, flex_draw_four_challenge=True, draw_until_playable=True)


def rotated_tables(num_players: int, seed: int, rules: Rules) -> list[Game]:
    """The same table with all players moved on by 0, 1, ... seats."""
    shuffled = random.Random(seed)
    deck = [code for code, face in zip(CODES, FACES, strict=True) for _ in range(face.copies)]
    shuffled.shuffle(deck)
    top = next(card for card in deck if card[1:2].isdigit() and card[0] in "rygb")
    deck.remove(top)
    hands = [[deck.pop() for _ in range(7)] for _ in range(num_players)]
    power = "".join(shuffled.choice("+-") for _ in range(num_players - 1)) + "+"
    return [
        Game.from_position(
            hands[-k:] + hands[:-k] if k else hands,
            top,
            power=power[-k:] + power[:-k] if k else power,
            current_player=k,
            draw_pile=deck,
            rules=rules,
        )
        for k in range(num_players)
    ]


def view(game: Game, seat: int) -> np.ndarray:
    row = np.empty(NUM_FEATURES, np.uint8)
    game.state.encode(seat, row)
    return row


@pytest.mark.parametrize("rules", [Rules(), ALL_SWITCHES], ids=["official", "switches"])
@pytest.mark.parametrize("num_players", range(2, 9))
def test_a_player_sees_the_same_from_every_chair(num_players, rules):
    """Moving all players on by k seats changes no observation and no legal actions, in the whole game.

    Seen to fail with `egocentric()` returning the bits unturned, and with put_sizes() not turning the sizes."""
    tables = rotated_tables(num_players, seed=num_players, rules=rules)
    choose = random.Random(1)
    for _ in range(60):
        # Until the draw pile is renewed the games are the same; then their generators differ.
        if tables[0].is_over or tables[0].draw_pile < 20:
            break
        first = tables[0]
        for k, game in enumerate(tables):
            assert game.legal_actions == first.legal_actions
            for seat in range(num_players):
                assert (view(game, (seat + k) % num_players) == view(first, seat)).all()
        action = choose.choice(first.legal_actions)
        for game in tables:
            game.play(action)
    assert tables[0].ply >= 10


@pytest.mark.parametrize("num_players", range(2, 9))
def test_one_bot_in_all_seats_wins_as_often_from_every_chair_over_all_dealers(num_players):
    wins = wins_by_seat(num_players, ["flex_any"] * num_players)

    assert_fair(wins)


def test_a_weaker_bot_in_one_seat_is_found():
    """The proof that the test above can fail."""
    with pytest.raises(AssertionError):
        assert_fair(wins_by_seat(3, ["random", "flex_any", "flex_any"]))


def wins_by_seat(num_players: int, bots: list[str]) -> np.ndarray:
    rules = Rules().core
    deals = [State.deal(rules, num_players, dealer, seed) for seed in range(1500) for dealer in range(num_players)]
    winners, _ = playout(deals, bots, seed=11)
    return np.array([np.count_nonzero(winners == seat) for seat in range(num_players)])


def assert_fair(wins: np.ndarray) -> None:
    """Every seat wins within four standard errors of its share."""
    games, share = wins.sum(), 1 / len(wins)
    assert np.abs(wins - games * share).max() < 4 * np.sqrt(games * share * (1 - share))


def test_bots_are_named_in_order_of_their_numbers():
    assert BOTS == ("random", "flex_any", "never_flex", "always_flex", "flex_when_stuck")


def test_features_by_seat_begin_with_the_viewer():
    game = Game.from_position([["r1"], ["g1", "g3"], ["b2", "b4", "b6"]], "y4", power="-++")

    seen = parts(view(game, 1))

    assert seen["hand_sizes"].sum(axis=1)[:3].tolist() == [2, 3, 1]
    assert seen["power"].tolist() == [1, 1, 0, 0, 0, 0, 0, 0]
    assert sum(np.prod(part.shape) for part in LAYOUT.values()) == NUM_FEATURES
