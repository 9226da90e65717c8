"""Self-play rollouts: games in which the learner plays every seat, or every seat but those of its opponents.

In turn-based games other seats decide between two decisions of a seat, and a seat may be paid on any player's turn. So
each seat has its own trajectory: its decisions, each with all rewards of the seat until its next one. When a rollout
ends, the last decision of a seat may still be open: the seat has not decided again, and the game is not over. The next
rollout learns from that decision, with all of its rewards. Every decision is in the experience of exactly one rollout.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from agents.learners.league import LEARNER, League
from agents.learners.task import GameConfig, make_envs
from agents.masked import masked_softmax, sample
from agents.network import ActorCritic
from agents.policy import ask
from uno_flex_env import VecEnv
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.batch import NUM_HIDDEN_FEATURES
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.policy_input import Decisions
from uno_flex_env.rules import MAX_PLAYERS
from uno_flex_env.seeding import derived_seed

Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Experience:
    """K decisions to learn from, among the R rows of the rollout's arrays. The next `collect` overwrites the arrays."""

    rows: Tensor
    """(K,) int64, the rows that hold decisions to learn from; the other rows have no meaning"""
    observation: Tensor
    """(R, 640) uint8"""
    legal: Tensor
    """(R, 216) bool"""
    action: Tensor
    """(R,) int64"""
    log_prob: Tensor
    """(R,) float32, log-probability of the action when it was taken"""
    value: Tensor
    """(R,) float32, value by the critic at that time"""
    advantage: Tensor
    """(R,) float32, by generalized advantage estimation (arXiv:1506.02438)"""
    history: Tensor | None
    """(R, H, 3) int16"""
    hidden: Tensor | None
    """(R, 728) uint8, the other hands"""

    @property
    def target(self) -> Tensor:
        """(R,) float32, the lambda-return, which the critic learns."""
        return self.advantage + self.value


def advantages(
    current_player: npt.NDArray[np.int8],
    learns: Flags,
    values: Floats,
    rewards: Floats,
    ended: Flags,
    final_values: Floats | None,
    gamma: float,
    gae_lambda: float,
) -> tuple[Floats, Flags, Floats]:
    """Compute the advantages of a rollout of T steps in N games of n seats (equations 11-16 of arXiv:1506.02438).

    Args:
        current_player: (T, N), the seat that decided.
        learns: (T, N), whether that decision is one to learn from.
        values: (T, N), values of the positions for the seats that decided.
        rewards: (T, N, n), rewards of each seat in the step.
        ended: (T, N), whether the step ended the game.
        final_values: (T, N, n), values of the last position for each seat where a game was truncated, 0 where it
            terminated; None if no game was truncated.
        gamma: discount from one decision of a seat to its next; rewards in between are not discounted.
        gae_lambda: 0 trusts the critic after one decision, 1 waits for the end of the game.

    Returns:
        advantage (T, N), 0 where the decision is not complete; complete (T, N), whether the seat's next decision or the
        end of the game is in the rollout; paid (T, N), the seat's rewards from that decision until its next one, the
        end of the game, or the end of the rollout.
    """
    steps, games = current_player.shape
    advantage, paid = np.zeros((2, steps, games), np.float32)
    complete = np.zeros((steps, games), np.bool_)
    # For each seat of each game, (N, n): value and advantage of its next decision, its rewards until then, and whether
    # that decision or the end of the game is in the rollout.
    next_value, next_advantage, gained = np.zeros((3, *rewards.shape[1:]), np.float32)
    known = np.zeros(rewards.shape[1:], np.bool_)
    game = np.arange(games)
    for t in reversed(range(steps)):
        over = ended[t]
        next_value[over] = 0.0 if final_values is None else final_values[t][over]
        next_advantage[over] = gained[over] = 0.0
        known[over] = True
        gained += rewards[t]
        seat = (game, current_player[t])
        paid[t], complete[t] = gained[seat], known[seat]
        delta = paid[t] + gamma * next_value[seat] - values[t]
        advantage[t] = np.where(complete[t], delta + gamma * gae_lambda * next_advantage[seat], 0.0)
        learning = (game[learns[t]], current_player[t][learns[t]])
        next_value[learning], next_advantage[learning] = values[t][learns[t]], advantage[t][learns[t]]
        gained[learning], known[learning] = 0.0, True
    return advantage, complete, paid


class Rollout:
    """The games, the arrays of their decisions, and what is carried over from one rollout to the next.

    The first rows of each array, one for each seat, hold the decisions that were open at the end of the previous
    rollout. Then there is a row for each step.

    Args:
        config: the games.
        network: its config decides which arrays there are; `collect` takes the network that plays.
        league: the opponents, and the share of the games that they play in.
        seed: fixes deals, actions and seats.
        num_threads: threads that step the games.
    """

    def __init__(
        self, config: GameConfig, network: ActorCritic, league: League, seed: int, num_threads: int = 1
    ) -> None:
        self.config, self.league = config, league
        self.events, history = network.config.events, max(network.config.events, league.history)
        self.envs, self.parts = make_envs(config, history, num_threads)
        self.max_players = max(config.players)
        self._generator = torch.Generator().manual_seed(seed)
        self._seconds = 0.0
        # The open decisions: step, game and rewards so far, (K,) each.
        self._open: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], Floats] | None = None
        self._make_arrays(network.config.privileged, history)
        self._begin(seed)

    def _make_arrays(self, privileged: bool, history: int) -> None:
        games, seats = self.config.num_envs, self.max_players
        rows = seats + self.config.num_steps
        # One more row than there are decisions, for the position after the last one.
        self.observation = np.zeros((rows + 1, games, NUM_FEATURES), np.uint8)
        self.mask = np.zeros((rows + 1, games, NUM_ACTIONS), np.int8)
        self.history = np.full((rows + 1, games, history, 3), -1, np.int16)
        self.hidden = np.zeros((rows + 1, games if privileged else 0, NUM_HIDDEN_FEATURES), np.uint8)
        self.current_player = np.zeros((rows + 1, games), np.int8)
        self.current_player[:seats] = np.arange(seats)[:, None]
        self.action = np.zeros((rows, games), np.int64)
        self.log_prob, self.value = np.zeros((2, rows, games), np.float32)
        self.learns = np.zeros((rows, games), np.bool_)
        self.reward = np.zeros((rows, games, seats), np.float32)
        self.ended = np.zeros((rows, games), np.bool_)
        truncates = self.config.max_decisions is not None
        self.final_value = np.zeros((rows, games, seats), np.float32) if truncates else None

    def _begin(self, seed: int) -> None:
        self.num_players = np.concatenate([np.full(env.num_envs, env.num_players) for env in self.envs])
        self.seating = self.league.seat_everyone(self.num_players)
        self._connect(-1)
        for i, env in enumerate(self.envs):
            env.reset(derived_seed(seed, i))
        self._copy_rest(-1)

    def collect(self, network: ActorCritic, device: torch.device, gamma: float, gae_lambda: float) -> Experience:
        """Play `num_steps` decisions in each game; see `advantages`. Call it under autocast if you want autocast."""
        began = perf_counter()
        self._carry_over()
        for t in range(self.max_players, self.max_players + self.config.num_steps):
            self._seconds += perf_counter() - began
            self._decide(network, device, t)
            began = perf_counter()
            self._step(network, device, t)
        advantage, complete, paid = advantages(
            self.current_player[:-1],
            self.learns,
            self.value,
            self.reward,
            self.ended,
            self.final_value,
            gamma,
            gae_lambda,
        )
        step, game = np.nonzero(self.learns & ~complete)
        self._open = step, game, paid[step, game]
        experience = self._experience(advantage, np.flatnonzero(self.learns & complete))
        self._seconds += perf_counter() - began
        return experience

    def take_seconds(self) -> float:
        """Seconds spent on games and bookkeeping since the last call, without the networks' decisions."""
        seconds, self._seconds = self._seconds, 0.0
        return seconds

    @property
    def game_length(self) -> float:
        """Decisions of all seats in a game, on average over the last rollout."""
        played = self.config.num_steps * self.config.num_envs
        return played / max(1, int(self.ended[self.max_players :].sum()))

    def _carry_over(self) -> None:
        """Move open decisions to the rows before the first step, and the last position into the first step."""
        if self._open is not None:
            step, game, paid = self._open
            seat = self.current_player[step, game]
            for array in self._decision_arrays():
                array[seat, game] = array[step, game]
            self.learns[: self.max_players] = False
            self.reward[: self.max_players] = 0.0
            self.learns[seat, game], self.reward[seat, game, seat] = True, paid
        for array in (self.observation, self.mask, self.history, self.hidden, self.current_player):
            array[self.max_players] = array[-1]

    def _decision_arrays(self) -> list[npt.NDArray[Any]]:
        """The arrays that describe a decision."""
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

    def _connect(self, t: int) -> None:
        """Make the environments write the next observations and masks into row t."""
        for env, part in zip(self.envs, self.parts, strict=True):
            env.use_buffers(self.observation[t, part], self.mask[t, part])

    def _copy_rest(self, t: int) -> None:
        """Copy into row t what the environments don't write there themselves."""
        for env, part in zip(self.envs, self.parts, strict=True):
            self.current_player[t, part] = env.current_player
            self.history[t, part] = env.histories
            if self.hidden.size:
                env.hidden_hands(self.hidden[t, part])

    @torch.inference_mode()
    def _decide(self, network: ActorCritic, device: torch.device, t: int) -> None:
        """Write the network's actions for all games, then overwrite those of the opponents' seats."""
        history = torch.from_numpy(self.history[t, :, -self.events :]) if network.config.events else None
        hidden = torch.from_numpy(self.hidden[t]) if self.hidden.size else None
        logits, values = network(*_to(device, torch.from_numpy(self.observation[t]), history, hidden))
        legal = torch.from_numpy(self.mask[t]).view(torch.bool).to(device)
        probs = masked_softmax(logits, legal)
        uniform = torch.rand(self.config.num_envs, generator=self._generator).to(device)
        actions = sample(probs, uniform)
        self.log_prob[t] = probs.gather(1, actions[:, None]).log_()[:, 0].cpu().numpy()
        self.value[t] = values.float().cpu().numpy()
        self.action[t] = actions.cpu().numpy()
        self.learns[t] = True
        if self.league.plays:
            self._ask_opponents(t)

    def _ask_opponents(self, t: int) -> None:
        seated = self.seating[np.arange(self.config.num_envs), self.current_player[t]]
        self.learns[t] = seated == LEARNER
        noise = self.league.noise(self.config.num_envs)
        decisions = Decisions(self.observation[t], self.mask[t], noise, self.history[t] if self.history.size else None)
        for number, policy in self.league.seated(seated):
            rows = np.flatnonzero(seated == number)
            self.action[t, rows] = ask(policy, decisions[rows], rows)

    def _step(self, network: ActorCritic, device: torch.device, t: int) -> None:
        self._connect(t + 1)
        for env, part in zip(self.envs, self.parts, strict=True):
            env.step(self.action[t, part])
            self.reward[t, part, : env.num_players] = env.rewards
            self.ended[t, part] = env.terminated | env.truncated
            if self.final_value is not None:
                self.final_value[t, part] = 0.0
                self._bootstrap_truncated(network, device, env, self.final_value[t, part])
        self._copy_rest(t + 1)
        if self.league.plays and self.ended[t].any():
            self.league.report(self.seating, self.reward[t], self.ended[t], self.num_players)
            self.league.reseat(self.seating, self.ended[t], self.num_players)

    @torch.inference_mode()
    def _bootstrap_truncated(self, network: ActorCritic, device: torch.device, env: VecEnv, values: Floats) -> None:
        """Write the critic's values of the last position for each seat of the truncated games, into (N, n).

        The games have been dealt again, but `final_obs` holds what each seat saw at the end. It also gives a privileged
        critic its input: an observation begins with the hand of its seat, and the hands hidden from a seat are those of
        the seats after it, in order.
        """
        games = np.flatnonzero(env.truncated)
        if not games.size:
            return
        seats = env.num_players
        final = env.final_obs[games]  # (G, n, 640)
        hidden = None
        if self.hidden.size:
            hand = final[:, :, : NUM_HIDDEN_FEATURES // (MAX_PLAYERS - 1)]  # (G, n, 104)
            others = np.zeros((games.size, seats, MAX_PLAYERS - 1, hand.shape[2]), np.uint8)
            for offset in range(1, seats):
                others[:, :, offset - 1] = np.roll(hand, -offset, axis=1)
            hidden = torch.from_numpy(others.reshape(games.size * seats, -1))  # (G * n, 728)
        _, value = network(*_to(device, torch.from_numpy(final.reshape(-1, NUM_FEATURES)), None, hidden))
        values[games, :seats] = value.float().cpu().numpy().reshape(games.size, seats)

    # ---- Resuming ----

    def state(self) -> dict[str, Tensor]:
        """Everything that determines the next `collect`, by name."""
        step, game, paid = self._open or (np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0, np.float32))
        decisions = {f"open.{i}": _packed(array[step, game]) for i, array in enumerate(self._decision_arrays())}
        games = {f"env.{i}": np.frombuffer(env.to_bytes(), np.uint8) for i, env in enumerate(self.envs)}
        arrays = decisions | games | {"step": step, "game": game, "paid": paid, "seating": self.seating}
        arrays["seat"] = self.current_player[step, game]
        return {name: torch.from_numpy(array.copy()) for name, array in arrays.items()} | {
            "generator": self._generator.get_state()
        }

    def restore(self, state: dict[str, Tensor]) -> None:
        """Continue from the `state` of a rollout with the same config."""
        arrays = {name: tensor.numpy() for name, tensor in state.items()}
        self._generator.set_state(state["generator"])
        self.seating[:] = arrays["seating"]
        self._connect(-1)
        for i, env in enumerate(self.envs):
            env.from_bytes(arrays[f"env.{i}"].tobytes())
        self._copy_rest(-1)
        # Open decisions go to the rows to which `_carry_over` would move them.
        seat, game = arrays["seat"], arrays["game"]
        for i, array in enumerate(self._decision_arrays()):
            array[seat, game] = _unpacked(arrays[f"open.{i}"], array)
        self._open = seat.astype(np.intp), game, arrays["paid"]


def _packed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Bits instead of bytes, for arrays of zeros and ones."""
    return np.packbits(array, axis=1) if array.dtype in (np.uint8, np.int8) else array


def _unpacked(array: npt.NDArray[Any], like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    bits = like.dtype in (np.uint8, np.int8)
    return np.unpackbits(array, axis=1, count=like.shape[-1]) if bits else array


def _to(device: torch.device, *tensors: Tensor | None) -> list[Tensor | None]:
    return [None if tensor is None else tensor.to(device) for tensor in tensors]
