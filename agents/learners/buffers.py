"""Buffers of past decisions. Observations and masks are kept as bits, so a million transitions take 230 MB."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from agents.learners.seat_steps import Transitions
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.observation import NUM_FEATURES

MAX_CAPACITY = 1 << 26
"""The largest buffer that can be asked for."""

_BITS = {
    "observation": NUM_FEATURES,
    "action_mask": NUM_ACTIONS,
    "next_observation": NUM_FEATURES,
    "next_action_mask": NUM_ACTIONS,
}
"""The columns that are kept as bits, with their widths."""
_DTYPES: dict[str, Any] = {"action": np.int64, "reward": np.float32, "terminated": np.bool_}
"""The columns that are kept as they are."""


class _Rows:
    """A table of rows that are replaced by their numbers.

    Args:
        capacity: the number of rows.
        columns: the names of the columns, of those above.
    """

    def __init__(self, capacity: int, columns: tuple[str, ...]) -> None:
        self.capacity, self.added = capacity, 0
        self.columns: dict[str, npt.NDArray[Any]] = {
            name: np.zeros((capacity, -(-_BITS[name] // 8)), np.uint8)
            if name in _BITS
            else np.zeros(capacity, _DTYPES[name])
            for name in columns
        }

    def __len__(self) -> int:
        return min(self.added, self.capacity)

    def put(self, slots: npt.NDArray[np.int64], values: Mapping[str, npt.NDArray[Any]]) -> None:
        for name, column in self.columns.items():
            column[slots] = np.packbits(values[name], axis=1) if name in _BITS else values[name]

    def sample(self, count: int, generator: torch.Generator) -> dict[str, Tensor]:
        """`count` rows, drawn evenly with replacement. Columns of bits come as uint8, masks as bool."""
        rows = torch.randint(len(self), (count,), generator=generator).numpy()
        sample = {}
        for name, column in self.columns.items():
            values = column[rows]
            if name in _BITS:
                values = np.unpackbits(values, axis=1, count=_BITS[name])
            sample[name] = torch.from_numpy(values.view(np.bool_) if name.endswith("mask") else values)
        return sample

    def state_dict(self) -> dict[str, Any]:
        rows = len(self)
        return {"added": self.added} | {
            name: torch.from_numpy(column[:rows].copy()) for name, column in self.columns.items()
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.added = state["added"]
        for name, column in self.columns.items():
            column[: len(self)] = state[name].numpy()


class ReplayBuffer(_Rows):
    """The last transitions, for Q-learning (arXiv:1312.5602)."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity, (*_BITS, *_DTYPES))

    def add(self, transitions: Transitions) -> None:
        """Add transitions; each replaces the oldest one in a full buffer."""
        count = len(transitions)
        slots = (self.added + np.arange(count)) % self.capacity
        last = transitions[-self.capacity :] if count > self.capacity else transitions
        self.put(slots[-self.capacity :], vars(last))
        self.added += count


class ReservoirBuffer(_Rows):
    """An even sample of all decisions ever added (Vitter, doi:10.1145/3147.3165), for the average policy of NFSP."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity, ("observation", "action_mask", "action"))

    def add(
        self,
        observation: npt.NDArray[np.uint8],
        action_mask: npt.NDArray[np.int8],
        action: npt.NDArray[np.int64],
        generator: torch.Generator,
    ) -> None:
        """Add K decisions; each stays with probability capacity / (decisions added so far)."""
        numbers = self.added + np.arange(len(action))
        drawn = torch.rand(len(action), generator=generator, dtype=torch.float64).numpy()
        slots = np.where(numbers < self.capacity, numbers, (drawn * (numbers + 1)).astype(np.int64))
        kept = slots < self.capacity
        values: dict[str, npt.NDArray[Any]] = {
            "observation": observation[kept],
            "action_mask": action_mask[kept],
            "action": action[kept],
        }
        self.put(slots[kept], values)
        self.added += len(action)
