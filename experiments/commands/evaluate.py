"""Measure the win rates of policies against each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from agents.atomic import write_whole
from agents.match.runner import Stop
from agents.policy_factory import make_policy
from experiments.match_tables.cross_table import check_policies, cross_table, games_of_cross_table
from experiments.match_tables.games_file import parquet
from experiments.match_tables.match_settings import PolicyMatchSettings
from experiments.trained_rules import compare_rules
from uno_flex_env.batch import BOTS

HELP = """\
Measure how often one seat of a policy wins when another policy has all other seats, with 95 % intervals. Every deal is
played from every seat. Each number of players has a table with every pair of policies.

  python -m experiments evaluate expert flex_when_stuck --players 4 --games 20000
  python -m experiments evaluate runs/quick:greedy expert --players 2 4 8
  python -m experiments evaluate runs/quick:greedy expert --threshold 0.5 --games 200000
  python -m experiments evaluate flex_any never_flex --rules.stacking --out results.parquet
"""


@dataclass(frozen=True)
class Config(PolicyMatchSettings):
    """Settings of an evaluation."""

    policies: tyro.conf.Positional[tuple[str, ...]] = BOTS[1:]
    """Two or more policies: rule bots, expert, search:100ms, champion, folders of runs, onnx:FILE, stdio:COMMAND,
    MODULE:CLASS."""
    players: tuple[int, ...] = (2,)
    """Numbers of players, separated by spaces: --players 2 4 8. Each of them has a table."""
    threshold: float | None = None
    """Stop a match early, as soon as the interval of the first policy's win rate excludes this rate."""
    width: float | None = None
    """Stop a match early, as soon as the interval of the first policy's win rate is narrower than this."""
    out: Path | None = None
    """A Parquet file to write, with a row for each game."""

    def __post_init__(self) -> None:
        check_policies([make_policy(policy).name for policy in self.policies])
        super().__post_init__()
        if self.out is not None and self.out.suffix != ".parquet":
            raise ValueError(f"out must be a .parquet file, got {self.out}")
        if self.out is not None and not self.out.parent.is_dir():
            raise ValueError(f"out must lie in a folder that there is, got {self.out}")
        self.stop()

    def stop(self) -> Stop | None:
        """When a match ends early, if it may."""
        return None if self.threshold is None and self.width is None else Stop(self.threshold, self.width)


def main(config: Config) -> int:
    """Play, print the tables and write the games."""
    compare_rules(config.policies, config.rules, other_rules=config.other_rules)
    total = sum(games_of_cross_table(config.policies, n, config.games) for n in config.players)
    with config.playing(total) as options:
        tables = [
            cross_table(config.policies, n, games=config.games, stop=config.stop(), **options) for n in config.players
        ]
    print("\n\n".join(map(str, tables)), flush=True)
    if config.out is not None:
        write_whole(config.out, parquet([result for table in tables for result in table.results]))
        print(f"every game: {config.out}", flush=True)
    return 0
