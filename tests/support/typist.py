"""A stand-in for the terminal and the person at it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from experiments.terminal.play_config import PlayConfig
from experiments.terminal.session import Session
from uno_flex_env import Game
from uno_flex_env.replay import read_games

BOT = ("--opponent", "flex_any", "--hints", "flex_any")


@dataclass
class Said:
    """The exit status and the output of a command."""

    status: int
    out: str
    err: str


class Typist(Console):
    """A terminal at which a function types; the input ends when it returns None."""

    def __init__(self, answer: Callable[[], str | None]) -> None:
        super().__init__(file=io.StringIO(), width=80, highlight=False, markup=False, emoji=False)
        self.answer = answer

    def input(self, *_: Any, **__: Any) -> str:
        line = self.answer()
        if line is None:
            raise EOFError
        return line

    @property
    def text(self) -> str:
        return str(self.file.getvalue())  # type: ignore[attr-defined]


def sit(config: PlayConfig, answer: Callable[[Session], str | None], mute: bool = False) -> tuple[Session, str]:
    """A session in which `answer` types each line, and the text that was shown."""
    console = Typist(lambda: answer(session))
    if mute:  # drawing takes most of the time
        console.print = lambda *_, **__: None  # type: ignore[method-assign]
    session = Session(config, console)
    with suppress(EOFError):
        session.run()
    return session, console.text


def some_action(session: Session) -> str:
    """A legal action that depends on the position only."""
    legal = [action for action in session.game.legal_actions if action != "draw"] or ["draw"]
    return legal[sum(session.game.state.to_bytes()) % len(legal)]


def config_of(**settings: Any) -> PlayConfig:
    """Settings of a game against a rule bot."""
    defaults: dict[str, Any] = {"opponent": ("flex_any",), "hints": "flex_any", "seed": 5}
    return PlayConfig(**defaults | settings)


def saved(path: Path) -> list[Game]:
    """The games of a file of records."""
    with path.open("rb") as lines:
        return list(read_games(lines))


def write(path: Path, *records: dict[str, Any]) -> Path:
    """Write records to a file, one per line."""
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


def at(game: Game, answers: str = "", **settings: Any) -> tuple[Session, Typist]:
    """A session at this position, and its terminal; `answers` are what the person types, separated by commas."""
    lines = iter(answers.split(","))
    console = Typist(lambda: next(lines))
    session = Session(config_of(players=game.num_players, **settings), console)
    session.played = game
    session.chair = replace(session.chair, rules=game.rules)
    return session, console
