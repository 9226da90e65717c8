"""Self-play: games in which the learner takes every seat, or all but those of its opponents, cut into trajectories.

Turn-based games make this the place of most faults. A decision of one seat is answered by the decisions of others, and
its reward may come on anybody's turn. So each seat has its own trajectory: its decisions alone, each with all that the
seat was paid until its next one. A seat whose last decision has not been answered when a rollout ends keeps it, with
what it was paid so far, and it is learned from in the next rollout. Every decision is learned from exactly once.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from agents.league import League
from agents.network import ActorCritic, masked_softmax, sample
from agents.policy import Decisions, ask
from uno_flex_env import VecEnv
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.batch import NUM_HIDDEN_FEATURES
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.options import EpisodeOptions
from uno_flex_env.rules import MAX_PLAYERS, Rules

Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class GameConfig:
    """What is played while learning."""

    players: tuple[int, ...] = (2,)
    """Numbers of players; the games are shared evenly among them."""
    rules: Rules = Rules()  # noqa: RUF009 (it is frozen)
    """Switches of the rules (rules 9)."""
    games: int = 4096
    """Played at once, in all."""
    steps: int = 32
    """Decisions in each game between two updates."""
    reward: Literal["win", "points"] = "win"
    """What a round pays: see `uno_flex_env.VecEnv`."""
    max_decisions: int | None = None
    """A round is cut after so many and its worth estimated; needed only by rules under which rounds can be endless."""

    def __post_init__(self) -> None:
        if not self.players or len(set(self.players)) != len(self.players):
            raise ValueError(f"game.players must be different numbers of players, got {self.players}")
        for count in self.players:
            EpisodeOptions(count, self.rules, reward=self.reward, max_decisions=self.max_decisions)
        if self.games < len(self.players):
            raise ValueError(f"game.games must be at least {len(self.players)}, got {self.games}")
        if self.steps < 1:
            raise ValueError(f"game.steps must be at least 1, got {self.steps}")


@dataclass(frozen=True, eq=False)
class Experience:
    """Decisions to learn from: rows of the rollout's arrays, which belong to the rollout until the next `collect`.

    `rows` (K,) numbers the decisions, others of the arrays (R, ...) are to be left alone.
    """

    rows: Tensor
    observation: Tensor
    """(R, 640) uint8"""
    legal: Tensor
    """(R, 216) bool"""
    action: Tensor
    """(R,) int64"""
    log_prob: Tensor
    """(R,) float32, of the action when it was taken"""
    value: Tensor
    """(R,) float32, what the critic said then"""
    advantage: Tensor
    """(R,) float32, by generalized advantage estimation (arXiv:1506.02438)"""
    history: Tensor | None
    """(R, H, 3) int16"""
    hidden: Tensor | None
    """(R, 728) uint8, the other hands"""

    @property
    def target(self) -> Tensor:
        """(R,) float32, what the critic should have said: the lambda-return."""
        return self.advantage + self.value


def advantages(
    seats: npt.NDArray[np.int8],
    learns: Flags,
    values: Floats,
    rewards: Floats,
    ended: Flags,
    final_values: Floats | None,
    gamma: float,
    lam: float,
) -> tuple[Floats, Flags, Floats]:
    """Advantages of a rollout of T steps in N games, seat by seat (equations 11-16 of arXiv:1506.02438).

    Args:
        seats: (T, N), who decided.
        learns: (T, N), whether that decision is one to learn from.
        values: (T, N), of the position for whoever decided.
        rewards: (T, N, n), what each seat was paid in the step.
        ended: (T, N), whether the step ended the game.
        final_values: (T, N, n), of the last position for each seat where a game was cut short, 0 where it was finished;
            None if all were finished.
        gamma: discount from one decision of a seat to its next; rewards in between are not discounted.
        lam: 0 trusts the critic after one decision, 1 waits for the end.

    Returns:
        advantage (T, N); complete (T, N), whether the seat's next decision, or the end, lies in the rollout, else there
        is no advantage yet; paid (T, N), what the seat was paid from that decision on until the next, the end, or the
        end of the rollout.
    """
    steps, games = seats.shape
    advantage, paid = np.zeros((2, steps, games), np.float32)
    complete = np.zeros((steps, games), np.bool_)
    # What comes after, for each seat of each game: value and advantage of its next decision, and whether there is one.
    next_value, next_advantage, gained = np.zeros((3, *rewards.shape[1:]), np.float32)
    answered = np.zeros(rewards.shape[1:], np.bool_)
    game = np.arange(games)
    for t in reversed(range(steps)):
        over = ended[t]
        next_value[over] = 0.0 if final_values is None else final_values[t][over]
        next_advantage[over] = gained[over] = 0.0
        answered[over] = True
        gained += rewards[t]
        seat = (game, seats[t])
        paid[t], complete[t] = gained[seat], answered[seat]
        delta = paid[t] + gamma * next_value[seat] - values[t]
        advantage[t] = np.where(complete[t], delta + gamma * lam * next_advantage[seat], 0.0)
        own = (game[learns[t]], seats[t][learns[t]])
        next_value[own], next_advantage[own] = values[t][learns[t]], advantage[t][learns[t]]
        gained[own], answered[own] = 0.0, True
    return advantage, complete, paid


class Rollout:
    """The games, the arrays that hold what was decided in them, and what is carried from one rollout to the next.

    Each array has a row for every step, and before them one for each seat with the decisions kept from last time.

    Args:
        config: what is played.
        network: whose decisions are collected; only its needs are looked at here.
        league: the opponents, and the share of games that they play in.
        seed: of deals, actions and seats.
        threads: that step the games.
    """

    def __init__(self, config: GameConfig, network: ActorCritic, league: League, seed: int, threads: int = 1) -> None:
        self.config, self.league = config, league
        self.events, kept = network.config.events, max(network.config.events, league.history)
        counts = config.players
        sizes = [config.games // len(counts) + (i < config.games % len(counts)) for i in range(len(counts))]
        self.envs = [
            VecEnv(
                size,
                count,
                config.rules,
                reward=config.reward,
                history=kept,
                max_decisions=config.max_decisions,
                num_threads=threads,
            )
            for size, count in zip(sizes, counts, strict=True)
        ]
        ends = np.cumsum(sizes)
        self.parts = [slice(int(end) - size, int(end)) for end, size in zip(ends, sizes, strict=True)]
        self.seats = max(counts)
        self._generator = torch.Generator().manual_seed(seed)
        self._seconds = 0.0
        self._kept: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Floats] | None = None
        self._make_arrays(network.config.privileged, kept)
        self._begin(seed)

    def _make_arrays(self, privileged: bool, kept: int) -> None:
        games, seats = self.config.games, self.seats
        rows = seats + self.config.steps
        # One row more than there are decisions: what is seen after the last one.
        self.observation = np.zeros((rows + 1, games, NUM_FEATURES), np.uint8)
        self.mask = np.zeros((rows + 1, games, NUM_ACTIONS), np.int8)
        self.history = np.full((rows + 1, games, kept, 3), -1, np.int16)
        self.hidden = np.zeros((rows + 1, games if privileged else 0, NUM_HIDDEN_FEATURES), np.uint8)
        self.player = np.zeros((rows + 1, games), np.int8)
        self.player[:seats] = np.arange(seats)[:, None]
        self.action = np.zeros((rows, games), np.int64)
        self.log_prob, self.value = np.zeros((2, rows, games), np.float32)
        self.learns = np.zeros((rows, games), np.bool_)
        self.reward = np.zeros((rows, games, seats), np.float32)
        self.ended = np.zeros((rows, games), np.bool_)
        cut = self.config.max_decisions is not None
        self.final_value = np.zeros((rows, games, seats), np.float32) if cut else None

    def _begin(self, seed: int) -> None:
        self.num_players = np.concatenate([np.full(env.num_envs, env.num_players) for env in self.envs])
        self.table = self.league.seat_everyone(self.num_players)
        self._look(-1)
        for i, env in enumerate(self.envs):
            env.reset(seed + i)
        self._note(-1)

    def collect(self, network: ActorCritic, device: torch.device, gamma: float, lam: float) -> Experience:
        """Play `steps` decisions in each game; see `advantages`. Autocast, where it is wanted, is the caller's."""
        began = perf_counter()
        self._carry_over()
        for t in range(self.seats, self.seats + self.config.steps):
            self._seconds += perf_counter() - began
            self._decide(network, device, t)
            began = perf_counter()
            self._step(network, device, t)
        advantage, complete, paid = advantages(
            self.player[:-1], self.learns, self.value, self.reward, self.ended, self.final_value, gamma, lam
        )
        step, game = np.nonzero(self.learns & ~complete)
        self._kept = step, game, paid[step, game]
        experience = self._experience(advantage, np.flatnonzero(self.learns & complete))
        self._seconds += perf_counter() - began
        return experience

    def take_seconds(self) -> float:
        """How long games and bookkeeping have taken since the last call, the networks' decisions not counted."""
        seconds, self._seconds = self._seconds, 0.0
        return seconds

    @property
    def game_length(self) -> float:
        """Decisions of all seats in a game of the last rollout, on average."""
        played = self.config.steps * self.config.games
        return played / max(1, int(self.ended[self.seats :].sum()))

    def _carry_over(self) -> None:
        """Decisions that are not answered yet go to the rows before the first step, and what was seen last into it."""
        if self._kept is not None:
            step, game, paid = self._kept
            seat = self.player[step, game]
            for array in self._of_decisions():
                array[seat, game] = array[step, game]
            self.learns[: self.seats] = False
            self.reward[: self.seats] = 0.0
            self.learns[seat, game], self.reward[seat, game, seat] = True, paid
        for array in (self.observation, self.mask, self.history, self.hidden, self.player):
            array[self.seats] = array[-1]

    def _of_decisions(self) -> list[npt.NDArray[Any]]:
        """What has to be known of a decision to learn from it."""
        arrays: list[npt.NDArray[Any]] = [self.observation, self.mask, self.action, self.log_prob, self.value]
        return arrays + ([self.history] if self.history.size else []) + ([self.hidden] if self.hidden.size else [])

    def _experience(self, advantage: Floats, rows: npt.NDArray[np.intp]) -> Experience:
        def flat(array: npt.NDArray[Any]) -> Tensor:
            return torch.from_numpy(array).flatten(0, 1)

        return Experience(
            rows=torch.from_numpy(rows),
            observation=flat(self.observation),
            legal=flat(self.mask).view(torch.bool),
            action=flat(self.action),
            log_prob=flat(self.log_prob),
            value=flat(self.value),
            advantage=flat(advantage),
            history=flat(self.history)[:, -self.events :] if self.events else None,
            hidden=flat(self.hidden) if self.hidden.size else None,
        )

    def _look(self, t: int) -> None:
        """Let the games write what is seen next into row t."""
        for env, part in zip(self.envs, self.parts, strict=True):
            env.use_buffers(self.observation[t, part], self.mask[t, part])

    def _note(self, t: int) -> None:
        """Copy into row t what the games don't write there by themselves."""
        for env, part in zip(self.envs, self.parts, strict=True):
            self.player[t, part] = env.current_player
            self.history[t, part] = env.histories
            if self.hidden.size:
                env.hidden_hands(self.hidden[t, part])

    @torch.inference_mode()
    def _decide(self, network: ActorCritic, device: torch.device, t: int) -> None:
        """The network's actions in all games, then the opponents' in place of it where they sit."""
        history = torch.from_numpy(self.history[t, :, -self.events :]) if network.config.events else None
        hidden = torch.from_numpy(self.hidden[t]) if self.hidden.size else None
        logits, values = network(*_to(device, torch.from_numpy(self.observation[t]), history, hidden))
        legal = torch.from_numpy(self.mask[t]).view(torch.bool).to(device)
        probs = masked_softmax(logits, legal)
        uniform = torch.rand(self.config.games, generator=self._generator).to(device)
        actions = sample(probs, uniform)
        self.log_prob[t] = probs.gather(1, actions[:, None]).log_()[:, 0].cpu().numpy()
        self.value[t] = values.float().cpu().numpy()
        self.action[t] = actions.cpu().numpy()
        self.learns[t] = True
        if self.league.plays:
            self._ask_opponents(t)

    def _ask_opponents(self, t: int) -> None:
        seated = self.table[np.arange(self.config.games), self.player[t]]
        self.learns[t] = seated < 0
        noise = self.league.noise(self.config.games)
        decisions = Decisions(self.observation[t], self.mask[t], noise, self.history[t] if self.history.size else None)
        for number, policy in self.league.seated(seated):
            rows = np.flatnonzero(seated == number)
            self.action[t, rows] = ask(policy, decisions[rows], rows)

    def _step(self, network: ActorCritic, device: torch.device, t: int) -> None:
        self._look(t + 1)
        for env, part in zip(self.envs, self.parts, strict=True):
            env.step(self.action[t, part])
            self.reward[t, part, : env.num_players] = env.rewards
            self.ended[t, part] = env.terminated | env.truncated
            if self.final_value is not None:
                self.final_value[t, part] = 0.0
                self._estimate_cut_games(network, device, env, self.final_value[t, part])
        self._note(t + 1)
        if self.league.plays and self.ended[t].any():
            self.league.report(self.table, self.reward[t], self.ended[t], self.num_players)
            self.league.seat_again(self.table, self.ended[t], self.num_players)

    @torch.inference_mode()
    def _estimate_cut_games(self, network: ActorCritic, device: torch.device, env: VecEnv, values: Floats) -> None:
        """Write what the critic expects for each seat of the games that were cut short."""
        games = np.flatnonzero(env.truncated)
        if not games.size:
            return
        seats = env.num_players
        seen = env.final_obs[games]
        hidden = None
        if self.hidden.size:
            hand = seen[:, :, : NUM_HIDDEN_FEATURES // (MAX_PLAYERS - 1)]
            others = np.zeros((games.size, seats, MAX_PLAYERS - 1, hand.shape[2]), np.uint8)
            for k in range(1, seats):
                others[:, :, k - 1] = np.roll(hand, -k, axis=1)
            hidden = torch.from_numpy(others.reshape(games.size * seats, -1))
        _, value = network(*_to(device, torch.from_numpy(seen.reshape(-1, NUM_FEATURES)), None, hidden))
        values[games, :seats] = value.float().cpu().numpy().reshape(games.size, seats)

    # ---- Resuming ----

    def state(self) -> dict[str, Tensor]:
        """Everything that decides how the games go on, to be called between `collect` and the next one."""
        step, game, paid = self._kept or (np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0, np.float32))
        kept = {f"kept.{i}": _packed(array[step, game]) for i, array in enumerate(self._of_decisions())}
        games = {f"env.{i}": np.frombuffer(env.to_bytes(), np.uint8) for i, env in enumerate(self.envs)}
        arrays = kept | games | {"step": step, "game": game, "paid": paid, "table": self.table}
        arrays["seat"] = self.player[step, game]
        return {name: torch.from_numpy(array.copy()) for name, array in arrays.items()} | {
            "generator": self._generator.get_state()
        }

    def restore(self, state: dict[str, Tensor]) -> None:
        """Go on where `state` was called on a rollout of the same config."""
        arrays = {name: tensor.numpy() for name, tensor in state.items()}
        self._generator.set_state(state["generator"])
        self.table[:] = arrays["table"]
        self._look(-1)
        for i, env in enumerate(self.envs):
            env.from_bytes(arrays[f"env.{i}"].tobytes())
        self._note(-1)
        # To the rows where they would be carried.
        seat, game = arrays["seat"], arrays["game"]
        for i, array in enumerate(self._of_decisions()):
            array[seat, game] = _unpacked(arrays[f"kept.{i}"], array)
        self._kept = seat.astype(np.intp), game, arrays["paid"]


def _packed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Bits instead of bytes, where there is nothing but zeros and ones."""
    return np.packbits(array, axis=1) if array.dtype in (np.uint8, np.int8) else array


def _unpacked(array: npt.NDArray[Any], like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    bits = like.dtype in (np.uint8, np.int8)
    return np.unpackbits(array, axis=1, count=like.shape[-1]) if bits else array


def _to(device: torch.device, *tensors: Tensor | None) -> list[Tensor | None]:
    return [None if tensor is None else tensor.to(device) for tensor in tensors]
