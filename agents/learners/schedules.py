"""Settings that change in a straight line during a run."""

from __future__ import annotations

import torch


def between(start: float, end: float, progress: float) -> float:
    """The value at this share of the run, in [0, 1]."""
    return start + (end - start) * progress


def exploration(start: float, end: float, share: float, progress: float) -> float:
    """The epsilon of a schedule that ends after a share of the run, and then stays."""
    return end if progress >= share else between(start, end, progress / share)


def set_learning_rate(optimizer: torch.optim.Optimizer, start: float, end: float, progress: float) -> float:
    """Set the learning rate for this share of the run, and return it."""
    rate = between(start, end, progress)
    for group in optimizer.param_groups:
        group["lr"] = rate
    return rate
