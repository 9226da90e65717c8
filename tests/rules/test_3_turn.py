"""Rules 3: a turn."""

import pytest

from tests.support.notation import deal, deck_of, sizes, table
from uno_flex_env import Game, IllegalActionError, Rules


def test_a_turn_is_one_legal_card_or_a_draw():
    """Rules 3.1."""
    game = table("g5 | 0: g1/y r4/g b1^ WF | 1: b4 b6")

    assert game.legal_actions == ["g1/y", "r4/g!", "WF:r", "WF:y", "WF:g", "WF:b", "draw"]


def test_a_flex_side_needs_a_green_power():
    """Rules 3.1."""
    assert table("g5 | 0: g5/r r4/g WA/ | 1: b4 | power -+").legal_actions == [
        *["g5/r", "WA/:r", "WA/:y", "WA/:g", "WA/:b", "draw"]
    ]


@pytest.mark.parametrize("action", ["g1", "r4/g!", "WF:r", "draw"])
def test_after_one_card_or_a_draw_the_turn_is_over(num_players, action):
    """Rules 3.1: the drawn card (b1^) can't be played."""
    game = table("g5 | 0: g1 r4/g WF b2 | draw b1^", num_players).play(action)

    assert (game.current_player, game.phase) == (1, "play")
    assert sizes(game)[0] == (5 if action == "draw" else 3)


@pytest.mark.parametrize("hand", ["g1 g2^", "WF WF", "g5/r W4/", "b1^ b2"])
def test_drawing_is_allowed_also_with_a_playable_card(num_players, hand):
    """Rules 3.2."""
    game = table(f"g5 | 0: {hand} | draw b3^", num_players)

    assert game.legal_actions[-1] == "draw"
    assert game.play("draw").hands[0] == sorted([*hand.split(), "b3^"])


@pytest.mark.parametrize(
    ("drawn", "power", "plays"),
    [
        ("g2^", "+", ["g2^"]),
        ("g1/y", "+", ["g1/y"]),
        ("r4/g", "+", ["r4/g!"]),
        ("r5/g", "+", ["r5/g", "r5/g!"]),
        ("r5/g", "-", ["r5/g"]),
        ("gS/", "+", ["gS/", "gS/!"]),
        ("gS/", "-", ["gS/"]),
        ("WF", "+", ["WF:r", "WF:y", "WF:g", "WF:b"]),
        ("WA/", "+", ["WA/:r", "WA/:y", "WA/:g", "WA/:b", "WA/!:r", "WA/!:y", "WA/!:g", "WA/!:b"]),
        ("WA/", "-", ["WA/:r", "WA/:y", "WA/:g", "WA/:b"]),
    ],
)
def test_a_playable_drawn_card_and_no_other_may_be_played_or_kept(num_players, drawn, power, plays):
    """Rules 3.3: the hand holds other playable cards."""
    powers = power + "+" * (num_players - 1)
    game = table(f"g5 | 0: g1 WT/ y5^ | draw {drawn} | power {powers}", num_players).play("draw")

    assert (game.phase, game.current_player, game.drawn) == ("drawn", 0, drawn)
    assert game.legal_actions == [*plays, "keep"]


@pytest.mark.parametrize("action", ["r5/g", "r5/g!"])
def test_the_drawn_card_is_played_on_either_side(num_players, action):
    """Rules 3.3."""
    game = table("g5 | 0: g1 b2 | draw r5/g", num_players).play("draw").play(action)

    assert (game.top, game.current_player, game.phase, game.drawn) == ("r5/g", 1, "play", None)
    assert game.hands[0] == ["b2", "g1"]
    assert game.power[0] == ("-" if action == "r5/g!" else "+")


def test_the_drawn_card_may_be_kept(num_players):
    """Rules 3.3."""
    game = table("g5 | 0: g1 b2 | draw g3", num_players).play("draw").play("keep")

    assert (game.top, game.current_player, game.phase, game.drawn) == ("g5", 1, "play", None)
    assert game.hands[0] == ["b2", "g1", "g3"]


@pytest.mark.parametrize(("drawn", "power"), [("b1^", "+"), ("b1/r", "+"), ("bS/", "+"), ("r4/g", "-")])
def test_the_turn_ends_at_once_if_the_drawn_card_cannot_be_played(num_players, drawn, power):
    """Rules 3.4: r4/g could be played on its flex side alone, and the Power is red."""
    powers = power + "+" * (num_players - 1)
    game = table(f"g5 | 0: g1 b2 | draw {drawn} | power {powers}", num_players).play("draw")

    assert (game.current_player, game.phase, game.drawn) == (1, "play", None)
    assert drawn in game.hands[0]


def test_an_empty_draw_pile_is_renewed_from_the_discard_pile_except_its_top():
    """Rules 3.5."""
    game = table("g5 | 0: b1^ b2 | 1: b4 | discard r1 r2^ r3 | pile | only").play("draw")

    assert (game.top, game.discard_pile, game.draw_pile) == ("g5", 1, 2)
    assert sizes(game) == [3, 1]
    assert set(game.hands[0]) - {"b1^", "b2"} < {"r1", "r2^", "r3"}


def test_the_new_draw_pile_is_shuffled():
    """Rules 3.5: over many games, each of four discarded cards comes first."""
    first = set()
    for seed in range(60):
        first.add(_played_down(seed).play("draw").hands[0][1])

    assert first == {"r1", "r2^", "r3", "r4^"}


def _played_down(seed: int) -> Game:
    """Two players, empty draw pile, four red cards under the top."""
    below = ["r1", "r2^", "r3", "r4^"]
    rules = Rules(deck=dict.fromkeys(["g5", "b2", "b4", *below], 1), hand_size=1)
    return Game.from_position([["b2"], ["b4"]], "g5", draw_pile=[], discard_pile=below, rules=rules, seed=seed)


def test_the_draw_pile_is_renewed_in_the_middle_of_drawing_several():
    """Rules 3.5: one card from the old pile, one from the new; the Draw Two itself is the top and stays."""
    game = table("g5 | 0: gD g1 | 1: b4 | discard r1 r2^ | pile y4 | only").play("gD")

    assert "y4" in game.hands[1]
    assert len({"r1", "r2^", "g5"} & set(game.hands[1])) == 1
    assert (game.top, game.discard_pile, game.draw_pile) == ("gD", 1, 2)


def test_the_previous_top_is_in_the_new_draw_pile():
    """Rules 3.5."""
    game = table("g5 | 0: gD g1 | 1: b4 | pile | only").play("gD")

    assert game.hands[1] == ["b4", "g5"]


def test_with_both_piles_empty_you_draw_what_there_is(num_players):
    """Rules 3.6: a Draw Two finds the one card below it."""
    game = table("g5 | 0: gD g1 | 1: b4 | pile | only", num_players).play("gD")

    assert game.hands[1] == ["b4", "g5"]
    assert (game.draw_pile, game.discard_pile) == (0, 1)


def test_with_both_piles_empty_you_may_draw_nothing(num_players):
    """Rules 3.6."""
    game = table("g5 | 0: b2 b4 | pile | only", num_players).play("draw")

    assert game.hands[0] == ["b2", "b4"]
    assert (game.draw_pile, game.discard_pile, game.ply) == (0, 1, 1)


def test_the_first_in_turn_order_get_the_last_cards():
    """Rules 3.6 and 6.2: of eight cards owed by Flex Wild All Draw five are there."""
    game = table("g5 | 0: WA/ r1 r3 | 1: b1^ b2 | 2: b4 | 3: b6 | 4: b8 | pile y2 y4 y6 y8 | only").play("WA/!:b")

    assert game.hands[1:] == [["b1^", "b2", "y2", "y4"], ["b4", "y6", "y8"], ["b6", "g5"], ["b8"]]
    assert game.current_player == 1


def test_what_was_owed_counts_as_paid(num_players):
    """Rules 3.6: next draws one card of two and still loses the turn; no player draws the rest later."""
    game = table("g5 | 0: gD g1 b2 | 1: b4 b6 | pile | only", num_players).play("gD")

    assert game.current_player == 2 % num_players
    for _ in range(num_players - 1):
        game.play("draw")
    assert game.current_player == 1
    assert game.hands[1] == ["b4", "b6", "g5"]


@pytest.mark.parametrize(("pile", "drawn"), [("", 1), ("y2", 2), ("y2 y4 y6", 4)])
def test_a_lost_challenge_costs_what_is_there(pile, drawn):
    """Rules 3.6 and 7.8: of the six cards, those of the pile and the old top."""
    game = table(f"g5 | 0: W4/ r1 r3 | 1: b4 b6 | pile {pile} | only").play("W4/:b").play("challenge")

    assert sizes(game) == [2, 2 + drawn]
    assert (game.current_player, game.draw_pile, game.discard_pile) == (0, 0, 1)


def test_the_draw_pile_can_stand_at_0():
    """Rules 3.7: the last card is drawn, and nothing is shuffled before another one is wanted."""
    game = deal("r1 g1 b2 y4 y2", 2, hand_size=1, deck=deck_of("r1 g1 b2 y4 y2"))
    game.play("draw").play("draw")
    assert (game.top, game.draw_pile, game.discard_pile) == ("b2", 0, 1)


def test_the_draw_pile_is_renewed_only_when_a_card_is_wanted():
    """Rules 3.7: with cards under the top and an empty draw pile, plays leave both as they are."""
    game = table("g5 | 0: g1 g3 b2 | 1: g2^ g4^ b4 | discard r1 r3 | pile | only").play("g1").play("g2^").play("g3")
    assert (game.draw_pile, game.discard_pile) == (0, 6)

    game.play("draw")

    assert (game.draw_pile, game.discard_pile) == (4, 1)


def test_a_discard_pile_that_holds_only_its_top_is_not_shuffled():
    """Rules 3.8: and no reshuffle is recorded."""
    cards = dict.fromkeys(["r1", "g1", "b2"], 1)
    game = deal("r1 g1 b2", 2, hand_size=1, deck=cards, actions="draw")

    assert (game.top, game.draw_pile, game.discard_pile) == ("b2", 0, 1)
    assert game.to_record()["reshuffles"] == []


def test_a_draw_that_yields_no_card_ends_the_turn(num_players):
    """Rules 3.9: also of a player who could play."""
    game = table("g5 | 0: g1 g3 | 1: g2^ b2 | pile | only", num_players).play("draw")

    assert (game.current_player, game.phase, game.drawn) == (1, "play", None)


def test_n_empty_draws_in_a_row_end_the_round_with_no_winner_and_no_points(num_players):
    """Rules 3.10."""
    game = table("g5 | 0: g1 g3 | pile | only", num_players)
    for _ in range(num_players - 1):
        game.play("draw")
    assert not game.is_over

    game.play("draw")

    assert (game.phase, game.current_player, game.legal_actions) == ("over", None, [])
    assert (game.winner, game.points) == (None, 0)


def test_a_card_played_between_empty_draws_starts_the_count_again():
    """Rules 3.10: two empty draws, then `g3` and its return to a hand; three more empty draws end the round."""
    game = table("g5 | 0: g1 b1^ | 1: b3^ b2 | 2: g3 b6 | pile | only").play("draw").play("draw").play("g3")
    game.play("draw").play("keep")
    assert sizes(game) == [3, 2, 1]
    game.play("draw").play("draw")
    assert not game.is_over

    assert game.play("draw").is_over


def test_a_card_drawn_between_empty_draws_starts_the_count_again():
    """Rules 3.10: after `g3` there is one card to draw, taken by seat 1; two empty draws must follow it."""
    game = table("g5 | 0: g1 b1^ | 1: b3^ b4 | pile | only").play("g1").play("draw")
    assert sizes(game) == [1, 3]
    assert (game.phase, game.drawn) == ("drawn", "g5")
    game.play("keep").play("draw")
    assert not game.is_over

    assert game.play("draw").is_over


def test_a_keep_between_empty_draws_does_not_count():
    """Rules 3.10: the drawn card was the last; n draws without one follow it."""
    game = table("g5 | 0: b2 b4 | 1: b6 b8 | 2: r1 r3 | pile g1 | only").play("draw").play("keep")
    game.play("draw").play("draw")
    assert not game.is_over

    assert game.play("draw").is_over


def test_an_empty_draw_in_phase_stack_counts():
    """Rules 3.10: the catch takes the only card below the Draw Two, so next draws none of the two that it owes."""
    game = table("g5 | 0: gD b1^ | 1: b4 b6 | pile | only", stacking=True, uno_call="explicit")
    game.play("gD").play("silent").play("catch")
    assert (game.phase, game.current_player, sizes(game)) == ("stack", 1, [2, 2])
    game.play("draw")
    assert (game.phase, game.current_player, sizes(game)) == ("play", 0, [2, 2])

    game.play("draw")

    assert (game.phase, game.winner, game.points) == ("over", None, 0)


def test_empty_draws_of_a_draw_until_playable_count_too(num_players):
    """Rules 3.10 and 9.9."""
    game = table("g5 | 0: g1 g3 | pile | only", num_players, draw_until_playable=True)
    for _ in range(num_players - 1):
        game.play("draw")
    assert not game.is_over

    assert game.play("draw").is_over


def test_a_player_cannot_act_after_the_round():
    """Rules 3.10."""
    game = table("g5 | 0: b2 b4 | 1: b6 b8 | pile | only").play("draw").play("draw")

    with pytest.raises(IllegalActionError, match="draw"):
        game.play("draw")
