"""The batch environment plays the same games as everywhere, deals again and refuses what it can't take."""

import gc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.env.test_vector_copies import ARRAYS
from tests.support.episodes import EVERY_PHASE, NO_MATCHES, PHASES, SHORT
from uno_flex_env import Game, IllegalActionError, Rules, State, VecEnv, _core, observation, uno_flex_v0
from uno_flex_env.actions import NUM_ACTIONS, TEXTS
from uno_flex_env.envs import UnoFlexVectorEnv
from uno_flex_env.game import PHASES as PHASE_NAMES
from uno_flex_env.observation import NUM_FEATURES

# ---- The same game as everywhere ----


class Twins:
    """Each game of a batch beside the PettingZoo environment with the same episode seed and actions."""

    def __init__(self, env: VecEnv, **options: Any) -> None:
        self.env, self.options = env, options
        self.others = [uno_flex_v0.env(**options) for _ in range(env.num_envs)]
        self.phases, self.ends = set[str](), {"terminated": 0, "truncated": 0}
        for game in range(env.num_envs):
            self.deal(game)

    def deal(self, game: int) -> None:
        self.others[game].reset(seed=self.env.batch.episode_seed(game))

    def step(self) -> None:
        env, actions = self.env, self.env.sample()
        for game, other in enumerate(self.others):
            self.phases.add(PHASE_NAMES[other.core.phase])
            other.step(int(actions[game]))
        env.step()
        for game in range(env.num_envs):
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
            if env.options.max_decisions is not None:
                assert np.array_equal(env.final_obs[game].ravel(), other.state())
            self.deal(game)

    def compare_view(self, game: int) -> None:
        env, other = self.env, self.others[game]
        seen = other.observe(other.agent_selection)
        assert other.agent_selection == f"player_{env.current_player[game]}"
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
    np.logical_or(env.terminated, env.truncated, out=env.terminated)
    env.truncated[:] = False


def spoil_masks(env: VecEnv) -> None:
    """Fault 17."""
    env.action_masks[0, env.action_masks[0].argmax()] = 0


def spoil_views(env: VecEnv) -> None:
    """Fault 21: the last view of the game that has ended instead of the first of the next."""
    ended = env.terminated | env.truncated
    env.observations[ended] = env.final_obs[ended, 0]


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
    """Seat offset of the actor, action, and the cards that all hands gained in it.

    Seen to fail with events that are kept across deals."""
    env = VecEnv(4, 4, EVERY_PHASE, history=6, seed=2)
    env.reset()
    games = [Game(4, EVERY_PHASE, seed=env.batch.episode_seed(row)) for row in range(4)]
    events: list[list[tuple[int, int, int]]] = [[] for _ in games]
    for _ in range(300):
        actions = env.sample().tolist()
        env.step()
        for row, (game, action) in enumerate(zip(games, actions, strict=True)):
            before, actor = sum(map(len, game.hands)), game.current_player
            game.play(action)
            played = not TEXTS[action].isalpha() or len(TEXTS[action]) <= 2  # a card, not a verb
            events[row].append((actor or 0, action, sum(map(len, game.hands)) - before + played))
            if game.is_over:
                games[row] = Game(4, EVERY_PHASE, seed=env.batch.episode_seed(row))
                events[row] = []
            expected = [((seat - env.current_player[row]) % 4, act, drawn) for seat, act, drawn in events[row][-6:]]
            assert env.histories[row].tolist() == [[-1, -1, -1]] * (6 - len(expected)) + [list(e) for e in expected]


# ---- Auto-reset (fault 21) ----


def check_auto_reset(env: VecEnv) -> None:
    """A game that ends is paid and flagged once, and shows the first view of the next deal in the same step."""
    env.reset(seed=5)
    row, mask = np.empty(NUM_FEATURES, np.uint8), np.empty(NUM_ACTIONS, np.int8)
    just_dealt, deals = np.zeros(env.num_envs, np.bool_), 0
    for _ in range(300):
        seeds = [env.batch.episode_seed(game) for game in range(env.num_envs)]
        env.step(env.sample())
        for game in np.flatnonzero(just_dealt).tolist():
            assert not env.rewards[game].any()
            assert not env.terminated[game]
        just_dealt = env.terminated | env.truncated
        for game in np.flatnonzero(just_dealt).tolist():
            assert env.rewards[game].any()
            assert env.batch.episode_seed(game) != seeds[game]
            dealt = State.deal(
                env.options.rules.core, env.num_players, env.num_players - 1, env.batch.episode_seed(game)
            )
            dealt.encode(dealt.current_player, row)
            dealt.write_mask(mask)
            assert np.array_equal(env.observations[game], row)
            assert np.array_equal(env.action_masks[game], mask)
            assert env.current_player[game] == dealt.current_player
        deals += int(just_dealt.sum())
    assert deals > 20


class TwicePaid(VecEnv):
    """What was paid stays."""

    def step(self, actions: Any = None) -> Any:
        before = self.rewards * (self.terminated | self.truncated)[:, None]
        super().step(actions)
        np.add(self.rewards, before, out=self.rewards)
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


@pytest.mark.slow
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
        (np.zeros((3, NUM_FEATURES), np.uint8), "observations must be 2560 uint8, .*: it has 1920"),
        (np.zeros((4, NUM_FEATURES), np.int8), "observations must be 2560 uint8, .*: it has another dtype"),
        (
            np.zeros((NUM_FEATURES, 4), np.uint8).T,
            "observations must be .* C-contiguous .*: it has gaps or another order",
        ),
        (np.zeros((4, 2 * NUM_FEATURES), np.uint8)[:, ::2], "observations must be .* C-contiguous"),
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
    with pytest.raises(TypeError, match="observations must be a writable numpy array"):
        env.use_buffers(buffer)


@pytest.mark.parametrize("make", [VecEnv, UnoFlexVectorEnv])
@pytest.mark.parametrize("num_envs", [0, (1 << 20) + 1, 1.0, True])
def test_a_batch_without_bounds_is_refused(make, num_envs):
    """Before memory is taken for it. Seen to fail with a bound of 1 << 24."""
    with pytest.raises(ValueError, match=f"num_envs must be a whole number from 1 to 1048576, got {num_envs}"):
        make(num_envs)


@pytest.mark.parametrize("seed", [-1, 1 << 64, 1.5, True, "1"])
def test_a_bad_seed_is_refused_when_the_environment_is_made(seed):
    """Fault 2-19: it was refused by the first `reset`. Seen to fail with the seed kept as it is."""
    with pytest.raises(ValueError, match="a seed must be a whole number from 0 to"):
        VecEnv(2, seed=seed)


@pytest.mark.parametrize(
    "use",
    [
        lambda env: env.step(),
        lambda env: env.step(env.action_masks.argmax(axis=1)),
        lambda env: env.sample(),
        lambda env: env.state(0),
        lambda env: env.hidden_hands(),
        lambda env: env.to_bytes(),
        lambda env: env.batch.random_steps(3),
        lambda env: env.batch.touch(3),
        lambda env: env.batch.refresh(),
    ],
)
def test_what_needs_dealt_games_says_so(use):
    """Fault 2-19: `step` before `reset` named an illegal action, and `sample` drew from no actions.

    Seen to fail without `check_dealt`."""
    env = VecEnv(4, seed=1)
    with pytest.raises(RuntimeError, match=r"the games are not dealt yet: call reset\(\) first"):
        use(env)
    env.reset()
    use(env)


def test_the_first_deal_is_of_all_games():
    """Fault 2-19: games that were left out had no cards. Seen to fail without the check in `reset_games`."""
    batch = VecEnv(4).batch
    with pytest.raises(ValueError, match="the first deal is of all games, but leaves out game 2"):
        batch.reset_games(np.array([True, True, False, True]))
    batch.reset_games(np.ones(4, np.bool_))
    batch.reset_games(np.array([True, True, False, True]))


# ---- Actions ----


@pytest.mark.parametrize("num_threads", [1, 3])
def test_an_illegal_action_is_refused_and_no_game_moves(num_threads):
    """Fault 19: the message names the first such game, the action and what is legal.

    Seen to fail with a `find_illegal` in core/kernel.cpp that finds none."""
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
def test_invalid_actions_are_refused(actions, message):
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
    state, players = env.state(0), env.current_player[0]
    actions = env.sample().copy()
    actions[0] = -1
    env.step(actions)
    assert env.state(0) == state
    assert env.current_player[0] == players
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
    return data[choice * size : (choice + 1) * size] * env.num_envs + data[size * env.num_envs :]


@pytest.mark.parametrize("num_players", range(2, 9))
def test_hidden_hands_are_those_of_the_other_seats_clockwise(num_players: int) -> None:
    """Seen to fail with the seats counted from seat 0 instead of from the current player."""
    env = VecEnv(20, num_players, seed=5)
    env.reset()
    hand = observation.LAYOUT["hand"].slice

    for _ in range(40):
        env.step(env.sample())
        hidden = env.hidden_hands().reshape(20, 7, 104)
        for game, current_player in enumerate(env.current_player.tolist()):
            row = np.empty(640, np.uint8)
            for k in range(1, 8):
                row[hand] = 0
                if k < num_players:
                    env.state(game).encode((current_player + k) % num_players, row)
                assert np.array_equal(hidden[game, k - 1], row[hand])
