"""Rules 9: defaults, values that are refused, and the switches of the setup and the match."""

import dataclasses
import re
from typing import Any

import pytest

from tests.support.notation import DECK, cards, deck_of, sizes
from uno_flex_env import Game, Match, Rules


def test_the_official_reading_is_the_default():
    """Rules 9."""
    assert dataclasses.asdict(Rules()) == {
        "draw_four": "challenge",
        "flex_draw_four_challenge": False,
        "two_player_reverse": "skip",
        "flex_action_match": "color_or_symbol",
        "play_drawn_card": "optional",
        "uno_call": "automatic",
        "last_card_draws": True,
        "stacking": False,
        "draw_until_playable": False,
        "hand_size": 7,
        "deck": None,
        "target_score": 500,
    }


@pytest.mark.parametrize(
    ("switch", "value"),
    [
        ("draw_four", "bluff"),
        ("draw_four", True),
        ("flex_draw_four_challenge", "yes"),
        ("two_player_reverse", "reverse"),
        ("flex_action_match", "symbol"),
        ("play_drawn_card", "never"),
        ("uno_call", "loud"),
        ("last_card_draws", "false"),
        ("stacking", 2),
        ("draw_until_playable", None),
        ("hand_size", 0),
        ("hand_size", -1),
        ("hand_size", 2.5),
        ("target_score", 0),
        ("target_score", "500"),
    ],
)
def test_any_other_value_is_refused_by_name(switch, value):
    """Rules 9."""
    with pytest.raises(ValueError, match=switch):
        Rules(**{switch: value})


def test_an_unknown_switch_is_refused():
    """Rules 9."""
    unknown: dict[str, Any] = {"jump_in": True}
    with pytest.raises((TypeError, ValueError), match="jump_in"):
        Rules(**unknown)


@pytest.mark.parametrize("hand_size", [1, 2, 7])
def test_hand_size_is_the_number_of_cards_dealt(num_players, hand_size):
    """Rules 9.10."""
    assert sizes(Game(num_players, Rules(hand_size=hand_size), seed=1)) == [hand_size] * num_players


@pytest.mark.parametrize(("players", "largest"), [(2, 31), (3, 21), (4, 15), (5, 12), (6, 10), (7, 9), (8, 7)])
def test_players_times_hand_size_is_at_most_63(players, largest):
    """Rules 9.10."""
    assert sizes(Game(players, Rules(hand_size=largest), seed=1)) == [largest] * players
    with pytest.raises(ValueError, match="hand_size"):
        Game(players, Rules(hand_size=largest + 1), seed=1)


def test_a_smaller_deck_is_counts_by_face():
    """Rules 9.11."""
    game = Game(2, Rules(hand_size=2, deck={"r1": 1, "y2/g": 1, "gS": 1, "WF": 3, "b4": 1, "b6": 1, "g1": 1, "g3": 1}))

    dealt = sorted(game.to_record()["deck"])

    assert dealt == ["WF", "WF", "WF", "b4", "b6", "g1", "g3", "gS", "r1", "y2/g"]


def test_no_count_may_be_above_the_official_one():
    """Rules 9.11."""
    for face, count in DECK.items():
        with pytest.raises(ValueError, match=re.escape(face)):
            Rules(deck={"r1": 1, "r3": 1, "r5": 1, face: count + 1})


@pytest.mark.parametrize(
    ("deck", "fault"),
    [
        ({"r1": 1, "y9": 1}, "y9"),
        ({"y3": 1}, "y3"),
        ({"y2/r": 1}, "y2/r"),
        ({"W5/": 1}, "W5/"),
        ({"y2": -1}, "y2"),
        ({"y2": 0.5}, "y2"),
        (["y2"], "deck"),
        ("y2", "deck"),
    ],
)
def test_an_invalid_deck_is_refused_with_the_reason(deck, fault):
    """Rules 9.11."""
    with pytest.raises(ValueError, match=fault):
        Rules(deck=deck)


@pytest.mark.parametrize(
    ("deck", "enough"),
    [
        ("r1 r3 r5 WF WT/ rS", True),
        ("r1 r3 WF WT/ rS", False),
        ("r1 r3 r5", True),
        ("r1 r3", False),
        ("WF WT/ WA/ W4/", False),
        ("", False),
    ],
)
def test_cards_that_are_no_numbers_plus_the_hands_must_be_fewer_than_all_cards(deck, enough):
    """Rules 9.11: two players with one card each, so a third number is needed to start with."""
    rules = Rules(hand_size=1, deck=deck_of(deck))
    if not enough:
        with pytest.raises(ValueError, match="deck"):
            Game(2, rules, seed=1)
        return

    for seed in range(20):
        game = Game(2, rules, seed=seed)
        assert game.top in NUMBERED
        assert game.draw_pile + game.discard_pile == len(cards(deck)) - 2


NUMBERED = cards("r1 r3 r5")


@pytest.mark.parametrize("target_score", [1, 100, 500])
def test_target_score_is_for_a_match_only(target_score):
    """Rules 9.12: a round is the same."""
    rules = Rules(target_score=target_score)
    assert Game(2, rules, seed=1).hands == Game(2, seed=1).hands

    match = Match(2, rules, seed=1)
    while match.winner is None:
        assert max(match.scores) < target_score
        assert len(match.rounds) < 100, "a round is worth some 100 points"
        match.play(match.game.legal_actions[0])

    assert match.scores[match.winner] >= target_score
