"""Many games with one learning seat each, as Gymnasium's `VectorEnv`, played by the core.

>>> import gymnasium, uno_flex_env.envs
>>> envs = gymnasium.make_vec("UnoFlex-v0", num_envs=1024, opponents="flex_when_stuck")
>>> observations, infos = envs.reset(seed=1)
>>> observations["observation"].shape, infos["action_mask"].shape
((1024, 640), (1024, 216))
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from uno_flex_env.envs.opponents import Observations, Opponents
from uno_flex_env.envs.seat_games import Rows, SeatGames
from uno_flex_env.envs.spaces import ActionSpace, observation_space
from uno_flex_env.errors import did_you_mean
from uno_flex_env.options import DEFAULT_MAX_DECISIONS, check_flag, check_one_of
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import checked_seed

Infos = dict[str, Any]
Floats = npt.NDArray[np.float64]


class UnoFlexVectorEnv(VectorEnv[Observations, npt.ArrayLike, npt.NDArray[Any]]):
    """B games of UNO Flex with one learning seat each: `gymnasium.make_vec("UnoFlex-v0", num_envs=B, ...)`.

    Each row is what `gymnasium.make("UnoFlex-v0")` plays: spaces, rewards and opponents are described there, in
    `uno_flex_env.envs.single_agent`. The legal actions are in the observation and in `infos["action_mask"]`. The mask
    of a finished game allows action 0 alone, so that a softmax over the legal actions is defined in every row.

    Args:
        num_envs: B, the number of games.
        num_players, rules, match, reward, history, max_decisions: see `uno_flex_env.options.EpisodeOptions`.
        opponents: one opponent for all other seats, or one for each, clockwise from the learning seat. The name of a
            rule bot plays inside the core. A policy with `act(decisions)` or a function of a batch is called once with
            all rows in which its seats act (see `uno_flex_env.envs.opponents`).
        seat: the learning seat; "random" draws one for each episode, from the game's seed and the episode's number.
        num_threads: threads that share the games.
        autoreset_mode: when a finished game resets (`gymnasium.vector.AutoresetMode`). NEXT_STEP: in the step after
            the one that ended it; that step ignores the action and has reward 0. SAME_STEP: in the step that ended it;
            the last observation and info are in `infos["final_obs"]` and `infos["final_info"]`. DISABLED: when you
            select it with `reset(options={"reset_mask": ...})`; an action before that is an error.
        copy: return copies of the observations. With False, the arrays themselves, which every step overwrites.
        others: options of `gymnasium.make` that a batch can't have. They are refused with what to use instead, unless
            they ask for what the batch does anyway.

    Raises:
        TypeError: an option is unknown, or a batch can't have it.
        ValueError: an option is out of range. The message names it.
    """

    metadata: dict[str, Any] = {"render_modes": [], "autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        num_players: int = 2,
        rules: Rules | Mapping[str, Any] | None = None,
        *,
        opponents: Opponents = "random",
        seat: int | Literal["random"] = 0,
        match: bool = False,
        reward: Literal["win", "points"] = "win",
        history: int = 0,
        max_decisions: int | None = DEFAULT_MAX_DECISIONS,
        num_threads: int = 1,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        **others: Any,
    ) -> None:
        _refuse(others)
        check_flag("copy", copy)
        modes = tuple(mode.value for mode in AutoresetMode)
        check_one_of("autoreset_mode", getattr(autoreset_mode, "value", autoreset_mode), modes)
        self.autoreset_mode, self.copy = AutoresetMode(autoreset_mode), copy
        self.metadata = type(self).metadata | {"autoreset_mode": self.autoreset_mode}
        self.seat_games = SeatGames(
            num_envs,
            num_players,
            rules,
            opponents=opponents,
            seat=seat,
            match=match,
            reward=reward,
            history=history,
            max_decisions=max_decisions,
            num_threads=num_threads,
        )
        self.num_envs = num_envs
        self.single_observation_space = observation_space(history)
        self.single_action_space = ActionSpace()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._over = np.zeros(num_envs, np.bool_)  # games that are over and not reset yet
        self._dealt = False  # reset has been called

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observations, Infos]:
        """Deal new episodes.

        Args:
            seed: a number seeds all games, each with a different sequence of episodes. A list has one seed per game,
                which then plays like a single environment with that seed. With None, each game begins the next episode
                of its sequence. In the first reset, and for a None in the list, `np_random` draws the seed.
            options: {"reset_mask": (B,) bool} resets only these games. Other options are accepted and ignored.
        """
        which = self._checked_mask(options)
        if isinstance(seed, (int, np.integer)):
            seed = checked_seed(int(seed))
            super().reset(seed=seed)
            if which.all():
                self.seat_games.reset(seed)
            else:
                self.seat_games.reset_games(which, self._drawn_seeds())
        elif seed is not None:
            self.seat_games.reset_games(which, self._seeds_of(seed))
        elif not self._dealt:
            self.seat_games.reset_games(which, self._drawn_seeds())
        else:
            self.seat_games.reset_games(which)
        self._dealt = True
        self._over[which] = False
        return self._observations(), self._infos()

    def _checked_mask(self, options: dict[str, Any] | None) -> Rows:
        everyone = np.ones(self.num_envs, np.bool_)
        which = (options or {}).get("reset_mask", everyone)
        if not isinstance(which, np.ndarray) or which.shape != (self.num_envs,) or which.dtype != np.bool_:
            raise ValueError(f"reset_mask must be a bool array of shape ({self.num_envs},), got {which!r}")
        if not which.any():
            raise ValueError("reset_mask names no game")
        if not (self._dealt or which.all()):
            raise gymnasium.error.ResetNeeded("the first reset deals all games: call it without a reset_mask")
        return which

    def _drawn_seeds(self) -> npt.NDArray[np.uint64]:
        return self.np_random.integers(1 << 64, size=self.num_envs, dtype=np.uint64)

    def _seeds_of(self, seeds: Sequence[int | None]) -> npt.NDArray[np.uint64]:
        if len(seeds) != self.num_envs:
            raise ValueError(f"one seed for each of {self.num_envs} games, got {len(seeds)}")
        drawn = self._drawn_seeds() if None in seeds else np.zeros(self.num_envs, np.uint64)
        return np.array(
            [drawn[game] if seed is None else checked_seed(seed) for game, seed in enumerate(seeds)], np.uint64
        )

    def step(
        self, actions: npt.ArrayLike
    ) -> tuple[Observations, Floats, npt.NDArray[np.bool_], npt.NDArray[np.bool_], Infos]:
        """Take one action in each game and let the opponents play on to the learning seat's next decision.

        Args:
            actions: (B,) whole numbers. Under NEXT_STEP those of finished games are ignored.

        Raises:
            IllegalActionError: an action is not legal. The message names the game, and no game has moved.
            ResetNeeded: `reset` has not been called, or not for a game that is over (under DISABLED).
        """
        if not self._dealt:
            raise gymnasium.error.ResetNeeded("call reset() before step()")
        games, mode = self.seat_games, self.autoreset_mode
        if mode is AutoresetMode.DISABLED and self._over.any():
            raise gymnasium.error.ResetNeeded(f"game {self._over.argmax()} is over: name it in reset_mask first")
        games.step(actions, alone=self._over)
        ended = games.terminated | games.truncated
        finals: Infos = {}
        if mode is AutoresetMode.SAME_STEP:
            finals = self._finals(ended)
            if ended.any():
                games.reset_games(ended)
        else:
            if self._over.any():
                games.reset_games(self._over)
            self._over = ended
        results = games.rewards.copy(), games.terminated.copy(), games.truncated.copy()
        return self._observations(), *results, self._infos() | finals

    def _observations(self) -> Observations:
        batch = self.seat_games.observe()
        return {name: part.copy() for name, part in batch.items()} if self.copy else batch

    def _infos(self) -> Infos:
        return {"action_mask": self.seat_games.action_masks.copy(), "_action_mask": np.ones(self.num_envs, np.bool_)}

    def _finals(self, ended: Rows) -> Infos:
        """`final_obs` and `final_info`: the last observation and info of each game that this step ended."""
        rows = np.flatnonzero(ended)
        if not rows.size:
            return {}
        parts = self.seat_games.observe(rows)
        last = np.full(self.num_envs, None, object)
        for i, game in enumerate(rows):
            last[game] = {name: part[i] for name, part in parts.items()}
        masks = np.zeros_like(self.seat_games.action_masks)
        masks[ended, 0] = 1
        info = {"action_mask": masks, "_action_mask": ended.copy()}
        return {"final_obs": last, "_final_obs": ended.copy(), "final_info": info, "_final_info": ended.copy()}


_DOES_ANYWAY: dict[str, Any] = {"illegal": "raise", "render_mode": None, "max_episode_steps": None}
_INSTEAD = {
    "illegal": "an illegal action raises IllegalActionError; choose under the action mask",
    "render_mode": "a batch draws no pictures; make one game with gymnasium.make, or with vectorization_mode='sync'",
    "max_episode_steps": "use max_decisions, which counts the learning seat's decisions",
}


def _refuse(others: dict[str, Any]) -> None:
    """TypeError for the first option that the batch does not have."""
    for name, value in others.items():
        if name not in _INSTEAD:
            known = inspect.signature(UnoFlexVectorEnv).parameters.keys() - {"others"}
            raise TypeError(f"UnoFlexVectorEnv has no option {name!r}{did_you_mean(name, known)}")
        if value != _DOES_ANYWAY[name]:
            raise TypeError(f"UnoFlexVectorEnv has no option {name!r}: {_INSTEAD[name]}")
