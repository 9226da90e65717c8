"""Rules 5: Power cards."""

import random

import pytest

from tests.support.notation import COLORED, table
from uno_flex_env import Game, Rules

FLEX_SIDES = [card for card in COLORED if "/" in card]
FLIP_ICONS = [card for card in COLORED if "^" in card]


@pytest.mark.parametrize("card", FLEX_SIDES)
def test_playing_a_colored_flex_side_turns_your_power_red(card):
    """Rules 5.1: every card on a top of its symbol."""
    top = next(other for other in COLORED if other[1] == card[1] and other != card)
    game = table(f"{top} | 0: {card} b1^ b3^ b5^", 3)

    assert game.copy().play(card + "!").power == "-++"
    assert game.copy().play(card).power == "+++"


@pytest.mark.parametrize("action", ["WT/!:r@1", "WA/!:y", "W4/!:b@2"])
def test_playing_the_flex_side_of_a_wild_turns_your_power_red(num_players, action):
    """Rules 5.1: of a target nothing but cards is asked, so its Power stays."""
    action = action.replace("@2", "@1") if num_players == 2 else action
    game = table("g5 | 0: WT/ WA/ W4/ b1^", num_players)

    assert game.play(action).power == "-" + "+" * (num_players - 1)


@pytest.mark.parametrize("action", ["WT/:r", "WA/:y", "W4/:b", "g1/y", "gS/", "gR/", "gD/", "g1", "gS"])
def test_a_regular_side_leaves_the_power_as_it_is(num_players, action):
    """Rules 5.1."""
    for powers in ("+" * num_players, "-" + "+" * (num_players - 1)):
        game = table(f"g5 | 0: WT/ WA/ W4/ g1/y gS/ gR/ gD/ g1 gS | power {powers}", num_players)
        assert game.play(action).power == powers


@pytest.mark.parametrize("card", FLIP_ICONS)
@pytest.mark.parametrize(("before", "after"), [("+++", "-++"), ("-++", "+++"), ("-+-", "++-"), ("++-", "-+-")])
def test_playing_a_number_with_the_flip_icon_flips_your_power(card, before, after):
    """Rules 5.2: never optional, so there is one way to play it."""
    top = next(other for other in COLORED if other[0] == card[0] and other != card)
    game = table(f"{top} | 0: {card} WF WF | 1: WT/ WT/ | 2: WA/ WA/ | power {before}")

    assert [action for action in game.legal_actions if action.startswith(card)] == [card]
    assert game.play(card).power == after


@pytest.mark.parametrize("card", [card for card in COLORED if card[1].isdigit() and "^" not in card])
def test_playing_a_number_without_the_icon_flips_nothing(card):
    """Rules 5.2."""
    top = next(other for other in COLORED if other[0] == card[0] and other != card)

    assert table(f"{top} | 0: {card} WF WF | power -+-", 3).play(card).power == "-+-"


@pytest.mark.parametrize(
    ("before", "after"),
    [("-+", "+-"), ("+-", "-+"), ("++-", "--+"), ("-+-", "+-+"), ("+--+", "-++-"), ("----+---", "++++-+++")],
)
def test_wild_all_flip_flips_every_seated_power(before, after):
    """Rules 5.3: the player's own too."""
    game = table(f"g5 | 0: WF b2 b4 | power {before}", len(before))

    assert game.play("WF:g").power == after


def test_the_last_green_power_brings_all_of_them_back():
    """Rules 5.4."""
    game = table("g5 | 0: y2/g r1 | 1: b4 | 2: b6 | power +--")

    game.play("y2/g!")

    assert game.power == "+++"


@pytest.mark.parametrize("action", ["y2/g!", "gS/!", "gR/!", "gD/!", "WT/!:r@1", "WA/!:r", "W4/!:r@1", "g2^"])
def test_whatever_turns_the_last_green_power_red_brings_all_of_them_back(num_players, action):
    """Rules 5.4: every flex side, and the flip icon."""
    powers = "+" + "-" * (num_players - 1)
    game = table(f"g5 | 0: y2/g gS/ gR/ gD/ WT/ WA/ W4/ g2^ | power {powers}", num_players)

    assert game.play(action).power == "+" * num_players


def test_the_powers_are_back_before_a_draw_four_decision():
    """Rules 5.4: within the same play."""
    game = table("g5 | 0: W4/ r1 r3 | 1: b4 | 2: b6 | power +--", flex_draw_four_challenge=True)

    assert game.play("W4/!:r@2").phase == "challenge"
    assert game.power == "+++"


def test_a_green_power_of_another_seat_is_enough():
    """Rules 5.4: nothing comes back while one Power is green."""
    assert table("g5 | 0: y2/g r1 r3 | power +-+-", 4).play("y2/g!").power == "--+-"


@pytest.mark.parametrize("uno_call", ["automatic", "explicit"])
def test_at_every_decision_at_least_one_power_is_green(num_players, uno_call):
    """Rules 5.5: over random games with every kind of play."""
    rng = random.Random(num_players)
    seen = set()
    for seed in range(10):
        game = Game(num_players, Rules(uno_call=uno_call, flex_draw_four_challenge=True), seed=seed)
        for _ in range(300):
            assert "+" in game.power
            seen.add(game.power)
            if game.is_over:
                break
            game.play(rng.choice(game.legal_actions))

    assert len(seen) > 2, "Powers change in these games"


def test_wild_all_flip_with_everyone_green_changes_nothing(num_players):
    """Rules 5.6: all turn red, and so all turn green."""
    game = table("g5 | 0: WF b2 b4", num_players)

    assert game.play("WF:g").power == "+" * num_players
