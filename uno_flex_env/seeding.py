"""Seeds and keys: random numbers that depend on their purpose, not on earlier draws."""

from __future__ import annotations

import secrets

import numpy as np
import numpy.typing as npt

Noise = npt.NDArray[np.uint64]
"""Keys, one for each decision. A key fixes all random numbers of its decision."""

_GOLDEN = 0x9E3779B97F4A7C15  # 2**64 divided by the golden ratio: SplitMix64's increment
_SEAT = 0xD1342543DE82EF95  # a second odd number, so that seats and deals give distinct keys


def checked_seed(seed: int | None) -> int:
    """A 64-bit seed; None draws one."""
    if seed is None:
        return secrets.randbits(64)
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 1 << 64:
        raise ValueError(f"a seed must be a whole number from 0 to 2**64 - 1, got {seed!r}")
    return int(seed)


def splitmix64(numbers: Noise) -> Noise:
    """Scrambled numbers, (...) uint64: similar ones become unrelated.

    The finalizer of SplitMix64 (doi:10.1145/2714064.2660195).
    """
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def derived_seeds(seeds: int | Noise, numbers: npt.ArrayLike) -> Noise:
    """Seeds for the numbered parts of something that has a seed itself, (B,) uint64.

    Two seeds have no more derived seeds in common than chance brings about. Sums like `seed + number` would not do:
    seeds 1 and 2 share nearly all of them.

    Args:
        seeds: one seed, or (B,) uint64.
        numbers: (B,) whole numbers, or one number for all.
    """
    seed, number = (np.atleast_1d(np.asarray(part, np.uint64)) for part in (seeds, numbers))
    golden = np.uint64(_GOLDEN)
    return splitmix64(splitmix64(seed + golden) + number * golden)


def derived_seed(seed: int, number: int) -> int:
    """One of `derived_seeds`."""
    return int(derived_seeds(seed, number)[0])


def uniforms(noise: Noise, stream: int = 0) -> npt.NDArray[np.float64]:
    """Uniform numbers in [0, 1), in the shape of `noise`. Each stream gives different numbers from the same keys."""
    bits = splitmix64(noise + np.uint64(_GOLDEN * (stream + 1) % 2**64))
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def decision_noise(seed: int, deals: npt.ArrayLike, seats: npt.ArrayLike, counts: npt.ArrayLike) -> Noise:
    """Keys of decisions, (B,).

    A key depends on the deal, the seat and the number of decisions that the seat has taken before. So a seat gets the
    same random numbers in a deal, no matter which policies play the other seats.

    Args:
        seed: fixes all keys.
        deals, seats, counts: (B,) whole numbers each, or one number for all.
    """
    deal, seat, count = (np.atleast_1d(np.asarray(numbers, np.uint64)) for numbers in (deals, seats, counts))
    golden = np.uint64(_GOLDEN)
    key = splitmix64(np.uint64(seed) + deal * golden)
    key = splitmix64(key + seat * np.uint64(_SEAT) + golden)
    return splitmix64(key + count * golden)
