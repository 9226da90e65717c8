"""Gymnasium's vector environment: each row is the single environment, in every auto-reset mode."""

import copy
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from tests.env.test_gym_vector_options import OTHER_OPTIONS, choices
from tests.support.episodes import EVERY_PHASE, NO_MATCHES, SHORT, first_legal, payoffs
from uno_flex_env import IllegalActionError, Rules
from uno_flex_env.actions import TEXTS
from uno_flex_env.envs.gym_vector import UnoFlexVectorEnv
from uno_flex_env.envs.seat_games import MASK_HINT, SeatGames
from uno_flex_env.game import snapshot

MODES = list(AutoresetMode)


def same(a: Any, b: Any) -> bool:
    """The same structure, types and values."""
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.dtype == object:
            return a.shape == b.shape and all(map(same, a, b))
        return a.dtype == b.dtype and np.array_equal(a, b)
    return a is None and b is None


# ---- Each row is the single environment, in every mode (fault 21) ----


def check_same_as_sync(env: UnoFlexVectorEnv, steps: int, **options: Any) -> int:
    """All that Gymnasium's own vectorization of the single environment shows, step by step; how many games end."""
    mode, seeds = env.autoreset_mode, [7, 1, 2**40, 30, 5]
    other = gymnasium.make_vec(
        "UnoFlex-v0", len(seeds), "sync", vector_kwargs={"autoreset_mode": mode}, disable_env_checker=True, **options
    )
    assert same(env.reset(seed=seeds), other.reset(seed=seeds))  # type: ignore[arg-type]  # Gymnasium's own allows it
    rng, masks, ends = np.random.default_rng(0), env.seat_games.action_masks, 0
    for _ in range(steps):
        results = env.step(actions := choices(masks, rng))
        assert same(results, other.step(actions))
        over = results[2] | results[3]
        ends += int(over.sum())
        if mode is AutoresetMode.DISABLED and over.any():
            observations, _ = env.reset(options={"reset_mask": over})
            assert same(observations, other.reset(options={"reset_mask": over})[0])
    assert ends > 20
    return ends


@pytest.mark.parametrize("mode", MODES)
def test_rows_are_single_environments(mode, num_players):
    """Observations, rewards, flags and infos, against a rule bot."""
    options: dict[str, Any] = {"num_players": num_players, "rules": SHORT, "opponents": "flex_any"}
    check_same_as_sync(UnoFlexVectorEnv(5, **options, autoreset_mode=mode), 150, **options)


@pytest.mark.parametrize("mode", MODES)
def test_rows_are_single_environments_with_every_option(mode):
    """Matches, points, histories, truncation, a seat drawn for each episode, a bot and a policy."""
    check_same_as_sync(UnoFlexVectorEnv(5, **OTHER_OPTIONS, autoreset_mode=mode), 120, **OTHER_OPTIONS)


@pytest.mark.parametrize("mode", MODES)
def test_deals_that_end_before_the_learner_decides_are_dealt_again(mode):
    """With hands of one card a policy often wins first."""
    options: dict[str, Any] = {"rules": Rules(hand_size=1), "opponents": first_legal, "seat": 1}
    check_same_as_sync(UnoFlexVectorEnv(5, **options, autoreset_mode=mode), 90, **options)


class LateView(UnoFlexVectorEnv):
    """What is seen after a deal is the old game."""

    def step(self, actions: Any) -> Any:
        before = self.seat_games.observations.copy()
        observations, *rest = super().step(actions)
        over = self.seat_games.terminated
        observations["observation"][over] = before[over]
        return observations, *rest


class TwicePaid(UnoFlexVectorEnv):
    """The last reward comes once more with the next step."""

    before: Any = 0.0

    def step(self, actions: Any) -> Any:
        observations, rewards, terminated, *rest = super().step(actions)
        paid, self.before = rewards + self.before, rewards * terminated
        return observations, paid, terminated, *rest


class LateMask(UnoFlexVectorEnv):
    """The infos of the step before."""

    before: Any = None

    def step(self, actions: Any) -> Any:
        *results, infos = super().step(actions)
        late, self.before = self.before or infos, infos
        return *results, late


class NeverFinal(UnoFlexVectorEnv):
    """No last observation."""

    def _finals(self, ended: Any) -> Any:
        return {}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("broken", [LateView, TwicePaid, LateMask])
def test_the_comparison_can_fail(broken, mode):
    """Fault 21, in three ways and every mode."""
    options: dict[str, Any] = {"rules": SHORT, "opponents": "flex_any"}
    with pytest.raises(AssertionError):
        check_same_as_sync(broken(5, **options, autoreset_mode=mode), 150, **options)


def test_the_comparison_sees_final_observations():
    """Fault 21."""
    options: dict[str, Any] = {"rules": SHORT, "opponents": "flex_any"}
    with pytest.raises(AssertionError):
        check_same_as_sync(NeverFinal(5, **options, autoreset_mode="SameStep"), 150, **options)


# ---- Rewards (fault 1) ----


def check_rewards(num_players: int, opponents: Any) -> None:
    """The rewards of an episode sum to what the rules pay the learner's seat."""
    env = UnoFlexVectorEnv(
        16, num_players, SHORT, opponents=opponents, seat="random", reward="points", autoreset_mode="Disabled"
    )
    _, infos = env.reset(seed=num_players)
    rng, totals, ended = np.random.default_rng(0), np.zeros(16), 0
    while ended < 40:
        _, rewards, terminated, _, infos = env.step(choices(infos["action_mask"], rng))
        totals += rewards
        for game in np.flatnonzero(terminated).tolist():
            seat = int(env.seat_games.learning_seats[game])
            assert totals[game] == np.float32(payoffs(snapshot(env.seat_games.state(game)), "points")[seat])
            totals[game], ended = 0.0, ended + 1
        if terminated.any():
            _, infos = env.reset(options={"reset_mask": terminated})


@pytest.mark.parametrize("opponents", ["flex_any", first_legal], ids=["bots", "policies"])
def test_the_learner_is_handed_the_payoff_of_its_seat(num_players, opponents):
    """Fault 1: also when it loses on another's turn."""
    check_rewards(num_players, opponents)


@pytest.mark.parametrize("opponents", ["flex_any", first_legal], ids=["bots", "policies"])
def test_the_reward_check_can_fail(monkeypatch, opponents):
    """Fault 1: only what the learner's own card has brought is paid."""
    share = SeatGames._paid_to_learning_seats
    monkeypatch.setattr(SeatGames, "_paid_to_learning_seats", lambda games: np.maximum(share(games), 0))
    with pytest.raises(AssertionError):
        check_rewards(3, opponents)


# ---- Ends (faults 2 and 12) ----


def check_truncation(env: UnoFlexVectorEnv, max_decisions: int) -> None:
    """A truncated game shows the decision that its learner would have taken next, so that its value can be
    bootstrapped, and has paid all that came before; one that is won meanwhile is terminated."""
    other = UnoFlexVectorEnv(30, 3, SHORT, opponents=["flex_any", first_legal], seat=2, autoreset_mode="SameStep")
    _, infos = env.reset(seed=2)
    other.reset(seed=2)
    unbroken = np.ones(30, np.bool_)
    for _ in range(max_decisions):
        actions = infos["action_mask"].argmax(axis=1)
        _, rewards, terminated, truncated, infos = env.step(actions)
        observations, other_rewards, other_terminated, *_ = other.step(actions)
        assert np.array_equal(rewards, other_rewards)
        assert np.array_equal(terminated, other_terminated)
        unbroken &= ~terminated
    assert truncated.any()
    assert np.array_equal(truncated, unbroken)
    for game in np.flatnonzero(truncated):
        assert np.array_equal(infos["final_obs"][game]["observation"], observations["observation"][game])
        assert np.flatnonzero(infos["final_obs"][game]["action_mask"]).tolist() == [0]


def short_games(max_decisions: int, kind: type[UnoFlexVectorEnv] = UnoFlexVectorEnv) -> UnoFlexVectorEnv:
    opponents: Any = ["flex_any", first_legal]
    return kind(30, 3, SHORT, opponents=opponents, seat=2, autoreset_mode="SameStep", max_decisions=max_decisions)


@pytest.mark.parametrize("max_decisions", [1, 2])
def test_a_truncated_game_shows_the_decision_that_is_cut_off(max_decisions):
    """Faults 2 and 12."""
    check_truncation(short_games(max_decisions), max_decisions)


class NextDeal(UnoFlexVectorEnv):
    """What is final is the next deal."""

    def step(self, actions: Any) -> Any:
        observations, *results, infos = super().step(actions)
        for game in np.flatnonzero(infos.get("_final_obs", False)):
            infos["final_obs"][game] = {name: part[game] for name, part in observations.items()}
        return observations, *results, infos


class CutIsEnd(UnoFlexVectorEnv):
    """Truncation that is called termination."""

    def step(self, actions: Any) -> Any:
        observations, rewards, terminated, truncated, infos = super().step(actions)
        return observations, rewards, terminated | truncated, truncated & False, infos


@pytest.mark.parametrize("broken", [NextDeal, CutIsEnd])
def test_the_check_of_truncation_can_fail(broken):
    """Faults 2 and 12. Also seen to fail with a core that truncates right after the learner's last action."""
    with pytest.raises(AssertionError):
        check_truncation(short_games(2, broken), 2)


def test_a_round_without_a_winner_terminates_and_pays_nothing():
    """Fault 12; rules 3."""
    env = UnoFlexVectorEnv(2, 2, NO_MATCHES)
    _, infos = env.reset(seed=0)
    terminated = np.zeros(2, np.bool_)
    while not terminated.any():
        _, rewards, terminated, truncated, infos = env.step(infos["action_mask"].argmax(axis=1))
        assert not rewards.any()
        assert not truncated.any()


def test_gymnasiums_statistics_are_right():
    """Gymnasium's usual wrapper sums an episode's rewards to the payoff of the win."""
    env = RecordEpisodeStatistics(UnoFlexVectorEnv(8, 3, SHORT, opponents="random"))
    _, infos = env.reset(seed=0)
    rng, returns = np.random.default_rng(0), set[float]()
    for _ in range(200):
        *_, infos = env.step(choices(infos["action_mask"], rng))
        if "episode" in infos:
            returns |= set(infos["episode"]["r"][infos["_episode"]].tolist())
    assert returns == {1.0, -0.5}


# ---- Resets ----


def test_a_reset_mask_deals_the_games_that_it_names():
    """Fault 21: the others stay as they are, in any mode."""
    for mode in MODES:
        env = UnoFlexVectorEnv(4, opponents="flex_any", autoreset_mode=mode)
        env.reset(seed=1)
        before = [env.seat_games.state(game) for game in range(4)]
        mask = np.array([False, True, False, True])
        options = {"reset_mask": mask}
        env.reset(options=options)
        assert [env.seat_games.state(game) == before[game] for game in range(4)] == [True, False, True, False]
        assert options["reset_mask"] is mask


def test_seeds_reach_the_games_that_are_reset():
    """A list has one for each game; the single environment plays the same with it."""
    env = UnoFlexVectorEnv(4, opponents="flex_any", seat="random")
    env.reset(seed=[3, 4, 5, 6])
    states = [env.seat_games.state(game) for game in range(4)]
    env.reset(seed=[5, 3, 3, 3], options={"reset_mask": np.array([True, True, False, False])})
    assert env.seat_games.state(0) == states[2]
    assert env.seat_games.state(1) == states[0]
    assert env.seat_games.state(2) == states[2]
    env.reset(seed=[None, 4, None, 6])
    assert [env.seat_games.state(game) == states[game] for game in range(4)] == [False, True, False, True]


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ([True, False], "reset_mask must be a bool array of shape"),
        (np.array([1, 0]), "reset_mask must be a bool array of shape"),
        (np.array([True]), "reset_mask must be a bool array of shape"),
        (np.array([False, False]), "reset_mask names no game"),
    ],
)
def test_a_bad_reset_mask_is_refused(mask, message):
    """By name."""
    env = UnoFlexVectorEnv(2)
    env.reset()
    with pytest.raises(ValueError, match=message):
        env.reset(options={"reset_mask": mask})


@pytest.mark.parametrize(("seed", "message"), [([1], "one seed for each of 2 games, got 1"), ([1, -1], "a seed must")])
def test_bad_seeds_are_refused(seed, message):
    """By name."""
    with pytest.raises(ValueError, match=message):
        UnoFlexVectorEnv(2).reset(seed=seed)


def test_steps_outside_an_episode_get_a_clear_message():
    """Before the first reset, and without auto-reset after an end."""
    env = UnoFlexVectorEnv(3, rules=SHORT, autoreset_mode="Disabled")
    with pytest.raises(gymnasium.error.ResetNeeded, match=r"call reset\(\) before step"):
        env.step([0, 0, 0])
    with pytest.raises(gymnasium.error.ResetNeeded, match="the first reset deals all games"):
        env.reset(options={"reset_mask": np.array([True, False, False])})
    _, infos = env.reset(seed=0)
    rng, over = np.random.default_rng(0), np.zeros(3, np.bool_)
    while not over.any():
        _, _, over, _, infos = env.step(choices(infos["action_mask"], rng))
    with pytest.raises(gymnasium.error.ResetNeeded, match=f"game {over.argmax()} is over"):
        env.step(choices(infos["action_mask"], rng))


# ---- Actions and masks (faults 17 and 19) ----


@pytest.mark.parametrize("mode", MODES)
def test_an_illegal_action_is_refused_and_no_game_moves(mode):
    """Fault 19: the message names the game, the action and what is legal."""
    env = UnoFlexVectorEnv(4, opponents=first_legal, autoreset_mode=mode)
    _, infos = env.reset(seed=3)
    mask = infos["action_mask"][2]
    actions = infos["action_mask"].argmax(axis=1)
    actions[2] = mask.argmin()
    before = [env.seat_games.state(game) for game in range(4)]
    legal = " ".join(TEXTS[action] for action in np.flatnonzero(mask))
    with pytest.raises(IllegalActionError) as refusal:
        env.step(actions)
    assert (
        str(refusal.value)
        == f"game 2: action {actions[2]} ({TEXTS[actions[2]]}) is illegal now; legal: {legal}. {MASK_HINT}"
    )
    assert [env.seat_games.state(game) for game in range(4)] == before


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0], "actions must be 2 whole numbers"),
        ([0.0, 1.0], "actions must be 2 whole numbers, got float64"),
        ([216, 0], "game 0: an action must be from 0 to 215, got 216"),
        ([208, -1], "game [01]: "),
    ],
)
def test_invalid_actions_are_refused(actions, message):
    """-1 leaves no game alone here."""
    env = UnoFlexVectorEnv(2)
    env.reset()
    with pytest.raises(ValueError, match=message):
        env.step(actions)


def check_masks(env: UnoFlexVectorEnv) -> None:
    """int8, never empty, action 0 alone in finished games, and samples under them are legal."""
    observations, infos = env.reset(seed=1)
    over = np.zeros(env.num_envs, np.bool_)
    for _ in range(60):
        mask = infos["action_mask"]
        assert mask.dtype == observations["action_mask"].dtype == np.int8
        assert np.array_equal(mask, observations["action_mask"])
        assert mask.any(axis=1).all()
        assert np.array_equal(mask[over], np.eye(1, mask.shape[1], dtype=np.int8).repeat(over.sum(), axis=0))
        assert env.observation_space.contains(observations)
        actions = env.action_space.sample(mask=tuple(mask))
        assert mask[np.arange(env.num_envs), actions][~over].all()
        observations, _, terminated, truncated, infos = env.step(actions)
        over = terminated | truncated


def test_masks_and_samples_are_legal():
    """Fault 17."""
    check_masks(UnoFlexVectorEnv(30, 4, EVERY_PHASE, opponents=["random", first_legal, "random"], max_decisions=20))


@pytest.mark.parametrize("mode", MODES)
def test_a_masked_softmax_runs_in_every_mode(mode):
    """Fault 2-23: over all that steps and resets hand out. Seen to fail (NaN) with masks of zeros after the end."""
    envs = gymnasium.make_vec("UnoFlex-v0", 20, rules=SHORT, autoreset_mode=mode)
    observations, infos = envs.reset(seed=0)
    rng, ends = np.random.default_rng(0), 0
    for _ in range(120):
        assert np.array_equal(observations["action_mask"], infos["action_mask"])
        probabilities = masked_softmax(observations["action_mask"], rng)
        actions = (probabilities.cumsum(axis=1) < rng.random((20, 1))).sum(axis=1)
        observations, _, terminated, truncated, infos = envs.step(actions)
        over = terminated | truncated
        ends += over.sum()
        if mode is AutoresetMode.SAME_STEP and over.any():
            finals = [last for last in infos["final_obs"] if last is not None]
            masked_softmax(np.array([last["action_mask"] for last in finals]), rng)
            masked_softmax(infos["final_info"]["action_mask"][over], rng)
        if mode is AutoresetMode.DISABLED and over.any():
            masked_softmax(observations["action_mask"], rng)
            observations, infos = envs.reset(options={"reset_mask": over})
    assert ends > 20


def masked_softmax(masks: Any, rng: np.random.Generator) -> Any:
    """As learners do it, with -inf for what is masked."""
    logits = np.where(masks, rng.standard_normal(masks.shape), -np.inf)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities = weights / weights.sum(axis=1, keepdims=True)
    assert np.isfinite(probabilities).all()
    return probabilities


def test_the_mask_of_a_finished_game_is_copied():
    """Fault 2-23. Seen to fail without `_mask_finished_games` in `__setstate__`."""
    env = UnoFlexVectorEnv(20, rules=SHORT, copy=False)
    _, infos = env.reset(seed=0)
    while not env._over.any():
        _, _, _, _, infos = env.step(infos["action_mask"].argmax(axis=1))
    assert np.array_equal(copy.deepcopy(env)._infos()["action_mask"], infos["action_mask"])
    assert infos["action_mask"].any(axis=1).all()


@pytest.mark.parametrize("lie", [lambda mask: mask.astype(np.float32), np.zeros_like, np.ones_like])
def test_the_mask_check_can_fail(monkeypatch, lie):
    """Fault 17."""
    infos = UnoFlexVectorEnv._infos
    monkeypatch.setattr(UnoFlexVectorEnv, "_infos", lambda env: {"action_mask": lie(infos(env)["action_mask"])})
    with pytest.raises(AssertionError):
        check_masks(UnoFlexVectorEnv(4, rules=SHORT))


@pytest.mark.parametrize("copied", [True, False])
def test_observations_are_the_callers_if_copied(copied):
    """Otherwise they are the environment's and change with every step. All else is the caller's."""
    env, rng = UnoFlexVectorEnv(3, copy=copied), np.random.default_rng(0)
    observations, infos = env.reset(seed=0)
    before, masks = copy.deepcopy(observations), infos["action_mask"].copy()
    after, *results = env.step(choices(masks, rng))
    assert same(before, observations) == copied
    assert np.shares_memory(after["observation"], observations["observation"]) != copied
    assert np.array_equal(infos["action_mask"], masks)
    kept = copy.deepcopy(results)
    env.step(choices(env.seat_games.action_masks, rng))
    assert same(tuple(results), tuple(kept))
