"""JSON from files, which may be damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn


def parse_json(text: str | bytes, what: object) -> Any:
    """The value of a JSON text. `what` names the text in messages.

    Raises:
        ValueError: the text is not strict JSON in UTF-8.
    """
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError(f"{what} is no JSON: too many brackets within brackets") from None
    except ValueError as error:
        raise ValueError(f"{what} is no JSON: {error}") from None


def read_json(path: Path) -> Any:
    """The value in a JSON file; errors as in `parse_json`."""
    return parse_json(path.read_bytes(), path)


def field_of(table: object, name: str, kind: type, what: object) -> Any:
    """A field of a JSON object, of the type `kind`; ValueError, with the names of file and field, for anything else."""
    if not isinstance(table, dict) or name not in table:
        raise ValueError(f"{what} lacks {name}")
    value = table[name]
    if type(value) is not kind:
        raise ValueError(f"{what}: {name} must be {_NAMES.get(kind, kind.__name__)}, got {_shown(value)}")
    return value


_NAMES = {dict: "an object", list: "a list", str: "a text", int: "a whole number", bool: "true or false"}


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")
