"""Print what the networks are made of and what they cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

import torch

from agents.device import matmul_dtype
from agents.network import ActorCritic, Kind, NetworkConfig
from experiments.training.network_costs import cost, layers, multiply_adds, parameters, short_name, title

HELP = """\
Print the layers, parameters and cost of each kind of network, with and without a privileged critic. The cost is the
time of a pass through the whole network on one core, as in training. Play does not use the privileged critic.

  python -m experiments networks
  python -m experiments networks --width 512 --layers 3
"""


@dataclass(frozen=True)
class Config:
    """Settings of the networks, and of the measurement."""

    width: int = 256
    """Units in each hidden layer."""
    layers: int = 2
    """Number of hidden layers, or of residual blocks."""
    history: int = 16
    """How many past events a network of the kind "history" reads."""
    batches: tuple[int, ...] = (1, 4096)
    """Batch sizes, separated by spaces. The cost is measured for each of them."""
    seconds: float = 0.3
    """Seconds for each cost, which is the median of all measurements in that time."""

    def __post_init__(self) -> None:
        if not self.batches or min(self.batches) < 1:
            raise ValueError(f"batches must be numbers of decisions, at least 1, got {self.batches}")
        if not 0 < self.seconds < math.inf:
            raise ValueError(f"seconds must be above 0, got {self.seconds}")
        self.networks()  # checks the other settings

    def networks(self) -> list[NetworkConfig]:
        """Every kind, without and with a privileged critic."""
        return [
            NetworkConfig(kind, self.width, self.layers, self.history, privileged)
            for kind in get_args(Kind)
            for privileged in (False, True)
        ]


def main(config: Config) -> int:
    """Measure, and print the tables."""
    precisions = sorted({torch.float32, matmul_dtype("auto", torch.device("cpu"))}, key=str, reverse=True)
    columns = [(precision, batch) for precision in precisions for batch in config.batches]
    heads = [f"{short_name(precision)}, {batch:,} at once" for precision, batch in columns]
    table = [f"{'':20}{'parameters':>12}{'multiply-adds':>15}" + "".join(f"{head:>24}" for head in heads)]
    for one in config.networks():
        with torch.random.fork_rng(devices=[]):
            network = ActorCritic(one).eval()
        print("\n".join([title(one), *layers(network)]) + "\n", flush=True)
        costs = [f"{cost(network, batch, precision, config.seconds):.2f} us" for precision, batch in columns]
        sizes = f"{title(one):20}{parameters(network):>12,}{multiply_adds(network):>15,}"
        table.append(sizes + "".join(f"{value:>24}" for value in costs))
    print("Cost of one decision on one core:\n" + "\n".join(table), flush=True)
    return 0
