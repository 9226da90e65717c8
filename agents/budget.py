"""The budget of a search: what it may spend on one decision."""

from __future__ import annotations

import re
from dataclasses import dataclass

from uno_flex_env.positions import MOST_SECONDS, MOST_SIMULATIONS


@dataclass(frozen=True)
class Budget:
    """Either simulations or seconds; the other one is 0.

    Seconds are processor time of the searching thread, so waiting for a busy processor does not count. A budget that is
    too small for a decision leaves the default action: below 17 simulations in a tree, 32 in a flat search, 64 with a
    network.
    """

    simulations: int = 0
    seconds: float = 0.0

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read a budget: "200" is simulations, "100ms" is time. ValueError for anything else."""
        number = re.fullmatch(r"([0-9]+)(ms)?", text)
        most = 1000 * MOST_SECONDS if number and number[2] else MOST_SIMULATIONS
        if number is None or not 1 <= int(number[1]) <= most:
            raise ValueError(
                f"the budget of a search is simulations, as 200, or milliseconds, as 100ms, "
                f"at most {MOST_SIMULATIONS} or {1000 * MOST_SECONDS}ms, got {text!r}"
            )
        return cls(seconds=int(number[1]) / 1000) if number[2] else cls(simulations=int(number[1]))
