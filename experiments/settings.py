"""Settings of commands: frozen dataclasses, filled from TOML files and from flags of the same names."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from agents.allowed_code import allow_only
from uno_flex_env.errors import did_you_mean


def read(kind: type, path: Path) -> Any:
    """Read the dataclass `kind` from a TOML file; settings that the file does not name keep their defaults.

    Raises:
        ValueError: the file is not TOML, a setting is unknown (the message lists the known ones) or has a wrong type,
            or the file names a class or a program that `agents.allowed_code.allow_only` has not allowed.
    """
    try:
        with allow_only():
            return from_table(kind, tomllib.loads(path.read_text(encoding="utf-8")))
    except RecursionError:
        raise ValueError(f"{path}: too many brackets within brackets") from None
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def from_table(kind: type, table: Mapping[str, Any], inside: str = "") -> Any:
    """The dataclass `kind` with the settings in `table`; a field that is a dataclass itself is a table in the table.

    Args:
        inside: prefix of the names of settings in messages, such as "game.".
    """
    types = get_type_hints(kind)
    names = [field.name for field in fields(kind)]
    for name in table:
        if name not in names:
            known = [inside + each for each in names]
            near = did_you_mean(inside + name, known)
            raise ValueError(f"no such setting: {inside + name!r}; there are {', '.join(known)}{near}")
    return kind(**{name: _checked(inside + name, value, types[name]) for name, value in table.items()})


def _checked(name: str, value: Any, wanted: Any) -> Any:
    """A value of TOML or JSON as the type `wanted`: a whole number is also a float, and a list is a tuple."""
    if value is None and wanted is type(None):  # from JSON
        return None
    if is_dataclass(wanted) and isinstance(value, Mapping):
        assert isinstance(wanted, type)
        return from_table(wanted, value, f"{name}.")
    if get_origin(wanted) is tuple and isinstance(value, list):
        return tuple(_checked(name, item, get_args(wanted)[0]) for item in value)
    if get_origin(wanted) in (dict, Mapping) and isinstance(value, Mapping):
        return dict(value)
    if get_origin(wanted) is Literal:
        if value not in get_args(wanted):
            raise ValueError(f"{name} must be one of {', '.join(map(repr, get_args(wanted)))}, got {value!r}")
        return value
    if get_origin(wanted) is UnionType:
        kinds = get_args(wanted)
        for kind in kinds:
            with suppress(ValueError):
                return _checked(name, value, kind)
        names = ("nothing" if kind is type(None) else getattr(kind, "__name__", str(kind)) for kind in kinds)
        raise ValueError(f"{name} must be {' or '.join(names)}, got {value!r}")
    if wanted is Path and type(value) is str:
        return Path(value)
    if wanted is float and type(value) is int:
        return float(value)
    if type(value) is not wanted:
        raise ValueError(f"{name} must be {getattr(wanted, '__name__', wanted)}, got {value!r}")
    return value


MAX_NAME = 200
"""Bytes in the name of a folder for results: file systems allow 255, of which numbers and suffixes take some."""


def check_folder_name(name: str) -> None:
    """Raise ValueError unless `name` can name a folder for results."""
    if not name or name == ".." or Path(name).name != name or "\0" in name:
        raise ValueError(f"name must be that of a folder, got {name!r}")
    if len(name.encode()) > MAX_NAME:
        raise ValueError(f"name must be at most {MAX_NAME} bytes long, got {len(name.encode())}: {name[:40]!r}...")
