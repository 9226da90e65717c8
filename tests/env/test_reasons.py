"""Every illegal action has a reason that names the rule, and no legal one has."""

from __future__ import annotations

import random
import re
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.notation import table
from tests.support.playing import PHASES, deal, decision, tables, wander
from tests.support.reference import STYLES
from uno_flex_env import Game, NotationError
from uno_flex_env.actions import NUM_ACTIONS, TEXTS, text_to_action

RULES = set(re.findall(r"\*\*(\d+\.\d+)\*\*", (files("uno_flex_env") / "RULES.md").read_text(encoding="utf-8")))


def check_reasons(game: Game) -> None:
    """There is a reason exactly for what is illegal, and each ends with the number of a rule."""
    for action, text in enumerate(TEXTS):
        reason = game.why_illegal(action)
        assert (reason is None) == game.state.is_legal(action), (text, reason)
        if reason is not None:
            cited = re.fullmatch(r"[a-z][^().]* \(rules (\d+\.\d+)\)", reason)
            assert (cited[1] if cited else "") in RULES, reason


@given(tables(), st.randoms(use_true_random=False), st.sampled_from(sorted(STYLES)))
@settings(derandomize=True, deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_exactly_the_illegal_actions_have_a_reason(game_of, rng, style):
    """In random games under random switches, hands and decks.

    Seen to fail with a flex action that matches by its symbol under `flex_action_match="color"`."""
    for ply, game in enumerate(wander(deal(game_of), rng, style)):
        check_reasons(game)
        if ply == 200:
            break


@pytest.mark.parametrize("phase", PHASES)
def test_exactly_the_illegal_actions_have_a_reason_in_every_phase(phase, num_players):
    for seed in range(3):
        check_reasons(decision(phase, num_players, seed))


STRICT: dict[str, Any] = {"draw_four": "strict"}
FORCED: dict[str, Any] = {"play_drawn_card": "forced"}
EXPLICIT: dict[str, Any] = {"uno_call": "explicit"}
STACKING: dict[str, Any] = {"stacking": True}
COLOR_ONLY: dict[str, Any] = {"flex_action_match": "color"}

# Position, switches, actions taken, the illegal one, its reason.
EXAMPLES = [
    ("r5 | 0: r1 | 1: g1", {}, "r1", "draw", "the round is over (rules 10.7)"),
    (
        "r5 | 0: W4/ r1 b2 | 1: g1 g3",
        {},
        "W4/:g",
        "g1",
        "a Draw Four has to be accepted or challenged first (rules 7.4)",
    ),
    (
        "r5 | 0: r1 r3 | 1: g1 g3",
        EXPLICIT,
        "r1",
        "r3",
        "with one card left, the player first says UNO or stays silent (rules 8.4)",
    ),
    (
        "r5 | 0: r1 r3 | 1: g1 g3",
        EXPLICIT,
        "r1 silent",
        "g1",
        "a player who did not say UNO has to be caught or ignored first (rules 8.5)",
    ),
    (
        "r5 | 0: g1 b2 | 1: g3 | draw r7",
        {},
        "draw",
        "draw",
        "only one card may be drawn, and it has been drawn (rules 3.1)",
    ),
    ("r5 | 0: g1 b2 | 1: g3", {}, "", "keep", "no card has just been drawn (rules 3.3)"),
    ("r5 | 0: g1 b2 | 1: g3 | draw r7", FORCED, "draw", "keep", "the drawn card has to be played (rules 9.5)"),
    ("r5 | 0: g1 b2 | 1: g3", {}, "", "accept", "no Draw Four waits for an answer (rules 7.4)"),
    ("r5 | 0: g1 b2 | 1: g3", {}, "", "silent", "no player has to say UNO now (rules 8.4)"),
    ("r5 | 0: g1 b2 | 1: g3", {}, "", "catch", "no player can be caught now (rules 8.5)"),
    ("r5 | 0: g1 b2 | 1: r3", {}, "", "r3", "the player does not hold this card (rules 3.1)"),
    (
        "r5 | 0: r1 b2 | 1: g3 | draw r7",
        {},
        "draw",
        "r1",
        "only the drawn card can be played now (rules 3.3)",
    ),
    (
        "r5 | 0: rD b2 b4/y | 1: r3 gD/ | draw y5^",
        STACKING,
        "rD",
        "gD/!",
        "only the regular side of a Draw Two answers a Draw Two (rules 9.8)",
    ),
    (
        "r5 | 0: g1 b4/y | 1: r3 | power -+",
        {},
        "",
        "b4/y!",
        "a flex side needs a green Power, and the player's is red (rules 3.1)",
    ),
    ("r5 | 0: g1 WT/ | 1: r3", {}, "", "WT/!:r@2", "there is no player that many seats clockwise (rules 10.4)"),
    (
        "r5 | 0: r1 W4/ | 1: r3",
        STRICT,
        "",
        "W4/:g",
        "the player holds another card of the active color or another wild (rules 9.1)",
    ),
    ("r5 | 0: g1 b2 | 1: r3", {}, "", "g1", "neither the color nor the symbol matches (rules 4.5)"),
    ("r5 | 0: g1/y b2 | 1: r3", {}, "", "g1/y!", "neither the flex color nor the number matches (rules 4.6)"),
    (
        "r5 | 0: gS/ b2 | 1: r3",
        {},
        "",
        "gS/!",
        "neither the color nor the symbol of the flex side matches (rules 4.7)",
    ),
    (
        "rS | 0: gS/ b2 | 1: r3",
        COLOR_ONLY,
        "",
        "gS/!",
        "the flex side of an action has to match the active color (rules 9.4)",
    ),
]


@pytest.mark.parametrize(("position", "switches", "taken", "action", "reason"), EXAMPLES)
def test_a_reason_names_what_forbids_the_action(position, switches, taken, action, reason):
    """In notation and as a number, and in the error of `play`."""
    game = table(position, **switches)
    for step in taken.split():
        game.play(step)

    assert game.why_illegal(action) == game.why_illegal(text_to_action(action)) == reason
    with pytest.raises(ValueError, match=re.escape(f": {reason}")):
        game.play(action)


def test_there_is_an_example_of_every_reason():
    """So the list above holds all that can be met in play."""
    met: set[str | None] = {None}
    rng = random.Random(1)
    for seed in range(12):
        for phase in PHASES:
            for game in wander(decision(phase, rng.randint(2, 8), seed), rng, patience=100):
                met |= {game.state.why_illegal(action) for action in range(NUM_ACTIONS)}
                if game.ply > 120:
                    break

    assert met <= {None, *(reason for *_, reason in EXAMPLES)}
    assert len({reason for *_, reason in EXAMPLES}) == len(EXAMPLES)


def test_an_invalid_action_has_no_reason():
    """It is refused as notation, as in `play`."""
    game = table("r5 | 0: g1 b2 | 1: r3")

    for nothing in ("", "y9", 216, -1, True):
        with pytest.raises(NotationError):
            game.why_illegal(nothing)
    with pytest.raises(ValueError, match="there is no action 216"):
        game.state.why_illegal(216)
