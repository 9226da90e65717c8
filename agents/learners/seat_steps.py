"""Transitions of single seats over a batch of games, for off-policy and Monte-Carlo learners.

Other seats decide between two decisions of a seat, and a loser is paid on the winner's turn. So the transition of a
decision goes to the next decision of the same seat, or to the end of the round, with all that the seat was paid until
then. Every decision is in exactly one transition, and no transition joins two rounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from agents.learners.task import GameConfig, make_envs
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.rules import MAX_PLAYERS
from uno_flex_env.seeding import derived_seed

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Transitions:
    """K transitions, each of one seat of one game."""

    observation: Bytes
    """(K, 640), what the seat saw when it decided"""
    action_mask: npt.NDArray[np.int8]
    """(K, 216), 1 for each action that was legal then"""
    action: Whole
    """(K,), the action that it took"""
    reward: npt.NDArray[np.float32]
    """(K,), the sum of the seat's rewards until its next decision or the end"""
    next_observation: Bytes
    """(K, 640), what the seat saw at its next decision; at the end of a truncated round where `truncated`; zeros where
    `terminated`"""
    next_action_mask: npt.NDArray[np.int8]
    """(K, 216), the legal actions of its next decision; zeros at the end of a round"""
    terminated: Flags
    """(K,), whether the round ended before the seat decided again"""
    truncated: Flags
    """(K,), whether the round was cut off before the seat decided again"""
    game: Whole
    """(K,), the game"""
    seat: Whole
    """(K,), the seat"""

    def __len__(self) -> int:
        return len(self.action)

    @property
    def done(self) -> Flags:
        """(K,), whether there is no next decision"""
        return self.terminated | self.truncated

    @classmethod
    def concatenated(cls, parts: Sequence[Transitions]) -> Transitions:
        """Several as one."""
        return _concatenated(parts)

    def __getitem__(self, rows: Any) -> Transitions:
        return Transitions(**{name: array[rows] for name, array in vars(self).items()})


class SeatSteps:
    """Plays N games in which you choose the action of every seat, and returns the transitions that each step completes.

    Args:
        game: the games; `num_steps` is not used.
        seed: fixes the deals.
        num_threads: threads that step the games.

    Attributes:
        observation: (N, 640) uint8, what the current player of each game sees. The next step overwrites it.
        action_mask: (N, 216) int8, its legal actions.
        current_player: (N,) int8, its seat.
        num_players: (N,) int64, the number of players of each game.
        ended: (N,) bool, whether the last step ended the round, or cut it off.
    """

    def __init__(self, game: GameConfig, seed: int, num_threads: int = 1) -> None:
        self.envs, self.parts = make_envs(game, num_threads=num_threads)
        games, seats = game.num_envs, max(game.players)
        self.observation = np.zeros((games, NUM_FEATURES), np.uint8)
        self.action_mask = np.zeros((games, NUM_ACTIONS), np.int8)
        self.current_player = np.zeros(games, np.int8)
        self.num_players = np.concatenate([np.full(env.num_envs, env.num_players) for env in self.envs])
        self.ended = np.zeros(games, np.bool_)
        # The last decision of each seat, which waits for its next one.
        self._open = np.zeros((games, seats), np.bool_)
        self._observation = np.zeros((games, seats, NUM_FEATURES), np.uint8)
        self._action_mask = np.zeros((games, seats, NUM_ACTIONS), np.int8)
        self._action = np.zeros((games, seats), np.int64)
        self._reward = np.zeros((games, seats), np.float32)
        for i, (env, part) in enumerate(zip(self.envs, self.parts, strict=True)):
            env.use_buffers(self.observation[part], self.action_mask[part])
            env.reset(derived_seed(seed, i))
            self.current_player[part] = env.current_player

    def step(self, actions: npt.ArrayLike) -> Transitions:
        """Take one action in each game.

        Args:
            actions: (N,) whole numbers, legal actions.

        Returns:
            The transitions that this step has completed: first those of seats that are now asked again, then those of
            rounds that ended. A round that ended completes the open decision of each of its seats.

        Raises:
            IllegalActionError: an action is illegal; its message counts the games from the first with as many players.
                Don't use the object afterwards.
        """
        actions = np.asarray(actions)
        games, seats = np.arange(len(self.observation)), self.current_player.astype(np.int64)
        self._observation[games, seats], self._action_mask[games, seats] = self.observation, self.action_mask
        self._action[games, seats], self._reward[games, seats], self._open[games, seats] = actions, 0.0, True
        terminated, truncated = np.zeros((2, len(games)), np.bool_)
        for env, part in zip(self.envs, self.parts, strict=True):
            env.step(actions[part])
            self._reward[part, : env.num_players] += env.rewards
            terminated[part], truncated[part] = env.terminated, env.truncated
            self.current_player[part] = env.current_player
        self.ended = terminated | truncated
        again, over = self._asked_again(~self.ended), self._over(terminated, truncated)
        return _concatenated([again, over])

    def _asked_again(self, going_on: Flags) -> Transitions:
        """Complete the open decisions of the seats that are asked again."""
        seat = self.current_player.astype(np.int64)
        game = np.flatnonzero(going_on & self._open[np.arange(len(seat)), seat])
        seat = seat[game]
        done = np.zeros(game.size, np.bool_)
        return self._complete(game, seat, self.observation[game], self.action_mask[game], done, done)

    def _over(self, terminated: Flags, truncated: Flags) -> Transitions:
        """Complete all open decisions of the rounds that ended."""
        game, seat = np.nonzero(self._open & self.ended[:, None])
        final = np.zeros((game.size, NUM_FEATURES), np.uint8)
        for env, part in zip(self.envs, self.parts, strict=True):
            cut = np.flatnonzero(truncated[game] & (game >= part.start) & (game < part.stop))
            if cut.size:
                final[cut] = env.final_obs[game[cut] - part.start, seat[cut]]
        masks = np.zeros((game.size, NUM_ACTIONS), np.int8)
        return self._complete(game, seat, final, masks, terminated[game], truncated[game])

    def _complete(
        self,
        game: Whole,
        seat: Whole,
        next_observation: Bytes,
        next_action_mask: npt.NDArray[np.int8],
        terminated: Flags,
        truncated: Flags,
    ) -> Transitions:
        self._open[game, seat] = False
        return Transitions(
            self._observation[game, seat],
            self._action_mask[game, seat],
            self._action[game, seat],
            self._reward[game, seat],
            next_observation,
            next_action_mask,
            terminated,
            truncated,
            game,
            seat,
        )

    # ---- Resuming ----

    def state_dict(self) -> dict[str, Any]:
        """Everything that determines the next transitions, apart from the actions."""
        game, seat = np.nonzero(self._open)
        return {
            "envs": [_tensor(np.frombuffer(env.to_bytes(), np.uint8)) for env in self.envs],
            "game": _tensor(game),
            "seat": _tensor(seat),
            "observation": _tensor(np.packbits(self._observation[game, seat], axis=1)),
            "action_mask": _tensor(np.packbits(self._action_mask[game, seat], axis=1)),
            "action": _tensor(self._action[game, seat]),
            "reward": _tensor(self._reward[game, seat]),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from the `state_dict` of an object that was made with the same arguments."""
        for env, part, data in zip(self.envs, self.parts, state["envs"], strict=True):
            env.from_bytes(data.numpy().tobytes())
            self.current_player[part] = env.current_player
        game, seat = state["game"].numpy(), state["seat"].numpy()
        self._open[...] = False
        self._open[game, seat] = True
        self._observation[game, seat] = np.unpackbits(state["observation"].numpy(), axis=1, count=NUM_FEATURES)
        self._action_mask[game, seat] = np.unpackbits(state["action_mask"].numpy(), axis=1, count=NUM_ACTIONS)
        self._action[game, seat], self._reward[game, seat] = state["action"].numpy(), state["reward"].numpy()


@dataclass(frozen=True, eq=False)
class Returns:
    """K decisions with what they led to."""

    observation: Bytes
    """(K, 640), what the seat saw when it decided"""
    action_mask: npt.NDArray[np.int8]
    """(K, 216), 1 for each action that was legal then"""
    action: Whole
    """(K,), the action that it took"""
    return_to_go: npt.NDArray[np.float32]
    """(K,), the undiscounted sum of the seat's rewards from then to the end of the round"""
    truncated: Flags
    """(K,), whether the round was cut off, so that the return lacks what the seat would have been paid later"""
    trajectory: Whole
    """(K,), a number for the game and the seat; decisions of one trajectory are in order of time"""

    def __len__(self) -> int:
        return len(self.action)

    @classmethod
    def concatenated(cls, parts: Sequence[Returns]) -> Returns:
        """Several as one."""
        return _concatenated(parts)

    def __getitem__(self, rows: Any) -> Returns:
        return Returns(**{name: array[rows] for name, array in vars(self).items()})


class ReturnCollector:
    """Holds the decisions of each round until it ends, for Monte-Carlo methods."""

    def __init__(self) -> None:
        # A pool of rows: those in use are waiting, with rewards in place of returns; `_time` is their order.
        self._rows = Returns(
            np.zeros((0, NUM_FEATURES), np.uint8),
            np.zeros((0, NUM_ACTIONS), np.int8),
            np.zeros(0, np.int64),
            np.zeros(0, np.float32),
            np.zeros(0, np.bool_),
            np.zeros(0, np.int64),
        )
        self._used = np.zeros(0, np.bool_)
        self._time = np.zeros(0, np.int64)
        self._added = 0

    def add(self, transitions: Transitions) -> Returns:
        """Add the transitions of a step; return the decisions of the rounds that ended in it."""
        seen = transitions
        trajectory = seen.game * MAX_PLAYERS + seen.seat
        self._put(Returns(seen.observation, seen.action_mask, seen.action, seen.reward, seen.truncated, trajectory))
        if not seen.done.any():
            return self._rows[:0]
        ends = np.zeros(int(self._rows.trajectory.max()) + 1, np.bool_)
        ends[trajectory[seen.done]] = True
        slots = np.flatnonzero(self._used & ends[self._rows.trajectory])
        self._used[slots] = False
        order = np.lexsort((self._time[slots], self._rows.trajectory[slots]))
        return _summed(self._rows[slots[order]])

    def _put(self, rows: Returns) -> None:
        """Enter rows into the pool, which grows as needed."""
        count = len(rows)
        missing = count - int(np.count_nonzero(~self._used))
        if missing > 0:
            self._grow(max(missing, self._used.size))
        slots = np.flatnonzero(~self._used)[:count]
        for name, array in vars(self._rows).items():
            array[slots] = getattr(rows, name)
        self._used[slots], self._time[slots] = True, self._added + np.arange(count)
        self._added += count

    def _grow(self, more: int) -> None:
        def longer(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return np.concatenate([array, np.zeros((more, *array.shape[1:]), array.dtype)])

        self._rows = Returns(**{name: longer(array) for name, array in vars(self._rows).items()})
        self._used, self._time = longer(self._used), longer(self._time)

    def state_dict(self) -> dict[str, Any]:
        """Everything that determines the next returns."""
        slots = np.flatnonzero(self._used)
        slots = slots[np.argsort(self._time[slots])]
        return {name: _tensor(array) for name, array in vars(self._rows[slots]).items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a `state_dict`."""
        self._used[:] = False
        self._put(Returns(**{name: tensor.numpy() for name, tensor in state.items()}))


def _summed(rows: Returns) -> Returns:
    """Put returns in place of rewards; the rows are sorted by trajectory."""
    first = np.flatnonzero(np.diff(rows.trajectory, prepend=-1))  # where each trajectory begins
    lengths = np.diff(first, append=len(rows))
    before = np.cumsum(rows.return_to_go, dtype=np.float64) - rows.return_to_go  # over all rows above
    totals = np.repeat(np.add.reduceat(rows.return_to_go.astype(np.float64), first), lengths)
    returns = totals - (before - np.repeat(before[first], lengths))
    truncated = np.repeat(np.logical_or.reduceat(rows.truncated, first), lengths)
    return replace(rows, return_to_go=returns.astype(np.float32), truncated=truncated)


Rows = TypeVar("Rows", Transitions, Returns)


def _concatenated(parts: Sequence[Rows]) -> Rows:
    return type(parts[0])(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])})


def _tensor(array: npt.NDArray[Any]) -> Tensor:
    return torch.from_numpy(np.array(array))
