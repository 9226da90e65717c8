"""The layers of a network, its parameters, and what a decision costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch.utils.benchmark import Timer
from torch.utils.flop_counter import FlopCounterMode

from agents.network import ActorCritic, NetworkConfig
from uno_flex_env.batch import NUM_HIDDEN_FEATURES
from uno_flex_env.observation import NUM_FEATURES


def title(config: NetworkConfig) -> str:
    """The name of a network in the tables."""
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
    """The number of parameters."""
    return sum(weights.numel() for weights in network.parameters())


def multiply_adds(network: ActorCritic) -> int:
    """The number of multiply-adds in the matrix products of one decision."""
    with FlopCounterMode(display=False) as counter:
        forward(network, 1)()
    return int(counter.get_total_flops()) // 2


def cost(network: ActorCritic, batch: int, precision: torch.dtype, seconds: float) -> float:
    """Measure microseconds per decision in a batch of this size, as the median of all measurements in `seconds`."""
    timer = Timer("run()", globals={"run": forward(network, batch, precision)}, num_threads=1)
    return 1e6 * timer.blocked_autorange(min_run_time=seconds).median / batch


def forward(network: ActorCritic, batch: int, precision: torch.dtype = torch.float32) -> Callable[[], None]:
    """A function that passes a batch of this size through the whole network, with the privileged critic."""
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


def short_name(precision: torch.dtype) -> str:
    """The name of a dtype without the module."""
    return str(precision).removeprefix("torch.")
