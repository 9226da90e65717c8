"""The results of a ladder: its table, and the file from which an interrupted ladder continues."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agents.atomic import write_whole
from agents.checkpoint import digests
from agents.json_text import field_of, read_json
from agents.match.results import Rate

RESULTS = "results.json"
"""The settings and results of a ladder, in its folder."""

Rates = dict[tuple[str, int], Rate]
"""The win rate of each policy at each number of players."""


def ladder_table(policies: Sequence[str], against: str, players: Sequence[int], rates: Rates) -> str:
    """The results in Markdown: a row for each policy, a column for each number of players.

    The row of `against` shows the fair share, since a policy wins that much at tables of itself.
    """
    heads = [f"{n} players (fair {100 / n:.3g} %)" for n in players]
    lines = [f"| one against `{against}` | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    for policy in policies:
        fair = [f"{100 / n:.3g} %" for n in players]
        cells = fair if policy == against else [str(rates[policy, n]) for n in players]
        lines.append(f"| `{policy}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def write_rates(folder: Path, settings: Mapping[str, Any], rates: Rates) -> None:
    """Write the results, the settings that they were played with, and the digest of each network's file."""
    rows = [
        {"policy": policy, "players": num_players, "weights": _weights(policy), "rate": asdict(rate)}
        for (policy, num_players), rate in rates.items()
    ]
    data = json.dumps({"settings": settings, "rates": rows}, indent=2)
    write_whole(folder / RESULTS, data.encode() + b"\n")


def read_rates(folder: Path, settings: Mapping[str, Any]) -> Rates:
    """Read the results that `write_rates` has written; empty if there is no file.

    Raises:
        ValueError: the file is damaged, or it was written with other settings or other networks.
    """
    path = folder / RESULTS
    if not path.is_file():
        return {}
    try:
        played, rates, weights = _parsed(read_json(path))
    except ValueError as error:
        raise ValueError(f"{path} holds no results of a ladder: {error}") from None
    now = digests(weights)
    for policy, digest in weights.items():
        if digest != now.get(policy):
            raise ValueError(f"{path}: the network of {policy} has changed: choose another --name")
    if played != settings:
        raise ValueError(f"{path} was played with {played}, not {settings}: choose another --name")
    return rates


def _parsed(found: object) -> tuple[dict[str, Any], Rates, dict[str, Any]]:
    """The settings, the rates, and the digest of each policy's network."""
    rates, weights = Rates(), dict[str, Any]()
    for row in field_of(found, "rates", list, "the file"):
        policy = field_of(row, "policy", str, "a row of rates")
        table = field_of(row, "rate", dict, f"the row of {policy}")
        parts = {
            name: field_of(table, name, float, f"the rate of {policy}") for name in ("mean", "low", "high", "fair")
        }
        players = field_of(row, "players", int, f"the row of {policy}")
        rates[policy, players] = Rate(**parts, deals=field_of(table, "deals", int, f"the rate of {policy}"))
        weights[policy] = row.get("weights")
    return field_of(found, "settings", dict, "the file"), rates, weights


def _weights(policy: str) -> str | None:
    """The SHA-256 of the file of a policy that is a network."""
    return digests([policy]).get(policy)
