"""The rule bots of the core and playouts with them."""

import random

import numpy as np
import pytest

from tests.support.episodes import EVERY_PHASE, NO_MATCHES, SHORT, card_points, payoffs
from uno_flex_env import Game, Rules, State, playout
from uno_flex_env.actions import TEXTS
from uno_flex_env.batch import BOTS
from uno_flex_env.envs.seat_games import SeatGames
from uno_flex_env.game import snapshot


def deals(num_players: int, count: int) -> list[State]:
    return [State.deal(Rules().core, num_players, num_players - 1, seed) for seed in range(count)]


def win_rate(num_players: int, bot: str, others: str, count: int) -> float:
    """How often one bot wins with the others in all other seats, in percent; every deal is played from every seat."""
    states, won = deals(num_players, count // num_players), 0
    for seat in range(num_players):
        bots = [bot if s == seat else others for s in range(num_players)]
        winners, _ = playout(states, bots, seed=seat, num_threads=2)
        won += int((winners == seat).sum())
    return 100 * won / (len(states) * num_players)


FIGURES = [
    (2, "flex_any", "random", 94, 1.5),
    (2, "flex_when_stuck", "never_flex", 59, 2.5),
    (2, "flex_when_stuck", "always_flex", 56, 2.5),
    (2, "always_flex", "never_flex", 55, 2.5),
    (4, "flex_any", "random", 88, 2.0),
    (4, "flex_when_stuck", "never_flex", 30.5, 2.3),
    (4, "flex_when_stuck", "always_flex", 23.1, 2.1),
    (4, "always_flex", "never_flex", 30.3, 2.3),
]
"""Win rates in percent of one bot against others, measured on an independent implementation, with 95 % intervals."""


@pytest.mark.parametrize(("num_players", "bot", "others", "percent", "margin"), FIGURES)
def test_the_rule_bots_win_as_often_as_elsewhere(num_players, bot, others, percent, margin):
    """20,000 games each; their own interval is under 0.7."""
    assert abs(win_rate(num_players, bot, others, 20_000) - percent) < margin


@pytest.mark.parametrize(("num_players", "bot", "others", "percent", "margin"), FIGURES)
def test_the_check_of_win_rates_can_fail(num_players, bot, others, percent, margin):
    """A weaker bot in the place of the first."""
    weaker = "random" if others == "random" else "never_flex"
    assert abs(win_rate(num_players, weaker, others, 20_000) - percent) > margin


def groups_of(bot: str, legal: list[int]) -> list[list[int]]:
    """What a bot chooses from, the first group that is not empty: it never draws by choice, plays colored cards before
    wilds and accepts a Draw Four."""
    passive = [a for a in legal if TEXTS[a] in ("draw", "keep", "accept", "uno", "catch")]
    plays = [a for a in legal if a < TEXTS.index("draw")]
    regular, flexes = ([a for a in plays if ("!" in TEXTS[a]) == flex] for flex in (False, True))
    sides = {
        "random": [legal],
        "flex_any": [plays],
        "never_flex": [regular],
        "always_flex": [flexes, regular],
        "flex_when_stuck": [regular, flexes],
    }[bot]
    if bot == "random":
        return sides
    return [part for side in sides for part in ([a for a in side if TEXTS[a][0] != "W"], side)] + [passive, legal]


def check_bot(bot: str, as_described: str) -> None:
    """Every choice of a bot is one that its description allows, and within that each as likely as any other."""
    games = SeatGames(150, 3, EVERY_PHASE, opponents=bot, history=500)
    games.reset(1)
    over, rng = np.zeros(150, np.bool_), np.random.default_rng(0)
    while not over.all():
        games.step((rng.random(games.action_masks.shape) * games.action_masks).argmax(axis=1), alone=over)
        over |= games.terminated
    firsts, expected, variance = 0, 0.0, 0.0
    for game, events in enumerate(games.histories.tolist()):
        if events[0][1] >= 0:
            continue  # so long a game that its first events are forgotten
        state = State.deal(EVERY_PHASE.core, 3, 2, games.batch.episode_seed(game))
        for seat, action, _ in (event for event in events if event[1] >= 0):
            if seat:
                choice = next(group for group in groups_of(as_described, state.legal_actions()) if group)
                assert action in choice
                chance = 1 / len(choice)
                firsts, expected = firsts + (action == choice[0]), expected + chance
                variance += chance * (1 - chance)
            state.apply(action)
        assert state.is_over
    assert abs(firsts - expected) < 4 * np.sqrt(variance)


@pytest.mark.parametrize("bot", BOTS)
def test_the_bots_play_as_described(bot):
    """In all phases."""
    check_bot(bot, bot)


@pytest.mark.parametrize("bot", BOTS)
def test_the_check_of_bots_can_fail(bot):
    """No bot passes for the one before it."""
    with pytest.raises(AssertionError):
        check_bot(bot, BOTS[BOTS.index(bot) - 1])


def test_playouts_repeat_and_leave_the_states_alone():
    """The same seed gives the same games on any number of threads; another one, or a repeat, gives others."""
    states = deals(3, 200)
    before = [state.to_bytes() for state in states]
    winners, points = playout(states, "random", seed=1, repeats=3)
    assert winners.shape == points.shape == (200, 3)
    for num_threads in (2, 5):
        again = playout(states, "random", seed=1, repeats=3, num_threads=num_threads)
        assert np.array_equal(again[0], winners)
        assert np.array_equal(again[1], points)
    assert not np.array_equal(winners[:, 0], winners[:, 1])
    assert not np.array_equal(playout(states, "random", seed=2)[0][:, 0], winners[:, 0])
    assert [state.to_bytes() for state in states] == before


def test_playouts_begin_at_any_decision():
    """A state one action from its end gives that end's winner and points (rules 8)."""
    found = set[tuple[int, int]]()
    for seed in range(300):
        game = Game.from_position([["y2"], ["r1", "b5/y"], ["rS", "WF"]], "y5/b", current_player=0, seed=seed)
        points = sum(map(card_points, game.hands[1] + game.hands[2]))
        winners, scored = playout([game.state], "flex_any", seed=seed)
        found.add((int(winners[0, 0]), int(scored[0, 0]) - points))
    assert found == {(0, 0)}


def test_a_playout_of_a_finished_round_is_its_result():
    """No card is left to play and no player wins: -1 and 0 points."""
    ended = []
    for rules, seed in ((SHORT, 1), (NO_MATCHES, 0)):
        state = State.deal(rules.core, 2, 1, seed)
        rng = random.Random(seed)
        while not state.is_over:
            state.apply(rng.choice(state.legal_actions()))
        ended.append(state)
    winners, points = playout(ended)
    assert winners[:, 0].tolist() == [ended[0].winner, -1]
    assert points[:, 0].tolist() == [ended[0].points, 0]
    paid = payoffs(snapshot(ended[0]), "points")
    assert paid[ended[0].winner] == points[0, 0] / 100


@pytest.mark.parametrize(
    ("states", "options", "message"),
    [
        (deals(2, 1), {"bots": "flexible"}, "no such bot: 'flexible'; there are random, flex_any"),
        (deals(2, 1), {"bots": ["random"]}, "a bot for each seat: 2, got 1"),
        (deals(2, 1) + deals(3, 1), {}, "all positions must have one number of players, got 2 and 3"),
        (deals(2, 1), {"repeats": 0}, "repeats must be a whole number from 1 to .*, got 0"),
        (deals(2, 1), {"num_threads": 0}, "num_threads must be from 1"),
    ],
)
def test_bad_playouts_are_refused(states, options, message):
    """By name."""
    with pytest.raises(ValueError, match=message):
        playout(states, **options)


def test_a_playout_of_nothing_is_nothing():
    """Shapes hold."""
    winners, points = playout([], repeats=4)
    assert winners.shape == points.shape == (0, 4)
