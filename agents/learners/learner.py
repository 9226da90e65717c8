"""The protocol of learners: what the runner of `train` and of the benchmark needs from an algorithm.

A learner is made by `Class(task, seed)`, or by `Class(task, seed, config)` if it has settings: then `Class.Config` is a
frozen dataclass of them with defaults. Budget, clock, measurements and files belong to the runner.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from agents.policy import Policy


class Learner(Protocol):
    """Learns to play.

    It draws random numbers only from generators of its own, which follow from its seed. Then the same seed gives the
    same run on the same machine with the same number of threads.
    """

    metrics: Mapping[str, float]
    """Metrics of the last `step` by name. `experiments.training.monitor.GROUPS` names those that have a chart."""

    def step(self, progress: float) -> int:
        """Learn a little, in about a second or less.

        Args:
            progress: the share of the run that is done, in [0, 1], for schedules such as that of the learning rate.

        Returns:
            How many decisions it took in this step, at least 1: those of its seats, without those of opponents.

        Raises:
            FloatingPointError: the weights or the loss are not finite. The learner is as before the bad update.
        """

    def policy(self, name: str = "agent") -> Policy:
        """A frozen copy of the policy as it plays. If it is a `agents.network_policy.NetworkPolicy`, the runner writes
        its network to a file."""

    def state_dict(self) -> dict[str, Any]:
        """Everything that determines the next `step`: plain values and tensors, nested in dicts and lists."""

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue, bit for bit, from the `state_dict` of a learner that was made with the same arguments."""
