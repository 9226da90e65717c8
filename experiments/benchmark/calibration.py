"""What a machine can do: five seconds of measurements that stand in each row of the results."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from uno_flex_env.bench.batch_speed import batch_of


@dataclass(frozen=True)
class Machine:
    """A machine, and the speed of one of its cores."""

    machine: str
    """The processor and the system."""
    core_decisions_per_second: float
    """Random decisions at two players inside the core, with observations and masks."""
    matmul_gflops: float
    """Billion floating-point operations a second in the products of a network of width 256, in float32."""


def calibrate(seconds: float) -> Machine:
    """Measure one core for so many processor seconds."""
    env = batch_of(1024, 2)
    steps = 64
    games = _rate(lambda: env.batch.random_steps(steps), seconds / 2) * steps * env.num_envs
    inputs, weights = torch.rand(2048, 256), torch.rand(256, 256)
    products = _rate(lambda: torch.mm(inputs, weights), seconds / 2) * 2 * inputs.numel() * weights.shape[1]
    return Machine(f"{_processor()}, {platform.system()} {platform.machine()}", games, products / 1e9)


def _rate(work: Callable[[], object], seconds: float) -> float:
    """How often a second of the processor the work can be done."""
    work()
    began, times = time.process_time(), 0
    while (spent := time.process_time() - began) < seconds or not times:
        work()
        times += 1
    return times / max(spent, 1e-9)


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown processor"
