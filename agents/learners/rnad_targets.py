"""What R-NaD learns: targets of the critic by v-trace, and the loss of the policy by NeuRD."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Floats = npt.NDArray[np.float32]


def v_trace(
    value: Floats,
    next_value: Floats,
    reward: Floats,
    ratio: Floats,
    goes_on: npt.NDArray[np.bool_],
    lambda_: float,
) -> tuple[Floats, Floats]:
    """V-trace (equation 1 of arXiv:1802.01561) on the decisions of single seats, without discount.

    Decisions of one trajectory follow each other in order of time.

    Args:
        value: (K,), values of the positions.
        next_value: (K,), values of the next positions of the same seats; 0 at the end of a round.
        reward: (K,), rewards of the seat until its next decision.
        ratio: (K,), the probability of the action by the policy divided by that by the policy that took it. Ratios
            above 1 count as 1.
        goes_on: (K,), whether the next row is the next decision of the same seat in the same round.
        lambda_: 0 trusts the critic after one decision, 1 uses all decisions that follow.

    Returns:
        target (K,), which the critic learns; next_target (K,), the target of the next decision where there is one, else
        `next_value`.
    """
    weight = np.minimum(ratio, 1.0)
    target = value + weight * (reward + next_value - value)
    next_target = next_value.copy()
    # By the number of decisions that follow: first those that are the last of their trajectories.
    ends = np.flatnonzero(~goes_on)
    following = ends[np.searchsorted(ends, np.arange(len(value)))] - np.arange(len(value))
    by_following = np.argsort(following, kind="stable")
    bounds = np.searchsorted(following[by_following], np.arange(1, following.max(initial=0) + 2))
    for begin, end in pairwise(bounds):
        rows = by_following[begin:end]
        next_target[rows] = target[rows + 1]
        target[rows] += weight[rows] * lambda_ * (target[rows + 1] - next_value[rows])
    return target, next_target


def neurd_loss(logits: Tensor, legal: Tensor, advantage: Tensor, beta: float) -> Tensor:
    """The loss whose gradient by each legal logit is minus its advantage (arXiv:1906.00190), as a mean over B rows.

    From the gradient of each row, its mean over the legal logits is taken away, so that they don't drift together.

    Args:
        logits: (B, A).
        legal: (B, A) bool.
        advantage: (B, A).
        beta: a logit so far above the mean of the legal ones is not pushed up, one so far below is not pushed down.
    """
    mean = (logits * legal).sum(dim=1, keepdim=True) / legal.sum(dim=1, keepdim=True)
    centered = logits - mean
    free = torch.where(advantage > 0, centered < beta, centered > -beta) & legal
    return -(torch.where(free, advantage, 0.0) * centered).sum(dim=1).mean()
