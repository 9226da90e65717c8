"""Rules 9: switches that change a round (setup and match: test_9_setup_switches.py)."""

import pytest

from tests.support.notation import cards, sizes, table


@pytest.mark.parametrize("others", ["g1 b2", "gS/ b2", "WF b2", "W4/ b2"])
def test_strict_playing_a_draw_four_guilty_is_illegal(num_players, others):
    """Rules 9.1: the flex side has no such restriction."""
    game = table(f"g5 | 0: W4/ {others}", num_players, draw_four="strict")

    played = {action.split(":")[0] for action in game.legal_actions if action.startswith("W4/")}
    assert played == {"W4/!"}


@pytest.mark.parametrize("others", ["r1 b2", "b5^ r5", "r4/g b2", "y2/g yS"])
@pytest.mark.parametrize("color", "rygb")
def test_strict_next_draws_4_and_loses_the_turn_with_no_decision(num_players, others, color):
    """Rules 9.1."""
    game = table(f"g5 | 0: W4/ {others}", num_players, draw_four="strict").play(f"W4/:{color}")

    assert (game.phase, game.current_player, game.color) == ("play", 2 % num_players, color)
    assert sizes(game) == [2, 6] + [2] * (num_players - 2)


def test_strict_goes_by_the_color_called_before(num_players):
    """Rules 9.1 and 7.2."""
    for called, legal in (("g", False), ("r", True)):
        game = table(f"WF | color {called} | 0: W4/ g1 b2", num_players, draw_four="strict")
        assert ("W4/:b" in game.legal_actions) is legal


@pytest.mark.parametrize(
    ("hand", "power", "phase", "plays"),
    [
        ("g1 b2", "+", "drawn", ["W4/!:r@1", "W4/!:y@1", "W4/!:g@1", "W4/!:b@1", "keep"]),
        ("g1 b2", "-", "play", None),
        ("r1 b2", "-", "drawn", ["W4/:r", "W4/:y", "W4/:g", "W4/:b", "keep"]),
    ],
)
def test_strict_holds_for_a_drawn_draw_four(hand, power, phase, plays):
    """Rules 9.1, 3.3 and 3.4: guilty and with a red Power it can't be played, so the turn ends."""
    text = f"g5 | 0: {hand} | 1: b4 b6 | draw W4/ | power {power}+"
    game = table(text, draw_four="strict").play("draw")

    assert (game.phase, game.current_player) == (phase, 0 if plays else 1)
    assert plays is None or game.legal_actions == plays


def test_by_default_the_flex_draw_four_is_not_challenged(num_players):
    """Rules 9.2, false."""
    assert table("g5 | 0: W4/ g1 b2", num_players).play("W4/!:r@1").phase == "play"


@pytest.mark.parametrize("draw_four", ["challenge", "strict"])
@pytest.mark.parametrize(
    ("others", "decision", "player_draws", "target_draws"),
    [
        ("r1 b2", "accept", 0, 4),
        ("g1 b2", "accept", 0, 4),
        ("r1 b2", "challenge", 0, 6),
        ("g1 b2", "challenge", 4, 0),
        ("WF b2", "challenge", 4, 0),
        ("r4/g b5^", "challenge", 0, 6),
    ],
)
def test_flex_challenge_the_target_decides_by_the_same_test(
    num_players, others, decision, player_draws, target_draws, draw_four
):
    """Rules 9.2: whoever the target is, next plays afterwards. It does not depend on `draw_four`."""
    for target in range(1, num_players):
        game = table(f"g5 | 0: W4/ {others}", num_players, draw_four=draw_four, flex_draw_four_challenge=True)
        game.play(f"W4/!:b@{target}")
        assert (game.phase, game.current_player, game.legal_actions) == ("challenge", target, ["accept", "challenge"])
        game.play(decision)

        expected = [2] * num_players
        expected[0] += player_draws
        expected[target] += target_draws
        assert sizes(game) == expected
        assert (game.phase, game.current_player, game.color) == ("play", 1, "b")


@pytest.mark.parametrize("others", ["r1 b2", "g1 b2"])
def test_flex_challenge_the_target_sees_and_then_knows_the_hand(num_players, others):
    """Rules 9.2 and 7.10: the four cards of the guilty are not known."""
    target = num_players - 1
    game = table(f"g5 | 0: W4/ {others}", num_players, flex_draw_four_challenge=True)
    game.play(f"W4/!:b@{target}").play("challenge")

    assert game.known(target, 0) == sorted(cards(others))
    assert [game.known(seat, 0) for seat in range(1, target)] == [[]] * (target - 1)


@pytest.mark.parametrize(("direction", "following"), [("+", 1), ("-", 3)])
def test_flex_challenge_next_plays_afterwards_in_either_direction(direction, following):
    """Rules 9.2."""
    game = table(f"g5 | 0: W4/ r1 b2 | dir {direction}", 4, flex_draw_four_challenge=True)

    assert game.play("W4/!:b@2").play("challenge").current_player == following


@pytest.mark.parametrize("decision", ["accept", "challenge"])
def test_flex_challenge_of_a_last_card(num_players, decision):
    """Rules 9.2, 7.13 and 8.8: 4 or 6 cards of 20 points each, and a wild in each other hand."""
    others = " | ".join(f"{seat}: {'WF' if seat < 5 else 'WA/'}" for seat in range(1, num_players))
    text = f"g5 | 0: W4/ | {others} | draw rS rR rD gS gR gD"
    game = table(text, num_players, flex_draw_four_challenge=True).play("W4/!:b@1").play(decision)

    assert (game.phase, game.winner) == ("over", 0)
    assert game.points == 50 * (num_players - 1) + {"accept": 80, "challenge": 120}[decision]


@pytest.mark.parametrize(
    ("other", "decision", "phase"),
    [("r1", "accept", "uno"), ("r1", "challenge", "uno"), ("g1", "accept", "uno"), ("g1", "challenge", "play")],
)
def test_flex_challenge_comes_before_uno(other, decision, phase):
    """Rules 9.2, 6.21 and 8.4."""
    game = table(f"g5 | 0: W4/ {other}", 4, flex_draw_four_challenge=True, uno_call="explicit")

    assert game.play("W4/!:b@2").play(decision).phase == phase


@pytest.mark.parametrize("regular", ["accept", "challenge"])
def test_flex_challenge_leaves_the_regular_side_as_it_is(regular):
    """Rules 9.2: next, not a target, decides there and loses the turn."""
    game = table("g5 | 0: W4/ r1 b2", 4, flex_draw_four_challenge=True).play("W4/:b")
    assert (game.phase, game.current_player) == ("challenge", 1)

    assert game.play(regular).current_player == 2


@pytest.mark.parametrize("card", ["gR", "gR/"])
@pytest.mark.parametrize(("rule", "current_player"), [("skip", 0), ("pass", 1)])
@pytest.mark.parametrize("direction", "+-")
def test_pass_with_two_players_a_regular_reverse_hands_the_turn_to_the_opponent(card, rule, current_player, direction):
    """Rules 9.3: the direction changes either way."""
    game = table(f"g5 | 0: {card} b1^ b3^ | dir {direction}", 2, two_player_reverse=rule).play(card)

    assert (game.current_player, game.phase) == (current_player, "play")
    assert game.direction == {"+": -1, "-": 1}[direction]


def test_pass_a_flex_reverse_still_plays_again():
    """Rules 9.3."""
    game = table("g5 | 0: gR/ b1^ b3^", 2, two_player_reverse="pass").play("gR/!")

    assert (game.current_player, game.direction) == (0, -1)


@pytest.mark.parametrize("num_players", range(3, 9))
@pytest.mark.parametrize(("action", "following"), [("gR", -1), ("gR/", -1), ("gR/!", -2)])
def test_pass_changes_nothing_with_more_than_two_players(num_players, action, following):
    """Rules 9.3."""
    game = table("g5 | 0: gR gR/ b1^", num_players, two_player_reverse="pass").play(action)

    assert game.current_player == following % num_players


@pytest.mark.parametrize(
    ("top", "action", "by_color_or_symbol", "by_color"),
    [
        ("gS", "bS/!", True, False),
        ("gS/", "rS/!", True, False),
        ("gR", "bR/!", True, False),
        ("gD/", "bD/!", True, False),
        ("gS", "gS/!", True, True),
        ("gS", "gR/!", True, True),
        ("g5", "gD/!", True, True),
        ("g5", "bD/!", False, False),
        ("gS", "bR/!", False, False),
    ],
)
def test_how_the_flex_side_of_a_colored_action_matches(top, action, by_color_or_symbol, by_color):
    """Rules 9.4."""
    text = f"{top} | 0: {action[:-1]} b2"

    assert (action in table(text, 2).legal_actions) is by_color_or_symbol
    assert (action in table(text, 2, flex_action_match="color").legal_actions) is by_color


def test_color_leaves_regular_sides_and_flex_numbers_as_they_are():
    """Rules 9.4: they match by symbol and number too."""
    game = table("gS | 0: bS/ rS b2 | 1: b4", flex_action_match="color")
    assert game.legal_actions == ["rS", "bS/", "draw"]

    game = table("g5 | 0: b5/y r7 b2 | 1: b4", flex_action_match="color")
    assert game.legal_actions == ["b5/y", "b5/y!", "draw"]


@pytest.mark.parametrize(
    ("drawn", "plays"),
    [
        ("g1", ["g1"]),
        ("r4/g", ["r4/g!"]),
        ("g5/r", ["g5/r", "g5/r!"]),
        ("WF", ["WF:r", "WF:y", "WF:g", "WF:b"]),
    ],
)
def test_forced_a_playable_drawn_card_must_be_played_on_either_side(num_players, drawn, plays):
    """Rules 9.5: `keep` is not legal."""
    game = table(f"g5 | 0: g2^ b2 | draw {drawn}", num_players, play_drawn_card="forced").play("draw")

    assert (game.phase, game.current_player) == ("drawn", 0)
    assert game.legal_actions == plays


def test_forced_drawing_is_still_a_choice_and_an_unplayable_card_ends_the_turn(num_players):
    """Rules 9.5, 3.2 and 3.4."""
    game = table("g5 | 0: g2^ b2 | draw b1^", num_players, play_drawn_card="forced")
    assert game.legal_actions == ["g2^", "draw"]

    assert game.play("draw").current_player == 1


@pytest.mark.parametrize("action", ["gD", "gD/", "gD/!", "WT/!:r@2", "WA/!:r", "W4/:r", "W4/!:r@2"])
@pytest.mark.parametrize("draw_four", ["challenge", "strict"])
def test_last_card_draws_false_nobody_draws_or_decides(action, draw_four):
    """Rules 9.7: the round ends at once, with the points in hand (7 + 3)."""
    card = action.split(":")[0].rstrip("!")
    text = f"g5 | 0: {card} | 1: b7^ | 2: r3"
    game = table(text, last_card_draws=False, draw_four=draw_four, flex_draw_four_challenge=True).play(action)

    assert (game.phase, game.winner, game.points) == ("over", 0, 10)
    assert sizes(game) == [0, 1, 1]


@pytest.mark.parametrize(("action", "power"), [("g2^", "-++"), ("gD/!", "-++"), ("WA/!:r", "-++"), ("WF:b", "+++")])
@pytest.mark.parametrize("last_card_draws", [True, False])
def test_the_power_changes_all_the_same(action, power, last_card_draws):
    """Rules 9.7."""
    card = action.split(":")[0].rstrip("!")

    assert table(f"g5 | 0: {card}", 3, last_card_draws=last_card_draws).play(action).power == power


@pytest.mark.parametrize("action", ["gR", "gR/", "gR/!"])
@pytest.mark.parametrize("last_card_draws", [True, False])
def test_the_direction_changes_all_the_same(num_players, action, last_card_draws):
    """Rules 9.7."""
    game = table(f"g5 | 0: {action.rstrip('!')}", num_players, last_card_draws=last_card_draws).play(action)

    assert (game.is_over, game.direction) == (True, -1)


def test_last_card_draws_false_leaves_other_plays_as_they_are(num_players):
    """Rules 9.7."""
    game = table("g5 | 0: gD b1^", num_players, last_card_draws=False).play("gD")

    assert sizes(game)[1] == 4


def test_until_playable_draw_keeps_drawing_until_a_playable_card_comes(num_players):
    """Rules 9.9."""
    text = "g5 | 0: b2 b4 | draw b1^ r1 yS b3/r g1 g3"
    game = table(text, num_players, draw_until_playable=True).play("draw")

    assert (game.phase, game.current_player, game.drawn) == ("drawn", 0, "g1")
    assert game.hands[0] == ["b1^", "b2", "b3/r", "b4", "g1", "r1", "yS"]
    assert game.legal_actions == ["g1", "keep"]


def test_until_playable_draw_may_be_chosen_with_a_playable_card(num_players):
    """Rules 9.9: also by choice."""
    game = table("g5 | 0: g2^ WF | draw b1^ r1 g1", num_players, draw_until_playable=True).play("draw")

    assert (sizes(game)[0], game.drawn) == (5, "g1")


@pytest.mark.parametrize(("power", "drawn"), [("+", "r4/g"), ("-", "g3")])
def test_until_playable_a_flex_side_counts_with_a_green_power(power, drawn):
    """Rules 9.9."""
    game = table(f"g5 | 0: b2 b4 | draw b1^ r4/g g3 | power {power}+", 2, draw_until_playable=True).play("draw")

    assert game.drawn == drawn


def test_until_playable_with_forced_the_card_must_be_played():
    """Rules 9.9 and 9.5."""
    game = table("g5 | 0: b2 | draw b1^ g1", 2, draw_until_playable=True, play_drawn_card="forced").play("draw")

    assert game.legal_actions == ["g1"]


def test_until_playable_a_guilty_draw_four_is_not_playable_under_strict():
    """Rules 9.9 and 9.1."""
    text = "g5 | 0: g8/b b4 | draw W4/ b1^ g1 | power -+"

    assert table(text, 2, draw_until_playable=True, draw_four="strict").play("draw").drawn == "g1"
    assert table(text, 2, draw_until_playable=True).play("draw").drawn == "W4/"


def test_until_playable_if_none_comes_the_turn_ends(num_players):
    """Rules 9.9: with all cards drawn, also those of the discard pile."""
    text = "g5 | 0: b2 b4 | discard r1 r3 | pile b1^ y2 y4 | only"
    game = table(text, num_players, draw_until_playable=True).play("draw")

    assert (game.phase, game.current_player) == ("play", 1)
    assert game.hands[0] == ["b1^", "b2", "b4", "r1", "r3", "y2", "y4"]
    assert (game.draw_pile, game.discard_pile) == (0, 1)


def test_until_playable_reshuffles_on_the_way():
    """Rules 9.9 and 3.5: the playable card lies in the discard pile."""
    text = "g5 | 0: b2 b4 | discard g1 | pile b1^ | only"
    game = table(text, 2, draw_until_playable=True).play("draw")

    assert (game.phase, game.drawn, sizes(game)[0]) == ("drawn", "g1", 4)


def test_until_playable_not_in_phase_stack():
    """Rules 9.9: the sum is drawn and no card more, playable or not."""
    text = "g5 | 0: gD b1^ b3^ | 1: b2 b4 | draw r1 y8 g1"
    game = table(text, draw_until_playable=True, stacking=True).play("gD").play("draw")

    assert game.hands[1] == ["b2", "b4", "r1", "y8"]
    assert (game.phase, game.current_player) == ("play", 0)
