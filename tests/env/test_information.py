"""What one player can know: `State.hide` and `View.determinize`."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest

from tests.support.notation import NUMBERS, cards, table
from tests.support.playing import (
    PHASES,
    SEEN_AFTER,
    SEEN_AFTER_DRAW,
    SEEN_AFTER_PILE,
    decision,
    mixed_table,
    small_deal,
    switches_with,
    wander,
)
from tests.support.reference import SWITCHES
from tests.support.witness import Case, TooHard, arrangements, follow, shown
from uno_flex_env import Game, RecordError, Rules, State
from uno_flex_env._core import NUM_FEATURES, View
from uno_flex_env.cards import CODES, cards_to_text
from uno_flex_env.state import STATE_DTYPE, state_from_json, state_to_json

# --- Two worlds that look alike to a player (fault 3) ---------------------------------------------------------------


def sees(game: Game, viewer: int) -> dict[str, Any]:
    """What lies open to this player, in the order of the rules; nothing else about the table."""
    mine = game.current_player == viewer
    return {
        "hand": game.hands[viewer],
        "sizes": [len(hand) for hand in game.hands],
        "discards": game.state.discards,
        "table": (game.top, game.color, game.direction, game.power, game.draw_pile, game.phase, game.current_player),
        "owed": game.state.owed,
        "drawn": game.drawn if mine else None,
        "legal": game.legal_actions if mine else None,
        "end": (game.winner, game.points),
    }


def story(game: Game, viewer: int) -> list[Any]:
    """All that this player has seen since the deal: every action, the table after it, hands shown in a challenge."""
    game, actions = game.copy(), game.actions
    told: list[Any] = []
    while game.ply:
        told.append((actions[game.ply - 1], sees(game, viewer)))
        decider = game.undo().current_player
        if actions[game.ply] == "challenge" and decider == viewer:
            told.append(game.hands[game.state.actor])
    return [sees(game, viewer), *reversed(told)]


def worlds(game: Game, viewer: int, rng: random.Random, tries: int = 30) -> Iterator[Game]:
    """Games with the same story for this player in which other cards are hidden: two cards that he has not seen change
    places in the deck or in the last renewed pile."""
    record, told = game.to_record(), story(game, viewer)
    last = record["reshuffles"][-1] if record["reshuffles"] else record["deck"]
    for _ in range(tries):
        pile = rng.choice([last, last, record["deck"]])
        a, b = rng.randrange(len(pile)), rng.randrange(len(pile))
        pile[a], pile[b] = pile[b], pile[a]
        try:
            other = Game.from_record(record)
        except RecordError:
            other = None
        if other and other.hands != game.hands and story(other, viewer) == told:
            yield other
        pile[a], pile[b] = pile[b], pile[a]


def look(game: Game, viewer: int) -> list[bytes]:
    """Everything that anybody is given in this player's place: the view, the observation, the mask if it decides."""
    features, mask = np.zeros(NUM_FEATURES, np.uint8), np.zeros(216, np.int8)
    game.state.encode(viewer, features)
    if game.current_player == viewer:
        game.state.write_mask(mask)
    return [game.state.hide(viewer).to_bytes(), features.tobytes(), mask.tobytes()]


@cache
def watched(phase: str, num_players: int) -> list[tuple[Game, Game, int]]:
    """Pairs of games that look alike to a player, in this phase; some before and some after a reshuffle."""
    rng, pairs = random.Random(f"{phase} {num_players}"), list[tuple[Game, Game, int]]()
    for reshuffled in (False, True):
        enough = len(pairs) + 2
        for seed in itertools.count(1):
            game = decision(phase, num_players, seed, reshuffled=reshuffled)
            game = Game.from_record(game.to_record())  # the generator of a game and of its record differ
            viewer = rng.randrange(num_players)
            pairs += [(game, other, viewer) for other in worlds(game, viewer, rng)]
            if len(pairs) >= enough:
                break
    return pairs


@pytest.mark.parametrize("phase", PHASES)
def test_hidden_cards_leave_the_view_the_observation_and_the_mask_as_they_are(phase, num_players):
    """Fault 3: in every phase, also after a reshuffle.

    Red if `hide` leaves any of these as it is: the pile, `legal`, `drawn`, another player's hand, `known`,
    `known_wilds` or `old_wilds`."""
    for game, other, viewer in watched(phase, num_players):
        assert look(other, viewer) == look(game, viewer)


def test_the_order_of_the_draw_pile_and_the_generator_stay_hidden(num_players):
    """Fault 20: a search on the view can't foresee what is drawn. Red if `hide` leaves `rng` or `kOrderedPile`."""
    state = decision("play", num_players, 5).state
    form = state_to_json(state)
    pile = form["pile"][: state.pile_size]
    other = state_from_json(
        form | {"rng": 1, "flags": form["flags"] ^ 1, "pile": pile[::-1] + form["pile"][state.pile_size :]}
    )

    assert other.pile_order() != state.pile_order()
    for viewer in range(num_players):
        assert other.hide(viewer) == state.hide(viewer)


def test_what_another_player_saw_in_a_challenge_stays_hidden():
    """Fault 3: seat 1 has seen seat 0's hand and draws 6 for it; seat 2 hasn't."""
    hidden = table("g5 | 0: W4/ b2 y4 | 1: r1 r3 | 2: b6 b8").play("W4/:r").play("challenge")
    other = table("g5 | 0: W4/ b3^ y6 | 1: r1 r3 | 2: b6 b8").play("W4/:r").play("challenge")

    assert hidden.known(1, 0) == ["b2", "y4"]
    assert other.known(1, 0) == ["b3^", "y6"]
    assert hidden.state.hide(2) == other.state.hide(2)
    assert hidden.state.hide(1) != other.state.hide(1)
    assert look(hidden, 2)[1:] == look(other, 2)[1:]


def test_the_age_of_a_wild_that_may_be_old_or_fresh_stays_hidden():
    """Fault 3: seat 1 plays a wild after a reshuffle, which it has held all along or has just drawn; in the second game
    seat 2 holds the old one. Red if `note_age_of_wild` takes out the true copy instead of
    counting a play of unknown age."""
    old = CASES["three players, reshuffled: a wild is played that may be old or fresh"].game
    record = old.to_record()
    assert (record["deck"][5], record["deck"][7]) == ("y2", "WF")
    record["deck"][5], record["deck"][7] = "WF", "y2"
    fresh = Game.from_record(record)

    assert fresh.hands[1:] != old.hands[1:]
    assert story(fresh, 0) == story(old, 0)
    assert look(fresh, 0) == look(old, 0)


def exchanges(game: Game, viewer: int) -> Iterator[Game]:
    """All games with the same story for this player in which two cards of the deck have changed places."""
    record, told = game.to_record(), story(game, viewer)
    deck = record["deck"]
    for a, b in itertools.combinations(range(len(deck)), 2):
        deck[a], deck[b] = deck[b], deck[a]
        try:
            other = Game.from_record(record)
        except RecordError:
            other = None
        if other and other.hands != game.hands and story(other, viewer) == told:
            yield other
        deck[a], deck[b] = deck[b], deck[a]


@pytest.mark.parametrize("viewer", [0, 1, 2])
def test_what_a_third_player_knows_of_ages_stays_hidden(viewer):
    """Fault 2-3: seat 2 has seen the hand of seat 1, which draws a wild and plays it at once. Whether that wild counts
    as one that seat 2 knows depends on cards that seat 0 has not seen.

    Red if `hide` keeps the bits of other viewers in `seen_since_reshuffle` and `seen_but_mixed`."""
    game = Game.from_record(mixed_table().to_record())
    others = list(exchanges(game, viewer))

    mixed = {tuple(state_to_json(other.state)["seen_but_mixed"]) for other in others}
    assert len(mixed) == (2 if viewer == 0 else 1 if others else 0)
    for other in others:
        assert look(other, viewer) == look(game, viewer)
        assert other.state.hide(viewer).determinize(3) == game.state.hide(viewer).determinize(3)


EXAMPLE_FIELDS = [
    ("draw", 1, {"fresh": "WF WF r1 r2^ r3 r4^ r6^ r7 r8^ y2", "num_old": [3, 3], "old_wilds": "WF W4/"}),
    (
        "WF:b",
        1,
        {"fresh": "WF WF r1 r2^ r3 r4^ r6^ r7 r8^ y2", "num_old": [3, 3], "old_wilds": "WF W4/", "unknown_age": "WF"},
    ),
    ("b2", 1, {"num_old": [2, 3]}),
    ("b4", 1, {"num_old": [1, 3], "old_wilds": "WF W4/"}),
    ("W4/:r", 1, {"num_old": [1, 2], "old_wilds": "WF", "unknown_age": "WF", "known": ""}),
    (
        "challenge",
        1,
        {"known": "WF b8 r3", "known_wilds": "WF", "known_to": 1, "knowing_seats": 1, "seen": 1, "mixed": 0},
    ),
    ("r1", 1, {"fresh": "WF WF r2^ r3 r4^ r6^ r7 r8^ y2", "num_old": [1, 2]}),
    (
        "WF:b",
        2,
        {
            "fresh": "WF r2^ r3 r4^ r6^ r7 r8^ y2",
            "known": "b8 r3",
            "known_wilds": "",
            "seen": 0,
            "mixed": 1,
            "known_to": 1,
        },
    ),
]


@pytest.mark.parametrize(("last", "occurrence", "expected"), EXAMPLE_FIELDS)
def test_the_example_of_knowledge_hpp_is_true(last, occurrence, expected):
    """The fields after each of its steps, as the comment there tells them."""
    form = state_to_json(example(last, occurrence).state)
    fields = {
        "fresh": texts_of(form["fresh_cards"]),
        "num_old": form["num_old"][:2],
        "old_wilds": wilds_of(form["old_wilds"][1]),
        "unknown_age": wilds_of(form["wild_plays_of_unknown_age"][1]),
        "known": texts_of(form["known"][0]),
        "known_wilds": wilds_of(form["known_wilds"][0][1]),
        "known_to": form["known_to"][1],
        "knowing_seats": form["knowing_seats"],
        "seen": form["seen_since_reshuffle"][1],
        "mixed": form["seen_but_mixed"][1],
    }

    assert {name: fields[name] for name in expected} == {
        name: " ".join(sorted(value.split())) if isinstance(value, str) else value for name, value in expected.items()
    }


def wilds_of(nibbles: int) -> str:
    """The wilds that four nibbles count, as text."""
    return " ".join(sorted(code for w, code in enumerate(CODES[88:]) for _ in range(nibbles >> 4 * w & 15)))


def texts_of(words: list[int]) -> str:
    """The cards of two words (cards.hpp) as text."""
    colored = [code for face, code in enumerate(CODES[:88]) if words[face // 44] >> face % 44 & 1]
    return " ".join(sorted([*colored, *wilds_of((words[0] >> 48) | (words[1] >> 48) << 8).split()]))


def test_a_player_knows_who_has_seen_its_hand():
    """Rules 7: the challenged player was there."""
    seen = table("g5 | 0: W4/ b2 y4 | 1: r1 r3 | 2: b6 b8").play("W4/:r").play("challenge")

    again = seen.state.hide(0).determinize(1)

    assert [CODES[face] for face in again.known(1, 0)] == ["y4", "b2"]
    assert again.known(1, 2) == again.known(2, 0) == []


@pytest.mark.parametrize("phase", PHASES)
def test_games_that_look_alike_are_different_games(phase, num_players):
    """The first test here can fail: a player who saw the whole state would see a difference."""
    for game, other, _ in watched(phase, num_players):
        assert game.state.to_bytes() != other.state.to_bytes()


@pytest.mark.parametrize("phase", PHASES[:-1])
def test_a_determinization_does_not_depend_on_what_is_hidden(phase, num_players):
    """Fault 20: same view and seed, same state; another seed, another one."""
    for game, other, viewer in watched(phase, num_players):
        assert other.state.hide(viewer).determinize(7) == game.state.hide(viewer).determinize(7)
        assert other.state.hide(viewer).determinize(7) != game.state.hide(viewer).determinize(8)


# --- A full state that agrees with what a player has seen -----------------------------------------------------------


def differing(state: State, other: State, viewer: int) -> list[str]:
    """The fields in which the two look different to this player."""
    rows = [np.frombuffer(s.hide(viewer).to_bytes(), STATE_DTYPE)[0] for s in (state, other)]
    assert STATE_DTYPE.names
    return [name for name in STATE_DTYPE.names if not np.array_equal(rows[0][name], rows[1][name])]


def check_determinization(game: Game, viewer: int, seed: int) -> None:
    state = game.state
    full = state.hide(viewer).determinize(seed)

    assert full.check() is None
    assert differing(state, full, viewer) == []
    for owner in set(range(state.num_players)) - {viewer}:
        known = full.known(viewer, owner)
        assert known == state.known(viewer, owner)
        assert full.known(owner, viewer) == state.known(owner, viewer)
        assert not Counter(known) - Counter(full.hand(owner))
    rng = random.Random(seed)
    for _ in range(20):
        if not full.is_over:
            full.apply(rng.choice(full.legal_actions()))
            assert full.check() is None


@pytest.mark.parametrize("reshuffled", [False, True], ids=["", "reshuffled"])
@pytest.mark.parametrize("phase", PHASES[:-1])
def test_a_determinization_is_a_valid_state_that_the_player_cannot_tell_from_the_true_one(
    phase, reshuffled, num_players
):
    """In every phase and for every player. Red if `determinize` deals known cards a second time, drops the ages, or
    takes another player's drawn card without looking whether it can be played."""
    for seed in range(4):
        game = decision(phase, num_players, seed, reshuffled=reshuffled)
        for viewer in range(num_players):
            check_determinization(game, viewer, seed)


def test_every_decision_of_random_games_can_be_determinized(num_players):
    """Also in the phases' rare forms: any switches, hands and decks."""
    for seed in range(3):
        rng = random.Random(f"{num_players} {seed}")
        game = Game(num_players, switches_with("play", rng, num_players), seed=seed)
        for at in wander(game, rng, rng.choice(["uniform", "bluffer", "collector"]), patience=300):
            if not at.is_over and rng.random() < 0.3:
                check_determinization(at, rng.randrange(num_players), seed)


def test_the_end_of_a_round_is_not_determinized():
    """No player decides any more, and the points tell something about all hands."""
    game = decision("over", 3, 1)

    with pytest.raises(ValueError, match="over"):
        game.state.hide(0).determinize(1)


# --- Every arrangement is equally likely ----------------------------------------------------------------------------


def p_value(seen: list[int], expected: list[float]) -> float:
    """Pearson's chi-square test; its distribution in the approximation of Wilson and Hilferty (1931)."""
    squares = sum((n - m) ** 2 / m for n, m in zip(seen, expected, strict=True))
    freedom = len(seen) - 1
    if freedom == 0:
        return 1.0
    spread = 2 / (9 * freedom)
    return 1 - NormalDist(1 - spread, spread**0.5).cdf((squares / freedom) ** (1 / 3))


def likelihood(case: Case, sample: Callable[[View, int], State] = View.determinize) -> float:
    """The p-value of many determinizations; 0 if one of them should not exist."""
    expected = arrangements(case)
    draws = max(4000, 40 * len(expected))
    view = case.game.state.hide(case.viewer)
    seen = Counter(shown(sample(view, seed), case) for seed in range(draws))
    if seen.keys() - expected.keys():
        return 0.0
    scale = draws / expected.total()
    return p_value([seen[key] for key in expected], [n * scale for n in expected.values()])


def small(text: str, actions: str = "") -> Game:
    """A table of the named cards only, after these actions."""
    game = table(text + " | only", hand_size=1)
    for action in cards(actions):
        game.play(action)
    return game


# Two players: seat 0 draws b6, seat 1 b8, then the pile is renewed and two cards are drawn by each.
TWO = ("WF r3 r1 r5 r2^ r4^ b2 g2^ b4 WF r7 b6 b8", 2, 5)
TWO_DRAW = "WF:r r3 r1 r5 r2^ r4^ draw draw draw keep draw keep draw keep draw keep"
TWO_PILE = "r7 r1 r2^ WF r3 r5"
# Three players: seat 0 draws b6, seat 1 b8, seat 2 the first card of the renewed pile.
THREE = ("WF r3 r5 b2 g2^ y2 b4 WF g4^ rS gS bS g7 b6 b8", 3, 3)
THREE_DRAW = "WF:r r3 r5 draw draw draw"
THREE_PILE = "r3 g7 WF rS gS bS"
# Three players: seat 2 sees WF and g2^ of seat 1, which then draws four; the pile is renewed after each has drawn once.
BEFORE = ("r1 W4/ r5 b2 WF y2 b4 g2^ y4 WF gS bS r7 b6 b8 y6 y8 b1^ b3^", 3, 3)
BEFORE_DRAW = "r1 W4/:r challenge r5 draw draw draw draw keep draw keep"
BEFORE_PILE = "gS WF r1 bS r7 W4/"
# The example of knowledge.hpp: before it, each seat draws twice. Then the pile is renewed.
EXAMPLE = ("WF r8^ r1 r2^ WF r4^ r3 r6^ r7 r5 b2 WF y2 b4 W4/ b6 b8", 2, 6)
EXAMPLE_DRAW = "WF:r r8^ r1 r2^ WF:r r4^ r3 r6^ r7 r5 draw draw keep draw draw"
EXAMPLE_STEPS = "draw draw keep draw keep WF:b b2 draw b4 W4/:r challenge r1 draw WF:b"
EXAMPLE_PILE = "y2 WF r1 r3 r2^ r4^ r8^ r6^ WF r7"


def example(last: str, occurrence: int = 1) -> Game:
    """The game of the example after this action of `EXAMPLE_STEPS`."""
    steps = EXAMPLE_STEPS.split()
    end = [i for i, action in enumerate(steps, start=1) if action == last][occurrence - 1]
    return small_deal(*EXAMPLE, " ".join([EXAMPLE_DRAW, *steps[:end]]), EXAMPLE_PILE)


CASES = {
    "two players": Case(small("r5 | 0: b2 b4 | 1: WF g1 y3^ | pile WF y2 g3"), 0, [("WF g1 y3^ WF y2 g3", {1: 3})]),
    "three players": Case(
        small("r5 | 0: b2 b4 | 1: WF g1 | 2: y3^ | pile WF y2 g3"), 0, [("WF g1 y3^ WF y2 g3", {1: 2, 2: 1})]
    ),
    "known after a challenge": Case(
        small("g5 | 0: b2 b4 | 1: W4/ WF g1 | pile r1 r3 y2 y4 WF b6 | turn 1", "W4/:r challenge"),
        0,
        [("r1 r3 y2 y4 WF b6", {1: 4})],
        known={1: "WF g1"},
    ),
    "known, and a wild played since": Case(
        small("g5 | 0: b2 b4 | 1: W4/ WF g1 | pile WF r3 y2 y4 r1 b6 | turn 1", "W4/:r challenge draw keep WF:b"),
        0,
        [("WF r3 y2 y4 b6", {1: 4})],
        known={1: "g1"},
    ),
    "known to one of three": Case(
        small("g5 | 0: b2 b4 | 1: W4/ WF g1 | 2: y5^ | pile r1 r3 y2 y4 WF b6 | turn 1 | dir -", "W4/:r challenge"),
        0,
        [("y5^ r1 r3 y2 y4 WF b6", {1: 4, 2: 1})],
        known={1: "WF g1"},
    ),
    "known to another of three": Case(
        small("g5 | 0: b2 b4 | 1: W4/ WF g1 | 2: y5^ | pile r1 r3 y2 y4 b6 | turn 1 | dir -", "W4/:r challenge"),
        2,
        [("b2 b4 WF g1 r1 r3 y2 y4 b6", {0: 2, 1: 6})],
    ),
    "two players, reshuffled: the old cards are known": Case(
        small_deal(*TWO, TWO_DRAW, TWO_PILE), 0, [("r1 WF r3 r5", {1: 2})], known={1: "g2^ WF b8"}
    ),
    "two players, reshuffled: a wild is played that may be old or fresh": Case(
        small_deal(*TWO, TWO_DRAW + " draw keep WF:b", TWO_PILE),
        0,
        [("g2^ WF b8", {1: 3}), ("r1 WF r5", {1: 2})],
        played={1: "WF"},
    ),
    "two players, reshuffled: the example of knowledge.hpp and hypotheses.hpp": Case(
        example("WF:b"),
        0,
        [("WF W4/ b8", {1: 3}), ("WF WF r2^ r3 r4^ r6^ r7 r8^", {1: 1})],
        played={1: "WF"},
    ),
    "three players, reshuffled": Case(
        small_deal(*THREE, THREE_DRAW + " keep", THREE_PILE),
        0,
        [("g2^ WF b8 y2 g4^", {1: 3, 2: 2}), ("r3 g7 WF rS gS bS", {2: 1})],
    ),
    "three players, reshuffled: the one who drew knows more": Case(
        small_deal(*THREE, THREE_DRAW + " keep", THREE_PILE),
        2,
        [("b2 b4 b6 g2^ WF b8", {0: 3, 1: 3}), ("g7 WF rS gS bS", {})],
    ),
    "three players, reshuffled: a wild is played that may be old or fresh": Case(
        small_deal(*THREE, THREE_DRAW + " keep draw draw keep draw keep draw WF:b", THREE_PILE),
        0,
        [("g2^ WF b8 y2 g4^", {1: 3, 2: 2}), ("r3 WF rS bS", {1: 1, 2: 2})],
        played={1: "WF"},
    ),
    "three players, reshuffled: a wild is played by who has drawn nothing since": Case(
        small_deal(*THREE, THREE_DRAW + " keep draw WF:b", THREE_PILE),
        0,
        [("g2^ b8 y2 g4^", {1: 2, 2: 2}), ("r3 WF rS gS bS", {2: 1})],
    ),
    "a wild known before the reshuffle is old": Case(
        small_deal(*BEFORE, BEFORE_DRAW, BEFORE_PILE),
        2,
        [("b2 b4 b1^ b6 b8 y6 y8 b3^", {0: 3, 1: 5}), ("WF r1 bS r7 W4/", {0: 1, 1: 1})],
        known={1: "WF g2^"},
    ),
    "of two wilds known after the reshuffle one is old": Case(
        small_deal(*SEEN_AFTER, SEEN_AFTER_DRAW, SEEN_AFTER_PILE),
        2,
        [("WA/ b4 b8 b1^ WF W4/", {0: 4, 1: 2}), ("bS WA/ yS rS r3 r7 r1 bR yR WF", {0: 2, 1: 5})],
        known={1: "y2 b3^"},
        played={1: "W4/"},
        seen={1: "WF WA/"},
        seen_since_reshuffle={1},
    ),
    "a known wild counts as the one just drawn and played": Case(
        mixed_table(),
        2,
        [("WA/ b4 b8 b1^ WF W4/", {0: 4, 1: 2}), ("bS WA/ yS rS r3 r7 r1 yR", {0: 3, 1: 5})],
        known={1: "y2 b3^"},
        played={1: "W4/"},
        seen={1: "WA/"},
    ),
    "a card just drawn": Case(
        small("r5 | 0: b2 b4 | 1: g1 y3^ | pile r1 WF WF b6 y5^ g3 | turn 1", "draw"),
        0,
        [("g1 y3^ r1 WF WF b6 y5^ g3", {1: 3})],
        playable="r1 WF y5^",
    ),
    "a card just drawn, others known": Case(
        small("g5 | 0: b2 b4 | 1: W4/ WF g1 | pile r1 r3 y2 y4 b6 r7 WF g3 | turn 1", "W4/:r challenge draw draw"),
        0,
        [("r1 r3 y2 y4 r7 WF g3", {1: 5})],
        known={1: "WF g1"},
        playable="r1 r3 r7 WF",
    ),
    "a card just drawn from a renewed pile": Case(
        small_deal(*THREE, THREE_DRAW, THREE_PILE),
        0,
        [("g2^ WF b8 y2 g4^", {1: 3, 2: 2}), ("r3 g7 WF rS gS bS", {2: 1})],
        playable="r3 WF rS",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_every_arrangement_of_the_hidden_cards_is_equally_likely(name):
    """Pearson's test against all arrangements, counted here; none besides these occurs, and the true one is among them.

    Red if `determinize` drops the ages, deals a known card like any other, does not draw again until the drawn card can
    be played, or shuffles with `random_below(rng, i)`."""
    case = CASES[name]

    assert shown(case.game.state, case) in arrangements(case)
    assert likelihood(case) > 1e-4


def lazily(view: View, seed: int) -> State:
    """The lower one of two determinizations, compared by their hands."""
    both = [view.determinize(2 * seed), view.determinize(2 * seed + 1)]
    return min(both, key=lambda state: [state.hand(seat) for seat in range(state.num_players)])


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CASES)[::3])
def test_the_check_of_uniformity_notices_a_bias(name):
    """It can fail."""
    assert likelihood(CASES[name], lazily) < 1e-4


KNOWING = [name for name, case in CASES.items() if not case.played and (case.known or len(case.pools) > 1)]


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWING)
def test_the_check_of_uniformity_notices_what_a_player_knows(name):
    """It can fail: without what is known of cards and ages the arrangements are others."""
    case = CASES[name]
    needs: Counter[int] = Counter({seat: len(cards(held)) for seat, held in case.known.items()})
    for _, needed in case.pools:
        needs.update(needed)
    pool = " ".join([*case.known.values(), *(pool for pool, _ in case.pools)])
    ignorant = Case(case.game, case.viewer, [(pool, dict(needs))], playable=case.playable)

    assert ignorant.ways > 20_000 or likelihood(ignorant) < 1e-4


def random_case(seed: int) -> Case:
    """A small random game at some decision, most of the time after a reshuffle, and what one player knows of it."""
    for retry in itertools.count():
        rng = random.Random(f"{seed} {retry}")
        players = rng.choice([2, 3, 3, 4])
        hand_size = rng.choice([1, 2, 2, 3])
        numbers = rng.sample(NUMBERS, players * hand_size + rng.randint(2, 7))
        wilds = Counter(rng.choices(["WF", "WA/", "W4/"], [2, 1, 3], k=rng.randint(2, 8)))
        deck = dict.fromkeys(numbers, 1) | {card: min(4, count) for card, count in wilds.items()}
        switches: dict[str, Any] = {name: rng.choice(values) for name, values in SWITCHES.items()}
        rules = Rules(**switches | {"draw_four": "challenge", "hand_size": hand_size, "deck": deck})
        game = Game(players, rules, seed=rng.getrandbits(64))
        for at in itertools.islice(
            wander(game, rng, rng.choice(["uniform", "bluffer", "hoarder"])), rng.randint(5, 60)
        ):
            game = at
        if game.is_over or (game.state.reshuffles == 0 and rng.random() < 0.8):
            continue
        try:
            case = follow(game, rng.randrange(players))
        except TooHard:
            continue
        if 2 <= case.ways <= 1000:
            return case
    raise AssertionError


@pytest.mark.parametrize("seed", range(60))
def test_in_random_games_every_arrangement_is_equally_likely(seed):
    """The witness counts by itself what can be."""
    case = random_case(seed)

    assert shown(case.game.state, case) in arrangements(case)
    assert likelihood(case) > 1e-5


def test_the_order_of_the_draw_pile_is_equally_likely():
    """Six orders of three cards, for every place of the other two."""
    view = small("r5 | 0: b2 b4 | 1: g1 y3^ | pile y2 g3 b6").state.hide(0)

    seen = Counter(tuple(view.determinize(seed).pile_order()) for seed in range(12000))

    assert len(seen) == 5 * 4 * 3
    assert p_value(list(seen.values()), [12000 / 60] * 60) > 1e-4


def test_worlds_ignore_what_a_strict_draw_four_tells():
    """Fault 2-4: the page on search says that about half of the worlds after one contradict it, in random play at two
    players. Once worlds infer more, that page and this test change.

    Seen to fail with worlds in which the player's hand is the true one."""
    rng, contradict = random.Random(4), list[bool]()
    while len(contradict) < 1500:
        game = Game(2, {"draw_four": "strict"}, seed=rng.getrandbits(60))
        while not game.is_over:
            seat, color, action = game.current_player, game.color, rng.choice(game.legal_actions)
            game.play(action)
            if action.startswith("W4/:") and not game.is_over:
                assert seat is not None
                view = game.state.hide(1 - seat)
                hands = (cards_to_text(view.determinize(rng.getrandbits(60)).hand(seat)) for _ in range(30))
                contradict += [any(card[0] == color for card in hand) for hand in hands]

    assert 0.35 < np.mean(contradict) < 0.65
