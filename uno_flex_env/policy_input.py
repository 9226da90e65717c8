"""Decisions: what a policy is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.positions import Views
from uno_flex_env.seeding import Noise

ENVIRONMENT = {"name": "uno_flex_v0", "features": NUM_FEATURES, "actions": NUM_ACTIONS}
"""The environment of a network, in the network's file. Rules, rewards and observations change only together with the
version in the name."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """B decisions, each as the player who has to take it sees it. A policy must not write to the arrays."""

    observation: npt.NDArray[np.uint8]
    """(B, 640), see `uno_flex_env.observation`."""
    action_mask: npt.NDArray[np.int8]
    """(B, 216), 1 for each legal action; at least one in each row."""
    noise: Noise
    """(B,), a key for each decision. All random numbers of row i follow from `noise[i]`. So an action doesn't depend on
    the other rows, and two games with the same keys are comparable."""
    history: npt.NDArray[np.int16] | None = None
    """(B, H, 3), the last public events, for policies that read them."""
    views: Views | None = None
    """B views, for policies that look ahead."""

    def __len__(self) -> int:
        return len(self.observation)

    def __getitem__(self, rows: Any) -> Decisions:
        history = None if self.history is None else self.history[rows]
        views = None if self.views is None else self.views[rows]
        return Decisions(self.observation[rows], self.action_mask[rows], self.noise[rows], history, views)
