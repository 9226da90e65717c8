"""Where networks compute, and with which precision."""

from __future__ import annotations

from typing import Any, Literal

import torch

Precision = Literal["auto", "float32", "bfloat16"]


def choose_device(name: str = "auto") -> torch.device:
    """The device of this name; for "auto" CUDA, Apple's MPS or the CPU, the first that is available.

    Raises:
        ValueError: the device is not available.
    """
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    found = [kind for kind, there in available.items() if there]
    if name not in ("auto", *found):
        raise ValueError(f"device must be auto or one that is there, {', '.join(found)}, got {name!r}")
    return torch.device(found[0] if name == "auto" else name)


def matmul_dtype(precision: Precision, device: torch.device) -> torch.dtype:
    """The type in which matrix products are computed; for "auto" bfloat16 if the device has instructions for it."""
    if precision != "auto":
        return torch.float32 if precision == "float32" else torch.bfloat16
    if device.type == "cuda":
        able = torch.cuda.is_bf16_supported(including_emulation=False)
        return torch.bfloat16 if able else torch.float32
    # Processors without such instructions emulate bfloat16, which is slower than float32.
    has: dict[str, Any] = getattr(torch.cpu, "get_capabilities", dict)()
    fast = device.type == "cpu" and (has.get("avx512_bf16") or has.get("amx_bf16"))
    return torch.bfloat16 if fast else torch.float32
