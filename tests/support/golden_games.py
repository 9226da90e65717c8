"""The golden games: records with the snapshots that must come out."""

from __future__ import annotations

import json
from typing import Any

from tests.support.paths import GOLDEN


def golden(name: str) -> list[dict[str, Any]]:
    """The games of a file: full.jsonl with every snapshot, digest.jsonl with the last one and a digest of all."""
    return [json.loads(line) for line in (GOLDEN / name).read_text(encoding="utf-8").splitlines()]


def canonical(snapshot: dict[str, Any]) -> str:
    """The line of a snapshot that digests are made from. Unlike ==, it tells true from 1."""
    return json.dumps(snapshot, sort_keys=True, separators=(",", ":")) + "\n"
