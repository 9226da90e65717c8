"""Rules 8: UNO, the end of a round, the match."""

from typing import Any

import pytest

from tests.support.notation import WILD, cards, deck_of, sizes, table
from uno_flex_env import Game, IllegalActionError, Match, Rules

EXPLICIT: dict[str, Any] = {"uno_call": "explicit"}


def test_a_player_down_to_one_card_says_uno(num_players):
    """Rules 8.1: under an explicit call, the player is asked."""
    game = table("g5 | 0: g1 b2", num_players, **EXPLICIT).play("g1")

    assert (game.phase, game.current_player) == ("uno", 0)


def test_the_penalty_of_who_does_not_say_so_is_2_cards(num_players):
    """Rules 8.2 and 9.6."""
    game = table("g5 | 0: g1 b2 | draw y2 y4", num_players, **EXPLICIT).play("g1").play("silent").play("catch")

    assert game.hands[0] == ["b2", "y2", "y4"]
    assert sizes(game)[1:] == [2] * (num_players - 1)


def test_automatic_uno_is_always_said(num_players):
    """Rules 8.3 and 9.6: nobody is asked, nobody can catch."""
    game = table("g5 | 0: g1 b2", num_players).play("g1")

    assert (game.phase, game.current_player) == ("play", 1)
    assert not {"uno", "silent", "catch", "ignore"} & set(game.legal_actions)


@pytest.mark.parametrize("action", ["g1", "r4/g!", "gS", "gS/!", "gR", "gD", "gD/!", "WF:r", "WT/!:r@1", "W4/!:b@1"])
def test_explicit_after_a_play_that_leaves_exactly_one_card_the_player_chooses(num_players, action):
    """Rules 8.4."""
    card = action.split(":")[0].rstrip("!")
    game = table(f"g5 | 0: {card} b2", num_players, **EXPLICIT).play(action)

    assert (game.phase, game.current_player) == ("uno", 0)
    assert game.legal_actions == ["uno", "silent"]


@pytest.mark.parametrize("hand", ["g1 b2 b4", "g1 b2 b4 b6"])
def test_explicit_with_more_than_one_card_left_nobody_is_asked(num_players, hand):
    """Rules 8.4."""
    assert table(f"g5 | 0: {hand}", num_players, **EXPLICIT).play("g1").phase == "play"


def test_explicit_after_a_drawn_card_is_played_the_player_chooses(num_players):
    """Rules 8.4: from one card to two and back to one."""
    game = table("g5 | 0: b2 | draw g1", num_players, **EXPLICIT).play("draw").play("g1")

    assert (game.phase, game.current_player) == ("uno", 0)


def test_explicit_a_player_who_has_one_card_and_plays_none_is_not_asked(num_players):
    """Rules 8.4: only a play asks; an opponent's single card does not either."""
    game = table("g5 | 0: g1 b2 b4 | 1: b6 | draw y2", num_players, **EXPLICIT).play("g1")
    assert game.phase == "play"

    assert game.play("draw").phase == "play"


@pytest.mark.parametrize(
    ("other", "decision", "phase"),
    [("r1", "accept", "uno"), ("r1", "challenge", "uno"), ("g1", "accept", "uno"), ("g1", "challenge", "play")],
)
def test_explicit_the_choice_comes_after_the_challenge(num_players, other, decision, phase):
    """Rules 8.4: who was guilty holds five cards by then."""
    game = table(f"g5 | 0: W4/ {other}", num_players, **EXPLICIT).play("W4/:b")
    assert (game.phase, game.current_player) == ("challenge", 1)

    game.play(decision)

    assert (game.phase, game.current_player) == (phase, 0 if phase == "uno" else 1)


def test_after_uno_the_game_goes_on(num_players):
    """Rules 8.4."""
    game = table("g5 | 0: g1 b2", num_players, **EXPLICIT).play("g1").play("uno")

    assert (game.phase, game.current_player, sizes(game)[0]) == ("play", 1, 1)


@pytest.mark.parametrize("direction", [1, -1])
def test_after_silent_each_opponent_in_turn_order_from_next_is_asked(num_players, direction):
    """Rules 8.5."""
    text = f"g5 | 0: g1 b2 | dir {'+' if direction == 1 else '-'}"
    game = table(text, num_players, **EXPLICIT).play("g1").play("silent")

    for place in range(1, num_players):
        assert (game.phase, game.current_player) == ("catch", direction * place % num_players)
        assert game.legal_actions == ["catch", "ignore"]
        game.play("ignore")

    assert (game.phase, game.current_player, sizes(game)[0]) == ("play", direction % num_players, 1)


def test_one_catch_ends_the_asking(num_players):
    """Rules 8.5: whichever opponent it is, the penalty is drawn once and the turn goes to next."""
    for place in range(1, num_players):
        game = table("g5 | 0: g1 b2", num_players, **EXPLICIT).play("g1").play("silent")
        for _ in range(place - 1):
            game.play("ignore")
        game.play("catch")

        assert sizes(game) == [3] + [2] * (num_players - 1)
        assert (game.phase, game.current_player) == ("play", 1)


@pytest.mark.parametrize("players", [2, 5])
def test_uno_comes_before_an_extra_turn(players):
    """Rules 8.6: a Flex Skip brings one, and so does a Skip or a Reverse with two players."""
    for action in ["gS/!"] + (["gS", "gR", "gR/!", "gD"] if players == 2 else []):
        start = table(f"g5 | 0: {action.rstrip('!')} b2", players, **EXPLICIT).play(action)
        assert (start.phase, start.current_player) == ("uno", 0)

        called = start.copy().play("uno")
        assert (called.phase, called.current_player, sizes(called)[0]) == ("play", 0, 1)
        caught = start.copy().play("silent")
        assert caught.phase == "catch"
        caught.play("catch")
        assert (caught.phase, caught.current_player, sizes(caught)[0]) == ("play", 0, 3)


@pytest.mark.parametrize("calls", ["uno", "silent catch", "silent ignore"])
def test_with_stacking_uno_comes_before_the_decision_of_next(calls):
    """Rules 8.6 and 11.9: nothing is owed yet while UNO is open."""
    game = table("g5 | 0: gD b2 | 1: yD b4", stacking=True, **EXPLICIT).play("gD")

    for call in calls.split():
        assert (game.phase in ("uno", "catch"), game.pending_draw) == (True, 0)
        game.play(call)

    assert (game.phase, game.current_player, game.pending_draw) == ("stack", 1, 2)
    assert sizes(game) == [3 if "catch" in calls else 1, 2]


ANY_PLAY = [
    *cards("g1 g2^ g5/r gS gR gD gS/ gR/ gD/ y1/g! y2/g! r4/g! b8/g! gS/! gR/! gD/!"),
    *(f"{wild}:r" for wild in WILD),
    *("WA/!:b", "WT/!:y@1", "W4/!:g@1"),
]


@pytest.mark.parametrize("action", ANY_PLAY)
def test_the_round_ends_when_a_hand_is_empty(num_players, action):
    """Rules 8.7 (every card, on both sides: test_8_last_card.py)."""
    card = action.split(":")[0].rstrip("!")
    for uno_call in ("automatic", "explicit"):
        game = table(f"g3/y | 0: {card}", num_players, uno_call=uno_call).play(action)
        if action == "W4/:r":
            game.play("challenge")

        assert (game.phase, game.current_player, game.winner, game.legal_actions) == ("over", None, 0, []), uno_call


@pytest.mark.parametrize("seat", range(4))
def test_the_winner_is_whoever_has_no_cards_left(seat):
    """Rules 8.7."""
    game = table(f"g5 | {seat}: g1 | turn {seat}", 4).play("g1")

    assert game.winner == seat


@pytest.mark.parametrize(
    ("action", "points"),
    [
        ("gD", 7 + 3 + 8 + 1 + 2),
        ("gD/!", 7 + 3 + 8 + 1 + 2 + 4),
        ("gD/", 7 + 3 + 8 + 1 + 2),
        ("WT/!:r@2", 7 + 3 + 8 + 1 + 2),
        ("WT/:r", 7 + 3 + 8),
        ("WA/!:r", 7 + 3 + 8 + 1 + 2 + 4 + 6 + 20 + 50),
        ("WA/:r", 7 + 3 + 8),
        ("W4/!:r@3", 7 + 3 + 8 + 1 + 2 + 4 + 6),
        ("W4/:r accept", 7 + 3 + 8 + 1 + 2 + 4 + 6),
        ("W4/:r challenge", 7 + 3 + 8 + 1 + 2 + 4 + 6 + 20 + 50),
        ("gS/!", 7 + 3 + 8),
        ("gR/!", 7 + 3 + 8),
        ("WF:b", 7 + 3 + 8),
    ],
)
def test_what_the_last_card_makes_others_draw_is_drawn_first_and_counts(action, points):
    """Rules 8.8: three opponents hold 7, 3 and 8; the pile begins with 1, 2, 4, 6, 20 and 50."""
    card = action.split(":")[0].split()[0].rstrip("!")
    game = table(f"g5 | 0: {card} | 1: b7^ | 2: r3 | 3: y8 | draw r1 y2 b4 y6 rS WF")
    for word in action.split():
        game.play(word)

    assert (game.winner, game.points) == (0, points)


def test_the_winner_scores_the_points_of_all_other_hands(num_players):
    """Rules 8.9."""
    hands = ["b7^ b8", "WF r3", "gS/", "rD y1^ y2", "WA/ W4/", "y6/b", "bR b2"]
    points = [15, 53, 20, 23, 100, 6, 22]
    others = " | ".join(f"{seat}: {hand}" for seat, hand in enumerate(hands[: num_players - 1], 1))

    game = table(f"g5 | 0: g1 | {others}").play("g1")

    assert game.points == sum(points[: num_players - 1])


def red_match(num_players: int, **rules) -> Match:
    """One card each, all of them red numbers: whoever begins a round wins it at once."""
    deck = deck_of("r1 r3 r5 r7 r1/b r2/b r3/b r4/g r5/g r6/g r7/y r8/y")
    return Match(num_players, Rules(hand_size=1, deck=deck, **rules), seed=1)


def test_the_deal_moves_one_seat_to_the_left_each_round(num_players):
    """Rules 8.10."""
    match = red_match(num_players, target_score=10_000)

    for place in range(2 * num_players):
        assert match.dealer == (place - 1) % num_players
        assert match.game.current_player == place % num_players
        match.play(match.game.legal_actions[0])


def test_the_deal_moves_to_the_left_whoever_wins(num_players):
    """Rules 8.10: here the second player wins each round, and the next dealer is still the one who began."""
    match = red_match(num_players, target_score=10_000)

    for place in range(num_players + 1):
        assert (match.dealer, match.game.current_player) == ((place - 1) % num_players, place % num_players)
        match.play("draw").play("keep")
        match.play(match.game.legal_actions[0])
        assert match.rounds[-1].winner == (place + 1) % num_players


@pytest.mark.parametrize("players", [2, 3])
def test_the_deal_moves_also_after_a_round_without_a_winner(players):
    """Rules 8.10: no card of this deck goes on another, so nobody can play."""
    numbers = cards("r1 y2 g3 b4")[: players + 1]
    match = Match(players, Rules(hand_size=1, deck=dict.fromkeys(numbers, 1)), seed=1)
    assert match.dealer == players - 1

    for _ in range(players):
        match.play("draw")

    assert (match.dealer, match.game.current_player) == (0, 1)
    assert match.scores == [0] * players


def test_powers_are_green_again_in_each_round():
    """Rules 8.11: the only card played turned a Power red."""
    match = Match(3, Rules(hand_size=1, deck=deck_of("r2^ r4^ r6^ r8^")), seed=1)
    match.play(match.game.legal_actions[0])

    assert [game.power for game in match.rounds] == ["-++"]
    assert (match.game.ply, match.game.power) == (0, "+++")


def test_scores_add_up_over_the_rounds(num_players):
    """Rules 8.9 and 8.10."""
    match = red_match(num_players, target_score=10_000)
    scores = [0] * num_players

    for _ in range(3 * num_players):
        seat = match.game.current_player
        assert seat is not None
        scores[seat] += sum(int(hand[0][1]) for other, hand in enumerate(match.game.hands) if other != seat)
        match.play(match.game.legal_actions[0])
        assert match.scores == scores


def test_the_first_to_reach_target_score_wins():
    """Rules 8.12: each round is worth one point; the seats win by turns, and seat 0 is first to have three."""
    ones = deck_of("r1 r1/b y1^ y1/g g1 g1/y b1^ b1/r")
    match = Match(2, Rules(hand_size=1, deck=ones, target_score=3), seed=1)

    for scores in ([1, 0], [1, 1], [2, 1], [2, 2]):
        match.play(next(action for action in match.game.legal_actions if action in ones))
        assert (match.scores, match.winner) == (scores, None)
    match.play(next(action for action in match.game.legal_actions if action in ones))

    assert (match.scores, match.winner) == ([3, 2], 0)


def test_more_than_target_score_wins_too():
    """Rules 8.12: two opponents with a 1 each make two points, the target is 1."""
    ones = deck_of("r1 r1/b y1^ y1/g g1 g1/y b1^ b1/r")
    match = Match(3, Rules(hand_size=1, deck=ones, target_score=1), seed=1)

    match.play(next(action for action in match.game.legal_actions if action in ones))

    assert (match.scores, match.winner) == ([2, 0, 0], 0)


def test_a_match_that_is_won_takes_no_more_actions():
    """Rules 8.12."""
    match = red_match(2, target_score=1)
    match.play(match.game.legal_actions[0])
    assert match.winner == 0

    with pytest.raises(IllegalActionError, match="draw"):
        match.play("draw")


def test_a_match_is_played_to_500():
    """Rules 8.12: with the official deck, to its end."""
    match = Match(4, seed=1)
    while match.winner is None:
        assert max(match.scores) < 500
        assert len(match.rounds) < 100, "a round is worth some 100 points"
        match.play(match.game.legal_actions[0])

    assert match.scores[match.winner] == max(match.scores) >= 500


def test_the_first_dealer_is_the_last_seat_so_seat_0_begins(num_players):
    """Rules 8.13."""
    match, game = Match(num_players, seed=1), Game(num_players, seed=1)

    assert (match.dealer, match.game.current_player) == (num_players - 1, 0)
    assert (game.dealer, game.current_player) == (num_players - 1, 0)


def test_another_first_dealer_may_be_given(num_players):
    """Rules 8.13."""
    for dealer in range(num_players):
        match = Match(num_players, seed=1, dealer=dealer)
        assert (match.dealer, match.game.dealer) == (dealer, dealer)
        assert match.game.current_player == (dealer + 1) % num_players


@pytest.mark.parametrize("dealer", [-1, 3, 8])
def test_the_dealer_is_one_of_the_players(dealer):
    """Rules 8.13."""
    with pytest.raises(ValueError, match=str(dealer)):
        Match(3, seed=1, dealer=dealer)
