"""Rules 1: the deck."""

import re
from collections import Counter

import pytest

from tests.support.notation import PRINTED, cards, table
from uno_flex_env import Game, NotationError
from uno_flex_env.cards import card_to_text, text_to_card


@pytest.fixture
def deck() -> Counter[str]:
    """How often each face is in the official deck."""
    return Counter(Game(seed=0).to_record()["deck"])


def test_the_colors_are_red_yellow_green_blue_in_this_order():
    """Rules 1.1."""
    assert [card_to_text(first)[0] for first in (0, 22, 44, 66)] == ["r", "y", "g", "b"]
    assert table("g5 | 0: WF b1^ | 1: b4 b6").legal_actions[:4] == ["WF:r", "WF:y", "WF:g", "WF:b"]


@pytest.mark.parametrize(
    ("group", "per_color", "total"),
    [
        (r"[rygb][1-8]\^?", 8, 32),
        (r"[rygb]S", 1, 4),
        (r"[rygb]R", 1, 4),
        (r"[rygb]D", 1, 4),
        (r"[rygb][1-8]/[rygb]", 8, 32),
        (r"[rygb]S/", 1, 4),
        (r"[rygb]R/", 1, 4),
        (r"[rygb]D/", 1, 4),
        (r"WF", 0, 4),
        (r"WT/", 0, 4),
        (r"WA/", 0, 4),
        (r"W4/", 0, 4),
    ],
)
def test_the_deck_holds_these_groups(deck, group, per_color, total):
    """Rules 1.2."""
    cards = [card for card in deck.elements() if re.fullmatch(group, card)]

    assert len(cards) == total
    assert [sum(card[0] == color for card in cards) for color in "rygb"] == [per_color] * 4


def test_the_deck_has_104_cards(deck):
    """Rules 1."""
    assert deck.total() == 104


def test_there_are_92_faces(deck):
    """Rules 1.3."""
    assert [card_to_text(card) for card in range(92)] == PRINTED
    assert len(deck) == 92
    assert sorted(deck) == sorted(PRINTED)


def test_each_colored_face_is_printed_once_and_each_wild_four_times(deck):
    """Rules 1.3."""
    assert [deck[face] for face in PRINTED] == [1] * 88 + [4] * 4


def test_56_cards_have_a_flex_side(deck):
    """Rules 1.4."""
    assert sum(count for face, count in deck.items() if "/" in face) == 56


@pytest.mark.parametrize("face", [face for face in PRINTED if "/" in face and face[0] != "W"])
def test_a_slash_means_a_flex_side(face):
    """Rules 1.4: on a top of its own number or symbol, either side of the card is legal."""
    top = next(card for card in PRINTED if card[1] == face[1] and card != face and card[0] != "W")

    assert table(f"{top} | 0: {face} WF | 1: g1 g3").legal_actions[:2] == [face, face + "!"]


@pytest.mark.parametrize("face", [face for face in PRINTED if "/" not in face and face[0] != "W"])
def test_no_slash_means_no_flex_side(face):
    """Rules 1.4."""
    with pytest.raises(NotationError, match=re.escape(face + "!")):
        table(f"g5/r | 0: {face} WF | 1: y1/g y2/g").play(face + "!")


def test_the_flip_icon_is_on_odd_yellow_and_blue_and_on_even_red_and_green_classic_numbers():
    """Rules 1.5."""
    flips = cards("r2^ r4^ r6^ r8^ y1^ y3^ y5^ y7^ g2^ g4^ g6^ g8^ b1^ b3^ b5^ b7^")

    assert [card_to_text(card) for card in range(92) if "^" in card_to_text(card)] == flips


@pytest.mark.parametrize(
    ("color", "flex_colors"), [("y", "gggbbbrr"), ("r", "bbbgggyy"), ("b", "rrryyygg"), ("g", "yyyrrrbb")]
)
def test_each_flex_number_has_this_flex_color(color, flex_colors):
    """Rules 1.6: the card is legal on that color called by a wild, and on no third one."""
    for number, flex_color in enumerate(flex_colors, 1):
        card = f"{color}{number}/{flex_color}"
        assert card_to_text(text_to_card(card)) == card
        for called in "rygb":
            game = table(f"WF | color {called} | 0: {card} WA/ | 1: r1 r3")
            assert (card + "!" in game.legal_actions) == (called == flex_color)


@pytest.mark.parametrize("card", cards("rS/ rR/ rD/ yS/ yR/ yD/ gS/ gR/ gD/ bS/ bR/ bD/"))
def test_a_flex_action_has_its_own_color_on_the_flex_side(card):
    """Rules 1.7."""
    for called in "rygb":
        game = table(f"WF | color {called} | 0: {card} WA/ | 1: r1 r3 | 2: r5 r7")
        assert (card + "!" in game.legal_actions) == (called == card[0])


@pytest.mark.parametrize("wild", ["WF", "WT/", "WA/", "W4/"])
def test_a_wild_has_no_color(wild):
    """Rules 1.8: it shows the color that was called, whichever that is."""
    for called in "rygb":
        game = table(f"g5 | 0: {wild} WF | 1: b4 b6").play(f"{wild}:{called}")
        assert (game.top, game.color) == (wild, called)


POINTS = {"1": 1, "2": 2, "3": 3, "4": 4, "5": 5, "6": 6, "7": 7, "8": 8, "S": 20, "R": 20, "D": 20}


@pytest.mark.parametrize("face", PRINTED)
def test_numbers_count_their_value_colored_actions_20_and_wilds_50(face):
    """Rules 1.9."""
    winner, top = ("g5", "g3") if face not in ("g5", "g3") else ("b4", "b8")

    game = table(f"{top} | 0: {winner} | 1: {face}").play(winner)

    assert game.points == (50 if face[0] == "W" else POINTS[face[1]])


@pytest.mark.parametrize(
    ("kind", "count", "points"),
    [("[rygb][1-8].*", 64, 288), ("[rygb][SRD].*", 24, 480), ("W.*", 16, 800), (".*", 104, 1568)],
)
def test_the_points_of_the_deck_add_up(kind, count, points):
    """Rules 1.10: the top (g5) and the winner's card (g3) are in no hand."""
    cards = [face for face in PRINTED for _ in range(4 if face[0] == "W" else 1) if re.fullmatch(kind, face)]
    held = [card for card in cards if card not in ("g5", "g3")]

    game = table(f"g5 | 0: g3 | 1: {' '.join(held)}").play("g3")

    assert len(cards) == count
    assert game.points == points - (8 if "g5" in cards else 0)
