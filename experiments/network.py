"""A trained network as a policy that plays, and the file in which it is kept."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from agents.files import write_whole
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.opponents import Observations

FORMAT = 1


def layers(hidden: Sequence[int]) -> nn.Sequential:
    """From features (B, 640) over ReLU layers of these widths to logits (B, 216)."""
    widths = [NUM_FEATURES, *hidden]
    steps: list[nn.Module] = []
    for before, after in pairwise(widths):
        steps += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*steps, nn.Linear(widths[-1], NUM_ACTIONS))


class NetworkPolicy:
    """Plays the legal actions with the probabilities that a network gives them: see `uno_flex_env.opponents.Policy`.

    Args:
        network: from features to logits; it is used as it is, so hand in a copy of one that goes on learning.
        hidden: widths of its hidden layers.
        seed: of the choices.
        greedy: always take the likeliest action.
    """

    def __init__(self, network: nn.Sequential, hidden: Sequence[int], *, seed: int = 0, greedy: bool = False) -> None:
        self.network, self.hidden, self.greedy = network.eval(), tuple(hidden), greedy
        self._generator = torch.Generator().manual_seed(seed)

    @torch.no_grad()
    def __call__(self, batch: Observations) -> npt.NDArray[np.int64]:
        logits: torch.Tensor = self.network(torch.from_numpy(batch["observation"]).float())
        logits = logits.masked_fill(torch.from_numpy(batch["action_mask"]) == 0, -torch.inf)
        if not self.greedy:
            # The largest of logits plus Gumbel noise is distributed as their softmax; it stays -inf where illegal.
            logits = logits - torch.empty_like(logits).exponential_(generator=self._generator).log()
        actions: npt.NDArray[np.int64] = logits.argmax(dim=1).numpy()
        return actions


def save(policy: NetworkPolicy, path: Path, **notes: Any) -> None:
    """Write the network, with plain notes about it. The file is either the old or the new one, never half of it."""
    kept = {"format": FORMAT, "hidden": list(policy.hidden), "notes": notes, "weights": policy.network.state_dict()}
    data = io.BytesIO()
    torch.save(kept, data)
    write_whole(path, data.getvalue())


def load(path: Path, *, seed: int = 0, greedy: bool = False) -> NetworkPolicy:
    """The policy that `save` has written. Only tensors and plain values are read, never code."""
    kept = torch.load(path, weights_only=True)
    if not isinstance(kept, dict) or kept.get("format") != FORMAT:
        raise ValueError(f"{path} is no network of format {FORMAT}")
    network = layers(kept["hidden"])
    network.load_state_dict(kept["weights"])
    return NetworkPolicy(network, kept["hidden"], seed=seed, greedy=greedy)
