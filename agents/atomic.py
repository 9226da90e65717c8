"""Atomic writes, so that a run may be killed at any time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write or replace a file. A reader finds either all of the old data or all of the new.

    Raises:
        OSError: the file can't be written, for example since the disk is full; the message names it.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:  # which names the file beside it, or none
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def write_new(paths: Iterable[Path], data: bytes) -> Path:
    """Write the first of these files that does not exist yet, and return it; FileExistsError if all exist."""
    taken = FileExistsError("no file was named")
    for path in paths:
        try:
            path.touch(exist_ok=False)
        except FileExistsError as error:
            taken = error
            continue
        try:
            write_whole(path, data)
        except BaseException:  # a signal too, or an empty file would stay
            path.unlink(missing_ok=True)
            raise
        return path
    raise taken


def new_folder(parent: Path, name: str) -> Path:
    """Make a new folder: parent/name, or name-2, name-3 and so on if that exists."""
    for folder in _names(parent, name):
        with suppress(FileExistsError):
            folder.mkdir(parents=True)
            break
    return folder


def write_new_folder(parent: Path, name: str, files: Mapping[str, bytes]) -> Path:
    """Make a new folder with these files, under a name as in `new_folder`. It gets its name when it has all of them.

    Raises:
        OSError: a file can't be written; the message names it.
    """
    part = parent / f".{name}.{os.getpid()}"
    part.mkdir(parents=True)
    try:
        for file, data in files.items():
            write_whole(part / file, data)
        folder = next(folder for folder in _names(parent, name) if not folder.exists())
        part.rename(folder)
    except BaseException:  # a signal too
        shutil.rmtree(part, ignore_errors=True)
        raise
    return folder


def _names(parent: Path, name: str) -> Iterator[Path]:
    """parent/name, parent/name-2, parent/name-3, without end."""
    return (parent / (name if number == 1 else f"{name}-{number}") for number in count(1))
