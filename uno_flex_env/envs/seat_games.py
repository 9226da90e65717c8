"""Games in which one seat learns, under the environments for Gymnasium and Stable-Baselines3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from uno_flex_env._core import State
from uno_flex_env.batch import Batch, check_legal, checked_actions
from uno_flex_env.envs.opponents import (
    BatchFunction,
    Observations,
    Opponents,
    Policy,
    ask,
    checked_opponents,
    controllers,
    policies_with_offsets,
)
from uno_flex_env.errors import IllegalActionError
from uno_flex_env.options import EpisodeOptions, check_whole, checked_rules
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import decision_noise, derived_seeds, splitmix64

Rows = npt.NDArray[np.bool_]

MASK_HINT = (
    "Choose under the action mask, with sb3_contrib.MaskablePPO for example: learners that don't know masks, such as "
    "DQN and PPO of stable-baselines3, take illegal actions"
)
"""The end of the message for an illegal action of the learning seat."""


class SeatGames:
    """B games with one learning seat each; rule bots and policies play the others inside `step`.

    Between steps, every game waits for its learning seat or is over until `reset_games` resets it. If a deal ends
    before its learning seat has acted, the game is dealt again at once. The episodes of game g depend only on its seed
    and the actions, provided that the policies do.

    Args:
        num_envs: B, the number of games.
        num_players, rules, match, reward, history, max_decisions: see `uno_flex_env.options.EpisodeOptions`.
        opponents: see `uno_flex_env.envs.opponents.Opponents`.
        seat: the learning seat; "random" draws one for each episode, from the game's seed and the episode's number.
        num_threads: threads that share the games.
        keep_last: keep the last event for display even without a history. Policies don't see it.

    Every step and reset overwrites the arrays. Row g is game g as its learning seat sees it.

    Attributes:
        options: the options of an episode.
        learning_seats: (B,) uint8.
        rewards: (B,) float64, the learning seat's reward for the last step, including the opponents' turns after it.
        terminated, truncated: (B,) bool, whether the last step ended the episode.
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
        history: int = 0,
        max_decisions: int | None = None,
        num_threads: int = 1,
        keep_last: bool = False,
    ) -> None:
        self.options = EpisodeOptions(
            num_players,
            checked_rules(rules),
            match=match,
            reward=reward,
            history=history,
            max_decisions=max_decisions,
        )
        kept = replace(self.options, history=history or int(keep_last))
        if seat != "random":
            check_whole("seat", seat, 0, num_players - 1)
        self.batch = Batch(num_envs, kept, autoreset=False, num_threads=num_threads)
        self.num_envs, self.num_players = num_envs, num_players
        self.seat = seat
        self.learning_seats = np.full(num_envs, 0 if seat == "random" else seat, np.uint8)
        self.opponents = opponents
        self.rewards = np.zeros(num_envs)
        self._due = np.zeros(num_envs)  # rewards of the learning seat that no step has returned yet
        self.terminated, self.truncated = np.zeros((2, num_envs), np.bool_)
        self._seat_seeds, self._episodes = np.zeros((2, num_envs), np.uint64)
        self._asked = np.zeros(num_envs, np.uint64)  # how often policies decided in this episode

    # ---- The arrays ----

    @property
    def observations(self) -> npt.NDArray[np.uint8]:
        """(B, 640) uint8; after the end, the last observation of the learning seat"""
        return self.batch.observations

    @property
    def action_masks(self) -> npt.NDArray[np.int8]:
        """(B, 216) int8; after the end action 0 alone is 1, so that a softmax over the mask stays defined"""
        return self.batch.action_masks

    @property
    def histories(self) -> npt.NDArray[np.int16]:
        """(B, history, 3) int16; one row with `keep_last`"""
        return self.batch.histories

    # ---- Seats ----

    @property
    def opponents(self) -> Opponents:
        """The opponents in the other seats. New ones may be set between any two steps and take over games in
        progress."""
        return self._opponents

    @opponents.setter
    def opponents(self, opponents: Opponents) -> None:
        self._opponents = checked_opponents(opponents, self.num_players, self.options.history)
        self._policies = policies_with_offsets(self._opponents)
        self._take_seats()

    def _take_seats(self) -> None:
        """Set the controllers of all seats in the core."""
        self.batch.set_seats(controllers(self._opponents, self.learning_seats, self.num_players), self.learning_seats)

    def _draw_seats(self, which: Rows) -> None:
        if self.seat == "random":
            drawn = self._episode_keys(which) >> np.uint64(32)
            self.learning_seats[which] = drawn % np.uint64(self.num_players)
            self._take_seats()

    def _episode_keys(self, which: Any) -> npt.NDArray[np.uint64]:
        """A random number for the present episode of each of these games."""
        return splitmix64(self._seat_seeds[which] + self._episodes[which] * _STRIDE)

    # ---- Playing ----

    def reset(self, seed: int) -> None:
        """Deal every game its first episode."""
        everyone = np.ones(self.num_envs, np.bool_)
        self.batch.seed(seed)
        self._seat_seeds[:] = derived_seeds(seed, np.arange(self.num_envs))
        self._episodes[:] = 0
        self._asked[:] = 0
        self._draw_seats(everyone)
        self.batch.reset()
        self._begin(everyone)

    def reset_games(self, which: Rows, seeds: npt.NDArray[np.uint64] | None = None) -> None:
        """Deal these games their next episodes.

        Args:
            which: (B,) bool.
            seeds: (B,); if given, begin new sequences of episodes, each that of a single game with this seed. Rows
                outside `which` are ignored.
        """
        if seeds is None:
            self._episodes[which] += np.uint64(1)
        else:
            self.batch.seed_games(seeds, which.view(np.uint8))
            self._seat_seeds[which] = derived_seeds(seeds[which], 0)
            self._episodes[which] = 0
        self._asked[which] = 0
        self._draw_seats(which)
        self.batch.reset_games(which)
        self._begin(which)

    def _begin(self, which: Rows) -> None:
        """Let the opponents play these games on to the first decision of the learning seat."""
        while True:
            self._due[which] = self._paid_to_learning_seats()[which]
            self._let_opponents_play()
            which = which & (self.batch.current_player < 0)
            if not which.any():
                break
            self.batch.reset_games(which)
        self._mask_finished_games()

    def _mask_finished_games(self) -> None:
        self.action_masks[self.batch.current_player < 0, 0] = 1

    def step(self, actions: npt.ArrayLike, alone: Rows | None = None) -> None:
        """Take one action of the learning seat in each game and let the opponents play on to its next decision.

        Args:
            actions: (B,) whole numbers.
            alone: (B,) bool, games that do not step; their `actions` are ignored.

        Raises:
            IllegalActionError: an action is not legal. The message names the game, and no game has moved.
            RuntimeError: the games are not dealt yet, or another thread is stepping them.
        """
        if not self.batch.dealt:
            raise RuntimeError("the games are not dealt yet: call reset() first")
        chosen = checked_actions(actions, self.num_envs)
        self._check_legal(chosen, alone)
        self.batch.actions[:] = chosen if alone is None else np.where(alone, -1, chosen)
        stepped = self.batch.actions >= 0
        cut = self._advance()
        cut |= self._let_opponents_play()
        over = stepped & (self.batch.current_player < 0)
        np.logical_and(over, cut, out=self.truncated)
        np.logical_and(over, ~cut, out=self.terminated)
        self.rewards[:] = self._due
        self._due[:] = 0.0
        self._mask_finished_games()

    def _check_legal(self, actions: npt.NDArray[Any], alone: Rows | None) -> None:
        # If a policy raised an error, its game still waits for another seat.
        stuck = np.flatnonzero((self.batch.current_player >= 0) & (self.batch.current_player != self.learning_seats))
        if stuck.size:
            raise RuntimeError(f"game {stuck[0]}: an opponent failed to act; reset the games")
        rows = np.arange(self.num_envs) if alone is None else np.flatnonzero(~alone)
        masks = self.action_masks[rows]
        masks[self.batch.current_player[rows] < 0] = 0
        try:
            check_legal(actions[rows], masks, rows)
        except IllegalActionError as error:
            raise IllegalActionError(f"{error}. {MASK_HINT}") from None

    def _advance(self) -> Rows:
        """Take the batch's actions and collect the learning seats' rewards. Returns which games were truncated."""
        self.batch.step()
        self._due += self._paid_to_learning_seats()
        return self.batch.truncated.copy()

    def _paid_to_learning_seats(self) -> npt.NDArray[np.float32]:
        share: npt.NDArray[np.float32] = self.batch.rewards[np.arange(self.num_envs), self.learning_seats]
        return share

    def _let_opponents_play(self) -> Rows:
        """Query the policies until each game is over or waits for its learning seat. Returns the truncated games."""
        cut = np.zeros(self.num_envs, np.bool_)
        while self._policies:
            waiting = (self.batch.current_player >= 0) & (self.batch.current_player != self.learning_seats)
            if not waiting.any():
                break
            offsets = (self.batch.current_player - self.learning_seats.astype(np.int8)) % self.num_players
            self.batch.actions[:] = -1
            for policy, plays in self._policies:
                rows = np.flatnonzero(waiting & plays[offsets])
                if rows.size:
                    self.batch.actions[rows] = self._ask(policy, rows)
            cut |= self._advance()
        return cut

    def _ask(self, policy: Policy | BatchFunction, rows: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
        noise = decision_noise(0, self._episode_keys(rows), self.batch.current_player[rows], self._asked[rows])
        self._asked[rows] += np.uint64(1)
        return ask(policy, self.observe(rows), noise, lambda: [self.state(game) for game in rows], rows)

    def observe(self, rows: npt.NDArray[np.intp] | slice = slice(None)) -> Observations:
        """The observations of the current players in these games: views for a slice, copies for row numbers."""
        batch: Observations = {"observation": self.observations[rows], "action_mask": self.action_masks[rows]}
        if self.options.history:
            batch["history"] = self.histories[rows]
        return batch

    def state(self, game: int) -> State:
        """A copy of one game's state, hidden cards included."""
        return self.batch.state(game)

    def to_bytes(self) -> bytes:
        """All data that determine how the games go on, for exact resumption with `from_bytes`. The opponents are not
        part of them."""
        return b"".join(array.tobytes() for array in self._kept()) + self.batch.to_bytes()

    def from_bytes(self, data: bytes) -> None:
        """Continue where `to_bytes` was called on games made with the same arguments. Rewrites observations and masks;
        `rewards`, `terminated` and `truncated` stay as they are."""
        start = 0
        for array in self._kept():
            array[:] = np.frombuffer(data, array.dtype, array.size, start)
            start += array.nbytes
        self._take_seats()
        self.batch.from_bytes(data[start:])
        self._mask_finished_games()

    def _kept(self) -> list[npt.NDArray[Any]]:
        """What the batch does not know about the games."""
        return [self.learning_seats, self._due, self._seat_seeds, self._episodes, self._asked]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_policies"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._policies = policies_with_offsets(self._opponents)  # compared by identity
        self._take_seats()
        self._mask_finished_games()


_STRIDE = np.uint64(0xD1342543DE82EF95)
