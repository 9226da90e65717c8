"""The tasks of the benchmark: games by name, from one that is solved exactly to the official game."""

from __future__ import annotations

from uno_flex_env.errors import did_you_mean
from uno_flex_env.options import EpisodeOptions
from uno_flex_env.rules import Rules


def _deck(cards: str) -> dict[str, int]:
    """One copy of each card of a text."""
    return dict.fromkeys(cards.split(), 1)


TASKS = {
    "tiny-2": EpisodeOptions(2, Rules(hand_size=2, deck=_deck("y1^ y3/g g2^ g1/y r1/b WA/")), max_decisions=300),
    "small-2": EpisodeOptions(
        2,
        Rules(
            hand_size=5,
            deck=_deck("""
                y1^ y2 y3^ y4 y5^ yS yR yD y1/g y2/g y3/g yS/ yD/
                g1 g2^ g3 g4^ g5 gS gR gD g1/y g2/y g3/y gS/ gD/
                WF WT/ WA/ W4/
            """),
        ),
        max_decisions=2_000,
    ),
    "full-2": EpisodeOptions(2, max_decisions=20_000),
    "full-4": EpisodeOptions(4, max_decisions=20_000),
    "full-8": EpisodeOptions(8, max_decisions=20_000),
}
"""By name, which ends with the number of players. `agents.exact` solves tiny-2. The deck of small-2 has 30 cards of two
colors and one of each wild. The others play with the official deck."""


def find_task(name: str) -> EpisodeOptions:
    """The options of a task; ValueError for an unknown name."""
    if name not in TASKS:
        raise ValueError(f"no such task: {name!r}; there are {', '.join(TASKS)}{did_you_mean(name, TASKS)}")
    return TASKS[name]
