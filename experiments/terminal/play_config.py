"""The settings of a game at the terminal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from agents.atomic import write_new
from agents.policy_factory import make_policy
from uno_flex_env.errors import RecordError
from uno_flex_env.game import Game, Match
from uno_flex_env.options import check_whole
from uno_flex_env.render import phrases
from uno_flex_env.replay import read_games
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import checked_seed


@dataclass(frozen=True)
class PlayConfig:
    """Settings of a game at the terminal."""

    opponent: tuple[str, ...] = ("champion",)
    """A policy for all other seats, or one for each of them, clockwise from your seat."""
    players: int | None = None
    """Number of players, 2 to 8, with you. The default is 2, or the number in the record."""
    seat: int = 0
    """Your seat; seat 0 begins the first round."""
    seed: int | None = None
    """Seed of the deal and of the policies' random choices. The default is a new seed for each game."""
    rules: Rules = Rules()  # noqa: RUF009 (it is frozen)
    """House rules, by their switches (rules 9)."""
    other_rules: bool = False
    """Let networks that were trained by house rules play by the official ones, if no rules are given."""
    match: bool = False
    """Play rounds until a player reaches the target score, 500 by default."""
    hints: str = "champion"
    """The policy that gives you hints."""
    name: str = "Human"
    """Your name on the screen."""
    record: Path | None = None
    """Continue the round in this record. The file is not changed."""
    to: Path | None = None
    """A new file for the record. The default is the next free name in runs/play."""

    def __post_init__(self) -> None:
        checked_seed(self.seed)
        for policy in (*self.opponent, self.hints):
            make_policy(policy)
        if self.match and self.record is not None:
            raise ValueError("a match can't go on from a record, which holds no scores: leave out match or record")
        if not self.name.isprintable() or not 1 <= phrases.columns(self.name) <= phrases.NAME_COLUMNS:
            raise ValueError(f"name must take 1 to {phrases.NAME_COLUMNS} columns, got {self.name!r}")
        if self.to is not None:
            try:
                write_new([self.to], b"").unlink()  # tried now: after the game it would be too late to name another one
            except OSError as error:
                raise ValueError(
                    f"to must be a new file that can be written, got {self.to}: {error.strerror}"
                ) from None
        players = current(self.start()).num_players
        check_whole("seat", self.seat, 0, players - 1)
        if len(self.opponent) not in (1, players - 1):
            raise ValueError(
                f"opponent must name 1 policy, or {players - 1} for {players} players, got {self.opponent}"
            )

    def start(self) -> Game | Match:
        """A new round or match, or the round in the record."""
        if self.record is None:
            kind = Match if self.match else Game
            return kind(2 if self.players is None else self.players, self.rules, seed=checked_seed(self.seed))
        with self.record.open("rb") as lines:
            try:
                games = list(read_games(lines))
            except RecordError as error:
                raise ValueError(f"{self.record}: {error}") from None
        if len(games) != 1:
            raise ValueError(f"{self.record} must hold one round, got {len(games)}")
        if games[0].is_over:
            raise ValueError(f"the round in {self.record} is over")
        if self.players not in (None, games[0].num_players) or self.rules not in (Rules(), games[0].rules):
            raise ValueError(f"{self.record} has its own players and rules: leave out players and rules")
        return games[0]


def current(game: Game | Match) -> Game:
    """The round that is played now."""
    return game.game if isinstance(game, Match) else game
