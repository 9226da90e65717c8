"""What each rule of thumb of the expert is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tyro

from agents.expert import RULES
from agents.match.intervals import CONFIDENCE
from agents.match.progress_bar import progress_bar
from agents.match.results import Rate
from agents.match.runner import duel
from agents.match.workers import cores, worker_pool
from uno_flex_env.options import check_whole, checked_seed
from uno_flex_env.rules import Rules

HELP = """\
What each rule of thumb of the expert is worth: the expert in one seat, itself without the rule in all others, in every
seat of the same deals. The worth is by how many points its win rate exceeds a fair share; with 95 % intervals.

  python -m experiments ablation --players 2 4 --games 20000
  python -m experiments ablation hold_wilds chain_turns --players 8
"""

NAMES = tuple(rule.name for rule in RULES)


@dataclass(frozen=True)
class Config:
    """Settings of an ablation."""

    without: tyro.conf.Positional[tuple[str, ...]] = NAMES
    """The rules that are left out, one at a time."""
    players: tuple[int, ...] = (2, 4)
    """At the table, 2 to 8; a column for each."""
    games: int = 20_000
    """For each rule and number of players, rounded up to whole deals."""
    seed: int = 0
    """Of the deals and of all luck."""
    rules: Rules = Rules()  # noqa: RUF009 (it is frozen)
    """Switches of the rules."""
    workers: int = 0
    """Processes; 0 for one a core. They don't change the results."""

    def __post_init__(self) -> None:
        checked_seed(self.seed)
        for what in (self.without, self.players):
            if len(set(what)) < len(what):
                raise ValueError(f"each rule and each number of players once, got {' '.join(map(str, what))}")
        for name in self.without:
            if name not in NAMES:
                raise ValueError(f"the expert has no rule {name!r}; there are {', '.join(NAMES)}")
        for players in self.players:
            self.rules.check(players)
        if not self.without or not self.players:
            raise ValueError("an ablation needs at least one rule and one number of players")
        check_whole("games", self.games, 1, 1 << 30)
        check_whole("workers", self.workers, 0, 1024)


def main(config: Config) -> int:
    """Play, and tell."""
    games = sum(-(-config.games // players) * players for players in config.players) * len(config.without)
    worth = []
    with worker_pool(config.workers or cores()) as pool, progress_bar(games) as bar:
        for name in config.without:
            matches = (
                duel(
                    "expert",
                    f"expert-{name}",
                    players,
                    games=config.games,
                    seed=config.seed,
                    rules=config.rules,
                    workers=pool,
                    progress=bar,
                )
                for players in config.players
            )
            worth.append([match.rate("expert") for match in matches])
    print(table(config, worth), flush=True)
    return 0


def table(config: Config, worth: Sequence[Sequence[Rate]]) -> str:
    """For people: a row for each rule, a column for each number of players."""
    width, cell = max(map(len, (*config.without, "without"))), len("+10.0 [+10.0, +10.0]")
    head = "  ".join([f"{'without':{width}}", *(f"{f'{players} players':>{cell}}" for players in config.players)])
    lines = [
        f"{'  '.join([f'{name:{width}}', *(f'{points(rate):>{cell}}' for rate in rates)])}"
        for name, rates in zip(config.without, worth, strict=True)
    ]
    what = f"points of win rate above a fair share, {100 * CONFIDENCE:g} % intervals, {config.games:,} games each"
    return "\n".join([f"the expert in one seat, itself without a rule in all others: {what}", "", head, *lines])


def points(rate: Rate) -> str:
    """By how many points a rate exceeds a fair share, with its interval."""
    mean, low, high = (100 * (value - rate.fair) for value in (rate.mean, rate.low, rate.high))
    return f"{mean:+.1f} [{low:+.1f}, {high:+.1f}]"
