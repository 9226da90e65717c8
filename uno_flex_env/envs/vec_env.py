"""Many games at once: the native batch environment, its faces for Gymnasium and Stable-Baselines3, and playouts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from uno_flex_env import _core
from uno_flex_env._core import State
from uno_flex_env.actions import NUM_ACTIONS, describe_illegal
from uno_flex_env.errors import IllegalActionError
from uno_flex_env.observation import LAYOUT, NUM_FEATURES
from uno_flex_env.options import REWARDS, check_episode, check_whole, checked_rules, checked_seed
from uno_flex_env.rules import MAX_PLAYERS, Rules

BOTS: tuple[str, ...] = tuple(_core.BOTS)
"""Names of the rule bots that the core plays by itself."""

EXTERNAL, EVERYONE = 255, 255
"""A seat whose decisions come from outside the core; no learner in particular."""

NUM_HIDDEN_FEATURES: int = (MAX_PLAYERS - 1) * LAYOUT["hand"].shape[0]
"""Of the other hands: see `VecEnv.hidden_hands`."""

Actions = npt.ArrayLike


class VecEnv:
    """A batch of games in which every seat decides; row g of each array is game g, at whoever decides there.

    Finished games deal again within the step that ends them: `rewards`, `terminated` and `truncated` are of the game
    that ended, observation and mask the first of the next one. Game g's episodes depend on the seed, g and the actions
    alone, so neither the number of games nor of threads changes them.

    Args:
        num_games: rows of the batch.
        num_players: 2 to 8, the same in every game.
        rules: `Rules`, or a dict of the switches that differ from the official ones.
        match: play whole matches to `rules.target_score` instead of single rounds.
        reward: "win" (1 for the winner, -1/(n-1) for each loser) or "points" (each loser pays its hand's points / 100
            to the winner). In a match "win" comes once, at its end, and "points" after every round.
        history: rows of `histories`, the last public events.
        max_decisions: truncate an episode after so many decisions; None for no limit.
        num_threads: threads that share the batch; more than there are free cores makes it slower.
        seed: of the first `reset`; None for a new one.

    The arrays belong to the environment and are overwritten by the next `step`; copy what is to last, or hand in
    your own with `use_buffers`.

    Attributes:
        observations: (B, 640) uint8; see `uno_flex_env.observation`.
        action_masks: (B, 216) int8, 1 for legal.
        current_player: (B,) int8, the seat that decides.
        rewards: (B, n) float32, what each seat gets from this step.
        terminated, truncated: (B,) bool.
        histories: (B, history, 3) int16: seat offset, action, cards drawn; -1 where there is no event yet.
        final_observations: (B, n, 640) uint8, with `max_decisions` only: what each seat saw at the end of a game that
            ended in this step, to bootstrap a truncated one. Other rows are stale.
    """

    def __init__(
        self,
        num_games: int,
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
        self.num_games, self.num_players, self.rules = num_games, num_players, checked_rules(rules)
        self.match, self.reward, self.history, self.max_decisions = match, reward, history, max_decisions
        self.games = make_batch(
            num_games, num_players, self.rules, match, reward, history, max_decisions, True, num_threads
        )
        self._seed = seed
        self._actions = np.full(num_games, -1, np.int32)
        self._flags = np.zeros((2, num_games), np.bool_)
        self.terminated, self.truncated = self._flags
        self.observations = aligned((num_games, NUM_FEATURES), np.uint8)
        self.action_masks: npt.NDArray[np.int8] = aligned((num_games, NUM_ACTIONS), np.int8)
        self.current_player = np.full(num_games, -1, np.int8)
        self.rewards = np.zeros((num_games, num_players), np.float32)
        self.histories = np.full((num_games, history, 3), -1, np.int16)
        finals = num_players if max_decisions is not None else 0
        self.final_observations = np.zeros((num_games, finals, NUM_FEATURES), np.uint8)
        self._connect()

    @property
    def num_threads(self) -> int:
        return int(self.games.threads)

    @property
    def level(self) -> str:
        """The instruction set in use; the environment variable UNO_FLEX_LEVEL forces another."""
        return str(self.games.level)

    def _connect(self) -> None:
        self.games.set_buffers(
            self._actions,
            self.observations,
            self.action_masks,
            self.histories,
            self.rewards,
            self.terminated.view(np.uint8),
            self.truncated.view(np.uint8),
            self.current_player,
            self.final_observations,
            self.final_observations.shape[1],
        )

    def use_buffers(
        self, observations: npt.NDArray[np.uint8] | None = None, action_masks: npt.NDArray[np.int8] | None = None
    ) -> None:
        """Let the next `reset` or `step` write its observations and masks into these C-contiguous arrays, for example
        into the rows of a rollout; the environment keeps a reference until others are given."""
        old = self.observations, self.action_masks
        self.observations = old[0] if observations is None else observations
        self.action_masks = old[1] if action_masks is None else action_masks
        try:
            self._connect()
        except (TypeError, ValueError):
            self.observations, self.action_masks = old
            self._connect()
            raise

    def reset(self, seed: int | None = None) -> npt.NDArray[np.uint8]:
        """Deal every game anew. Without a seed: the constructor's, later on a new one. Returns `observations`."""
        if seed is None:
            seed, self._seed = self._seed, None
        self.games.seed(checked_seed(seed))
        self.games.reset()
        return self.observations

    def step(self, actions: Actions | None = None) -> npt.NDArray[np.uint8]:
        """Take one action in each game and write the arrays. Returns `observations`.

        Args:
            actions: (B,) whole numbers; -1 leaves a game alone. None: those that `sample` has written.

        Raises:
            IllegalActionError: the message names the game, the action and what is legal; no game has moved.
        """
        if actions is not None and actions is not self._actions:
            self._actions[...] = checked_actions(actions, self.num_games)
        try:
            self.games.step()
        except ValueError:
            self._refuse_illegal()
            raise
        return self.observations

    def _refuse_illegal(self) -> None:
        """Name the first game with an illegal action, and what is legal there. The states are asked: the next masks may
        be meant for another buffer than the last."""
        mask = np.zeros(NUM_ACTIONS, np.int8)
        for game, action in enumerate(self._actions):
            self.state(game).write_mask(mask)
            if action >= 0 and not mask[action]:
                raise IllegalActionError(f"game {game}: {describe_illegal(int(action), mask)}")

    def sample(self) -> npt.NDArray[np.int32]:
        """A uniformly random legal action for each game, (B,) int32, from the games' own generators. The array is the
        environment's action buffer."""
        self.games.sample(self._actions)
        return self._actions

    def state(self, game: int) -> State:
        """A copy of one game's state."""
        return self.games.state(game)

    def hidden_hands(self, out: npt.NDArray[np.uint8] | None = None) -> npt.NDArray[np.uint8]:
        """The hands that whoever decides can't see, for a centralized critic in training.

        Args:
            out: a C-contiguous (B, 728) uint8 to write into; None for a new one.

        Returns:
            (B, 7 * 104) uint8: the cards of seats 1 to 7, clockwise from the decider, each as `hand` in the
            observation; zeros for seats that are not taken.
        """
        rows = np.empty((self.num_games, NUM_HIDDEN_FEATURES), np.uint8) if out is None else out
        self.games.write_hidden_hands(rows)
        return rows

    def to_bytes(self) -> bytes:
        """Everything that decides how the batch goes on, for exact resumption with `from_bytes`."""
        return bytes(self.games.to_bytes())

    def from_bytes(self, data: bytes) -> None:
        """Resume where `to_bytes` was called on a VecEnv made with the same arguments; rewrites observations, masks
        and players."""
        self.games.from_bytes(data)
        self.games.refresh()


def playout(
    states: Sequence[State],
    bots: str | Sequence[str] = "flex_any",
    *,
    seed: int = 0,
    repeats: int = 1,
    num_threads: int = 1,
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int16]]:
    """Play states to the end of their round with rule bots, without Python in the loop.

    Args:
        states: they are not changed; all with the same number of players.
        bots: one of `BOTS` for every seat, or one for each seat.
        seed: of the bots' choices; the draw pile's order is the state's own.
        repeats: how often each state is played.

    Returns:
        winners (N, repeats) int8, -1 for none (also after 2**20 actions without an end), and points (N, repeats) int16
        that the winner scores.
    """
    winners = np.empty((len(states), repeats), np.int8)
    points = np.empty((len(states), repeats), np.int16)
    if states:
        names = [bots] * states[0].num_players if isinstance(bots, str) else list(bots)
        _core.playout(states, [bot_number(name) for name in names], seed, repeats, num_threads, winners, points)
    return winners, points


def bot_number(name: str) -> int:
    """The core's number of a rule bot."""
    if name not in BOTS:
        raise ValueError(f"no such bot: {name!r}; there are {', '.join(BOTS)}")
    return BOTS.index(name)


def make_batch(
    num_games: int,
    num_players: int,
    rules: Rules,
    match: bool,
    reward: str,
    history: int,
    max_decisions: int | None,
    deal_again: bool,
    num_threads: int = 1,
) -> _core.Batch:
    """The core's batch behind every face, its options checked."""
    check_episode(num_players, rules, match, reward, history, max_decisions)
    check_whole("num_games", num_games, 1, 1 << 24)
    check_whole("num_threads", num_threads, 1, 1024)
    return _core.Batch(
        num_games,
        num_players,
        rules.core,
        num_players - 1,
        match,
        REWARDS.index(reward),
        history,
        max_decisions or 0,
        deal_again,
        num_threads,
    )


def checked_actions(actions: Actions, num_games: int) -> npt.NDArray[Any]:
    """Actions as an array of whole numbers, one for each game."""
    array = np.asarray(actions)
    if array.shape != (num_games,) or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"actions must be {num_games} whole numbers, got {array.dtype} of shape {array.shape}")
    if array.size and (array.max() >= NUM_ACTIONS or array.min() < -1):
        game = int(np.flatnonzero((array >= NUM_ACTIONS) | (array < -1))[0])
        raise ValueError(f"game {game}: an action must be from 0 to {NUM_ACTIONS - 1}, got {array[game]}")
    return array


def aligned(shape: tuple[int, ...], dtype: type[np.generic]) -> npt.NDArray[Any]:
    """Zeros that begin on a cache line."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size].view(dtype).reshape(shape)
