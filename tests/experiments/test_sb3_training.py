"""Training by Stable-Baselines3, and what networks cost."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sb3_contrib.common.maskable.evaluation import evaluate_policy
from torch.utils.tensorboard import SummaryWriter

from agents.learners.league import LeagueConfig
from agents.learners.ppo import PPOConfig
from agents.match.runner import duel
from agents.network import ActorCritic, NetworkConfig
from agents.network_policy import NetworkPolicy
from agents.policy_factory import make_policy
from experiments import __main__ as command
from experiments.commands import networks
from experiments.settings import read
from experiments.training import maskable_ppo as sb3
from experiments.training import network_costs
from experiments.training.monitor import Monitor
from experiments.training.train_config import TrainConfig
from experiments.training.training_run import FINAL, MEASURED, begin
from tests.support.paths import ROOT
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.envs.sb3 import SB3VecEnv
from uno_flex_env.errors import IllegalActionError
from uno_flex_env.policy_input import Decisions
from uno_flex_env.seeding import derived_seed

FILE = ROOT / "configs" / "train" / "sb3.toml"
DECISIONS = 16_384


def small(folder: Path, **settings: Any) -> TrainConfig:
    """The settings of the file, for seconds."""
    config: TrainConfig = read(TrainConfig, FILE)
    smaller = replace(
        config,
        decisions=DECISIONS,
        evaluations=1,
        evaluation_games=500,
        runs=folder,
        network=NetworkConfig(width=64),
        game=replace(config.game, num_envs=64, num_steps=32),
        ppo=replace(config.ppo, minibatch_size=256, learning_rate=3e-3),
        league=replace(config.league, every=4096),
        baselines=("flex_when_stuck",),
        num_threads=1,
    )
    return replace(smaller, **settings)


def trained(config: TrainConfig) -> tuple[sb3.Run, Monitor]:
    """A run that has learned, and what was noted of it."""
    run = sb3.Run(config, begin(config), num_threads=1)
    with Monitor(run.folder, config.decisions, 0) as monitor:
        run.model.learn(config.decisions, callback=sb3.Supervision(run, monitor), log_interval=sys.maxsize)
    return run, monitor


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> tuple[sb3.Run, Monitor]:
    """One run for all tests that leave it as it is."""
    return trained(small(tmp_path_factory.mktemp("runs")))


def positions(steps: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Observations and masks of some positions, met by playing at random."""
    envs = SB3VecEnv(64, opponents="random", seat="random")
    envs.seed(7)
    rng = np.random.default_rng(7)
    envs.reset()
    seen, masks = [], []
    for _ in range(steps):
        masks.append(envs.action_masks())
        seen.append(envs.seat_games.observations.copy())
        envs.step((rng.random(masks[-1].shape) * masks[-1]).argmax(axis=1))
    return np.concatenate(seen), np.concatenate(masks)


# ---- The command ----


@pytest.mark.slow
def test_the_command_trains_measures_and_leaves_a_policy(tmp_path):
    """Fault 22: what it saves plays here, in another process, the very games that it was measured by there.

    Seen to fail when the weights of the trunk are left out of the saved network, which is then an untrained one.
    """
    environ = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]), "OMP_NUM_THREADS": "1"}
    flags = "--decisions 2048 --game.num-envs 64 --game.num-steps 32 --ppo.minibatch-size 256 --league.every 1024"
    flags += " --evaluations 1 --evaluation-games 100 --final-games 50 --baselines flex_when_stuck --num-threads 1"
    program = [sys.executable, "-W", "error", "-m", "experiments", "train", "--config", str(FILE), *flags.split()]

    run = subprocess.run(program, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=300)

    assert run.returncode == 0, run.stderr
    folder = tmp_path / "runs" / "sb3"
    assert sorted(path.name.partition(".")[0] for path in folder.iterdir()) == ["config", "events", "metrics", "policy"]
    policy = make_policy(f"{folder}:greedy")
    last = json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])
    config: TrainConfig = read(TrainConfig, FILE)
    again = duel(policy, "flex_when_stuck", games=100, seed=derived_seed(config.seed, MEASURED)).rate(policy.name)
    assert last["strength"] == [["flex_when_stuck", 2, again.mean, again.low, again.high]]
    final = duel(policy, "random", games=50, seed=derived_seed(config.seed, FINAL)).rate(policy.name)
    assert f"{final!s}" in next(line for line in run.stdout.splitlines() if line.startswith("random"))
    assert "decisions/s" in run.stderr
    assert "against flex_when_stuck" in run.stderr


def test_the_command_hands_over_to_the_learner_that_is_named(tmp_path, monkeypatch):
    """And this project's own stays the default. Seen to fail when `train` looks at no name."""
    asked = list[str]()

    def noted(config: TrainConfig) -> int:
        asked.append(config.name)
        return 0

    monkeypatch.setattr(sb3, "train", noted)

    short = ["--decisions", "1", "--evaluation-games", "1", "--final-games", "1"]
    status = command.main(["train", "--config", str(FILE), "--runs", str(tmp_path), *short])

    assert status == 0
    assert asked == ["sb3"]
    assert TrainConfig().learner == "ppo"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--game.players", "2", "3"], "game.players must be one number"),
        (["--network.kind", "history"], 'network.kind must be "mlp" or "residual"'),
        (["--network.privileged"], "network.privileged must be false"),
        (["--league.fraction", "0.5"], "league.fraction must be 1: opponents have all other seats"),
        (["--league.opponents"], "league.opponents must name whom the learner meets first"),
        (["--ppo.magnet-coef", "0.1"], "ppo.magnet_coef must be 0"),
        (["--ppo.precision", "bfloat16"], 'ppo.precision must be "auto" or "float32"'),
        (["--init-from", "runs/other"], "init_from must be empty"),
    ],
)
def test_settings_without_a_meaning_here_are_refused(tmp_path, capsys, flags, message):
    """By name, with status 2, before a folder is made. Seen to fail when `check` is not called."""
    status = command.main(["train", "--config", str(FILE), "--runs", str(tmp_path / "runs"), *flags])

    assert status == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_a_diverged_run_says_so(tmp_path, capsys):
    """With status 1; the network on file is still one. Seen to fail when the weights are not checked."""
    config = small(tmp_path, ppo=PPOConfig(value_coef=1e39, minibatch_size=256))

    status = sb3.train(config)

    assert status == 1
    assert "the run has diverged: weights are not finite" in capsys.readouterr().out
    policy = make_policy(str(tmp_path / "sb3"))
    assert duel(policy, "random", games=10).num_games == 10


# ---- Learning ----


@pytest.mark.slow
def test_the_learner_learns_from_bots_and_past_selves(learned):
    """Fault 23: within seconds it wins several times as many games as an untrained network does.

    Seen to fail when the learner's rewards are reversed, when the league gets no results or their opposite, when
    the opponent never changes, and without snapshots.
    """
    run, monitor = learned
    untrained = ActorCritic(run.config.network)

    before = duel(NetworkPolicy(untrained, "agent", greedy=True), "flex_when_stuck", games=500).rate("agent")
    (_, _, _, low, _) = monitor.strengths[-1]["strength"][0]

    assert low > before.high + 0.1
    assert [policy.name for policy in run.league.policies] == ["flex_when_stuck", "00000", "00001", "00002", "00003"]
    met = np.array(run.league.games) > 0
    assert met[0]
    assert met[1:].any()
    assert run.league.win_rates()["flex_when_stuck"] < 0.45


@pytest.mark.slow
def test_a_seed_repeats_a_run(tmp_path):
    """To the last bit, with opponents that choose by keys. Seen to fail when the opponents' keys come from a clock."""
    league = LeagueConfig(1.0, ("expert",), 2, 2048)

    runs = [
        trained(small(tmp_path, decisions=6144, evaluation_games=10, league=league, seed=seed))[0] for seed in (3, 3, 4)
    ]

    first, again, other = (torch.cat([w.flatten() for w in run.policy().network.parameters()]) for run in runs)

    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_the_charts_are_those_of_the_other_learner(tmp_path, monkeypatch):
    """The same names in TensorBoard, strength with its interval first. Seen to fail when a name is misspelled."""
    tags = set()
    monkeypatch.setattr(SummaryWriter, "add_scalar", lambda _, tag, *values: tags.add(tag))

    trained(small(tmp_path, decisions=2048, evaluation_games=10))

    chart = "flex_when_stuck, 2 players"
    strength = {f"1 strength/{chart}", f"6 intervals/{chart}/low", f"6 intervals/{chart}/high"}
    names = "policy_loss value_loss entropy approx_kl clip_fraction explained_variance learning_rate entropy_coef"
    learning = {f"3 learning/{name}" for name in names.split()}
    assert tags == strength | learning | {"4 speed/decisions_per_second", "5 league/flex_when_stuck"}


# ---- Masks (fault 14) ----


@pytest.mark.slow
def test_masks_hold_in_training_and_evaluation(learned):
    """Fault 14: the games refuse every illegal action, and whole runs and evaluations go through them.

    That they would notice: without masks, the first step of either is refused.
    """
    run, _ = learned
    envs = SB3VecEnv(32, opponents="flex_any")

    mean, _ = evaluate_policy(run.model, envs, n_eval_episodes=32, warn=False)

    assert abs(float(np.mean(mean))) <= 1.0
    with pytest.raises(IllegalActionError):
        evaluate_policy(run.model, envs, n_eval_episodes=32, use_masking=False, warn=False)


def test_training_without_masks_is_refused(tmp_path):
    """Fault 14: by the games, at the first illegal action."""
    config = small(tmp_path)
    run = sb3.Run(config, begin(config), num_threads=1)

    with Monitor(run.folder, config.decisions, 0) as monitor, pytest.raises(IllegalActionError):
        run.model.learn(config.decisions, callback=sb3.Supervision(run, monitor), use_masking=False)


# ---- One network under two names ----


@pytest.mark.slow
def test_probabilities_and_values_are_the_same_in_both(learned):
    """In SB3's policy, in the copy of it that is measured, and in the file.

    Seen to fail when any of trunk, policy and value is left out of what is copied.
    """
    run, _ = learned
    observation, mask = positions()
    decisions = Decisions(observation, mask.astype(np.int8), np.zeros(len(mask), np.uint64))
    inputs = torch.from_numpy(observation)

    with torch.no_grad():
        theirs = run.model.policy.get_distribution(inputs, action_masks=mask).distribution.probs
        values = run.model.policy.predict_values(inputs).squeeze(1)
    ours = run.policy()
    on_file = make_policy(str(run.folder))
    assert isinstance(on_file, NetworkPolicy)

    assert ours.probabilities(decisions)[torch.from_numpy(mask)].std() > 0.1  # it has learned to prefer
    assert values.std() > 0.05
    assert torch.allclose(ours.probabilities(decisions), theirs, atol=1e-6)
    assert (ours.probabilities(decisions)[~torch.from_numpy(mask)] == 0).all()
    assert torch.equal(ours.probabilities(decisions), on_file.probabilities(decisions))
    with torch.no_grad():
        assert torch.allclose(ours.network(inputs)[1], values, atol=1e-6)


def test_a_copy_does_not_go_on_learning(tmp_path):
    """Nor does the one that a snapshot plays with. Seen to fail when the copy shares the trunk."""
    config = small(tmp_path, decisions=2048, evaluation_games=10)
    run = sb3.Run(config, begin(config), num_threads=1)
    taken = run.policy()
    before = [weights.clone() for weights in taken.network.parameters()]

    with Monitor(run.folder, config.decisions, 0) as monitor:
        run.model.learn(config.decisions, callback=sb3.Supervision(run, monitor), log_interval=sys.maxsize)

    assert all(map(torch.equal, before, taken.network.parameters()))
    assert not all(map(torch.equal, before, run.policy().network.parameters()))


@pytest.mark.parametrize("kind", ["mlp", "residual"])
def test_both_learners_begin_alike(tmp_path, kind):
    """With the very weights that its seed gives an `ActorCritic`. Seen to fail with SB3's own."""
    config = small(tmp_path, network=NetworkConfig(kind, width=32))

    run = sb3.Run(config, begin(config), num_threads=1)

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        expected = ActorCritic(config.network)
    assert all(map(torch.equal, run.policy().network.parameters(), expected.parameters()))
    inside = sum(weights.numel() for weights in run.model.policy.parameters())
    assert inside == sum(weights.numel() for weights in expected.parameters())


# ---- What networks cost ----


def test_the_command_prints_every_kind(capsys):
    """Parameters, shapes and cost of each, with and without a privileged critic. Seen to fail when one kind is left
    out."""
    assert command.main(["networks", "--width", "8", "--seconds", "0.001", "--batches", "1", "3"]) == 0

    printed = capsys.readouterr().out
    sections = printed.split("\n\n")
    titles = [section.splitlines()[0] for section in sections[:-1]]
    assert titles == [kind + end for kind in ("mlp", "residual", "history") for end in ("", ", privileged")]
    assert "trunk.0          Linear           640 -> 8      5,128" in sections[0]
    table = sections[-1].splitlines()
    assert "float32, 1 at once" in table[1]
    assert "float32, 3 at once" in table[1]
    for section, line in zip(sections, table[2:], strict=False):
        total = sum(int(row.split()[-1].replace(",", "")) for row in section.splitlines()[1:])
        assert f"{total:,}" in line.split()
        assert line.count(" us") in (2, 4)


@pytest.mark.parametrize("config", networks.Config(width=24, layers=3, history=5).networks(), ids=network_costs.title)
def test_every_parameter_belongs_to_a_layer(config):
    """Seen to fail when the layers within a block are skipped."""
    network = ActorCritic(config)

    listed = sum(int(line.split()[-1].replace(",", "")) for line in network_costs.layers(network))

    assert listed == network_costs.parameters(network) == sum(w.numel() for w in network.state_dict().values())


def test_multiply_adds_are_those_of_the_products():
    """Counted by hand: inputs times outputs of each layer; for the history the questions to 5 events and the answers.

    Seen to fail when they are not halved (a multiplication and an addition are two operations).
    """

    def count(kind: Any, privileged: bool = False) -> int:
        return network_costs.multiply_adds(ActorCritic(NetworkConfig(kind, 32, 2, 5, privileged)))

    heads = 32 * NUM_ACTIONS + 32
    plain = 640 * 32 + 32 * 32 + heads
    assert count("mlp") == plain
    assert count("mlp", privileged=True) == plain + (640 + 728) * 32 + 32 * 32
    assert count("residual") == 640 * 32 + 4 * 32 * 32 + heads
    assert count("history") == plain + 2 * 32 * 64 + 2 * 5 * 64


def test_larger_networks_cost_more():
    """Microseconds of one decision. Seen to fail when the cost is that of an empty loop."""
    small, large = (
        network_costs.cost(ActorCritic(NetworkConfig(width=width)).eval(), 64, torch.float32, 0.02)
        for width in (16, 1024)
    )

    assert 0.01 < small < large / 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batches": ()}, "batches must be numbers of decisions, at least 1, got ()"),
        ({"batches": (0,)}, "batches must be numbers of decisions, at least 1, got (0,)"),
        ({"seconds": 0.0}, "seconds must be above 0, got 0.0"),
        ({"seconds": float("nan")}, "seconds must be above 0, got nan"),
        ({"width": 0}, "network.width must be at least 1, got 0"),
    ],
)
def test_what_cannot_be_measured_is_refused(settings, message):
    """Seen to fail without the checks."""
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the whole message is compared)
        networks.Config(**settings)
    assert str(refused.value) == message
