"""UNO Flex for reinforcement learning: the game, its records and its environments.

UNO is a trademark of Mattel, with whom this project has nothing to do.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from uno_flex_env._core import State
from uno_flex_env.errors import IllegalActionError, NotationError, RecordError
from uno_flex_env.game import Game, Match
from uno_flex_env.rules import Rules

if TYPE_CHECKING:
    from uno_flex_env.envs.vec_env import VecEnv, playout

__version__ = "0.1.0"
__all__ = ["Game", "IllegalActionError", "Match", "NotationError", "RecordError", "Rules", "State", "VecEnv", "playout"]


def __getattr__(name: str) -> Any:
    # The batch environment brings gymnasium's spaces, which cost more to import than the game itself.
    if name in ("VecEnv", "playout"):
        from uno_flex_env.envs import vec_env

        return getattr(vec_env, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if "gymnasium" in sys.modules:
    # gymnasium.make("UnoFlex-v0") finds the environment; whoever only wants the game doesn't wait for gymnasium.
    import uno_flex_env.envs.registration  # noqa: F401
