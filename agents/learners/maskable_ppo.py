"""MaskablePPO from sb3-contrib as a learner, to compare with: another's PPO (arXiv:1707.06347) with masks
(arXiv:2006.14171).

Implementation details:

- Rollouts, advantages and updates are sb3-contrib's own. It does not know self-play: one seat of each game learns.
- One member of the league, drawn again for each update, plays all other seats. If the task has no league, the members
  are `PAST_SELVES`, of which the first is the policy at the beginning.
- `game.num_steps` counts only the decisions of the learning seat.
- The network is an `ActorCritic` with the first weights that every learner has, under other names
  (`agents.learners.sb3_network`).
- The learning rate falls in a straight line.
- It learns on the CPU in float32.
- Stable-Baselines3 draws from the global generators of numpy and torch. They are exchanged for a learner's own while it
  draws.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from agents.learners.behavior import behavior
from agents.learners.buffers import MAX_CAPACITY
from agents.learners.league import LEARNER, League, LeagueConfig
from agents.learners.q_network import check_range
from agents.learners.schedules import between
from agents.learners.snapshots import league_state, restore_league
from agents.learners.task import LearningTask
from agents.network import new_network
from agents.network_policy import NetworkPolicy
from uno_flex_env.batch import BOTS
from uno_flex_env.errors import needs_extra

if TYPE_CHECKING:
    from sb3_contrib import MaskablePPO as Model

    from uno_flex_env.envs.sb3 import SB3VecEnv

PAST_SELVES = LeagueConfig(fraction=1.0, snapshots=4, every=100_000)
"""The league of a task that has none."""

LOGGED = {
    "policy_loss": "policy_gradient_loss",
    "value_loss": "value_loss",
    "approx_kl": "approx_kl",
    "clip_fraction": "clip_fraction",
    "explained_variance": "explained_variance",
    "learning_rate": "learning_rate",
}
"""The name of each metric, and in Stable-Baselines3's log."""


@dataclass(frozen=True)
class MaskablePPOConfig:
    """Hyperparameters of MaskablePPO, by the names that they have in sb3-contrib."""

    learning_rate: float = 2e-3
    """Adam's learning rate at the beginning."""
    learning_rate_end: float = 1e-4
    """The learning rate at the end; in between it falls in a straight line."""
    batch_size: int = 2048
    """Decisions per gradient step."""
    n_epochs: int = 3
    """Passes over each rollout."""
    gamma: float = 1.0
    """Discount per decision of the same player."""
    gae_lambda: float = 0.95
    """Lambda of generalized advantage estimation."""
    clip_range: float = 0.2
    """How far the probability ratio may move from 1."""
    ent_coef: float = 0.01
    """Weight of the entropy bonus."""
    vf_coef: float = 0.5
    """Weight of the critic's squared error."""
    max_grad_norm: float = 0.5
    """Gradients with a larger norm are scaled down to this norm."""

    def __post_init__(self) -> None:
        check_range("maskable_ppo", self, gamma=(0.0, 1.0), gae_lambda=(0.0, 1.0), clip_range=(1e-6, 1.0))
        check_range("maskable_ppo", self, learning_rate=(1e-12, inf), max_grad_norm=(1e-12, inf))
        check_range("maskable_ppo", self, learning_rate_end=(0.0, inf), ent_coef=(0.0, inf), vf_coef=(0.0, inf))
        check_range("maskable_ppo", self, batch_size=(2, MAX_CAPACITY), n_epochs=(1, 1000))


class MaskablePPO:
    """See `agents.learners.learner.Learner`.

    Args:
        task: games with one number of players, an mlp or a residual network, and a league in all games or none.
        seed: fixes the first weights and all random numbers.
        config: the hyperparameters.

    Attributes:
        model: sb3-contrib's learner.
        envs: its games.
        league: the opponents.
        decisions: how many decisions it has learned from.

    Raises:
        ValueError: the task has something else, or a rollout ends with a minibatch of a single decision.
        ModuleNotFoundError: sb3-contrib is not installed; the message names the extra.
    """

    Config = MaskablePPOConfig

    def __init__(self, task: LearningTask, seed: int, config: MaskablePPOConfig = MaskablePPOConfig()) -> None:
        _check(task, config)
        self.task = task if task.league.fraction else replace(task, league=PAST_SELVES)
        self.config = config
        self.league = League(self.task.league, seed)
        if self.league.history:
            raise ValueError("league.opponents must not read past events for the learner maskable_ppo")
        self._like = new_network(task.network, seed)
        self._progress = 0.0
        self._generators = _first_generators(seed)
        with self._own_generators():
            self.envs, self.model = self._make(seed)
        self.decisions = 0
        self.metrics: Mapping[str, float] = {}

    def _make(self, seed: int) -> tuple[SB3VecEnv, Model]:
        # Here, since loading Stable-Baselines3 takes seconds.
        with needs_extra("the learner maskable_ppo", "train"):
            from sb3_contrib import MaskablePPO as Model
            from stable_baselines3.common.logger import Logger

        from agents.learners.sb3_network import Trunk, copy_weights
        from uno_flex_env.envs.sb3 import SB3VecEnv

        game, config = self.task.game, self.config
        envs = SB3VecEnv(
            game.num_envs,
            game.players[0],
            game.rules,
            seat="random",
            reward=game.reward,
            max_decisions=game.max_decisions,
            num_threads=self.task.num_threads,
        )
        model = Model(
            "MlpPolicy",
            envs,
            learning_rate=lambda _: between(config.learning_rate, config.learning_rate_end, self._progress),
            n_steps=game.num_steps,
            batch_size=config.batch_size,
            n_epochs=config.n_epochs,
            gamma=config.gamma,
            gae_lambda=config.gae_lambda,
            clip_range=config.clip_range,
            ent_coef=config.ent_coef,
            vf_coef=config.vf_coef,
            max_grad_norm=config.max_grad_norm,
            policy_kwargs={
                "features_extractor_class": Trunk,
                "features_extractor_kwargs": {"network": self._like},
                "net_arch": [],
                "ortho_init": False,
            },
            device="cpu",
        )
        model.set_logger(Logger(None, []))  # writes nothing; `step` reads the metrics there
        copy_weights(self._like, model.policy)
        envs.seed(seed)
        envs.reset()
        model._last_obs, model._last_episode_starts = envs.seat_games.observations.copy(), np.ones(game.num_envs, bool)
        return envs, model

    def load_weights(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Replace the random first weights."""
        from agents.learners.sb3_network import copy_weights

        network = deepcopy(self._like)
        network.load_state_dict(weights)
        copy_weights(network, self.model.policy)

    # ---- Learning ----

    def step(self, progress: float) -> int:
        """Collect one rollout and do one update."""
        self._progress = progress
        self._choose_opponent()
        rollout = self.task.game.num_envs * self.task.game.num_steps
        policy = self.model.policy
        before = deepcopy((policy.state_dict(), policy.optimizer.state_dict()))
        try:
            with self._own_generators():
                self.model.learn(rollout, self._report, log_interval=sys.maxsize, reset_num_timesteps=False)
        except ValueError:  # of Stable-Baselines3, for logits that are not finite
            if self._is_finite():
                raise
        if not self._is_finite():
            policy.load_state_dict(before[0])
            policy.optimizer.load_state_dict(before[1])
            raise FloatingPointError("the weights are not finite")
        self.metrics = self._measured()
        every, decisions = self.task.league.every, self.decisions
        self.decisions += rollout
        if self.task.league.snapshots and self.decisions // every > decisions // every:
            self._take_snapshot()
        return rollout

    def _choose_opponent(self) -> None:
        """Give all other seats to a member of the league until the next update, also in games that have begun."""
        if not self.league.plays:
            self._take_snapshot()
        seating = self.league.seat_everyone(np.array(self.task.game.players))
        self._member = int(seating[seating != LEARNER][0])
        policy = self.league.policies[self._member]
        # The engine plays rule bots by itself.
        self.envs.opponents = policy.name if policy.name in BOTS else policy

    def _report(self, local: Mapping[str, Any], _: Mapping[str, Any]) -> bool:
        """Tell the league which games of a step have ended, and how."""
        rewards, ended, players = local["rewards"], local["dones"], self.task.game.players[0]
        table = np.full((len(rewards), players), self._member, np.int16)
        table[:, 0] = LEARNER
        self.league.report(table, rewards[:, None], ended, np.full(len(rewards), players))
        return True

    def _is_finite(self) -> bool:
        return all(bool(torch.isfinite(weights).all()) for weights in self.model.policy.parameters())

    def _measured(self) -> dict[str, float]:
        """The metrics of the update that was just done."""
        logged, rollout = self.model.logger.name_to_value, self.model.rollout_buffer
        metrics = {name: float(logged[f"train/{theirs}"]) for name, theirs in LOGGED.items()}
        metrics |= {"entropy": -float(logged["train/entropy_loss"]), "entropy_coef": self.config.ent_coef}
        legal = torch.from_numpy(rollout.action_masks[::8] != 0)
        return metrics | behavior(legal, torch.from_numpy(rollout.actions[::8, 0]).long())

    def policy(self, name: str = "agent") -> NetworkPolicy:
        """A copy of the policy, which samples its actions."""
        from agents.learners.sb3_network import as_network

        return NetworkPolicy(as_network(self.model.policy, self._like), name, reward=self.task.game.reward)

    def _take_snapshot(self) -> None:
        self.league.add(self.policy(f"{self.league.taken:05}"))

    @contextmanager
    def _own_generators(self) -> Iterator[None]:
        """Exchange the global generators for this learner's."""
        outside = _generators(), random.getstate()  # importing Stable-Baselines3 draws from `random`
        _set_generators(self._generators)
        try:
            yield
        finally:
            self._generators = _generators()
            _set_generators(outside[0])
            random.setstate(outside[1])

    # ---- Resuming ----

    def state_dict(self) -> dict[str, Any]:
        """See `Learner.state_dict`."""
        starts = self.model._last_episode_starts
        assert starts is not None
        return {
            "decisions": self.decisions,
            "network": self.model.policy.state_dict(),
            "optimizer": self.model.policy.optimizer.state_dict(),
            "league": league_state(self.league),
            "games": torch.frombuffer(bytearray(self.envs.seat_games.to_bytes()), dtype=torch.uint8),
            "starts": torch.from_numpy(starts.copy()),
            "generators": self._generators,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """See `Learner.load_state_dict`."""
        self.decisions = state["decisions"]
        self.model.policy.load_state_dict(state["network"])
        self.model.policy.optimizer.load_state_dict(state["optimizer"])
        restore_league(self.league, state["league"], self.policy)
        self.envs.seat_games.from_bytes(state["games"].numpy().tobytes())
        self.model._last_obs = self.envs.seat_games.observations.copy()
        self.model._last_episode_starts = state["starts"].numpy().copy()
        self._generators = state["generators"]


def _check(task: LearningTask, config: MaskablePPOConfig) -> None:
    """ValueError if the task has what MaskablePPO does not support."""

    def need(fine: bool, name: str, wanted: str, got: object) -> None:
        if not fine:
            raise ValueError(f"{name} must be {wanted} for the learner maskable_ppo, got {got!r}")

    need(len(task.game.players) == 1, "game.players", "one number", task.game.players)
    need(not task.network.events, "network.kind", '"mlp" or "residual"', task.network.kind)
    need(not task.network.privileged, "network.privileged", "false", task.network.privileged)
    need(task.league.fraction in (0.0, 1.0), "league.fraction", "0 or 1", task.league.fraction)
    need(task.device in ("auto", "cpu"), "device", '"cpu"', task.device)
    # Advantages are normalized in each minibatch, which one alone can't be.
    rollout = task.game.num_envs * task.game.num_steps
    if rollout % config.batch_size == 1:
        raise ValueError(
            "maskable_ppo.batch_size must leave no minibatch of a single decision: game.num_envs * game.num_steps is "
            f"{rollout:,}, batch_size {config.batch_size:,}"
        )


def _first_generators(seed: int) -> dict[str, Any]:
    """The states of new generators. (`np.random.seed` takes no seed of more than 32 bits.)"""
    numpy = np.random.RandomState(np.random.MT19937(seed))
    return _plain(numpy.get_state(legacy=True), torch.Generator().manual_seed(seed).get_state())


def _generators() -> dict[str, Any]:
    """The states of the global generators."""
    return _plain(np.random.get_state(), torch.get_rng_state())  # noqa: NPY002 (Stable-Baselines3 draws from it)


def _plain(numpy: Any, torchs: torch.Tensor) -> dict[str, Any]:
    """Two states as tensors and plain values."""
    _, key, *rest = numpy
    return {"numpy": [torch.from_numpy(np.asarray(key).astype(np.int64)), *rest], "torch": torchs}


def _set_generators(states: Mapping[str, Any]) -> None:
    key, *rest = states["numpy"]
    np.random.set_state(("MT19937", key.numpy().astype(np.uint32), *rest))  # noqa: NPY002
    torch.set_rng_state(states["torch"])
