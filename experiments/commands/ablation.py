"""Measure what each heuristic of the expert is worth."""

from __future__ import annotations

from dataclasses import dataclass

import tyro

from agents.expert import HEURISTICS
from agents.match.runner import duel
from experiments.match_tables.match_settings import MatchSettings, games_of
from experiments.match_tables.worth_table import worth_table
from uno_flex_env.errors import did_you_mean

HELP = """\
Measure what each heuristic of the expert is worth. The expert has one seat, the expert without the heuristic has all
other seats, and every deal is played from every seat. The worth is the win rate minus the fair share, in percentage
points with a 95 % interval.

  python -m experiments ablation --players 2 4 --games 20000
  python -m experiments ablation hold_wilds chain_turns --players 8
"""

NAMES = tuple(heuristic.name for heuristic in HEURISTICS)


@dataclass(frozen=True)
class Config(MatchSettings):
    """Settings of an ablation."""

    without: tyro.conf.Positional[tuple[str, ...]] = NAMES
    """The heuristics to measure. Each match leaves out one of them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.without or len(set(self.without)) < len(self.without):
            raise ValueError(f"without must name different heuristics, at least one, got {' '.join(self.without)}")
        for name in self.without:
            if name not in NAMES:
                near = did_you_mean(name, NAMES)
                raise ValueError(f"the expert has no heuristic {name!r}; there are {', '.join(NAMES)}{near}")


def main(config: Config) -> int:
    """Play, and print the table."""
    total = sum(games_of(config.games, n) for n in config.players) * len(config.without)
    with config.playing(total) as options:
        worth = [
            [duel("expert", f"expert-{name}", n, games=config.games, **options).rate("expert") for n in config.players]
            for name in config.without
        ]
    print(worth_table(config.without, config.players, config.games, worth), flush=True)
    return 0
