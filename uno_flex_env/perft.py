"""Counting the positions below one: the command `perft`, a quick check that two engines agree."""

from __future__ import annotations

from collections.abc import Iterator

from uno_flex_env._core import State
from uno_flex_env.actions import TEXTS


def perft_lines(state: State, depth: int, *, divide: bool) -> Iterator[str]:
    """Yield the number of positions `depth` actions ahead or at an earlier end of the round. With `divide`, first yield
    the number below each legal action."""
    if not divide or depth == 0 or state.is_over:
        yield str(state.perft(depth))
        return
    total = 0
    for action in state.legal_actions():
        child = state.copy()
        child.apply(action)
        leaves = child.perft(depth - 1)
        total += leaves
        yield f"{TEXTS[action]:<9} {leaves}"
    yield str(total)
