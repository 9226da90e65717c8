"""Rules 4: matching."""

from collections import Counter

import pytest

from tests.support.notation import DECK, deal, sizes, table
from uno_flex_env import Game, IllegalActionError

REDS = "r1 r2^ r3 r4^ r5 r6^ r7 r8^ rS rR rD r1/b r2/b r3/b r4/g r5/g r6/g r7/y r8/y rS/ rR/ rD/"
YELLOWS = "y1^ y2 y3^ y4 y5^ y6 y7^ y8 yS yR yD y1/g y2/g y3/g y4/b y5/b y6/b y7/r y8/r yS/ yR/ yD/"
GREENS = "g1 g2^ g3 g4^ g5 g6^ g7 g8^ gS gR gD g1/y g2/y g3/y g4/r g5/r g6/r g7/b g8/b gS/ gR/ gD/"
BLUES = "b1^ b2 b3^ b4 b5^ b6 b7^ b8 bS bR bD b1/r b2/r b3/r b4/y b5/y b6/y b7/g b8/g bS/ bR/ bD/"

FLEX_RED = "y7/r! y8/r! g4/r! g5/r! g6/r! b1/r! b2/r! b3/r! "
FLEX_YELLOW = "r7/y! r8/y! g1/y! g2/y! g3/y! b4/y! b5/y! b6/y! "
FLEX_GREEN = "r4/g! r5/g! r6/g! y1/g! y2/g! y3/g! b7/g! b8/g! "
FLEX_BLUE = "r1/b! r2/b! r3/b! y4/b! y5/b! y6/b! g7/b! g8/b! "


def holding_everything(top: str, color: str = "", power: str = "+") -> Game:
    """Seat 0 holds every card but the top and the one wild of seat 1."""
    rest = " ".join((DECK - Counter([top, "WF"])).elements())
    return table(f"{top} | 0: {rest} | 1: WF | power {power}+" + (f" | color {color}" if color else ""))


def test_the_top_is_the_starter():
    """Rules 4.1."""
    game = deal("r1 g1 gS y2/g", 2, hand_size=1)

    assert (game.top, game.color) == ("y2/g", "y")


@pytest.mark.parametrize("action", ["g1/y", "y5/b", "y5/b!", "WF:b", "WA/!:r", "gS/!"])
def test_the_top_is_the_last_card_played(num_players, action):
    """Rules 4.1."""
    game = table("g5 | 0: g1/y y5/b WF WA/ gS/", num_players).play(action)

    assert game.top == action.split(":")[0].rstrip("!")


@pytest.mark.parametrize(
    ("action", "color"), [("y2/g!", "y"), ("r5/g!", "r"), ("r5/g", "r"), ("b5/y!", "b"), ("gD/!", "g"), ("g4/r", "g")]
)
def test_the_top_shows_its_regular_side_however_it_was_played(num_players, action, color):
    """Rules 4.2: next matches the regular color of a card played on its flex side, not the flex color."""
    game = table("g5 | 0: y2/g r5/g b5/y gD/ g4/r b1^", num_players).play(action)

    assert (game.top, game.color) == (action.rstrip("!"), color)


def test_next_matches_the_regular_side_of_a_card_played_flex():
    """Rules 4.2."""
    game = table("g5 | 0: y2/g b1^ b3^ | 1: y8 g8^ g2^ r8^").play("y2/g!")

    assert game.legal_actions == ["y8", "g2^", "draw"]


def test_the_active_color_is_the_regular_color_of_the_top(num_players):
    """Rules 4.3: also where the top matched by its number."""
    assert table("g5 | 0: b5^ b1^", num_players).play("b5^").color == "b"
    assert table("g5 | 0: g1/y b1^", num_players).play("g1/y").color == "g"


@pytest.mark.parametrize("color", "rygb")
def test_the_active_color_is_the_one_called_if_the_top_is_a_wild(color):
    """Rules 4.3."""
    game = table("g5 | 0: WF b1^ b3^ | 1: r1 y8 g3 b2").play(f"WF:{color}")

    assert game.color == color
    assert game.legal_actions == [{"r": "r1", "y": "y8", "g": "g3", "b": "b2"}[color], "draw"]


@pytest.mark.parametrize(
    ("top", "matching", "other"),
    [
        ("g5", "y5/b", "y6/b"),
        ("g5/r", "b5^", "b7^"),
        ("gS", "bS/", "bR/"),
        ("gS/", "bS", "bD"),
        ("gR", "yR/", "yS/"),
        ("gR/", "yR", "yD"),
        ("gD", "rD/", "rR/"),
        ("gD/", "rD", "rS"),
    ],
)
def test_the_top_symbol_is_the_number_or_the_action_the_same_on_classic_and_flex_cards(top, matching, other):
    """Rules 4.4."""
    assert table(f"{top} | 0: {matching} {other} | 1: b2 | power -+").legal_actions == [matching, "draw"]


@pytest.mark.parametrize("wild", ["WF", "WT/", "WA/", "W4/"])
def test_a_wild_shows_no_symbol(wild):
    """Rules 4.4: only the color called matches, so neither a Draw Two nor a 4 does."""
    game = table(f"{wild} | color r | 0: b4 y4/b g2^ bD bD/ yS gR/ r1 | 1: b2")

    assert game.legal_actions == ["r1", "draw"]


@pytest.mark.parametrize(
    ("top", "color", "plays"),
    [
        ("g5", "", GREENS + " r5 r5/g y5^ y5/b b5^ b5/y"),
        ("y2/g", "", YELLOWS + " r2^ r2/b g2^ g2/y b2 b2/r"),
        ("rS", "", REDS + " yS yS/ gS gS/ bS bS/"),
        ("bR/", "", BLUES + " rR rR/ yR yR/ gR gR/"),
        ("gD/", "", GREENS + " rD rD/ yD yD/ bD bD/"),
        ("WF", "y", YELLOWS),
        ("W4/", "r", REDS),
    ],
)
@pytest.mark.parametrize("power", "+-")
def test_a_regular_side_matches_the_active_color_or_the_top_symbol(top, color, plays, power):
    """Rules 4.5."""
    game = holding_everything(top, color, power)

    regular = {action for action in game.legal_actions if not set(action) & set("!:") and action != "draw"}

    assert regular == set(plays.split()) - {top}


@pytest.mark.parametrize(
    ("top", "color", "plays"),
    [
        ("g5", "", FLEX_GREEN + "g5/r! y5/b! b5/y!"),
        ("g5/r", "", FLEX_GREEN + "y5/b! b5/y!"),
        ("y2/g", "", FLEX_YELLOW + "r2/b! b2/r!"),
        ("b8", "", FLEX_BLUE + "r8/y! y8/r! b8/g!"),
        ("rS", "", FLEX_RED),
        ("bR/", "", FLEX_BLUE),
        ("WF", "y", FLEX_YELLOW),
        ("W4/", "g", FLEX_GREEN),
    ],
)
def test_the_flex_side_of_a_number_matches_by_flex_color_or_number(top, color, plays):
    """Rules 4.6."""
    game = holding_everything(top, color)

    flex = {action for action in game.legal_actions if action.endswith("!") and action[1].isdigit()}

    assert flex == set(plays.split()) - {top + "!"}


@pytest.mark.parametrize(
    ("top", "color", "plays"),
    [
        ("g5", "", "gS/! gR/! gD/!"),
        ("rS", "", "rS/! rR/! rD/! yS/! gS/! bS/!"),
        ("bR/", "", "bS/! bD/! rR/! yR/! gR/!"),
        ("yD", "", "yS/! yR/! yD/! rD/! gD/! bD/!"),
        ("WF", "y", "yS/! yR/! yD/!"),
        ("WT/", "b", "bS/! bR/! bD/!"),
    ],
)
def test_the_flex_side_of_an_action_matches_by_color_or_symbol(top, color, plays):
    """Rules 4.7."""
    game = holding_everything(top, color)

    flex = {action for action in game.legal_actions if action.endswith("!") and not action[1].isdigit()}

    assert flex == set(plays.split())


@pytest.mark.parametrize(("top", "color"), [("g5", ""), ("rS", ""), ("bR/", ""), ("WF", "y"), ("W4/", "g")])
def test_with_a_red_power_no_flex_side_is_legal(top, color):
    """Rules 4.6, 4.7 and 4.9."""
    assert not [action for action in holding_everything(top, color, "-").legal_actions if "!" in action]


@pytest.mark.parametrize("wild", ["WF", "WT/", "WA/", "W4/"])
@pytest.mark.parametrize("top", ["r5", "y2/g", "gS", "bD/", "WF | color r", "W4/ | color b"])
@pytest.mark.parametrize("power", "+-")
def test_a_wild_is_always_legal_on_its_regular_side(wild, top, power):
    """Rules 4.8: in all four colors; Draw Four also beside a card of the active color (rules 7.4)."""
    game = table(f"{top} | 0: {wild} r1 y1^ g1 b1^ | 1: b4 b6 | power {power}+")

    assert {f"{wild}:{color}" for color in "rygb"} < set(game.legal_actions)


@pytest.mark.parametrize(
    ("wild", "plays"),
    [
        ("WF", []),
        ("WA/", ["WA/!:r", "WA/!:y", "WA/!:g", "WA/!:b"]),
        ("WT/", ["WT/!:r@1", "WT/!:r@2", "WT/!:y@1", "WT/!:y@2", "WT/!:g@1", "WT/!:g@2", "WT/!:b@1", "WT/!:b@2"]),
        ("W4/", ["W4/!:r@1", "W4/!:r@2", "W4/!:y@1", "W4/!:y@2", "W4/!:g@1", "W4/!:g@2", "W4/!:b@1", "W4/!:b@2"]),
    ],
)
@pytest.mark.parametrize("top", ["r5", "gS", "WF | color r"])
def test_a_flex_wild_is_legal_on_its_flex_side_with_a_green_power(wild, plays, top):
    """Rules 4.9."""
    for power, expected in (("+", plays), ("-", [])):
        game = table(f"{top} | 0: {wild} r1 y1^ | 1: b4 | 2: b6 | power {power}++")
        assert [action for action in game.legal_actions if "!" in action] == expected


@pytest.mark.parametrize("card", ["g5/r", "y5/b", "gS/", "gD/"])
def test_a_flex_side_may_be_chosen_also_when_the_regular_side_is_legal(num_players, card):
    """Rules 4.10."""
    game = table(f"g5 | 0: {card} b2 b4", num_players)

    assert game.legal_actions == [card, card + "!", "draw"]
    assert game.play(card + "!").power[0] == "-"


WILD_ACTIONS = [
    *(f"{wild}:{color}" for wild in ("WF", "WT/", "WA/", "W4/") for color in "rygb"),
    *(f"WA/!:{color}" for color in "rygb"),
    *(f"{wild}!:{color}@{k}" for wild in ("WT/", "W4/") for color in "rygb" for k in range(1, 8)),
]


@pytest.mark.parametrize("action", WILD_ACTIONS)
@pytest.mark.parametrize("active", "rg")
def test_every_wild_calls_the_next_active_color_from_the_hand(action, active):
    """Rules 4.11, and 4.12 where the color is the active one."""
    face, _, call = action.partition(":")

    game = table(f"{active}5 | 0: {face.rstrip('!')} y1^ b2 b4", 8).play(action)

    assert game.color == call[0]


@pytest.mark.parametrize("action", WILD_ACTIONS)
def test_every_wild_calls_the_next_active_color_just_drawn(action):
    """Rules 4.11."""
    face, _, call = action.partition(":")

    game = table(f"g5 | 0: y1^ b2 b4 | draw {face.rstrip('!')}", 8).play("draw").play(action)

    assert (game.top, game.color) == (face.rstrip("!"), call[0])


@pytest.mark.parametrize("action", WILD_ACTIONS)
def test_every_wild_calls_the_next_active_color_as_the_last_card(action):
    """Rules 4.11: the color is part of the play, and no decision about it follows."""
    face, _, call = action.partition(":")

    game = table(f"g5 | 0: {face.rstrip('!')}", 8).play(action)

    assert game.color == call[0]
    assert game.phase in ("over", "challenge")


def test_calling_the_present_color_is_allowed(num_players):
    """Rules 4.12."""
    game = table("g5 | 0: WF b2 b4", num_players).play("WF:g")

    assert game.color == "g"


def test_there_is_no_stacking(num_players):
    """Rules 4.13: next, holding a Draw Two, draws and loses the turn."""
    game = table("g5 | 0: gD b1^ b3^ | 1: yD bD/", num_players).play("gD")

    assert sizes(game)[1] == 4
    assert (game.phase, game.current_player) == ("play", 2 % num_players)


def test_there_is_no_jump_in():
    """Rules 4.13: the legal actions are those of the player whose turn it is."""
    game = table("g5 | 0: b1^ b3^ | 1: g5/r y5^ | 2: g1 g3")

    assert game.legal_actions == ["draw"]
    with pytest.raises(IllegalActionError, match="g5/r"):
        game.play("g5/r")


def test_one_card_a_turn(num_players):
    """Rules 4.13: the other cards of the same symbol stay in the hand."""
    game = table("g5 | 0: y5^ y5/b b5^ b5/y", num_players).play("y5^")

    assert sizes(game)[0] == 3
    assert game.current_player == 1
