"""Instructions per decision, counted by Callgrind: a figure that does not depend on the machine's load."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from experiments.speed import callgrind_target
from uno_flex_env import _core
from uno_flex_env.bench.batch_speed import ALL, MASK, OBSERVATION, PLAYERS, RULES_ONLY
from uno_flex_env.bench.measure import Figure

GAMES = 256
STEPS = (100, 300)
"""The steps of two runs. Their difference leaves out the instructions that run only once."""

INSTRUCTION_RUNS = 4 * len(PLAYERS) * len(STEPS)

LEVEL = "avx2"
"""The instruction set of the core that is counted. Valgrind knows no AVX-512."""


def check_available() -> None:
    """Raise ValueError unless Callgrind can run the core on this machine."""
    if shutil.which("valgrind") is None:
        raise ValueError("valgrind is not installed: its callgrind counts the instructions")
    if LEVEL not in _core.levels():
        raise ValueError(f"the instructions are counted at level {LEVEL}, which this processor does not run")


def instruction_figures(advance: Callable[[], None]) -> list[Figure]:
    """The cost of the rules, the mask and the observation, for each number of players. `advance` is called after each
    run of Callgrind."""
    group = f"Instructions a decision (callgrind, level {LEVEL})"
    figures = []
    for players in PLAYERS:
        cost = {parts: _instructions(players, parts, advance) for parts in (RULES_ONLY, MASK, OBSERVATION, ALL)}
        rows = {
            "rules": ("rules, choosing the action", cost[RULES_ONLY]),
            "mask": ("mask", cost[MASK] - cost[RULES_ONLY]),
            "observation": ("observation", cost[OBSERVATION] - cost[RULES_ONLY]),
            "all": ("all", cost[ALL]),
        }
        for part, (label, count) in rows.items():
            name = f"instructions_{part}_{players}"
            figures.append(Figure(name, group, f"{label}, {players} players", "", (count,)))
    return figures


def _instructions(players: int, parts: int, advance: Callable[[], None]) -> float:
    totals = []
    for steps in STEPS:
        totals.append(_total(players, parts, steps))
        advance()
    return (totals[1] - totals[0]) / (GAMES * (STEPS[1] - STEPS[0]))


def _total(players: int, parts: int, steps: int) -> int:
    """All instructions of one run of `callgrind_target.py`."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "callgrind.out")
        numbers = map(str, (GAMES, players, parts, steps))
        program = [sys.executable, "-I", "-S", str(callgrind_target.__file__), str(_core.__file__), *numbers]
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *program]
        env = os.environ | {"UNO_FLEX_LEVEL": LEVEL, "PYTHONHASHSEED": "0"}
        answer = subprocess.run(command, env=env, capture_output=True, text=True)
        found = re.search(r"^(?:summary|totals): (\d+)$", out.read_text() if out.exists() else "", re.MULTILINE)
    if answer.returncode or found is None:
        raise RuntimeError(f"callgrind failed: {answer.stderr[-2000:]}")
    return int(found[1])
