"""Makes learners from their names."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

from agents.allowed_code import check_allowed
from agents.learners.learner import Learner
from agents.learners.task import LearningTask
from uno_flex_env.errors import did_you_mean

LEARNERS = {
    "ppo": "agents.learners.self_play_ppo:SelfPlayPPO",
    "mmd": "agents.learners.mmd:MMD",
    "ppo_league": "agents.learners.ppo_league:PPOLeague",
    "a2c": "agents.learners.a2c:A2C",
    "ppg": "agents.learners.ppg:PPG",
    "dqn": "agents.learners.dqn:DQN",
    "nfsp": "agents.learners.nfsp:NFSP",
    "dmc": "agents.learners.dmc:DMC",
    "rnad": "agents.learners.rnad:RNaD",
    "maskable_ppo": "agents.learners.maskable_ppo:MaskablePPO",
}
"""The learners that come with the project, by name. A class is imported when it is used."""


def learner_class(name: str) -> type[Any]:
    """The class of a learner.

    Args:
        name: one of `LEARNERS`, or "module:Class" for a class of your own.

    Raises:
        ValueError: there is no such learner; the message says which there are. Or it is a class that
            `agents.allowed_code.allow_only` does not allow.
    """
    module, colon, class_name = LEARNERS.get(name, name).partition(":")
    if not colon or not module or not class_name:
        raise ValueError(_unknown(name))
    if name not in LEARNERS:
        check_allowed(name)
    try:
        if find_spec(module.partition(".")[0]) is None:
            raise ValueError(f"there is no module {module!r}: {_unknown(name)}")
        found = getattr(importlib.import_module(module), class_name)
    except (ImportError, AttributeError, SyntaxError) as error:
        raise ValueError(f"no such learner: {name!r}: {error}") from None
    wanted = "step", "policy", "state_dict", "load_state_dict"
    if not isinstance(found, type) or (missing := [method for method in wanted if not hasattr(found, method)]):
        lacks = "is no class" if not isinstance(found, type) else f"lacks {', '.join(missing)}"
        raise ValueError(f"no such learner: {name!r} {lacks}; agents/learners/learner.py is the protocol")
    return found


def make_learner(name: str, task: LearningTask, seed: int, config: Any = None) -> Learner:
    """Make a learner; `config` is an instance of its `Config`, or None for the defaults.

    Raises:
        ValueError: as `learner_class`, or the learner does not support something in the task.
    """
    found = learner_class(name)
    learner: Learner = found(task, seed) if config is None else found(task, seed, config)
    return learner


def _unknown(name: str) -> str:
    return f"no such learner: {name!r}; there are {', '.join(LEARNERS)} and module:Class{did_you_mean(name, LEARNERS)}"
