"""States: copies of every kind, and that any bytes are a valid state or refused."""

from __future__ import annotations

import copy
import json
import pickle
import random
import re
from collections.abc import Callable, Iterator
from itertools import islice
from math import inf, nan
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.playing import PHASES, decision, mixed_table, wander
from uno_flex_env import Game, Match, Rules, State
from uno_flex_env._core import LAYOUT, NUM_FEATURES, STATE_FIELDS, STATE_SIZE
from uno_flex_env.actions import DRAW
from uno_flex_env.cards import card_to_text
from uno_flex_env.state import STATE_DTYPE, state_from_json, state_to_json

FIELDS = [name for name, *_ in STATE_FIELDS]


def through_json(state: State) -> State:
    return state_from_json(json.loads(json.dumps(state_to_json(state))))


def through_bytes(state: State) -> State:
    return State.from_bytes(state.to_bytes())


def through_pickle(state: State) -> State:
    return pickle.loads(pickle.dumps(state))  # type: ignore[no-any-return]


WAYS: dict[str, Callable[[State], State]] = {
    "assignment": State.copy,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": through_pickle,
    "bytes": through_bytes,
    "json": through_json,
}

# --- Copies play on like the original (faults 8 and 9) --------------------------------------------------------------


def path(state: State, seed: int, decisions: int = 60) -> list[bytes]:
    """The state after each of so many random actions, which are the same for equal states."""
    rng, states = random.Random(seed), [state.to_bytes()]
    while not state.is_over and len(states) <= decisions:
        state.apply(rng.choice(state.legal_actions()))
        states.append(state.to_bytes())
    return states


@pytest.mark.parametrize("reshuffled", [False, True], ids=["", "reshuffled"])
@pytest.mark.parametrize("phase", PHASES)
def test_a_copy_plays_on_like_the_original_and_leaves_it_alone(phase, reshuffled, num_players):
    """Faults 8 and 9: at any decision, also after the draw pile was renewed, and however it is copied."""
    state = decision(phase, num_players, 1, reshuffled=reshuffled).state
    before = state.to_bytes()
    played = {}

    for way, copied in WAYS.items():
        twin = copied(state)
        assert (twin, twin is state) == (state, False), way
        played[way] = path(twin, 1)
        assert state.to_bytes() == before, way

    assert played == dict.fromkeys(WAYS, path(state, 1))


def next_draws(state: State) -> Iterator[list[list[int]]]:
    """All hands after each card drawn. What was just drawn is played where it can be, so that the cards last."""
    while not state.is_over:
        actions, held = state.legal_actions(), sum(state.sizes)
        state.apply(DRAW if DRAW in actions else actions[0])
        if sum(state.sizes) > held:
            yield [state.hand(seat) for seat in range(state.num_players)]


def reshuffled_table(num_players: int) -> State:
    state = Game(num_players, Rules(hand_size=1), seed=7).state
    draws = next_draws(state)
    while not state.reshuffles:
        next(draws)
    return state


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_made_after_a_reshuffle_draws_the_same_cards(way, num_players):
    """Fault 9: the generator goes with the copy. The next 50 cards are compared."""
    state = reshuffled_table(num_players)

    twin = WAYS[way](state)

    draws = list(islice(next_draws(state), 50))
    assert len(draws) == 50
    assert list(islice(next_draws(twin), 50)) == draws


def without_generator(state: State) -> State:
    return state_from_json(state_to_json(state) | {"rng": 0})


def test_the_check_of_draws_notices_a_lost_generator(num_players):
    """The test above can fail. Besides, `__getstate__` with rng = 0 turns the copies by pickle red."""
    state = reshuffled_table(num_players)

    assert list(islice(next_draws(without_generator(state)), 50)) != list(islice(next_draws(state), 50))


GAME_WAYS: dict[str, Callable[[Any], Any]] = {
    "copy()": Game.copy,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda game: pickle.loads(pickle.dumps(game)),
}


@pytest.mark.parametrize("phase", PHASES)
def test_a_copied_game_plays_on_is_taken_back_and_written_like_the_original(phase, num_players):
    """Fault 8, for the face for people, however it is copied."""
    game = decision(phase, num_players, 3)
    record = game.to_record()
    twins = {way: copied(game) for way, copied in GAME_WAYS.items()}

    for way, twin in twins.items():
        for _ in wander(twin, random.Random(1), "eager"):
            pass
        assert game.to_record() == record, way
    for _ in wander(game, random.Random(1), "eager"):
        pass

    for way, twin in twins.items():
        assert twin.to_record() == game.to_record(), way
    while game.ply:
        snapshot = game.undo().snapshot()
        assert {way: twin.undo().snapshot() for way, twin in twins.items()} == dict.fromkeys(twins, snapshot)


@pytest.mark.parametrize("way", [name for name in GAME_WAYS if name != "copy()"])
def test_a_copied_match_plays_on_like_the_original(way):
    """Fault 8: with its seed, so that later rounds are dealt alike, too."""
    match = Match(3, Rules(hand_size=3, target_score=300), seed=5)
    rng = random.Random(5)
    while not match.rounds:
        match.play(rng.choice(match.legal_actions))

    twin = GAME_WAYS[way](match)

    rngs = random.Random(6), random.Random(6)
    while not twin.is_over:
        twin.play(rngs[0].choice(twin.legal_actions))
    assert not match.is_over
    while not match.is_over:
        match.play(rngs[1].choice(match.legal_actions))
    assert (twin.scores, len(twin.rounds)) == (match.scores, len(match.rounds))
    assert [played.to_record() for played in twin.rounds] == [played.to_record() for played in match.rounds]


def test_states_are_equal_if_all_their_bytes_are():
    """`==` compares everything, hidden cards and generator too."""
    state = decision("play", 2, 1).state

    assert state == state.copy()
    assert state != without_generator(state)
    assert state != 1


# --- Nothing is forgotten (fault 10) --------------------------------------------------------------------------------


def test_the_fields_tile_the_struct():
    """Fault 10: a field that is added to the struct and not to the list leaves a gap here.

    Red if a row is taken out of `kStateFields`; besides, state.hpp does not compile then."""
    end = 0
    for name, offset, size, item, _ in STATE_FIELDS:
        assert offset == end, f"bytes from {end} to {offset}, before {name}, belong to no field"
        assert size % abs(item) == 0
        end = offset + size
    assert end == STATE_SIZE == len(decision("play", 2, 1).state.to_bytes())
    assert len(set(FIELDS)) == len(FIELDS)


def test_json_has_every_field_and_every_number_of_it():
    """Fault 10: whatever bytes the struct holds, the numbers in the JSON form give them back."""
    rng = random.Random(0)
    raw = rng.randbytes(STATE_SIZE)
    row = np.frombuffer(raw, STATE_DTYPE)[0]

    again = np.zeros(1, STATE_DTYPE)
    for name in FIELDS:
        again[name] = json.loads(json.dumps(row[name].tolist()))

    assert again.tobytes() == raw
    assert list(state_to_json(decision("play", 2, 1).state)) == ["format", *FIELDS]


@pytest.mark.parametrize("lost", [name for name in FIELDS if not name.startswith("reserved")])
def test_a_form_that_forgets_a_field_is_noticed(lost):
    """The copies above can fail: a JSON form without the field gives no state or another one, at some decision."""
    states = [decision(phase, n, 1, reshuffled=True).state for phase in PHASES for n in (2, 8)]

    assert any(noticed(state, lost) for state in [*states, after_an_empty_draw(), in_a_match(), mixed_table().state])


def after_an_empty_draw() -> State:
    deck = dict.fromkeys(("g5", "b2", "b4", "b6"), 1)
    rules = Rules(hand_size=1, deck=deck)
    return Game.from_position([["b2", "b6"], ["b4"]], "g5", draw_pile=[], rules=rules).play("draw").state


def in_a_match() -> State:
    """In the second round, when a player has scored."""
    match, rng = Match(8, Rules(target_score=1000), seed=1, dealer=1), random.Random(1)
    while not match.rounds:
        match.play(rng.choice(match.legal_actions))
    return match.game.state


def noticed(state: State, lost: str) -> bool:
    form = state_to_json(state)
    zeros = json.loads(re.sub("[-0-9]+", "0", json.dumps(form[lost])))
    try:
        return state_from_json(form | {lost: zeros}) != state
    except ValueError:
        return True


# --- Any bytes are a valid state or refused -------------------------------------------------------------------------


def accepted(raw: bytes) -> State | None:
    try:
        return State.from_bytes(raw)
    except ValueError as error:
        if "no valid state" not in str(error):
            raise
        return None


def play_on(state: State, seed: int) -> None:
    """An accepted state can be shown and played, and stays valid."""
    rng, row = random.Random(seed), np.zeros(NUM_FEATURES, np.uint8)
    for _ in range(40):
        assert state.check() is None
        viewer = rng.randrange(state.num_players)
        state.encode(viewer, row)
        assert row.max() == 1
        view = state.hide(viewer)
        if state.is_over:
            break
        assert view.determinize(rng.getrandbits(64)).check() is None
        state.apply(rng.choice(state.legal_actions()))
    assert State.from_bytes(state.to_bytes()) == state


def valid_states() -> list[bytes]:
    games = [
        decision(phase, n, seed, reshuffled=late)
        for phase in PHASES
        for n, seed in ((2, 1), (3, 2), (8, 3))
        for late in (False, True)
    ]
    return [game.state.to_bytes() for game in games]


VALID = valid_states()


@pytest.mark.sanitize
@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.binary(min_size=STATE_SIZE, max_size=STATE_SIZE))
def test_random_bytes_are_refused_or_valid(raw):
    """They are practically always refused; what counts is that nothing else happens."""
    if state := accepted(raw):
        play_on(state, 0)


@st.composite
def spoiled_states(draw: st.DrawFn) -> bytes:
    """A valid state with a few bytes or fields changed or taken over from another one."""
    raw = bytearray(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(1, 3))):
        _, offset, size, *_ = draw(st.sampled_from(STATE_FIELDS))
        if draw(st.booleans()):
            raw[offset : offset + size] = draw(st.sampled_from(VALID))[offset : offset + size]
        else:
            raw[offset + draw(st.integers(0, size - 1))] = draw(st.integers(0, 255))
    return bytes(raw)


@pytest.mark.slow
@pytest.mark.sanitize
def test_spoiled_bytes_are_refused_or_valid():
    """What can be accepted can be played; the crafted states below were found so."""
    changed = 0

    @settings(derandomize=True, deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
    @given(spoiled_states(), st.integers(0, 2**32))
    def try_it(raw: bytes, seed: int) -> None:
        nonlocal changed
        if state := accepted(raw):
            assert state.to_bytes() == raw
            changed += raw not in VALID
            play_on(state, seed)

    try_it()

    assert changed > 50  # otherwise this would show nothing


@pytest.mark.sanitize
@pytest.mark.parametrize("size", [0, 1, STATE_SIZE - 1, STATE_SIZE + 1, 2 * STATE_SIZE])
def test_bytes_of_another_length_are_refused(size):
    """The message names both lengths."""
    with pytest.raises(ValueError, match=f"{STATE_SIZE} bytes, got {size}"):
        State.from_bytes(bytes(size))


CRAFTED = [
    ("num_players", 1, "players"),
    ("num_players", 2, "empty seat"),
    ("num_players", 9, "players"),
    ("switches", 1 << 9, "switch"),
    ("hand_size", 0, "hand_size"),
    ("hand_size", 22, "hand_size"),
    ("target_score", 0, "target_score"),
    ("target_score", 60001, "target_score"),
    ("flags", 16, "flag"),
    ("flags", 128, "flag"),
    ("flags", 2, "reshuffle"),
    ("flags", 8, "flex challenge"),
    ("direction", 0, "direction"),
    ("direction", -2, "direction"),
    ("green", 0, "Power"),
    ("green", 15, "Power"),
    ("current_player", 3, "current_player"),
    ("current_player", 255, "current_player"),
    ("turn", 1, "turn"),
    ("turn", 3, "seats"),
    ("dealer", 3, "seats"),
    ("actor", 3, "actor"),
    ("color", 4, "color"),
    ("prior_color", 4, "color"),
    ("top", 92, "top"),
    ("top", 88, "top"),
    ("drawn", 0, "drawn"),
    ("phase", 1, "drawn"),
    ("phase", 2, "challenge"),
    ("phase", 3, "UNO"),
    ("phase", 4, "UNO"),
    ("phase", 5, "stack"),
    ("phase", 6, "current_player"),
    ("phase", 7, "phase"),
    ("winner", 0, "winner"),
    ("points", 1, "points"),
    ("empty_draws", 3, "empty draws"),
    ("owed", 2, "owed"),
    ("score", [1, 0, 0, 0, 0, 0, 0, 0], "score"),
    ("rounds", 1, "match"),
    ("size", [8, 7, 7, 0, 0, 0, 0, 0], "size"),
    ("size", [7, 7, 7, 1, 0, 0, 0, 0], "size"),
    ("pile_size", 105, "pile"),
    ("pile_size", 79, "pile"),
    ("pile", [91] * 104, "pile"),
    ("discard_size", 2, "size"),
    ("knowing_seats", 1, "know"),
    ("num_old", [1, 0, 0, 0, 0, 0, 0, 0], "reshuffle"),
    ("old_wilds", [1, 0, 0, 0, 0, 0, 0, 0], "reshuffle"),
    ("wild_plays_of_unknown_age", [1, 0, 0, 0, 0, 0, 0, 0], "reshuffle"),
    ("seen_since_reshuffle", [2, 0, 0, 0, 0, 0, 0, 0], "reshuffle"),
    ("seen_but_mixed", [2, 0, 0, 0, 0, 0, 0, 0], "reshuffle"),
    ("legal", [0, 0, 0, 0], "legal"),
    ("reserved", 1, "reserved"),
]


LATE = [
    ("reshuffles", 0, "reshuffle"),
    ("num_old", [0, 1, 2, 0, 0, 0, 0, 0], "old"),
    ("num_old", [3, 1, 2, 1, 0, 0, 0, 0], "old"),
    ("old_wilds", [0x1111, 0, 0, 0, 0, 0, 0, 0], "old"),
    ("wild_plays_of_unknown_age", [0x0003, 0, 0, 0, 0, 0, 0, 0], "fresh|plays"),
    ("seen_since_reshuffle", [1, 0, 0, 0, 0, 0, 0, 0], "seen"),
    ("seen_since_reshuffle", [8, 0, 0, 0, 0, 0, 0, 0], "seen"),
    ("seen_but_mixed", [1, 0, 0, 0, 0, 0, 0, 0], "seen"),
    ("fresh_cards", [0, 0], "reshuffle"),
]


def opening(num_players: int = 3, **switches: Any) -> State:
    return Game(num_players, Rules(**switches), seed=4).state


@pytest.mark.sanitize
@pytest.mark.parametrize(("field", "value", "reason"), CRAFTED)
def test_a_state_that_the_rules_do_not_allow_is_refused_with_the_reason(field, value, reason):
    """Otherwise a valid state: three players, nothing played."""
    form = state_to_json(opening(uno_call="explicit", stacking=True))
    assert form[field] != value
    assert state_from_json(form).check() is None

    with pytest.raises(ValueError, match=f"(?i){reason}"):
        state_from_json(form | {field: value})


@pytest.mark.sanitize
@pytest.mark.parametrize(("field", "value", "reason"), LATE)
def test_a_false_account_of_the_last_reshuffle_is_refused(field, value, reason):
    """What each player knows of the ages of cards fits the hands and the pile."""
    form = state_to_json(decision("play", 3, 1, reshuffled=True).state)
    assert form[field] != value

    with pytest.raises(ValueError, match=reason):
        state_from_json(form | {field: value})


def test_a_view_is_not_a_state():
    """A view lacks the cards of the others."""
    with pytest.raises(ValueError, match="flag"):
        State.from_bytes(opening().hide(0).to_bytes())


def cards_form(faces: list[int]) -> Any:
    """A set of cards as the JSON form writes it."""
    position = Game.from_position([[card_to_text(face) for face in faces], ["b4"]], "g5")
    return state_to_json(position.state)["hand"][0]


def just_drawn(card: str) -> dict[str, Any]:
    """Seat 0 has drawn this card and can play it; the other one holds b4."""
    game = Game.from_position([["b2"], ["b4"]], "g5", draw_pile=[card, "r1", "r3"]).play("draw")
    assert game.drawn == card
    return state_to_json(game.state)


@pytest.mark.sanitize
@pytest.mark.parametrize("card", ["g1", "WF"])
def test_a_just_drawn_card_that_another_player_knows_is_refused(card):
    """A player who draws a card from the pile is the only one to know it. Otherwise `determinize` has no card
    to put there."""
    form = just_drawn(card)
    assert state_from_json(form).check() is None
    known = {"known": [[0, 0], form["hand"][0], *form["known"][2:]], "knowing_seats": 2}
    if card == "WF":
        known["known_wilds"] = [form["known_wilds"][0], [1] + [0] * 7, *form["known_wilds"][2:]]
    known["known_to"] = [2] + [0] * 7

    with pytest.raises(ValueError, match="drawn is known"):
        state_from_json(form | known)


@pytest.mark.sanitize
@pytest.mark.parametrize("card", ["g1", "WF"])
def test_a_card_just_drawn_is_not_older_than_the_last_reshuffle(card):
    """It came out of the pile that was laid then. Otherwise playing it takes it out of cards that do not hold it."""
    form = just_drawn(card)
    faces = form["pile"][: form["pile_size"]]
    late = {"flags": form["flags"] | 2, "reshuffles": 1, "num_old": [1, 1] + [0] * 6}
    drawn = form["drawn"]

    assert state_from_json(form | late | {"fresh_cards": cards_form([*faces, drawn])}).check() is None
    late |= {"num_old": [2, 1] + [0] * 6, "fresh_cards": cards_form(faces)}
    if card == "WF":
        late["old_wilds"] = [1] + [0] * 7
    with pytest.raises(ValueError, match="older than the last reshuffle"):
        state_from_json(form | late)


@pytest.mark.sanitize
def test_a_match_that_somebody_has_won_already_is_refused():
    """A score at the target belongs to the winner of a round that is over."""
    match = Match(2, Rules(target_score=500), seed=1)
    form = state_to_json(match.game.state)

    assert state_from_json(form | {"score": [499] + [0] * 7}).check() is None
    with pytest.raises(ValueError, match="match is over"):
        state_from_json(form | {"score": [500] + [0] * 7})


def test_a_sum_owed_beyond_all_draw_twos_is_valid():
    """Rules 9: a catch within a stack can renew the pile with Draw Twos of this stack, so a ninth is possible.

    The observation then shows no more than sixteen."""
    deck = [f"{color}D{kind}" for color in "rygb" for kind in ("", "/")] + ["r1", "r3", "r5"]
    rules = Rules(stacking=True, uno_call="explicit", hand_size=1, deck=dict.fromkeys(deck, 1))
    game = Game.from_position([["rD", "r1"], ["yD", "r3"]], "r5", draw_pile=[], rules=rules, seed=0)
    rng, owed = random.Random(0), 0
    while owed <= 16:
        stacked = [action for action in game.legal_actions if action[1:] in ("D", "D/")]
        wanted = stacked or [a for a in game.legal_actions if a in ("silent", "catch")] or game.legal_actions
        owed = game.play(rng.choice(wanted)).state.owed

    assert through_pickle(game.state) == game.state
    row, pile = np.zeros(NUM_FEATURES, np.uint8), {name: start for name, start, *_ in LAYOUT}["draw_pile"]
    game.state.encode(0, row)
    assert row[pile] == (game.draw_pile > 0)


# --- Broken JSON ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [None, [], "state", 1, {}, {"format": "uno-flex-state/3"}, {"format": None}])
def test_json_of_something_else_is_refused(form):
    """The message names the format that is wanted."""
    with pytest.raises(ValueError, match="must be 'uno-flex-state/2'"):
        state_from_json(form)


def test_json_of_the_previous_format_is_refused_by_its_name():
    """Its fields have other names."""
    with pytest.raises(ValueError, match="must be 'uno-flex-state/2', got 'uno-flex-state/1'"):
        state_from_json(state_to_json(opening()) | {"format": "uno-flex-state/1"})


@pytest.mark.parametrize("field", FIELDS)
def test_json_that_lacks_a_field_is_refused_by_its_name(field):
    """Fault 10."""
    form = state_to_json(opening())
    del form[field]

    with pytest.raises(ValueError, match=rf"\b{field}\b"):
        state_from_json(form)


@pytest.mark.parametrize("key", ["extra", "Phase", "", 1, None])
def test_json_with_an_unknown_field_is_refused_by_its_name(key):
    """A later version may have more fields; this one can't know what they mean."""
    with pytest.raises(ValueError, match=f"unknown fields.*{key}"):
        state_from_json(state_to_json(opening()) | {key: 0})


@pytest.mark.parametrize("field", FIELDS)
def test_json_with_anything_but_numbers_of_its_size_is_refused_by_its_name(field):
    """Whole numbers in range, in lists of the right length; not 1.0 and not true."""
    form = state_to_json(opening())
    values: list[Any] = [None, "", "0", "x", 0.5, 1.0, True, nan, inf, 1e300, 2**64, -(2**63), {}, [], [[]], [None]]
    for value in values:
        with pytest.raises(ValueError, match=rf"\b{field}\b"):
            state_from_json(form | {field: value})


@pytest.mark.parametrize("field", [name for name, _, size, item, _ in STATE_FIELDS if size > abs(item)])
def test_json_lists_have_whole_numbers_and_the_right_length(field):
    """Each of these differs from a valid form in one place."""
    form = state_to_json(opening())
    rows = form[field]
    first = rows[0] if isinstance(rows[0], list) else rows
    for place, value in ((0, float(first[0])), (0, str(first[0])), (-1, None), (-1, -1), (-1, True), (-1, [0])):
        broken = copy.deepcopy(form)
        row = broken[field][0] if isinstance(rows[0], list) else broken[field]
        row[place] = value
        with pytest.raises(ValueError, match=rf"\b{field}\b"):
            state_from_json(broken)
    for wrong in (rows[:-1], [*rows, rows[-1]], [rows], tuple(rows)):
        with pytest.raises(ValueError, match=rf"\b{field}\b"):
            state_from_json(form | {field: wrong})


@pytest.mark.parametrize("depth", [-1, 101, 10**7])
def test_a_perft_has_bounds(depth):
    """Fault 2-19: a depth of 10,000,000 overflowed the stack. Seen to fail (SIGSEGV) without the bound."""
    state = Game(seed=1).state
    with pytest.raises(ValueError, match=f"depth must be from 0 to 100, got {depth}"):
        state.perft(depth)
    assert state.perft(0) == 1
