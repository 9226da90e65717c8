"""States: copies of every kind, and that any bytes are a valid state or refused."""

from __future__ import annotations

import copy
import json
import pickle
import random
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.playing import PHASES, decision, wander
from uno_flex_env import Game, Match, Rules, State
from uno_flex_env._core import NUM_FEATURES, STATE_FIELDS, STATE_SIZE
from uno_flex_env.actions import text_to_action
from uno_flex_env.state import STATE_DTYPE, state_from_json, state_to_json

DRAW = text_to_action("draw")
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

# ---- Copies play on like the original (faults 8 and 9) ----------------------------------------------------------------


def path(state: State, seed: int, decisions: int = 60) -> list[bytes]:
    """The state after each of so many random actions, which are the same for equal states."""
    rng, states = random.Random(seed), [state.to_bytes()]
    while not state.is_over and len(states) <= decisions:
        state.apply(rng.choice(state.legal_actions()))
        states.append(state.to_bytes())
    return states


@pytest.mark.parametrize("reshuffled", [False, True], ids=["", "reshuffled"])
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("way", WAYS)
def test_a_copy_plays_on_like_the_original_and_leaves_it_alone(way, phase, reshuffled, num_players):
    """Faults 8 and 9: at any decision, also after the draw pile was renewed."""
    state = decision(phase, num_players, 1, reshuffled=reshuffled).state
    before = state.to_bytes()

    twin = WAYS[way](state)

    assert (twin, twin is state) == (state, False)
    played = path(twin, 1)
    assert state.to_bytes() == before
    assert path(state, 1) == played


def next_draws(state: State) -> Iterator[list[list[int]]]:
    """All hands after each card drawn. What was just drawn is played where it can be, so that the cards last."""
    while not state.is_over:
        actions, held = state.legal_actions(), sum(state.sizes)
        state.apply(DRAW if DRAW in actions else actions[0])
        if sum(state.sizes) > held:
            yield [state.hand(seat) for seat in range(state.players)]


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


def test_the_draws_notice_a_lost_generator(num_players):
    """The test above can fail. Besides, `__getstate__` with rng = 0 in bindings.cpp turns it and the one before red."""
    state = reshuffled_table(num_players)

    assert list(islice(next_draws(without_generator(state)), 50)) != list(islice(next_draws(state), 50))


GAME_WAYS: dict[str, Callable[[Any], Any]] = {
    "copy()": Game.copy,
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda game: pickle.loads(pickle.dumps(game)),
}


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("way", GAME_WAYS)
def test_a_copied_game_plays_on_is_taken_back_and_written_like_the_original(way, phase, num_players):
    """Fault 8, for the face for people."""
    game = decision(phase, num_players, 3)
    record = game.to_record()

    twin = GAME_WAYS[way](game)
    for _ in wander(twin, random.Random(1)):
        pass

    assert game.to_record() == record
    for _ in wander(game, random.Random(1)):
        pass
    assert twin.to_record() == game.to_record()
    while game.ply:
        assert twin.undo().snapshot() == game.undo().snapshot()


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


# ---- Nothing is forgotten (fault 10) ----------------------------------------------------------------------------------


def test_the_fields_tile_the_struct():
    """Fault 10: a field that is added to the struct and not to the list leaves a gap here. Red with `uint64_t extra;`
    put into State (state.hpp) in place of one of the reserved words."""
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

    assert any(noticed(state, lost) for state in [*states, after_an_empty_draw(), in_a_match()])


def after_an_empty_draw() -> State:
    deck = {card: 1 for card in ("g5", "b2", "b4", "b6")}
    rules = Rules(hand_size=1, deck=deck)
    return Game.from_position([["b2", "b6"], ["b4"]], "g5", draw_pile=[], rules=rules).play("draw").state


def in_a_match() -> State:
    """In the second round, where somebody has scored."""
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


# ---- Any bytes are a valid state or refused ---------------------------------------------------------------------------


def play_on(state: State, seed: int) -> None:
    """Whatever was accepted can be looked at and played, and stays valid."""
    rng, row = random.Random(seed), np.zeros(NUM_FEATURES, np.uint8)
    for _ in range(40):
        assert state.check() is None
        viewer = rng.randrange(state.players)
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
FUZZ = settings(
    derandomize=True, deadline=None, max_examples=1500, suppress_health_check=[HealthCheck.too_slow]
)


@pytest.mark.sanitize
@FUZZ
@given(st.binary(min_size=STATE_SIZE, max_size=STATE_SIZE))
def test_random_bytes_are_refused_or_valid(raw):
    """They are practically always refused; what counts is that nothing else happens."""
    try:
        play_on(State.from_bytes(raw), 0)
    except ValueError as error:
        assert "no valid state" in str(error)  # noqa: PT017


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


ACCEPTED = {"changed": 0}


@pytest.mark.sanitize
@FUZZ
@given(spoiled_states(), st.integers(0, 2**32))
def test_spoiled_bytes_are_refused_or_valid(raw, seed):
    """Red without any one of the tests in check.hpp that a crafted state below is about."""
    try:
        state = State.from_bytes(raw)
    except ValueError as error:
        assert "no valid state" in str(error)  # noqa: PT017
        return
    assert state.to_bytes() == raw
    ACCEPTED["changed"] += raw not in VALID
    play_on(state, seed)


@pytest.mark.sanitize
def test_some_spoiled_bytes_were_accepted():
    """Otherwise the test above would show nothing."""
    assert ACCEPTED["changed"] > 100


@pytest.mark.sanitize
@pytest.mark.parametrize("size", [0, 1, STATE_SIZE - 1, STATE_SIZE + 1, 2 * STATE_SIZE])
def test_bytes_of_another_length_are_refused(size):
    """The message names both lengths."""
    with pytest.raises(ValueError, match=f"{STATE_SIZE} bytes, got {size}"):
        State.from_bytes(bytes(size))
