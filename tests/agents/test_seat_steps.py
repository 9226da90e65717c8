"""Transitions and returns of single seats, beside a replay of the same games in plain Python."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from agents.learners.seat_steps import ReturnCollector, SeatSteps, Transitions
from agents.learners.task import GameConfig
from tests.support.episodes import SHORT
from uno_flex_env import IllegalActionError, Rules, VecEnv
from uno_flex_env.seeding import derived_seed

EVERY_TABLE = GameConfig(players=(2, 3, 4, 5, 6, 7, 8), rules=SHORT, num_envs=23, reward="points")
CUT = GameConfig(players=(2, 5), rules=SHORT, num_envs=9, max_decisions=11)
CASES = {"points": EVERY_TABLE, "cut": CUT, "one game": GameConfig(rules=Rules(hand_size=1), num_envs=1)}


@dataclass
class Decision:
    """A decision in the replay."""

    observation: npt.NDArray[np.uint8]
    mask: npt.NDArray[np.int8]
    action: int
    paid: float = 0.0


def chosen(mask: npt.NDArray[np.int8], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """A random legal action of each row."""
    return np.asarray((mask * rng.random(mask.shape)).argmax(axis=1))


class Replay:
    """The games of a `SeatSteps` with the same arguments; `expected` holds what each step should return."""

    def __init__(self, game: GameConfig, seed: int) -> None:
        options: dict[str, Any] = {"rules": game.rules, "reward": game.reward, "max_decisions": game.max_decisions}
        each, more = divmod(game.num_envs, len(game.players))
        self.envs = [VecEnv(each + (i < more), n, **options) for i, n in enumerate(game.players)]
        for i, env in enumerate(self.envs):
            env.reset(derived_seed(seed, i))
        self.open: dict[tuple[int, int], Decision] = {}
        self.paid: defaultdict[tuple[int, int], float] = defaultdict(float)
        """What each seat of each game was paid in all, from its first decision of a round on."""

    def step(self, actions: npt.NDArray[np.int64]) -> dict[tuple[int, int], tuple[Decision, Any, Any, bool, bool]]:
        done: dict[tuple[int, int], tuple[Decision, Any, Any, bool, bool]] = {}
        first = 0
        for env in self.envs:
            for row in range(env.num_envs):
                game, seat = first + row, int(env.current_player[row])
                seen = env.observations[row].copy(), env.action_masks[row].copy()
                self.open[game, seat] = Decision(*seen, int(actions[game]))
            env.step(actions[first : first + env.num_envs])
            for row in range(env.num_envs):
                self._after(env, row, first + row, done)
            first += env.num_envs
        return done

    def _after(self, env: VecEnv, row: int, game: int, done: dict[Any, Any]) -> None:
        cut, over = bool(env.truncated[row]), bool(env.terminated[row] or env.truncated[row])
        for seat in range(env.num_players):
            if (game, seat) not in self.open:
                continue
            self.open[game, seat].paid += float(env.rewards[row, seat])
            self.paid[game, seat] += float(env.rewards[row, seat])
            if over:
                final = env.final_obs[row, seat].copy() if cut else np.zeros(640, np.uint8)
                done[game, seat] = self.open.pop((game, seat)), final, np.zeros(216, np.int8), not cut, cut
            elif seat == env.current_player[row]:
                after = env.observations[row].copy(), env.action_masks[row].copy()
                done[game, seat] = self.open.pop((game, seat)), *after, False, False


def check_alike(transitions: Transitions, expected: dict[Any, Any]) -> None:
    assert set(zip(transitions.game.tolist(), transitions.seat.tolist(), strict=True)) == set(expected)
    assert len(transitions) == len(expected)
    for i in range(len(transitions)):
        decision, observation, mask, terminated, truncated = expected[transitions.game[i], transitions.seat[i]]
        assert np.array_equal(transitions.observation[i], decision.observation)
        assert np.array_equal(transitions.action_mask[i], decision.mask)
        assert transitions.action[i] == decision.action
        assert transitions.reward[i] == pytest.approx(decision.paid, abs=1e-6)
        assert np.array_equal(transitions.next_observation[i], observation)
        assert np.array_equal(transitions.next_action_mask[i], mask)
        assert (transitions.terminated[i], transitions.truncated[i]) == (terminated, truncated)


@pytest.mark.parametrize("game", CASES.values(), ids=list(CASES))
def test_every_decision_is_in_one_transition_with_all_that_its_seat_was_paid(game):
    """For 2 to 8 players, with rounds that end, that are cut off, and that begin again at any step.

    Seen to fail when a seat gets only the rewards of its own turns, when the end of a round completes only the
    decision of the last player, when a new round's decision follows an old one, and with the masks of the next round
    where a round has ended."""
    steps, replay, rng = SeatSteps(game, 5), Replay(game, 5), np.random.default_rng(1)
    credited: defaultdict[tuple[int, int], float] = defaultdict(float)
    ended = 0
    for _ in range(250):
        actions = chosen(steps.action_mask, rng)
        transitions = steps.step(actions)
        check_alike(transitions, replay.step(actions))
        ended += int(steps.ended.sum())
        for key, reward in zip(zip(transitions.game, transitions.seat, strict=True), transitions.reward, strict=True):
            credited[key] += float(reward)
    for key, decision in replay.open.items():
        credited[key] += decision.paid
    assert ended > 10
    assert credited.keys() == replay.paid.keys()
    assert all(credited[key] == pytest.approx(paid, abs=1e-4) for key, paid in replay.paid.items())


@pytest.mark.parametrize("game", CASES.values(), ids=list(CASES))
def test_a_return_is_the_sum_of_later_rewards_in_the_round(game):
    """Each decision of a round gets its return once, when the round ends; a cut marks the whole round of the seat.

    Seen to fail with sums that run on into the next trajectory, and when only the last decision is marked as cut."""
    steps, collector, rng = SeatSteps(game, 3), ReturnCollector(), np.random.default_rng(2)
    rounds: defaultdict[tuple[int, int], list[tuple[int, float]]] = defaultdict(list)
    finished = 0
    for _ in range(250):
        transitions = steps.step(chosen(steps.action_mask, rng))
        returns = collector.add(transitions)
        expected: list[tuple[int, int, float, bool]] = []
        for i in range(len(transitions)):
            key = int(transitions.game[i]), int(transitions.seat[i])
            rounds[key].append((int(transitions.action[i]), float(transitions.reward[i])))
            if transitions.done[i]:
                rewards = [reward for _, reward in rounds[key]]
                expected += [
                    (key[0] * 8 + key[1], action, sum(rewards[k:]), bool(transitions.truncated[i]))
                    for k, (action, _) in enumerate(rounds.pop(key))
                ]
        got = zip(returns.trajectory, returns.action, returns.return_to_go, returns.truncated, strict=True)
        assert list(got) == [
            (number, action, pytest.approx(value, abs=1e-5), cut)
            for number, action, value, cut in sorted(expected, key=lambda row: row[0])
        ]
        finished += len(expected)
    assert finished > 50


def test_restored_games_continue_bit_for_bit():
    """Seen to fail without the open decisions, and when what was there before stays."""
    rng = np.random.default_rng(4)
    steps, collector = SeatSteps(EVERY_TABLE, 1), ReturnCollector()
    for _ in range(40):
        collector.add(steps.step(chosen(steps.action_mask, rng)))

    again, collector_again = SeatSteps(EVERY_TABLE, 2), ReturnCollector()
    collector_again.add(again.step(chosen(again.action_mask, rng)))
    again.load_state_dict(steps.state_dict())
    collector_again.load_state_dict(collector.state_dict())

    for _ in range(60):
        assert np.array_equal(steps.action_mask, again.action_mask)
        actions = chosen(steps.action_mask, rng)
        one, other = steps.step(actions), again.step(actions)
        assert all(np.array_equal(getattr(one, name), getattr(other, name)) for name in vars(one))
        returns, others = collector.add(one), collector_again.add(other)
        assert all(np.array_equal(getattr(returns, name), getattr(others, name)) for name in vars(returns))


def test_illegal_actions_are_refused():
    """Seen to fail when actions are not given to the games as they are."""
    steps = SeatSteps(CUT, 1)
    with pytest.raises(IllegalActionError, match="game 0"):
        steps.step(steps.action_mask.argmin(axis=1))
