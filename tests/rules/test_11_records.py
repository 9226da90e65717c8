"""Rules 11: game records and snapshots."""

import json
import random
from typing import Any

import pytest

from tests.support.notation import DECK, cards, deal, deck_of, record, table
from uno_flex_env import Game, RecordError, Rules

PAGE = "W4/ WA/ yD g6/r"
"""The deck of the rules page's example begins so."""


def test_a_game_is_json_replayable_without_any_seed():
    """Rules 11.1: the example of the rules page. Seat 1 draws four cards (r1 r2^ r3 r4^, 10 points)."""
    text = json.dumps(record(PAGE, 3, hand_size=1, actions="W4/!:y@1"))

    game = Game.from_record(json.loads(text))

    assert game.hands == [[], ["WA/", "r1", "r2^", "r3", "r4^"], ["yD"]]
    assert (game.phase, game.winner, game.points, game.color) == ("over", 0, 50 + 10 + 20, "y")


def random_game(num_players: int, seed: int, **switches: Any) -> Game:
    rng = random.Random(seed)
    game = Game(num_players, Rules(**switches), seed=seed)
    while not game.is_over and game.ply < 2000:
        game.play(rng.choice(game.legal_actions))
    return game


def test_every_game_is_written_and_replayed(num_players):
    """Rules 11.1: here with hands so large that the deck is shuffled again and again."""
    reshuffles = 0
    for seed in range(5):
        game = random_game(num_players, seed, hand_size=7, uno_call="explicit", stacking=True)
        written = game.to_record()
        reshuffles += len(written["reshuffles"])

        again = Game.from_record(json.loads(json.dumps(written)))

        assert again.snapshot() == game.snapshot()
        assert again.to_record() == written
    assert reshuffles > 0


def test_a_record_has_these_fields():
    """Rules 11.1."""
    written = random_game(3, 1, hand_size=5).to_record()

    assert list(written) == ["format", "players", "dealer", "rules", "deck", "reshuffles", "actions"]
    assert (written["format"], written["players"], written["dealer"]) == ("uno-flex/1", 3, 2)
    assert written["rules"] == {"hand_size": 5}


def test_deck_lists_all_cards_first_dealt_first():
    """Rules 11.2."""
    game = Game(2, Rules(hand_size=1), seed=3)
    deck = game.to_record()["deck"]

    assert sorted(deck) == sorted(DECK.elements())
    assert game.hands == [[deck[0]], [deck[1]]]
    assert game.top == deck[1 + game.discard_pile]


def test_the_deck_is_drawn_in_its_order():
    """Rules 11.2."""
    game = deal("r1 g1 b2 y4 y6 y8", 2, hand_size=1, actions="draw draw draw")

    assert game.hands == [["r1", "y4", "y8"], ["g1", "y6"]]


FIVE_CARDS = "r3 r5 b2 b4 r1"
SMALL: dict[str, Any] = {"hand_size": 2, "deck": deck_of(FIVE_CARDS)}
"""Seat 0 has r3 b2, seat 1 r5 b4, r1 is the top and the draw pile is empty."""


@pytest.mark.parametrize("order", ["r1 r3", "r3 r1"])
def test_a_reshuffle_is_the_new_draw_pile_next_card_first(order):
    """Rules 11.3: r1 and r3 lie under r5 when seat 0 draws."""
    game = deal(FIVE_CARDS, 2, reshuffles=[order], actions="r3 r5 draw", **SMALL)

    assert game.drawn == order.split()[0]
    assert game.to_record()["reshuffles"] == [cards(order)]


def refused(written: Any) -> RecordError:
    """The refusal of a record."""
    with pytest.raises(RecordError) as refusal:
        Game.from_record(written)
    return refusal.value


@pytest.mark.parametrize(
    ("reshuffles", "ply"),
    [
        ([], 2),
        (["r3"], 2),
        (["r1 r3 b4"], 2),
        (["r1 b4"], 2),
        (["r1 r5"], 2),
        ([""], 2),
    ],
)
def test_a_reshuffle_too_few_or_with_other_cards_is_an_error(reshuffles, ply):
    """Rules 11.3: found at the draw that wants the cards."""
    error = refused(record(FIVE_CARDS, 2, reshuffles=reshuffles, actions="r3 r5 draw", **SMALL))

    assert error.ply == ply
    assert "reshuffle" in str(error)


@pytest.mark.parametrize("actions", ["", "r3", "r3 r5", "r3 r5 draw"])
def test_a_reshuffle_too_many_is_an_error(actions):
    """Rules 11.3."""
    used = ["r3 r1"] if "draw" in actions else []
    error = refused(record(FIVE_CARDS, 2, reshuffles=[*used, "r1 r3"], actions=actions, **SMALL))

    assert "reshuffle" in str(error)


@pytest.mark.parametrize(
    ("switches", "named"),
    [
        ({}, {}),
        ({"stacking": True}, {"stacking": True}),
        ({"stacking": False, "uno_call": "automatic", "hand_size": 7}, {}),
        ({"draw_four": "strict", "last_card_draws": False}, {"draw_four": "strict", "last_card_draws": False}),
        ({"hand_size": 1, "target_score": 100}, {"hand_size": 1, "target_score": 100}),
        ({"hand_size": 1, "deck": {"r1": 1, "r3": 1, "WF": 2, "r5": 1}}, None),
    ],
)
def test_rules_names_only_switches_that_differ(switches, named):
    """Rules 11.4."""
    written = Game(2, Rules(**switches), seed=1).to_record()

    assert written["rules"] == (switches if named is None else named)
    assert Game.from_record(written).rules == Rules(**switches)


def test_a_snapshot_shows_what_the_rules_name():
    """Rules 11.5: the example of the rules page."""
    wilds = [f"W4/!:{color}@{k}" for color in "bgry" for k in (1, 2)] + [f"W4/:{color}" for color in "bgry"]

    snapshot = deal(PAGE, 3, hand_size=1).snapshot()

    assert json.dumps(snapshot) == json.dumps(
        {
            "ply": 0,
            "phase": "play",
            "to_move": 0,
            "direction": 1,
            "top": "g6/r",
            "color": "g",
            "hands": [["W4/"], ["WA/"], ["yD"]],
            "power": [True, True, True],
            "draw_pile": 100,
            "discard_pile": 1,
            "drawn": None,
            "pending_draw": 0,
            "winner": None,
            "points": 0,
            "legal": [*wilds, "draw"],
        }
    )


def test_hands_and_legal_are_sorted_by_character_code():
    """Rules 11.6: capitals first."""
    snapshot = table("g5 | 0: y5^ WF g1 gS/ b5^ r5 | 1: b4 WA/").snapshot()

    assert snapshot["hands"] == [["WF", "b5^", "g1", "gS/", "r5", "y5^"], ["WA/", "b4"]]
    assert snapshot["legal"] == cards("WF:b WF:g WF:r WF:y b5^ draw g1 gS/ gS/! r5 y5^")


def test_ply_counts_actions_taken():
    """Rules 11.7: every decision is one, also those that are no plays."""
    game = table("g5 | 0: W4/ b2 | 1: r3 b4 b6 | draw y2 y4 y6 y8 g7", uno_call="explicit")
    counts = [game.snapshot()["ply"]]
    for action in cards("W4/:r accept silent catch draw"):
        counts.append(game.play(action).snapshot()["ply"])

    assert counts == [0, 1, 2, 3, 4, 5]


def test_drawn_is_the_drawn_card_in_phase_drawn_and_null_elsewhere():
    """Rules 11.8."""
    game = table("g5 | 0: b2 b4 | 1: b6 b8 | draw g1 r3")
    shown = [game.snapshot()["drawn"]]
    for action in cards("draw g1 draw"):
        shown.append(game.play(action).snapshot()["drawn"])

    assert shown == [None, "g1", None, None]


@pytest.mark.parametrize(
    ("drawn", "action", "phase"), [("W4/", "W4/:r", "challenge"), ("g1", "g1", "uno"), ("gD", "gD", "uno")]
)
def test_drawn_is_null_in_the_decisions_that_follow_the_play_of_a_drawn_card(drawn, action, phase):
    """Rules 11.8."""
    game = table(f"g5 | 0: b2 | 1: b6 b8 | draw {drawn}", uno_call="explicit", stacking=True).play("draw").play(action)

    assert (game.snapshot()["phase"], game.snapshot()["drawn"]) == (phase, None)


def test_pending_draw_is_the_sum_owed_in_phase_stack_and_0_in_every_other():
    """Rules 11.9."""
    game = table("g5 | 0: gD b2 | 1: yD b4 | 2: b6 b8", stacking=True, uno_call="explicit")
    shown = []
    for action in cards("gD silent ignore catch yD uno draw"):
        game.play(action)
        shown.append((game.snapshot()["phase"], game.snapshot()["pending_draw"]))

    assert [phase for phase, _ in shown] == ["uno", "catch", "catch", "stack", "uno", "stack", "play"]
    assert [owed for _, owed in shown] == [0, 0, 0, 2, 0, 4, 0]


def test_discard_pile_counts_the_top_and_ignored_starters():
    """Rules 11.10."""
    assert deal("r1 r3 WF gS rD/ b2", 2, hand_size=1).snapshot()["discard_pile"] == 4


@pytest.mark.parametrize(
    ("position", "actions", "winner", "points"),
    [
        ("g5 | 0: b2 | 1: g1 | turn 1", "g1", 1, 2),
        ("g5 | 0: g1 b2 | 1: b4 | pile | only", "draw draw", None, 0),
    ],
)
def test_at_the_end_the_snapshot_shows_the_winner_and_what_it_scores(position, actions, winner, points):
    """Rules 11.11."""
    game = table(position)
    for action in cards(actions):
        game.play(action)
    snapshot = game.snapshot()

    assert (snapshot["phase"], snapshot["to_move"], snapshot["legal"]) == ("over", None, [])
    assert (snapshot["winner"], snapshot["points"]) == (winner, points)


@pytest.mark.parametrize(
    ("actions", "ply", "reason"),
    [
        ("g5", 0, "g5"),
        ("draw keep", 1, "keep"),
        ("draw draw y9", 2, "y9"),
        ("draw draw W4/:r", 2, "W4/:r"),
        ("WF:r", 0, "WF:r"),
        ("draw draw draw draw WF", 4, "WF"),
    ],
)
def test_an_illegal_or_invalid_action_is_refused_with_its_ply(actions, ply, reason):
    """Rules 11.1: seats 0 and 1 draw cards that can't be played."""
    error = refused(record("r1 r3 g5 b2 b4 b6 b8", 2, hand_size=1, actions=actions))

    assert error.ply == ply
    assert reason in str(error)
    assert f"ply {ply}" in str(error)


def test_an_action_after_the_end_is_refused_with_its_ply():
    """Rules 11.1."""
    error = refused(record(PAGE, 3, hand_size=1, actions="W4/!:y@1 draw"))

    assert (error.ply, "draw" in str(error)) == (1, True)


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("format", "uno-flex/2", "uno-flex/2"),
        ("format", None, "format"),
        ("players", 1, "1"),
        ("players", 9, "9"),
        ("players", "3", "players"),
        ("players", 3.0, "players"),
        ("players", True, "players"),
        ("dealer", 3, "dealer"),
        ("dealer", -1, "dealer"),
        ("dealer", None, "dealer"),
        ("dealer", 1.5, "dealer"),
        ("rules", {"jump_in": True}, "jump_in"),
        ("rules", {"hand_size": 0}, "hand_size"),
        ("rules", {"hand_size": 40}, "hand_size"),
        ("rules", {"stacking": "yes"}, "stacking"),
        ("rules", ["stacking"], "rules"),
        ("rules", None, "rules"),
        ("rules", {"deck": {"y9": 1}}, "y9"),
        ("deck", None, "deck"),
        ("deck", "r1 r3", "deck"),
        ("deck", [], "deck"),
        ("deck", [1, 2, 3], "deck"),
        ("reshuffles", None, "reshuffles"),
        ("reshuffles", ["r1"], "reshuffle"),
        ("reshuffles", [["y9"]], "reshuffle"),
        ("reshuffles", [["r1", "r1"]], "reshuffle"),
        ("actions", None, "actions"),
        ("actions", "draw", "actions"),
        ("actions", [208], "208"),
        ("actions", [None], "None"),
    ],
)
def test_a_record_with_a_broken_field_is_refused_with_the_reason(field, value, reason):
    """Rules 11.1."""
    written = record(PAGE, 3, hand_size=1)
    written[field] = value

    assert reason in str(refused(written))


@pytest.mark.parametrize("change", ["twice", "missing", "unknown", "surplus"])
def test_a_deck_with_other_cards_than_the_rules_name_is_refused(change):
    """Rules 11.2."""
    written = record(PAGE, 3, hand_size=1)
    deck = written["deck"]
    written["deck"] = {
        "twice": [*deck[:-1], "g6/r"],
        "missing": deck[:-1],
        "unknown": [*deck[:-1], "y9"],
        "surplus": [*deck, "WF"],
    }[change]

    assert "deck" in str(refused(written))


def test_a_deck_that_does_not_fit_the_switch_is_refused():
    """Rules 11.2 and 9.11."""
    written = record("r1 r3 r5", 2, hand_size=1, deck=deck_of("r1 r3 r5"))
    assert Game.from_record(written).top == "r5"

    written["deck"][0] = "r7"

    assert "deck" in str(refused(written))


@pytest.mark.parametrize("field", ["format", "players", "dealer", "rules", "deck", "reshuffles", "actions"])
def test_a_record_that_lacks_a_field_is_refused_by_its_name(field):
    """Rules 11.1."""
    written = record(PAGE, 3, hand_size=1)
    del written[field]

    assert field in str(refused(written))


def test_a_record_with_an_unknown_field_is_refused_by_its_name():
    """Rules 11.1."""
    assert "seed" in str(refused(record(PAGE, 3, hand_size=1) | {"seed": 1}))


@pytest.mark.parametrize("written", [None, [], "uno-flex/1", 1])
def test_input_that_is_not_a_record_is_refused(written):
    """Rules 11.1."""
    refused(written)


def test_a_refusal_is_a_value_error():
    """Rules 11.1."""
    assert issubclass(RecordError, ValueError)
