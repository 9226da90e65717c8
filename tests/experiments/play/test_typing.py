"""What the person types at a decision: moves, questions, undo and hints."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.checkpoint import POLICY, save_network
from agents.network_policy import load_policy
from experiments.terminal.session import Session
from tests.support.learning import KINDS, make_network
from tests.support.notation import table as position
from tests.support.typist import at, config_of, sit, some_action
from uno_flex_env import Rules
from uno_flex_env.actions import NUM_ACTIONS, TEXTS
from uno_flex_env.policy_input import Decisions

# ---- What the person types ----


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("foo", "There is no such action: 'foo'; 'foo' is neither a card nor one of draw, keep"),
        ("r1/b", "r1/b is illegal now: the player does not hold this card (rules 3.1)."),
        ("b6", "b6 is illegal now: neither the color nor the symbol matches (rules 4.5)."),
        ("b4/y!", "b4/y! is illegal now: a flex side needs a green Power, and the player's is red (rules 3.1)."),
        ("WT/!:b@1", "WT/!:b@1 is illegal now: a flex side needs a green Power, and the player's is red (rules 3.1)."),
        ("challenge", "challenge is illegal now: no Draw Four waits for an answer (rules 7.4)."),
        ("0", "The numbers go from 1 to 3."),
        ("4", "The numbers go from 1 to 3."),
        ("WT/:x", "There is no such action: 'WT/:x'; WT/ calls a color: one of :r :y :g :b."),
        ("rules", "Give a number, such as 7.4 or 7, or words, such as stacking."),
        ("rules 99", "There is no rule 99. Give a number, such as 7.4 or 7, or words, such as stacking."),
        ("undo", "You have made no decision in this round that you can take back."),
    ],
)
def test_wrong_input_is_explained(line, why):
    """Fault 19: nothing is played in its place, and what can be done is said.

    Seen to fail with the nearest choice taken for a number out of range."""
    session, console = at(position("r5 | 0: r2^ b6 b4/y WT/ | 1: g1 | power -+"))

    assert session.obey(line) is False

    assert why in " ".join(console.text.split())
    assert session.game.ply == 0
    if line not in ("undo", "rules", "rules 99"):
        assert "You can choose: 1 r2^  2 WT/  3 draw" in console.text


@pytest.mark.parametrize(
    ("line", "answers", "action"),
    [
        ("WT/!", "b,@2", "WT/!:b@2"),
        ("WT/!", "blue,2", "WT/!:b@2"),
        ("WT/!:b", "1", "WT/!:b@1"),
        ("WT/!", ":b,orange,", None),
        ("WT/!", "orange,b,3,@1", "WT/!:b@1"),
        ("WT/!:b@2", "", "WT/!:b@2"),
        ("WT/", "y", "WT/:y"),
        ("WT/", "", None),
        ("3", "g,2", "WT/!:g@2"),
        ("1", "", "r2^"),
        ("b6", "", None),
        ("draw", "", "draw"),
    ],
)
def test_color_and_target_are_asked_for(line, answers, action):
    """By number or notation, where they are not said; a wrong answer is explained, an empty line goes back.

    Seen to fail with targets counted from 0."""
    session, console = at(position("r5 | 0: r2^ b6 WT/ | 1: g1 | 2: g2^"), answers)

    assert session.obey(line) is (action is not None)

    assert session.game.actions == ([] if action is None else [action])
    assert ("One of these" in console.text) is ("orange" in answers)


def test_the_target_is_named():
    """As in the notation: so many seats clockwise. Seen to fail with the names by seat."""
    session, _ = at(position("r5 | 0: g3 | 1: r2^ WT/ | 2: g2^ | turn 1"), seat=1)
    asked: list[str] = []

    def leave(prompt: Any = "", **_: Any) -> str:
        asked.append(prompt)
        return "quit"

    session.console.input = leave  # type: ignore[method-assign]

    with pytest.raises(EOFError):
        session.obey("WT/!:b")

    assert asked == ["Which: @1 flex_any 2, @2 flex_any 0? "]


def test_names_are_shown_as_they_are(pipe):
    """Also those that look like rich's markup. Seen to fail with a prompt that reads it."""
    for name in ("[red]x", "[/x]"):
        Path(name).mkdir(parents=True)
        save_network(Path(name, POLICY), make_network(KINDS[0]), {})

        said = pipe("WT/!:b\n", "--seed", 3, "--players", 3, "--opponent", name, "flex_any", "--hints", "flex_any")

        assert said.status == 0
        assert f"Which: @1 {name} 1, @2 flex_any 2? " in said.out


def test_a_rule_that_forbids_a_match_is_named():
    """Rule 9.4. Seen to fail with "neither the color nor the symbol matches", where the symbol does."""
    session, console = at(position("rS/ | 0: bS/ r1 | 1: g1", flex_action_match="color"))

    session.obey("bS/!")

    assert "bS/! is illegal now: the flex side of an action has to match the active color (rules 9.4)." in " ".join(
        console.text.split()
    )


def test_help_and_rules_can_be_read():
    """Rules by number, whole sections too. Seen to fail with the first rule that only cites the number."""
    session, console = at(position("r5 | 0: r2^ b6 | 1: g1"))

    for line in ("help", "rules 7.4", "rules 1", "rules 6.13"):
        assert not session.obey(line)

    text = " ".join(console.text.split())
    assert "undo back to your previous decision" in text
    assert "It may be played guilty, as a bluff" in text
    assert "Checksums: 64 numbers" in text
    assert "everyone else draws 2; nobody" in text


# ---- Taking back ----


@pytest.mark.parametrize("players", [2, 3, 8])
def test_undone_actions_leave_no_trace(players):
    """Fault 11: after detours of one and of two decisions the game is the same as without them, the cards and
    opponents included.

    Seen to fail with random numbers that keep counting."""
    settings = config_of(players=players, rules=Rules(uno_call="explicit", stacking=True))
    straight, _ = sit(settings, some_action, mute=True)
    plan: list[str] = []
    tried: set[int] = set()

    def answer(session: Session) -> str:
        game = session.game
        if not plan and game.ply not in tried and len(tried) < 8 and min(map(len, game.hands)) > 3:
            tried.add(game.ply)
            plan.extend(["other", "other", "undo", "undo"])
        if not plan:
            return some_action(session)
        return "undo" if plan.pop(0) == "undo" else game.legal_actions[-1]

    wandering, _ = sit(settings, answer, mute=True)

    assert len(tried) > 2
    assert straight.game.is_over
    assert wandering.records() == straight.records()


def test_undo_takes_back_only_your_own_decisions():
    """One after the other, down to the first; not beyond the present round.

    Seen to fail with an undo of a single action."""
    config = config_of(players=4, seat=2)
    lines = iter(["draw", "1", "draw", "undo", "undo", "undo", "undo"])

    session, text = sit(config, lambda session: next(lines, None))

    assert session.game.current_player == 2
    assert session.game.ply == 2
    assert text.count("You have made no decision in this round that you can take back") >= 1


# ---- Hints ----


def test_hints_are_the_probabilities_of_the_policy(tmp_path):
    """A network's probabilities from what the person sees, the likeliest first.

    Seen to fail with the observation of the next seat."""
    save_network(tmp_path / "net.safetensors", make_network(KINDS[0], seed=2), {})
    network = load_policy(tmp_path / "net.safetensors", "net")
    game = position("r5 | 0: g1 | 1: r2^ b4/y g5/r WF | 2: g2^ | turn 1")
    session, console = at(game, seat=1, hints=str(tmp_path / "net.safetensors"))
    observation, mask = np.empty((1, 640), np.uint8), np.empty((1, NUM_ACTIONS), np.int8)
    game.state.encode(1, observation[0])
    game.state.write_mask(mask[0])
    probs = network.probabilities(Decisions(observation, mask, np.zeros(1, np.uint64)))[0].numpy()

    assert session.obey("?") is False

    shown = re.findall(r"^(\S+) +(\d+) % +(=*) *$", console.text, flags=re.MULTILINE)
    ranked = [action for action in np.argsort(-probs)[:6] if probs[action] >= 0.005]
    assert [text for text, *_ in shown] == [TEXTS[action] for action in ranked]
    assert [int(percent) for _, percent, _ in shown] == [round(100 * float(probs[action])) for action in ranked]
    assert max(len(bar) for *_, bar in shown) == round(40 * probs.max())


def test_a_policy_without_probabilities_names_its_move():
    """As its only one. Seen to fail with a probability of 0."""
    session, console = at(position("r5 | 0: r2^ g1 b3^ | 1: g3"), hints="flex_any")

    session.obey("hint")

    assert "flex_any would play" in console.text
    assert re.search(r"(r2\^|draw) +100 % +={40}", console.text)


def test_hints_change_nothing():
    """A game with a hint at every decision is the same as one without.

    Seen to fail with a key that every answer moves on."""
    asked: set[int] = set()

    def curious(session: Session) -> str:
        if session.game.ply in asked:
            return some_action(session)
        asked.add(session.game.ply)
        return "?"

    plain, _ = sit(config_of(players=3), some_action, mute=True)
    hinted, text = sit(config_of(players=3), curious)

    assert text.count("would play") == len(asked) > 5
    assert hinted.records() == plain.records()
