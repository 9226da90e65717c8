"""Rules 7: Wild Draw Four, regular side."""

import pytest

from tests.support.notation import sizes, table

GUILTY = ["g1", "g2^", "g1/y", "gS", "gR/", "WF", "WT/", "WA/", "W4/", "b1^ r3 g8/b", "r5 W4/"]
INNOCENT = ["r1", "b1^", "yS", "rD/", "b1^ r3 y8", "y5^", "b5/y", "r4/g", "y1/g"]


@pytest.mark.parametrize("others", GUILTY)
def test_a_player_with_the_active_color_or_another_wild_is_guilty(others):
    """Rules 7.1: proved guilty, the player draws 4."""
    game = table(f"g5 | 0: W4/ {others} | 1: b4 b6").play("W4/:r").play("challenge")

    assert sizes(game) == [len(others.split()) + 4, 2]


@pytest.mark.parametrize("others", INNOCENT)
def test_a_player_without_the_active_color_and_other_wilds_is_not_guilty(others):
    """Rules 7.1."""
    game = table(f"g5 | 0: W4/ {others} | 1: b4 b6").play("W4/:r").play("challenge")

    assert sizes(game) == [len(others.split()), 8]


def test_the_card_itself_does_not_make_its_player_guilty(num_players):
    """Rules 7.1: any *other* wild."""
    game = table("g5 | 0: W4/ r1 b1^", num_players).play("W4/:g").play("challenge")

    assert sizes(game)[:2] == [2, 8]


@pytest.mark.parametrize(("others", "drawn"), [("r1 b1^", [0, 6]), ("g1 b1^", [4, 0])])
def test_the_active_color_is_the_one_before_the_play(others, drawn):
    """Rules 7.2: red is called on a green top; holding red is no guilt, holding green is."""
    game = table(f"g5 | 0: W4/ {others} | 1: b4 b6").play("W4/:r").play("challenge")

    assert sizes(game) == [2 + drawn[0], 2 + drawn[1]]


@pytest.mark.parametrize(("others", "drawn"), [("b1^ r3", [4, 0]), ("g1 r3", [0, 6])])
def test_the_active_color_may_have_been_called(others, drawn):
    """Rules 7.2: blue was called."""
    game = table(f"W4/ | color b | 0: W4/ {others} | 1: y2 y4").play("W4/:g").play("challenge")

    assert sizes(game) == [2 + drawn[0], 2 + drawn[1]]


@pytest.mark.parametrize("top", ["g5", "g5/r"])
@pytest.mark.parametrize("other", ["r5", "y5/b", "b5^"])
def test_numbers_do_not_make_guilty(top, other):
    """Rules 7.3: a card that could have been played for its number is no guilt."""
    game = table(f"{top} | 0: W4/ {other} r1 | 1: b4 b6").play("W4/:b").play("challenge")

    assert sizes(game) == [2, 8]


@pytest.mark.parametrize(("top", "other"), [("gS", "rS"), ("gR/", "yR"), ("gD", "bD/")])
def test_symbols_do_not_make_guilty(top, other):
    """Rules 7.3."""
    game = table(f"{top} | 0: W4/ {other} r1 | 1: b4 b6").play("W4/:b").play("challenge")

    assert sizes(game) == [2, 8]


@pytest.mark.parametrize("other", ["r4/g", "y2/g", "b8/g"])
def test_flex_colors_do_not_make_guilty(other):
    """Rules 7.3: also with the Power green."""
    game = table(f"g5 | 0: W4/ {other} r1 | 1: b4 b6")
    assert other + "!" in game.legal_actions

    assert sizes(game.play("W4/:b").play("challenge")) == [2, 8]


@pytest.mark.parametrize("others", ["g1 b2", "b1^ b2"])
@pytest.mark.parametrize(("direction", "following"), [("+", 1), ("-", -1)])
def test_a_guilty_draw_four_is_legal_and_next_decides(num_players, others, direction, following):
    """Rules 7.4: what next may do says nothing of the guilt."""
    game = table(f"g5 | 0: W4/ {others} | dir {direction}", num_players).play("W4/:r")

    assert (game.phase, game.current_player) == ("challenge", following % num_players)
    assert game.legal_actions == ["accept", "challenge"]
    assert sizes(game) == [2] * num_players


@pytest.mark.parametrize("others", ["g1 b2", "b1^ b2"])
def test_accept_next_draws_4_and_loses_the_turn(num_players, others):
    """Rules 7.5."""
    game = table(f"g5 | 0: W4/ {others}", num_players).play("W4/:r").play("accept")

    assert sizes(game) == [2, 6] + [2] * (num_players - 2)
    assert (game.current_player, game.phase) == (2 % num_players, "play")


def test_a_player_who_accepts_sees_nothing(num_players):
    """Rules 7.5 and 7.6."""
    game = table("g5 | 0: W4/ g1 b2", num_players).play("W4/:r").play("accept")

    assert game.known(1, 0) == []


@pytest.mark.parametrize("others", ["WF b2 g1", "b1^ b2 r3"])
def test_challenge_next_sees_the_whole_hand(num_players, others):
    """Rules 7.6: nobody else does, and next's hand stays hidden."""
    game = table(f"g5 | 0: W4/ {others}", num_players).play("W4/:r").play("challenge")

    assert game.known(1, 0) == sorted(others.split())
    for viewer in range(num_players):
        for owner in range(num_players):
            if (viewer, owner) != (1, 0):
                assert game.known(viewer, owner) == []


def test_guilty_the_player_draws_4_and_next_takes_a_normal_turn(num_players):
    """Rules 7.7."""
    game = table("g5 | 0: W4/ g1 b2 | 1: r1 b4 WF | draw y2 y4 y6 y8", num_players).play("W4/:r").play("challenge")

    assert game.hands[0] == ["b2", "g1", "y2", "y4", "y6", "y8"]
    assert game.hands[1] == ["WF", "b4", "r1"]
    assert (game.current_player, game.phase) == (1, "play")
    assert game.legal_actions == ["r1", "WF:r", "WF:y", "WF:g", "WF:b", "draw"]


def test_not_guilty_next_draws_6_and_loses_the_turn(num_players):
    """Rules 7.8."""
    game = table("g5 | 0: W4/ b1^ b2 | 1: b4 | draw y2 y4 y6 y8 r1 r3", num_players).play("W4/:r").play("challenge")

    assert game.hands[0] == ["b1^", "b2"]
    assert game.hands[1] == ["b4", "r1", "r3", "y2", "y4", "y6", "y8"]
    assert (game.current_player, game.phase) == (2 % num_players, "play")


@pytest.mark.parametrize("decision", ["accept", "challenge"])
@pytest.mark.parametrize("others", ["g1 b2", "b1^ b2"])
@pytest.mark.parametrize("color", "rygb")
def test_the_called_color_stands_whatever_the_verdict(decision, others, color):
    """Rules 7.9."""
    game = table(f"g5 | 0: W4/ {others}", 3).play(f"W4/:{color}").play(decision)

    assert (game.top, game.color) == ("W4/", color)


def test_next_knows_each_card_until_it_is_played():
    """Rules 7.10: over several turns, whatever else happens."""
    game = table("g5 | 0: W4/ r1 b2 b4 | 1: r3 r5 b6 | 2: r7 y2 y4").play("W4/:r").play("challenge")
    assert game.known(1, 0) == ["b2", "b4", "r1"]

    game.play("r7").play("r1")
    assert game.known(1, 0) == ["b2", "b4"]
    game.play("r3").play("draw")
    assert game.known(1, 0) == ["b2", "b4"]


def test_a_card_that_was_played_and_comes_back_is_not_known():
    """Rules 7.10: seat 1 takes all cards there are, so its Draw Two gives seat 0 the old `W4/` and `r1`."""
    game = table("g5 | 0: W4/ b2 r1 | 1: rD b6 b4 | discard y2 y4 y6 y8 r7 | pile | only").play("W4/:r")
    game.play("challenge").play("r1").play("rD")

    assert game.hands[0] == ["W4/", "b2", "r1"]
    assert game.known(1, 0) == ["b2"]


def test_cards_drawn_after_the_challenge_are_not_known(num_players):
    """Rules 7.11."""
    game = table("g5 | 0: W4/ b1^ b2", num_players).play("W4/:r").play("challenge")
    while game.current_player != 0:
        game.play(next(action for action in ("keep", "draw") if action in game.legal_actions))
    game.play("draw")

    assert sizes(game)[0] == 3
    assert game.known(1, 0) == ["b1^", "b2"]


def test_the_four_cards_of_the_guilty_are_not_known(num_players):
    """Rules 7.11."""
    game = table("g5 | 0: W4/ g1 b2 | draw y2 y4 y6 y8", num_players).play("W4/:r").play("challenge")

    assert game.known(1, 0) == ["b2", "g1"]


def test_of_two_known_wilds_one_stays_known():
    """Rules 7.12."""
    game = table("g5 | 0: W4/ WF WF b2 | 1: b4 b6 | draw y2 y4 y6 y8 b1^").play("W4/:r").play("challenge").play("draw")
    assert game.known(1, 0) == ["WF", "WF", "b2"]

    assert game.play("WF:r").known(1, 0) == ["WF", "b2"]


def test_when_a_wild_held_more_than_once_is_played_a_known_copy_counts_as_the_one_played():
    """Rules 7.12: the second WF was drawn after the challenge, so the one left over is not known."""
    game = table("g5 | 0: W4/ WF b2 | 1: b4 b6 y2 | draw WF WA/ y4 y6 b1^").play("W4/:r").play("challenge")
    assert (game.hands[0].count("WF"), game.known(1, 0)) == (2, ["WF", "b2"])

    game.play("draw")
    game.play("WF:r")

    assert game.hands[0].count("WF") == 1
    assert game.known(1, 0) == ["b2"]


def test_a_last_card_is_never_guilty_so_a_challenge_costs_6(num_players):
    """Rules 7.13: the six cards count for the winner: 6 x 20, and 2 wilds for each opponent."""
    others = " | ".join(f"{seat}: {'WF' if seat < 5 else 'WA/'}" for seat in range(1, num_players))
    game = table(f"g5 | 0: W4/ | {others} | draw rS rR rD gS gR gD", num_players).play("W4/:r").play("challenge")

    assert sizes(game) == [0, 7] + [1] * (num_players - 2)
    assert (game.phase, game.winner, game.points) == ("over", 0, 120 + 50 * (num_players - 1))


@pytest.mark.parametrize("draw_four", ["challenge", "strict"])
@pytest.mark.parametrize("others", ["g1 WF", "b1^ b2"])
def test_the_flex_side_has_no_restriction_and_no_challenge(num_players, others, draw_four):
    """Rules 7.14."""
    game = table(f"g5 | 0: W4/ {others}", num_players, draw_four=draw_four).play("W4/!:r@1")

    assert sizes(game) == [2, 6] + [2] * (num_players - 2)
    assert (game.phase, game.current_player) == ("play", 1)
