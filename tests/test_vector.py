"""The batch environment: the same games as everywhere, whatever the batch, the threads and the instruction set."""

import gc
import hashlib
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.faces import EVERY_PHASE, NO_MATCHES, PHASES, SHORT
from uno_flex_env import Game, IllegalActionError, Rules, State, VecEnv, _core, uno_flex_v0
from uno_flex_env.actions import NUM_ACTIONS, TEXTS
from uno_flex_env.game import PHASES as PHASE_NAMES
from uno_flex_env.observation import NUM_FEATURES

ARRAYS = (
    "observations",
    "action_masks",
    "players",
    "rewards",
    "terminated",
    "truncated",
    "histories",
    "final_observations",
)

OTHER_OPTIONS: dict[str, Any] = {
    "num_players": 3,
    "rules": Rules(hand_size=3, stacking=True, target_score=60),
    "match": True,
    "reward": "points",
    "history": 3,
    "max_decisions": 25,
}
"""Every option that changes what is played, at another value than its default."""


def digests(env: VecEnv, games: int, steps: int = 300) -> list[str]:
    """One digest of all that the first games show in random play, for each game."""
    hashes = [hashlib.sha256() for _ in range(games)]
    for _ in range(steps):
        env.step(env.sample())
        for game, digest in enumerate(hashes):
            for name in ARRAYS:
                # What is final is stale in other games than those that end.
                if name != "final_observations" or env.terminated[game] or env.truncated[game]:
                    digest.update(getattr(env, name)[game].tobytes())
    return [digest.hexdigest() for digest in hashes]


# ---- Neither the batch nor the threads nor the processor matter ----


def check_independence(make: Callable[..., VecEnv]) -> None:
    """Games 0 to 4 are the same in batches of any size, shared by any number of threads."""
    expected = None
    for num_games, num_threads in [(5, 1), (5, 2), (9, 3), (64, 2), (5, 8)]:
        env = make(num_games, num_threads=num_threads, **OTHER_OPTIONS)
        env.reset(seed=3)
        shown = digests(env, 5)
        expected = expected or shown
        assert shown == expected
    assert len(set(expected or ())) == 5


def test_neither_batch_size_nor_threads_matter():
    """Fault 6. In matches with truncation, so that everything that a game can come to is in it."""
    check_independence(VecEnv)


def test_the_check_of_independence_can_fail():
    """Games that are seeded by their place from the end."""

    class Backwards(VecEnv):
        def reset(self, seed: int | None = None) -> Any:
            return super().reset((seed or 0) + self.num_games)

    with pytest.raises(AssertionError):
        check_independence(Backwards)


LEVELS = """
import sys
from tests.test_vector import OTHER_OPTIONS, VecEnv, digests
env = VecEnv(7, **OTHER_OPTIONS)
env.reset(seed=11)
print(env.level, *digests(env, 7))
"""


def run_at(level: str) -> subprocess.CompletedProcess[str]:
    """A fresh process at an instruction-set level."""
    environ = os.environ | {"UNO_FLEX_LEVEL": level, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-c", LEVELS], env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("level", _core.levels())
def test_each_instruction_set_plays_the_same(level):
    """Every level that this processor runs shows what the present one shows."""
    env = VecEnv(7, **OTHER_OPTIONS)
    env.reset(seed=11)
    here = run_at(level)
    assert here.stdout.split() == [level, *digests(env, 7)], here.stderr


def test_a_level_that_this_processor_does_not_run_is_refused():
    """The message names those that it runs."""
    result = run_at("mmx")
    assert result.returncode == 1
    assert f"UNO_FLEX_LEVEL is 'mmx'; this processor runs {', '.join(_core.levels())}" in result.stderr


# ---- The same game as everywhere ----


class Twins:
    """Each game of a batch beside the PettingZoo environment with the same episode seed and actions."""

    def __init__(self, env: VecEnv, **options: Any) -> None:
        self.env, self.options = env, options
        self.others = [uno_flex_v0.env(**options) for _ in range(env.num_games)]
        self.phases, self.ends = set[str](), {"terminated": 0, "truncated": 0}
        for game in range(env.num_games):
            self.deal(game)

    def deal(self, game: int) -> None:
        self.others[game].reset(seed=self.env.games.episode_seed(game))

    def step(self) -> None:
        env, actions = self.env, self.env.sample()
        for game, other in enumerate(self.others):
            self.phases.add(PHASE_NAMES[other.core.phase])
            other.step(int(actions[game]))
        env.step()
        for game in range(env.num_games):
            self.compare_results(game)
            self.compare_view(game)

    def compare_results(self, game: int) -> None:
        """What the step was worth; then the next deal, if the game is over."""
        env, other = self.env, self.others[game]
        assert env.rewards[game].tolist() == list(other.rewards.values())
        flags = env.terminated[game], env.truncated[game]
        assert flags == (all(other.terminations.values()), all(other.truncations.values()))
        if any(flags):
            self.ends["terminated" if flags[0] else "truncated"] += 1
            if env.max_decisions is not None:
                assert np.array_equal(env.final_observations[game].ravel(), other.state())
            self.deal(game)

    def compare_view(self, game: int) -> None:
        env, other = self.env, self.others[game]
        seen = other.last()[0]
        assert other.agent_selection == f"player_{env.players[game]}"
        assert np.array_equal(env.observations[game], seen["observation"])
        assert np.array_equal(env.action_masks[game], seen["action_mask"])
        assert np.array_equal(env.histories[game], seen.get("history", np.zeros((0, 3))))
        assert env.state(game) == other.core


def check_same_games(num_players: int, steps: int = 150, **options: Any) -> Twins:
    env = VecEnv(3, num_players, seed=num_players, **options)
    env.reset()
    twins = Twins(env, num_players=num_players, **options)
    for game in range(3):
        twins.compare_view(game)
    for _ in range(steps):
        twins.step()
    return twins


@pytest.mark.parametrize("reward", ["win", "points"])
def test_the_batch_plays_the_rounds_of_the_aec_environment(num_players, reward):
    """Views, masks, deciders, histories, rewards and ends, in every phase; so faults 1, 12 and 17 are those of AEC."""
    rules = replace(EVERY_PHASE, hand_size=1)
    twins = check_same_games(num_players, 500, rules=rules, reward=reward, history=5)
    assert twins.phases == PHASES
    assert twins.ends["terminated"] > 0


@pytest.mark.parametrize("reward", ["win", "points"])
def test_the_batch_plays_the_matches_of_the_aec_environment(num_players, reward):
    """With truncation: what every seat saw last is what it sees there."""
    rules = Rules(hand_size=1, target_score=40)
    twins = check_same_games(num_players, 600, rules=rules, reward=reward, match=True, history=2, max_decisions=70)
    assert all(twins.ends.values())


def spoil_rewards(env: VecEnv) -> None:
    """Fault 1: losers lose nothing."""
    np.maximum(env.rewards, 0, out=env.rewards)


def spoil_flags(env: VecEnv) -> None:
    """Fault 2: truncation that is called termination."""
    env.terminated |= env.truncated
    env.truncated[:] = False


def spoil_masks(env: VecEnv) -> None:
    """Fault 17."""
    env.action_masks[0, env.action_masks[0].argmax()] = 0


def spoil_views(env: VecEnv) -> None:
    """Fault 21: the last view of the game that has ended instead of the first of the next."""
    ended = env.terminated | env.truncated
    env.observations[ended] = env.final_observations[ended, 0]


@pytest.mark.parametrize("spoil", [spoil_rewards, spoil_flags, spoil_masks, spoil_views])
def test_the_comparison_with_aec_can_fail(monkeypatch, spoil):
    """Each is a break of one array."""
    step = VecEnv.step

    def spoiled(env: VecEnv, actions: Any = None) -> Any:
        step(env, actions)
        spoil(env)
        return env.observations

    monkeypatch.setattr(VecEnv, "step", spoiled)
    with pytest.raises(AssertionError):
        check_same_games(3, 300, rules=SHORT, max_decisions=12)


def test_histories_are_what_the_actions_imply():
    """Seat offset of the actor, action, and the cards that all hands gained in it."""
    env = VecEnv(4, 4, EVERY_PHASE, history=6, seed=2)
    env.reset()
    games = [Game(4, EVERY_PHASE, seed=env.games.episode_seed(row)) for row in range(4)]
    events: list[list[tuple[int, int, int]]] = [[] for _ in games]
    for _ in range(300):
        actions = env.sample().tolist()
        env.step()
        for row, (game, action) in enumerate(zip(games, actions, strict=True)):
            before, actor = sum(map(len, game.hands)), game.to_move
            game.play(action)
            played = not TEXTS[action].isalpha() or len(TEXTS[action]) <= 2  # a card, not a verb
            events[row].append((actor or 0, action, sum(map(len, game.hands)) - before + played))
            if game.is_over:
                games[row] = Game(4, EVERY_PHASE, seed=env.games.episode_seed(row))
                events[row] = []
            expected = [((seat - env.players[row]) % 4, act, drawn) for seat, act, drawn in events[row][-6:]]
            assert env.histories[row].tolist() == [[-1, -1, -1]] * (6 - len(expected)) + [list(e) for e in expected]


# ---- Auto-reset (fault 21) ----


def check_auto_reset(env: VecEnv) -> None:
    """A game that ends is paid and flagged once, and shows the first view of the next deal in the same step."""
    env.reset(seed=5)
    row, mask = np.empty(NUM_FEATURES, np.uint8), np.empty(NUM_ACTIONS, np.int8)
    just_dealt, deals = np.zeros(env.num_games, np.bool_), 0
    for _ in range(300):
        seeds = [env.games.episode_seed(game) for game in range(env.num_games)]
        env.step(env.sample())
        for game in np.flatnonzero(just_dealt):
            assert not env.rewards[game].any()
            assert not env.terminated[game]
        just_dealt = env.terminated | env.truncated
        for game in np.flatnonzero(just_dealt):
            assert env.rewards[game].any()
            assert env.games.episode_seed(game) != seeds[game]
            dealt = State.deal(env.rules.core, env.num_players, env.num_players - 1, env.games.episode_seed(game))
            dealt.encode(dealt.mover, row)
            dealt.write_mask(mask)
            assert np.array_equal(env.observations[game], row)
            assert np.array_equal(env.action_masks[game], mask)
            assert env.players[game] == dealt.mover
        deals += int(just_dealt.sum())
    assert deals > 20


class TwicePaid(VecEnv):
    """What was paid stays."""

    def step(self, actions: Any = None) -> Any:
        before = self.rewards * (self.terminated | self.truncated)[:, None]
        super().step(actions)
        self.rewards += before
        return self.observations


class LateDeal(VecEnv):
    """The first view of the next deal is that of the old game."""

    def step(self, actions: Any = None) -> Any:
        before = self.observations.copy()
        super().step(actions)
        self.observations[self.terminated] = before[self.terminated]
        return self.observations


class LateFlag(VecEnv):
    """A step too late."""

    late = np.zeros(20, np.bool_)

    def step(self, actions: Any = None) -> Any:
        super().step(actions)
        self.late, self.terminated[:] = self.terminated.copy(), self.late
        return self.observations


def test_a_finished_game_deals_again_in_the_same_step():
    """Fault 21."""
    check_auto_reset(VecEnv(20, 2, SHORT))


@pytest.mark.parametrize("broken", [TwicePaid, LateDeal, LateFlag])
def test_the_check_of_auto_reset_can_fail(broken):
    """Fault 21, in three ways."""
    with pytest.raises(AssertionError):
        check_auto_reset(broken(20, 2, SHORT))


def test_a_round_without_a_winner_terminates_and_pays_nothing():
    """Fault 12; rules 3."""
    env = VecEnv(2, 2, NO_MATCHES, seed=0)
    env.reset()
    while not env.terminated.any():
        env.step(env.sample())
        assert not env.truncated.any()
    assert not env.rewards.any()


# ---- Buffers ----


def test_the_caller_may_own_the_buffers():
    """The next step writes there, and the environment keeps them alive."""
    env, other = VecEnv(4, 3, seed=1), VecEnv(4, 3, seed=1)
    env.reset(), other.reset()
    rollout = np.zeros((3, 4, NUM_FEATURES), np.uint8), np.zeros((3, 4, NUM_ACTIONS), np.int8)
    for observations, masks in zip(*rollout, strict=True):
        env.use_buffers(observations, masks)
        env.step(env.sample())
        other.step(other.sample())
        assert np.array_equal(observations, other.observations)
        assert np.array_equal(masks, other.action_masks)
    assert env.observations.base is rollout[0]
    assert rollout[0][0].any()
    env.use_buffers(np.zeros((4, NUM_FEATURES), np.uint8))
    gc.collect()
    assert np.array_equal(env.step(env.sample()), other.step(other.sample()))


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        (np.zeros((3, NUM_FEATURES), np.uint8), "observations has the wrong dtype or size"),
        (np.zeros((4, NUM_FEATURES), np.int8), "observations has the wrong dtype or size"),
        (np.zeros((NUM_FEATURES, 4), np.uint8).T, "observations must be C-contiguous"),
        (np.zeros((4, 2 * NUM_FEATURES), np.uint8)[:, ::2], "observations must be C-contiguous"),
    ],
)
def test_a_buffer_that_does_not_fit_is_refused(buffer, message):
    """The old ones stay in use."""
    env = VecEnv(4, seed=1)
    env.reset()
    old = env.observations
    with pytest.raises(ValueError, match=message):
        env.use_buffers(buffer)
    assert env.observations is old
    before = old.copy()
    env.step(env.sample())
    assert not np.array_equal(old, before)


def test_a_read_only_buffer_is_refused():
    """Nothing could be written there."""
    env = VecEnv(4, seed=1)
    buffer = np.zeros((4, NUM_FEATURES), np.uint8)
    buffer.setflags(write=False)
    with pytest.raises((TypeError, ValueError)):
        env.use_buffers(buffer)


# ---- Actions ----


@pytest.mark.parametrize("num_threads", [1, 3])
def test_an_illegal_action_is_refused_and_no_game_moves(num_threads):
    """Fault 19: the message names the first such game, the action and what is legal.

    Seen red with a `find_illegal` in core/kernel.cpp that finds none, and with one that is called after the step."""
    env = VecEnv(8, 2, num_threads=num_threads, seed=4)
    env.reset()
    actions = env.sample().copy()
    actions[3] = actions[6] = env.action_masks[3].argmin()
    assert not env.action_masks[6, actions[6]]
    before = env.to_bytes(), [getattr(env, name).tobytes() for name in ARRAYS]
    legal = " ".join(TEXTS[action] for action in np.flatnonzero(env.action_masks[3]))
    message = rf"^game 3: action {actions[3]} \({TEXTS[actions[3]]}\) is illegal now; legal: {legal}$"
    with pytest.raises(IllegalActionError, match=message.replace("+", r"\+")):
        env.step(actions)
    assert (env.to_bytes(), [getattr(env, name).tobytes() for name in ARRAYS]) == before


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 1], "actions must be 4 whole numbers, got int64 of shape"),
        (np.zeros(4), "actions must be 4 whole numbers, got float64"),
        (np.zeros((4, 1), int), "actions must be 4 whole numbers"),
        (np.zeros(4, np.bool_), "actions must be 4 whole numbers, got bool"),
        ([-1, -1, 216, -1], "game 2: an action must be from 0 to 215, got 216"),
        ([-1, -2, -1, -1], "game 1: an action must be from 0 to 215, got -2"),
    ],
)
def test_what_are_no_actions_is_refused(actions, message):
    """Before anything has moved."""
    env = VecEnv(4, seed=1)
    env.reset()
    before = env.to_bytes()
    with pytest.raises(ValueError, match=message):
        env.step(actions)
    assert env.to_bytes() == before


def test_minus_one_leaves_a_game_alone():
    """It is not paid again either."""
    env = VecEnv(2, 2, SHORT, seed=1)
    env.reset()
    while not env.terminated[0]:
        env.step(env.sample())
    state, players = env.state(0), env.players[0]
    actions = env.sample().copy()
    actions[0] = -1
    env.step(actions)
    assert env.state(0) == state
    assert env.players[0] == players
    assert not env.rewards[0].any()
    assert not env.terminated[0]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.uint8, np.int32, np.int64, np.uint64])
def test_actions_may_be_whole_numbers_of_any_type(dtype):
    """As networks and other libraries give them."""
    env, other = VecEnv(3, seed=1), VecEnv(3, seed=1)
    env.reset(), other.reset()
    actions = np.array([mask[:128].argmax() for mask in env.action_masks])
    legal = env.action_masks[np.arange(3), actions] == 1
    actions[~legal] = env.action_masks[~legal].argmax(axis=1)
    if actions.max() <= np.iinfo(dtype).max:
        assert np.array_equal(env.step(actions.astype(dtype)), other.step(actions.tolist()))


def test_masks_are_int8_and_never_empty():
    """Fault 17: also of what `sample` draws, in 100,000 states of every phase."""
    env = VecEnv(500, 4, EVERY_PHASE, seed=6)
    env.reset()
    assert env.action_masks.dtype == np.int8
    for _ in range(200):
        actions = env.sample()
        assert set(np.unique(env.action_masks)) == {0, 1}
        assert env.action_masks[np.arange(500), actions].all()
        env.step()


def test_sample_is_uniform_over_the_legal_actions():
    """Fault 18: chi-square of 20,000 draws in one state."""
    env = VecEnv(20_000, 2)
    env.reset(seed=3)
    env.from_bytes(same_table(env))
    legal = np.flatnonzero(env.action_masks[0])
    assert len(legal) > 5
    counts = np.bincount(env.sample(), minlength=NUM_ACTIONS)[legal]
    assert counts.sum() == 20_000
    expected = 20_000 / len(legal)
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    assert chi_square < len(legal) - 1 + 4 * np.sqrt(2 * (len(legal) - 1))


def same_table(env: VecEnv) -> bytes:
    """The bytes of a batch in which all games are at the first one's table."""
    size, data = _core.STATE_SIZE, env.to_bytes()
    choice = max(range(100), key=lambda game: int(env.action_masks[game].sum()))
    return data[choice * size : (choice + 1) * size] * env.num_games + data[size * env.num_games :]


# ---- Seeds, options and bytes ----


def test_a_seed_decides_the_games_whatever_else_is_random():
    """Fault 6, and a seed of the constructor is that of the first `reset` alone."""
    shown = []
    for _ in range(2):
        env = VecEnv(4, **OTHER_OPTIONS, seed=9)
        env.reset()
        random.random(), np.random.random()  # noqa: NPY002  (the global generator must not matter)
        shown.append(digests(env, 4))
    assert shown[0] == shown[1]
    env.reset(seed=9)
    assert digests(env, 4) == shown[0]
    env.reset()
    assert digests(env, 4) != shown[0]
    env.reset(seed=10)
    assert digests(env, 4) != shown[0]


def shown_with(reset: Callable[[VecEnv], object] = lambda env: None, **options: Any) -> Any:
    """What a batch with these options shows after something has happened to it."""
    env = VecEnv(3, **options)
    env.reset(seed=4)
    reset(env)
    env.reset(seed=4)
    return [getattr(env, name).shape for name in ARRAYS], digests(env, 3)


def test_options_survive_reset():
    """Fault 7."""
    expected = shown_with(**OTHER_OPTIONS)
    assert shown_with(lambda env: env.reset(), **OTHER_OPTIONS) == expected
    assert shown_with(lambda env: env.reset(seed=1), **OTHER_OPTIONS) == expected


@pytest.mark.parametrize("option", OTHER_OPTIONS)
def test_the_check_of_options_sees_every_option(option):
    """Fault 7: one that is lost is noticed."""
    assert shown_with(**OTHER_OPTIONS) != shown_with(**{k: v for k, v in OTHER_OPTIONS.items() if k != option})


def test_bytes_resume_the_batch_exactly():
    """Fault 8: in the midst of matches, events and truncation included, in another batch with the same options."""
    env, other = (VecEnv(5, **OTHER_OPTIONS) for _ in range(2))
    env.reset(seed=8), other.reset(seed=1)
    digests(env, 5)
    data = env.to_bytes()
    there = digests(env, 5)
    other.from_bytes(data)
    assert digests(other, 5) == there
    env.from_bytes(data)
    assert digests(env, 5) == there
    assert data != env.to_bytes()


def test_bytes_bring_back_what_is_seen():
    """Before any step."""
    env, other = (VecEnv(5, **OTHER_OPTIONS) for _ in range(2))
    env.reset(seed=8), other.reset(seed=1)
    env.step(env.sample())
    other.from_bytes(env.to_bytes())
    for name in ("observations", "action_masks", "players", "histories"):
        assert np.array_equal(getattr(env, name), getattr(other, name)), name


def test_the_bytes_of_another_batch_are_refused():
    """And the batch is as before."""
    env, other = VecEnv(5, 2, seed=1), VecEnv(5, 3, seed=1)
    env.reset(), other.reset()
    before = env.to_bytes()
    for data in (other.to_bytes(), before[:-1], before + b"\0", b"", b"\1" * len(before)):
        with pytest.raises(ValueError, match=r"these bytes are of another batch|is no valid state"):
            env.from_bytes(data)
    assert env.to_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_games": 0}, "num_games must be a whole number from 1"),
        ({"num_games": 2.0}, "num_games must be a whole number"),
        ({"num_players": 1}, "num_players must be from 2 to 8, got 1"),
        ({"num_players": 9}, "num_players must be from 2 to 8, got 9"),
        ({"num_players": 8, "rules": Rules(hand_size=20)}, "hand_size"),
        ({"rules": {"stackin": True}}, "stackin"),
        ({"rules": "official"}, "rules must be a Rules"),
        ({"match": 1}, "match must be True or False"),
        ({"reward": "money"}, "reward must be one of 'win', 'points', got 'money'"),
        ({"history": -1}, "history must be a whole number from 0 to 1024"),
        ({"max_decisions": 0}, "max_decisions must be a whole number from 1"),
        ({"num_threads": 0}, "num_threads must be a whole number from 1"),
        ({"seed": -1}, "a seed must be a whole number from 0"),
        ({"seed": 0.5}, "a seed must be a whole number from 0"),
    ],
)
def test_bad_options_are_refused_by_name(options, message):
    """Fault 4."""
    with pytest.raises(ValueError, match=message):
        VecEnv(**({"num_games": 2} | options)).reset()


def test_an_unknown_option_is_an_error():
    """Fault 4."""
    with pytest.raises(TypeError, match="players"):
        VecEnv(2, players=3)  # type: ignore[call-arg]
