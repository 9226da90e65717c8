"""A view as JSON and as text: all that lies open to the player, and nothing else."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.support.notation import table
from tests.support.paths import ROOT
from tests.support.playing import PHASES, decision
from uno_flex_env import Game, Match, VecEnv
from uno_flex_env.actions import TEXTS
from uno_flex_env.cards import cards_to_text
from uno_flex_env.positions import Positions
from uno_flex_env.view_text import describe_view, view_to_json

DECIDED = [phase for phase in PHASES if phase != "over"]


@pytest.mark.parametrize("phase", DECIDED)
def test_hidden_cards_leave_json_and_text_as_they_are(phase, num_players):
    """In 20 worlds that agree with a view, other cards are in other hands, and the draw pile has another order.

    Seen to fail with the cards of the next player drawn from a world in place of the known ones."""
    hidden = set()
    for reshuffled in (False, True):
        game = decision(phase, num_players, 3, reshuffled=reshuffled)
        viewer = game.state.current_player
        seen = view_to_json(game.state.hide(viewer))
        for seed in range(20):
            world = game.state.hide(viewer).determinize(seed)
            hidden.add(str([world.pile_order(), *map(world.hand, range(num_players))]))
            other = view_to_json(world.hide(viewer))

            assert other == seen
            assert describe_view(other) == describe_view(seen)
    assert len(hidden) > 2  # of the two positions


@pytest.mark.parametrize("phase", PHASES)
def test_the_json_form_is_what_lies_open(phase, num_players):
    """For each player, as the game tells it. Seen to fail, one by one, with another field in the place of each."""
    game = decision(phase, num_players, 7)
    told = game.snapshot()
    for viewer in range(num_players):
        seen = json.loads(json.dumps(view_to_json(game.state.hide(viewer))))
        mine = viewer == game.current_player

        for key in ("ply", "phase", "direction", "top", "color", "power", "draw_pile", "winner", "points"):
            assert seen[key] == told[key], key
        assert seen["current_player"] == game.current_player
        assert (seen["num_players"], seen["viewer"], seen["dealer"]) == (num_players, viewer, game.dealer)
        assert seen["hand"] == game.hands[viewer]
        assert seen["hand_sizes"] == [len(hand) for hand in game.hands]
        assert seen["known"] == [game.known(viewer, seat) for seat in range(num_players)]
        assert seen["discards"] == cards_to_text(game.state.discards)
        assert seen["reshuffles"] == game.state.reshuffles
        assert seen["pending_draw"] == game.state.owed
        assert seen["drawn"] == (game.drawn if mine else None)
        assert seen["legal"] == (game.legal_actions if mine else [])
        assert [TEXTS[number] for number in seen["legal_numbers"]] == seen["legal"]
        assert seen["rules"] == game.rules.to_dict()
        assert seen["scores"] is None
        assert (seen["actor"] is None) == (phase not in ("challenge", "uno", "catch"))


def test_a_challenge_shows_the_color_before_and_the_player():
    """Rules 7. Seen to fail with the active color in its place."""
    game = table("g5 | 0: W4/ b2 y4 | 1: r1 r3 | 2: b6 b8").play("W4/:r")

    seen = view_to_json(game.state.hide(1))

    assert (seen["phase"], seen["actor"], seen["prior_color"], seen["color"]) == ("challenge", 0, "g", "r")
    assert "player 0 played it when the active color was green" in describe_view(seen)
    game.play("challenge")
    seen = view_to_json(game.state.hide(1))
    assert seen["known"] == [["b2", "y4"], [], []]
    assert "player 0: 2 cards, Power green; you know b2 y4" in describe_view(seen)
    assert view_to_json(game.state.hide(2))["known"] == [[], [], []]


def test_the_scores_of_a_match_are_there():
    match = Match(2, {"target_score": 1000}, seed=1)
    while not match.rounds:
        match.play(match.legal_actions[0])

    seen = view_to_json(match.game.state.hide(0))

    assert seen["scores"] == match.scores != [0, 0]
    assert f"player 0 (you): 7 cards, Power green, {match.scores[0]} points" in describe_view(seen)
    assert "House rules: target_score=1000" in describe_view(seen)


def test_events_name_their_players():
    """Seats are counted from seat 0, not from the viewer. Seen to fail with the offsets as they are."""
    env = VecEnv(50, 3, history=6, seed=2)
    env.reset()
    taken: list[list[tuple[int, str]]] = [[] for _ in range(50)]
    for _ in range(4):
        actions = env.sample()
        for game in range(50):
            taken[game].append((int(env.current_player[game]), TEXTS[actions[game]]))
        env.step(actions)
    views = Positions([env.state(game) for game in range(50)]).hide()

    for game in range(50):
        seen = view_to_json(views.view(game), history=env.histories[game])
        assert [(event["seat"], event["action"]) for event in seen["history"]] == taken[game]
        text = describe_view(seen)
        assert text.count("\n", text.index("The last events"), text.index("Now:")) == 1 + len(taken[game])


@pytest.mark.parametrize("phase", PHASES)
def test_the_text_names_every_legal_action_and_card(phase, num_players):
    """Seen to fail with the last action left out."""
    game = decision(phase, num_players, 11)
    seen = view_to_json(game.state.hide(game.state.current_player if phase != "over" else 0))

    lines = describe_view(seen).splitlines()

    for number, text in zip(seen["legal_numbers"], seen["legal"], strict=True):
        assert sum(line.startswith(f"- {number} {text}: ") for line in lines) == 1
    for card in seen["hand"]:
        assert any(line.startswith(f"- {card} (") for line in lines)
    if phase == "over":
        assert f"has won with {seen['points']} points" in lines[-1] or "the round is over" in lines[-1]


def test_a_mask_narrows_the_legal_actions():
    game = Game(seed=1)
    mask = np.zeros(216, np.int8)
    mask[208] = 1

    assert view_to_json(game.state.hide(0), mask=mask)["legal"] == ["draw"]


def test_the_documentation_explains_every_key():
    """Seen to fail with a key left out of the table."""
    table = (ROOT / "docs" / "programs.md").read_text(encoding="utf-8").split("## The JSON form")[1].split("## Text")[0]
    explained = [key for line in table.splitlines() if line[:3] == "| `" for key in line.split("|")[1].split(", ")]

    keys = sorted(key.strip(" `") for key in explained)

    assert keys == sorted([*view_to_json(Game().state.hide(0)), "random"])


def test_other_json_is_not_a_view():
    with pytest.raises(ValueError, match="its format must be 'uno-flex-view/1'"):
        describe_view({"format": "uno-flex-state/2"})
