"""Games in which one seat learns: what the single-agent, Gymnasium and Stable-Baselines3 faces share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from uno_flex_env._core import State
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.envs.opponents import (
    Observations,
    Opponents,
    ask,
    check_legal,
    checked_opponents,
    controllers,
    policies_with_offsets,
)
from uno_flex_env.envs.vec_env import Actions, aligned, checked_actions, make_batch
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.options import check_whole, checked_rules
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import splitmix64

Rows = npt.NDArray[np.bool_]


class LearnerGames:
    """B games with one learning seat each; rule bots and policies play the others inside `step`.

    Between steps every game waits for its learner or lies over, until `reset_games` deals it again. A deal that ends
    before its learner has decided anything is dealt again at once. Game g's episodes depend on its seed and the actions
    alone, as far as the policies do.

    Args:
        num_games: rows of the batch.
        num_players: 2 to 8, the same in every game.
        rules: `Rules`, or a dict of the switches that are not official.
        opponents: see `uno_flex_env.envs.opponents.Opponents`.
        seat: of the learner; "random" draws one for each episode, from the game's seed and the episode's number.
        match, reward, history, max_decisions, num_threads: as in `VecEnv`; `max_decisions` counts the learner's own.
        keep_last: keep the last event also without a history, for a display; policies don't see it.

    The arrays are overwritten by every step and reset. Row g is game g, as its learner sees it.

    Attributes:
        observations: (B, 640) uint8; after the end what the learner saw last.
        action_masks: (B, 216) int8; all zero after the end.
        histories: (B, history, 3) int16; one row with `keep_last`.
        learners: (B,) uint8, the learning seats.
        rewards: (B,) float64, what the last step brought the learner, the opponents' turns after it included.
        terminated, truncated: (B,) bool, whether the last step ended the episode.
    """

    def __init__(
        self,
        num_games: int,
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
        self.num_games, self.num_players, self.rules = num_games, num_players, checked_rules(rules)
        self.match, self.reward, self.history = match, reward, history
        self._events = history or int(keep_last)
        self.max_decisions, self.num_threads = max_decisions, num_threads
        self._connect()
        if seat != "random":
            check_whole("seat", seat, 0, num_players - 1)
        self.seat = seat
        self.learners = np.full(num_games, 0 if seat == "random" else seat, np.uint8)
        self.opponents = opponents
        self.rewards = np.zeros(num_games)
        self._due = np.zeros(num_games)  # what the learner has not been handed yet
        self.terminated, self.truncated = np.zeros((2, num_games), np.bool_)
        self._seat_seeds, self._episodes = np.zeros((2, num_games), np.uint64)
        self._dealt = False  # reset has been called

    def _connect(self) -> None:
        """Make what `_CONNECTED` names: the core's batch and the arrays that it reads and writes."""
        self._games = make_batch(
            self.num_games,
            self.num_players,
            self.rules,
            self.match,
            self.reward,
            self._events,
            self.max_decisions,
            deal_again=False,
            num_threads=self.num_threads,
        )
        games = self.num_games
        self._actions = np.full(games, -1, np.int32)
        self.observations = aligned((games, NUM_FEATURES), np.uint8)
        self.action_masks: npt.NDArray[np.int8] = aligned((games, NUM_ACTIONS), np.int8)
        self.histories = np.full((games, self._events, 3), -1, np.int16)
        self._paid = np.zeros((games, self.num_players), np.float32)
        self._ended, self._cut = np.zeros((2, games), np.uint8)
        self._current_players = np.full(games, -1, np.int8)
        self._games.set_buffers(
            self._actions,
            self.observations,
            self.action_masks,
            self.histories,
            self._paid,
            self._ended,
            self._cut,
            self._current_players,
            np.zeros((games, 0, NUM_FEATURES), np.uint8),
            0,
        )

    # ---- Seats ----

    @property
    def opponents(self) -> Opponents:
        """Who plays the other seats. Others may be set between any two steps and take over games in progress."""
        return self._opponents

    @opponents.setter
    def opponents(self, opponents: Opponents) -> None:
        self._opponents = checked_opponents(opponents, self.num_players)
        self._policies = policies_with_offsets(self._opponents)
        self._take_seats()

    def _take_seats(self) -> None:
        """Tell the core who sits where."""
        self._games.set_seats(controllers(self._opponents, self.learners, self.num_players), self.learners)

    def _draw_seats(self, which: Rows) -> None:
        if self.seat == "random":
            drawn = splitmix64(self._seat_seeds[which] + self._episodes[which] * _STRIDE)
            self.learners[which] = (drawn >> np.uint64(32)) % np.uint64(self.num_players)
            self._take_seats()

    # ---- Playing ----

    def reset(self, seed: int) -> None:
        """Deal every game its first episode."""
        everyone = np.ones(self.num_games, np.bool_)
        self._games.seed(seed)
        self._seat_seeds[:] = np.uint64(seed) + np.arange(self.num_games, dtype=np.uint64)
        self._episodes[:] = 0
        self._draw_seats(everyone)
        self._games.reset()
        self._dealt = True
        self._begin(everyone)

    def reset_games(self, which: Rows, seeds: npt.NDArray[np.uint64] | None = None) -> None:
        """Deal these games their next episodes.

        Args:
            which: (B,) bool.
            seeds: (B,), with them: their first episodes, each that of a single game with its seed. Rows outside
                `which` are ignored.
        """
        if seeds is None:
            self._episodes[which] += np.uint64(1)
        else:
            self._games.seed_games(seeds, which.view(np.uint8))
            self._seat_seeds[which] = seeds[which]
            self._episodes[which] = 0
        self._draw_seats(which)
        self._games.reset_games(which.view(np.uint8))
        self._dealt = True
        self._begin(which)

    def _begin(self, which: Rows) -> None:
        """Let the opponents play these games on to their learners' first decisions."""
        while True:
            self._due[which] = self._learners_share()[which]
            self._let_opponents_play()
            which = which & (self._current_players < 0)
            if not which.any():
                return
            self._games.reset_games(which.view(np.uint8))

    def step(self, actions: Actions, alone: Rows | None = None) -> None:
        """Take one action of the learner in each game and let the opponents play on to its next decision.

        Args:
            actions: (B,) whole numbers.
            alone: (B,) bool, games that are left as they are; what `actions` says of them is ignored.

        Raises:
            IllegalActionError: an action is not legal; the message names the game, and no game has moved.
        """
        chosen = checked_actions(actions, self.num_games)
        self._check_legal(chosen, alone)
        self._actions[:] = chosen if alone is None else np.where(alone, -1, chosen)
        stepped = self._actions >= 0
        cut = self._advance()
        cut |= self._let_opponents_play()
        over = stepped & (self._current_players < 0)
        np.logical_and(over, cut, out=self.truncated)
        np.logical_and(over, ~cut, out=self.terminated)
        self.rewards[:] = self._due
        self._due[:] = 0.0

    def _check_legal(self, actions: npt.NDArray[Any], alone: Rows | None) -> None:
        # A policy that failed has left its game at a decision that is not the learner's.
        stuck = np.flatnonzero((self._current_players >= 0) & (self._current_players != self.learners))
        if stuck.size:
            raise RuntimeError(f"game {stuck[0]}: an opponent failed to act; reset the games")
        rows = np.arange(self.num_games) if alone is None else np.flatnonzero(~alone)
        check_legal(actions[rows], self.action_masks[rows], rows)

    def _advance(self) -> Rows:
        """Take `_actions`, collect what the learners get and say which games were truncated."""
        self._games.step()
        self._due += self._learners_share()
        return self._cut.astype(np.bool_)

    def _learners_share(self) -> npt.NDArray[np.float32]:
        share: npt.NDArray[np.float32] = self._paid[np.arange(self.num_games), self.learners]
        return share

    def _let_opponents_play(self) -> Rows:
        """Ask the policies until every game is at its learner or over; says which games were truncated meanwhile."""
        cut = np.zeros(self.num_games, np.bool_)
        while self._policies:
            waiting = (self._current_players >= 0) & (self._current_players != self.learners)
            if not waiting.any():
                break
            offsets = (self._current_players - self.learners.astype(np.int8)) % self.num_players
            self._actions[:] = -1
            for policy, plays in self._policies:
                rows = np.flatnonzero(waiting & plays[offsets])
                if rows.size:
                    self._actions[rows] = ask(policy, self.seen(rows), rows)
            cut |= self._advance()
        return cut

    def seen(self, rows: npt.NDArray[np.intp] | slice = slice(None)) -> Observations:
        """What is seen in these games; views for a slice, copies for row numbers."""
        batch: Observations = {"observation": self.observations[rows], "action_mask": self.action_masks[rows]}
        if self.history:
            batch["history"] = self.histories[rows]
        return batch

    def state(self, game: int) -> State:
        """A copy of one game's state, hidden cards included."""
        return self._games.state(game)

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name not in _CONNECTED}
        return kept | {"games": self._games.to_bytes() if self._dealt else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        games = state.pop("games")
        self.__dict__.update(state)
        self._policies = policies_with_offsets(self._opponents)  # they are told apart by identity
        self._connect()
        self._take_seats()
        if games is not None:
            self._games.from_bytes(games)
            self._games.refresh()


_CONNECTED = (
    "_games",
    "_actions",
    "observations",
    "action_masks",
    "histories",
    "_paid",
    "_ended",
    "_cut",
    "_current_players",
    "_policies",
)

_STRIDE = np.uint64(0xD1342543DE82EF95)
