"""Files of networks: safetensors with a description as JSON in the header. Loading executes no code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

import uno_flex_env
from agents.atomic import write_whole
from agents.json_text import field_of, parse_json
from agents.network import ActorCritic, NetworkConfig
from agents.policy_spec import PolicySpec
from uno_flex_env.policy_input import ENVIRONMENT
from uno_flex_env.rules import Rules

POLICY = "policy.safetensors"
"""The network of a run, in its folder."""

_KEY = "uno_flex"


def save(path: Path, kind: str, tensors: Mapping[str, torch.Tensor], about: Mapping[str, Any]) -> None:
    """Write tensors and a description of them, atomically.

    Args:
        path: the file.
        kind: name and version of the format; `load` must ask for the same.
        tensors: by name.
        about: the description, of values that JSON can hold.
    """
    text = json.dumps({"format": kind, "environment": ENVIRONMENT, "version": uno_flex_env.__version__, **about})
    data = safetensors.torch.save({name: tensor.contiguous() for name, tensor in tensors.items()}, {_KEY: text})
    write_whole(path, data)


def load(path: Path, kind: str) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """The tensors and the description that `save` has written.

    Raises:
        ValueError: the file is something else, of another kind, or of another version of the environment.
    """
    data = path.read_bytes()  # once: the file may be replaced at any time, and `safe_open` opens it twice
    try:
        tensors = safetensors.torch.load(data)
    except (safetensors.SafetensorError, ValueError, KeyError) as error:
        raise ValueError(f"{path} is no checkpoint: {error}") from None
    header = parse_json(data[8 : 8 + int.from_bytes(data[:8], "little")], path)
    about = parse_json((header.get("__metadata__") or {}).get(_KEY, "null"), f"{path}: its description")
    if not isinstance(about, dict) or about.get("format") != kind:
        found = about.get("format") if isinstance(about, dict) else None
        raise ValueError(f"{path} must be of the format {kind!r}, got {found!r}")
    if about.get("environment") != ENVIRONMENT:
        raise ValueError(f"{path} was made for the environment {about.get('environment')}, this one is {ENVIRONMENT}")
    return tensors, about


POLICY_FORMAT = "uno-flex-policy/1"


def save_network(path: Path, network: ActorCritic, about: Mapping[str, Any]) -> None:
    """Write a network that `load_network` reads, with notes about it."""
    weights = {name: tensor.detach().cpu() for name, tensor in network.state_dict().items()}
    save(path, POLICY_FORMAT, weights, {"network": asdict(network.config), "about": dict(about)})


def load_network(path: Path) -> tuple[ActorCritic, dict[str, Any]]:
    """Read a network and the notes about it. Sizes are compared with the file's tensors before memory is allocated.

    Raises:
        ValueError: the file is another, its description is damaged, or its weights don't fit or are not finite.
    """
    weights, description = load(path, POLICY_FORMAT)
    about: dict[str, Any] = field_of(description, "about", dict, path)
    config = _config(field_of(description, "network", dict, path), path)
    if config.layers > len(weights):
        raise ValueError(
            f"{path}: weights and network don't fit: network.layers is {config.layers}, with {len(weights)} tensors"
        )
    with torch.device("meta"):  # sizes without memory
        network = ActorCritic(config)
    _check_fit(weights, network.state_dict(), path)
    network.to_empty(device="cpu").load_state_dict(weights)
    return network, about


def _config(table: Mapping[str, Any], path: Path) -> NetworkConfig:
    """The settings of a network, from the description in its file."""
    kinds = {field.name: type(field.default) for field in fields(NetworkConfig)}
    for name in table:
        if name not in kinds:
            raise ValueError(f"{path}: weights and network don't fit: no such setting: network.{name}")
        field_of(table, name, kinds[name], f"{path}: network")
    try:
        return NetworkConfig(**table)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _check_fit(weights: Mapping[str, torch.Tensor], wanted: Mapping[str, torch.Tensor], path: Path) -> None:
    """ValueError unless these are the names, shapes and types that are wanted, and all numbers are finite."""
    for name in (*wanted, *weights):
        if name not in weights or name not in wanted:
            fault = "is missing" if name not in weights else "is unknown"
            raise ValueError(f"{path}: weights and network don't fit: {name} {fault}")
        found, want = weights[name], wanted[name]
        if found.shape != want.shape or found.dtype != want.dtype:
            raise ValueError(f"{path}: weights and network don't fit: {name} must be {_size(want)}, got {_size(found)}")
    for name, tensor in weights.items():
        if not torch.isfinite(tensor).all():
            raise ValueError(f"{path}: {name} holds numbers that are not finite")


def _size(tensor: torch.Tensor) -> str:
    return f"{tuple(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}"


def trained_by(path: Path, about: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    """A setting of the games that a network has learned from, by the notes about it; `default` if it is not there."""
    table: Any = about
    for part in ("config", "game"):
        if part not in table:
            return default
        table = field_of(table, part, dict, path)
    return field_of(table, name, kind, path) if name in table else default


def trained_rules(policy: str) -> Rules | None:
    """The rules that the network of a policy was trained by; None if it has no network or its rules are unknown.

    Raises:
        ValueError: the file of the network is damaged.
    """
    spec = PolicySpec.parse(policy)
    path = _file(spec)
    if path is None:
        return None
    if spec.onnx_file is None:
        about = field_of(load(path, POLICY_FORMAT)[1], "about", dict, path)
    else:
        from agents.onnx_policy import load_onnx  # here, since it needs onnxruntime

        about = load_onnx(path, policy).about
    switches = trained_by(path, about, "rules", dict, None)
    try:
        return None if switches is None else Rules.from_dict(switches)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


PRETRAINED = Path(__file__).with_name("pretrained")
"""The networks that come with the project: NAME.safetensors, and NAME.md on how it was made and what it beats."""


def find_policy(name: str) -> Path | None:
    """The file of a network by its path, its run's folder, or its name if it is pretrained; None if there is none."""
    for path in (Path(name), Path(name) / POLICY, PRETRAINED / f"{name}.safetensors"):
        if path.is_file():
            return path
    return None


def _file(spec: PolicySpec) -> Path | None:
    """The file of a policy's network; None if there is none."""
    if spec.onnx_file is not None:
        return Path(spec.onnx_file)
    return None if spec.network is None else find_policy(spec.network)


def digests(policies: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of each policy's network, by policy; policies without one are left out."""
    files = {name: _file(PolicySpec.parse(name)) for name in policies}
    return {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items() if file}
