"""Rules 9.8: the house rule `stacking`."""

import pytest

from tests.support.notation import sizes, table


@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("card", ["gD", "gD/"])
def test_a_draw_two_may_be_answered_by_next(num_players, card, direction):
    """Rules 9.8: nothing is drawn yet."""
    following = direction % num_players
    text = f"g5 | 0: {card} b1^ b3^ | {following}: yD b2 | dir {'+' if direction == 1 else '-'}"
    game = table(text, num_players, stacking=True).play(card)

    assert (game.phase, game.current_player, game.pending_draw) == ("stack", following, 2)
    assert sizes(game) == [2] * num_players


@pytest.mark.parametrize("power", "+-")
def test_any_regular_side_draw_two_answers_and_nothing_else_does(power):
    """Rules 9.8: classic or Flex, in any color; no flex side, no wild, no card of the color."""
    hand = "rD yD/ bD gD/ g1 gS WF W4/ y5/b"
    game = table(f"g5 | 0: gD b1^ b3^ | 1: {hand} | power {power}{'-' if power == '+' else '+'}", stacking=True)

    assert game.play("gD").legal_actions == ["rD", "yD/", "gD/", "bD", "draw"]


def test_the_phase_is_entered_also_when_next_holds_no_draw_two(num_players):
    """Rules 9.8."""
    game = table("g5 | 0: gD b1^ b3^", num_players, stacking=True).play("gD")

    assert (game.phase, game.current_player, game.legal_actions) == ("stack", 1, ["draw"])


def test_answers_add_up():
    """Rules 9.8: around the table and on, until somebody draws."""
    text = "g5 | 0: gD rD/ b1^ b3^ | 1: yD b2 b4 | 2: bD/ b6 b8 | draw r1 r2^ r3 r4^ r5 r6^ r7 r8^ y1^"
    game = table(text, stacking=True)
    owed = []
    for action in ("gD", "yD", "bD/", "rD/"):
        owed.append(game.play(action).pending_draw)
    assert owed == [2, 4, 6, 8]
    assert (game.current_player, game.top, game.color) == (1, "rD/", "r")

    game.play("draw")

    assert game.hands[1] == ["b2", "b4", "r1", "r2^", "r3", "r4^", "r5", "r6^", "r7", "r8^"]
    assert sizes(game) == [2, 10, 2]


def test_a_player_who_does_not_answer_draws_the_sum_and_loses_the_turn(num_players):
    """Rules 9.8: also who could answer."""
    game = table("g5 | 0: gD b1^ b3^ | 1: yD g1 | draw b2 b4", num_players, stacking=True).play("gD").play("draw")

    assert game.hands[1] == ["b2", "b4", "g1", "yD"]
    assert (game.phase, game.current_player, game.pending_draw) == ("play", 2 % num_players, 0)


def test_a_drawn_draw_two_is_no_answer():
    """Rules 9.8: the cards of the sum stay in the hand, also a playable first one."""
    game = table("g5 | 0: gD b1^ b3^ | 1: b2 b4 | draw yD bD", 2, stacking=True).play("gD").play("draw")

    assert (game.phase, game.current_player, game.drawn) == ("play", 0, None)
    assert game.hands[1] == ["b2", "b4", "bD", "yD"]


def test_an_answer_can_start_from_a_drawn_card():
    """Rules 9.8 and 3.3: a Draw Two played just after it was drawn is answered like any other."""
    game = table("g5 | 0: b1^ b3^ | 1: yD b2 | draw gD", 2, stacking=True).play("draw").play("gD")

    assert (game.phase, game.current_player, game.pending_draw) == ("stack", 1, 2)


def test_a_flex_draw_two_is_not_answered(num_players):
    """Rules 9.8: regular sides only; everyone else draws 1."""
    game = table("g5 | 0: gD/ b1^ b3^ | 1: yD b2", num_players, stacking=True).play("gD/!")

    assert (game.phase, game.current_player, game.pending_draw) == ("play", 1, 0)
    assert sizes(game) == [2] + [3] * (num_players - 1)


@pytest.mark.parametrize("action", ["WT/!:r@1", "WA/!:r", "W4/!:r@1"])
def test_other_draws_are_not_answered(action):
    """Rules 9.8 and 4.13."""
    card = action.split("!")[0]
    game = table(f"g5 | 0: {card} b1^ b3^ | 1: rD b2", stacking=True).play(action)

    assert (game.phase, game.pending_draw) == ("play", 0)


def test_a_draw_four_is_not_answered_by_a_draw_two():
    """Rules 9.8."""
    game = table("g5 | 0: W4/ b1^ b3^ | 1: rD b2", stacking=True).play("W4/:r")

    assert game.legal_actions == ["accept", "challenge"]


def test_an_answer_leaves_powers_alone():
    """Rules 9.8 and 5.1: a Flex Draw Two answers on its regular side."""
    game = table("g5 | 0: gD b1^ b3^ | 1: yD/ b2 | power +-", stacking=True).play("gD").play("yD/")

    assert (game.power, game.pending_draw) == ("+-", 4)


@pytest.mark.parametrize("piles", ["pile r1 y2", "pile r1 | discard y2"])
def test_with_too_few_cards_the_sum_counts_as_paid(piles):
    """Rules 9.8 and 3.6: of four, there are the two cards named, `g5` and `gD`, less one each that is on top."""
    text = f"g5 | 0: gD b1^ b3^ | 1: yD b2 b4 | {piles} | only"
    game = table(text, stacking=True).play("gD").play("yD").play("draw")

    assert game.hands[0] == ["b1^", "b3^", "g5", "gD", "r1", "y2"]
    assert (game.phase, game.current_player, game.pending_draw) == ("play", 1, 0)


def test_a_last_draw_two_cannot_be_answered(num_players):
    """Rules 9.8: next draws, also with a Draw Two in hand, and the round ends."""
    game = table("g5 | 0: gD | 1: yD b2 | draw r1 r3", num_players, stacking=True).play("gD")

    assert (game.phase, game.winner, game.pending_draw) == ("over", 0, 0)
    assert game.hands[1] == ["b2", "r1", "r3", "yD"]


def test_after_a_last_answer_next_draws_the_whole_sum_and_the_round_ends():
    """Rules 9.8: 2 + 2 cards for seat 2; 7 + 3 points in hand, 1 + 3 + 5 + 7 drawn."""
    text = "g5 | 0: gD b7^ | 1: yD | 2: r3 | draw r1 y3^ r5 r7"
    game = table(text, stacking=True).play("gD").play("yD")

    assert game.hands[2] == ["r1", "r3", "r5", "r7", "y3^"]
    assert (game.phase, game.winner, game.points, game.pending_draw) == ("over", 1, 26, 0)


def test_without_last_card_draws_nobody_draws_the_sum():
    """Rules 9.8 and 9.7."""
    game = table("g5 | 0: gD b7^ | 1: yD | 2: r3", stacking=True, last_card_draws=False).play("gD").play("yD")

    assert (game.phase, game.winner, game.points) == ("over", 1, 10)
    assert sizes(game) == [1, 0, 1]


@pytest.mark.parametrize("calls", ["uno", "silent catch", "silent ignore ignore"])
def test_an_answer_that_leaves_one_card_calls_uno_before_the_next_answer(calls):
    """Rules 9.8, 8.6 and 11.9: the sum is kept, and shown as 0 in between."""
    game = table("g5 | 0: gD b1^ b3^ | 1: yD b2 | 2: rD b4 b6", stacking=True, uno_call="explicit")
    game.play("gD").play("yD")
    for call in calls.split():
        assert (game.phase in ("uno", "catch"), game.pending_draw) == (True, 0)
        game.play(call)

    assert (game.phase, game.current_player, game.pending_draw) == ("stack", 2, 4)
    assert game.play("rD").pending_draw == 6


def test_without_the_switch_there_is_no_phase_stack(num_players):
    """Rules 9.8, false."""
    game = table("g5 | 0: gD b1^ b3^ | 1: yD b2", num_players).play("gD")

    assert (game.phase, game.pending_draw, sizes(game)[1]) == ("play", 0, 4)
