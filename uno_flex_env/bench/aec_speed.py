"""The AEC environment in PettingZoo's documented loop, beside one that does nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
from pettingzoo.utils.env import AECEnv
from pettingzoo.utils.wrappers import AssertOutOfBoundsWrapper, OrderEnforcingWrapper, TerminateIllegalWrapper

from uno_flex_env import uno_flex_v0
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.bench.measure import Contestant, Figure, Race, rate, ratios
from uno_flex_env.envs.spaces import ActionSpace, observation_space
from uno_flex_env.observation import NUM_FEATURES

LENGTH = 100
"""Steps of an idle episode, about as many as a game of two players at random takes."""


class Idle(AECEnv[str, dict[str, Any], int]):  # type: ignore[misc]  # pettingzoo ships no types
    """Two agents in turn, always the same observation, every action legal, no rewards."""

    metadata = {"name": "idle_v0"}  # noqa: RUF012  (PettingZoo declares it without ClassVar)

    def __init__(self) -> None:
        super().__init__()
        self.possible_agents = ["player_0", "player_1"]
        self.render_mode = None
        self._spaces = observation_space(), ActionSpace()
        row, mask = np.zeros(NUM_FEATURES, np.uint8), np.ones(NUM_ACTIONS, np.int8)
        self._observation = {"observation": row, "action_mask": mask}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self.agents[0]
        self._taken = 0

    def step(self, action: int | None) -> None:
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        self._taken += 1
        self.agent_selection = self.agents[self._taken % 2]
        if self._taken == LENGTH:
            self.terminations = dict.fromkeys(self.agents, True)

    def observe(self, agent: str) -> dict[str, Any]:
        return self._observation

    def observation_space(self, agent: str) -> Any:
        return self._spaces[0]

    def action_space(self, agent: str) -> Any:
        return self._spaces[1]


def wrapped(env: Any) -> Any:
    """Under the three wrappers that PettingZoo's own environments put on."""
    return OrderEnforcingWrapper(AssertOutOfBoundsWrapper(TerminateIllegalWrapper(env, illegal_reward=-1)))


def drive(env: Any, steps: int) -> int:
    """Episodes as PettingZoo documents to play them, the actions drawn from the mask, until so many steps are done."""
    taken = 0
    while taken < steps:
        env.reset()
        for agent in env.agent_iter():
            observation, _, termination, truncation, _ = env.last()
            over = termination or truncation
            env.step(None if over else env.action_space(agent).sample(observation["action_mask"]))
            taken += 1
    return taken


def aec_contestants() -> list[Contestant]:
    """Ours as `env()` returns it, and the idle one with and without wrappers."""
    envs = {"aec": uno_flex_v0.env(), "idle": Idle(), "idle_wrapped": wrapped(Idle())}
    return [Contestant(name, _driven(env)) for name, env in envs.items()]


def _driven(env: Any) -> Any:
    env.reset(seed=1)
    return lambda steps: rate(lambda: drive(env, steps))


def aec_figures(values: Race) -> list[Figure]:
    """Rates and ratios of `aec_contestants`."""
    group = "PettingZoo: reset, agent_iter, last, step, the actions drawn from the mask"
    labels = {
        "aec": "uno_flex_v0.env()",
        "idle": "an idle environment",
        "idle_wrapped": "the same under the three standard wrappers",
    }
    figures = [Figure(name, group, label, "steps/s", tuple(values[name])) for name, label in labels.items()]
    gain = ratios(values, "aec", "idle_wrapped")
    return [*figures, Figure("aec_ratio", group, "uno_flex_v0.env() / idle under the wrappers", "ratio", gain, ">= 4")]
