"""The command `study`: simulations of when a flex is best spent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agents.atomic import write_whole
from agents.folder_lock import locked
from agents.json_text import field_of, read_json
from agents.match.workers import cores, worker_pool
from experiments.flex_timing.appendix import write_appendix
from experiments.flex_timing.findings import Results
from experiments.flex_timing.jobs import RESULT_FILES, run_study
from experiments.flex_timing.study_settings import Config, as_json
from experiments.trained_rules import compare_rules
from uno_flex_env.rules import Rules

HELP = """\
Simulate when a flex is best spent. The study plays thousands of positions to the end of the round, with the Power green
and red and with each candidate move. It also plays duels of policies that differ only in when they flex.

  python -m experiments study flex_timing --policy champion --players 2 3 4 6 8
  python -m experiments study --config configs/study/smoke.toml

The folder --out gets the settings, the raw results as Parquet, the figures (PNG, SVG), and appendix.md, which shows
them all. An interrupted study continues when you give the same command again. The same settings give the same numbers.
"""


def main(config: Config) -> int:
    """Simulate what has no result yet, then write the figures and the appendix."""
    compare_rules((config.policy, config.search), Rules(), other_rules=True)
    config.out.mkdir(parents=True, exist_ok=True)
    with locked(config.out):
        facts = _claim(config.out, as_json(config))
        if not _finished(config.out):
            with worker_pool(config.workers or cores()) as pool:
                run_study(config, pool, facts)
        write_appendix(Results.read(config.out), config.out, facts)
    print(f"appendix, figures and raw results: {config.out}", flush=True)
    return 0


def _finished(out: Path) -> bool:
    return all((out / name).exists() for name in RESULT_FILES)


def _claim(out: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Write the settings into the folder; returns those that its results have.

    Raises:
        ValueError: the folder holds results of other settings, of other weights or, where something is left to play, of
            another version.
    """
    file = out / "config.json"
    if not file.exists():
        write_whole(file, json.dumps(facts, indent=2).encode() + b"\n")
        return facts
    there: dict[str, Any] = read_json(file)
    wanted = facts | {"version": field_of(there, "version", str, file)} if _finished(out) else facts
    if there != wanted:
        raise ValueError(
            f"{out} holds results of other settings, weights or another version: choose another --out, or delete it"
        )
    return there
