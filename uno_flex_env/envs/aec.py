"""The game as a PettingZoo environment; `uno_flex_env.uno_flex_v0` documents it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import repeat
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from gymnasium import logger, spaces
from gymnasium.utils import seeding
from pettingzoo.utils.env import AECEnv, AECIterable
from pettingzoo.utils.env_logger import EnvLogger

from uno_flex_env import _core
from uno_flex_env._core import State
from uno_flex_env.actions import ACTIONS, NUM_ACTIONS, describe_illegal
from uno_flex_env.envs.spaces import ActionSpace, Observation, observation_space
from uno_flex_env.errors import IllegalActionError, NotationError
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.options import (
    DEFAULT_MAX_DECISIONS,
    ILLEGAL,
    EpisodeOptions,
    check_one_of,
    check_whole,
    checked_rules,
)
from uno_flex_env.render.modes import RENDER_FPS, RENDER_MODES, Display
from uno_flex_env.render.table import Table
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import checked_seed

NUM_PLAYS = sum(action.verb == "play" for action in ACTIONS)
"""Actions below this number put a card on the pile."""

# The mask in `infos` of all agents but the current one. They share this array, so it is read-only.
_NO_ACTION = np.zeros(NUM_ACTIONS, np.int8)
_NO_ACTION.setflags(write=False)


class OutOfBoundsError(NotationError, AssertionError):
    """The argument of `step` is not an action. It is also an AssertionError, which PettingZoo's wrapper raises."""


class UnoFlexEnv(AECEnv[str, Observation, int]):  # type: ignore[misc]  # pettingzoo ships no types
    """UNO Flex with an agent for each seat. Arguments, spaces and rewards: see `uno_flex_env.uno_flex_v0`.

    The checks of PettingZoo's three standard wrappers are built in, where they cost little.

    Attributes:
        episode_seed: the seed of the current episode. `Game(num_players, rules, seed=episode_seed, dealer=dealer)` has
            the same deal.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  (PettingZoo declares it without ClassVar)
        "name": "uno_flex_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": RENDER_FPS,
    }

    episode_seed: int

    def __init__(
        self,
        num_players: int = 2,
        rules: Rules | Mapping[str, Any] | None = None,
        *,
        match: bool = False,
        reward: Literal["win", "points"] = "win",
        history: int = 0,
        render_mode: Literal["ansi", "rgb_array", "human"] | None = None,
        max_decisions: int | None = DEFAULT_MAX_DECISIONS,
        illegal: Literal["raise", "terminate"] = "raise",
        render_seat: Literal["current_player"] | int | None = "current_player",
        dealer: int | None = None,
    ) -> None:
        super().__init__()
        self.options = EpisodeOptions(
            num_players,
            checked_rules(rules),
            match=match,
            reward=reward,
            history=history,
            max_decisions=max_decisions,
            dealer=dealer,
        )
        check_one_of("illegal", illegal, ILLEGAL)
        check_one_of("render_mode", render_mode, (None, *RENDER_MODES))
        if render_seat not in ("current_player", None):
            check_whole("render_seat", render_seat, 0, num_players - 1)
        self.num_players, self.illegal = num_players, illegal
        self.render_mode, self.render_seat = render_mode, render_seat
        self.possible_agents = [f"player_{seat}" for seat in range(num_players)]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self.observation_spaces = {agent: observation_space(history) for agent in self.possible_agents}
        self.action_spaces = {agent: ActionSpace() for agent in self.possible_agents}
        self.state_space = spaces.Box(0, 1, (num_players * NUM_FEATURES,), np.uint8)
        self._generator: np.random.Generator | None = None
        self._display = None if render_mode is None else Display(render_mode)
        self._ready = False  # reset has been called
        self._live = False  # between reset and the end of the episode
        self._moved = False  # since agent_iter last yielded
        self._warned = False  # of an illegal action, once

    # ---- Playing ----

    @property
    def np_random(self) -> np.random.Generator:
        """The generator that draws the seeds of episodes that you reset without a seed."""
        if self._generator is None:
            self._generator, _ = seeding.np_random()
        return self._generator

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Deal a new episode.

        Args:
            seed: seeds this episode's deals and `np_random`, which seeds later episodes; 0 to 2**64 - 1.
            options: accepted, as the API requires, and ignored.
        """
        if seed is None:
            self.episode_seed = int(self.np_random.integers(1 << 64, dtype=np.uint64))
        else:
            self.episode_seed = checked_seed(seed)
            self._generator, _ = seeding.np_random(self.episode_seed)
        self._episode = _core.Episode(self.options.core, self.episode_seed)
        self._begin_agents()
        self._begin_round()
        self._ready = self._live = self._moved = True
        if self.render_mode == "human":
            self.render()

    def _begin_agents(self) -> None:
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self._paid = False  # `rewards` holds something

    def _begin_round(self) -> None:
        self._last: tuple[int, Any] | None = None  # the seat that decided last, and its action
        self._clear_masks()
        self._select(self._episode.current_player)

    @property
    def core(self) -> State:
        """The core's state of the current round, hidden cards included.

        It changes with every step, so copy it if you want to keep or change it. You may assign another state.
        """
        return self._episode.state

    @core.setter
    def core(self, state: State) -> None:
        self._episode.state = state

    def step(self, action: int | np.integer[Any] | None) -> None:
        """Take the action of `agent_selection`. If that agent is finished, the action must be None.

        Raises:
            AssertionError: `reset` has not been called, or the action is out of bounds (`OutOfBoundsError`).
            IllegalActionError: the action is not legal now (under `illegal="raise"`). The game does not change.
        """
        if not self._live:
            return self._step_apart(action)
        episode = self._episode
        seat = episode.current_player
        try:
            ended = episode.apply(action)  # type: ignore[arg-type]  # numpy's integers are taken, too
        except (TypeError, ValueError):
            return self._refuse(action)
        agent = self.agent_selection
        self._cumulative_rewards[agent] = 0.0
        if self._paid:
            self._clear_rewards()
            self._paid = False
        self._moved = True
        self._last = seat, action
        if ended:
            self._pay_and_go_on()
        else:
            current_player = episode.current_player
            if current_player != seat:
                self.infos[agent] = {"action_mask": _NO_ACTION}
            self._select(current_player)
        if self.render_mode == "human":
            self.render()
        return None

    def _select(self, current_player: int) -> None:
        self.agent_selection = agent = self.possible_agents[current_player]
        mask = np.empty(NUM_ACTIONS, np.int8)
        self._episode.write_mask(mask)
        self.infos[agent] = {"action_mask": mask}

    def _clear_masks(self) -> None:
        self.infos: dict[str, dict[str, Any]] = {agent: {"action_mask": _NO_ACTION} for agent in self.agents}

    def _pay_and_go_on(self) -> None:
        """After the end of a round or of the episode, pay the rewards, then end the episode or go on."""
        episode = self._episode
        self.rewards = dict(zip(self.agents, episode.rewards, strict=True))
        self._paid = True
        self._accumulate_rewards()
        if episode.terminated or episode.truncated:
            self._finish(terminated=episode.terminated, truncated=episode.truncated)
        else:
            self._begin_round()

    def _finish(self, *, terminated: bool, truncated: bool) -> None:
        """End the episode for all agents. Each agent then takes one step with None."""
        self._live = False
        self.terminations = dict.fromkeys(self.agents, terminated)
        self.truncations = dict.fromkeys(self.agents, truncated)
        self._clear_masks()
        self._deads_step_first()

    # ---- Looking ----

    def observation_space(self, agent: str) -> spaces.Dict:
        """Of one agent; the same object every time."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> ActionSpace:
        """Of one agent; the same object every time."""
        return self.action_spaces[agent]

    def observe(self, agent: str) -> Observation:
        """The current observation of this agent, in new arrays."""
        if not self._ready:
            EnvLogger.error_observe_before_reset()
        seat = self._seats[agent]
        row = np.empty(NUM_FEATURES, np.uint8)
        self._episode.encode(seat, row)
        if self._live and seat == self._episode.current_player:
            mask = np.empty(NUM_ACTIONS, np.int8)
            self._episode.write_mask(mask)
        else:
            mask = np.zeros(NUM_ACTIONS, np.int8)
        if self.options.history:
            history = np.empty((self.options.history, 3), np.int16)
            self._episode.write_history(seat, history)
            return {"observation": row, "action_mask": mask, "history": history}
        return {"observation": row, "action_mask": mask}

    def last(self, observe: bool = True) -> tuple[Observation | None, float, bool, bool, dict[str, Any]]:
        """Observation, reward since its last step, termination, truncation and info of `agent_selection`."""
        agent = self.agent_selection
        return (
            self.observe(agent) if observe else None,
            self._cumulative_rewards[agent],
            self.terminations[agent],
            self.truncations[agent],
            self.infos[agent],
        )

    def state(self) -> npt.NDArray[np.uint8]:
        """The input of a centralized critic, (n * 640,) uint8: the observations of all seats, one after the other."""
        if not self._ready:
            EnvLogger.error_state_before_reset()
        rows = np.empty((self.num_players, NUM_FEATURES), np.uint8)
        for seat, row in enumerate(rows):
            self._episode.encode(seat, row)
        return rows.ravel()

    def render(self) -> str | npt.NDArray[np.uint8] | None:
        """Draw what `render_seat` sees, as the render mode says: text, an array (height, width, 3), or in a window."""
        if not self._ready:
            EnvLogger.error_render_before_reset()
        if self._display is None:
            logger.warn("render() does nothing without a render_mode; give one to the constructor")
            return None
        seat = self.render_seat
        if seat == "current_player":
            seat = self.core.current_player if self._live else None
        table = Table.from_state(self.core, self.options.rules, match=self.options.match, last=self._last)
        return self._display.draw(table, seat)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._display is not None:
            self._display.close()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if "_episode" in state:
            state["_episode"] = self._episode.to_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_episode" in state:
            self._episode = _core.Episode.from_bytes(self.options.core, state["_episode"])

    # ---- What PettingZoo's three wrappers check ----

    def __getattr__(self, name: str) -> Any:
        # Python calls this only for missing attributes.
        if name in _SET_BY_RESET:
            raise AttributeError(f"{name} cannot be accessed before reset")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def agent_iter(self, max_iter: int = 2**63) -> AECIterable[str, Observation, int]:
        """Yield `agent_selection` until all agents are done. Call `step` once for each agent."""
        if not self._ready:
            EnvLogger.error_agent_iter_before_reset()
        return _Agents(self, max_iter)

    def _step_apart(self, action: Any) -> None:
        """A step before or after the episode."""
        if not self._ready:
            EnvLogger.error_step_before_reset()
        self._moved = True
        if not self.agents:
            EnvLogger.warn_step_after_terminated_truncated()
            return
        if action is not None:
            self._check_bounds(action)
            raise IllegalActionError(f"{self.agent_selection} is finished: only None is left to it, got {action}")
        self._was_dead_step(action)

    def _refuse(self, action: Any) -> None:
        self._check_bounds(action)
        agent = self.agent_selection
        if self.illegal == "raise":
            mask = np.empty(NUM_ACTIONS, np.int8)
            self._episode.write_mask(mask)
            raise IllegalActionError(f"{agent}: {describe_illegal(int(action), mask)}") from None
        if not self._warned:
            EnvLogger.warn_on_illegal_move()
        self._warned = True
        self._moved = True
        self._cumulative_rewards[agent] = 0.0
        self.rewards = dict.fromkeys(self.agents, 0.0) | {agent: -1.0}
        self._accumulate_rewards()
        # Both flags, as in PettingZoo's wrapper.
        self._finish(terminated=True, truncated=True)

    def _check_bounds(self, action: Any) -> None:
        agent = self.agent_selection
        if not self.action_spaces[agent].contains(action):
            bounds = f"a whole number from 0 to {NUM_ACTIONS - 1}"
            raise OutOfBoundsError(f"{agent}'s action must be {bounds}, got {action!r}") from None


_SET_BY_RESET = {
    *("agents", "agent_selection", "num_agents", "rewards", "terminations", "truncations", "infos"),
    *("core", "episode_seed"),
}


class _Agents(AECIterable[str, Observation, int]):  # type: ignore[misc]
    env: UnoFlexEnv

    def __iter__(self) -> Iterator[str]:
        env = self.env
        for _ in repeat(None, self.max_iter) if self.max_iter < 1 << 62 else repeat(None):
            if not env.agents:
                return
            if not env._moved:
                raise AssertionError("need to call step() or reset() in a loop over `agent_iter`")
            env._moved = False
            yield env.agent_selection
