"""The Stable-Baselines3 face: each row is the single environment, and masks hold wherever sb3-contrib asks for them."""

import copy
import os
import pickle
import subprocess
import sys
import time
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.callbacks import MaskableEvalCallback
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv, VecMonitor

from agents.policy_factory import make_policy
from tests.support.episodes import EVERY_PHASE, SHORT, first_legal
from uno_flex_env import IllegalActionError, Rules
from uno_flex_env.actions import NUM_ACTIONS, TEXTS
from uno_flex_env.envs.sb3 import SB3VecEnv
from uno_flex_env.envs.seat_games import MASK_HINT, SeatGames
from uno_flex_env.envs.single_agent import SingleAgentEnv
from uno_flex_env.observation import NUM_FEATURES

OTHER_OPTIONS: dict[str, Any] = {
    "num_players": 3,
    "rules": Rules(hand_size=2, stacking=True, target_score=60),
    "opponents": ["flex_any", first_legal],
    "seat": "random",
    "match": True,
    "reward": "points",
    "max_decisions": 12,
}
"""Every option that changes what is played, at another value than its default."""


class Flat(gymnasium.ObservationWrapper[Any, Any, Any]):
    """The single environment with the features alone."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        super().__init__(env)
        self.observation_space = spaces.Box(0, 1, (NUM_FEATURES,), np.uint8)

    def observation(self, observation: Any) -> Any:
        return observation["observation"]


def make_flat(**options: Any) -> gymnasium.Env[Any, Any]:
    return Flat(SingleAgentEnv(**options))


def make_short() -> gymnasium.Env[Any, Any]:
    """With the wrappers that a user may have around it."""
    env = Flat(gymnasium.wrappers.TimeLimit(SingleAgentEnv(rules=SHORT, opponents="flex_any"), 50))
    return Monitor(gymnasium.wrappers.OrderEnforcing(env))


def choices(masks: Any, rng: np.random.Generator) -> Any:
    """A random legal action for each row."""
    return (rng.random(masks.shape) * masks).argmax(axis=1)


# ---- Each row is the single environment (faults 1, 2, 12 and 21) ----


def check_same_as_dummy(env: VecEnv, steps: int, **options: Any) -> set[bool]:
    """All that Stable-Baselines3's own vectorization of the single environment shows, step by step; how games end:
    whether they are truncated."""
    other = DummyVecEnv([lambda: make_flat(**options)] * env.num_envs)
    assert env.observation_space == other.observation_space
    assert env.action_space == other.action_space
    other._seeds = list(env.seed(6))
    assert np.array_equal(np.array(env.reset()), np.array(other.reset()))
    rng, ends = np.random.default_rng(0), list[bool]()
    for _ in range(steps):
        masks = get_action_masks(env)
        assert masks.dtype == np.bool_
        assert np.array_equal(masks, get_action_masks(other))
        actions = choices(masks, rng)
        observations, rewards, dones, infos = env.step(actions)
        *arrays, expected = other.step(actions)
        for array, other_array in zip((observations, rewards, dones), arrays, strict=True):
            assert np.array_equal(np.array(array), np.array(other_array))
        assert rewards.dtype == np.float32
        for done, info, other_info in zip(dones, infos, expected, strict=True):
            assert info["TimeLimit.truncated"] == other_info["TimeLimit.truncated"]
            assert ("terminal_observation" in info) == done
            if done:
                assert np.array_equal(info["terminal_observation"], other_info["terminal_observation"])
                ends.append(info["TimeLimit.truncated"])
    assert len(ends) > 20
    return set(ends)


def test_rows_are_single_environments(num_players):
    """Observations, masks, rewards, flags and what was seen last, against a rule bot."""
    options: dict[str, Any] = {"num_players": num_players, "rules": SHORT, "opponents": "flex_any"}
    assert check_same_as_dummy(SB3VecEnv(5, **options), 150, **options) == {False}


def test_rows_are_single_environments_with_every_option():
    """Matches, points, truncation, a seat drawn for each episode, a bot and a policy."""
    assert check_same_as_dummy(SB3VecEnv(5, **OTHER_OPTIONS, num_threads=2), 120, **OTHER_OPTIONS) == {False, True}


class LateView(SB3VecEnv):
    """After a deal the old game is seen."""

    def step_wait(self) -> Any:
        observations, rewards, dones, infos = super().step_wait()
        for row in np.flatnonzero(dones).tolist():
            np.array(observations, copy=False)[row] = infos[row]["terminal_observation"]
        return observations, rewards, dones, infos


class NoFinal(SB3VecEnv):
    """What was seen last is the next deal."""

    def step_wait(self) -> Any:
        observations, rewards, dones, infos = super().step_wait()
        for row in np.flatnonzero(dones).tolist():
            infos[row]["terminal_observation"] = np.array(observations)[row]
        return observations, rewards, dones, infos


class CutIsEnd(SB3VecEnv):
    """Truncation that is called termination."""

    def step_wait(self) -> Any:
        *results, infos = super().step_wait()
        return *results, [info | {"TimeLimit.truncated": False} for info in infos]


class OwnWins(SB3VecEnv):
    """Losers lose nothing."""

    def step_wait(self) -> Any:
        observations, rewards, *rest = super().step_wait()
        return observations, np.maximum(rewards, 0), *rest


@pytest.mark.parametrize("broken", [LateView, NoFinal, CutIsEnd, OwnWins])
def test_the_comparison_can_fail(broken):
    """Faults 1, 2 and 21."""
    with pytest.raises(AssertionError):
        check_same_as_dummy(broken(5, **OTHER_OPTIONS), 120, **OTHER_OPTIONS)


# ---- Masks (faults 14, 16 and 17) ----


def test_masks_are_asked_for_as_sb3_contrib_does():
    """By `env_method`, for all games or some, also through a wrapper; at least one action is legal."""
    env = VecMonitor(SB3VecEnv(6, 4, EVERY_PHASE))
    env.seed(1)
    env.reset()
    rng = np.random.default_rng(0)
    assert is_masking_supported(env)
    for _ in range(100):
        masks = get_action_masks(env)
        assert masks.shape == (6, NUM_ACTIONS)
        assert masks.any(axis=1).all()
        assert np.array_equal(np.stack(env.env_method("action_masks", indices=[4, 1])), masks[[4, 1]])
        assert np.array_equal(env.env_method("action_masks", indices=3)[0], masks[3])
        env.step(choices(masks, rng))


def test_an_illegal_action_is_refused_and_no_game_moves():
    """Fault 19: the message names the game, the action and what is legal."""
    env = SB3VecEnv(4)
    env.seed(1)
    env.reset()
    masks = env.action_masks()
    actions = masks.argmax(axis=1)
    actions[3] = masks[3].argmin()
    legal = " ".join(TEXTS[action] for action in np.flatnonzero(masks[3]))
    before = [env.seat_games.state(game) for game in range(4)]
    with pytest.raises(IllegalActionError) as refusal:
        env.step(actions)
    assert (
        str(refusal.value)
        == f"game 3: action {actions[3]} ({TEXTS[actions[3]]}) is illegal now; legal: {legal}. {MASK_HINT}"
    )
    assert [env.seat_games.state(game) for game in range(4)] == before


def small_learner(env: VecEnv, **options: Any) -> MaskablePPO:
    settings: dict[str, Any] = {"n_steps": 32, "batch_size": 256, "n_epochs": 2, "seed": 3, "device": "cpu"}
    model = MaskablePPO("MlpPolicy", env, policy_kwargs={"net_arch": [32]}, **settings | options)
    model.set_logger(Logger(None, []))  # its own makes a folder for every model
    return model


@pytest.mark.slow
def test_masked_learning_never_chooses_an_illegal_action(tmp_path):
    """Fault 14: some thousand steps of training, a callback that evaluates, saving, loading and evaluating again, in
    environments in which any illegal action is an error."""
    evaluation = VecMonitor(SB3VecEnv(4, opponents="random"))
    callback = MaskableEvalCallback(evaluation, n_eval_episodes=8, eval_freq=64, verbose=0)
    model = small_learner(VecMonitor(SB3VecEnv(32, opponents="flex_when_stuck")))
    model.learn(4096, callback=callback)
    assert model.num_timesteps == 4096
    assert callback.n_calls == 128
    assert -1.0 <= callback.last_mean_reward <= 1.0
    model.save(tmp_path / "model")
    again = MaskablePPO.load(tmp_path / "model", device="cpu")
    mean, _ = evaluate_policy(again, VecMonitor(SB3VecEnv(8)), n_eval_episodes=20)
    assert -1.0 <= np.mean(mean) <= 1.0


def test_unmasked_learning_is_an_error():
    """Fault 14: so the test above can fail."""
    with pytest.raises(IllegalActionError, match="is illegal now; legal"):
        small_learner(SB3VecEnv(32)).learn(2048, use_masking=False)


PLAY = """
import sys
import numpy as np
from sb3_contrib import MaskablePPO
from tests.env.test_sb3 import played
print(played(MaskablePPO.load(sys.argv[1], device="cpu")))
"""


def played(model: MaskablePPO) -> str:
    """What a model does in 60 steps, without chance of its own."""
    env = SB3VecEnv(16, opponents="flex_any")
    env.seed(8)
    observations, actions = env.reset(), list[int]()
    for _ in range(60):
        chosen, _ = model.predict(observations, action_masks=env.action_masks(), deterministic=True)  # type: ignore[arg-type]
        observations, *_ = env.step(chosen)
        actions += chosen.tolist()
    return " ".join(map(str, actions))


@pytest.mark.slow
def test_a_saved_model_plays_the_same_in_a_new_process(tmp_path):
    """Fault 22."""
    model = small_learner(SB3VecEnv(32))
    untrained = played(model)
    model.learn(1024)
    model.save(tmp_path / "model")
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", PLAY, str(tmp_path / "model.zip")]
    there = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert there.stdout.strip() == played(model)
    assert played(model) != untrained


@pytest.mark.slow
def test_masks_reach_worker_processes():
    """Fault 16: spawned workers, with wrappers around their environments, show what one process shows."""
    workers, here = SubprocVecEnv([make_short] * 2, start_method="spawn"), DummyVecEnv([make_short] * 2)
    try:
        assert is_masking_supported(workers)
        assert workers.seed(4) == here.seed(4)
        assert np.array_equal(np.array(workers.reset()), np.array(here.reset()))
        rng = np.random.default_rng(0)
        for _ in range(60):
            masks = get_action_masks(workers)
            assert np.array_equal(masks, get_action_masks(here))
            actions = choices(masks, rng)
            for there, expected in zip(workers.step(actions)[:3], here.step(actions)[:3], strict=True):
                assert np.array_equal(np.array(there), np.array(expected))
        small_learner(workers).learn(128)
    finally:
        workers.close()


class Unmasked(gymnasium.Env[Any, Any]):
    """A wrapper that forgets the masks."""

    def __init__(self) -> None:
        self.env = make_short()
        self.observation_space, self.action_space = self.env.observation_space, self.env.action_space

    def reset(self, **options: Any) -> Any:
        return self.env.reset(**options)

    def step(self, action: Any) -> Any:
        return self.env.step(action)


def test_lost_masks_are_noticed():
    """Fault 16: sb3-contrib says so before the first step, so the test above can fail."""
    with pytest.raises(ValueError, match="does not support action masking"):
        small_learner(DummyVecEnv([Unmasked])).learn(64)


def mask_share(env: VecEnv) -> float:
    """The part of a rollout's processor time that goes into masks."""
    model = small_learner(env, n_steps=16)
    model.train = lambda: None  # type: ignore[method-assign]  # the rollout alone
    model.learn(16 * env.num_envs)
    asked = 0.0
    method = env.env_method

    def watched(*arguments: Any, **options: Any) -> Any:
        nonlocal asked
        begin = time.thread_time()
        masks = np.stack(method(*arguments, **options))
        asked += time.thread_time() - begin
        return masks

    env.env_method = watched  # type: ignore[method-assign]
    begin = time.thread_time()
    model.learn(16 * env.num_envs)
    return asked / (time.thread_time() - begin)


def test_masks_cost_little():
    """Fault 16: less than 15 % of a rollout, even with a tiny network."""
    assert min(mask_share(SB3VecEnv(256)) for _ in range(3)) < 0.15


def test_the_check_of_the_cost_of_masks_can_fail():
    """Fault 16: masks that ask each game about each action."""

    class Asking(SB3VecEnv):
        def action_masks(self) -> Any:
            states = [self.seat_games.state(game) for game in range(self.num_envs)]
            return np.array([[state.is_legal(action) for action in range(NUM_ACTIONS)] for state in states])

    assert mask_share(Asking(256)) > 0.15


# ---- Seeds, options and attributes (faults 6 and 7) ----


def transcript(env: VecEnv, seed: int, steps: int = 60) -> list[bytes]:
    """All that the games show, and what an unseeded reset brings."""
    env.seed(seed)
    lines, rng = [np.array(env.reset()).tobytes()], np.random.default_rng(0)
    for _ in range(steps):
        observations, rewards, dones, infos = env.step(choices(get_action_masks(env), rng))
        cuts = np.array([info["TimeLimit.truncated"] for info in infos])
        lines += [np.array(part).tobytes() for part in (observations, rewards, dones, cuts)]
    return [*lines, np.array(env.reset()).tobytes()]


@pytest.mark.parametrize(
    "way",
    [
        lambda env: env,
        lambda env: (env.reset(), env)[1],
        lambda env: (env.seed(1), env.reset(), env)[2],
        copy.deepcopy,
        lambda env: pickle.loads(pickle.dumps((env.reset(), env)[1])),
        VecMonitor,
    ],
    ids=["as new", "reset", "seeded reset", "deepcopy", "pickle in mid-game", "wrapped"],
)
def test_options_survive(way):
    """Faults 6 and 7: each option at another value than its default, while other generators are used."""
    expected = transcript(SB3VecEnv(4, **OTHER_OPTIONS), seed=9)
    np.random.seed(5)  # noqa: NPY002  (the global generator must not matter)
    assert transcript(way(SB3VecEnv(4, **OTHER_OPTIONS)), seed=9) == expected


@pytest.mark.parametrize("option", OTHER_OPTIONS)
def test_the_check_of_options_sees_every_option(option):
    """Fault 7: one that is lost is noticed."""
    lost = {name: value for name, value in OTHER_OPTIONS.items() if name != option}
    if option == "num_players":
        lost["opponents"] = "flex_any"
    assert transcript(SB3VecEnv(4, **lost), seed=9) != transcript(SB3VecEnv(4, **OTHER_OPTIONS), seed=9)


def test_unseeded_environments_differ():
    """Each draws a seed of its own, not from numpy's global generator."""
    np.random.seed(0)  # noqa: NPY002
    first = SB3VecEnv(4).reset()
    np.random.seed(0)  # noqa: NPY002
    assert not np.array_equal(np.array(SB3VecEnv(4).reset()), np.array(first))


def test_opponents_may_be_exchanged_by_attribute():
    """Through Stable-Baselines3's own call too; for all games, and only what there is."""
    env = VecMonitor(SB3VecEnv(3))
    assert env.get_attr("opponents") == [("random",)] * 3
    env.set_attr("opponents", first_legal)
    assert env.get_attr("opponents", indices=0) == [(first_legal,)]
    assert isinstance(env.get_attr("seat_games")[0], SeatGames)
    with pytest.raises(ValueError, match="belongs to all games"):
        env.set_attr("opponents", "random", indices=[1])
    with pytest.raises(AttributeError, match="oponents"):
        env.set_attr("oponents", "random")
    with pytest.raises(AttributeError, match="no method 'render'"):
        env.env_method("render")
    assert not env.has_attr("no_such_attribute")
    assert env.env_is_wrapped(Monitor) == [False] * 3


def test_bad_options_are_refused_by_name():
    """Fault 4."""
    with pytest.raises(ValueError, match="no such bot: 'clever'"):
        SB3VecEnv(2, opponents="clever")
    with pytest.raises(TypeError, match="history"):
        SB3VecEnv(2, history=3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="a seed must be"):
        SB3VecEnv(2).seed(-1)


@pytest.mark.parametrize("opponent", ["flex_any", make_policy("expert")])
def test_games_go_on_from_bytes(opponent):
    """Seats, deals, keys of the opponents and rewards due. Seen to fail without each of the arrays."""
    made = [SB3VecEnv(40, 3, Rules(hand_size=2), opponents=opponent, seat="random") for _ in range(2)]
    rng = np.random.default_rng(1)

    def step(*envs: SB3VecEnv) -> list[Any]:
        keys = rng.random((40, 216))
        return [env.step((keys * env.action_masks()).argmax(axis=1)) for env in envs]

    made[0].seed(1)
    made[0].reset()
    for _ in range(20):
        step(made[0])
    made[1].seat_games.from_bytes(made[0].seat_games.to_bytes())

    for _ in range(60):
        one, other = step(*made)
        assert all(np.array_equal(a, b) for a, b in zip(one[:3], other[:3], strict=True))
