"""A network in an ONNX file as a policy. Loading runs no code of the file: operators are onnxruntime's own."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from agents.json_text import parse_json
from agents.policy import Actions
from uno_flex_env.actions import NUM_ACTIONS
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.options import MAX_HISTORY
from uno_flex_env.policy_input import ENVIRONMENT, Decisions
from uno_flex_env.seeding import uniforms

ROWS = 4096
"""Decisions in one pass."""

INPUTS = {"observation": (NUM_FEATURES,), "action_mask": (NUM_ACTIONS,), "history": (None, 3)}
"""The sizes of each input behind the batch; None for any. Only the observation is required."""

OUTPUTS = ("logits", "probabilities")
"""The names of the output, (B, 216), of which a file needs one. Illegal actions are masked here in any case."""

DTYPES = {f"tensor({name})": name for name in ("bool", "uint8", "int8", "int16", "int32", "int64")}
DTYPES |= {"tensor(float)": "float32", "tensor(double)": "float64"}
"""The numpy dtype of each type that an input may have."""


class OnnxPolicy:
    """Samples legal actions with the probabilities that an ONNX file gives them, on one thread.

    Args:
        name: see `Policy.name`.
        data: the bytes of the file.
        path: its path, for messages.
        greedy: always take the likeliest action instead.

    Raises:
        ValueError: it is no ONNX file, or its inputs and outputs are not those of `INPUTS` and `OUTPUTS`.
    """

    def __init__(self, name: str, data: bytes, path: str, *, greedy: bool = False) -> None:
        self.name, self.greedy = name, greedy
        self._data, self._path = data, path
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4  # its errors are exceptions, too
        try:
            self._session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's own exceptions have no common base
            raise ValueError(f"{path} is no ONNX file that can be run: {_first_line(error)}") from None
        self.about = self._checked_metadata()
        self._dtypes = {entry.name: self._checked_input(entry) for entry in self._session.get_inputs()}
        if "observation" not in self._dtypes:
            raise ValueError(f"{path} has no input 'observation', it has {', '.join(self._dtypes) or 'none'}")
        self._output = self._checked_output()
        shapes = {entry.name: entry.shape for entry in self._session.get_inputs()}
        self.history: int = shapes["history"][1] if "history" in shapes else 0

    def _checked_metadata(self) -> dict[str, Any]:
        """The notes about the network, which say how it was trained; without them an empty dict."""
        facts = self._session.get_modelmeta().custom_metadata_map
        if "environment" in facts:
            found = parse_json(facts["environment"], f"{self._path}: environment")
            if not isinstance(found, dict) or any(found.get(key) != value for key, value in ENVIRONMENT.items()):
                raise ValueError(f"{self._path} was made for the environment {found}, this one is {ENVIRONMENT}")
        about = parse_json(facts.get("about", "{}"), f"{self._path}: about")
        return about if isinstance(about, dict) else {}

    def _checked_input(self, entry: Any) -> str:
        """The numpy dtype of an input."""
        path, name, shape = self._path, entry.name, tuple(entry.shape)
        if name not in INPUTS:
            raise ValueError(f"{path} has an unknown input {name!r}; there are {', '.join(INPUTS)}")
        wanted = INPUTS[name]
        sizes = shape[1:] if len(shape) == 1 + len(wanted) else None
        fits = sizes is not None and all(
            isinstance(a, int) and b in (a, None) for a, b in zip(sizes, wanted, strict=True)
        )
        if not fits or isinstance(shape[0], int):
            text = ", ".join("H" if size is None else str(size) for size in wanted)
            number, found = ", H a number" if None in wanted else "", _shape(shape)
            raise ValueError(
                f"{path}: the input {name!r} must be (B, {text}) with a batch of any size B{number}, got {found}"
            )
        if name == "history" and not 1 <= shape[1] <= MAX_HISTORY:
            raise ValueError(f"{path}: the input 'history' must hold 1 to {MAX_HISTORY} events, got {shape[1]}")
        if entry.type not in DTYPES:
            raise ValueError(f"{path}: the input {name!r} must be {', '.join(DTYPES)}, got {entry.type}")
        return DTYPES[entry.type]

    def _checked_output(self) -> str:
        """The name of the output to read."""
        entries = {entry.name: entry for entry in self._session.get_outputs()}
        name = next((name for name in OUTPUTS if name in entries), None)
        if name is None:
            raise ValueError(f"{self._path} needs an output {' or '.join(OUTPUTS)}, it has {', '.join(entries)}")
        shape, kind = tuple(entries[name].shape), entries[name].type
        if len(shape) != 2 or shape[1] != NUM_ACTIONS or kind not in ("tensor(float)", "tensor(double)"):
            raise ValueError(
                f"{self._path}: the output {name!r} must be (B, {NUM_ACTIONS}) floats, got {_shape(shape)} {kind}"
            )
        return name

    def probabilities(self, decisions: Decisions) -> npt.NDArray[np.float64]:
        """The probabilities of all actions, (B, 216); exactly 0 where illegal.

        Raises:
            ValueError: the file gives numbers that are not finite, negative probabilities, or none to legal actions.
        """
        given: dict[str, npt.NDArray[Any]] = {
            "observation": decisions.observation,
            "action_mask": decisions.action_mask,
        }
        if self.history:
            if decisions.history is None or decisions.history.shape[1] < self.history:
                raise ValueError(f"{self.name} reads the last {self.history} events: history is missing or too short")
            given["history"] = decisions.history[:, -self.history :]
        feed = {name: np.ascontiguousarray(given[name], dtype) for name, dtype in self._dtypes.items()}
        try:
            (found,) = self._session.run([self._output], feed)
        except Exception as error:
            raise ValueError(f"{self._path} can't be run: {_first_line(error)}") from None
        legal = decisions.action_mask != 0
        if found.shape != legal.shape or not np.isfinite(found[legal]).all():
            raise ValueError(f"{self._path}: the {self._output} must be {legal.shape} finite numbers")
        odds = np.where(legal, found, 0.0).astype(np.float64)
        if self._output == "logits":
            odds = np.where(legal, odds, -np.inf)
            odds = np.exp(odds - odds.max(axis=1, keepdims=True))
        sums = odds.sum(axis=1, keepdims=True)
        if (odds < 0).any() or not (sums > 0).all():
            raise ValueError(f"{self._path}: the probabilities of the legal actions must be positive in sum")
        shares: npt.NDArray[np.float64] = odds / sums
        return shares

    def act(self, decisions: Decisions) -> Actions:
        """As `Policy.act`."""
        actions = np.empty(len(decisions), np.int64)
        for start in range(0, len(decisions), ROWS):
            part = decisions[start : start + ROWS]
            probs = self.probabilities(part)
            actions[start : start + ROWS] = (
                probs.argmax(axis=1) if self.greedy else _sample(probs, uniforms(part.noise))
            )
        return actions

    def __reduce__(self) -> Any:
        """A copy in another process is made there once: matches send policies with each part of their work."""
        return _made, (self.name, self._data, self._path, self.greedy)


@lru_cache(maxsize=16)
def _made(name: str, data: bytes, path: str, greedy: bool) -> OnnxPolicy:
    return OnnxPolicy(name, data, path, greedy=greedy)


def _sample(probs: npt.NDArray[np.float64], uniform: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """An action for each row by inverting the cumulative distribution function, (B,). Its probability is above 0."""
    reached = probs.cumsum(axis=1)
    drawn: npt.NDArray[np.int64] = (reached > uniform[:, None] * reached[:, -1:]).argmax(axis=1)
    return drawn


def _shape(shape: tuple[Any, ...]) -> str:
    return f"({', '.join(map(str, shape))})"


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)


def load_onnx(path: Path, name: str, *, greedy: bool = False) -> OnnxPolicy:
    """The policy in an ONNX file, see `OnnxPolicy`; ValueError if there is no such file."""
    if not path.is_file():
        raise ValueError(f"no such policy: {name!r}: there is no file {str(path)!r}")
    return OnnxPolicy(name, path.read_bytes(), str(path), greedy=greedy)
