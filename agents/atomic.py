"""Atomic writes, so that a run may be killed at any time."""

from __future__ import annotations

import os
from collections.abc import Iterable
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
    for number in count(1):
        folder = parent / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        break
    return folder
