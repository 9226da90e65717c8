"""From nothing to the first observation, each in a fresh process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from uno_flex_env.bench.measure import Contestant, Figure, Race

STARTS = {
    "start_aec": ("uno_flex_v0.env()", "from uno_flex_env import uno_flex_v0; uno_flex_v0.env().reset(seed=1)"),
    "start_batch": ("VecEnv of 1,024 games", "import uno_flex_env; uno_flex_env.VecEnv(1024, seed=1).reset()"),
    "start_game": ("Game", "import uno_flex_env; uno_flex_env.Game(seed=1)"),
}


def start_contestants() -> list[Contestant]:
    """Import and first deal; the start of the interpreter itself is left out."""
    return [Contestant(name, _in_fresh_process(code), amount=1) for name, (_, code) in STARTS.items()]


def start_figures(values: Race) -> list[Figure]:
    """Seconds of `start_contestants`."""
    group = "A fresh process: import and first deal"
    return [Figure(name, group, label, "s", tuple(values[name]), "< 0.5") for name, (label, _) in STARTS.items()]


def _in_fresh_process(code: str) -> Callable[[int], float]:
    code = f"import time; begin = time.perf_counter(); {code}; print(time.perf_counter() - begin)"

    def run(amount: int) -> float:
        answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        return float(answer.stdout)

    return run
