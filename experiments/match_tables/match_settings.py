"""The settings that all commands of match play share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from agents.match.progress_bar import progress_bar
from agents.match.workers import cores, worker_pool
from uno_flex_env.options import check_whole
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import checked_seed


@dataclass(frozen=True)
class MatchSettings:
    """Which games are played, and by how many processes. A command inherits these settings and adds its own."""

    players: tuple[int, ...] = (2, 4)
    """Numbers of players, separated by spaces: --players 2 4 8. The matches are played at each of them."""
    games: int = 20_000
    """Games of each match, rounded up to whole deals; each deal is played in every seating."""
    seed: int = 0
    """Seed of the deals and of the random choices of the policies."""
    rules: Rules = Rules()  # noqa: RUF009 (it is frozen)
    """House rules, by their switches (rules 9)."""
    workers: int = 0
    """Number of worker processes; 0 uses one for each core. It changes only the speed, unless a policy has a budget of
    time."""

    def __post_init__(self) -> None:
        if not self.players or len(set(self.players)) < len(self.players):
            raise ValueError(f"players must be different numbers, at least one, got {self.players}")
        for num_players in self.players:
            self.rules.check(num_players)
        check_whole("games", self.games, 1, 1 << 30)
        checked_seed(self.seed)
        check_whole("workers", self.workers, 0, 1024)

    @contextmanager
    def playing(self, games: int) -> Iterator[dict[str, Any]]:
        """Open the worker processes and a progress bar for matches of so many games in all.

        Yields:
            The options of `agents.match.runner.duel` that are the same for all of the matches.
        """
        with worker_pool(self.workers or cores()) as pool, progress_bar(games) as bar:
            yield {"seed": self.seed, "rules": self.rules, "workers": pool, "progress": bar}


@dataclass(frozen=True)
class PolicyMatchSettings(MatchSettings):
    """The settings of commands that take policies of any kind."""

    other_rules: bool = False
    """Let networks that were trained by house rules play by the official ones, if no rules are given."""


def games_of(games: int, num_players: int) -> int:
    """How many games a duel plays: `games` rounded up to whole deals, each in `num_players` seatings."""
    return -(-games // num_players) * num_players
