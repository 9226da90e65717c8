"""The engine against a second implementation of the rules, which is written from the same page and shares no code."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import itertools
import random
from collections.abc import Iterable
from typing import Any

import pytest

from tests.support.golden_games import canonical, golden
from tests.support.reference import OFFICIAL, Record, Table, perft, random_game, random_rules, replay, shuffled
from uno_flex_env import Game


def all_canonical(snapshots: Iterable[dict[str, Any]]) -> str:
    """What the digest of a golden game is made from."""
    return "".join(map(canonical, snapshots))


def a_random_record(num_players: int, seed: int) -> Record:
    rng = random.Random(f"{num_players} {seed}")
    return random_game(rng, num_players, random_rules(rng, num_players), rng.randrange(num_players), patience=60)


# --- The reference itself -------------------------------------------------------------------------------------------


def test_the_reference_replays_the_full_golden_games():
    """Rules 1 to 11, every switch and every number of players."""
    for record in golden("full.jsonl"):
        assert all_canonical(replay(record)) == all_canonical(record["snapshots"])


@pytest.mark.slow
def test_the_reference_replays_the_digest_golden_games():
    """Rules 1 to 11."""
    for record in golden("digest.jsonl"):
        snapshots = replay(record)
        assert snapshots[-1] == record["final"]
        assert hashlib.sha256(all_canonical(snapshots).encode()).hexdigest() == record["digest"]


@pytest.mark.parametrize(
    ("method", "wrong"),
    [
        ("turns_onward", lambda table, card, flex: 1),
        ("others", lambda table, player: [(player + k) % table.players for k in range(1, table.players)]),
        ("is_guilty", lambda table, player: False),
        ("begin_turn", lambda table: table.__dict__.update(to_move=table.upcoming, phase="play", drawn=None)),
    ],
)
def test_the_golden_games_notice_a_wrong_rule(monkeypatch, method, wrong):
    """The comparison above can fail."""
    monkeypatch.setattr(Table, method, wrong)

    def agrees(record: dict[str, Any]) -> bool:
        try:
            return all_canonical(replay(record)) == all_canonical(record["snapshots"])
        except ValueError:
            return False

    assert not all(map(agrees, golden("full.jsonl")))


# --- Random games ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_random_games_agree_at_every_ply(num_players, seed):
    """Rules 1 to 11: a game of the reference, in random switches, is the same game in the engine, forth and back."""
    record = a_random_record(num_players, seed)

    game = Game.from_record(record)

    for snapshot in reversed(replay(record)):
        assert canonical(game.snapshot()) == canonical(snapshot)
        if game.ply:
            game.undo()


@pytest.mark.parametrize("seed", range(12))
def test_random_games_agree_on_who_knows_what(num_players, seed):
    """Rules 7: what a challenge shows stays known until it is played."""
    record = a_random_record(num_players, seed)
    table = Table.start(record)
    pairs = list(itertools.permutations(range(num_players), 2))
    expected = []
    for text in record["actions"]:
        table.play(text)
        expected.append([sorted(table.known.get(pair, [])) for pair in pairs])

    game = Game.from_record(record)

    for known in reversed(expected):
        assert [game.known(*pair) for pair in pairs] == known
        game.undo()


@pytest.mark.parametrize("seed", range(12))
def test_a_record_comes_back_as_it_went_in(num_players, seed):
    """Rules 11."""
    record = a_random_record(num_players, seed)

    assert Game.from_record(record).to_record() == record


# --- Spoiled records ------------------------------------------------------------------------------------------------


def spoiled(rng: random.Random, record: Record) -> Record:
    """The record with one change, which may leave it legal."""
    record = copy.deepcopy(record)
    part = rng.choice(["actions", "actions", "reshuffles", "deck", "pile", "dealer", "players", "rules"])
    if part == "players":
        record["players"] += rng.choice([-1, 1])
    elif part == "dealer":
        record["dealer"] = rng.randrange(-1, record["players"] + 1)
    elif part == "rules":
        record["rules"] = random_rules(rng, record["players"])
    elif part == "pile" and record["reshuffles"]:
        spoil_list(rng, rng.choice(record["reshuffles"]), list(OFFICIAL))
    elif part != "pile":
        spoil_list(rng, record[part], [*record[part], []] if part == "reshuffles" else record[part])
    return record


def spoil_list(rng: random.Random, items: list[Any], others: list[Any]) -> None:
    """Drop, add, replace or exchange something."""
    place = rng.randrange(len(items)) if items else 0
    change = rng.choice(["drop", "add", "replace", "exchange", "cut"])
    if change == "add":
        items.insert(place, rng.choice(others))
    elif change == "drop":
        del items[place : place + 1]
    elif change == "cut":
        del items[place:]
    elif change == "replace":
        items[place : place + 1] = [rng.choice(others)]
    elif items:
        other = rng.randrange(len(items))
        items[place], items[other] = items[other], items[place]


@pytest.mark.parametrize("seed", range(12))
def test_a_spoiled_record_is_refused_by_both_or_by_none(num_players, seed):
    """Rules 11: what is an error is one in both; what is none is the same game in both."""
    rng = random.Random(seed)
    record = a_random_record(num_players, seed)

    for _ in range(10):
        changed = spoiled(rng, record)
        assert outcome(Game, changed) == outcome(Table, changed), changed


def outcome(kind: type[Game] | type[Table], record: Record) -> str:
    """How the game ends, or that it is refused."""
    try:
        return canonical(kind.from_record(record).snapshot())
    except ValueError:
        return "refused"


# --- Perft ----------------------------------------------------------------------------------------------------------


def engine_perft(game: Game, depth: int) -> int:
    """As the reference's: the ways to take `depth` actions, a game that ends earlier counting once."""
    if depth == 0 or game.is_over:
        return 1
    count = 0
    for text in game.legal_actions:
        count += engine_perft(game.play(text), depth - 1)
        game.undo()
    return count


@pytest.mark.parametrize("seed", range(4))
def test_perft_from_a_fixed_deal_agrees(num_players, seed):
    """Rules 2 to 8: as many ways to play on as the naive way finds."""
    rng = random.Random(f"{num_players} {seed}")
    rules = random_rules(rng, num_players) | {"hand_size": 3}
    rules.pop("deck", None)
    deck = shuffled(rng, [face for face, count in OFFICIAL.items() for _ in range(count)])
    table = Table(num_players, 0, rules, deck)
    game = Game.from_record(table.to_record())

    counts = [perft(table, depth) for depth in range(4)]

    assert [engine_perft(game, depth) for depth in range(4)] == counts
    assert [game.state.perft(depth) for depth in range(4)] == counts


@pytest.mark.parametrize("seed", range(8))
def test_perft_from_the_middle_of_a_game_agrees(num_players, seed):
    """Rules 3 to 8, in whatever phase a random game is after some actions."""
    record, expected = cut_where_no_pile_is_renewed(a_random_record(num_players, seed), random.Random(seed), 2)
    game = Game.from_record(record)

    assert engine_perft(game, 2) == game.state.perft(2) == expected


def cut_where_no_pile_is_renewed(record: Record, rng: random.Random, depth: int) -> tuple[Record, int]:
    """The record up to a random ply and its perft; nothing fixes the order of a pile renewed after that ply."""
    for length in rng.sample(range(len(record["actions"])), len(record["actions"])):
        table = Table.start(record)
        for text in record["actions"][:length]:
            table.play(text)
        table.script = []
        with contextlib.suppress(ValueError):
            return table.to_record(), perft(table, depth)
    raise ValueError("every line of play renews the draw pile")
