"""Small networks, a game that is solved exactly, states to compare, and a replay in plain Python of the games that a
rollout has collected."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from agents.learners.rollout import Rollout
from agents.network import ActorCritic, NetworkConfig
from tests.support.notation import deck_of
from uno_flex_env import Rules, State, VecEnv
from uno_flex_env.batch import NUM_HIDDEN_FEATURES
from uno_flex_env.observation import LAYOUT, NUM_FEATURES
from uno_flex_env.rules import MAX_PLAYERS

CPU = torch.device("cpu")

SOLVED = Rules(hand_size=1, deck=deck_of("g2^ y2/g g3/y gS gD/"))
"""One card each, two in the draw pile, and rounds that end. Its graph of beliefs is small."""

KINDS = [
    NetworkConfig(width=16),
    NetworkConfig("residual", width=16),
    NetworkConfig("history", width=16, history=5),
    NetworkConfig(width=16, privileged=True),
]
NAMES = ["mlp", "residual", "history", "privileged"]


def equal(one: Any, other: Any) -> bool:
    """Whether two nested states hold the same values, bit for bit."""
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(equal(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(equal, one, other))
    return torch.equal(one, other) if isinstance(one, torch.Tensor) else bool(one == other)


def make_network(config: NetworkConfig, seed: int = 0) -> ActorCritic:
    """A network with random heads: its values and logits are of the order of 1."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = ActorCritic(config)
        for head in (network.policy, network.value):
            torch.nn.init.normal_(head.weight)
    return network


Key = tuple[int, int]
"""Game and seat."""


@dataclass(eq=False)
class Taken:
    """A decision in the replay."""

    episode: int
    action: int
    learns: bool
    seen: dict[str, npt.NDArray[Any]]
    """The rows of observation, mask, history and hidden hands."""
    paid: float = 0.0
    """What the seat was paid until its next decision, or the end."""
    after: tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]] | None = None
    """Observation and hidden hands at the seat's next decision, or where the game was cut; None if it was finished."""


class Replay:
    """The games of a rollout, played again decision by decision. Make it before the rollout collects."""

    def __init__(self, rollout: Rollout) -> None:
        self.twins = [
            VecEnv(
                env.num_envs,
                env.num_players,
                env.options.rules,
                reward=env.options.reward,
                history=env.options.history,
                max_decisions=env.options.max_decisions,
            )
            for env in rollout.envs
        ]
        for twin, env in zip(self.twins, rollout.envs, strict=True):
            twin.from_bytes(env.to_bytes())
        self.episodes = [0] * rollout.config.num_envs
        self.waiting: dict[Key, Taken] = {}
        self.answered: defaultdict[Key, list[Taken]] = defaultdict(list)
        self.results: dict[tuple[int, int], list[float]] = {}
        """What the engine has paid to each seat of each finished game, by the game's number and episode."""
        self.cut = 0

    def play(self, actions: npt.NDArray[np.int64], learns: npt.NDArray[np.bool_]) -> None:
        """Play the steps of a rollout; both arrays are (steps, games)."""
        for t in range(len(actions)):
            first = 0
            for twin in self.twins:
                self._step(twin, first, actions[t], learns[t])
                first += twin.num_envs

    def _step(self, twin: VecEnv, first: int, actions: npt.NDArray[np.int64], learns: npt.NDArray[np.bool_]) -> None:
        hidden = twin.hidden_hands()
        games = range(first, first + twin.num_envs)
        states = [twin.state(row) for row in range(twin.num_envs)]
        for row, game in enumerate(games):
            key = game, int(twin.current_player[row])
            seen = {
                "observation": twin.observations[row].copy(),
                "legal": twin.action_masks[row].copy(),
                "history": twin.histories[row].copy(),
                "hidden": hidden[row].copy(),
            }
            if key in self.waiting:
                self._answer(key, (seen["observation"], seen["hidden"]))
            self.waiting[key] = Taken(self.episodes[game], int(actions[game]), bool(learns[game]), seen)
        twin.step(actions[games.start : games.stop])
        for row, game in enumerate(games):
            self._pay(twin, row, game)
            if twin.terminated[row] or twin.truncated[row]:
                states[row].apply(int(actions[game]))
                self._end(twin, row, game, states[row])

    def _pay(self, twin: VecEnv, row: int, game: int) -> None:
        for seat in range(twin.num_players):
            if (game, seat) in self.waiting:
                self.waiting[game, seat].paid += float(twin.rewards[row, seat])

    def _end(self, twin: VecEnv, row: int, game: int, last: State) -> None:
        for seat in range(twin.num_players):
            if (game, seat) in self.waiting:
                self._answer((game, seat), views(last, seat) if twin.truncated[row] else None)
        if twin.truncated[row]:
            self.cut += 1
        else:
            self.results[game, self.episodes[game]] = twin.rewards[row].tolist()
        self.episodes[game] += 1

    def _answer(self, key: Key, after: tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]] | None) -> None:
        taken = self.waiting.pop(key)
        taken.after = after
        self.answered[key].append(taken)

    def learned(self) -> dict[Key, list[Taken]]:
        """The finished decisions to learn from, by game and seat, in their order."""
        kept = {key: [taken for taken in answered if taken.learns] for key, answered in self.answered.items()}
        return {key: answered for key, answered in kept.items() if answered}


def views(state: State, seat: int) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """The observation of a seat, (640,), and the features of the other hands."""
    players = state.num_players
    rows = np.empty((players, NUM_FEATURES), np.uint8)
    for k in range(players):
        state.encode((seat + k) % players, rows[k])
    hands = np.zeros((MAX_PLAYERS - 1, NUM_HIDDEN_FEATURES // (MAX_PLAYERS - 1)), np.uint8)
    hands[: players - 1] = rows[1:, LAYOUT["hand"].slice]
    return rows[0], hands.ravel()


Collected = dict[Key, list[dict[str, Any]]]


def collect(
    rollout: Rollout, network: ActorCritic, times: int, gamma: float = 1.0, lam: float = 0.0
) -> tuple[Collected, Replay]:
    """Collect rollouts: the decisions to learn from, by game and seat in their order, and the replay of the games."""
    replay, collected = Replay(rollout), defaultdict[Key, list[dict[str, Any]]](list)
    for _ in range(times):
        seen = rollout.collect(network, CPU, gamma, lam)
        columns = {
            name: getattr(seen, name)[seen.rows].numpy()
            for name in ("observation", "legal", "action", "log_prob", "value", "target", "history", "hidden")
            if getattr(seen, name) is not None
        }
        games = seen.rows.numpy() % rollout.config.num_envs
        seats = rollout.current_player[:-1].ravel()[seen.rows.numpy()]
        for i, key in enumerate(zip(games.tolist(), seats.tolist(), strict=True)):
            collected[key].append({name: column[i] for name, column in columns.items()})
        replay.play(rollout.action[rollout.max_players :], rollout.learns[rollout.max_players :])
    return dict(collected), replay


def pairs(collected: Collected, replay: Replay) -> list[tuple[dict[str, Any], Taken]]:
    """Each collected decision with the same decision of the replay. There must be equally many."""
    learned = replay.learned()
    assert {key: len(rows) for key, rows in collected.items()} == {key: len(rows) for key, rows in learned.items()}
    return [pair for key, rows in collected.items() for pair in zip(rows, learned[key], strict=True)]


Forward = Callable[..., tuple[torch.Tensor, torch.Tensor]]
