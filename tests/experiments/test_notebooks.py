"""The notebooks run as they stand, and what is stored of them is what they show."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jupytext
import pytest
from nbclient import NotebookClient

from tests.support.paths import ROOT

FOLDER = ROOT / "notebooks"
TEXTS = sorted(FOLDER.glob("*.py"))

SMALL = {"02_training": "DECISIONS, GAMES = 20_000, 20"}
"""What the cell with the tag "parameters" is followed by here, so that a notebook takes seconds."""

EXACT = {"01_rules_tour", "03_flex_timing"}
"""Notebooks that print the same everywhere, since they need no budget: what they measure, if at all, lies in files."""


@pytest.fixture(params=TEXTS, ids=[path.stem for path in TEXTS])
def text(request: pytest.FixtureRequest) -> Path:
    path: Path = request.param
    return path


def stored(text: Path) -> Any:
    return jupytext.read(text.with_suffix(".ipynb"))


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def words(cell: Any) -> str:
    """All text that a cell shows."""
    return "".join(output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs)


def kinds(cell: Any) -> set[str]:
    """What a cell shows: the names of its streams, and the forms of its results."""
    streams = {output.name for output in cell.outputs if output.output_type == "stream"}
    return streams.union(*(output.get("data", {}) for output in cell.outputs))


def test_text_and_notebook_come_in_pairs() -> None:
    """Seen to fail when a text was copied to another name."""
    assert len(TEXTS) >= 3
    assert [path.stem for path in TEXTS] == sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def test_text_and_notebook_hold_the_same_cells(text: Path) -> None:
    """`jupytext --sync notebooks/*.py` makes it so. Seen to fail when a word or a tag was changed in the text."""

    def cells(notebook: Any) -> list[tuple[str, str, list[str]]]:
        return [(cell.cell_type, cell.source, cell.metadata.get("tags", [])) for cell in notebook.cells]

    assert cells(stored(text)) == cells(jupytext.read(text))


def test_the_stored_notebook_was_run_from_top_to_bottom_without_a_complaint(text: Path) -> None:
    """Seen to fail when a cell was run again, with a `warnings.warn` in a cell, an error stored, and the pictures
    gone."""
    cells = code(stored(text))

    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert {output.output_type for output in outputs} <= {"stream", "display_data", "execute_result"}
    assert {output.name for output in outputs if output.output_type == "stream"} <= {"stdout"}
    assert any("image/png" in kinds(cell) for cell in cells)


def test_nothing_of_the_machine_is_stored(text: Path) -> None:
    """Seen to fail when a cell printed `Path.home()`, and one `os.getcwd()`."""
    notebook = stored(text)
    places = re.compile(r"(?<![\w.])/(home|root|tmp|work|usr|opt|var|private|Users)\b|[A-Z]:\\|ipykernel_\d")

    told = [words(cell) for cell in code(notebook)] + [json.dumps(notebook.metadata)]
    assert [line for line in told if places.search(line)] == []


@pytest.mark.slow
def test_the_notebook_runs_and_shows_what_is_stored(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a small budget, in a fresh kernel. Seen to fail when outputs were cleared, when a stored number was changed in
    the tour, and when a cell raised an error."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))  # no user's settings
    notebook = jupytext.read(text)
    budgets = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    assert len(budgets) == (text.stem in SMALL)
    for cell in budgets:
        cell.source += "\n" + SMALL[text.stem]

    NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": FOLDER}}).execute()

    pairs = list(zip(code(notebook), code(stored(text)), strict=True))
    assert [kinds(run) for run, _ in pairs] == [kinds(kept) for _, kept in pairs]
    if text.stem in EXACT:
        assert [words(run) for run, _ in pairs] == [words(kept) for _, kept in pairs]


@pytest.mark.slow
def test_running_a_notebook_again_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fault 2-34: `make notebooks` wrote the times of execution. Seen to fail with `jupyter execute`."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    program = re.search(r"^EXECUTE := '(.*)'$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert program is not None
    file, before = tmp_path / "it.ipynb", b""
    jupytext.write(jupytext.reads("# %%\n1 + 1\n", fmt="py:percent"), file)
    for _ in range(2):
        before = file.read_bytes()
        command = [sys.executable, "-c", program[1], "--inplace", "--kernel_name=python3", str(file)]
        subprocess.run(command, check=True, capture_output=True)

    assert file.read_bytes() == before
    assert words(code(jupytext.read(file))[0]) == "2"
