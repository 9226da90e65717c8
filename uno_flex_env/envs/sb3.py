"""Many games with one learning seat each, as Stable-Baselines3's `VecEnv`, with masks for sb3-contrib's MaskablePPO.

>>> from sb3_contrib import MaskablePPO
>>> from uno_flex_env.envs.sb3 import SB3VecEnv
>>> envs = SB3VecEnv(256, opponents="flex_when_stuck")
>>> model = MaskablePPO("MlpPolicy", envs).learn(1_000_000)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from uno_flex_env.envs.opponents import Opponents
from uno_flex_env.envs.seat_games import Rows, SeatGames
from uno_flex_env.envs.spaces import ActionSpace
from uno_flex_env.errors import needs_extra
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.options import DEFAULT_MAX_DECISIONS
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import checked_seed, derived_seeds

with needs_extra("SB3VecEnv", "train"):
    from stable_baselines3.common.vec_env import VecEnv
    from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn


class SB3VecEnv(VecEnv):
    """B games of UNO Flex, stepped together by the core, with one learning seat each.

    The observation is flat, `Box(0, 1, (640,), uint8)`. The legal actions come from `action_masks()`, which MaskablePPO
    calls through `env_method`. A finished game resets in the step that ends it, as Stable-Baselines3 requires.
    `infos[i]["terminal_observation"]` is the last observation of the learning seat. `infos[i]["TimeLimit.truncated"]`
    is True for a truncated game, whose value has to be bootstrapped.

    Args:
        num_envs: B, the number of games.
        num_players, rules, opponents, seat, match, reward, max_decisions, num_threads: as in
            `uno_flex_env.envs.gym_vector.UnoFlexVectorEnv`.
    """

    def __init__(
        self,
        num_envs: int,
        num_players: int = 2,
        rules: Rules | Mapping[str, Any] | None = None,
        *,
        opponents: Opponents = "random",
        seat: int | Literal["random"] = 0,
        match: bool = False,
        reward: Literal["win", "points"] = "win",
        max_decisions: int | None = DEFAULT_MAX_DECISIONS,
        num_threads: int = 1,
    ) -> None:
        self.seat_games = SeatGames(
            num_envs,
            num_players,
            rules,
            opponents=opponents,
            seat=seat,
            match=match,
            reward=reward,
            max_decisions=max_decisions,
            num_threads=num_threads,
        )
        self.render_mode = None
        super().__init__(num_envs, spaces.Box(0, 1, (NUM_FEATURES,), np.uint8), ActionSpace())
        self._generator = np.random.default_rng()
        self._dealt = False

    @property
    def opponents(self) -> Opponents:
        """The opponents in the other seats. New ones may be set between any two steps and take over games in
        progress."""
        return self.seat_games.opponents

    @opponents.setter
    def opponents(self, opponents: Opponents) -> None:
        self.seat_games.opponents = opponents

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(B, 216) bool, the legal actions."""
        return self.seat_games.action_masks.astype(np.bool_)

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seed the next `reset`, and return the seed of each game.

        Game i plays like a single environment with the i-th of these seeds. They are derived from `seed`:
        runs with the seeds 1 and 2 share no deals. Stable-Baselines3's own vector environments seed game i with
        `seed + i`, so that such runs share nearly all of them.
        """
        drawn = int(self._generator.integers(1 << 32)) if seed is None else checked_seed(seed)
        self._seeds = derived_seeds(drawn, np.arange(self.num_envs)).tolist()
        return self._seeds

    def reset(self) -> VecEnvObs:
        """Reset every game, with the seeds set by `seed` or else to the next episode of each game's sequence."""
        everyone = np.ones(self.num_envs, np.bool_)
        if not self._dealt and self._seeds[0] is None:
            self.seed()
        if self._seeds[0] is None:
            self.seat_games.reset_games(everyone)
        else:
            self.seat_games.reset_games(everyone, np.array(self._seeds, np.uint64))
        self._dealt = True
        self._reset_seeds()
        self._reset_options()
        return self.seat_games.observations.copy()

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Keep the actions (B,) for `step_wait`."""
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        """Take the actions and let the opponents play on to the learning seats' next decisions.

        Raises:
            IllegalActionError: an action is not legal. The message names the game, and no game has moved.
        """
        games = self.seat_games
        games.step(self._actions)
        ended: Rows = games.terminated | games.truncated
        infos: list[dict[str, Any]] = [{"TimeLimit.truncated": cut} for cut in games.truncated.tolist()]
        rewards = games.rewards.astype(np.float32)
        if ended.any():
            rows = np.flatnonzero(ended)
            for row, last in zip(rows, games.observations[rows], strict=True):
                infos[row]["terminal_observation"] = last
            games.reset_games(ended)
        return games.observations.copy(), rewards, ended, infos

    def close(self) -> None:
        """Nothing to close."""

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute of this object, which all games share, repeated for each requested game."""
        return [getattr(self, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute for all games. No attribute belongs to a single game."""
        if len(list(self._get_indices(indices))) != self.num_envs:
            raise ValueError(f"{attr_name} belongs to all games: it can't be set for some of them")
        getattr(self, attr_name)  # raises if there is no such attribute
        setattr(self, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: VecEnvIndices = None, **method_kwargs: Any
    ) -> list[Any]:
        """The rows of `action_masks()`, the only method that can be called per game."""
        if method_name != "action_masks":
            raise AttributeError(f"the games have no method {method_name!r}, only action_masks")
        masks = self.action_masks(*method_args, **method_kwargs)
        return list(masks if indices is None else masks[list(self._get_indices(indices))])

    def env_is_wrapped(self, wrapper_class: type[gymnasium.Wrapper], indices: VecEnvIndices = None) -> list[bool]:
        """False for each game: there are no single environments to wrap."""
        return [False for _ in self._get_indices(indices)]
