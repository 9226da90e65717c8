"""Rules 10: the flat action space."""

import re

import pytest

from tests.support.notation import COLORED, WILD, cards, sizes, table
from uno_flex_env import IllegalActionError, NotationError
from uno_flex_env.actions import NUM_ACTIONS, action_to_text, text_to_action
from uno_flex_env.cards import card_to_text, text_to_card

ALL = [
    *COLORED,
    *(card + "!" for card in COLORED if "/" in card),
    *cards("WF:r WF:y WF:g WF:b WT/:r WT/:y WT/:g WT/:b WA/:r WA/:y WA/:g WA/:b W4/:r W4/:y W4/:g W4/:b"),
    *cards("WA/!:r WA/!:y WA/!:g WA/!:b"),
    *(f"WT/!:{color}@{k}" for color in "rygb" for k in range(1, 8)),
    *(f"W4/!:{color}@{k}" for color in "rygb" for k in range(1, 8)),
    *cards("draw keep accept challenge uno silent catch ignore"),
]


def test_every_decision_is_one_integer():
    """Rules 10.1."""
    assert list(map(action_to_text, range(216))) == ALL
    assert list(map(text_to_action, ALL)) == list(range(216))


def test_an_integer_plays_as_its_text_does():
    """Rules 10.1."""
    position = table("g5 | 0: g5/r WT/ b2", 4)

    for action in position.legal_actions:
        by_number, by_text = position.copy().play(text_to_action(action)), position.copy().play(action)
        assert by_number.snapshot() == by_text.snapshot()
        assert by_number.actions == [action]


def test_the_set_is_fixed_and_illegal_actions_are_masked(num_players):
    """Rules 10.2: an action that needs more players has its number, and is not legal."""
    game = table("g5 | 0: W4/ WT/ b2", num_players)

    assert text_to_action("W4/!:b@7") == 207
    assert ("W4/!:b@7" in game.legal_actions) == (num_players == 8)
    if num_players < 8:
        with pytest.raises(IllegalActionError):
            game.play(207)


@pytest.mark.parametrize(("flex", "power"), [("y2/g!", "-++"), ("gS/!", "-++"), ("WA/!:b", "-++"), ("WT/!:b@1", "-++")])
def test_an_exclamation_mark_is_the_flex_side(flex, power):
    """Rules 10.3: the same text without it is the regular side."""
    regular = flex.replace("!", "").split("@")[0]
    position = table("g2^ | 0: y2/g gS/ WA/ WT/ b4", 3)

    assert position.copy().play(flex).power == power
    assert position.copy().play(regular).power == "+++"


@pytest.mark.parametrize("direction", "+-")
@pytest.mark.parametrize("seat", range(5))
@pytest.mark.parametrize("offset", range(1, 5))
@pytest.mark.parametrize(("wild", "drawn"), [("WT/", 2), ("W4/", 4)])
def test_a_target_is_counted_clockwise_from_the_acting_player_whatever_the_direction(
    direction, seat, offset, wild, drawn
):
    """Rules 10.4."""
    game = table(f"g5 | {seat}: {wild} b2 | turn {seat} | dir {direction}", 5).play(f"{wild}!:r@{offset}")

    expected = [2] * 5
    expected[seat] -= 1
    expected[(seat + offset) % 5] += drawn
    assert sizes(game) == expected


@pytest.mark.parametrize(
    ("pattern", "count"),
    [
        (r"[rygb].*[^!]", 88),
        (r"[rygb].*!", 44),
        (r"(WF|WT/|WA/|W4/):[rygb]", 16),
        (r"WA/!:[rygb]", 4),
        (r"WT/!:[rygb]@[1-7]", 28),
        (r"W4/!:[rygb]@[1-7]", 28),
        (r"draw|keep", 2),
        (r"accept|challenge", 2),
        (r"uno|silent|catch|ignore", 4),
    ],
)
def test_the_groups_have_these_sizes(pattern, count):
    """Rules 10.5."""
    assert sum(re.fullmatch(pattern, action_to_text(action)) is not None for action in range(NUM_ACTIONS)) == count


def test_there_are_216_actions():
    """Rules 10.6."""
    assert NUM_ACTIONS == 216
    for outside in (-1, 216, 1000):
        with pytest.raises(NotationError, match=str(outside)):
            action_to_text(outside)


@pytest.mark.parametrize(
    ("first", "text"),
    [
        (0, "r1"),
        (11, "r1/b"),
        (22, "y1^"),
        (87, "bD/"),
        (88, "r1/b!"),
        (96, "rS/!"),
        (99, "y1/g!"),
        (131, "bD/!"),
        (132, "WF:r"),
        (147, "W4/:b"),
        (148, "WA/!:r"),
        (152, "WT/!:r@1"),
        (159, "WT/!:y@1"),
        (180, "W4/!:r@1"),
        (207, "W4/!:b@7"),
        (208, "draw"),
        (209, "keep"),
        (210, "accept"),
        (211, "challenge"),
        (212, "uno"),
        (213, "silent"),
        (214, "catch"),
        (215, "ignore"),
    ],
)
def test_the_order_is_this(first, text):
    """Rules 10.6: the first and last action of each group, by number."""
    assert text_to_action(text) == first


def test_legal_actions_are_listed_in_this_order():
    """Rules 10.6."""
    game = table("g5 | 0: W4/ WT/ WA/ WF g5/r gS/ r5/g g1 b5^ | 1: b2", 2)

    assert game.legal_actions == cards(
        "r5/g g1 g5/r gS/ b5^ r5/g! g5/r! gS/! WF:r WF:y WF:g WF:b WT/:r WT/:y WT/:g WT/:b WA/:r WA/:y WA/:g WA/:b "
        "W4/:r W4/:y W4/:g W4/:b WA/!:r WA/!:y WA/!:g WA/!:b WT/!:r@1 WT/!:y@1 WT/!:g@1 WT/!:b@1 "
        "W4/!:r@1 W4/!:y@1 W4/!:g@1 W4/!:b@1 draw"
    )


@pytest.mark.parametrize(
    ("phase", "position", "actions", "legal"),
    [
        ("play", "g5 | 0: g1 gD/ b2 | 1: rD b4", "", "g1 gD/ gD/! draw"),
        ("drawn", "g5 | 0: b2 b4 | 1: b6 | draw g1", "draw", "g1 keep"),
        ("challenge", "g5 | 0: W4/ b2 b4 | 1: b6", "W4/:r", "accept challenge"),
        ("uno", "g5 | 0: g1 b2 | 1: b4", "g1", "uno silent"),
        ("catch", "g5 | 0: g1 b2 | 1: b4", "g1 silent", "catch ignore"),
        ("stack", "g5 | 0: g1 gD/ b2 | 1: rD yD/ b4", "gD/", "rD yD/ draw"),
        ("over", "g5 | 0: g1 | 1: b4", "g1", ""),
    ],
)
def test_each_phase_has_its_legal_actions(phase, position, actions, legal):
    """Rules 10.7: and every other action is refused, by name and with those that are legal."""
    game = table(position, stacking=True, uno_call="explicit")
    for action in cards(actions):
        game.play(action)
    assert (game.phase, game.legal_actions) == (phase, cards(legal))

    for action in ALL:
        if action not in cards(legal):
            with pytest.raises(IllegalActionError, match=re.escape(action)) as refusal:
                game.play(action)
            assert all(other in str(refusal.value) for other in cards(legal))
    assert (game.phase, game.legal_actions) == (phase, cards(legal))


BROKEN = [
    "",
    " ",
    "y2\t",
    "y9",
    "y0",
    "x2",
    "y3",
    "y2^",
    "y2/r",
    "y2/y",
    "y2/",
    "rS/b",
    "rX",
    "Y2",
    "ys",
    "wf:r",
    "y2!",
    "y3^!",
    "rS!",
    "y2/g!!",
    "!y2/g",
    "y2/g!:r",
    "y2:r",
    "y2/g@1",
    "rS/!@1",
    "WF",
    "WF:",
    "WF:x",
    "WF:red",
    "WF!:r",
    "WF:r@1",
    "WF/:r",
    "WT:r",
    "WT/",
    "WT/:r@1",
    "WT/!:r",
    "WT/!:r@",
    "WT/!:r@0",
    "WT/!:r@8",
    "WT/!:r@-1",
    "WT/!:r@11",
    "WT/!@1:r",
    "WA/!:r@1",
    "WA/!",
    "W4/!:r@1x",
    "W5/:r",
    "Draw",
    "draw ",
    " draw",
    "draw\n",
    "pass",
    "uno!",
    "y2/g y2/g",
    "17",
]


@pytest.mark.parametrize("text", BROKEN, ids=repr)
def test_any_other_action_text_is_refused(text):
    """Rules 10.3: the message names what was wrong."""
    with pytest.raises(NotationError, match=re.escape(repr(text))):
        text_to_action(text)
    with pytest.raises(NotationError, match=re.escape(repr(text))):
        table("g5 | 0: g1 b2 | 1: b4").play(text)


@pytest.mark.parametrize("action", [-1, 216, 1.5, None, ["draw"], b"draw"], ids=repr)
def test_an_action_must_be_a_text_or_a_number(action):
    """Rules 10.1."""
    with pytest.raises(NotationError, match=re.escape(repr(action))):
        table("g5 | 0: g1 b2 | 1: b4").play(action)


@pytest.mark.parametrize("face", COLORED + WILD)
def test_a_card_is_written_and_read(face):
    """Rules 1.2."""
    assert card_to_text(text_to_card(face)) == face


@pytest.mark.parametrize(
    "text", ["", "y3", "y2^", "y2/r", "y9", "r0", "W", "W4", "WT", "WF/", "rS/r", "y2/g!", "WF:r", " y2", "y2 ", "draw"]
)
def test_any_other_card_text_is_refused(text):
    """Rules 1.2."""
    with pytest.raises(NotationError, match=re.escape(repr(text))):
        text_to_card(text)


@pytest.mark.parametrize("card", [-1, 92, 1000])
def test_a_card_number_is_0_to_91(card):
    """Rules 1.3."""
    with pytest.raises(NotationError, match=str(card)):
        card_to_text(card)


def test_refusals_are_value_errors_that_tell_notation_from_legality():
    """Rules 10.2 and 10.3."""
    assert issubclass(NotationError, ValueError)
    assert issubclass(IllegalActionError, ValueError)
    assert not issubclass(NotationError, IllegalActionError)
    assert not issubclass(IllegalActionError, NotationError)
