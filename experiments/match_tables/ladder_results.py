"""The results of a ladder: its table, and the file from which an interrupted ladder continues."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agents.atomic import write_whole
from agents.checkpoint import digests
from agents.match.results import Rate

RESULTS = "results.json"
"""The settings and results of a ladder, in its folder."""

Rates = dict[tuple[str, int], Rate]
"""The win rate of each policy at each number of players."""


def ladder_table(policies: Sequence[str], against: str, players: Sequence[int], rates: Rates) -> str:
    """The results in Markdown: a row for each policy, a column for each number of players.

    The row of `against` shows the fair share, which a policy wins at tables of itself.
    """
    heads = [f"{n} players (fair {100 / n:.3g} %)" for n in players]
    lines = [f"| one against `{against}` | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    for policy in policies:
        fair = [f"{100 / n:.3g} %" for n in players]
        cells = fair if policy == against else [str(rates[policy, n]) for n in players]
        lines.append(f"| `{policy}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_rates(folder: Path, settings: Mapping[str, Any], rates: Rates) -> None:
    """Write results and the settings that they were played with; each network is named with the digest of its file."""
    rows = [
        {"policy": policy, "players": num_players, "weights": _weights(policy), "rate": asdict(rate)}
        for (policy, num_players), rate in rates.items()
    ]
    data = json.dumps({"settings": settings, "rates": rows}, indent=2)
    write_whole(folder / RESULTS, data.encode() + b"\n")


def read_rates(folder: Path, settings: Mapping[str, Any]) -> Rates:
    """Read the results that `write_rates` has written; without a file there are none.

    Raises:
        ValueError: the file is damaged, or it was written with other settings or other networks.
    """
    path = folder / RESULTS
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        played, rates = found["settings"], Rates()
        for row in found["rates"]:
            rates[row["policy"], row["players"]] = Rate(**row["rate"])
            if row["weights"] != _weights(row["policy"]):
                raise ValueError(f"{path}: the network of {row['policy']} has changed: choose another --name")
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} holds no results of a ladder: {error!r}") from None
    if played != settings:
        raise ValueError(f"{path} was played with {played}, not {settings}: choose another --name")
    return rates


def _weights(policy: str) -> str | None:
    """The SHA-256 of the file of a policy that is a network."""
    return digests([policy]).get(policy)
