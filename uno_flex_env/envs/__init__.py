"""The environments.

After `import uno_flex_env`, `gymnasium.make("UnoFlex-v0")` makes one. `gymnasium.make("uno_flex_env:UnoFlex-v0")` also
does the import.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from uno_flex_env.registration import ENV_ID

if TYPE_CHECKING:
    from uno_flex_env.envs.aec import UnoFlexEnv
    from uno_flex_env.envs.gym_vector import UnoFlexVectorEnv
    from uno_flex_env.envs.sb3 import SB3VecEnv
    from uno_flex_env.envs.single_agent import SingleAgentEnv
    from uno_flex_env.vec_env import VecEnv

__all__ = ["ENV_ID", "SB3VecEnv", "SingleAgentEnv", "UnoFlexEnv", "UnoFlexVectorEnv", "VecEnv"]

_MODULES = {
    "SB3VecEnv": "uno_flex_env.envs.sb3",
    "SingleAgentEnv": "uno_flex_env.envs.single_agent",
    "UnoFlexEnv": "uno_flex_env.envs.aec",
    "UnoFlexVectorEnv": "uno_flex_env.envs.gym_vector",
    "VecEnv": "uno_flex_env.vec_env",
}


def __getattr__(name: str) -> Any:
    # PettingZoo and Stable-Baselines3 are imported only for the environments that need them.
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
