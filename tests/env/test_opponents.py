"""Opponents of one learner: policies in batch, rule bots, and their exchange."""

from typing import Any

import numpy as np
import pytest

from tests.support.episodes import first_legal
from uno_flex_env import IllegalActionError
from uno_flex_env.envs.gym_vector import UnoFlexVectorEnv
from uno_flex_env.envs.seat_games import SeatGames
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.policy_input import Decisions


class Recorder:
    """Plays the first legal action and keeps the batches that it has got."""

    def __init__(self) -> None:
        self.batches: list[dict[str, Any]] = []

    def __call__(self, batch: dict[str, Any]) -> Any:
        self.batches.append(batch)
        return first_legal(batch)


def test_a_policy_gets_all_rows_in_which_its_seats_decide():
    """Fault 3: what their movers see and may do, and nothing else; in arrays that it may keep and overwrite."""
    recorder = Recorder()
    games = SeatGames(40, 4, opponents=[recorder, "flex_any", recorder], history=2)
    row, seen = np.empty(NUM_FEATURES, np.uint8), list[int]()
    advance = games._advance

    def watched() -> Any:
        batch = recorder.batches[-1] if recorder.batches else None
        if batch is not None and len(seen) < len(recorder.batches):
            waiting = [game for game in range(40) if games.batch.current_player[game] in (1, 3)]
            assert len(batch["observation"]) == len(waiting)
            for i, game in enumerate(waiting):
                games.state(game).encode(games.state(game).current_player, row)
                assert np.array_equal(batch["observation"][i], row)
                assert np.array_equal(batch["action_mask"][i], games.action_masks[game])
                assert np.array_equal(batch["history"][i], games.histories[game])
            batch["action_mask"][:] = 0
            seen.append(len(waiting))
        return advance()

    games._advance = watched  # type: ignore[method-assign]
    games.reset(5)
    play_on(games)
    assert max(seen) > 20


def play_on(games: SeatGames, steps: int = 20) -> None:
    for _ in range(steps):
        games.step(games.action_masks.argmax(axis=1), alone=games.batch.current_player < 0)


def test_each_policy_plays_its_seats():
    """Clockwise from the learner, wherever it sits."""

    def never(batch: dict[str, Any]) -> Any:
        raise AssertionError

    games = SeatGames(20, 3, opponents=[first_legal, "flex_any"], seat="random", history=1)
    games.reset(0)
    assert set(games.learning_seats.tolist()) == {0, 1, 2}
    games.opponents = ["flex_any", never]
    with pytest.raises(AssertionError):
        play_on(games)


def test_opponents_may_be_exchanged_between_steps():
    """The new ones take over the games in progress."""
    env = UnoFlexVectorEnv(10, opponents="flex_any")
    _, infos = env.reset(seed=0)
    recorder = Recorder()
    env.seat_games.opponents = recorder
    for _ in range(5):
        *_, infos = env.step(infos["action_mask"].argmax(axis=1))
    calls = len(recorder.batches)
    assert calls >= 5
    env.seat_games.opponents = "flex_any"
    env.step(infos["action_mask"].argmax(axis=1))
    assert len(recorder.batches) == calls


class Keeper:
    """A policy in the form of match play that keeps its decisions."""

    name, history, looks_ahead = "keeper", 2, True

    def __init__(self) -> None:
        self.asked: list[Decisions] = []

    def act(self, decisions: Decisions) -> Any:
        self.asked.append(decisions)
        return decisions.action_mask.argmax(axis=1)


def test_a_policy_of_match_play_is_an_opponent():
    """Fault 2-22: with the decisions that it gets there. Seen to fail when opponents had to be names or functions."""
    keeper = Keeper()
    games = SeatGames(20, 3, opponents=[keeper, "flex_any"], history=5, seat="random")
    games.reset(3)
    play_on(games)
    for decisions in keeper.asked:
        assert decisions.history is not None
        assert decisions.views is not None
        assert decisions.history.shape == (len(decisions), 2, 3)
        observations, masks = decisions.views.determinize(decisions.noise).observe()
        assert np.array_equal(observations, decisions.observation)
        assert np.array_equal(masks, decisions.action_mask)
    keys = np.concatenate([decisions.noise for decisions in keeper.asked])
    assert len(set(keys.tolist())) == keys.size > 200


@pytest.mark.parametrize("number", [1, 40])
def test_the_noise_of_a_policy_follows_from_the_game(number):
    """Fault 2-22: not from the other games, nor from what was played before. Seen to fail with one count of calls for
    all games."""
    single, many = Keeper(), Keeper()
    options: dict[str, Any] = {"num_players": 3, "seat": 1, "history": 2, "rules": {"hand_size": 2}}
    seeds = [9, *range(100, 99 + number)]
    one = UnoFlexVectorEnv(1, opponents=single, **options)
    all_games = UnoFlexVectorEnv(number, opponents=many, **options)
    all_games.reset(seed=5)
    many.asked = []
    for env, some in ((one, seeds[:1]), (all_games, seeds)):
        _, infos = env.reset(seed=some)
        for _ in range(30):
            *_, infos = env.step(infos["action_mask"].argmax(axis=1))
    keys = set(np.concatenate([decisions.noise for decisions in many.asked]).tolist())
    assert {key for decisions in single.asked for key in decisions.noise.tolist()} <= keys


@pytest.mark.parametrize(
    ("opponents", "message"),
    [
        ("expert", r"no such bot: 'expert'; there are random, .*agents.policy_factory.make_policy\('expert'\)"),
        ("champion", r"no such bot: 'champion'; .*agents.policy_factory.make_policy\('champion'\)"),
        (Keeper, "an opponent must be an object, got the class Keeper: call it"),
        (7, "an opponent must be the name of a rule bot, an object with act"),
        (Keeper(), "keeper wants a history of at least 2 events: set the option, got 1"),
        ([Keeper()], "keeper wants a history of at least 2 events"),
    ],
)
def test_an_invalid_opponent_is_refused_with_what_is_allowed(opponents, message):
    """Fault 2-22. Seen to fail: the message said `no such bot` and no more."""
    with pytest.raises(ValueError, match=message):
        UnoFlexVectorEnv(2, opponents=opponents, history=1)
    env = UnoFlexVectorEnv(2, history=1)
    with pytest.raises(ValueError, match=message):
        env.seat_games.opponents = opponents


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda batch: [0], ValueError, "opponent <lambda> must answer with [0-9]+ whole numbers, got int64 of shape"),
        (lambda batch: batch["action_mask"][:, 0] * 0.5, ValueError, "whole numbers, got float64"),
        (lambda batch: batch["action_mask"].argmin(axis=1), IllegalActionError, r"game \d+, opponent <lambda>: action"),
    ],
)
def test_the_actions_of_a_policy_are_checked(answer, error, message):
    """Its games then wait for it, not for their learners: they have to be reset."""
    env = UnoFlexVectorEnv(6)
    env.reset(seed=0)
    env.seat_games.opponents = answer
    with pytest.raises(error, match=message):
        play_on(env.seat_games)
    with pytest.raises(RuntimeError, match="an opponent failed to act; reset the games"):
        env.step(env.seat_games.action_masks.argmax(axis=1))
    env.seat_games.opponents = "random"
    env.reset()
    env.step(env.seat_games.action_masks.argmax(axis=1))
