"""What networks are made of, and what a decision costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import get_args

import torch
from torch import Tensor, nn
from torch.utils.benchmark import Timer
from torch.utils.flop_counter import FlopCounterMode

from agents.device import matmul_dtype
from agents.network import ActorCritic, Kind, NetworkConfig
from uno_flex_env.batch import NUM_HIDDEN_FEATURES
from uno_flex_env.observation import NUM_FEATURES

HELP = """\
Print the parameters, layers and cost of each kind of network, with and without a privileged critic. Costs are of a pass
through the whole network on one core, as in training; in play the privileged critic is left out.

  python -m experiments networks
  python -m experiments networks --width 512 --layers 3
"""


@dataclass(frozen=True)
class Config:
    """Which networks, and how they are measured."""

    width: int = 256
    """Of every hidden layer."""
    layers: int = 2
    """Hidden layers, or residual blocks."""
    history: int = 16
    """Past events that the kind "history" reads."""
    batches: tuple[int, ...] = (1, 4096)
    """Decisions computed at once, for each measurement of the cost."""
    seconds: float = 0.3
    """For each measurement; the cost is the median of those that fit."""

    def __post_init__(self) -> None:
        if not self.batches or min(self.batches) < 1:
            raise ValueError(f"batches must be numbers of decisions, at least 1, got {self.batches}")
        if not 0 < self.seconds < math.inf:
            raise ValueError(f"seconds must be above 0, got {self.seconds}")
        self.networks()  # which checks the others

    def networks(self) -> list[NetworkConfig]:
        """Every kind, without and with a privileged critic."""
        return [
            NetworkConfig(kind, self.width, self.layers, self.history, privileged)
            for kind in get_args(Kind)
            for privileged in (False, True)
        ]


def main(config: Config) -> int:
    """The command."""
    precisions = sorted({torch.float32, matmul_dtype("auto", torch.device("cpu"))}, key=str, reverse=True)
    columns = [(precision, batch) for precision in precisions for batch in config.batches]
    heads = [f"{_short(precision)}, {batch:,} at once" for precision, batch in columns]
    table = [f"{'':20}{'parameters':>12}{'multiply-adds':>15}" + "".join(f"{head:>24}" for head in heads)]
    for one in config.networks():
        with torch.random.fork_rng(devices=[]):
            network = ActorCritic(one).eval()
        print("\n".join([title(one), *layers(network)]) + "\n", flush=True)
        costs = [f"{cost(network, batch, precision, config.seconds):.2f} us" for precision, batch in columns]
        sizes = f"{title(one):20}{parameters(network):>12,}{multiply_adds(network):>15,}"
        table.append(sizes + "".join(f"{value:>24}" for value in costs))
    print("Of one decision, on one core:\n" + "\n".join(table), flush=True)
    return 0


def title(config: NetworkConfig) -> str:
    """What the tables call it."""
    return f"{config.kind}, privileged" if config.privileged else config.kind


def layers(network: ActorCritic) -> Iterator[str]:
    """A line for each layer: name, kind, shape, parameters."""
    for name, layer in network.named_modules():
        if own := sum(weights.numel() for weights in layer.parameters(recurse=False)):
            yield f"  {name:16} {type(layer).__name__:10} {_shape(layer):>14} {own:>10,}"


def _shape(layer: nn.Module) -> str:
    if isinstance(layer, nn.Linear):
        return f"{layer.in_features} -> {layer.out_features}"
    return " x ".join(map(str, next(layer.parameters()).shape))


def parameters(network: ActorCritic) -> int:
    """How many numbers are learned."""
    return sum(weights.numel() for weights in network.parameters())


def multiply_adds(network: ActorCritic) -> int:
    """Of the matrix products of one decision."""
    with FlopCounterMode(display=False) as counter:
        forward(network, 1)()
    return int(counter.get_total_flops()) // 2


def cost(network: ActorCritic, batch: int, precision: torch.dtype, seconds: float) -> float:
    """Microseconds for each of so many decisions at once: the median of the measurements that fit into this time."""
    timer = Timer("run()", globals={"run": forward(network, batch, precision)}, num_threads=1)
    return 1e6 * timer.blocked_autorange(min_run_time=seconds).median / batch


def forward(network: ActorCritic, batch: int, precision: torch.dtype = torch.float32) -> Callable[[], None]:
    """A pass of so many decisions through the whole network, the privileged critic included."""
    generator = torch.Generator().manual_seed(0)

    def bits(features: int) -> Tensor:
        return torch.randint(2, (batch, features), generator=generator, dtype=torch.uint8)

    config = network.config
    observation = bits(NUM_FEATURES)
    history = torch.zeros((batch, config.events, 3), dtype=torch.int16) if config.events else None
    hidden = bits(NUM_HIDDEN_FEATURES) if config.privileged else None

    def run() -> None:
        mixed = torch.autocast("cpu", precision) if precision != torch.float32 else nullcontext()
        with torch.inference_mode(), mixed:
            network(observation, history, hidden)

    return run


def _short(precision: torch.dtype) -> str:
    return str(precision).removeprefix("torch.")
