"""What all learners have in common, and the targets, buffers and roles of those that learn from single transitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from agents.allowed_code import allow_only
from agents.learners.a2c import A2C, A2CConfig
from agents.learners.buffers import ReplayBuffer, ReservoirBuffer
from agents.learners.dmc import DMC, DMCConfig
from agents.learners.dqn import DQN, DQNConfig
from agents.learners.league import LeagueConfig
from agents.learners.learner import Learner
from agents.learners.learner_factory import make_learner
from agents.learners.maskable_ppo import MaskablePPOConfig
from agents.learners.mmd import MMD, MMDConfig
from agents.learners.nfsp import NFSP, NFSPConfig
from agents.learners.ppg import PPG, PPGConfig
from agents.learners.ppo import PPOConfig
from agents.learners.ppo_league import PAST_SELVES, PPOLeague, PPOLeagueConfig
from agents.learners.rnad import RNaDConfig
from agents.learners.seat_steps import Returns, Transitions
from agents.learners.task import GameConfig, LearningTask
from agents.network import NetworkConfig
from agents.network_policy import NetworkPolicy
from tests.support.learning import equal
from uno_flex_env import Rules

QUICK_DQN = DQNConfig(
    learning_rate=2e-3,
    gamma=0.95,
    epsilon_end=0.1,
    epsilon_share=0.4,
    capacity=20_000,
    learning_starts=500,
    minibatch_size=256,
    replay_ratio=2.0,
    target_every=20,
)
CONFIGS: dict[str, Any] = {
    "ppo": PPOConfig(learning_rate=0.01, minibatch_size=500, precision="float32"),
    "mmd": MMDConfig(learning_rate=0.01, minibatch_size=500, magnet_every=3, precision="float32"),
    "ppo_league": PPOLeagueConfig(learning_rate=0.01, minibatch_size=500, precision="float32"),
    "a2c": A2CConfig(learning_rate=0.01, precision="float32"),
    "ppg": PPGConfig(learning_rate=0.01, minibatch_size=500, n_pi=3, aux_epochs=2, precision="float32"),
    "dqn": QUICK_DQN,
    "nfsp": NFSPConfig(learning_rate=5e-3, learning_starts=100, minibatch_size=128, anticipatory=0.3, dqn=QUICK_DQN),
    "dmc": DMCConfig(learning_rate=5e-3, minibatch_size=256),
    "rnad": RNaDConfig(learning_rate=3e-3, minibatch_size=256, iteration=700, precision="float32"),
    "maskable_ppo": MaskablePPOConfig(learning_rate=0.02, batch_size=512),
    "docs.reinforce:Reinforce": None,
}


def task(**game: Any) -> LearningTask:
    """A small task: two players with one card each, unless `game` says otherwise."""
    options: dict[str, Any] = {"num_envs": 64, "num_steps": 8, "rules": Rules(hand_size=1)} | game
    return LearningTask(GameConfig(**options), NetworkConfig(width=16))


# ---- All learners ----


@pytest.mark.parametrize("name", CONFIGS)
def test_a_restored_learner_continues_bit_for_bit(name):
    """For 2 and 4 players and rounds that are cut off: seven steps are seven steps, wherever they were cut.

    Seen to fail without the buffer, the target network, the samples owed, the roles, the collector or the generator."""
    players = (3,) if name == "maskable_ppo" else (2, 4)
    where = task(players=players, num_envs=31, num_steps=6, rules=Rules(hand_size=2), max_decisions=30)
    whole, cut = (make_learner(name, where, 5, CONFIGS[name]) for _ in range(2))
    for step in range(7):
        if step in (0, 4):
            state, cut = cut.state_dict(), make_learner(name, where, 6, CONFIGS[name])
            cut.load_state_dict(state)
        assert whole.step(step / 7) == cut.step(step / 7)
        metrics = [dict(learner.metrics) for learner in (whole, cut)]
        for each in metrics:
            each.pop("games_share", None)
        assert metrics[0] == metrics[1]

    assert equal(whole.state_dict(), cut.state_dict())


@pytest.mark.parametrize("name", CONFIGS)
def test_a_policy_is_a_frozen_copy(name):
    """Learning on does not change it. Seen to fail when the network is handed out itself."""
    learner = make_learner(name, task(), 1, CONFIGS[name])
    learner.step(0.0)
    policy = learner.policy("frozen")
    assert isinstance(policy, NetworkPolicy)
    assert policy.name == "frozen"
    before = {key: value.clone() for key, value in policy.network.state_dict().items()}

    for _ in range(6):
        learner.step(0.5)

    changed = learner.policy()
    assert isinstance(changed, NetworkPolicy)
    assert equal(before, policy.network.state_dict())
    assert not equal(before, changed.network.state_dict())


@pytest.mark.parametrize("name", CONFIGS)
def test_learners_use_no_global_generator(name):
    """The same seed gives the same run whatever else draws numbers; another seed gives another. A seed has 63 bits.

    Seen to fail with `torch.rand` without a generator, and with the last 32 bits of the seed."""
    states = []
    for number, seed in enumerate((4, 4, 4 + (1 << 62))):
        torch.manual_seed(number)
        learner = make_learner(name, task(), seed, CONFIGS[name])
        for _ in range(3):
            learner.step(0.5)
        states.append(learner.state_dict()["network"])
    assert equal(states[0], states[1])
    assert not equal(states[0], states[2])


class Own:
    """A learner of a user's, without settings."""

    def __init__(self, task: LearningTask, seed: int) -> None:
        self.seed, self.metrics = seed, dict[str, float]()

    def step(self, progress: float) -> int:
        return 1

    def policy(self, name: str = "agent") -> Any: ...

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None: ...


def test_learners_are_found_by_name():
    """Own classes are learners; unknown names, modules and classes that are none are refused, with what there is.

    Seen to fail without each of the checks."""
    own = "tests.agents.test_learners:Own"
    learner: Learner = make_learner(own, task(), 7)
    assert vars(learner)["seed"] == 7
    for name, message in {
        "dqm": r"no such learner: 'dqm'; there are ppo, mmd, .*dqn, .* did you mean 'dqn'",
        "nowhere:Class": r"there is no module 'nowhere'",
        "tests.agents.test_learners:None_": r"no such learner: .*None_",
        "tests.agents.test_learners:CONFIGS": r"CONFIGS' is no class",
        "tests.agents.test_learners:LearningTask": r"lacks step, policy, state_dict, load_state_dict",
    }.items():
        with pytest.raises(ValueError, match=message):
            make_learner(name, task(), 1)
    with allow_only(), pytest.raises(ValueError, match="a file can't choose code to run"):
        make_learner(own, task(), 1)


@pytest.mark.parametrize("name", ["dqn", "nfsp", "dmc", "rnad"])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"network": NetworkConfig("history", width=8)}, 'network.kind must be "mlp" or "residual" for the learner'),
        ({"network": NetworkConfig(width=8, privileged=True)}, "network.privileged must be false"),
        ({"league": LeagueConfig(0.5, ("random",))}, "league.fraction must be 0"),
    ],
)
def test_what_a_learner_does_not_support_is_refused(name, settings, message):
    """Seen to fail when it was ignored."""
    with pytest.raises(ValueError, match=message):
        make_learner(name, LearningTask(**settings), 1)


@pytest.mark.parametrize(
    ("config", "settings", "message"),
    [
        (DQNConfig, {"epsilon": 1.5}, r"dqn.epsilon must be from 0.0 to 1.0, got 1.5"),
        (DQNConfig, {"gamma": float("nan")}, "dqn.gamma must be from"),
        (DQNConfig, {"capacity": 0}, "dqn.capacity must be from 1 to"),
        (DQNConfig, {"learning_rate": float("inf")}, "dqn.learning_rate must be at least .* and finite"),
        (DQNConfig, {"replay_ratio": 0.0}, "dqn.replay_ratio must be from"),
        (DQNConfig, {"target_every": 0}, "dqn.target_every must be at least 1"),
        (NFSPConfig, {"anticipatory": -0.1}, "nfsp.anticipatory must be from 0.0 to 1.0"),
        (NFSPConfig, {"capacity": 1 << 40}, "nfsp.capacity must be from 1 to"),
        (DMCConfig, {"update_epochs": 0}, "dmc.update_epochs must be from 1"),
        (DMCConfig, {"epsilon_share": 2.0}, "dmc.epsilon_share must be from"),
        (RNaDConfig, {"eta": -0.1}, "rnad.eta must be at least 0.0"),
        (RNaDConfig, {"precision": "half"}, "rnad.precision must be one of auto, .* got 'half'"),
        (MMDConfig, {"magnet_coef": 0.0}, "mmd.magnet_coef must be above 0: without a magnet .* got 0.0"),
        (PPOLeagueConfig, {"clip_coef": 0.0}, "ppo_league.clip_coef must lie in"),
        (MaskablePPOConfig, {"batch_size": 1}, "maskable_ppo.batch_size must be from 2"),
        (MaskablePPOConfig, {"ent_coef": -1.0}, "maskable_ppo.ent_coef must be at least 0"),
        (A2CConfig, {"n_step": 0}, "a2c.n_step must be from 1 to 10,000, got 0"),
        (A2CConfig, {"gamma": 2.0}, "a2c.gamma must lie in"),
        (PPGConfig, {"n_pi": 0}, "ppg.n_pi must be from 1 to 1,000, got 0"),
        (PPGConfig, {"beta_clone": float("inf")}, "ppg.beta_clone must be at least 0 and finite, got inf"),
    ],
)
def test_settings_out_of_range_are_refused(config, settings, message):
    """By name, with what is allowed. Seen to fail without the checks."""
    with pytest.raises(ValueError, match=message):
        config(**settings)


# ---- Single learners ----


def test_mmd_has_a_magnet_that_lags():
    """From the first update on, and it moves every third one. Seen to fail without a magnet, and when it moves with
    every update."""
    mmd = MMD(task(), 1, MMDConfig(magnet_every=3, precision="float32"))
    gaps = []
    for _ in range(6):
        mmd.step(0.5)
        state = mmd.state_dict()
        gaps.append(not equal(state["magnet"], state["network"]))
    assert gaps == [True, True, False, True, True, False]
    assert mmd.metrics["magnet_kl"] > 0.0


def test_a2c_takes_one_gradient_step_for_each_rollout():
    """Of `n_step` decisions of each player, on average, and nothing is clipped.

    Seen to fail with minibatches, with two epochs, and with the task's number of steps."""
    a2c = A2C(task(players=(2, 4)), 1, A2CConfig(n_step=3, precision="float32"))
    decisions = [a2c.step(0.5) for _ in range(4)]

    (steps,) = {int(state["step"]) for state in a2c.state_dict()["optimizer"]["state"].values()}
    assert steps == 4
    assert sum(decisions) == pytest.approx(4 * 64 * 3 * 4, rel=0.1)  # but those that are still open
    assert a2c.metrics["clip_fraction"] == 0.0
    assert a2c.metrics["approx_kl"] == pytest.approx(0.0, abs=1e-6)


def test_ppg_holds_the_policy_while_it_trains_the_values():
    """Every `n_pi` rollouts: all layers learn the values then, and the more `beta_clone` weighs, the less the policy
    moves. In between, the values do not reach the shared layers.

    Seen to fail when a phase comes too early, when rollouts are kept, with the divergence left out, and when gradients
    stop in the auxiliary phase or pass in the policy phase."""
    divergences = []
    for beta_clone in (0.0, 100.0):
        ppg = PPG(task(), 1, PPGConfig(n_pi=2, aux_epochs=4, beta_clone=beta_clone, precision="float32"))
        with torch.no_grad():
            ppg.network.policy.weight.mul_(100)  # its first weights are so small that the policy hardly moves
        ppg.step(0.0)
        assert "clone_kl" not in ppg.metrics
        ppg.step(0.0)
        divergences.append(ppg.metrics["clone_kl"])
        assert ppg.state_dict()["kept"] == []
    assert 0.0 < divergences[1] < divergences[0] / 3

    mute = PPGConfig(n_pi=2, entropy_coef=0.0, entropy_coef_end=0.0, beta_clone=0.0, precision="float32")
    ppg = PPG(task(), 1, mute)
    with torch.no_grad():
        ppg.network.policy.weight.zero_()  # nothing of the policy's loss reaches the shared layers
    first = [weights.clone() for weights in ppg.network.trunk.parameters()]
    ppg.step(0.0)
    assert equal(first, list(ppg.network.trunk.parameters()))


def test_ppo_league_brings_a_league_unless_the_task_has_one():
    """Seen to fail when either is ignored."""
    own = LeagueConfig(0.5, ("random",))
    for given, expected in ((LeagueConfig(), PAST_SELVES), (own, own)):
        learner = PPOLeague(replace(task(), league=given), 1)
        assert learner.task.league == learner.league.config == expected
    assert PAST_SELVES.snapshots > 0


def transitions(count: int, **columns: Any) -> Transitions:
    """Made-up transitions; all actions are legal."""
    rng = np.random.default_rng(count)
    values: dict[str, Any] = {
        "observation": rng.integers(0, 2, (count, 640), dtype=np.uint8),
        "action_mask": np.ones((count, 216), np.int8),
        "action": np.arange(count) % 216,
        "reward": np.arange(count, dtype=np.float32),
        "next_observation": rng.integers(0, 2, (count, 640), dtype=np.uint8),
        "next_action_mask": np.ones((count, 216), np.int8),
        "terminated": np.zeros(count, np.bool_),
        "truncated": np.zeros(count, np.bool_),
        "game": np.arange(count),
        "seat": np.zeros(count, np.int64),
    }
    return Transitions(**values | columns)


def test_the_target_of_double_dqn():
    """r + gamma * Q_target(s', best legal action by Q), and r at the end of a round, worked out row by row.

    Seen to fail with the best action over illegal ones, with the online network's value, with plain DQN's maximum of
    the target network, and when the end is bootstrapped."""
    dqn = DQN(task(), 1, DQNConfig(gamma=0.5))
    with torch.no_grad():
        for network, scale in ((dqn.network, 1.0), (dqn.target, 2.0)):
            network.policy.weight.normal_(0.0, scale, generator=torch.Generator().manual_seed(int(scale)))
    masks = (np.random.default_rng(1).random((6, 216)) < 0.05).astype(np.int8)
    masks[:, 7] = 1
    masks[4:] = 0
    given = transitions(6, next_action_mask=masks, terminated=np.arange(6) >= 4)
    buffer = ReplayBuffer(6)
    buffer.add(given)
    sample = buffer.sample(50, torch.Generator().manual_seed(1))

    targets = dqn.targets(sample)

    with torch.no_grad():
        online, target = (network(torch.from_numpy(given.next_observation))[0] for network in (dqn.network, dqn.target))
    for row, reward in enumerate(sample["reward"].tolist()):
        legal = np.flatnonzero(masks[int(reward)])
        expected = reward
        if legal.size:
            best = legal[online[int(reward), legal].argmax()]
            expected += 0.5 * float(target[int(reward), best])
        assert float(targets[row]) == pytest.approx(expected, abs=1e-4)


def test_a_full_replay_buffer_drops_the_oldest():
    """Rows come back as they went in. Seen to fail with a wrong slot, and with masks of the next decision."""
    buffer = ReplayBuffer(10)
    given = transitions(25)
    for part in (given[:4], given[4:17], given[17:25]):
        buffer.add(part)

    sample = buffer.sample(300, torch.Generator().manual_seed(1))

    numbers = sample["reward"].int()
    assert set(numbers.tolist()) == set(range(15, 25))
    for name in ("observation", "next_observation", "action", "terminated"):
        assert np.array_equal(sample[name].numpy(), getattr(given, name)[numbers])


def test_a_reservoir_holds_an_even_sample_of_all_decisions():
    """However they are added. Seen to fail when each decision replaces another, and when none does."""
    kept = np.zeros(300)
    generator = torch.Generator().manual_seed(3)
    for _ in range(300):
        reservoir = ReservoirBuffer(30)
        for start, end in ((0, 20), (20, 110), (110, 300)):
            numbers = np.arange(start, end)
            observation = np.zeros((numbers.size, 640), np.uint8)
            reservoir.add(observation, np.ones((numbers.size, 216), np.int8), numbers, generator)
        kept[reservoir.columns["action"]] += 1
    assert kept.sum() > 0.97 * 300 * 30  # two decisions added together can fall into one slot
    thirds = kept.reshape(3, 100).sum(axis=1) / kept.sum()
    assert np.allclose(thirds, 1 / 3, atol=0.03)


def test_only_best_responses_go_to_the_reservoir():
    """About `anticipatory` of all decisions, and the reservoir learns nothing else.

    Seen to fail when all decisions go there, and when roles are never drawn again."""
    nfsp = NFSP(task(num_envs=200), 1, NFSPConfig(anticipatory=0.3))
    taken, roles = 0, set[bytes]()
    for _ in range(6):
        taken += nfsp.step(0.0)
        roles.add(nfsp.responds.numpy().tobytes())

    assert nfsp.reservoir.added / taken == pytest.approx(0.3, abs=0.05)
    assert nfsp.best_response.buffer.added > 0.9 * taken
    assert len(roles) == 6


def test_monte_carlo_targets_leave_out_rounds_that_were_cut():
    """Their returns lack the end. Seen to fail when cut rounds are learned from."""
    dmc = DMC(task(), 1, DMCConfig())
    before = {name: value.clone() for name, value in dmc.network.state_dict().items()}
    rows = transitions(40)
    columns = rows.observation, rows.action_mask, rows.action, rows.reward
    cut = Returns(*columns, truncated=np.ones(40, np.bool_), trajectory=np.arange(40))

    assert dmc.learn(cut) == {}
    assert equal(before, dmc.network.state_dict())
    metrics = dmc.learn(replace(cut, truncated=np.arange(40) >= 10))

    assert metrics["q_loss"] == pytest.approx(np.mean(np.arange(10.0) ** 2), rel=0.05)  # the first values are about 0
    assert not equal(before, dmc.network.state_dict())
