"""The options that every environment face has, checked in one place."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np

from uno_flex_env import _core
from uno_flex_env.rules import Rules

REWARDS: tuple[str, ...] = _core.REWARDS
"""What an episode pays, by the core's number: the win alone, or the points / 100."""

MAX_HISTORY: int = _core.MAX_HISTORY
"""Events that an environment keeps at most."""

ILLEGAL = ("raise", "terminate")
"""What an illegal action does: raise IllegalActionError, or end the episode with -1 for whoever took it."""


def checked_rules(rules: Rules | Mapping[str, Any] | None) -> Rules:
    """`Rules` from `Rules`, from the switches that differ from the official ones, or from None."""
    if isinstance(rules, Rules):
        return rules
    if rules is None:
        return Rules()
    if isinstance(rules, Mapping):
        return Rules.from_dict(rules)
    raise ValueError(f"rules must be a Rules, a dict of switches or None, got {rules!r}")


def check_episode(
    num_players: int, rules: Rules, match: bool, reward: str, history: int, max_decisions: int | None
) -> None:
    """ValueError, naming the option, if this is no episode that can be played."""
    rules.check(num_players)
    check_flag("match", match)
    check_choice("reward", reward, REWARDS)
    check_whole("history", history, 0, MAX_HISTORY)
    if max_decisions is not None:
        check_whole("max_decisions", max_decisions, 1, (1 << 32) - 1)


def check_flag(name: str, value: object) -> None:
    """ValueError unless the option is True or False."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, got {value!r}")


def check_choice(name: str, value: object, choices: tuple[str | None, ...]) -> None:
    """ValueError unless the option is one of the choices."""
    if not any(value == choice and type(value) is type(choice) for choice in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def check_whole(name: str, value: object, least: int, most: int) -> None:
    """ValueError unless the option is a whole number in these bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}, got {value!r}")


def checked_seed(seed: int | None) -> int:
    """A 64-bit seed; None draws one."""
    if seed is None:
        return secrets.randbits(64)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 1 << 64:
        raise ValueError(f"a seed must be a whole number from 0 to 2**64 - 1, got {seed!r}")
    return int(seed)
