"""Gymnasium spaces of one player's observations and actions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.observation import NUM_FEATURES

Observation = dict[str, npt.NDArray[Any]]
Mask = npt.NDArray[np.int8]


class ActionSpace(spaces.Discrete[np.int64]):
    """`Discrete(216)` with faster sampling under a mask: Gymnasium's `Discrete` is slow beside a step of the game."""

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(NUM_ACTIONS, seed=seed)

    def sample(self, mask: Mask | None = None, probability: Mask | None = None) -> np.int64:
        """A random action; under a mask, (216,) int8 or bool, a random legal one. An empty mask gives action 0."""
        if mask is None or probability is not None or mask.shape != (NUM_ACTIONS,) or mask.itemsize != 1:
            return super().sample(mask, probability)
        legal = mask.view(np.bool_).nonzero()[0]
        return legal[int(self.np_random.random() * legal.size)] if legal.size else self.start

    def __repr__(self) -> str:
        return f"Discrete({NUM_ACTIONS})"


def observation_space(history: int = 0) -> spaces.Dict:
    """The space of a player's observations: features, action mask and, if `history` > 0, the last public events."""
    parts: dict[str, spaces.Space[Any]] = {
        "observation": spaces.Box(0, 1, (NUM_FEATURES,), np.uint8),
        "action_mask": spaces.Box(0, 1, (NUM_ACTIONS,), np.int8),
    }
    if history:
        parts["history"] = spaces.Box(-1, 255, (history, 3), np.int16)
    return spaces.Dict(parts)
