"""The settings that all learners by policy gradients have."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import ClassVar, get_args

from agents.device import Precision


@dataclass(frozen=True)
class ActorCriticConfig:
    """Hyperparameters of a policy gradient with a critic."""

    TABLE: ClassVar[str] = ""
    """The table of these settings in files and flags, for messages."""

    learning_rate: float = 2e-3
    """Adam's learning rate at the beginning."""
    learning_rate_end: float = 1e-4
    """The learning rate at the end; in between it falls in a straight line."""
    gamma: float = 1.0
    """Discount per decision of the same player, not per turn of the table."""
    entropy_coef: float = 0.02
    """Weight of the entropy bonus at the beginning, in units of reward per nat."""
    entropy_coef_end: float = 0.002
    """The weight at the end; in between it falls in a straight line."""
    value_coef: float = 0.5
    """Weight of the critic's squared error."""
    max_grad_norm: float = 0.5
    """Gradients with a larger norm are scaled down to this norm."""
    precision: Precision = "auto"
    """Number type of matrix products. auto: bfloat16 if the processor has instructions for it, else float32."""

    def __post_init__(self) -> None:
        self._check(0.0 <= self.gamma <= 1.0, "gamma", "lie in [0, 1]")
        for name in ("learning_rate", "max_grad_norm"):
            self._check(0.0 < getattr(self, name) < inf, name, "be above 0 and finite")
        for name in ("learning_rate_end", "entropy_coef", "entropy_coef_end", "value_coef"):
            self._check(0.0 <= getattr(self, name) < inf, name, "be at least 0 and finite")
        precisions = get_args(Precision)
        self._check(self.precision in precisions, "precision", f"be one of {', '.join(precisions)}")

    def _check(self, fine: bool, name: str, wanted: str) -> None:
        if not fine:
            raise ValueError(f"{self.TABLE}.{name} must {wanted}, got {getattr(self, name)!r}")
