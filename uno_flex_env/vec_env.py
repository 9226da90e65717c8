"""A batch environment in which you choose the actions of every seat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from uno_flex_env._core import State
from uno_flex_env.actions import NUM_ACTIONS, describe_illegal
from uno_flex_env.batch import Batch, checked_actions
from uno_flex_env.errors import IllegalActionError
from uno_flex_env.options import EpisodeOptions, checked_rules
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import checked_seed


class VecEnv:
    """A batch of games in which you choose the actions of every seat. Row g of each array belongs to game g.

    Observation and mask are those of the current player. A finished game resets within the step that ends it
    (autoreset). Then `rewards`, `terminated` and `truncated` belong to the episode that ended; observation and mask
    belong to the next one. The episodes of game g depend only on the seed, on g and on the actions. The number of games
    and of threads does not change them.

    Args:
        num_envs: B, the number of games.
        num_players, rules, match, reward, history: see `uno_flex_env.options.EpisodeOptions`.
        max_decisions: None by default: games are not cut off, and a game between policies that never end it goes on. A
            loop has to bootstrap the value of a truncated game from `final_obs`, which takes B * n * 640 bytes.
        num_threads: threads that share the batch; more than there are free cores makes it slower.
        seed: the seed of the first `reset`; None draws one.

    The environment owns the arrays, and the next `step` overwrites them. Copy what you want to keep, or provide your
    own arrays with `use_buffers`. `uno_flex_env.batch.Batch` describes each array.

    Attributes:
        batch: the games and their arrays.
        options: the options of an episode.
    """

    def __init__(
        self,
        num_envs: int,
        num_players: int = 2,
        rules: Rules | Mapping[str, Any] | None = None,
        *,
        match: bool = False,
        reward: Literal["win", "points"] = "win",
        history: int = 0,
        max_decisions: int | None = None,
        num_threads: int = 1,
        seed: int | None = None,
    ) -> None:
        self.options = EpisodeOptions(
            num_players,
            checked_rules(rules),
            match=match,
            reward=reward,
            history=history,
            max_decisions=max_decisions,
        )
        self.batch = Batch(num_envs, self.options, autoreset=True, num_threads=num_threads)
        self.num_envs, self.num_players = num_envs, num_players
        self._seed = None if seed is None else checked_seed(seed)

    # ---- The arrays ----

    @property
    def observations(self) -> npt.NDArray[np.uint8]:
        """(B, 640) uint8"""
        return self.batch.observations

    @property
    def action_masks(self) -> npt.NDArray[np.int8]:
        """(B, 216) int8, 1 for each legal action"""
        return self.batch.action_masks

    @property
    def histories(self) -> npt.NDArray[np.int16]:
        """(B, history, 3) int16, the last public events"""
        return self.batch.histories

    @property
    def current_player(self) -> npt.NDArray[np.int8]:
        """(B,) int8, the seat to act"""
        return self.batch.current_player

    @property
    def rewards(self) -> npt.NDArray[np.float32]:
        """(B, n) float32, the reward of each seat in the last step"""
        return self.batch.rewards

    @property
    def terminated(self) -> npt.NDArray[np.bool_]:
        """(B,) bool"""
        return self.batch.terminated

    @property
    def truncated(self) -> npt.NDArray[np.bool_]:
        """(B,) bool"""
        return self.batch.truncated

    @property
    def final_obs(self) -> npt.NDArray[np.uint8]:
        """(B, n, 640) uint8, only with `max_decisions`: the last observation of each seat in an episode that ended in
        the last step, for bootstrapping truncated episodes"""
        return self.batch.final_obs

    def use_buffers(
        self, observations: npt.NDArray[np.uint8] | None = None, action_masks: npt.NDArray[np.int8] | None = None
    ) -> None:
        """See `uno_flex_env.batch.Batch.use_buffers`."""
        self.batch.use_buffers(observations, action_masks)

    # ---- Playing ----

    @property
    def num_threads(self) -> int:
        return self.batch.num_threads

    @property
    def level(self) -> str:
        """The instruction set in use; the environment variable UNO_FLEX_LEVEL forces another."""
        return self.batch.level

    def reset(self, seed: int | None = None) -> npt.NDArray[np.uint8]:
        """Reset every game and return `observations`. Without a seed, the first call uses the constructor's seed and
        later calls draw a new one."""
        if seed is None:
            seed, self._seed = self._seed, None
        self.batch.seed(checked_seed(seed))
        self.batch.reset()
        return self.batch.observations

    def step(self, actions: npt.ArrayLike | None = None) -> npt.NDArray[np.uint8]:
        """Take one action in each game and write the arrays. Returns `observations`.

        Args:
            actions: (B,) whole numbers; -1 leaves a game unchanged. None takes the actions that `sample` has written.

        Raises:
            IllegalActionError: an action is illegal. The message names the game, the action and the legal actions. No
                game has moved.
            RuntimeError: `reset` has not been called, or another thread is stepping the games.
        """
        batch = self.batch
        if actions is not None and actions is not batch.actions:
            batch.actions[...] = checked_actions(actions, self.num_envs)
        try:
            batch.step()
        except ValueError:
            self._refuse_illegal()
            raise
        return batch.observations

    def _refuse_illegal(self) -> None:
        """Raise for the first game with an illegal action. The legal actions come from the states, because
        `use_buffers` may have replaced the last masks."""
        mask = np.zeros(NUM_ACTIONS, np.int8)
        for game, action in enumerate(self.batch.actions):
            self.state(game).write_mask(mask)
            if action >= 0 and not mask[action]:
                raise IllegalActionError(f"game {game}: {describe_illegal(int(action), mask)}")

    def sample(self) -> npt.NDArray[np.int32]:
        """A uniformly random legal action for each game, (B,) int32, drawn from the game's generator. The array is the
        environment's action buffer."""
        self.batch.sample(self.batch.actions)
        return self.batch.actions

    def state(self, game: int) -> State:
        """A copy of one game's state."""
        return self.batch.state(game)

    def hidden_hands(self, out: npt.NDArray[np.uint8] | None = None) -> npt.NDArray[np.uint8]:
        """See `uno_flex_env.batch.Batch.hidden_hands`."""
        return self.batch.hidden_hands(out)

    def to_bytes(self) -> bytes:
        """All data that determine how the batch goes on, for exact resumption with `from_bytes`."""
        return self.batch.to_bytes()

    def from_bytes(self, data: bytes) -> None:
        """Resume where `to_bytes` was called on a VecEnv made with the same arguments. Rewrites observations, masks,
        histories and current players."""
        self.batch.from_bytes(data)
