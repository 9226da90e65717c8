"""The game as a Gymnasium environment: one seat learns, policies play the others."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import logger

from uno_flex_env.actions import NUM_ACTIONS, TEXTS
from uno_flex_env.display import RENDER_FPS, RENDER_MODES, Display, table_of
from uno_flex_env.errors import IllegalActionError, NotationError
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.options import ILLEGAL, check_choice, check_episode, check_whole, checked_rules, checked_seed
from uno_flex_env.rules import MAX_PLAYERS, Rules
from uno_flex_env.spaces import ActionSpace, Observation, observation_space
from uno_flex_env.vector import EXTERNAL, bot_number, make_batch

Policy = Callable[[Observation], npt.ArrayLike]
"""Takes a batch, a dict of arrays {"observation": (B, 640), "action_mask": (B, 216)} and "history": (B, H, 3) if the
environment has one, and answers with B legal actions. Here B is 1."""

Opponents = str | Policy | Sequence[str | Policy]


class SingleAgentEnv(gymnasium.Env[Observation, np.int64]):
    """UNO Flex for one learner: `gymnasium.make("UnoFlex-v0", ...)`.

    An episode is one round, or one match. Observations and actions are those of `uno_flex_env.uno_flex_v0`; the legal
    actions are in the observation, in `info["action_mask"]` and in `action_masks()`. The opponents move inside `step`;
    rewards that fall on their turns arrive on the learner's next step. A deal that ends before the learner has
    decided anything is dealt again.

    Args:
        num_players: 2 to 8.
        rules: `Rules`, or a dict of the switches that are not official.
        opponents: one for all, or one for each, clockwise from the learner: the name of a rule bot (`"random"`,
            `"flex_any"`, `"never_flex"`, `"always_flex"`, `"flex_when_stuck"`) or a `Policy`.
        seat: of the learner; "random" draws one for each episode.
        match: play a whole match to `rules.target_score` instead of one round.
        reward: "win" (1 for the winner, -1/(n-1) for each loser) or "points" (each loser pays its hand's points / 100
            to the winner). In a match "win" comes once, at its end, and "points" after every round.
        history: the last so many public events in the observation.
        max_decisions: truncate an episode after so many decisions of the learner; None for no limit.
        illegal: what an illegal action does. "raise": IllegalActionError, and nothing changes. "terminate": the
            episode ends with reward -1 and a logged warning, for learners that don't know masks.
        render_mode: None, "ansi", "rgb_array" or "human"; all show what the learner sees.

    Attributes:
        learner: the learner's seat in this episode.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": RENDER_FPS}  # noqa: RUF012

    learner: int

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
        max_decisions: int | None = None,
        illegal: Literal["raise", "terminate"] = "raise",
        render_mode: Literal["ansi", "rgb_array", "human"] | None = None,
    ) -> None:
        self.rules = checked_rules(rules)
        check_episode(num_players, self.rules, match, reward, history, max_decisions)
        check_choice("illegal", illegal, ILLEGAL)
        check_choice("render_mode", render_mode, (None, *RENDER_MODES))
        if seat != "random":
            check_whole("seat", seat, 0, num_players - 1)
        self.num_players, self.match, self.reward, self.history = num_players, match, reward, history
        self.seat, self.max_decisions, self.illegal, self.render_mode = seat, max_decisions, illegal, render_mode
        self.opponents = checked_opponents(opponents, num_players)
        self.observation_space: gymnasium.Space[Any] = observation_space(history)
        self.action_space = ActionSpace()
        self._display = None if render_mode is None else Display(render_mode)
        self._dealt = False  # reset has been called
        self._live = False  # between reset and the end of the episode
        self._due = 0.0  # rewards that the learner has not been handed yet
        self._connect()

    def _connect(self) -> None:
        """Make what `_CONNECTED` names: the batch of one game that plays, and the rows that it reads and writes."""
        events = self.history if self._display is None else max(self.history, 1)  # the display shows the last one
        self._games = make_batch(
            1, self.num_players, self.rules, self.match, self.reward, events, self.max_decisions, deal_again=False
        )
        self._actions = np.full(1, -1, np.int32)
        self._observations = np.zeros((1, NUM_FEATURES), np.uint8)
        self._masks = np.zeros((1, NUM_ACTIONS), np.int8)
        self._histories = np.full((1, events, 3), -1, np.int16)
        self._rewards = np.zeros((1, self.num_players), np.float32)
        self._terminated, self._truncated = np.zeros(1, np.uint8), np.zeros(1, np.uint8)
        self._movers = np.full(1, -1, np.int8)
        finals = np.zeros((1, 0, NUM_FEATURES), np.uint8)
        self._games.set_buffers(
            self._actions,
            self._observations,
            self._masks,
            self._histories,
            self._rewards,
            self._terminated,
            self._truncated,
            self._movers,
            finals,
            0,
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Deal a new episode and play it on to the learner's first decision.

        Args:
            seed: of this episode and of `np_random`, which seeds the episodes after it and draws random seats.
            options: accepted and ignored; the constructor's options stay.
        """
        if seed is None:
            episode_seed = int(self.np_random.integers(1 << 64, dtype=np.uint64))
        else:
            episode_seed = seed = checked_seed(seed)
        super().reset(seed=seed)
        self.learner = int(self.np_random.integers(self.num_players)) if self.seat == "random" else int(self.seat)
        self._take_seats()
        self._games.seed(episode_seed)
        self._games.reset()
        self._dealt = self._live = True
        self._due = self._reward()
        self._let_opponents_play()
        while self._movers[0] < 0:
            self._games.reset_games(np.ones(1, np.uint8))
            self._due = self._reward()
            self._let_opponents_play()
        if self.render_mode == "human":
            self.render()
        return self._observe(), self._info()

    def _take_seats(self) -> None:
        """Tell the core which seats its bots play; all others are asked from here."""
        controllers = np.full((1, MAX_PLAYERS), EXTERNAL, np.uint8)
        for offset, opponent in enumerate(self.opponents, start=1):
            if isinstance(opponent, str):
                controllers[0, (self.learner + offset) % self.num_players] = bot_number(opponent)
        self._games.set_seats(controllers, np.array([self.learner], np.uint8))

    def step(self, action: int | np.integer[Any]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take the learner's action and let the opponents play on to its next decision, or to the end.

        Raises:
            IllegalActionError: the action is not legal now (under `illegal="raise"`); nothing has changed then.
            NotationError: it is no action at all.
            ResetNeeded: the episode is over, or none has begun.
        """
        if not self._live:
            raise gymnasium.error.ResetNeeded("the episode is over, or none has begun: call reset() before step()")
        if not self.action_space.contains(action):
            raise NotationError(f"an action must be a whole number from 0 to {NUM_ACTIONS - 1}, got {action!r}")
        if not self._masks[0, action]:
            return self._refuse(int(action))
        self._advance(int(action))
        self._let_opponents_play()
        reward, self._due = self._due, 0.0
        terminated, truncated = bool(self._terminated[0]), bool(self._truncated[0])
        self._live = not (terminated or truncated)
        if self.render_mode == "human":
            self.render()
        return self._observe(), reward, terminated, truncated, self._info()

    def _advance(self, action: int) -> None:
        self._actions[0] = action
        self._games.step()
        self._due += self._reward()

    def _reward(self) -> float:
        return float(self._rewards[0, self.learner])

    def _let_opponents_play(self) -> None:
        """Ask the policies that are not the core's until the learner decides or the episode is over."""
        while (mover := int(self._movers[0])) not in (-1, self.learner):
            self._advance(self._ask(mover))

    def _ask(self, seat: int) -> int:
        offset = (seat - self.learner) % self.num_players
        policy = self.opponents[offset - 1]
        assert not isinstance(policy, str)
        answer = np.asarray(policy({name: part[None] for name, part in self._observe().items()}))
        who = f"opponent {offset} ({getattr(policy, '__name__', type(policy).__name__)}) at seat {seat}"
        if answer.shape != (1,) or not np.issubdtype(answer.dtype, np.integer):
            raise ValueError(f"{who} must answer with 1 whole number, shape (1,), got {answer!r}")
        action = int(answer[0])
        if not 0 <= action < NUM_ACTIONS or not self._masks[0, action]:
            raise IllegalActionError(f"{who} chose {self._illegal(action)}")
        return action

    def _refuse(self, action: int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        if self.illegal == "raise":
            raise IllegalActionError(self._illegal(action))
        logging.getLogger(__name__).warning("the episode ends with reward -1: %s", self._illegal(action))
        self._live, self._due = False, 0.0
        self._masks[:] = 0
        return self._observe(), -1.0, True, False, self._info()

    def _illegal(self, action: int) -> str:
        name = f" ({TEXTS[action]})" if 0 <= action < NUM_ACTIONS else ""
        legal = ", ".join(f"{number} ({TEXTS[number]})" for number in np.flatnonzero(self._masks[0]))
        return f"action {action}{name}, which is illegal now; legal: {legal}"

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(216,) bool: the legal actions, under the name that sb3-contrib looks for."""
        legal: npt.NDArray[np.bool_] = self._masks[0].astype(np.bool_)
        return legal

    def _observe(self) -> Observation:
        observation = {"observation": self._observations[0].copy(), "action_mask": self._masks[0].copy()}
        if self.history:
            observation["history"] = self._histories[0, -self.history :].copy()
        return observation

    def _info(self) -> dict[str, Any]:
        return {"action_mask": self._masks[0].copy()}

    def render(self) -> str | npt.NDArray[np.uint8] | None:
        """Draw what the learner sees: text, an array (height, width, 3), or in a window."""
        if not self._dealt:
            raise gymnasium.error.ResetNeeded("call reset() before render()")
        if self._display is None:
            logger.warn("render() does nothing without a render_mode; give one to gymnasium.make")
            return None
        offset, action, _ = self._histories[0, -1].tolist()
        last = None if action < 0 else ((self.learner + offset) % self.num_players, action)
        return self._display.draw(table_of(self._games.state(0), self.rules, self.match, last), self.learner)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._display is not None:
            self._display.close()

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name not in _CONNECTED}
        return kept | {"games": self._games.to_bytes() if self._dealt else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        games = state.pop("games")
        self.__dict__.update(state)
        self._connect()
        if games is not None:
            self._games.from_bytes(games)
            self._games.refresh()


_CONNECTED = (
    "_games",
    "_actions",
    "_observations",
    "_masks",
    "_histories",
    "_rewards",
    "_terminated",
    "_truncated",
    "_movers",
)


def checked_opponents(opponents: Opponents, num_players: int) -> tuple[str | Policy, ...]:
    """One opponent for each seat but the learner's; ValueError if there are too many, too few or unknown ones."""
    one_for_all = isinstance(opponents, str) or callable(opponents)
    each = (opponents,) * (num_players - 1) if one_for_all else tuple(opponents)  # type: ignore[arg-type]
    if len(each) != num_players - 1:
        raise ValueError(f"{num_players} players: the learner has {num_players - 1} opponents, got {len(each)}")
    for opponent in each:
        if isinstance(opponent, str):
            bot_number(opponent)
        elif not callable(opponent):
            raise ValueError(f"an opponent must be the name of a rule bot or a policy, got {opponent!r}")
    return each  # type: ignore[return-value]
