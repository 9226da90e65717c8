"""The settings of a command, from its flags and from the file of --config."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import tyro

from experiments.settings import read
from uno_flex_env.errors import did_you_mean


def parse(module: Any, name: str, arguments: Sequence[str]) -> Any:
    """The settings of a command: a flag overrides the file of --config, and the file overrides the default.

    The names after --allow are for `allow_only` alone.

    Raises:
        ValueError: there is no such file or flag, or a list has commas.
        SystemExit: a value does not fit its flag, and tyro has explained why; or you asked for help.
    """
    default, rest = None, list[str]()
    words = iter(arguments)
    for word in words:
        option, given, value = word.partition("=")
        if option not in ("--config", "--allow"):
            rest.append(word)
            continue
        if not (value := value if given else next(words, "")):
            raise ValueError(f"{option} needs a {'file' if option == '--config' else 'NAME'}")
        if option == "--allow":
            continue
        if default is not None:
            raise ValueError(f"--config names one file, got another: {value}")
        default = read(module.Config, _existing(Path(value)))
    kinds = dict(_flags(module.Config))
    _refuse_commas(rest, kinds)
    program = f"python -m experiments {name}"
    about = (
        f"{module.HELP}\n--config FILE reads settings from a TOML file with the names below; a flag overrides the file."
        "\n--allow NAME allows a file to name this policy, MODULE:CLASS or stdio:COMMAND."
    )
    config, unknown = tyro.cli(
        module.Config, args=rest, default=default, prog=program, description=about, return_unknown_args=True
    )
    if unknown:
        raise ValueError(_explain_unknown(unknown, rest, kinds))
    return config


def _existing(file: Path) -> Path:
    """The file, if it exists."""
    if file.is_file():
        return file
    near = [str(path) for path in (*sorted(Path("configs").glob("*/*.toml")), *sorted(file.parent.glob("*.toml")))]
    same = [path for path in near if Path(path).stem == file.stem]
    hint = f"; did you mean {same[0]!r}?" if same else did_you_mean(str(file), near)
    raise ValueError(f"--config: there is no file {str(file)!r}{hint}")


def _flags(kind: type, inside: str = "--") -> Iterator[tuple[str, Any]]:
    """Each flag of a dataclass, with the type of its value."""
    types = get_type_hints(kind)
    for field in fields(kind):
        flag, wanted = inside + field.name.replace("_", "-"), types[field.name]
        if is_dataclass(wanted) and isinstance(wanted, type):
            yield from _flags(wanted, f"{flag}.")
        else:
            yield flag, wanted


def _refuse_commas(words: Sequence[str], kinds: dict[str, Any]) -> None:
    """ValueError for numbers with commas, such as `--players 2,3,4`, `--players 2, 4` or `--games 1,000`."""
    for place, word in enumerate(words):
        option, given, first = word.partition("=")
        option = option.replace("_", "-")
        kind = kinds.get(option)
        if kind is not int and int not in get_args(kind):
            continue
        values = [first] if given else []
        for value in words[place + 1 :]:
            if not re.fullmatch(r"[\d,]+", value):
                break
            values.append(value)
        if any("," in value for value in values):
            got, numbers = " ".join(values), " ".join(re.findall(r"\d+", " ".join(values)))
            if get_origin(kind) is tuple:
                raise ValueError(f"numbers are separated by spaces: {option} {numbers}, got {got!r}")
            raise ValueError(f"{option} takes one whole number without commas, got {got!r}")


def _explain_unknown(unknown: Sequence[str], words: Sequence[str], kinds: dict[str, Any]) -> str:
    """The message for the first word that belongs to no flag."""
    word = unknown[0]
    if word.startswith("--"):
        known = [*kinds, *(f"{head}no-{tail}" for head, tail in map(_split, kinds) if kinds[head + tail] is bool)]
        option = word.partition("=")[0]
        return f"no such flag: {option}{did_you_mean(option, known) or '; --help lists all flags'}"
    before = [each for each in words[: words.index(word)] if each.startswith("--")]
    if not before:
        return f"{word!r} belongs to no flag; --help lists all flags"
    option = before[-1].partition("=")[0]
    return f"{word!r} belongs to no flag: {option} takes one value"


def _split(flag: str) -> tuple[str, str]:
    """The path of a flag and its name, such as "--game." and "rules"."""
    head, dot, tail = flag.rpartition(".")
    return (head + dot, tail) if dot else ("--", flag.removeprefix("--"))
