"""The league: whom the learner meets how often, from which seats, and what it remembers of it."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from agents.learners.league import LEARNER, League, LeagueConfig
from agents.learners.rollout import Rollout
from agents.learners.task import GameConfig
from agents.rule_bot import RuleBot
from tests.support.learning import CPU, KINDS, collect, make_network, pairs
from uno_flex_env import Rules
from uno_flex_env.actions import DRAW

BOTS = ("flex_any", "never_flex", "random")


def note(league: League, member: int, games: int, wins: int, num_players: int = 2) -> None:
    """Tell of games against a member, the learner in the last seat."""
    players = np.full(games, num_players)
    table = np.full((games, 8), member, np.int16)
    table[:, num_players - 1] = LEARNER
    rewards = np.full((games, num_players), -1.0, np.float32)
    rewards[:wins, num_players - 1] = 1.0
    league.report(table, rewards, np.ones(games, np.bool_), players)


def members_met(league: League, games: int = 30_000) -> npt.NDArray[np.float64]:
    """Shares of the members among these games' opponents."""
    table = league.seat_everyone(np.full(games, 2))
    return np.bincount(table[:, :2].max(axis=1), minlength=len(league.policies)) / games


# ---- Opponents ----


@pytest.mark.parametrize(("sharpness", "shares"), [(0.0, [1 / 3] * 3), (1.0, [1 / 15, 5 / 15, 9 / 15])])
def test_hard_opponents_are_met_more_often(sharpness, shares):
    """Win rates of 0.9, 0.5 and 0.1, each drawn to one half by two games: weights 1 - w. Seen to fail with the weights
    w, and without the sharpness."""
    league = League(LeagueConfig(1.0, BOTS, sharpness=sharpness), 0)
    for member, wins in enumerate((89, 49, 9)):
        note(league, member, 98, wins)

    assert list(league.win_rates().values()) == pytest.approx([0.9, 0.5, 0.1])
    assert members_met(league) == pytest.approx(shares, abs=0.015)


def test_a_sharper_choice_is_sharper():
    """Weights (1 - w)**2: 1 to 25 to 81. Seen to fail with sharpness 1 for all."""
    league = League(LeagueConfig(1.0, BOTS, sharpness=2.0), 0)
    for member, wins in enumerate((89, 49, 9)):
        note(league, member, 98, wins)

    assert members_met(league) == pytest.approx([1 / 107, 25 / 107, 81 / 107], abs=0.015)


def test_old_results_count_less_and_less():
    """2,000 wins, then 2,000 losses: the wins count half by then. Seen to fail with a longer half-life and without
    one."""
    league = League(LeagueConfig(1.0, BOTS), 0)

    note(league, 1, 2000, 2000)
    note(league, 1, 2000, 0)

    assert league.wins == pytest.approx([0, 1000, 0])
    assert league.games == pytest.approx([0, 3000, 0])


def test_only_games_with_opponents_that_have_ended_count(num_players):
    """From any seat. Seen to fail when the winner of seat 0 counts, and when games count at every step."""
    league = League(LeagueConfig(1.0, BOTS), 0)
    players = np.full(4 * num_players, num_players)
    table = np.full((4 * num_players, 8), 2, np.int16)
    seat = np.arange(4 * num_players) % num_players
    table[np.arange(4 * num_players), seat] = LEARNER
    rewards = np.full((4 * num_players, num_players), -1.0, np.float32)
    rewards[np.arange(num_players), seat[:num_players]] = 1.0
    ended = np.arange(4 * num_players) < 2 * num_players
    table[-1] = LEARNER

    league.report(table, rewards, ended, players)

    assert league.wins == pytest.approx([0, 0, num_players])
    assert league.games == pytest.approx([0, 0, 2 * num_players])


def test_a_snapshot_takes_the_place_of_the_oldest():
    """Fixed opponents stay, and a new member begins without results. Seen to fail with the newest replaced, and with
    the results of the one before."""
    league = League(LeagueConfig(0.5, BOTS[:1], snapshots=2), 0)
    names = ("random", "never_flex", "always_flex", "flex_when_stuck")

    for name in names[:3]:
        league.add(RuleBot(name))
        note(league, len(league.policies) - 1, 10, 10)

    assert [policy.name for policy in league.policies] == ["flex_any", "always_flex", "never_flex"]
    league.add(RuleBot(names[3]))
    assert [policy.name for policy in league.policies] == ["flex_any", "always_flex", "flex_when_stuck"]
    assert league.games[2] == league.wins[2] == 0.0


# ---- Seats ----


def test_the_learner_sits_in_every_seat_equally_often(num_players):
    """Fault 24: alone, in the share of the games of each number of players that is asked for; everywhere else it plays
    all seats. Seen to fail with the learner always in seat 0."""
    league = League(LeagueConfig(0.25, BOTS), 0)

    table = league.seat_everyone(np.repeat([num_players, 9 - num_players if num_players < 8 else 2], 16_000))

    ours = table[:16_000, :num_players]
    mixed = (ours != LEARNER).any(axis=1)
    assert mixed.sum() == 4_000
    assert ((ours[mixed] == LEARNER).sum(axis=1) == 1).all()
    assert (ours[mixed].max(axis=1) == np.sort(ours[mixed], axis=1)[:, 1]).all()
    seats = np.bincount((ours[mixed] == LEARNER).argmax(axis=1), minlength=num_players)
    expected = 4_000 / num_players
    assert ((seats - expected) ** 2 / expected).sum() < 35


def test_games_that_go_on_keep_their_seats():
    """Only those that have ended are seated anew, and the share stays. Seen to fail with all of them."""
    league = League(LeagueConfig(0.5, BOTS), 0)
    players = np.repeat([2, 4], 500)
    table = league.seat_everyone(players)
    before, ended = table.copy(), np.arange(1000) % 3 == 0

    league.reseat(table, ended, players)

    assert np.array_equal(table[~ended], before[~ended])
    assert (table[ended] != before[ended]).any()
    assert [(table[part, :2] != LEARNER).any(axis=1).sum() for part in (slice(500), slice(500, 1000))] == [250, 250]


def test_opponents_play_as_they_do_from_the_learners_right_and_left():
    """Games of 2 and 5 players against an opponent that never draws by choice. All decisions that are not learned from
    are the opponent's. Half of the games have exactly one seat that learns; in the others all seats do.

    Seen to fail with an opponent whose decisions are learned from, and with the network's action in place of its."""
    network = make_network(KINDS[0])
    config = GameConfig(players=(2, 5), num_envs=24, num_steps=20, rules=Rules(hand_size=2))
    rollout = Rollout(config, network, League(LeagueConfig(0.5, ("flex_any",)), 1), 1)

    collected, replay = collect(rollout, network, 15)

    pairs(collected, replay)
    learners: dict[tuple[int, int], set[tuple[int, bool]]] = {}
    for (game, seat), rows in replay.answered.items():
        for taken in rows:
            learners.setdefault((game, taken.episode), set()).add((seat, taken.learns))
            if not taken.learns:
                assert taken.action != DRAW or taken.seen["legal"][:DRAW].sum() == 0
    mixed = {key: seats for key, seats in learners.items() if any(not learns for _, learns in seats)}
    assert {game % 12 >= 6 for game, _ in mixed} == {True}
    assert all(sum(learns for _, learns in seats) <= 1 for seats in mixed.values())
    assert 20 < len(mixed) < len(learners)
    assert {seat for (game, _), seats in mixed.items() for seat, learns in seats if learns and game >= 12} == set(
        range(5)
    )


def test_the_learners_results_reach_the_league():
    """Against one who plays at random, an opponent of the same strength wins as often. Seen to fail without
    `report`."""
    network = make_network(KINDS[0])
    network.policy.weight.data.zero_()
    rollout = Rollout(
        GameConfig(num_envs=200, num_steps=60, rules=Rules(hand_size=1)),
        network,
        League(LeagueConfig(1.0, ("random",)), 1),
        1,
    )

    for _ in range(3):
        rollout.collect(network, CPU, 1.0, 0.9)

    assert rollout.league.games[0] > 200
    assert rollout.league.win_rates()["random"] == pytest.approx(0.5, abs=0.12)


# ---- Resuming and settings ----


def test_a_restored_league_goes_on_as_the_original():
    """Through JSON: results, generator and the place of the next snapshot. Seen to fail without each of them."""
    config = LeagueConfig(0.5, BOTS[:1], snapshots=2)
    original = League(config, 3)
    for name in BOTS:
        original.add(RuleBot(name))
    note(original, 1, 50, 20)
    original.seat_everyone(np.full(100, 3))
    restored = League(config, 4)

    restored.restore(json.loads(json.dumps(original.state())), original.policies[1:])

    players = np.full(300, 4)
    assert restored.win_rates() == original.win_rates()
    assert np.array_equal(restored.seat_everyone(players), original.seat_everyone(players))
    assert np.array_equal(restored.noise(5), original.noise(5))
    for league in (original, restored):
        league.add(RuleBot("always_flex"))
    assert [p.name for p in restored.policies] == [p.name for p in original.policies]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"fraction": 1.5}, "league.fraction must lie in [0, 1], got 1.5"),
        ({"fraction": 0.5}, "league.fraction is above 0, but there are neither"),
        ({"opponents": ("random",)}, "never met while league.fraction is 0"),
        ({"snapshots": -1}, "league.snapshots and .sharpness must be at least 0"),
        ({"every": 0}, "league.every at least 1"),
    ],
)
def test_leagues_that_make_no_sense_are_refused(settings: dict[str, Any], message):
    """By the setting's name. Seen to fail without the checks."""
    with pytest.raises(ValueError, match=re.escape(message)):
        LeagueConfig(**settings)
