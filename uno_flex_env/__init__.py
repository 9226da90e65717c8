"""UNO Flex for reinforcement learning: the game, its records and its environments.

UNO is a trademark of Mattel. This project is not affiliated with Mattel.
"""

from __future__ import annotations

try:
    from uno_flex_env._core import State, View
except ModuleNotFoundError as error:
    if error.name != "uno_flex_env._core":
        raise
    message = (
        f"the compiled part of uno_flex_env is missing in {__path__[0]}. If this is the source folder, it hides the "
        "installed package: start Python in another folder, or run `make` here, or `pip install -e .`"
    )
    raise ModuleNotFoundError(message, name=error.name) from None
from uno_flex_env.errors import IllegalActionError, NotationError, RecordError
from uno_flex_env.game import Game, Match
from uno_flex_env.positions import playout
from uno_flex_env.registration import register_now_or_later
from uno_flex_env.rules import Rules
from uno_flex_env.vec_env import VecEnv

__version__ = "0.2.0"
__all__ = [
    "Game",
    "IllegalActionError",
    "Match",
    "NotationError",
    "RecordError",
    "Rules",
    "State",
    "VecEnv",
    "View",
    "playout",
]

# `gymnasium.make("UnoFlex-v0")` works in either order of the imports, and `import uno_flex_env` does not import
# Gymnasium.
register_now_or_later()
