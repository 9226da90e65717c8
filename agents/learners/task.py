"""What a learner is given: the games, the network, and the device that it computes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from agents.learners.league import LeagueConfig
from agents.network import NetworkConfig
from uno_flex_env import VecEnv
from uno_flex_env.options import EpisodeOptions
from uno_flex_env.rules import Rules


@dataclass(frozen=True)
class GameConfig:
    """The games of training."""

    players: tuple[int, ...] = (2,)
    """Numbers of players; the games are divided evenly among them."""
    rules: Rules = Rules()  # noqa: RUF009 (it is frozen)
    """Switches of the rules (rules 9)."""
    num_envs: int = 4096
    """Total number of games that are played side by side."""
    num_steps: int = 32
    """Decisions of each game in a step of the learner."""
    reward: Literal["win", "points"] = "win"
    """What a round pays. win: 1 to the winner, -1 / (n - 1) to each other player. points: the points of all other hands
    to the winner, minus its own points to each other player, in hundreds."""
    max_decisions: int | None = None
    """Cut off a round after so many decisions; the critic then estimates its value. You need this only for rules under
    which rounds can be endless."""

    def __post_init__(self) -> None:
        if not self.players or len(set(self.players)) != len(self.players):
            raise ValueError(f"game.players must be different numbers of players, got {self.players}")
        for count in self.players:
            EpisodeOptions(count, self.rules, reward=self.reward, max_decisions=self.max_decisions)
        if self.num_envs < len(self.players):
            raise ValueError(f"game.num_envs must be at least {len(self.players)}, got {self.num_envs}")
        if self.num_steps < 1:
            raise ValueError(f"game.num_steps must be at least 1, got {self.num_steps}")


@dataclass(frozen=True)
class LearningTask:
    """What a learner has to learn, and with what."""

    game: GameConfig = GameConfig()
    network: NetworkConfig = NetworkConfig()  # noqa: RUF009 (it is frozen)
    league: LeagueConfig = LeagueConfig()  # noqa: RUF009 (it is frozen)
    """Opponents of the learner, in addition to itself."""
    device: str = "cpu"
    """Where the network learns: see `agents.device.choose_device`."""
    num_threads: int = 1
    """Threads that step the games. The caller sets those of torch."""


def make_envs(game: GameConfig, history: int = 0, num_threads: int = 1) -> tuple[list[VecEnv], list[slice]]:
    """Make the games of a task.

    Returns:
        One `VecEnv` for each number of players, and its part of all N games.
    """
    each, more = divmod(game.num_envs, len(game.players))
    sizes = [each + (i < more) for i in range(len(game.players))]
    envs = [
        VecEnv(
            size,
            count,
            game.rules,
            reward=game.reward,
            history=history,
            max_decisions=game.max_decisions,
            num_threads=num_threads,
        )
        for size, count in zip(sizes, game.players, strict=True)
    ]
    ends = np.cumsum(sizes)
    return envs, [slice(int(end) - size, int(end)) for end, size in zip(ends, sizes, strict=True)]
