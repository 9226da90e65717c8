"""Text, pictures and the window: what one seat sees of a table, and nothing of what it may not see."""

import copy
import hashlib
import itertools
import json
import os
import random
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from dataclasses import asdict, fields, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.support.golden_games import golden
from tests.support.paths import ROOT
from uno_flex_env import Game
from uno_flex_env.actions import DRAW, SILENT, text_to_action
from uno_flex_env.render import Table, Window, ansi, picture
from uno_flex_env.render.canvas import Canvas
from uno_flex_env.render.card_faces import face
from uno_flex_env.render.phrases import PHASES, last_sentence, phase_sentence

GAMES = golden("full.jsonl")
ESCAPE = re.compile("\x1b\\[[0-9;]*m")
SMALL, MEDIUM = (240, 160), (600, 400)
PLAYERS = range(2, 9)
FEW_PLAYERS = (2, 5, 8)
"""For pictures, which take longer than text."""


def table(game: dict[str, Any], ply: int) -> Table:
    """The table of a golden snapshot."""
    snapshots: list[dict[str, Any]] = game["snapshots"]
    known = {field.name: snapshots[ply][field.name] for field in fields(Table) if field.name in snapshots[ply]}
    return Table(
        **known
        | {
            "current_player": snapshots[ply]["to_move"],
            "legal": list(map(text_to_action, snapshots[ply]["legal"])),
            "dealer": game["dealer"],
            "names": [f"player_{i}" for i in range(game["players"])],
            "last": (snapshots[ply - 1]["to_move"], text_to_action(game["actions"][ply - 1])) if ply else None,
        }
    )


@cache
def tables(n: int) -> list[tuple[Table, list[str]]]:
    """Every position of the golden games of n players, with the cards that were dealt from."""
    games = [game for game in GAMES if game["players"] == n]
    return [(table(game, ply), game["deck"]) for game in games for ply in range(len(game["snapshots"]))]


def one(n: int = 4, phase: str = "play") -> Any:
    """A golden position in a phase, with all that can be in a table."""
    found = next(t for t, _ in tables(n) if t.phase == phase and t.last)
    return replace(found, scores=[10 * i for i in range(n)], target_score=500)


def with_other_hidden_cards(original: Table, seat: int | None, deck: list[str], rng: random.Random) -> Table:
    """The same table to who sits at `seat`: other cards in the other hands, another drawn card, other legal actions."""
    unseen = list(deck)
    for card in [*(original.hands[seat] if seat is not None else []), original.top]:
        unseen.remove(card)
    rng.shuffle(unseen)
    hands = enumerate(original.hands)
    other = replace(original, hands=[hand if p == seat else sorted(unseen.pop() for _ in hand) for p, hand in hands])
    if other.current_player in (seat, None):
        return other
    drawn = rng.choice(deck) if other.drawn else None
    return replace(other, drawn=drawn, legal=numbers(*rng.sample(["draw", "keep", "r1", "WF:b", "y2/g!"], 3)))


def numbers(*actions: str) -> list[int]:
    """The numbers of actions in notation."""
    return list(map(text_to_action, actions))


def visible(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text if not unicodedata.combining(c))


@pytest.mark.parametrize("n", PLAYERS)
def test_no_line_of_text_is_over_80_columns(n):
    names = ["a", "player_1", "Maximiliane von und zu", "日本語のとても長い名前です", "e\u0301" * 30, "x" * 99, "", "7"]
    for position, _ in tables(n):
        wide = replace(position, names=names[:n], scores=[99_999] * n, target_score=100_000)
        for seat in (None, position.current_player or 0):
            assert max(visible(ESCAPE.sub("", line)) for line in ansi(wide, seat).split("\n")) <= 80


def test_a_hand_of_sixty_cards_is_wrapped_and_drawn():
    position = replace(one(2), hands=[sorted(GAMES[0]["deck"][:60]), ["r1"]])
    text = ansi(position, 0, color=False)

    assert max(map(len, text.split("\n"))) <= 80
    assert all(re.search(rf"[ (]{re.escape(card)}(\s|$)", text) for card in position.hands[0])
    assert picture(position, 0, size=SMALL).any()


@pytest.mark.parametrize("held", [1, 20, 21, 50, 80, 104])
def test_the_cards_of_a_large_hand_do_not_cover_each_other(monkeypatch, held):
    """Fault 2-33: at 50 cards "aim +4" was cut off by the next card, and at 104 too small to read. Seen to fail with a
    gap of -0.1, and with at most two rows."""
    drawn: list[tuple[float, float, float]] = []
    module = sys.modules["uno_flex_env.render.picture"]
    monkeypatch.setattr(module, "face", lambda canvas, card, x, y, width: drawn.append((x, y, width)))
    picture(replace(one(2), hands=[["W4/"] * held, ["r1"]], current_player=1), 0, size=SMALL)

    hand = drawn[1:]  # the first one is the top
    assert len(hand) == held
    for (x, y, width), (following, below, _) in itertools.pairwise(hand):
        assert following - x >= width or below - y >= 1.5 * width
    assert all(width / 2 <= x <= 1200 - width / 2 and y + 0.75 * width <= 800 for x, y, width in hand)
    assert hand[0][2] >= 28


def test_the_golden_edge_of_a_card_does_not_reach_its_neighbor():
    """Seen to fail with an edge of 0.08."""
    position = replace(one(2), current_player=0, hands=[["g5", "y2/g"], ["b4"]])
    plain, edged = (picture(replace(position, legal=numbers(*legal)), 0) for legal in (["draw"], ["draw", "y2/g"]))
    columns = np.flatnonzero((plain[625:] != edged[625:]).any(axis=(0, 2)))

    assert 0 < len(columns) < 120
    assert columns.min() >= 600 or columns.max() < 600  # 600 is the middle between the two cards


CHALLENGED = "player_1 decides on a challenge of the Draw Four on green"


@pytest.mark.parametrize("seat", [None, 0, 1])
def test_a_challenge_shows_the_color_by_which_guilt_is_judged(seat):
    """Fault 2-33: only the color called was shown. Seen to fail without `prior_color` in `from_state`, in `_piles`
    and in `_middle`."""
    game = Game.from_position([["W4/", "rS", "rR"], ["gS", "gR"]], "g5", current_player=0)
    game.play("W4/:b")
    shown = Table.from_state(game.state, game.rules)

    assert (shown.prior_color, shown.color) == ("g", "b")
    assert phase_sentence(shown) == CHALLENGED
    assert "color b blue  before g green" in ansi(shown, seat, color=False)
    other = replace(shown, prior_color="y")
    words = {ansi(table, seat) for table in (shown, other)}
    pictures = [picture(replace(table, phase="play", names=["", ""]), seat) for table in (shown, other)]
    assert len(words) == 2
    assert not np.array_equal(pictures[0][:400], pictures[1][:400])  # above the sentence

    game.play("accept")
    assert Table.from_state(game.state, game.rules).prior_color is None


def test_the_wilds_look_different():
    """Fault 2-33: T and A differed by one small letter. Seen to fail without the signs."""
    cards = []
    for card in ("WT/", "WA/", "W4/", "WF"):
        canvas = Canvas((120, 80), (0, 0, 0))
        face(canvas, card, 600, 400, 500)
        cards.append(canvas.pixels().astype(int))

    for one_card, other in itertools.combinations(cards, 2):
        differs = np.abs(one_card - other).max(axis=2) > 60
        assert differs.sum() > 0.1 * (cards[0].max(axis=2) > 0).sum()


@pytest.mark.parametrize("n", PLAYERS)
def test_text_without_color_is_the_colored_text_without_escapes(n):
    """A reader who sees no colors loses nothing."""
    for position, _ in tables(n):
        seat = position.current_player
        assert ansi(position, seat, color=False) == ESCAPE.sub("", ansi(position, seat))


@pytest.mark.parametrize("n", PLAYERS)
def test_hidden_cards_do_not_change_the_text(n):
    """Goes red if `ansi` lists the hand of the one to move, or its drawn card, to other viewers."""
    rng = random.Random(n)
    for position, deck in tables(n):
        for seat in (None, 0, n - 1):
            other = with_other_hidden_cards(position, seat, deck, rng)
            assert ansi(position, seat) == ansi(other, seat)


@pytest.mark.parametrize("n", FEW_PLAYERS)
@pytest.mark.parametrize("phase", ["play", "drawn", "challenge", "over"])
def test_hidden_cards_do_not_change_the_picture(n, phase):
    """Goes red if `picture` shows the hand of the one to move, or gilds what it may play, to other viewers."""
    positions = [(t, deck) for t, deck in tables(n) if t.phase == phase]
    position, deck = positions[len(positions) // 2] if positions else tables(n)[0]
    for seat in (None, 0, n - 1):
        other = with_other_hidden_cards(position, seat, deck, random.Random(n))
        assert other.hands != position.hands or n == 2
        assert np.array_equal(picture(position, seat, size=SMALL), picture(other, seat, size=SMALL))


@pytest.mark.parametrize("phase", ["play", "drawn", "stack", "challenge", "uno", "catch"])
def test_only_the_player_to_move_reads_what_is_legal(phase):
    position = one(2, phase)
    current_player = position.current_player

    assert "Legal: " in ansi(position, current_player)
    assert ("Drawn: " in ansi(position, current_player)) == (phase == "drawn")
    for seat in (None, 1 - current_player):
        assert "Legal: " not in ansi(position, seat)
        assert "Drawn: " not in ansi(position, seat)


def test_the_viewing_seat_reads_its_hand_and_a_spectator_none():
    position = one(3)

    assert "Hand (" in ansi(position, 1)
    assert "Hand (" not in ansi(position, None)
    for card in position.hands[1]:
        assert card in ansi(position, 1, color=False).split("Hand (")[1]


CHANGES: dict[str, Callable[[Any], Any]] = {
    "direction": lambda t: -t.direction,
    "color": lambda t: "rygb"["rygb".index(t.color) - 1],
    "top": lambda t: "g8/b" if t.top != "g8/b" else "g7/b",
    "power": lambda t: [not t.power[0], *t.power[1:]],
    "draw_pile": lambda t: t.draw_pile + 1,
    "discard_pile": lambda t: t.discard_pile + 1,
    "hands": lambda t: [*t.hands[:-1], [*t.hands[-1], "WF"]],
    "current_player": lambda t: (t.current_player + 1) % t.num_players,
    "phase": lambda t: "challenge" if t.phase == "play" else "play",
    "last": lambda t: (t.last[0], SILENT),
    "names": lambda t: ["somebody", *t.names[1:]],
    "scores": lambda t: [t.scores[0] + 7, *t.scores[1:]],
    "target_score": lambda t: t.target_score + 1,
    "dealer": lambda t: (t.dealer + 1) % t.num_players,
}


@pytest.mark.parametrize("seat", [None, 0])
@pytest.mark.parametrize("key", CHANGES)
def test_everything_public_is_shown(key, seat):
    """A change of it changes the text and the picture."""
    position = one(5)
    other = replace(position, **{key: CHANGES[key](position)})

    assert ansi(position, seat) != ansi(other, seat)
    assert not np.array_equal(picture(position, seat, size=MEDIUM), picture(other, seat, size=MEDIUM))


@pytest.mark.parametrize("seat", [None, 0])
def test_the_sum_owed_is_shown(seat):
    """Rules 9, `stacking`."""
    position = one(5, "stack")
    other = replace(position, pending_draw=position.pending_draw + 2)

    assert ansi(position, seat) != ansi(other, seat)
    assert not np.array_equal(picture(position, seat, size=MEDIUM), picture(other, seat, size=MEDIUM))


def test_the_viewing_seat_sees_its_cards_in_the_picture():
    position = replace(one(2), current_player=0, legal=[DRAW], hands=[["y2/g"], ["b4"]])

    for card in ("y2", "y3/g", "y6/b", "g2/y", "yS"):
        other = replace(position, hands=[[card], ["b4"]])
        assert not np.array_equal(picture(position, 0, size=MEDIUM), picture(other, 0, size=MEDIUM))


def test_the_player_to_move_sees_which_cards_and_sides_are_legal_in_the_picture():
    position = replace(one(2), current_player=0, hands=[["y2/g", "g5"], ["b4"]])
    choices = [["draw"], ["keep"], ["y2/g"], ["y2/g!"], ["y2/g", "y2/g!"], ["g5"]]
    drawn = [picture(replace(position, legal=numbers(*legal)), 0, size=MEDIUM).tobytes() for legal in choices]

    assert len(set(drawn)) == len(choices)


def test_a_player_with_one_card_is_marked_uno():
    position = replace(one(3), hands=[["r1"], ["r2", "r3"], ["r4"]])
    rows = [line for line in ansi(position, 0).split("\n") if "player_" in line][:3]

    assert ["UNO!" in row for row in rows] == [True, False, True]


@pytest.mark.parametrize(
    ("seat", "action", "sentence"),
    [
        (0, "y2/g", "p0 plays yellow 2 (y2/g)"),
        (0, "y2/g!", "p0 plays green 2, the flex side of y2/g"),
        (1, "rD/!", "p1 plays red Draw Two, the flex side of rD/"),
        (2, "WF:b", "p2 plays Wild All Flip (WF), calls blue"),
        (2, "W4/!:g@2", "p2 plays Wild Draw Four, the flex side of W4/, calls green, aims at p1"),
        (1, "challenge", "p1 challenges the Draw Four"),
    ],
)
def test_the_last_action_is_a_sentence(seat, action, sentence):
    """Rules 10: `@k` is the opponent k seats clockwise."""
    position = replace(one(3), names=["p0", "p1", "p2"], last=(seat, text_to_action(action)))

    assert last_sentence(position) == sentence


def test_the_end_names_the_winner_and_the_points():
    """Rules 8."""
    over = replace(one(2), phase="over", current_player=None, legal=[], names=["p0", "p1"])
    won = replace(over, winner=1, points=42)

    assert phase_sentence(replace(won, scores=[0, 42])) == "p1 wins the round with 42 points"
    assert phase_sentence(replace(won, scores=[0, 501])) == "p1 wins the round with 42 points, and the match"
    assert phase_sentence(replace(over, winner=None)) == "The round ends with no winner"


@pytest.mark.parametrize("n", FEW_PLAYERS)
@pytest.mark.parametrize("phase", PHASES)
def test_a_picture_is_uint8_of_the_size_asked_for(n, phase):
    position = next((t for t, _ in tables(n) if t.phase == phase), one(n))
    drawn = picture(position, position.current_player, size=(240, 200))

    assert drawn.dtype == np.uint8
    assert drawn.shape == (200, 240, 3)
    assert drawn.flags.c_contiguous
    assert len(np.unique(drawn.reshape(-1, 3), axis=0)) > 200


def test_a_picture_is_1200_by_800_unless_told():
    assert picture(one(), 0).shape == (800, 1200, 3)


PROGRAM = """
import hashlib, json, sys
from uno_flex_env.render import Table, ansi, picture
assert "pygame" not in sys.modules
position = Table(**json.load(sys.stdin))
print(hashlib.sha256(ansi(position, 0).encode() + picture(position, 0).tobytes()).hexdigest())
"""


def test_the_same_table_gives_the_same_bytes_in_a_process_without_a_display():
    """Pygame is imported for the first picture, not before; nothing but the digest is printed."""
    position = one()
    display = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER")
    kept = {key: value for key, value in os.environ.items() if key not in display}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(asdict(position)),
        env=kept | {"PYTHONHASHSEED": "7"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    here = hashlib.sha256(ansi(position, 0).encode() + picture(position, 0).tobytes()).hexdigest()

    assert ran.stdout == here + "\n"


def test_drawing_leaves_the_table_as_it_was():
    position = one()
    before = copy.deepcopy(position)
    ansi(position, 0)
    picture(position, 0, size=SMALL)

    assert position == before


@pytest.mark.parametrize("draw", [ansi, picture])
@pytest.mark.parametrize("seat", [-1, 4, "0", 1.0, True])
def test_an_unknown_seat_is_refused(draw, seat):
    with pytest.raises(ValueError, match=re.escape(f"seat must be None or 0 to 3, got {seat!r}")):
        draw(one(), seat)


@pytest.mark.parametrize("size", [(1200,), (0, 800), (1200, 10_000), "12", 800, (300.0, 200)])
def test_an_impossible_size_is_refused(size):
    with pytest.raises(ValueError, match=re.escape(f"each 120 to 4000 pixels, got {size!r}")):
        picture(one(), 0, size=size)


def test_without_pygame_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)

    with pytest.raises(ImportError, match=re.escape("pip install 'uno-flex-env[render]'")):
        picture(one(), 0)
    with pytest.raises(ImportError, match=re.escape("pip install 'uno-flex-env[render]'")):
        Window()
    assert ansi(one(), 0)


def test_a_window_shows_tables_and_pictures(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame = pytest.importorskip("pygame")
    window, drawn = Window(size=SMALL, fps=1000), picture(one(), 0, size=(240, 200))

    for shown, expected in ((one(), picture(one(), None, size=SMALL)), (drawn, drawn)):
        window.show(shown)
        pixels = pygame.surfarray.array3d(pygame.display.get_surface())
        assert np.array_equal(pixels.transpose(1, 0, 2), expected)
    window.close()
    window.close()

    assert not pygame.display.get_init()


def test_a_window_keeps_to_its_frame_rate(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame = pytest.importorskip("pygame")
    window, drawn = Window(fps=20), picture(one(), 0, size=SMALL)
    window.show(drawn)
    start = pygame.time.get_ticks()
    for _ in range(5):
        window.show(drawn)
    window.close()

    assert pygame.time.get_ticks() - start >= 200
