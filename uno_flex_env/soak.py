"""A soak test: many random decisions under every combination of switches, with all invariants checked after each."""

from __future__ import annotations

import itertools
import json
import random
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from uno_flex_env import Game, Rules, State, _core
from uno_flex_env.rules import MAX_PLAYERS, MIN_PLAYERS, SWITCHES, official_deck
from uno_flex_env.state import state_from_json, state_to_json

COMBINATIONS = (1 << len(SWITCHES)) * (MAX_PLAYERS - MIN_PLAYERS + 1)
"""The number of combinations of two-valued switches and numbers of players."""

_STRIDE = 2053  # shares no factor with COMBINATIONS, so that a short soak sees a mixture and a long one all
_LEAST, _MOST = 200, 20_000  # decisions in one trial
_BY_HAND_EVERY = 8  # trials between those that are also played through the faces for people


@dataclass(frozen=True)
class Trial:
    """The number of players and the rules of one trial of a soak."""

    players: int
    rules: Rules
    match: bool


@dataclass(frozen=True)
class Fault:
    """A fault that the soak has found, and how to reproduce it."""

    reason: str
    seed: int
    """Seed of the soak."""
    number: int
    """Number of the trial in the soak."""
    trial: Trial
    record: dict[str, Any]
    """The round up to the fault."""

    def __str__(self) -> str:
        rules = json.dumps(self.trial.rules.to_dict())
        kind = "a match" if self.trial.match else "a round"
        return (
            f"soak with seed {self.seed}, trial {self.number}: {self.reason}\n"
            f"{self.trial.players} players, {kind}, rules {rules}\n{json.dumps(self.record)}"
        )


@dataclass(frozen=True)
class Outcome:
    """The result of a soak, or of one of its trials."""

    decisions: int
    endless: int
    """Rounds that were abandoned because they did not end."""
    fault: Fault | None

    def __str__(self) -> str:
        if self.fault is not None:
            return str(self.fault)
        endless = f"; {self.endless:,} rounds never ended and were abandoned" if self.endless else ""
        return f"{self.decisions:,} decisions, no fault found{endless}"


def soak(
    decisions: int,
    *,
    seed: int = 0,
    threads: int = 1,
    advance: Callable[[int], object] | None = None,
    spoil: bool = False,
) -> Outcome:
    """Play about this many random decisions, or stop at the first fault.

    The trials depend on the seed and on the number of decisions, not on the threads. From the 2,048th action of a round
    on, players no longer draw by choice, because random drawing can keep a round going under some switches. Where a
    drawn card must be played, a round may still never end. It is abandoned after 65,536 actions.

    Args:
        advance: called with the number of decisions in each trial, in order.
        spoil: corrupt a state in the second trial, to test that the checks find it.
    """
    each = min(max(decisions // COMBINATIONS, _LEAST), _MOST)
    done = endless = 0
    with ThreadPoolExecutor(threads) as pool:
        jobs = (
            pool.submit(play_trial, seed, number, each, each // 2 if spoil and number == 1 else 0)
            for number in itertools.count()
        )
        for trial in _in_order(jobs, threads):
            done += trial.decisions
            endless += trial.endless
            if trial.fault is not None:
                return Outcome(done, endless, trial.fault)
            if advance is not None:
                advance(trial.decisions)
            if done >= decisions:
                break
    return Outcome(done, endless, None)


def _in_order(jobs: Iterator[Future[Outcome]], threads: int) -> Iterator[Outcome]:
    """Yield the results of the jobs in order. Only enough jobs to keep the threads busy are submitted at a time."""
    under_way = deque(itertools.islice(jobs, 2 * threads))
    while under_way:
        yield under_way.popleft().result()
        under_way.append(next(jobs))


def play_trial(seed: int, number: int, decisions: int, spoil_at: int = 0) -> Outcome:
    """Play one trial of a soak."""
    rng = random.Random(f"{seed} {number}")
    trial = trial_of(seed, number)
    core_seed = rng.getrandbits(64)
    taken, endless, found = _core.soak(trial.rules.core, trial.players, trial.match, core_seed, decisions, spoil_at)
    fault = None
    if found is not None:
        reason, dealer, deal_seed, actions = found
        fault = Fault(reason, seed, number, trial, _record(trial, dealer, deal_seed, actions))
    elif number % _BY_HAND_EVERY == 0:
        game = Game(trial.players, trial.rules, seed=rng.getrandbits(64))
        if reason := play_by_hand(game, rng):
            fault = Fault(reason, seed, number, trial, game.to_record())
    return Outcome(taken, int(endless), fault)


def trial_of(seed: int, number: int) -> Trial:
    """The trial with this number. COMBINATIONS trials in a row cover each combination of switches and players once. The
    hand size, the deck and the target score are random."""
    rng = random.Random(f"trial {seed} {number}")
    combination = (seed + number * _STRIDE) % COMBINATIONS
    players = MIN_PLAYERS + combination % (MAX_PLAYERS - MIN_PLAYERS + 1)
    bits = combination // (MAX_PLAYERS - MIN_PLAYERS + 1)
    switches: dict[str, Any] = {name: values[bits >> bit & 1] for bit, (name, values) in enumerate(SWITCHES.items())}
    switches["target_score"] = rng.choice([1, 60, 500])
    while True:
        deck = rng.choice([None, None, _some_cards(rng)])
        rules = Rules(**switches, deck=deck, hand_size=rng.choice([7, rng.randint(1, 31), rng.randint(1, 4)]))
        if not rules.core.refuse(players):
            return Trial(players, rules, match=rng.random() < 0.25)


def _some_cards(rng: random.Random) -> dict[str, int]:
    """A random part of the official deck, of random size."""
    share = rng.random()
    deck = {code: sum(rng.random() < share for _ in range(copies)) for code, copies in official_deck().items()}
    return {code: copies for code, copies in deck.items() if copies}


def _record(trial: Trial, dealer: int, deal_seed: int, actions: list[int]) -> dict[str, Any]:
    game = Game(trial.players, trial.rules, seed=deal_seed, dealer=dealer)
    for action in actions:
        if not game.state.is_legal(action):
            break
        game.play(action)
    return game.to_record()


def play_by_hand(game: Game, rng: random.Random, most: int = 60) -> str:
    """Play the game on through the public Python interface. Returns the first fault, or ""."""
    reason = ""
    try:
        while not (reason or game.is_over or game.ply == most):
            game.play(rng.choice(game.legal_actions))
            if game.ply % 10 == 0:
                reason = _lost_in_writing(game)
        return reason or _lost_in_writing(game)
    except ValueError as error:
        return f"{type(error).__name__}: {error}"


def _lost_in_writing(game: Game) -> str:
    """Which written form of the game does not restore it, or ""."""
    state = game.state
    if State.from_bytes(state.to_bytes()) != state:
        return "the state's bytes are of another state"
    if state_from_json(json.loads(json.dumps(state_to_json(state)))) != state:
        return "the state's JSON is of another state"
    again = Game.from_record(json.loads(json.dumps(game.to_record())))
    return "" if again.snapshot() == game.snapshot() else "the record is of another game"
