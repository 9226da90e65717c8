"""Play a round robin of policies at several numbers of players."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import tyro

from agents.atomic import write_new_folder
from agents.policy_factory import make_policy
from experiments.match_tables.cross_table import check_policies, cross_table, games_of_cross_table
from experiments.match_tables.match_settings import PolicyMatchSettings
from experiments.match_tables.round_robin import rate_policies, ratings_table, round_robin_files
from experiments.settings import check_folder_name
from experiments.trained_rules import compare_rules
from uno_flex_env.batch import BOTS

HELP = """\
Play a round robin. At each number of players, every policy takes one seat against every other policy in all other
seats, and every deal is played from every seat. The result is cross tables and ratings (Plackett-Luce: 400 points are
odds of ten to one), with 95 % intervals.

  python -m experiments tournament flex_any flex_when_stuck expert
  python -m experiments tournament expert runs/quick runs/quick:greedy --players 2 4 8 --games 20000

The folder runs/tournament/NAME gets the tables as text and JSON, a heat map, and every game as Parquet.
"""


@dataclass(frozen=True)
class Config(PolicyMatchSettings):
    """Settings of a tournament."""

    policies: tyro.conf.Positional[tuple[str, ...]] = BOTS[1:]
    """Two or more policies: rule bots, expert, search:100ms, champion, folders of runs, onnx:FILE, stdio:COMMAND,
    MODULE:CLASS. The first one's rating is 0."""
    name: str = "round_robin"
    """The results go to runs/tournament/NAME, or to NAME-2 and so on if that folder exists."""

    def __post_init__(self) -> None:
        check_policies([make_policy(policy).name for policy in self.policies])
        super().__post_init__()
        check_folder_name(self.name)


def main(config: Config) -> int:
    """Play, print the tables and write the results."""
    compare_rules(config.policies, config.rules, other_rules=config.other_rules)
    total = sum(games_of_cross_table(config.policies, n, config.games) for n in config.players)
    with config.playing(total) as options:
        tables = [cross_table(config.policies, n, games=config.games, **options) for n in config.players]
    rated = rate_policies(tables)
    text = "\n\n".join([*map(str, tables), ratings_table(rated)])
    print(text, flush=True)  # before the files: the results are shown even if they can't be written
    files = round_robin_files(tables, rated, text, asdict(config) | {"rules": config.rules.to_dict()})
    folder = write_new_folder(Path("runs", "tournament"), config.name, files)
    print(f"\nresults: {folder}", flush=True)
    return 0
