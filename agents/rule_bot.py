"""The core's rule bots as policies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from agents.policy import Actions
from uno_flex_env import _core
from uno_flex_env.batch import bot_number
from uno_flex_env.policy_input import Decisions


@dataclass(frozen=True)
class RuleBot:
    """One of the core's rule bots, by its name in `uno_flex_env.batch.BOTS`; ValueError for another name."""

    name: str
    history: int = 0

    def __post_init__(self) -> None:
        bot_number(self.name)

    def act(self, decisions: Decisions) -> Actions:
        """As `Policy.act`."""
        actions = np.empty(len(decisions), np.int64)
        _core.act(bot_number(self.name), decisions.action_mask, decisions.noise, actions)
        return actions
