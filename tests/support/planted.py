"""Policies whose win rates are known: what the tests of match play measure.

`Player` and `OnLow` play a game that is solved by hand: each player holds one card and all cards are red, so who plays
first wins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from agents.rule_bot import RuleBot
from uno_flex_env import Rules
from uno_flex_env.actions import DRAW, KEEP
from uno_flex_env.observation import parts
from uno_flex_env.policy_input import Decisions
from uno_flex_env.seeding import uniforms

ONE_RED_CARD = Rules(hand_size=1, deck=dict.fromkeys(("r1", "r2^", "r3", "r4^", "r5", "r6^", "r7", "r8^"), 1))


@dataclass(frozen=True)
class Player:
    """Plays a card with a given probability; otherwise draws and keeps."""

    name: str
    plays: float
    history: int = 0

    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        passing = np.where(decisions.action_mask[:, DRAW] == 1, DRAW, KEEP)
        return np.where(uniforms(decisions.noise) < self.plays, decisions.action_mask.argmax(axis=1), passing)


@dataclass(frozen=True)
class Shifted:
    """A rule bot under another name; with a shift it uses other random numbers."""

    name: str
    bot: str = "flex_any"
    shift: int = 0
    history: int = 0

    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        return RuleBot(self.bot).act(replace(decisions, noise=decisions.noise + np.uint64(self.shift)))


@dataclass(frozen=True)
class OnLow:
    """Plays when the top is a 1, 2, 3 or 4, and draws otherwise."""

    name: str = "on low"
    history: int = 0

    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        low = parts(decisions.observation)["top"][:, :4].any(axis=1)
        return np.where(low, Player("", 1.0).act(decisions), Player("", 0.0).act(decisions))


SURE, HALF, THIRD = Player("sure", 1.0), Player("half", 0.5), Player("third", 1 / 3)
