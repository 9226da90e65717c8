"""ONNX files as policies: they play as their networks, and other files are refused."""

from __future__ import annotations

import hashlib
import json
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from agents.checkpoint import digests, trained_rules
from agents.match.runner import play_match
from agents.network_policy import NetworkPolicy
from agents.onnx_policy import OnnxPolicy
from agents.policy import ask
from agents.policy_factory import make_policy
from agents.policy_spec import PolicySpec
from experiments.training.onnx_file import to_onnx
from tests.support.learning import KINDS, NAMES, make_network
from uno_flex_env import Rules, VecEnv
from uno_flex_env.policy_input import Decisions

WEIGHTS = np.random.default_rng(1).normal(size=(640, 216)).astype(np.float32)


def model(
    *,
    observation: tuple[str, Any] = ("observation", ("B", 640)),
    kind: int = TensorProto.UINT8,
    more: tuple[tuple[str, int, Any], ...] = (),
    output: str = "logits",
    columns: int = 216,
    operator: str = "",
    facts: dict[str, Any] | None = None,
    scale: float = 1.0,
) -> bytes:
    """A file whose logits are the observation times `WEIGHTS` (its probabilities: times their sizes)."""
    name, shape = observation
    rows, width = shape[0], shape[-1] if isinstance(shape[-1], int) else 640
    weights = np.resize(WEIGHTS, (width, columns)) * np.float32(scale)
    weights = np.abs(weights) if output == "probabilities" else weights
    nodes = [
        helper.make_node("Cast", [name], ["floats"], to=TensorProto.FLOAT),
        helper.make_node("MatMul", ["floats", "weights"], ["product"]),
        helper.make_node("Own" if operator else "Identity", ["product"], [output], domain=operator),
    ]
    inputs = [helper.make_tensor_value_info(name, kind, shape)]
    inputs += [helper.make_tensor_value_info(*each) for each in more]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, (rows, columns))]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(weights, "weights")])
    imports = [helper.make_opsetid("", 18)] + ([helper.make_opsetid(operator, 1)] if operator else [])
    built = helper.make_model(graph, opset_imports=imports, ir_version=10)
    onnx.helper.set_model_props(built, {key: json.dumps(fact) for key, fact in (facts or {}).items()})
    return bytes(built.SerializeToString())


def decisions(history: int = 0, players: int = 3, rows: int = 256) -> Decisions:
    """Positions of random play."""
    env = VecEnv(rows, players, history=history, seed=players)
    env.reset()
    for _ in range(30):
        env.step(env.sample())
    noise = np.arange(rows, dtype=np.uint64)
    return Decisions(env.observations, env.action_masks, noise, env.histories if history else None)


def expected(seen: Decisions) -> np.ndarray[Any, Any]:
    """The probabilities of `model`."""
    logits = np.where(seen.action_mask != 0, seen.observation.astype(np.float64) @ WEIGHTS, -np.inf)
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: np.ndarray[Any, Any] = odds / odds.sum(axis=1, keepdims=True)
    return shares


# ---- Playing ----


@pytest.mark.slow
@pytest.mark.parametrize("kind", [NAMES.index("mlp"), NAMES.index("history")], ids=["mlp", "history"])
def test_an_exported_network_plays_as_it_does_here(kind):
    """The same probabilities, and with the same keys the same actions but where rounding decides.

    Seen to fail with the first events in place of the last, and with another stream of random numbers."""
    network, events = make_network(KINDS[kind]), KINDS[kind].events
    seen = decisions(events and events + 3)
    data = to_onnx(network, {})
    here = NetworkPolicy(network, "here")

    there = OnnxPolicy("there", data, "file.onnx")

    assert there.history == here.history
    probabilities = there.probabilities(seen)
    assert np.abs(probabilities - here.probabilities(seen).numpy()).max() < 2e-6
    assert (probabilities[seen.action_mask == 0] == 0).all()
    assert (there.act(seen) == here.act(seen)).mean() > 0.99
    greedy = OnnxPolicy("there", data, "file.onnx", greedy=True).act(seen)
    assert (greedy == NetworkPolicy(network, "here", greedy=True).act(seen)).mean() > 0.99


@pytest.mark.parametrize("kind", [TensorProto.UINT8, TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL])
def test_a_file_with_logits_plays(tmp_path, kind):
    """With the observation as numbers of any type. Seen to fail without the mask, and without the softmax."""
    path, seen = tmp_path / "own.onnx", decisions()
    path.write_bytes(model(kind=kind))
    policy = make_policy(f"onnx:{path}")
    assert isinstance(policy, OnnxPolicy)

    assert np.abs(policy.probabilities(seen) - expected(seen)).max() < 1e-4
    assert (make_policy(f"onnx:{path}:greedy").act(seen) == expected(seen).argmax(axis=1)).all()


def test_actions_are_sampled_by_their_probabilities(tmp_path):
    """Seen to fail with the likeliest action and with the same random number in each row."""
    path = tmp_path / "own.onnx"
    path.write_bytes(model(scale=0.1))
    one = decisions()[np.zeros(20_000, np.int64)]
    seen = Decisions(one.observation, one.action_mask, np.arange(20_000, dtype=np.uint64))

    shares = np.bincount(make_policy(f"onnx:{path}").act(seen), minlength=216) / 20_000

    wanted = make_policy(f"onnx:{path}").probabilities(seen[:1])[0]  # type: ignore[attr-defined]
    assert wanted.max() < 0.9
    assert np.abs(shares - wanted).max() < 0.02


def test_probabilities_need_not_be_masked():
    """Nor add up to 1. Seen to fail when those of illegal actions are kept."""
    seen = decisions()
    odds = np.where(seen.action_mask != 0, seen.observation @ np.abs(WEIGHTS), 0)

    found = OnnxPolicy("p", model(output="probabilities"), "file.onnx").probabilities(seen)

    assert np.abs(found - odds / odds.sum(axis=1, keepdims=True)).max() < 1e-5
    with pytest.raises(ValueError, match="positive in sum"):
        OnnxPolicy("p", model(output="probabilities", scale=0.0), "file.onnx").probabilities(seen)


def test_a_file_that_reads_events_gets_them():
    """Seen to fail with a history of 0."""
    policy = OnnxPolicy("p", model(more=(("history", TensorProto.INT16, ("B", 4, 3)),)), "file.onnx")
    seen = decisions(history=6)

    assert policy.history == 4
    assert ask(policy, seen, np.arange(len(seen))).shape == (len(seen),)
    with pytest.raises(ValueError, match="at least 4 events"):
        ask(policy, decisions(), np.arange(len(seen)))


@pytest.mark.slow
def test_a_file_plays_matches_in_worker_processes(tmp_path):
    """A policy is sent as its bytes, and made once. Seen to fail without `__reduce__`."""
    path = tmp_path / "own.onnx"
    path.write_bytes(model())

    copies = [pickle.loads(pickle.dumps(make_policy(f"onnx:{path}"))) for _ in range(2)]

    assert copies[0] is copies[1]
    named = play_match([f"onnx:{path}", "random"], games=40, seed=1)
    copied = play_match([copies[0], "random"], games=40, seed=1)
    assert (named.winners == copied.winners).all()


# ---- What is known of a file ----


def test_a_file_says_by_which_rules_it_was_trained(tmp_path, monkeypatch):
    """Also as the prior of a search. Results hold for this file alone, so its digest is known.

    Seen to fail when ONNX files are left out of either."""
    monkeypatch.chdir(tmp_path)
    about = {"config": {"game": {"rules": {"stacking": True}}}}
    Path("house.onnx").write_bytes(data := model(facts={"about": about}))
    Path("plain.onnx").write_bytes(model())
    names = ["onnx:house.onnx", "search:10,onnx:house.onnx:greedy"]

    assert [trained_rules(name) for name in names] == [Rules(stacking=True)] * 2
    assert trained_rules("onnx:plain.onnx") is None
    assert digests(names) == dict.fromkeys(names, hashlib.sha256(data).hexdigest())


def test_names():
    spec = PolicySpec.parse("onnx:runs/a:b.onnx:greedy")

    assert (spec.kind, spec.name, spec.greedy) == ("onnx", "runs/a:b.onnx", True)


# ---- Refused ----


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"no model", "is no ONNX file that can be run"),
        (b"", "is no ONNX file that can be run"),
        (
            model(observation=("observation", ("B", 100))),
            r"'observation' must be (B, 640) with a batch of any size B, got (B, 100)",
        ),
        (model(observation=("observation", (1, 640))), r"batch of any size B, got (1, 640)"),
        (model(observation=("obs", ("B", 640))), r"unknown input 'obs'; there are observation, action_mask, history"),
        (model(more=(("state", TensorProto.FLOAT, ("B", 3)),)), "unknown input 'state'"),
        (
            model(more=(("history", TensorProto.INT16, ("B", "H", 3)),)),
            r"must be (B, H, 3) with a batch of any size B, H a number, got (B, H, 3)",
        ),
        (model(more=(("history", TensorProto.INT16, ("B", 5000, 3)),)), "1 to 1024 events, got 5000"),
        (
            model(more=(("action_mask", TensorProto.STRING, ("B", 216)),)),
            r"'action_mask' must be .* got tensor(string)",
        ),
        (model(output="policy"), "needs an output logits or probabilities, it has policy"),
        (model(columns=300), r"'logits' must be (B, 216) floats, got (B, 300)"),
        (model(operator="my.own"), "is no ONNX file that can be run: .*my.own"),
        (model(facts={"environment": {"name": "uno_flex_v9"}}), "was made for the environment {'name': 'uno_flex_v9'}"),
    ],
)
def test_other_files_are_refused(tmp_path, data, message):
    """The message names the file, what it has and what is allowed. Seen to fail, one by one, without each check."""
    path = tmp_path / "other.onnx"
    path.write_bytes(data)
    pattern = re.escape(message).replace(r"\.\*", ".*")

    with pytest.raises(ValueError, match=pattern) as caught:
        make_policy(f"onnx:{path}")

    assert str(path) in str(caught.value)


def test_a_missing_file_is_refused():
    with pytest.raises(ValueError, match=r"no such policy: 'onnx:none.onnx': there is no file 'none.onnx'"):
        make_policy("onnx:none.onnx")


def test_numbers_that_are_not_finite_are_errors():
    """Seen to fail without the check: an action of probability NaN is never reached."""
    policy = OnnxPolicy("p", model(scale=float("nan")), "file.onnx")

    with pytest.raises(ValueError, match=r"file.onnx: the logits must be \(256, 216\) finite numbers"):
        policy.act(decisions())


def test_without_onnxruntime_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    monkeypatch.delitem(sys.modules, "agents.onnx_policy")

    with pytest.raises(ModuleNotFoundError, match=r"'onnx:x.onnx' needs the package onnxruntime: pip install .*train"):
        make_policy("onnx:x.onnx")
