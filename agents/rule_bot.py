"""The core's rule bots as policies."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from agents.policy import Actions
from uno_flex_env import _core
from uno_flex_env.actions import FLEX_ACTIONS, NUM_ACTIONS, PLAY_ACTIONS, WILD_ACTIONS, actions_where
from uno_flex_env.batch import bot_number
from uno_flex_env.policy_input import Decisions

_REGULAR, _FLEX = PLAY_ACTIONS & ~FLEX_ACTIONS, PLAY_ACTIONS & FLEX_ACTIONS
_PASSIVE = actions_where(lambda action: action.verb in ("draw", "keep", "accept", "uno", "catch"))
_ANY = np.ones(NUM_ACTIONS, np.bool_)
_PREFERENCE = {
    "random": (_ANY,),
    "flex_any": (PLAY_ACTIONS & ~WILD_ACTIONS, WILD_ACTIONS, _PASSIVE),
    "never_flex": (_REGULAR & ~WILD_ACTIONS, _REGULAR & WILD_ACTIONS, _PASSIVE, _ANY),
    "always_flex": (
        *(_FLEX & ~WILD_ACTIONS, _FLEX & WILD_ACTIONS),
        *(_REGULAR & ~WILD_ACTIONS, _REGULAR & WILD_ACTIONS, _PASSIVE),
    ),
    "flex_when_stuck": (
        *(_REGULAR & ~WILD_ACTIONS, _REGULAR & WILD_ACTIONS),
        *(_FLEX & ~WILD_ACTIONS, _FLEX & WILD_ACTIONS, _PASSIVE),
    ),
}
"""The groups of actions of `core/bots.hpp`: a bot chooses uniformly from the first one with a legal action."""


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
        """The probabilities of all actions, (B, 216); 0 where illegal."""
        legal = decisions.action_mask != 0
        chosen = np.zeros_like(legal)
        for group in _PREFERENCE[self.name]:
            undecided = ~chosen.any(axis=1, keepdims=True)
            chosen |= legal & group & undecided
        odds: npt.NDArray[np.float64] = chosen / chosen.sum(axis=1, keepdims=True)
        return odds
