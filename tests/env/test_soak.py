"""A short soak, on every instruction set, and a fuzz of what is read from outside: records and states."""

from __future__ import annotations

import json
import random
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.support.episodes import EVERY_PHASE
from tests.support.paths import GOLDEN
from uno_flex_env import Game, RecordError, Rules, State, _core
from uno_flex_env import soak as soaking
from uno_flex_env.__main__ import main
from uno_flex_env.batch import BOTS
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.positions import Positions
from uno_flex_env.replay import read_games, snapshot_lines
from uno_flex_env.rules import SWITCHES
from uno_flex_env.soak import COMBINATIONS, Outcome, play_trial, soak, trial_of
from uno_flex_env.state import STATE_DTYPE
from uno_flex_env.vec_env import VecEnv

# ---- The soak --------------------------------------------------------------------------------------------------------


@pytest.mark.sanitize
@pytest.mark.parametrize("level", _core.levels())
def test_a_short_soak_finds_nothing(monkeypatch, level):
    """A mixture of all switches and numbers of players; every combination of them takes about a million decisions."""
    monkeypatch.setenv("UNO_FLEX_LEVEL", level)

    assert soak(200_000, seed=_core.levels().index(level)).fault is None


def test_the_command_says_that_nothing_was_found(capsys):
    """With exit status 0."""
    assert main(["soak", "5e3", "--seed", "3"]) == 0

    out = capsys.readouterr().out
    assert out.endswith(" decisions, no fault found\n")
    assert int(out.split()[0].replace(",", "")) >= 5000


def test_a_state_that_breaks_is_found(capsys, monkeypatch):
    """The size of a discard pile is changed by one. Printed are the seed and a record that leads there; status 1."""
    monkeypatch.setattr(soaking, "soak", partial(soak, spoil=True))

    assert main(["soak", "1e5", "--seed", "9"]) == 1

    first, second, record = capsys.readouterr().out.splitlines()
    assert first == "soak with seed 9, trial 1: discard pile and its size disagree"
    trial = trial_of(9, 1)
    assert second.startswith(f"{trial.players} players")
    game = Game.from_record(json.loads(record))
    assert (game.num_players, game.rules) == (trial.players, trial.rules)
    assert game.ply > 0


def test_a_view_that_does_not_fit_is_found(monkeypatch):
    """The core names the player whose view it is; here its answer is made up."""
    answer: Any = 7, False, ("a state drawn from what player 1 sees: no player has to say UNO", 0, 5, [])
    monkeypatch.setattr(_core, "soak", lambda *arguments: answer)

    fault = soak(1000).fault

    assert fault is not None
    assert "what player 1 sees" in str(fault)
    assert fault.record == Game(fault.trial.players, fault.trial.rules, seed=5, dealer=0).to_record()


def test_a_form_that_loses_something_is_found(monkeypatch):
    """Bytes, JSON and records are tried in every eighth trial."""
    monkeypatch.setattr(soaking, "state_from_json", lambda form: Game(2, seed=0).state)

    fault = soak(1000).fault

    assert fault is not None
    assert fault.reason == "the state's JSON is of another state"


def test_an_error_on_the_way_is_a_fault_with_its_record(monkeypatch):
    """An error does not end the soak without saying where it was."""

    def refuse(raw: bytes) -> State:
        raise ValueError("no valid state: for a test")

    monkeypatch.setattr(State, "from_bytes", refuse)

    fault = soak(1000).fault

    assert fault is not None
    assert fault.reason == "ValueError: no valid state: for a test"
    assert len(fault.record["actions"]) == 10


def test_the_soak_visits_every_combination_of_switches_and_players():
    """Once in so many trials, whatever the seed."""
    seen = {
        (trial.players, *(getattr(trial.rules, name) for name in SWITCHES))
        for trial in (trial_of(11, number) for number in range(COMBINATIONS))
    }

    assert len(seen) == COMBINATIONS == 7 * 2**9


def test_the_soak_varies_hands_decks_and_matches():
    """Among its first trials already."""
    trials = [trial_of(0, number) for number in range(200)]

    assert len({trial.rules.hand_size for trial in trials}) > 10
    assert len({trial.rules.target_score for trial in trials}) == 3
    assert len({trial.match for trial in trials}) == 2
    assert 20 < sum(trial.rules.deck is not None for trial in trials) < 180


def test_threads_change_nothing_but_the_time():
    """The trials, and what is played in them, come from seed and number alone."""
    counts: list[list[int]] = [[], []]
    for threads, taken in enumerate(counts, start=1):
        assert soak(20_000, seed=5, threads=threads, advance=taken.append).fault is None

    assert counts[0] == counts[1]
    assert play_trial(5, 0, 200) == play_trial(5, 0, 200)


def test_a_soak_goes_on_to_the_end_of_a_round_or_match():
    """So that ends are seen, however few decisions are asked for."""
    taken, endless, found = _core.soak(EVERY_PHASE.core, 2, False, 1, 1)

    assert (endless, found) == (False, None)
    assert taken > 1


def test_a_round_that_goes_on_for_ever_is_given_up():
    """Two players hold b6 and g7 under a red top and in turn draw a red card, which they must play. No fault."""
    deck = dict.fromkeys(("r1", "r3", "r5", "b6", "g7"), 1)
    rules = Rules(hand_size=1, play_drawn_card="forced", deck=deck)
    results = [_core.soak(rules.core, 2, False, seed, 1) for seed in range(40)]

    assert {taken for taken, endless, _ in results if endless} == {65_536}
    assert max(taken for taken, endless, _ in results if not endless) < 100
    assert {found for *_, found in results} == {None}


def test_rounds_given_up_are_counted(monkeypatch):
    """And the command says how many there were."""
    monkeypatch.setattr(soaking, "play_trial", lambda *arguments: Outcome(100, 1, None))

    outcome = soak(300)

    assert outcome == Outcome(300, 3, None)
    assert str(outcome) == "300 decisions, no fault found; 3 rounds never ended and were abandoned"


@pytest.mark.parametrize(
    ("players", "decisions", "reason"), [(1, 5, "players"), (9, 5, "players"), (2, 0, "decisions")]
)
def test_the_core_refuses_a_soak_of_nothing(players, decisions, reason):
    """Before it plays."""
    with pytest.raises(ValueError, match=reason):
        _core.soak(EVERY_PHASE.core, players, False, 1, decisions)


# ---- The batch, under the sanitizers ---------------------------------------------------------------------------------


@pytest.mark.sanitize
@pytest.mark.parametrize("level", _core.levels())
@pytest.mark.parametrize("options", [{}, {"history": 5, "max_decisions": 30}, {"match": True, "reward": "points"}])
def test_a_batch_writes_its_own_rows_only(monkeypatch, level, options):
    """The buffers are as large as they must be and no larger: what is written beyond them, the sanitizers see."""
    monkeypatch.setenv("UNO_FLEX_LEVEL", level)
    for players in (2, 3, 8):
        env = VecEnv(67, players, EVERY_PHASE, num_threads=2, seed=players, **options)
        rows, masks = np.empty((67, NUM_FEATURES), np.uint8), np.empty((67, _core.NUM_ACTIONS), np.int8)
        env.use_buffers(rows, masks)
        env.reset()
        for _ in range(60):
            env.sample()
            env.step()
        env.batch.random_steps(200)
        env.from_bytes(env.to_bytes())

        assert rows.max() == masks.max() == 1
        assert all(env.state(game).check() is None for game in range(67))


@pytest.mark.sanitize
@pytest.mark.parametrize("level", _core.levels())
def test_bots_play_out_valid_rounds(monkeypatch, level):
    """Each bot in one of the seats."""
    monkeypatch.setenv("UNO_FLEX_LEVEL", level)
    states = [trial.deal() for trial in map(Deal, range(40)) if trial.players == len(BOTS)]

    winners, points = np.empty((len(states), 3), np.int8), np.empty((len(states), 3), np.int16)
    keys = np.arange(len(states), dtype=np.uint64)

    decisions = Positions(states).core.play_out(list(range(len(BOTS))), keys, 3, 2, winners, points)

    assert decisions > len(states)
    assert winners.min() >= -1
    assert winners.max() < len(BOTS)


class Deal:
    """A trial of the soak with its cards dealt."""

    def __init__(self, number: int) -> None:
        trial = trial_of(1, number)
        self.players, self.rules, self.match = trial.players, trial.rules, trial.match

    def deal(self, seed: int = 0) -> State:
        state = State.deal(self.rules.core, self.players, 0, seed)
        if self.match:
            state.begin_match()
        return state


# ---- A fuzz of states ------------------------------------------------------------------------------------------------


def in_the_middle(rng: random.Random) -> bytes:
    """A state somewhere in a random round of a random trial."""
    state = Deal(rng.randrange(10_000)).deal(rng.getrandbits(64))
    for _ in range(rng.randrange(200)):
        if state.is_over:
            break
        state.apply(rng.choice(state.legal_actions()))
    return state.to_bytes()


def spoiled(rng: random.Random, raw: bytes, other: bytes) -> bytes:
    """A few bits, bytes or fields changed: to limits, to neighbors, to those of another state."""
    changed = bytearray(raw)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        place = rng.randrange(len(changed))
        match rng.randrange(4):
            case 0:
                changed[place] ^= 1 << rng.randrange(8)
            case 1:
                second = rng.randrange(len(changed))
                changed[place], changed[second] = changed[second], changed[place]
            case 2:
                _, place, size = field(rng)
                changed[place : place + size] = other[place : place + size]
            case 3:
                change_number(rng, changed)
    return bytes(changed)


def field(rng: random.Random) -> tuple[np.dtype[Any], int, int]:
    """Type, place and size of a random field."""
    assert STATE_DTYPE.fields is not None
    kind, place, *_ = rng.choice(list(STATE_DTYPE.fields.values()))
    return kind, place, kind.itemsize


def change_number(rng: random.Random, raw: bytearray) -> None:
    """One number of a field becomes a limit of its type or goes up or down a little."""
    kind, place, size = field(rng)
    numbers = np.frombuffer(raw[place : place + size], kind.base).copy()
    least, most = (int(limit) for limit in (np.iinfo(kind.base).min, np.iinfo(kind.base).max))
    at = rng.randrange(numbers.size)
    wanted = rng.choice([least, most, most - 1, *(int(numbers[at]) + step for step in (-2, -1, 1, 2))])
    numbers[at] = min(max(wanted, least), most)
    raw[place : place + size] = numbers.tobytes()


def play_on(rng: random.Random, state: State, actions: int = 50) -> None:
    """Play what was accepted, into the next rounds of a match too, and check and look at it all the way."""
    row = np.empty(NUM_FEATURES, np.uint8)
    for _ in range(actions):
        assert state.check() is None
        for viewer in range(state.num_players):
            state.encode(viewer, row)
            assert row.max() == 1
        if not state.is_over:
            viewer = rng.randrange(state.num_players)
            assert state.hide(viewer).determinize(rng.getrandbits(64)).check() is None
            state.apply(rng.choice(state.legal_actions()))
        elif state.rounds == 0 or state.match_winner >= 0:
            break
        else:
            state.next_round(rng.getrandbits(64))
    assert State.from_bytes(state.to_bytes()) == state


@pytest.mark.slow
@pytest.mark.sanitize
def test_bytes_are_a_valid_state_or_refused():
    """Ten thousand spoiled states: what is accepted plays on without a fault."""
    rng = random.Random(19)
    valid = [in_the_middle(rng) for _ in range(150)]
    outcomes: Counter[str] = Counter()
    for _ in range(10_000):
        raw = spoiled(rng, rng.choice(valid), rng.choice(valid))
        try:
            state = State.from_bytes(raw)
        except ValueError as refusal:
            outcomes[str(refusal)] += 1
            continue
        outcomes["accepted"] += raw not in valid
        assert state.to_bytes() == raw
        play_on(rng, state)

    # Else the fuzz would show nothing.
    assert outcomes["accepted"] > 200
    assert len(outcomes) > 40


# ---- A fuzz of records -----------------------------------------------------------------------------------------------


def short_records() -> list[bytes]:
    """The shorter half of the golden games, without what is not of the record itself."""
    lines = sorted((GOLDEN / "full.jsonl").read_bytes().splitlines(), key=len)
    records = [json.loads(line) for line in lines[: len(lines) // 2]]
    return [json.dumps({key: record[key] for key in record if key != "snapshots"}).encode() for record in records]


def spoiled_text(rng: random.Random, raw: bytes) -> bytes:
    """A few bytes changed, cut out, doubled or taken from somewhere else."""
    changed = bytearray(raw)
    for _ in range(rng.choice([1, 1, 2])):
        place = rng.randrange(len(changed))
        piece = slice(place, place + rng.choice([1, 1, 3, 20]))
        match rng.randrange(4):
            case 0:
                changed[place] = rng.choice(b'"[]{},:!/^@0123456789rygbWF\x00\xff')
            case 1:
                del changed[piece]
            case 2:
                changed[piece] *= 2
            case 3:
                other = rng.randrange(len(changed))
                changed[piece] = changed[other : other + 5]
    return bytes(changed)


VALUES: list[Any] = [None, True, 0, 1, -1, 2**31, 2**70, 1.5, "", "W4/!:r@7", "draw", [], {}, [[]], ["r1"], {"r1": 1}]


def spoiled_record(rng: random.Random, raw: bytes) -> bytes:
    """One value somewhere in the record is another, or is gone, doubled, or swapped with a neighbor."""
    record = json.loads(raw)
    inner: Any = record
    while True:
        key = rng.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
        if not isinstance(inner[key], list | dict) or not inner[key] or rng.random() < 0.2:
            break
        inner = inner[key]
    match rng.randrange(4):
        case 0:
            inner[key] = rng.choice(VALUES)
        case 1:
            del inner[key]
        case 2 if isinstance(inner, list):
            inner.insert(key, inner[key])
        case 3 if isinstance(inner, list):
            inner[key], inner[key - 1] = inner[key - 1], inner[key]
        case _:
            inner["seed"] = 1
    return json.dumps(record).encode()


@pytest.mark.sanitize
@pytest.mark.parametrize("spoil", [spoiled_text, spoiled_record])
def test_a_spoiled_record_is_replayed_or_refused(spoil):
    """Whatever the bytes are, there is no other error."""
    rng = random.Random(3)
    valid = short_records()
    outcomes: Counter[str] = Counter()
    for _ in range(1500):
        raw = spoil(rng, rng.choice(valid))
        try:
            for _ in snapshot_lines(read_games([raw])):
                pass
            outcomes["replayed"] += 1
        except RecordError as refusal:
            outcomes[f"refused in line {refusal.line}"] += 1

    assert set(outcomes) == {"replayed", "refused in line 1"}
    assert min(outcomes.values()) > 15
