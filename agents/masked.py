"""Distributions over legal actions: softmax with a mask, entropy, divergence, sampling."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def masked_log_softmax(logits: Tensor, legal: Tensor) -> tuple[Tensor, Tensor]:
    """Log-probabilities and probabilities of the legal actions.

    Args:
        logits: (B, A), of any size.
        legal: (B, A) bool, at least one in each row.

    Returns:
        Both (B, A) float32. The probability of an illegal action is exactly 0; its log-probability is a finite number
        without meaning, so that products of the two, and gradients, are never NaN.
    """
    masked = _masked(logits, legal)
    return masked.log_softmax(dim=1), masked.softmax(dim=1)


def masked_softmax(logits: Tensor, legal: Tensor) -> Tensor:
    """The probabilities of `masked_log_softmax`, without the log-probabilities."""
    return _masked(logits, legal).softmax(dim=1)


def _masked(logits: Tensor, legal: Tensor) -> Tensor:
    # Not -inf, since 0 * inf is NaN. No logit is as low as -1e38.
    return torch.where(legal, logits, -1e38).float()


def log_prob_and_entropy(logits: Tensor, legal: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
    """The log-probability of one legal action of each row, and the entropy of the row in nats.

    The results are those of `masked_log_softmax` and `entropy`. The gradient is written out, to save time:
    d log p(a) / d logits = 1[a] - p and dH / d logits = -p (log p + H).

    Args:
        logits: (B, A), of any size.
        legal: (B, A) bool.
        action: (B,) int64.

    Returns:
        Both (B,) float32.
    """
    log_prob, entropies = _LogProbAndEntropy.apply(logits, legal, action)  # type: ignore[no-untyped-call]
    return log_prob, entropies


class _LogProbAndEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, legal: Tensor, action: Tensor) -> tuple[Tensor, Tensor]:
        log_probs, probs = masked_log_softmax(logits, legal)
        weighted = probs * log_probs  # (B, A)
        entropies = -weighted.sum(dim=1)
        ctx.save_for_backward(probs, weighted, entropies, action)
        ctx.dtype = logits.dtype
        return log_probs.gather(1, action[:, None]).squeeze(1), entropies

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        probs, weighted, entropies, action = ctx.saved_tensors
        log_prob_gradient, entropy_gradient = (gradient[:, None] for gradient in gradients)  # (B, 1) each
        slope = probs * -(log_prob_gradient + entropy_gradient * entropies[:, None])
        slope.addcmul_(weighted, entropy_gradient, value=-1).scatter_add_(1, action[:, None], log_prob_gradient)
        return slope.to(ctx.dtype), None, None


def entropy(log_probs: Tensor, probs: Tensor) -> Tensor:
    """The entropy of each row in nats, (B,)."""
    return -(probs * log_probs).sum(dim=1)


def kl_divergence(log_probs: Tensor, probs: Tensor, other_log_probs: Tensor) -> Tensor:
    """The divergence from the distribution of each row to another with the same legal actions, (B,), in nats."""
    return (probs * (log_probs - other_log_probs)).sum(dim=1)


def sample(probs: Tensor, uniform: Tensor) -> Tensor:
    """Sample an action for each row, (B,), by inverting the cumulative distribution function.

    Args:
        probs: (B, A); a row need not add up to 1.
        uniform: (B,) in [0, 1).
    """
    reached = probs.cumsum(dim=1)
    uniform = uniform.to(probs.dtype).clamp(max=1.0 - 2.0**-24)  # rounding must not reach 1
    action = torch.searchsorted(reached, uniform[:, None] * reached[:, -1:], right=True)
    # Where sums are not taken in order, as on a GPU, they can rise by rounding at an action of probability 0.
    possible = probs.gather(1, action) > 0
    if not possible.all():
        action = torch.where(possible, action, probs.argmax(dim=1, keepdim=True))
    return action.squeeze(1)
