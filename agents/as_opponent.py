"""An adapter: policies as opponents in the environments of uno_flex_env."""

from __future__ import annotations

import numpy as np

from agents.policy import Actions, Decisions, Policy, last_events
from uno_flex_env.envs.opponents import Observations
from uno_flex_env.seeding import decision_noise


class AsOpponent:
    """A policy in the form that environments take for `opponents`: see `uno_flex_env.envs.opponents.Policy`.

    The keys of a call follow from `seed` and from how many calls there were before, so the same sequence of calls gives
    the same actions. The environment must keep a `history` at least as long as the policy reads.
    """

    def __init__(self, policy: Policy, seed: int = 0) -> None:
        self.policy, self.seed, self._calls = policy, seed, 0
        self.__name__ = policy.name

    def __call__(self, batch: Observations) -> Actions:
        rows = np.arange(len(batch["observation"]))
        noise = decision_noise(self.seed, self._calls, 0, rows)
        self._calls += 1
        history = last_events(self.policy, batch.get("history"))
        return self.policy.act(Decisions(batch["observation"], batch["action_mask"], noise, history))
