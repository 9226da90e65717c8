"""Rules 6: what cards do."""

import pytest

from tests.support.notation import sizes, table
from uno_flex_env import IllegalActionError

DIRECTIONS = pytest.mark.parametrize("direction", "+-")


def clockwise(direction: str, seats: list[int], num_players: int) -> list[int]:
    """Seats counted from seat 0 in the direction of play, as seats of the table."""
    return [seat % num_players if direction == "+" else -seat % num_players for seat in seats]


@pytest.mark.parametrize(("direction", "following"), [("+", 3), ("-", 1)])
def test_next_is_the_next_seat_in_the_current_direction(direction, following):
    """Rules 6.1."""
    game = table(f"g5 | 2: g1 b2 | turn 2 | dir {direction}", 5).play("g1")

    assert game.current_player == following


@pytest.mark.parametrize(("direction", "last", "first"), [("+", 4, 0), ("-", 0, 4)])
def test_next_goes_around_the_table(direction, last, first):
    """Rules 6.1."""
    game = table(f"g5 | {last}: g1 b2 | turn {last} | dir {direction}", 5).play("g1")

    assert game.current_player == first


@pytest.mark.parametrize(
    ("direction", "hands"),
    [
        ("+", [["b1^", "r3"], ["b2", "r4^"], ["y2", "y4"], ["b4", "r1"], ["b6", "r2^"]]),
        ("-", [["b1^", "r2^"], ["b2", "r1"], ["y2", "y4"], ["b4", "r4^"], ["b6", "r3"]]),
    ],
)
def test_everyone_else_draws_in_turn_order_beginning_with_next(direction, hands):
    """Rules 6.2: here after seat 2."""
    position = "g5 | 0: b1^ | 1: b2 | 2: gD/ y2 y4 | 3: b4 | 4: b6 | turn 2 | draw r1 r2^ r3 r4^"

    assert table(f"{position} | dir {direction}").play("gD/!").hands == hands


@DIRECTIONS
@pytest.mark.parametrize("card", ["gD", "gD/"])
def test_draw_two_next_draws_2_and_loses_the_turn(num_players, card, direction):
    """Rules 6.3."""
    game = table(f"g5 | 0: {card} b1^ b3^ | dir {direction}", num_players).play(card)

    drawer, following = clockwise(direction, [1, 2], num_players)
    assert sizes(game) == [4 if seat == drawer else 2 for seat in range(num_players)]
    assert (game.current_player, game.phase, game.direction) == (following, "play", 1 if direction == "+" else -1)


@DIRECTIONS
def test_flex_draw_two_everyone_else_draws_1_and_nobody_loses_a_turn(num_players, direction):
    """Rules 6.4."""
    game = table(f"g5 | 0: gD/ b1^ b3^ | dir {direction}", num_players).play("gD/!")

    assert sizes(game) == [2] + [3] * (num_players - 1)
    assert [game.current_player] == clockwise(direction, [1], num_players)


@DIRECTIONS
@pytest.mark.parametrize("card", ["gS", "gS/"])
def test_skip_next_loses_the_turn(num_players, card, direction):
    """Rules 6.5: with two players the same player plays again."""
    game = table(f"g5 | 0: {card} b1^ b3^ | dir {direction}", num_players).play(card)

    assert [game.current_player] == clockwise(direction, [2], num_players)
    assert sizes(game) == [2] * num_players


@DIRECTIONS
def test_flex_skip_the_same_player_plays_again(num_players, direction):
    """Rules 6.6."""
    game = table(f"g5 | 0: gS/ b1^ b3^ | dir {direction}", num_players).play("gS/!")

    assert (game.current_player, game.phase) == (0, "play")
    assert game.legal_actions == ["draw"]
    assert sizes(game) == [2] * num_players


@pytest.mark.parametrize("num_players", range(3, 9))
@pytest.mark.parametrize("card", ["gR", "gR/"])
@pytest.mark.parametrize(("direction", "after"), [("+", -1), ("-", 1)])
def test_reverse_changes_the_direction(num_players, card, direction, after):
    """Rules 6.7."""
    game = table(f"g5 | 0: {card} b1^ b3^ | dir {direction}", num_players).play(card)

    assert (game.direction, game.current_player) == (after, after % num_players)
    assert sizes(game) == [2] * num_players


@pytest.mark.parametrize("num_players", range(3, 9))
@pytest.mark.parametrize(("direction", "after"), [("+", -1), ("-", 1)])
def test_flex_reverse_the_first_player_in_the_new_direction_loses_the_turn(num_players, direction, after):
    """Rules 6.8."""
    game = table(f"g5 | 0: gR/ b1^ b3^ | dir {direction}", num_players).play("gR/!")

    assert (game.direction, game.current_player) == (after, 2 * after % num_players)
    assert sizes(game) == [2] * num_players


@DIRECTIONS
@pytest.mark.parametrize("action", ["WF:b", "WT/:b", "WA/:b"])
def test_wilds_on_their_regular_side_do_no_more_than_call_a_color(num_players, action, direction):
    """Rules 6.9, 6.10 and 6.12 (what Wild All Flip does to Powers: rules 5.3)."""
    game = table(f"g5 | 0: WF WT/ WA/ | dir {direction}", num_players).play(action)

    assert sizes(game) == [2] * num_players
    assert (game.color, game.phase) == ("b", "play")
    assert [game.current_player] == clockwise(direction, [1], num_players)
    assert game.power == "+" * num_players


@DIRECTIONS
@pytest.mark.parametrize(("wild", "cards"), [("WT/", 2), ("W4/", 4)])
def test_flex_targets_a_chosen_opponent_draws_and_nobody_loses_a_turn(num_players, wild, cards, direction):
    """Rules 6.11 and 6.15: every opponent can be chosen, and next plays whoever it is."""
    for offset in range(1, num_players):
        game = table(f"g5 | 0: {wild} b1^ b3^ | dir {direction}", num_players).play(f"{wild}!:r@{offset}")

        assert sizes(game) == [2 + cards if seat == offset else 2 for seat in range(num_players)]
        assert [game.current_player] == clockwise(direction, [1], num_players)
        assert game.phase == "play"


@DIRECTIONS
def test_flex_all_draw_everyone_else_draws_2_and_nobody_loses_a_turn(num_players, direction):
    """Rules 6.13."""
    game = table(f"g5 | 0: WA/ b1^ b3^ | dir {direction}", num_players).play("WA/!:r")

    assert sizes(game) == [2] + [4] * (num_players - 1)
    assert [game.current_player] == clockwise(direction, [1], num_players)


def test_flex_all_draw_gives_each_its_two_cards_before_the_next_one():
    """Rules 6.13 and 6.2."""
    game = table("g5 | 0: WA/ b1^ b3^ | 1: b2 | 2: b4 | draw r1 r2^ r3 r4^").play("WA/!:r")

    assert game.hands[1:] == [["b2", "r1", "r2^"], ["b4", "r3", "r4^"]]


def test_draw_four_is_decided_by_next(num_players):
    """Rules 6.14 and 7.4."""
    game = table("g5 | 0: W4/ b1^ b3^", num_players).play("W4/:r")

    assert (game.phase, game.current_player) == ("challenge", 1)
    assert game.legal_actions == ["accept", "challenge"]


@DIRECTIONS
@pytest.mark.parametrize("card", ["gR", "gR/"])
def test_with_two_players_a_regular_reverse_acts_as_a_skip(card, direction):
    """Rules 6.16."""
    game = table(f"g5 | 0: {card} b1^ b3^ | dir {direction}", 2).play(card)

    assert (game.current_player, game.phase) == (0, "play")


@DIRECTIONS
def test_with_two_players_a_flex_reverse_acts_as_a_skip_too(direction):
    """Rules 6.17."""
    game = table(f"g5 | 0: gR/ b1^ b3^ | dir {direction}", 2).play("gR/!")

    assert (game.current_player, game.phase) == (0, "play")


@pytest.mark.parametrize("action", ["gR", "gR/", "gR/!"])
@pytest.mark.parametrize(("direction", "after"), [("+", -1), ("-", 1)])
def test_with_two_players_the_direction_still_changes(action, direction, after):
    """Rules 6.18."""
    game = table(f"g5 | 0: gR gR/ b1^ b3^ | dir {direction}", 2)

    assert game.play(action).direction == after


def test_a_target_is_an_opponent_never_oneself(num_players):
    """Rules 6.19: the offsets 1 to n-1 are the opponents."""
    game = table("g5 | 0: WT/ W4/ b1^", num_players)

    for wild in ("WT/", "W4/"):
        targets = {int(action[-1]) for action in game.legal_actions if action.startswith(wild + "!")}
        assert targets == set(range(1, num_players))
    if num_players < 8:
        with pytest.raises(IllegalActionError, match=f"WT/!:r@{num_players}"):
            game.play(f"WT/!:r@{num_players}")


@DIRECTIONS
@pytest.mark.parametrize(("wild", "cards"), [("WT/", 2), ("W4/", 4)])
def test_a_target_that_is_next_draws_and_then_plays(num_players, wild, cards, direction):
    """Rules 6.20."""
    (following,) = clockwise(direction, [1], num_players)

    game = table(f"g5 | 0: {wild} b1^ b3^ | dir {direction}", num_players).play(f"{wild}!:r@{following}")

    assert sizes(game)[following] == 2 + cards
    assert (game.current_player, game.phase) == (following, "play")


def test_a_play_puts_the_card_on_the_discard_pile_before_anybody_draws():
    """Rules 6.21: with nothing else to draw, next gets the card that lay below it."""
    game = table("g5 | 0: WT/ b1^ b3^ | 1: b2 | pile | only").play("WT/!:r@1")

    assert game.hands[1] == ["b2", "g5"]
    assert (game.top, game.discard_pile) == ("WT/", 1)


def test_powers_change_before_a_draw_four_decision():
    """Rules 6.21."""
    game = table("g5 | 0: W4/ b1^ b3^", 3, flex_draw_four_challenge=True).play("W4/!:r@2")

    assert (game.phase, game.current_player, game.power) == ("challenge", 2, "-++")


def test_the_direction_changes_before_uno_is_called():
    """Rules 6.21 and 8.5: the catches go around in the new direction."""
    game = table("g5 | 0: gR b1^", 4, uno_call="explicit").play("gR").play("silent")

    assert (game.phase, game.current_player) == ("catch", 3)


def test_draws_come_before_the_end_of_the_round():
    """Rules 6.21 and 8.8: the two cards count (7 + 20 + 4)."""
    game = table("g5 | 0: gD | 1: b7^ | draw rS r4^").play("gD")

    assert game.hands[1] == ["b7^", "r4^", "rS"]
    assert (game.phase, game.winner, game.points) == ("over", 0, 31)


def test_a_draw_four_decision_comes_before_the_end_of_the_round():
    """Rules 6.21."""
    game = table("g5 | 0: W4/ | 1: b7^").play("W4/:r")

    assert (game.phase, game.current_player, game.winner) == ("challenge", 1, None)
    assert game.play("accept").is_over


@pytest.mark.parametrize("action", ["gS/!", "gD", "gR", "WT/!:r@1"])
def test_uno_comes_before_the_next_turn(num_players, action):
    """Rules 6.21: after draws, and before anybody else acts."""
    card = action.split(":")[0].rstrip("!")
    game = table(f"g5 | 0: {card} b1^ | 1: b2 b4", num_players, uno_call="explicit").play(action)

    assert (game.phase, game.current_player) == ("uno", 0)
    assert sizes(game)[1] == {"gS/!": 2, "gD": 4, "gR": 2, "WT/!:r@1": 4}[action]


def test_there_is_no_uno_when_the_round_has_ended(num_players):
    """Rules 6.21."""
    assert table("g5 | 0: g1", num_players, uno_call="explicit").play("g1").phase == "over"
