"""Files of networks: safetensors with a description as JSON in the header. Loading executes no code."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import safetensors
import safetensors.torch
import torch

import uno_flex_env
from agents.atomic import write_whole
from agents.network import ActorCritic, NetworkConfig
from agents.policy_spec import PolicySpec
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.observation import NUM_FEATURES

POLICY = "policy.safetensors"
"""The network of a run, in its folder."""

ENVIRONMENT = {"name": "uno_flex_v0", "features": NUM_FEATURES, "actions": NUM_ACTIONS}
"""The environment of a network. Rules, rewards and observations change only together with the version in the name."""

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
    data = path.read_bytes()  # once, since the file may be replaced at any time; `safe_open` opens it twice
    try:
        tensors = safetensors.torch.load(data)
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        about = json.loads(header.get("__metadata__", {}).get(_KEY, "null"))
    except (safetensors.SafetensorError, ValueError) as error:
        raise ValueError(f"{path} is no checkpoint: {error}") from None
    if not isinstance(about, dict) or about.get("format") != kind:
        found = about.get("format") if isinstance(about, dict) else None
        raise ValueError(f"{path} must be of the format {kind!r}, got {found!r}")
    if about["environment"] != ENVIRONMENT:
        raise ValueError(f"{path} was made for the environment {about['environment']}, this one is {ENVIRONMENT}")
    return tensors, about


POLICY_FORMAT = "uno-flex-policy/1"


def save_network(path: Path, network: ActorCritic, about: Mapping[str, Any]) -> None:
    """Write a network that `load_network` reads, with notes about it."""
    weights = {name: tensor.detach().cpu() for name, tensor in network.state_dict().items()}
    save(path, POLICY_FORMAT, weights, {"network": asdict(network.config), "about": dict(about)})


def load_network(path: Path) -> tuple[ActorCritic, dict[str, Any]]:
    """A network and the notes about it; ValueError if the file holds no network or its weights do not fit."""
    weights, description = load(path, POLICY_FORMAT)
    try:
        with torch.random.fork_rng(devices=[]):  # the first weights are random and are replaced at once
            network = ActorCritic(NetworkConfig(**description["network"]))
        network.load_state_dict(weights)
    except (TypeError, RuntimeError) as error:
        raise ValueError(f"{path}: weights and network don't fit: {error}") from None
    return network, description["about"]


PRETRAINED = Path(__file__).with_name("pretrained")
"""The networks that come with the project: NAME.safetensors, and NAME.md on how it was made and what it beats."""


def find_policy(name: str) -> Path | None:
    """The file of a network by its path, its run's folder, or its name if it is pretrained; None if there is none."""
    for path in (Path(name), Path(name) / POLICY, PRETRAINED / f"{name}.safetensors"):
        if path.is_file():
            return path
    return None


def digests(policies: Iterable[str]) -> dict[str, str]:
    """The SHA-256 of the network of each policy that has one: results of a policy hold for these weights alone."""
    networks = {name: PolicySpec.parse(name).network for name in policies}
    files = {name: find_policy(network) for name, network in networks.items() if network is not None}
    return {name: hashlib.sha256(file.read_bytes()).hexdigest() for name, file in files.items() if file}
