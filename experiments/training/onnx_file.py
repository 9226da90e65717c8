"""Networks as ONNX files, and the check that a file plays as its network does."""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import torch
from torch import Tensor, nn

import uno_flex_env
from agents.masked import masked_softmax
from agents.network import ActorCritic
from agents.network_policy import NetworkPolicy
from uno_flex_env import VecEnv
from uno_flex_env.actions import NUM_ACTIONS, TEXTS
from uno_flex_env.observation import LAYOUT, NUM_FEATURES
from uno_flex_env.policy_input import ENVIRONMENT, Decisions
from uno_flex_env.rules import MAX_PLAYERS, MIN_PLAYERS

FORMAT = "uno-flex-onnx/1"

TOLERANCE = 1e-5
"""The largest difference allowed between the file's outputs and the network's. Float32 sums depend on their order."""

POSITIONS = 128
"""How many positions are compared for each number of players."""


class Player(nn.Module):
    """The module that is exported; `meanings` describes its inputs and outputs."""

    def __init__(self, network: ActorCritic) -> None:
        super().__init__()
        self.network = network

    def forward(
        self, observation: Tensor, action_mask: Tensor, history: Tensor | None = None
    ) -> Tensor | tuple[Tensor, Tensor]:
        logits, value = self.network(observation, history)
        legal = action_mask != 0
        # Masked once more: in a row without a legal action the softmax is uniform over the illegal ones.
        probs = torch.where(legal, masked_softmax(logits, legal), 0.0)
        return probs if self.network.config.privileged else (probs, value)


def to_onnx(network: ActorCritic, about: Mapping[str, Any]) -> bytes:
    """The ONNX file of a network on the CPU, with metadata; the same arguments give the same bytes.

    Inputs, outputs and their dtypes are those of `meanings`. The batch B is of any size.
    """
    inputs, outputs = meanings(network)
    rows = {
        "observation": torch.zeros(2, NUM_FEATURES, dtype=torch.uint8),
        "action_mask": torch.ones(2, NUM_ACTIONS, dtype=torch.int8),
        "history": torch.full((2, network.config.events, 3), -1, dtype=torch.int16),
    }
    with quiet():
        program = torch.onnx.export(
            Player(network).eval(),
            tuple(rows[name] for name in inputs),
            input_names=list(inputs),
            output_names=list(outputs),
            # Only the first size has a name; torch warns when several have the same one.
            dynamic_shapes=tuple({0: torch.export.Dim.DYNAMIC if i else "batch"} for i in range(len(inputs))),
            dynamo=True,
            external_data=False,
            verbose=False,
        )
    assert program is not None  # only the older exporter returns None
    model = program.model_proto
    forget_origin(model.graph)
    onnx.helper.set_model_props(model, metadata(network, about))
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString(deterministic=True))


def meanings(network: ActorCritic) -> tuple[dict[str, str], dict[str, str]]:
    """The inputs and outputs of a network's file, in order: name and meaning."""
    inputs = {
        "observation": f"(B, {NUM_FEATURES}) uint8, what the player to decide sees: see observation",
        "action_mask": f"(B, {NUM_ACTIONS}) int8, 1 for legal, 0 for illegal actions",
    }
    if events := network.config.events:
        inputs["history"] = (
            f"(B, {events}, 3) int16, the last {events} public events, the latest one last: who acted, in seats "
            "clockwise from the player; the action; how many cards were drawn; -1 where there has been no event yet"
        )
    outputs = {
        "probabilities": f"(B, {NUM_ACTIONS}) float32, of the actions in the order of actions, exactly 0 where illegal"
    }
    if not network.config.privileged:  # a critic that sees all hands has no value to give here
        outputs["value"] = "(B,) float32, the reward that the player can expect, of the kind that it was trained for"
    return inputs, outputs


def metadata(network: ActorCritic, about: Mapping[str, Any]) -> dict[str, str]:
    """The metadata of the file, each value as JSON."""
    inputs, outputs = meanings(network)
    layout = [
        {
            "name": part.name,
            "start": part.slice.start,
            "stop": part.slice.stop,
            "shape": part.shape,
            "meaning": part.meaning,
        }
        for part in LAYOUT.values()
    ]
    facts = {
        "format": FORMAT,
        "environment": {**ENVIRONMENT, "version": uno_flex_env.__version__},
        "inputs": inputs,
        "outputs": outputs,
        "observation": layout,
        "actions": TEXTS,
        "network": asdict(network.config),
        "about": dict(about),
    }
    return {name: json.dumps(fact) for name, fact in facts.items()}


def forget_origin(graph: onnx.GraphProto) -> None:
    """Remove the exporter's notes on the source lines of each node: they hold paths of this machine."""
    for part in (graph, *graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer):
        del part.metadata_props[:]
        part.doc_string = ""


@contextmanager
def quiet() -> Iterator[None]:
    """Silence torch's warnings about its own code: a deprecated name, and a package that is not needed here."""
    logger = logging.getLogger("torch.onnx._internal.exporter._registration")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*LeafSpec", FutureWarning)
            yield
    finally:
        logger.setLevel(before)


def compare(data: bytes, network: ActorCritic) -> tuple[int, float]:
    """Compare a file with its network: the number of positions compared, and the largest difference.

    Raises:
        ValueError: it is above `TOLERANCE` or no number, or an illegal action has a probability.
    """
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    names = [entry.name for entry in session.get_inputs()]
    policy = NetworkPolicy(network, "network")
    positions, differences = 0, list[float]()
    for seen in decisions(network.config.events):
        probs, *value = session.run(None, {name: getattr(seen, name) for name in names})
        differences.append(_distance(probs, policy.probabilities(seen).numpy()))
        if value:
            differences.append(_distance(value[0], values(network, seen)))
        if (probs[seen.action_mask == 0] != 0).any():
            raise ValueError("the exported file gives a probability to illegal actions; it was not written")
        positions += len(seen)
    difference = float(np.max(differences))  # NaN if one of them is
    if not difference <= TOLERANCE:
        raise ValueError(f"file and network differ by {difference}, more than {TOLERANCE}; the file was not written")
    return positions, difference


def _distance(a: npt.NDArray[np.float32], b: npt.NDArray[np.float32]) -> float:
    return float(np.abs(a - b).max())


@torch.inference_mode()
def values(network: ActorCritic, decisions: Decisions) -> npt.NDArray[np.float32]:
    """The values of the network's critic, (B,) float32."""
    history = None if decisions.history is None else torch.from_numpy(decisions.history)
    answer: npt.NDArray[np.float32] = network(torch.from_numpy(decisions.observation), history)[1].numpy()
    return answer


def decisions(events: int) -> Iterator[Decisions]:
    """Positions of random play for each number of players, with the last `events` events."""
    for players in range(MIN_PLAYERS, MAX_PLAYERS + 1):
        env = VecEnv(POSITIONS, players, history=events, seed=players)
        env.reset()
        # Each game stops at another step, so early and late positions are among them.
        for step in range(60):
            env.step(np.where(np.arange(POSITIONS) % 60 >= step, env.sample(), -1))
        yield Decisions(
            env.observations, env.action_masks, np.zeros(POSITIONS, np.uint64), env.histories if events else None
        )
