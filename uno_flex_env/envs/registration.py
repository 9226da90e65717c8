"""Names for `gymnasium.make` and `gymnasium.make_vec`. Importing this module registers them."""

from __future__ import annotations

import gymnasium

ENV_ID = "UnoFlex-v0"


def register() -> None:
    """Tell Gymnasium about the environment, unless it knows it already."""
    if ENV_ID not in gymnasium.registry:
        gymnasium.register(
            ENV_ID,
            entry_point="uno_flex_env.envs.single_agent:SingleAgentEnv",
            vector_entry_point="uno_flex_env.envs.gym_vector:UnoFlexVectorEnv",
        )


register()
