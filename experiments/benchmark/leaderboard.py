"""The page of the leaderboard, made from the folders of its entries."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from experiments.benchmark.results_text import markdown_table
from experiments.benchmark.run_scores import EXPERT
from experiments.benchmark.submission import CARD, CHECKED, RUNS, SUITE, Entry, Row, agrees
from experiments.benchmark.suites import find_suite
from experiments.benchmark.yardsticks import YARDSTICKS

INTRODUCTION = """\
# Leaderboard

Written by `python -m experiments benchmark leaderboard`. Wins are those of one seat against each yardstick, in percent,
with 95 % intervals, on the same deals for all entries. "Measured again" says which package version measured the policy
of an entry with `benchmark check`; the numbers are then those, else the ones that the entry claims."""


def find_entries(folder: Path) -> list[Entry]:
    """All entries in a folder, by name; ValueError if one of them is wrong."""
    return [Entry.read(path.parent) for path in sorted(folder.glob(f"*/{CARD}"))]


def leaderboard_text(entries: Sequence[Entry]) -> str:
    """The page: a table for each task that has entries."""
    parts = [INTRODUCTION]
    for task in find_suite(SUITE).tasks:
        if found := [entry for entry in entries if entry.card.task == task]:
            parts += [f"## {task}", _task(found)]
    return "\n\n".join(parts) + "\n"


def _task(entries: Sequence[Entry]) -> str:
    rows = sorted((_line(entry) for entry in entries), key=lambda line: -float(line[3].split()[0]))
    others = [name for name in YARDSTICKS if name != EXPERT]
    heads = ["entry", "author", "algorithm", f"wins against `{EXPERT}`", *(f"`{name}`" for name in others)]
    return markdown_table([*heads, "million decisions", "measured again"], rows)


def _line(entry: Entry) -> list[str]:
    card, rows = entry.card, entry.rows(CHECKED if entry.is_checked else RUNS)
    decisions = f"{card.decisions / 1e6:.1f}" if card.decisions else ""
    about = [_cell(text) for text in (card.name, card.author, card.algorithm)]
    others = [f"{100 * rows[name]['wins']:.1f}" for name in YARDSTICKS if name != EXPERT]
    return [*about, _rate(rows[EXPERT]), *others, decisions, _checked(entry)]


def _checked(entry: Entry) -> str:
    if not entry.is_checked:
        return "no"
    claimed, found = entry.rows(RUNS), entry.rows(CHECKED)
    version = found[EXPERT]["package_version"]
    wrong = [name for name in YARDSTICKS if not agrees(claimed[name], found[name])]
    return f"{version}; it claimed other rates" if wrong else version


def _rate(row: Row) -> str:
    return f"{100 * row['wins']:.1f} [{100 * row['low']:.1f}, {100 * row['high']:.1f}]"


def _cell(text: str) -> str:
    """A text from a card, which must not break the table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
