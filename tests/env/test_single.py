"""The Gymnasium environment: one learner, its opponents played inside `step`."""

import copy
import logging
import random
import re
from itertools import count
from typing import Any, Literal

import gymnasium
import numpy as np
import pytest

from tests.support.episodes import (
    EVERY_PHASE,
    NO_MATCHES,
    PHASES,
    SHORT,
    Recorder,
    choose,
    draw_and_keep,
    first_legal,
    learner_transcript,
    payoffs,
)
from uno_flex_env import IllegalActionError, Match, NotationError, Rules, State
from uno_flex_env.actions import FLEX_ACTIONS, NUM_ACTIONS, TEXTS
from uno_flex_env.envs.gym_vector import UnoFlexVectorEnv
from uno_flex_env.envs.seat_games import SeatGames
from uno_flex_env.envs.single_agent import SingleAgentEnv
from uno_flex_env.game import PHASES as PHASE_NAMES
from uno_flex_env.game import snapshot
from uno_flex_env.observation import NUM_FEATURES


def play(env: SingleAgentEnv, rng: random.Random, seed: int | None = None) -> float:
    """Play an episode; the sum of its rewards."""
    observation, _ = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, _ = env.step(choose(observation["action_mask"], rng))
        total, over = total + reward, terminated or truncated
    return total


# ---- Rewards (faults 1 and 4) ----


def check_rewards(num_players: int, reward: Literal["win", "points"], opponents: Any) -> None:
    """The rewards of an episode sum to what the rules pay the learner's seat, to the bit of a float32."""
    env = SingleAgentEnv(num_players, SHORT, opponents=opponents, seat="random", reward=reward)
    rng, seen = random.Random(num_players), set[bool]()
    for seed in range(200):
        total = play(env, rng, seed)
        assert total == float(np.float32(payoffs(snapshot(env.seat_games.state(0)), reward)[env.learning_seat]))
        seen.add(total > 0)
        if seed > 6 and seen == {True, False}:
            return
    raise AssertionError("the learner always wins, or never")


@pytest.mark.parametrize("reward", ["win", "points"])
@pytest.mark.parametrize("opponents", ["flex_any", Recorder()], ids=["bots", "policies"])
def test_the_learner_is_handed_the_payoff_of_its_seat(num_players, reward, opponents):
    """1 and -1 / (n - 1), or the points / 100. Fault 1: it loses on another's turn."""
    check_rewards(num_players, reward, opponents)


@pytest.mark.parametrize("opponents", ["flex_any", Recorder()], ids=["bots", "policies"])
def test_the_reward_check_can_fail(monkeypatch, opponents):
    """Fault 1: only an episode that the learner's own card has ended is paid."""
    share = SeatGames._paid_to_learning_seats

    def own_wins(games: SeatGames) -> Any:
        return np.maximum(share(games), 0)

    monkeypatch.setattr(SeatGames, "_paid_to_learning_seats", own_wins)
    with pytest.raises(AssertionError):
        check_rewards(3, "points", opponents)


@pytest.mark.parametrize("reward", ["win", "points"])
@pytest.mark.parametrize("match", [False, True])
def test_the_environment_plays_the_game(num_players, reward, match):
    """The same deal and actions give the learner's observations and payoffs of `Match`; also the payoffs of rounds that
    are over before the learner's first decision. An episode that ends before it is dealt again."""
    opponent, rules = Recorder(num_players), Rules(hand_size=1, target_score=80, uno_call="explicit")
    env = SingleAgentEnv(num_players, rules, seat=num_players - 1, match=match, reward=reward, opponents=opponent)
    dealt_again = rounds_missed = 0
    for seed in range(200):
        if seed > 6 and (rounds_missed if match else dealt_again):
            return
        opponent.actions.clear()
        observation, _ = env.reset(seed=seed)
        deal = env.seat_games.batch.episode_seed(0)
        if deal != first_deal(num_players, seed):
            dealt_again += 1
            continue
        table, total, over = Match(num_players, rules, seed=deal), 0.0, False
        catch_up(table, opponent, match)
        rounds_missed += len(table.rounds)
        while not over:
            assert table.game.current_player == env.learning_seat
            assert (observation["observation"] == view(table.game.state, env.learning_seat)).all()
            action = choose(observation["action_mask"], opponent.rng)
            table.play(action)
            observation, step_reward, over, _, _ = env.step(action)
            catch_up(table, opponent, match)
            total += step_reward
        assert table.is_over or not match
        paid = table.rounds if reward == "points" else table.rounds[-1:]
        expected = sum(payoffs(game.snapshot(), reward)[env.learning_seat] for game in paid)
        assert total == pytest.approx(expected, abs=1e-5)
    raise AssertionError("the learner always decides before the first round ends")


def catch_up(table: Match, opponent: Recorder, match: bool) -> None:
    """Play what the opponents have played since, to the end of the round or match."""
    while opponent.actions:
        assert match or not table.rounds
        table.play(opponent.actions.pop(0))


def first_deal(num_players: int, seed: int) -> int:
    """The seed with which the first episode after `reset(seed)` is dealt, whether or not the learner gets to decide."""
    games = SeatGames(1, num_players, Rules(hand_size=1), opponents=first_legal)
    games.batch.seed(seed)
    games.batch.reset()
    return games.batch.episode_seed(0)


def view(state: State, seat: int) -> Any:
    row = np.empty(NUM_FEATURES, np.uint8)
    state.encode(seat, row)
    return row


# ---- Observations and masks (faults 3 and 17) ----


def check_blindness() -> None:
    """Exchange the cards that the learner can't see, in every phase: not a byte of what it gets may change."""
    env, rng = SingleAgentEnv(3, EVERY_PHASE, opponents="random", seat="random", history=6), random.Random(0)
    phases: set[str] = set()
    for seed in range(200):
        env.reset(seed=seed)
        while env._live:
            games, state = env.seat_games.batch, env.seat_games.state(0)
            before, saved = env._observe(), games.to_bytes()
            for world_seed in range(2):
                world = state.hide(env.learning_seat).determinize(world_seed)
                games.from_bytes(world.to_bytes() + saved[len(world.to_bytes()) :])
                games.refresh()
                after = env._observe()
                assert {name: part.tobytes() for name, part in before.items()} == {
                    name: part.tobytes() for name, part in after.items()
                }
                phases |= {PHASE_NAMES[state.phase]} if world != state else set()
            games.from_bytes(saved)
            games.refresh()
            env.step(choose(env.action_masks(), rng))
        if phases == PHASES and seed > 10:
            return
    raise AssertionError(f"never seen: {PHASES - phases}")


def test_the_learner_sees_no_hidden_cards():
    """Fault 3."""
    check_blindness()


def test_the_blindness_check_can_fail(monkeypatch):
    """Fault 3: the observation of the next seat."""

    def leak(env: SingleAgentEnv) -> Any:
        return {"observation": view(env.seat_games.state(0), (env.learning_seat + 1) % 3)}

    monkeypatch.setattr(SingleAgentEnv, "_observe", leak)
    with pytest.raises(AssertionError):
        check_blindness()


def check_masks(steps: int) -> None:
    env = SingleAgentEnv(4, EVERY_PHASE, seat="random")
    observation, info = env.reset(seed=0)
    for _ in range(steps):
        state, mask = env.seat_games.state(0), observation["action_mask"]
        assert mask.dtype == np.int8
        assert np.flatnonzero(mask).tolist() == (state.legal_actions() if env._live else [0])
        assert (mask == info["action_mask"]).all()
        assert (mask == env.action_masks()).all()
        assert env.action_masks().dtype == np.bool_
        if not env._live:
            observation, info = env.reset()
            continue
        assert state.current_player == env.learning_seat
        observation, *_, info = env.step(env.action_space.sample(mask))


def test_masks_hold_what_is_legal():
    """Fault 17: int8, never empty before the end, and whatever is sampled under them is legal."""
    check_masks(5_000)


def test_the_mask_check_can_fail(monkeypatch):
    """Fault 17."""
    monkeypatch.setattr(SingleAgentEnv, "_mask", lambda env: np.ones(NUM_ACTIONS, np.int8))
    with pytest.raises(AssertionError):
        check_masks(100)


def test_returned_arrays_belong_to_the_caller():
    """Neither `reset` nor `step` writes into it again."""
    env = SingleAgentEnv(2, history=2)
    observation, info = env.reset(seed=0)
    kept = copy.deepcopy((observation, info))
    env.step(choose(observation["action_mask"], random.Random(0)))
    np.testing.assert_equal((observation, info), kept)
    assert observation["history"].flags.writeable


# ---- Illegal actions (fault 19) ----


def test_an_illegal_action_raises_and_changes_nothing():
    """Fault 19: the message names the action and all that is legal."""
    env, same = SingleAgentEnv(3), SingleAgentEnv(3)
    env.reset(seed=0)
    same.reset(seed=0)
    mask = env.action_masks()
    action = int(mask.argmin())
    legal = " ".join(TEXTS[number] for number in np.flatnonzero(mask))
    message = f"action {action} ({TEXTS[action]}) is illegal now; legal: {legal}"
    with pytest.raises(IllegalActionError, match=re.escape(message)):
        env.step(action)
    assert learner_transcript(env, deal=False) == learner_transcript(same, deal=False)


def test_terminate_ends_the_episode_with_a_warning(caplog):
    """Fault 19: never silently."""
    env = SingleAgentEnv(3, illegal="terminate")
    env.reset(seed=0)
    with caplog.at_level(logging.WARNING):
        observation, reward, terminated, truncated, info = env.step(int(env.action_masks().argmin()))
    assert (reward, terminated, truncated) == (-1.0, True, False)
    assert "is illegal now; legal: " in caplog.text
    assert np.flatnonzero(observation["action_mask"]).tolist() == [0]
    assert np.flatnonzero(info["action_mask"]).tolist() == [0]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


def test_an_illegal_action_is_logged_once(caplog):
    """Fault 2-25. Seen to fail (20 lines) when every one was logged."""
    env = SingleAgentEnv(illegal="terminate")
    with caplog.at_level(logging.WARNING):
        for seed in range(20):
            env.reset(seed=seed)
            assert env.step(int(env.action_masks().argmin()))[1] == -1.0
    assert len(caplog.records) == 1
    assert "Later illegal actions are not logged" in caplog.text


@pytest.mark.parametrize("face", ["gymnasium", "vector", "sb3"])
def test_an_illegal_action_names_the_mask_and_who_knows_it(face):
    """Fault 2-25: the learner may never have heard of masks. Seen to fail without the hint."""
    if face == "gymnasium":
        single = SingleAgentEnv()
        single.reset(seed=0)
        with pytest.raises(IllegalActionError, match=r'legal: .*mask.*MaskablePPO.*DQN.*illegal="terminate" ends'):
            single.step(int(single.action_masks().argmin()))
        return
    if face == "sb3":
        env: Any = pytest.importorskip("uno_flex_env.envs.sb3").SB3VecEnv(3)
    else:
        env = UnoFlexVectorEnv(3)
    env.reset()
    with pytest.raises(IllegalActionError, match=r"game 0: .*legal: .*mask.*MaskablePPO.*DQN"):
        env.step(env.seat_games.action_masks.argmin(axis=1))


@pytest.mark.parametrize("action", [-1, 216, 3.0, "draw", None, np.array([3])])
@pytest.mark.parametrize("illegal", ["raise", "terminate"])
def test_an_invalid_action_is_refused(action, illegal):
    env = SingleAgentEnv(illegal=illegal)
    env.reset(seed=0)
    with pytest.raises(NotationError, match="an action must be a whole number from 0 to 215, got "):
        env.step(action)


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (lambda mask: int(mask.argmax()), ValueError, "opponent <lambda> must answer with 1 whole numbers, got int64"),
        (lambda mask: [0.5], ValueError, "opponent <lambda> must answer with 1 whole numbers, got float64"),
        (lambda mask: [1, 2], ValueError, r"got int64 of shape \(2,\)"),
        (lambda mask: [int(mask.argmin())], IllegalActionError, "opponent <lambda>: action .* legal: .*draw"),
        (lambda mask: [216], IllegalActionError, "opponent <lambda>: .* got action 216"),
        (lambda mask: [-1], IllegalActionError, "opponent <lambda>: .* got action -1"),
    ],
)
def test_the_actions_of_an_opponent_are_checked(answer, error, message):
    """The error names the opponent, its action and what is legal."""
    env = SingleAgentEnv(opponents=lambda batch: answer(batch["action_mask"][0]), seat=1)
    with pytest.raises(error, match=message):
        env.reset(seed=0)


# ---- Ends (faults 12 and 13) ----


def check_end(rules: Rules, max_decisions: int | None) -> str:
    """No flag before the end; then one. Returns how the episode ended."""
    env, rng = SingleAgentEnv(2, rules, opponents="flex_any", max_decisions=max_decisions), random.Random(0)
    observation, _ = env.reset(seed=3)
    for decisions in count(1):
        observation, reward, terminated, truncated, _ = env.step(choose(observation["action_mask"], rng))
        state = env.seat_games.state(0)
        assert terminated == state.is_over
        assert truncated == (not state.is_over and decisions == max_decisions)
        if terminated or truncated:
            assert np.flatnonzero(env.action_masks()).tolist() == [0]
            with pytest.raises(gymnasium.error.ResetNeeded):
                env.step(0)
            return "cut" if truncated else "no winner" if reward == 0 else "won"
    raise AssertionError("the episode has no end")


def test_each_end_raises_its_flag():
    """Fault 12: a win, a round without a winner, the last decision."""
    assert check_end(SHORT, None) == "won"
    assert check_end(NO_MATCHES, None) == "no winner"
    assert check_end(Rules(), 4) == "cut"


def test_the_check_of_ends_can_fail(monkeypatch):
    """Fault 12: what was cut is called terminated."""
    step = SeatGames.step

    def confuse(games: SeatGames, *args: Any) -> None:
        step(games, *args)
        games.terminated |= games.truncated

    monkeypatch.setattr(SeatGames, "step", confuse)
    with pytest.raises(AssertionError):
        check_end(Rules(), 4)


def test_a_step_outside_an_episode_gets_a_clear_message():
    """Fault 13."""
    env = SingleAgentEnv(2, SHORT)
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"call reset\(\) before step\(\)"):
        env.step(0)
    play(env, random.Random(0), seed=0)
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"call reset\(\) before step\(\)"):
        env.step(0)


# ---- Seats and opponents ----


def test_the_seat_is_fixed_or_drawn():
    """ "random" gives every seat in its turn; a number gives that seat."""
    drawn, fixed = SingleAgentEnv(5, seat="random"), SingleAgentEnv(5, seat=3)
    seats = []
    for seed in range(60):
        drawn.reset(seed=seed)
        fixed.reset(seed=seed)
        assert fixed.learning_seat == 3
        seats.append(drawn.learning_seat)
    assert set(seats) == set(range(5))


def test_each_opponent_plays_its_seat():
    """Clockwise from the learner, wherever it sits: one that never flexes, one that always does, and a policy that
    draws whenever it may."""

    env = SingleAgentEnv(4, opponents=["never_flex", draw_and_keep, "always_flex"], seat="random", history=200)
    rng, done = random.Random(0), {offset: set[int]() for offset in (-1, 0, 1, 2, 3)}
    for seed in range(10):
        observation, _ = env.reset(seed=seed)
        over = False
        while not over:
            observation, _, over, _, _ = env.step(choose(observation["action_mask"], rng))
            for offset, action, _ in observation["history"].tolist():
                done[offset].add(action)
    flexes = {offset: any(FLEX_ACTIONS[action] for action in actions) for offset, actions in done.items()}
    assert flexes[0]
    assert flexes[3]
    assert not flexes[1]
    assert {TEXTS[action] for action in done[2]} == {"draw", "keep", "accept"}


@pytest.mark.parametrize("render_mode", [None, "ansi"])
@pytest.mark.parametrize("history", [0, 4])
def test_a_policy_gets_a_batch_of_one_that_it_may_keep(history, render_mode):
    """With the history, if the environment has one."""
    batches: list[dict[str, Any]] = []

    def keep(batch: dict[str, Any]) -> Any:
        batches.append(batch)
        return first_legal(batch)

    env = SingleAgentEnv(2, opponents=keep, history=history, render_mode=render_mode)
    observation, _ = env.reset(seed=0)
    while len(batches) < 2:
        observation, *_ = env.step(choose(observation["action_mask"], random.Random(0)))
    shapes: dict[str, tuple[int, ...]] = {"observation": (1, NUM_FEATURES), "action_mask": (1, NUM_ACTIONS)}
    shapes |= {"history": (1, history, 3)} if history else {}
    assert {name: part.shape for name, part in batches[0].items()} == shapes
    assert not np.shares_memory(batches[0]["observation"], batches[1]["observation"])
