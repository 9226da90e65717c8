"""A table in one line of text, so that a rules test shows the whole situation that it is about.

    table("g5 | 0: y2/g r1 | 1: b4 | 2: b6 | power +--")

The first field is the top card, the others come in any order:

    0: y2/g r1      the hand of seat 0; a seat that is not named gets a hand of two numbers
    power +--       by seat, default all green
    color r         the active color, needed where the top is a wild
    turn 1          who decides, default seat 0
    dir -           counterclockwise
    draw r3 b2      the next cards of the draw pile; every card not named anywhere follows them in a fixed order
    pile r3 b2      the whole draw pile; every card not named anywhere lies in the discard pile
    discard r3 b2   cards in the discard pile, under the top
    only            the deck holds the named cards and no others
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from uno_flex_env import Game, Rules


def cards(text: str) -> list[str]:
    """The cards of a text like "r1 y2/g WF"."""
    return text.split()


def deck_of(text: str) -> dict[str, int]:
    """The switch `deck` with these cards and no others."""
    return dict(Counter(cards(text)))


PRINTED = cards("""
    r1 r2^ r3 r4^ r5 r6^ r7 r8^ rS rR rD r1/b r2/b r3/b r4/g r5/g r6/g r7/y r8/y rS/ rR/ rD/
    y1^ y2 y3^ y4 y5^ y6 y7^ y8 yS yR yD y1/g y2/g y3/g y4/b y5/b y6/b y7/r y8/r yS/ yR/ yD/
    g1 g2^ g3 g4^ g5 g6^ g7 g8^ gS gR gD g1/y g2/y g3/y g4/r g5/r g6/r g7/b g8/b gS/ gR/ gD/
    b1^ b2 b3^ b4 b5^ b6 b7^ b8 bS bR bD b1/r b2/r b3/r b4/y b5/y b6/y b7/g b8/g bS/ bR/ bD/
    WF WT/ WA/ W4/
""")
"""The 92 faces as printed on the cards, independent of the core's table."""

COLORED, WILD = PRINTED[:88], PRINTED[88:]
NUMBERS = [face for face in COLORED if face[1].isdigit()]
DECK = Counter(COLORED + 4 * WILD)


def table(text: str, players: int | None = None, **switches: Any) -> Game:
    """The game that `text` describes, with `players` seats (by default those named) and these switches."""
    top, *fields = [field.strip() for field in text.split("|")]
    named = dict(_field(field) for field in fields)
    hands = {int(key): words for key, words in named.items() if key.isdigit()}
    below, coming = named.get("discard", []), named.get("pile", named.get("draw", []))
    unused = DECK - Counter([top, *below, *coming, *(card for hand in hands.values() for card in hand)])
    players = players or max(hands) + 1
    for seat in sorted(set(range(players)) - set(hands)):
        hands[seat] = [card for card in reversed(NUMBERS) if unused[card]][:2]
        unused -= Counter(hands[seat])
    if "only" in named:
        switches = {"hand_size": 1, "deck": dict(DECK - unused), **switches}
    elif "pile" not in named:
        coming = coming + list(unused.elements())
    return Game.from_position(
        [hands[seat] for seat in range(players)],
        top,
        color=named.get("color", [None])[0],
        current_player=int(named.get("turn", ["0"])[0]),
        direction=-1 if named.get("dir") == ["-"] else 1,
        power=named.get("power", [None])[0],
        draw_pile=coming,
        discard_pile=below,
        rules=Rules(**switches),
    )


def _field(text: str) -> tuple[str, list[str]]:
    key, *words = text.replace(":", " ", 1).split() if text[0].isdigit() else text.split()
    assert key.isdigit() or key in ("power", "color", "turn", "dir", "draw", "pile", "discard", "only"), text
    return key, words


def record(
    deck: str,
    players: int,
    /,
    *,
    dealer: int | None = None,
    reshuffles: Sequence[str] = (),
    actions: str = "",
    **switches: Any,
) -> dict[str, Any]:
    """A game record whose deck begins with these cards; the rest of the deck follows in a fixed order."""
    first = cards(deck)
    rest = Counter(switches.get("deck", DECK)) - Counter(first)
    return {
        "format": "uno-flex/1",
        "players": players,
        "dealer": players - 1 if dealer is None else dealer,
        "rules": switches,
        "deck": first + list(rest.elements()),
        "reshuffles": [cards(pile) for pile in reshuffles],
        "actions": actions.split(),
    }


def deal(deck: str, players: int, /, **options: Any) -> Game:
    """The game of the record that `record` makes of this deck."""
    return Game.from_record(record(deck, players, **options))


def sizes(game: Game) -> list[int]:
    """The number of cards in each hand."""
    return [len(hand) for hand in game.hands]
