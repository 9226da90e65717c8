"""Fixtures for playing at the terminal."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest

from experiments import __main__ as command
from tests.support.typist import Said


@pytest.fixture(autouse=True)
def _terminal(monkeypatch, tmp_path):
    """80 columns, no paint, a folder of its own."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def pipe(monkeypatch, capsys) -> Callable[..., Said]:
    """The command with these lines as its standard input."""

    def run(lines: str, *flags: object) -> Said:
        monkeypatch.setattr("sys.stdin", io.StringIO(lines))
        try:
            status = command.main(["play", *map(str, flags)])
        except SystemExit as refused:  # by a flag
            status = int(str(refused.code))
        said = capsys.readouterr()
        return Said(status, said.out, said.err)

    return run
