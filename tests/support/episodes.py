"""Ways to play an episode of an environment, and what it pays by the rules."""

import copy
import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from uno_flex_env import IllegalActionError, Rules
from uno_flex_env.actions import TEXTS
from uno_flex_env.rules import SWITCHES

RULE_SETS: dict[str, dict[str, Any]] = {
    **{f"{name}={values[1]}": {name: values[1]} for name, values in SWITCHES.items()},
    "hand_size=2": {"hand_size": 2},
    "deck": {"hand_size": 1, "deck": {"r1": 1, "r3": 1, "r5": 1, "y1^": 1, "y3^": 1, "y5/b": 1, "WF": 1, "W4/": 2}},
}
"""The switches of rules 9, each by itself at a value that is not official."""

EVERY_PHASE = Rules(uno_call="explicit", stacking=True, flex_draw_four_challenge=True, hand_size=3)
"""Rules under which random play soon reaches all phases."""

SHORT = Rules(hand_size=2)
PHASES = {"play", "drawn", "challenge", "uno", "catch", "stack"}

NO_MATCHES = Rules(hand_size=1, deck={"r1": 1, "y3^": 1, "g5": 1, "b7^": 1})
"""Cards of which none matches another: two players draw until both piles are empty, and no player wins (rules 3)."""


def choose(mask: npt.NDArray[np.int8] | npt.NDArray[np.bool_], rng: random.Random) -> int:
    """A random legal action."""
    return rng.choice(np.flatnonzero(mask).tolist())


def card_points(code: str) -> int:
    """The points of a card (rules 1)."""
    return 50 if code[0] == "W" else int(code[1]) if code[1].isdigit() else 20


def payoffs(end: Mapping[str, Any], reward: str) -> list[float]:
    """What each seat is paid for a finished round, from its last snapshot."""
    hands, winner = [sum(map(card_points, hand)) for hand in end["hands"]], end["winner"]
    n = len(hands)
    if winner is None:
        return [0.0] * n
    if reward == "win":
        return [1.0 if seat == winner else -1.0 / (n - 1) for seat in range(n)]
    return [(sum(hands) if seat == winner else -hands[seat]) / 100 for seat in range(n)]


def play(env: Any, rng: random.Random) -> tuple[dict[str, float], list[int]]:
    """Play an episode that `reset` has begun: the sum of rewards that each agent is handed, and the actions."""
    received, actions = dict.fromkeys(env.agents, 0.0), []
    for agent in env.agent_iter():
        observation, reward, termination, truncation, _ = env.last()
        received[agent] += reward
        action = None if termination or truncation else choose(observation["action_mask"], rng)
        actions += [] if action is None else [action]
        env.step(action)
    return received, actions


def transcript(env: Any, seed: int | None = None, *, deal: bool = True) -> list[Any]:
    """Everything that an episode shows to its players, from the deal or from where it stands."""
    if deal:
        env.reset(seed=seed)
    rng, lines = random.Random(0), list[Any]([illegal_outcome(env)])
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        seen = {name: part.tobytes() for name, part in (observation | info).items()}
        lines.append((agent, seen, reward, termination, truncation, env.render() if env.render_mode else None))
        env.step(None if termination or truncation else choose(observation["action_mask"], rng))
    return lines


def illegal_outcome(env: Any) -> str:
    """The outcome of an illegal action in a copy of the environment, as text."""
    env = copy.deepcopy(env)
    try:
        env.step(illegal_action(env))
    except IllegalActionError:
        return "raises"
    return "ends the game" if all(env.terminations.values()) else "is played"


def illegal_action(env: Any) -> int:
    """An action that is illegal for the current player."""
    return int(np.flatnonzero(env.infos[env.agent_selection]["action_mask"] == 0)[0])


class Recorder:
    """A policy that plays at random and records its actions in a list."""

    def __init__(self, seed: int = 0) -> None:
        self.rng, self.actions = random.Random(seed), list[int]()

    def __call__(self, batch: dict[str, Any]) -> list[int]:
        self.actions += [choose(mask, self.rng) for mask in batch["action_mask"]]
        return self.actions[-1:]


def first_legal(batch: dict[str, Any]) -> Any:
    """A policy that takes the first legal action."""
    return batch["action_mask"].argmax(axis=1)


def draw_and_keep(batch: dict[str, Any]) -> list[int]:
    """A policy that plays no card."""
    verbs = [TEXTS.index(verb) for verb in ("draw", "keep", "accept")]
    return [next(verb for verb in verbs if mask[verb]) for mask in batch["action_mask"]]


def learner_transcript(env: Any, seed: int | None = None, *, episodes: int = 2, deal: bool = True) -> list[Any]:
    """Everything that some episodes show to the learner, from a deal or from where the environment stands."""
    lines: list[Any] = []
    rng = random.Random(0)
    mask = env.unwrapped.action_masks()
    for episode in range(episodes):
        if deal or episode:
            observation, info = env.reset(seed=None if episode else seed)
            lines.append(_shown(env, observation, info))
            mask = info["action_mask"]
        lines.append(_learners_illegal_outcome(env))
        over = False
        while not over:
            observation, reward, terminated, truncated, info = env.step(choose(mask, rng))
            lines.append((_shown(env, observation, info), reward, terminated, truncated))
            over, mask = terminated or truncated, info["action_mask"]
    return lines


def _shown(env: Any, observation: dict[str, Any], info: dict[str, Any]) -> Any:
    seen = {name: part.tobytes() for name, part in (observation | info).items()}
    return seen, env.render() if env.render_mode else None


def _learners_illegal_outcome(env: Any) -> str:
    env = copy.deepcopy(env)
    try:
        env.step(int(env.unwrapped.action_masks().argmin()))
    except IllegalActionError:
        return "raises"
    return "ends the game"
