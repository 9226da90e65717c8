"""The file from which a training run continues: nested plain values and tensors. Reading one runs no code."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import torch

import uno_flex_env
from agents.atomic import write_whole
from agents.json_text import field_of
from uno_flex_env.policy_input import ENVIRONMENT

CHECKPOINT = "checkpoint.pt"
"""The checkpoint of a run, in its folder."""

FORMAT = "uno-flex-training/2"


def save_checkpoint(path: Path, state: Mapping[str, Any]) -> None:
    """Write a state atomically.

    Args:
        state: dicts, lists and tuples of tensors, texts, numbers, bools and None, nested in any way.
    """
    data = BytesIO()
    about = {"format": FORMAT, "environment": ENVIRONMENT, "version": uno_flex_env.__version__}
    torch.save({**about, "state": dict(state)}, data)
    write_whole(path, data.getvalue())


def load_checkpoint(path: Path) -> dict[str, Any]:
    """Read the state that `save_checkpoint` has written, with its tensors on the CPU.

    Raises:
        ValueError: the file is damaged, is something else, or was made for another version of the environment.
    """
    data = BytesIO(path.read_bytes())
    try:
        with ZipFile(data) as archive:  # torch does not compare the checksums that it writes
            if (part := archive.testzip()) is not None:
                raise ValueError(f"{part} is damaged")
        data.seek(0)
        found = torch.load(data, map_location="cpu", weights_only=True)
    except (BadZipFile, RuntimeError, ValueError, KeyError, EOFError, RecursionError, pickle.UnpicklingError) as error:
        raise ValueError(f"{path} is no checkpoint: {error}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        format_ = found.get("format") if isinstance(found, dict) else None
        raise ValueError(f"{path} must be of the format {FORMAT!r}, got {format_!r}")
    if found.get("environment") != ENVIRONMENT:
        raise ValueError(f"{path} was made for the environment {found.get('environment')}, this one is {ENVIRONMENT}")
    state: dict[str, Any] = field_of(found, "state", dict, path)
    return state
