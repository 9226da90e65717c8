"""The expert: each rule of thumb in a position where it decides, and how strong they are together."""

from __future__ import annotations

import numpy as np
import pytest

from agents.expert import HEURISTICS, NAMES, Expert
from agents.match.runner import duel
from tests.support.notation import table
from uno_flex_env import Game
from uno_flex_env.actions import NUM_ACTIONS, TEXTS, text_to_action
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.policy_input import Decisions
from uno_flex_env.seeding import decision_noise


def plays(game: Game, *without: str) -> set[str]:
    """What the expert does at a table, with any random numbers."""
    keys = decision_noise(0, 0, 0, np.arange(50))
    observation = np.empty(NUM_FEATURES, np.uint8)
    assert game.current_player is not None
    game.state.encode(game.current_player, observation)
    mask = np.zeros(NUM_ACTIONS, np.int8)
    mask[[text_to_action(text) for text in game.legal_actions]] = 1
    batch = Decisions(np.tile(observation, (len(keys), 1)), np.tile(mask, (len(keys), 1)), keys)
    return {TEXTS[action] for action in Expert(without).act(batch)}


GREENS_GONE = "discard g1 g7 gR gD gS g2^ g4^ g6^"
NEARLY_ALL_GREENS_GONE = f"{GREENS_GONE} g3 g8^ g1/y g2/y g3/y g4/r g6/r g7/b"


def positions() -> dict[str, list[tuple[Game, str]]]:
    """For each rule of thumb, tables at which it decides, and how."""
    bluffed = table("g5 | 0: WF b6 b8 r6^ r8^ | 1: W4/ b1^ b2 g1 | turn 1").play("W4/:y")
    one_left = table("g5 | 0: g3 y1^ | 1: y2 y4 y6", uno_call="explicit").play("g3")
    return {
        "play_when_possible": [
            (table("g5 | 0: g1 r2^ | 1: b4 b6"), "g1"),
            (table("g5 | 0: r2^ r4^ | 1: b4 b6 | draw g1").play("draw"), "g1"),
        ],
        "hold_wilds": [(table("g5 | 0: g1 WF r2^ b3^ b4 | 1: b6 b8 y2 y4"), "g1")],
        "spend_wilds_late": [(table(f"g5 | 0: WF WF b5^ y2 y4 r1 | 1: y8 | {NEARLY_ALL_GREENS_GONE}"), "WF:g")],
        "hold_flex": [(table("g5 | 0: y2/g g4^ y4 y6 y8 | 1: b6 b8 y2 r4^"), "g4^")],
        "classic_first": [(table("g5 | 0: g1/y g1 b8 b6 r3 | 1: b2 b4 y2 r4^"), "g1")],
        "make_draw": [
            (table("g5 | 0: gD/ b8 b6 r3 y1^ y3^ | 1: b2 b4 y2 r4^ | 2: y4 y6 y8 r1 | 3: r5 r7 g3 g7"), "gD/!"),
        ],
        "chain_turns": [
            (table("g5 | 0: gS g3 b8 b6 r3 | 1: b2 b4 y2 r4^"), "gS"),
            (table("g5 | 0: gS/ g3 g1 b6 r3 | 1: b2 b4 y2 r4^ | 2: y4 y6 y8 r1"), "gS/!"),
        ],
        "green_power": [(table("g5 | 0: g4^ g3 b8 b6 r3 | 1: b2 b4 y2 r4^ | power -+"), "g4^")],
        "keep_followers": [
            (table("g5 | 0: g3 y5^ y2 y4 y6 | 1: b2 b4 r2^ r4^ | discard g1 g7 gR"), "y5^"),
            (table("g3 | 0: b3/r g7/b | 1: b2 b4 r2^ r4^"), "b3/r"),
        ],
        "scarce_colors": [(table(f"g5 | 0: g3 r5 y2 b4 | 1: b2 r2^ r6^ | 2: y4 y6 y8 r1 | {GREENS_GONE}"), "g3")],
        "known_colors": [(bluffed.copy().play("challenge"), "WF:r")],
        "challenge": [(bluffed, "challenge")],
        "guard_leader": [(table("g5 | 0: gS g3 b3^ y3^ r3 | 1: b2 b4 y2 b6 b8 | 2: y4 | 3: r1 r5 r7 g7"), "g3")],
        "aim_at_leader": [
            (table("g5 | 0: W4/ r2^ r4^ r8^ | 1: b2 b4 y2 b6 b8 | 2: y4 | 3: r1 r3 r5 r7 g3"), "W4/!:r@2"),
        ],
        "say_uno": [(one_left, "uno"), (one_left.copy().play("silent"), "catch")],
    }


@pytest.mark.parametrize("rule", NAMES)
def test_a_rule_of_thumb_decides(rule):
    """The expert plays each position by the heuristic with any random numbers; without it, otherwise or at random."""
    for game, wanted in positions()[rule]:
        assert plays(game) == {wanted}
        assert plays(game, rule) != {wanted}


def test_rules_are_written_down():
    """Each is a sentence, with what it is worth at two players and at four."""
    for rule in HEURISTICS:
        assert rule.says.endswith(".")
        assert "\n" not in rule.says
        for worth, margin in (rule.two, rule.four):
            assert -0.5 < worth <= 75.0
            assert 0.0 <= margin < 1.5


def test_an_unknown_heuristic_is_refused_by_name():
    """The message lists the known ones."""
    with pytest.raises(ValueError, match="the expert has no heuristic 'bluff'; there are play_when_possible, "):
        Expert(("hold_wilds", "bluff"))


@pytest.mark.slow
@pytest.mark.parametrize(("num_players", "percent"), [(2, 68), (4, 35)])
def test_the_expert_is_much_stronger_than_the_best_rule_bot(num_players, percent):
    """Against `flex_when_stuck` at all other seats it won 73 % and 40 %; its interval must exclude this much less. Seen
    red without `hold_wilds` and without `play_when_possible`."""
    rate = duel("expert", "flex_when_stuck", num_players, games=4000).rate("expert")

    assert rate.low > percent / 100
