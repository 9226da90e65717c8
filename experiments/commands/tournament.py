"""Round robin over numbers of players: cross tables, ratings, a heat map."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import tyro

import uno_flex_env
from agents.atomic import new_folder, write_whole
from agents.match.progress_bar import progress_bar
from agents.match.ratings import Rating, ratings
from agents.match.results import MatchResult, games_table
from agents.match.workers import cores, worker_pool
from agents.policy_factory import make_policy
from experiments.match_tables.cross_table import CrossTable, check_policies, cross_table, pairings
from experiments.match_tables.plots import heat_maps
from uno_flex_env.envs.vec_env import BOTS
from uno_flex_env.options import check_whole, checked_seed
from uno_flex_env.rules import Rules

HELP = """\
A round robin: at each number of players one of every policy meets a table of every other, in every seat of the same
deals. Ends with cross tables and ratings (Plackett-Luce, 400 points are odds of ten to one), with 95 % intervals.

  python -m experiments tournament flex_any flex_when_stuck expert
  python -m experiments tournament expert runs/quick runs/quick:greedy --players 2 4 8 --games 20000

The folder runs/tournament/NAME gets the tables as text and JSON, a heat map, and every game as Parquet.
"""


@dataclass(frozen=True)
class Config:
    """Settings of a tournament."""

    policies: tyro.conf.Positional[tuple[str, ...]] = BOTS[1:]
    """Names of policies: bots, "expert", folders of training runs. The first one's rating is 0."""
    players: tuple[int, ...] = (2, 4)
    """Numbers of players, one after the other: --players 2 4 8."""
    games: int = 20_000
    """Of each pair at each number of players, rounded up to whole deals."""
    seed: int = 0
    """Of the deals and of all luck."""
    rules: Rules = Rules()  # noqa: RUF009 (it is frozen)
    """Switches of the rules."""
    name: str = "round_robin"
    """The results go to runs/tournament/NAME, or NAME-2 and so on if that is there already."""
    workers: int = 0
    """Processes; 0 for one a core. They don't change the results."""

    def __post_init__(self) -> None:
        check_policies([make_policy(policy).name for policy in self.policies])
        checked_seed(self.seed)
        if not self.players or len(set(self.players)) < len(self.players):
            raise ValueError(f"players must be different numbers, at least one, got {self.players}")
        for num_players in self.players:
            self.rules.check(num_players)
        check_whole("games", self.games, 1, 1 << 30)
        check_whole("workers", self.workers, 0, 1024)
        if self.name == ".." or not self.name or Path(self.name).name != self.name:
            raise ValueError(f"name must be that of a folder, got {self.name!r}")


def main(config: Config) -> int:
    """Play, tell and write the results."""
    tables = play(config)
    rated = {f"{table.num_players} players": ratings(table.results) for table in tables}
    if len(tables) > 1:
        rated["all"] = ratings([result for table in tables for result in table.results])
    text = "\n\n".join([*map(str, tables), ratings_table(rated)])
    print(text, flush=True)  # first: it is not lost where nothing can be written
    print(f"\nresults: {write(config, tables, rated, text)}", flush=True)
    return 0


def play(config: Config) -> list[CrossTable]:
    """A cross table for each number of players."""
    games = sum(-(-config.games // n) * n * len(pairings(config.policies, n)) for n in config.players)
    with worker_pool(config.workers or cores()) as pool, progress_bar(games) as bar:
        return [
            cross_table(
                config.policies,
                num_players,
                games=config.games,
                seed=config.seed,
                rules=config.rules,
                workers=pool,
                progress=bar,
            )
            for num_players in config.players
        ]


def ratings_table(rated: dict[str, tuple[Rating, ...]]) -> str:
    """For people: a row for each policy, a column for each number of players, the best over all first."""
    last = list(rated.values())[-1]
    policies = [rating.policy for rating in sorted(last, key=lambda rating: -rating.mean)]
    rows = [["rating", *rated]]
    for policy in policies:
        rows.append([policy, *(str(next(r for r in column if r.policy == policy)) for column in rated.values())])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join([f"{row[0]:{widths[0]}}", *(f"{c:>{w}}" for c, w in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
    return "\n".join([*lines, "", f"points above {last[0].policy}; 400 are odds of ten to one between two"])


def write(config: Config, tables: Sequence[CrossTable], rated: dict[str, tuple[Rating, ...]], text: str) -> Path:
    """Write all results into a folder of their own."""
    folder = new_folder(Path("runs", "tournament"), config.name)
    results = [result for table in tables for result in table.results]
    notes = {
        "version": uno_flex_env.__version__,
        "config": asdict(config) | {"rules": config.rules.to_dict()},
        "rates": [_rates(result) for result in results],
        "ratings": {name: [asdict(rating) for rating in column] for name, column in rated.items()},
    }
    write_whole(folder / "results.json", json.dumps(notes, indent=2).encode() + b"\n")
    write_whole(folder / "tables.txt", text.encode() + b"\n")
    write_whole(folder / "heat_map.png", heat_maps(tables))
    write_whole(folder / "games.parquet", parquet(results))
    return folder


def parquet(results: Sequence[MatchResult]) -> bytes:
    """Every game of some matches, one a row."""
    file = BytesIO()
    pq.write_table(games_table(results), file)
    return file.getvalue()


def _rates(result: MatchResult) -> dict[str, Any]:
    one, others = result.policies
    counts = {"games": result.num_games, "no_winner": result.no_winner, "truncated": result.truncated}
    return {"num_players": result.num_players, "one": one, "others": others, **asdict(result.rate(0)), **counts}
