"""Training by MaskablePPO from sb3-contrib, for comparison, with the settings, measurements and files of `train`.

One seat of each game learns, and `game.num_steps` and `game.max_decisions` count only its decisions. One member of the
league, drawn again for each update, plays all other seats. The network is an `ActorCritic` whose parts have other names
in Stable-Baselines3. A run saves it as an `ActorCritic`, which plays like any other. Stable-Baselines3's own files are
not written, because reading them runs code.

Stable-Baselines3 seeds the global generators of Python, numpy and torch, and draws from them.
"""

from __future__ import annotations

import copy
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
from gymnasium import spaces
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Logger
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import Tensor, nn

from agents import checkpoint
from agents.device import choose_device
from agents.learners.league import LEARNER, League
from agents.match.workers import cores
from agents.network import ActorCritic
from agents.network_policy import NetworkPolicy
from agents.policy_factory import make_policy
from experiments.training.advice import what_now
from experiments.training.monitor import Monitor
from experiments.training.train_config import TrainConfig
from experiments.training.training_run import begin, final_table, measure
from uno_flex_env.batch import BOTS
from uno_flex_env.envs.sb3 import SB3VecEnv

LOGGED = {
    "policy_loss": "policy_gradient_loss",
    "value_loss": "value_loss",
    "approx_kl": "approx_kl",
    "clip_fraction": "clip_fraction",
    "explained_variance": "explained_variance",
    "learning_rate": "learning_rate",
}
"""The name of each metric in `Monitor`, and in Stable-Baselines3's log."""


def train(config: TrainConfig) -> int:
    """Train to the end, then print the final table; the exit status is 1 if the run has diverged."""
    check(config)
    folder = begin(config)
    num_threads = config.num_threads or cores()
    torch.set_num_threads(num_threads)
    run = Run(config, folder, num_threads)
    print(f"{folder}: sb3-contrib's MaskablePPO, {run.model.device.type}, {num_threads} threads, float32", flush=True)
    with Monitor(folder, config.decisions, 0) as monitor:
        try:
            # It must never dump its log: `Supervision` reads the metrics of an update from there.
            run.model.learn(config.decisions, callback=Supervision(run, monitor), log_interval=sys.maxsize)
        except (FloatingPointError, ValueError):
            if run.is_finite():
                raise
            # Stable-Baselines3 raises a ValueError for logits that are not finite, and prints them all.
            file = folder / checkpoint.POLICY
            print(f"the run has diverged: weights are not finite; {file} holds the last good ones", flush=True)
            return 1
    print(final_table(config, folder, num_threads), what_now(config, folder), sep="\n\n", flush=True)
    return 0


def check(config: TrainConfig) -> None:
    """Raise ValueError for a setting that this learner does not support."""

    def need(fine: bool, name: str, wanted: str, got: object) -> None:
        if not fine:
            raise ValueError(f'{name} must {wanted} with learner = "sb3", got {got!r}')

    network, league, ppo = config.network, config.league, config.ppo
    need(len(config.game.players) == 1, "game.players", "be one number", config.game.players)
    need(network.kind != "history", "network.kind", 'be "mlp" or "residual"', network.kind)
    need(not network.privileged, "network.privileged", "be false", network.privileged)
    need(league.fraction == 1.0, "league.fraction", "be 1: opponents have all other seats", league.fraction)
    need(bool(league.opponents), "league.opponents", "name whom the learner meets first", league.opponents)
    for name in league.opponents:
        need(not make_policy(name).history, "league.opponents", "name policies that read no history", name)
    need(ppo.magnet_coef == 0.0, "ppo.magnet_coef", "be 0", ppo.magnet_coef)
    need(ppo.precision != "bfloat16", "ppo.precision", 'be "auto" or "float32"', ppo.precision)
    need(not config.init_from, "init_from", "be empty", config.init_from)


class Run:
    """A learner with its games and its league.

    Attributes:
        model: sb3-contrib's learner.
        envs: its games.
        league: the opponents that it meets in them.
    """

    def __init__(self, config: TrainConfig, folder: Path, num_threads: int) -> None:
        game = config.game
        self.config, self.folder = config, folder
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self._network = ActorCritic(config.network)
        self.league = League(config.league, config.seed)
        (self.players,) = game.players
        self.envs = SB3VecEnv(
            game.num_envs,
            self.players,
            game.rules,
            seat="random",
            reward=game.reward,
            max_decisions=game.max_decisions,
            num_threads=num_threads,
        )
        self.model = _learner(config, self.envs, self._network)
        self.choose_opponent()
        self.save_policy()

    def choose_opponent(self) -> None:
        """Give all other seats to a member of the league until the next update, also in games that have begun."""
        seating = self.league.seat_everyone(np.array([self.players]))
        self.member = int(seating[seating != LEARNER][0])
        policy = self.league.policies[self.member]
        # The engine plays rule bots by itself.
        self.envs.opponents = policy.name if policy.name in BOTS else policy

    def report(self, rewards: np.ndarray, ended: np.ndarray) -> None:
        """Tell the league the learner's rewards of a step, (B,) float32, and which games have ended, (B,) bool."""
        table = np.full((len(rewards), self.players), self.member, np.int16)
        table[:, 0] = LEARNER
        self.league.report(table, rewards[:, None], ended, np.full(len(rewards), self.players))

    def is_finite(self) -> bool:
        """Whether all weights are finite."""
        return all(bool(torch.isfinite(weights).all()) for weights in self.model.policy.parameters())

    def policy(self, name: str = "agent", *, greedy: bool = True) -> NetworkPolicy:
        """A copy of the policy as it is now."""
        return NetworkPolicy(as_network(self.model.policy, self._network), name, greedy=greedy)

    def save_policy(self) -> None:
        """Write the network, for playing."""
        about = {"decisions": self.model.num_timesteps, "config": self.config.portable()}
        network = as_network(self.model.policy, self._network)
        checkpoint.save_network(self.folder / checkpoint.POLICY, network, about)


class Supervision(BaseCallback):
    """Writes metrics, measures strength and takes snapshots between two updates, as `training_run` does."""

    def __init__(self, run: Run, monitor: Monitor) -> None:
        super().__init__()
        self.run, self.monitor = run, monitor
        self._updates = 0
        self._start = self._began = time.perf_counter()

    def _on_step(self) -> bool:
        self.run.report(self.locals["rewards"], self.locals["dones"])
        return True

    def _on_rollout_start(self) -> None:
        if self.num_timesteps:
            self._after_update()
        self.run.choose_opponent()
        model, ppo = self.run.model, self.run.config.ppo
        left = max(0.0, 1.0 - self.num_timesteps / self.run.config.decisions)
        model.ent_coef = ppo.entropy_coef_end + (ppo.entropy_coef - ppo.entropy_coef_end) * left
        self._began = time.perf_counter()

    def _on_training_end(self) -> None:
        self._after_update()

    def _after_update(self) -> None:
        run, config, decisions = self.run, self.run.config, self.num_timesteps
        if not run.is_finite():
            raise FloatingPointError("the weights are not finite")
        each = config.game.num_envs * config.game.num_steps
        metrics = named(self.logger.name_to_value)
        metrics["entropy_coef"] = run.model.ent_coef
        now = time.perf_counter()
        metrics["decisions_per_second"] = each / (now - self._began)
        metrics["minutes"] = minutes = (now - self._start) / 60
        self._updates += 1
        self.monitor.update(decisions, self._updates, metrics, run.league.win_rates())
        before, snapshots, mark = decisions - each, config.league, config.decisions / config.evaluations
        if snapshots.snapshots and decisions // snapshots.every > before // snapshots.every:
            run.league.add(run.policy(f"{run.league.taken:05}", greedy=False))
        if decisions // mark > before // mark or decisions >= config.decisions:
            run.save_policy()
            self.monitor.strength(decisions, minutes, measure(config, run.policy()))
            self.monitor.flush()


def named(logged: Mapping[str, float]) -> dict[str, float]:
    """The metrics of an update that Stable-Baselines3 has logged, by the names of `Monitor`."""
    metrics = {name: float(logged[f"train/{theirs}"]) for name, theirs in LOGGED.items()}
    return metrics | {"entropy": -float(logged["train/entropy_loss"])}


# ---- The network ----


class Trunk(BaseFeaturesExtractor):
    """The trunk of an `ActorCritic`, (B, 640) to (B, width), as a features extractor of Stable-Baselines3."""

    def __init__(self, observation_space: spaces.Box, network: ActorCritic) -> None:
        super().__init__(observation_space, network.config.width)
        self.trunk = copy.deepcopy(network.trunk)

    def forward(self, observations: Tensor) -> Tensor:
        body: Tensor = self.trunk(observations)
        return body


def _learner(config: TrainConfig, envs: SB3VecEnv, network: ActorCritic) -> MaskablePPO:
    """MaskablePPO with these settings and the weights of this network; it writes no log."""
    ppo = config.ppo
    model = MaskablePPO(
        "MlpPolicy",
        envs,
        learning_rate=lambda left: ppo.learning_rate_end + (ppo.learning_rate - ppo.learning_rate_end) * max(left, 0.0),
        n_steps=config.game.num_steps,
        batch_size=ppo.minibatch_size,
        n_epochs=ppo.update_epochs,
        gamma=ppo.gamma,
        gae_lambda=ppo.gae_lambda,
        clip_range=ppo.clip_coef,
        ent_coef=ppo.entropy_coef,
        vf_coef=ppo.value_coef,
        max_grad_norm=ppo.max_grad_norm,
        policy_kwargs={
            "features_extractor_class": Trunk,
            "features_extractor_kwargs": {"network": network},
            "net_arch": [],
            "ortho_init": False,
        },
        seed=config.seed,
        device=choose_device(config.device),
    )
    model.set_logger(Logger(None, []))
    for ours, theirs in _parts(model.policy):
        theirs.load_state_dict(getattr(network, ours).state_dict())
    return model


def as_network(policy: MaskableActorCriticPolicy, like: ActorCritic) -> ActorCritic:
    """A copy on the CPU of the network that Stable-Baselines3 trains; `like` gives the shape and is not changed."""
    network = copy.deepcopy(like)
    for ours, theirs in _parts(policy):
        getattr(network, ours).load_state_dict(theirs.state_dict())
    return network


def _parts(policy: MaskableActorCriticPolicy) -> list[tuple[str, nn.Module]]:
    """The parts of a Stable-Baselines3 policy, by their names in an `ActorCritic`."""
    trunk = policy.features_extractor
    assert isinstance(trunk, Trunk)
    return [("trunk", trunk.trunk), ("policy", policy.action_net), ("value", policy.value_net)]
