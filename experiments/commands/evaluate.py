"""Win rates of policies against each other."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from agents.atomic import write_whole
from agents.match.progress_bar import progress_bar
from agents.match.runner import Stop
from agents.match.workers import cores, worker_pool
from agents.policy_factory import make_policy
from experiments.commands.tournament import parquet
from experiments.match_tables.cross_table import check_policies, cross_table, pairings
from uno_flex_env.envs.vec_env import BOTS
from uno_flex_env.options import check_whole, checked_seed
from uno_flex_env.rules import Rules

HELP = """\
How often one of each policy wins against a table of each other, in every seat of the same deals, with 95 % intervals.

  python -m experiments evaluate expert flex_when_stuck --players 4 --games 20000
  python -m experiments evaluate runs/quick:greedy expert --threshold 0.5 --games 200000
  python -m experiments evaluate flex_any never_flex --rules.stacking --out results.parquet
"""


@dataclass(frozen=True)
class Config:
    """Settings of an evaluation."""

    policies: tyro.conf.Positional[tuple[str, ...]] = BOTS[1:]
    """Names of policies: bots, "expert", folders of training runs."""
    players: int = 2
    """At the table, 2 to 8."""
    games: int = 20_000
    """Of each pair, rounded up to whole deals; the most, if the match may stop early."""
    threshold: float | None = None
    """Stop a match as soon as the interval of the first one's win rate excludes this rate."""
    width: float | None = None
    """Stop a match as soon as that interval is narrower than this."""
    seed: int = 0
    """Of the deals and of all luck."""
    rules: Rules = Rules()  # noqa: RUF009 (it is frozen)
    """Switches of the rules."""
    workers: int = 0
    """Processes; 0 for one a core. They don't change the results."""
    out: Path | None = None
    """A Parquet file for every game, one a row."""

    def __post_init__(self) -> None:
        check_policies([make_policy(policy).name for policy in self.policies])
        checked_seed(self.seed)
        self.rules.check(self.players)
        check_whole("games", self.games, 1, 1 << 30)
        check_whole("workers", self.workers, 0, 1024)
        if self.out is not None and self.out.suffix != ".parquet":
            raise ValueError(f"out must be a .parquet file, got {self.out}")
        if self.out is not None and not self.out.parent.is_dir():
            raise ValueError(f"out must lie in a folder that there is, got {self.out}")
        self.stop()

    def stop(self) -> Stop | None:
        """When a match ends early, if it may."""
        return None if self.threshold is None and self.width is None else Stop(self.threshold, self.width)


def main(config: Config) -> int:
    """Play, and tell and write the results."""
    games = -(-config.games // config.players) * config.players * len(pairings(config.policies, config.players))
    with worker_pool(config.workers or cores()) as pool, progress_bar(games) as bar:
        table = cross_table(
            config.policies,
            config.players,
            games=config.games,
            seed=config.seed,
            rules=config.rules,
            workers=pool,
            stop=config.stop(),
            progress=bar,
        )
    print(str(table), flush=True)
    if config.out is not None:
        write_whole(config.out, parquet(table.results))
        print(f"every game: {config.out}", flush=True)
    return 0
