"""Cards and actions as text, both ways (rules 1 and 10). The tables themselves are in tests/rules."""

from __future__ import annotations

import re
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.reference import COLORS, OFFICIAL, faces
from uno_flex_env import NotationError, actions
from uno_flex_env.actions import ACTIONS, NUM_ACTIONS, TEXTS, VERBS, action_to_text, text_to_action
from uno_flex_env.cards import CODES, FACES, NUM_FACES, card_to_text, cards_to_text, text_to_card

MANY = settings(derandomize=True, deadline=None, max_examples=500)


def test_all_92_faces_go_both_ways():
    """Rules 1: in the order of rules 10."""
    assert [card_to_text(face) for face in range(NUM_FACES)] == faces() == list(CODES)
    assert [text_to_card(text) for text in faces()] == list(range(92))
    assert len(set(CODES)) == 92


def test_the_table_of_faces_says_what_the_texts_say():
    """Rules 1."""
    for face, code in zip(FACES, CODES, strict=True):
        wild = code.startswith("W")
        assert face.color == (None if wild else COLORS.index(code[0]))
        assert face.symbol == (None if wild else "12345678SRD".index(code[1]))
        shown = None if wild or "/" not in code else code[-1] if code[1].isdigit() else code[0]
        assert face.flex_color == (None if shown is None else COLORS.index(shown))
        assert (face.has_flex, face.flip_icon, face.copies) == ("/" in code, "^" in code, OFFICIAL[code])


def test_all_216_actions_go_both_ways():
    """Rules 10."""
    flexes = [f"{wild}!:{color}" for wild in ("WT/", "W4/") for color in COLORS]
    expected = [
        *faces()[:88],
        *(face + "!" for face in faces()[:88] if "/" in face),
        *(f"{wild}:{color}" for wild in faces()[88:] for color in COLORS),
        *(f"WA/!:{color}" for color in COLORS),
        *(f"{flex}@{offset}" for flex in flexes for offset in range(1, 8)),
        "draw",
        "keep",
        "accept",
        "challenge",
        "uno",
        "silent",
        "catch",
        "ignore",
    ]

    assert [action_to_text(action) for action in range(NUM_ACTIONS)] == expected == list(TEXTS)
    assert [text_to_action(text) for text in expected] == list(range(216))
    assert len(set(expected)) == 216


def test_the_table_of_actions_says_what_the_texts_say():
    """Rules 10: verb, card, color, target and side of each."""
    for action, text in zip(ACTIONS, TEXTS, strict=True):
        card, color, target = re.fullmatch(r"([^:@]*)(?::(.))?(?:@(.))?", text).groups()  # type: ignore[union-attr]
        code = card.removesuffix("!")
        verb = "play" if code in CODES else code
        assert action.verb == verb
        assert action.face == (CODES.index(code) if verb == "play" else None)
        assert action.color == (COLORS.index(color) if color else None)
        assert (action.offset, action.flex) == (int(target or 0), "!" in text)


@pytest.mark.parametrize(
    ("mask", "among"),
    [
        (actions.FLEX_ACTIONS, lambda text: "!" in text),
        (actions.WILD_ACTIONS, lambda text: text.startswith("W")),
        (actions.PLAY_ACTIONS, lambda text: text not in VERBS),
    ],
    ids=["flex", "wild", "play"],
)
def test_masks_of_actions_hold_those_whose_text_says_so(mask, among):
    """They are read-only."""
    assert mask.tolist() == [among(text) for text in TEXTS]
    assert not mask.flags.writeable


def test_actions_without_a_card_have_their_numbers_by_name():
    """Rules 10."""
    assert [TEXTS[getattr(actions, verb.upper())] for verb in VERBS[1:]] == list(VERBS[1:])


@pytest.mark.parametrize("number", [np.int8(3), np.uint8(3), np.int64(3), np.array([3])[0]])
def test_numpy_numbers_are_accepted(number):
    """Policies hand them out."""
    assert action_to_text(number) == "r4^"


def test_cards_are_sorted_by_character_code():
    """Rules 11: capitals first."""
    assert cards_to_text([88, 0, 66, 89]) == ["WF", "WT/", "b1^", "r1"]


NEAR = st.text("rygbWFTA4SRD12389/!:@^ x", max_size=9)
"""Texts of the letters that notation is made of."""


@MANY
@given(NEAR | st.text(max_size=12))
@example("y2/g!:r@1")
def test_any_other_action_text_is_refused_and_quoted(text):
    """Rules 10: NotationError, nothing else, with the text in it."""
    if text in TEXTS:
        assert action_to_text(text_to_action(text)) == text
        return
    with pytest.raises(NotationError, match=re.escape(repr(text))):
        text_to_action(text)


@MANY
@given(NEAR | st.text(max_size=12))
def test_any_other_card_text_is_refused_and_quoted(text):
    """Rules 1: NotationError, nothing else, with the text in it."""
    if text in CODES:
        assert card_to_text(text_to_card(text)) == text
        return
    with pytest.raises(NotationError, match=re.escape(repr(text))):
        text_to_card(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("@1", "'@1' is neither a card nor one of draw, keep, accept, challenge, uno, silent, catch, ignore"),
        ("y9", "'y9' is neither a card nor one of draw, keep, accept, challenge, uno, silent, catch, ignore"),
        ("pass", "'pass' is neither"),
        ("y3", "'y3' is neither"),
        ("", "'' is neither"),
        ("y2!", "y2 has no flex side"),
        ("y3^!", "y3^ has no flex side"),
        ("WF!:r", "WF has no flex side"),
        ("y2/g!:r", "y2/g! calls no color"),
        ("y2:r", "y2 calls no color"),
        ("WF", "WF calls a color: one of :r :y :g :b"),
        ("WF:", "WF calls a color"),
        ("WF:x", "WF calls a color"),
        ("WF:ry", "WF calls a color"),
        ("WT/!@1", "WT/! calls a color"),
        ("WT/!:r", "WT/! needs a target: @1 to @7"),
        ("W4/!:r@8", "W4/! needs a target: @1 to @7"),
        ("W4/!:r@0", "W4/! needs a target: @1 to @7"),
        ("W4/:r@1", "W4/ has no target"),
        ("rS/!@1", "rS/! has no target"),
    ],
)
def test_the_refusal_of_an_action_names_what_is_wrong(text, reason):
    """Rules 10."""
    with pytest.raises(NotationError) as refusal:
        text_to_action(text)
    assert reason in str(refusal.value)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("y3", "did you mean y3^ or y3/g?"),
        ("y2/r", "did you mean y2 or y2/g?"),
        ("y2^", "did you mean y2 or y2/g?"),
        ("W4", "did you mean W4/?"),
        ("rS/r", "did you mean rS or rS/?"),
        ("WF/", "did you mean WF?"),
        ("nonsense", "cards look like y2, y3^, y2/g"),
        ("", "cards look like"),
    ],
)
def test_the_refusal_of_a_card_says_what_was_meant(text, hint):
    """Rules 1."""
    with pytest.raises(NotationError) as refusal:
        text_to_card(text)
    assert hint in str(refusal.value)


@pytest.mark.parametrize("thing", [None, 0, 208, 1.0, b"draw", ["draw"], ("draw",), {"draw"}, {}, True, object()])
def test_notation_must_be_text(thing):
    """Fault 19: also what can't be hashed."""
    for read in (text_to_action, text_to_card):
        with pytest.raises(NotationError):
            read(thing)


NO_NUMBERS: list[Any] = [-1, 216, 10**30, 0.5, nan, inf, "0", "r1", "draw", None, [1], np.array([1, 2]), True]


@pytest.mark.parametrize("thing", NO_NUMBERS, ids=repr)
def test_an_invalid_action_number_is_refused(thing):
    """Fault 19."""
    with pytest.raises(NotationError, match="from 0 to 215"):
        action_to_text(thing)


@pytest.mark.parametrize("thing", [92, *NO_NUMBERS], ids=repr)
def test_an_invalid_card_number_is_refused(thing):
    """As with actions."""
    with pytest.raises(NotationError, match="from 0 to 91"):
        card_to_text(thing)
