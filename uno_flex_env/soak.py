"""A soak: very many random decisions under every combination of switches, with everything checked after each."""

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
"""Of the switches with two values and the numbers of players."""

_STRIDE = 2053  # shares no factor with COMBINATIONS, so that a short soak sees a mixture and a long one all
_LEAST, _MOST = 200, 20_000  # decisions at one table
_BY_HAND_EVERY = 8  # tables between those that are also played through the faces for people


@dataclass(frozen=True)
class Table:
    """Who plays by which rules."""

    players: int
    rules: Rules
    match: bool


@dataclass(frozen=True)
class Fault:
    """Something that must not be, and how to get there again."""

    reason: str
    seed: int
    """Of the soak."""
    number: int
    """Of the table in the soak."""
    table: Table
    record: dict[str, Any]
    """The round up to the fault."""

    def __str__(self) -> str:
        rules = json.dumps(self.table.rules.to_dict())
        kind = "a match" if self.table.match else "a round"
        return (
            f"soak with seed {self.seed}, table {self.number}: {self.reason}\n"
            f"{self.table.players} players, {kind}, rules {rules}\n{json.dumps(self.record)}"
        )


@dataclass(frozen=True)
class Outcome:
    """What came of a soak, or of one of its tables."""

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
    """Play about so many random decisions, or up to the first fault.

    The tables depend on the seed and on the number of decisions, not on the threads. From the 2,048th action of a round
    nobody draws by choice, since under some switches random drawing keeps it going. Where a drawn card must be played
    a round can go on for ever all the same; such a one is given up after 65,536 actions.

    Args:
        advance: called with the number of decisions at each table, in order.
        spoil: break a state at the second table, to see that it is noticed.
    """
    each = min(max(decisions // COMBINATIONS, _LEAST), _MOST)
    done = endless = 0
    with ThreadPoolExecutor(threads) as pool:
        jobs = (
            pool.submit(play_table, seed, number, each, each // 2 if spoil and number == 1 else 0)
            for number in itertools.count()
        )
        for table in _in_order(jobs, threads):
            done += table.decisions
            endless += table.endless
            if table.fault is not None:
                return Outcome(done, endless, table.fault)
            if advance is not None:
                advance(table.decisions)
            if done >= decisions:
                break
    return Outcome(done, endless, None)


def _in_order(jobs: Iterator[Future[Outcome]], threads: int) -> Iterator[Outcome]:
    """The results of the jobs, with only as many of them under way as keep the threads busy."""
    under_way = deque(itertools.islice(jobs, 2 * threads))
    while under_way:
        yield under_way.popleft().result()
        under_way.append(next(jobs))


def play_table(seed: int, number: int, decisions: int, spoil_at: int = 0) -> Outcome:
    """Play at one table of a soak."""
    rng = random.Random(f"{seed} {number}")
    table = table_of(seed, number)
    core_seed = rng.getrandbits(64)
    taken, endless, found = _core.soak(table.rules.core, table.players, table.match, core_seed, decisions, spoil_at)
    fault = None
    if found is not None:
        reason, dealer, deal_seed, actions = found
        fault = Fault(reason, seed, number, table, _record(table, dealer, deal_seed, actions))
    elif number % _BY_HAND_EVERY == 0:
        game = Game(table.players, table.rules, seed=rng.getrandbits(64))
        if reason := play_by_hand(game, rng):
            fault = Fault(reason, seed, number, table, game.to_record())
    return Outcome(taken, int(endless), fault)


def table_of(seed: int, number: int) -> Table:
    """The table of this number: each combination of switches and players once in COMBINATIONS tables, with a hand size,
    a deck and a target score drawn for it."""
    rng = random.Random(f"table {seed} {number}")
    combination = (seed + number * _STRIDE) % COMBINATIONS
    players = MIN_PLAYERS + combination % (MAX_PLAYERS - MIN_PLAYERS + 1)
    bits = combination // (MAX_PLAYERS - MIN_PLAYERS + 1)
    switches: dict[str, Any] = {name: values[bits >> bit & 1] for bit, (name, values) in enumerate(SWITCHES.items())}
    switches["target_score"] = rng.choice([1, 60, 500])
    while True:
        deck = rng.choice([None, None, _some_cards(rng)])
        rules = Rules(**switches, deck=deck, hand_size=rng.choice([7, rng.randint(1, 31), rng.randint(1, 4)]))
        if not rules.core.refuse(players):
            return Table(players, rules, match=rng.random() < 0.25)


def _some_cards(rng: random.Random) -> dict[str, int]:
    """Part of the official deck, from nearly all to hardly any of it."""
    share = rng.random()
    deck = {code: sum(rng.random() < share for _ in range(copies)) for code, copies in official_deck().items()}
    return {code: copies for code, copies in deck.items() if copies}


def _record(table: Table, dealer: int, deal_seed: int, actions: list[int]) -> dict[str, Any]:
    game = Game(table.players, table.rules, seed=deal_seed, dealer=dealer)
    for action in actions:
        if not game.state.is_legal(action):
            break
        game.play(action)
    return game.to_record()


def play_by_hand(game: Game, rng: random.Random, most: int = 60) -> str:
    """Play the game on through the faces for people, until something is wrong: what, or ""."""
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
    """Which written form of the game does not give it back."""
    state = game.state
    if State.from_bytes(state.to_bytes()) != state:
        return "the state's bytes are of another state"
    if state_from_json(json.loads(json.dumps(state_to_json(state)))) != state:
        return "the state's JSON is of another state"
    again = Game.from_record(json.loads(json.dumps(game.to_record())))
    return "" if again.snapshot() == game.snapshot() else "the record is of another game"
