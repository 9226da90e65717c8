"""Registers `UnoFlex-v0` with Gymnasium: at once if Gymnasium is imported, otherwise when it is imported."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

ENV_ID = "UnoFlex-v0"
"""The name for `gymnasium.make` and `gymnasium.make_vec`."""


def register(gymnasium: ModuleType) -> None:
    """Register `ENV_ID` with Gymnasium, which imports the environments when they are made."""
    if ENV_ID not in gymnasium.registry:
        gymnasium.register(
            ENV_ID,
            entry_point="uno_flex_env.envs.single_agent:SingleAgentEnv",
            vector_entry_point="uno_flex_env.envs.gym_vector:UnoFlexVectorEnv",
        )


def register_now_or_later() -> None:
    """Register with Gymnasium without importing it."""
    gymnasium = sys.modules.get("gymnasium")
    if gymnasium is not None:
        _try_to_register(gymnasium)
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)


def _try_to_register(gymnasium: ModuleType) -> None:
    try:
        register(gymnasium)
    except Exception as error:  # no fault here may break `import gymnasium`
        warnings.warn(f"{ENV_ID} is not registered with Gymnasium: {error!r}", RuntimeWarning, stacklevel=2)


class _Finder:
    """Finds `gymnasium` through the other finders, and registers once its module has been executed.

    The module keeps the loader that the other finders give it.
    """

    def __init__(self) -> None:
        self._asking = False

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "gymnasium" or self._asking:
            return None
        self._asking = True
        try:
            spec = next(filter(None, (finder.find_spec(name, path, target) for finder in list(sys.meta_path))), None)
        finally:
            self._asking = False
        if spec is not None and spec.loader is not None:
            _register_after(spec.loader)
        return spec


def _register_after(loader: Any) -> None:
    """Make this loader of `gymnasium` register once it has executed the module."""
    execute = loader.exec_module

    def execute_and_register(module: ModuleType) -> None:
        del loader.exec_module
        execute(module)
        _try_to_register(module)

    loader.exec_module = execute_and_register


_FINDER = _Finder()
