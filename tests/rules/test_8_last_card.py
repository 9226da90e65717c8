"""Rules 8.7 to 8.9: a round is won with every card, on every side, at every target."""

from collections import Counter

import pytest

from tests.support.notation import COLORED, DECK, WILD, table

REGULAR = [*COLORED, *(f"{wild}:{color}" for wild in WILD for color in "rygb")]
FLEX = [
    *(card + "!" for card in COLORED if "/" in card),
    *(f"WA/!:{color}" for color in "rygb"),
    *(f"{wild}!:{color}@{k}" for wild in ("WT/", "W4/") for color in "rygb" for k in range(1, 8)),
]
ACTIONS_20 = [card for card in COLORED if not card[1].isdigit()]
OPPONENTS = "1: WF | 2: WF | 3: WF | 4: WA/ | 5: WA/ | 6: WA/ | 7: WT/"


def last_card(action: str, **switches):
    """Eight players; the opponents hold a wild each (350 points) and draw cards of 20 points."""
    card = action.split(":")[0].rstrip("!")
    if card[0] == "W":
        top = "g5"
    elif action.endswith("!") and card[1].isdigit():
        top = next(face for face in COLORED if face[0] == card[3] and face[1] not in card + "SRD")
    else:
        top = next(face for face in COLORED if face[0] == card[0] and face[1].isdigit() and face[1] != card[1])
    draws = " ".join(face for face in ACTIONS_20 if face not in (card, top))
    return table(f"{top} | 0: {card} | {OPPONENTS} | draw {draws}", **switches)


def cards_drawn(action: str) -> int:
    """How many cards the others draw in all when this is played (and a Draw Four accepted)."""
    card, flex = action.split(":")[0].rstrip("!"), "!" in action
    if card[1] == "D":
        return 7 if flex else 2
    if flex:
        return {"WT/": 2, "WA/": 14, "W4/": 4}.get(card, 0)
    return 4 if card == "W4/" else 0


def test_these_are_all_plays():
    """Rules 10.5."""
    assert (len(REGULAR), len(FLEX)) == (88 + 16, 44 + 4 + 28 + 28)
    assert Counter(action.split(":")[0].rstrip("!") for action in REGULAR).keys() == DECK.keys()


@pytest.mark.parametrize("action", REGULAR + FLEX)
def test_a_win_with_this_card(action):
    """Rules 8.7 to 8.9, whatever the switches."""
    for switches in ({}, {"uno_call": "explicit"}, {"stacking": True}, {"draw_four": "strict"}):
        game = last_card(action, **switches).play(action)
        decided = action.startswith("W4/:") and "draw_four" not in switches
        end = ("challenge", 1, None) if decided else ("over", None, 0)
        assert (game.phase, game.current_player, game.winner) == end, switches
        if decided:
            game.play("accept")

        assert (game.phase, game.winner, game.current_player) == ("over", 0, None), switches
        assert game.points == 350 + 20 * cards_drawn(action), switches


@pytest.mark.parametrize("action", REGULAR + FLEX)
def test_without_last_card_draws_a_win_with_this_card_ends_the_round_at_once(action):
    """Rules 9.7."""
    game = last_card(action, last_card_draws=False, flex_draw_four_challenge=True).play(action)

    assert (game.phase, game.winner, game.points) == ("over", 0, 350)
