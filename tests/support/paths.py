"""Where the tests find the project's own files."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""
GOLDEN = ROOT / "tests" / "golden"
"""Games that must replay exactly."""
