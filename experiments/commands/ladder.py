"""Play a ladder: each policy at tables of the same opponent, from weak to strong."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro

from agents.atomic import write_whole
from agents.checkpoint import digests
from agents.folder_lock import locked
from agents.match.results import Rate
from agents.match.runner import duel
from agents.policy import looks_ahead
from agents.policy_factory import make_policy
from experiments.match_tables.cross_table import check_policies
from experiments.match_tables.ladder_results import ladder_table, read_rates, write_rates
from experiments.match_tables.match_settings import PolicyMatchSettings, games_of
from experiments.match_tables.plots import rungs
from experiments.settings import check_folder_name
from experiments.trained_rules import compare_rules
from uno_flex_env.options import check_whole

HELP = """\
Measure how often one seat of each policy wins when the same opponent has all other seats, with 95 % intervals. Every
deal is played from every seat.

  python -m experiments ladder --config configs/ladder/ladder.toml        the ladder in the README
  python -m experiments ladder --config configs/ladder/budgets.toml       strength of search against its budget
  python -m experiments ladder random flex_any champion --against flex_when_stuck --players 2 4 --name mine

The folder runs/ladder/NAME gets the table, a picture and the results. An interrupted ladder continues when you give the
same command again.
"""


@dataclass(frozen=True)
class Config(PolicyMatchSettings):
    """Settings of a ladder."""

    policies: tyro.conf.Positional[tuple[str, ...]] = ("random", "flex_any", "flex_when_stuck")
    """The policies to measure, from the weakest to the strongest."""
    against: str = "expert"
    """The policy in all other seats."""
    players: tuple[int, ...] = (2, 4, 8)
    """Numbers of players, separated by spaces: --players 2 4 8. Each of them has a column."""
    search_games: int = 400
    """Games of each match of a policy that searches, instead of --games, since search is slow."""
    name: str = "ladder"
    """The results go to runs/ladder/NAME. Results in that folder are kept if they have the same settings."""

    def __post_init__(self) -> None:
        check_policies(
            list(dict.fromkeys((*self.policies, self.against))) if len(self.policies) == 1 else self.policies
        )
        for policy in (*self.policies, self.against):
            make_policy(policy)
        super().__post_init__()
        check_whole("search_games", self.search_games, 1, 1 << 30)
        check_folder_name(self.name)

    def games_for(self, policy: str) -> int:
        """How many games a policy plays at each number of players."""
        return self.search_games if looks_ahead(make_policy(policy)) else self.games

    def conditions(self) -> dict[str, Any]:
        """What a result depends on, beside its policy and its number of players."""
        return {
            "against": self.against,
            "weights": digests([self.against]).get(self.against),
            "games": self.games,
            "search_games": self.search_games,
            "seed": self.seed,
            "rules": self.rules.to_dict(),
        }


def main(config: Config) -> int:
    """Play the matches that have no result yet; print, draw and write the results."""
    compare_rules((*config.policies, config.against), config.rules, other_rules=config.other_rules)
    folder = Path("runs", "ladder", config.name)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder):
        text = _play(config, folder)
    print(f"{text}\n\nresults: {folder}", flush=True)
    return 0


def _play(config: Config, folder: Path) -> str:
    """Play, draw and write; returns the table."""
    rates = read_rates(folder, config.conditions())
    cells = [(p, n) for p in config.policies for n in config.players if p != config.against and (p, n) not in rates]
    with config.playing(sum(games_of(config.games_for(policy), n) for policy, n in cells)) as options:
        for policy, num_players in cells:
            games = config.games_for(policy)
            match = duel(policy, config.against, num_players, games=games, num_envs=256, **options)
            rates[policy, num_players] = match.rate(make_policy(policy).name)
            write_rates(folder, config.conditions(), rates)
    text = ladder_table(config.policies, config.against, config.players, rates)
    write_whole(folder / "ladder.md", text.encode() + b"\n")
    fair = {(config.against, n): Rate(1 / n, 1 / n, 1 / n, 1 / n, 0) for n in config.players}
    picture = rungs(config.policies, config.players, rates | fair, f"wins at tables of {config.against}")
    write_whole(folder / "ladder.png", picture)
    return text
