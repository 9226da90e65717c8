"""The core's rule bots as policies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agents.policy import Actions
from uno_flex_env import _core
from uno_flex_env.actions import NUM_ACTIONS
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

    def probabilities(self, decisions: Decisions) -> npt.NDArray[np.float64]:
        """The probabilities of all actions, (B, 216): equal in the first group of the bot with a legal action."""
        legal = decisions.action_mask != 0
        chosen = np.zeros_like(legal)
        for group in (*_core.BOT_PREFERENCES[bot_number(self.name)], range(NUM_ACTIONS)):
            undecided = ~chosen.any(axis=1)
            chosen[np.ix_(undecided, group)] = legal[np.ix_(undecided, group)]
        odds: npt.NDArray[np.float64] = chosen / chosen.sum(axis=1, keepdims=True)
        return odds
