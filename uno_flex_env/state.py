"""States as JSON: every field of the core's struct under its name."""

from __future__ import annotations

from typing import Any

import numpy as np

from uno_flex_env._core import STATE_FIELDS, STATE_SIZE, State

FORMAT = "uno-flex-state/2"
"""Name and version of the format. Version 2 renamed fields of version 1 (see CHANGELOG.md), which can't be read."""


def _field(name: str, offset: int, size: int, item: int, columns: int) -> tuple[str, Any, tuple[int, ...], int]:
    kind = ("<i" if item < 0 else "<u") + str(abs(item))
    count = size // abs(item)
    shape = () if count == 1 else (count,) if columns == 1 else (count // columns, columns)
    return name, kind, shape, offset


def _dtype() -> np.dtype[Any]:
    names, kinds, shapes, offsets = zip(*(_field(*row) for row in STATE_FIELDS), strict=True)
    formats = [(kind, shape) for kind, shape in zip(kinds, shapes, strict=True)]
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": STATE_SIZE})


STATE_DTYPE = _dtype()
"""The struct as a numpy dtype: `np.frombuffer(state.to_bytes(), STATE_DTYPE)` reads every field by name."""


def state_to_json(state: State) -> dict[str, Any]:
    """Every field as numbers and lists that `json` can write, hidden cards and the random generator included."""
    row = np.frombuffer(state.to_bytes(), STATE_DTYPE)[0]
    assert STATE_DTYPE.names is not None
    return {"format": FORMAT} | {name: row[name].tolist() for name in STATE_DTYPE.names}


def state_from_json(data: dict[str, Any]) -> State:
    """The state that `state_to_json` wrote.

    Raises:
        ValueError: The format is wrong, a field is missing, unknown or out of range, or the rules do not allow this
            state.
    """
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        given = data.get("format") if isinstance(data, dict) else None
        raise ValueError(f"not a state: its format must be {FORMAT!r}, got {given!r}")
    names = STATE_DTYPE.names
    assert names is not None
    if set(data) != {"format", *names}:
        odd = sorted(map(str, set(data) ^ {"format", *names}))
        raise ValueError(f"not a state: missing or unknown fields {', '.join(odd)}")
    row = np.zeros(1, STATE_DTYPE)
    for name in names:
        try:
            value = np.array(data[name], dtype=row[name].dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise ValueError(f"state field {name}: {error}") from None
        if value.shape != row[name].shape[1:] or not _same_numbers(value.tolist(), data[name]):
            raise ValueError(f"state field {name} has the wrong shape or numbers out of range")
        row[name] = value
    return State.from_bytes(row.tobytes())


def _same_numbers(a: Any, b: Any) -> bool:
    """Whether two values are equal as JSON integers: true and 1.0 are not 1."""
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(_same_numbers, a, b))
    return type(b) is int and a == b
