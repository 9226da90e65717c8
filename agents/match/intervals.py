"""Confidence intervals with the deal as the unit, also for matches that may stop early."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

CONFIDENCE = 0.95
FIRST_LOOK = 256
"""The least number of deals before the first look at a match that may stop early."""


def interval(
    values: npt.NDArray[np.float64], least: float, most: float, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """An interval for the mean of independent values between `least` and `most`, one value for each deal.

    Student's t after two values are added, one of each extreme (the idea of Agresti and Coull, Am. Stat. 52, 1998). So
    the interval keeps its level with few deals, at rates of 0 or 1, and where almost all deals are alike.
    """
    padded = np.append(values, (least, most))
    half = stdtrit(padded.size - 1, (1 + confidence) / 2) * padded.std(ddof=1) / np.sqrt(padded.size)
    return max(least, float(padded.mean() - half)), min(most, float(padded.mean() + half))


def looks(deals: int, several: bool) -> list[tuple[int, float]]:
    """The looks at the result of a match: after how many deals, and at which level of confidence.

    With several looks the first comes after 256 to 511 deals and the next at each doubling. All intervals hold
    together at the level CONFIDENCE: the last look gets half of the error, the one before it a quarter, and so on
    (repeated confidence intervals: Jennison and Turnbull, J. R. Statist. Soc. B 51, 1989; the error is split by the
    union bound).
    """
    if not several:
        return [(deals, CONFIDENCE)]
    sizes = [deals]
    while sizes[0] >= 2 * FIRST_LOOK:
        sizes.insert(0, -(-sizes[0] // 2))
    shares = [0.5 ** (len(sizes) - look) for look in range(len(sizes))]
    shares[0] *= 2  # so that the shares add up to 1
    return [(size, 1 - (1 - CONFIDENCE) * share) for size, share in zip(sizes, shares, strict=True)]
