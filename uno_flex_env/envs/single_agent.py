"""The game as a Gymnasium environment: one seat learns, opponents play the others."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import logger

from uno_flex_env.actions import NUM_ACTIONS, describe_illegal
from uno_flex_env.envs.opponents import Opponents
from uno_flex_env.envs.seat_games import MASK_HINT, SeatGames
from uno_flex_env.envs.spaces import ActionSpace, Observation, observation_space
from uno_flex_env.errors import IllegalActionError, NotationError
from uno_flex_env.options import DEFAULT_MAX_DECISIONS, ILLEGAL, check_one_of
from uno_flex_env.render.modes import RENDER_FPS, RENDER_MODES, Display
from uno_flex_env.render.table import Table
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import checked_seed


class SingleAgentEnv(gymnasium.Env[Observation, np.int64]):
    """UNO Flex with one learning seat: `gymnasium.make("UnoFlex-v0", ...)`.

    Observations and actions are those of `uno_flex_env.uno_flex_v0`. The legal actions are in the observation, in
    `info["action_mask"]` and in `action_masks()`. After the end the mask allows only action 0, so that a softmax over
    the legal actions is defined. The opponents move inside `step`. Rewards from their turns belong to the learning
    seat's last step before them. If a deal ends before the learning seat has acted, it is dealt again.

    Args:
        num_players, rules, match, reward, history, max_decisions: see `uno_flex_env.options.EpisodeOptions`.
        opponents: one opponent for all other seats, or one for each, clockwise from the learning seat: the name of a
            rule bot (`"random"`, `"flex_any"`, `"never_flex"`, `"always_flex"`, `"flex_when_stuck"`), a policy with
            `act(decisions)`, or a function of a batch (see `uno_flex_env.envs.opponents`).
        seat: the learning seat; "random" draws one for each episode.
        illegal: the effect of an illegal action. "raise": IllegalActionError, and the game does not change.
            "terminate": the episode ends with reward -1, for learners without masks. The first one logs a warning.
        render_mode: None, "ansi", "rgb_array" or "human"; all show what the learning seat sees.

    Attributes:
        seat_games: the one game, as `SeatGames`; its `opponents` may be set between any two steps.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}  # noqa: RUF012

    def __init__(
        self,
        num_players: int = 2,
        rules: Rules | Mapping[str, Any] | None = None,
        *,
        opponents: Opponents = "random",
        seat: int | Literal["random"] = 0,
        match: bool = False,
        reward: Literal["win", "points"] = "win",
        history: int = 0,
        max_decisions: int | None = DEFAULT_MAX_DECISIONS,
        illegal: Literal["raise", "terminate"] = "raise",
        render_mode: Literal["ansi", "rgb_array", "human"] | None = None,
    ) -> None:
        check_one_of("illegal", illegal, ILLEGAL)
        check_one_of("render_mode", render_mode, (None, *RENDER_MODES))
        self.illegal, self.render_mode = illegal, render_mode
        self.seat_games = SeatGames(
            1,
            num_players,
            rules,
            opponents=opponents,
            seat=seat,
            match=match,
            reward=reward,
            history=history,
            max_decisions=max_decisions,
            keep_last=render_mode is not None,  # the display shows the last action
        )
        self.observation_space: gymnasium.Space[Any] = observation_space(history)
        self.action_space = ActionSpace()
        self._display = None if render_mode is None else Display(render_mode)
        self._dealt = False  # reset has been called
        self._live = False  # between reset and the end of the episode
        self._warned = False  # of an illegal action, once

    @property
    def learning_seat(self) -> int:
        """The seat that learns in this episode."""
        return int(self.seat_games.learning_seats[0])

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Deal a new episode and play it on to the learning seat's first decision.

        Args:
            seed: begins a new sequence of episodes. Each reset without a seed begins the next episode of the sequence.
                The first reset draws a seed if you give none.
            options: accepted and ignored.
        """
        seed = None if seed is None else checked_seed(seed)
        super().reset(seed=seed)
        if seed is None and self._dealt:
            self.seat_games.reset_games(np.ones(1, np.bool_))
        else:
            self.seat_games.reset(int(self.np_random.integers(1 << 64, dtype=np.uint64)) if seed is None else seed)
        self._dealt = self._live = True
        if self.render_mode == "human":
            self.render()
        return self._observe(), {"action_mask": self._mask()}

    def step(self, action: int | np.integer[Any]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take the learning seat's action and let the opponents play on to its next decision, or to the end.

        Raises:
            IllegalActionError: the action is not legal now (under `illegal="raise"`). The game does not change.
            NotationError: the argument is not an action.
            ResetNeeded: the episode is over, or none has begun.
        """
        if not self._live:
            raise gymnasium.error.ResetNeeded("the episode is over, or none has begun: call reset() before step()")
        if not self.action_space.contains(action):
            raise NotationError(f"an action must be a whole number from 0 to {NUM_ACTIONS - 1}, got {action!r}")
        games = self.seat_games
        if games.action_masks[0, action]:
            games.step(np.array([action]))
            reward, terminated, truncated = float(games.rewards[0]), bool(games.terminated[0]), bool(games.truncated[0])
        else:
            self._refuse(int(action))
            reward, terminated, truncated = -1.0, True, False
        self._live = not (terminated or truncated)
        if self.render_mode == "human":
            self.render()
        return self._observe(), reward, terminated, truncated, {"action_mask": self._mask()}

    def _refuse(self, action: int) -> None:
        why = describe_illegal(action, self.seat_games.action_masks[0])
        if self.illegal == "raise":
            hint = f'{MASK_HINT}; illegal="terminate" ends the episode instead'
            raise IllegalActionError(f"{why}. {hint}")
        if not self._warned:
            logging.getLogger(__name__).warning(
                "%s. The episode ends with reward -1. Later illegal actions are not logged.", why
            )
        self._warned = True

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(216,) bool: the legal actions, under the name that sb3-contrib looks for."""
        return self._mask().view(np.bool_)

    def _mask(self) -> npt.NDArray[np.int8]:
        mask: npt.NDArray[np.int8] = self.seat_games.action_masks[0].copy()
        if not self._live:
            mask[:] = 0
            mask[0] = 1
        return mask

    def _observe(self) -> Observation:
        observation = {"observation": self.seat_games.observations[0].copy(), "action_mask": self._mask()}
        if self.seat_games.options.history:
            observation["history"] = self.seat_games.histories[0].copy()
        return observation

    def render(self) -> str | npt.NDArray[np.uint8] | None:
        """Draw what the learning seat sees: text, an array (height, width, 3), or in a window."""
        if not self._dealt:
            raise gymnasium.error.ResetNeeded("call reset() before render()")
        if self._display is None:
            logger.warn("render() does nothing without a render_mode; give one to gymnasium.make")
            return None
        games, options = self.seat_games, self.seat_games.options
        offset, action, _ = games.histories[0, -1].tolist()
        last = None if action < 0 else ((self.learning_seat + offset) % games.num_players, action)
        table = Table.from_state(games.state(0), options.rules, match=options.match, last=last)
        return self._display.draw(table, self.learning_seat)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._display is not None:
            self._display.close()
