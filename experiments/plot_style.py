"""Colors and line styles of all figures."""

from __future__ import annotations

LINES = (("#0072b2", "-"), ("#d55e00", "--"), ("#009e73", "-."), ("#cc79a7", ":"))
"""Color and style of each line. They differ in gray and for color-blind readers (doi:10.1038/nmeth.1618)."""

COLOR_MAP = "cividis"
"""Color map from dark to light; it works in gray and for color-blind readers (doi:10.1371/journal.pone.0199239)."""
