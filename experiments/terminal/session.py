"""Playing against policies at the terminal."""

from __future__ import annotations

import json
import re
import shlex
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from io import TextIOWrapper
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.columns import Columns
from rich.console import Console
from rich.markdown import Markdown
from rich.rule import Rule

from agents.atomic import write_new, write_whole
from agents.network_policy import NetworkPolicy
from agents.policy import Decisions, Policy, ask
from agents.policy_factory import make_policy
from experiments.terminal.screen import (
    Chair,
    Option,
    draw_end,
    draw_hand,
    draw_hints,
    draw_menu,
    draw_middle,
    draw_news,
    draw_seats,
    explain_phase,
    options,
    since_last_decision,
    steps,
    why_not,
)
from uno_flex_env.actions import NUM_ACTIONS, text_to_action
from uno_flex_env.errors import NotationError, RecordError
from uno_flex_env.game import Game, Match
from uno_flex_env.options import check_whole, checked_seed
from uno_flex_env.positions import Positions
from uno_flex_env.render import phrases as words
from uno_flex_env.render.ansi import LEGEND
from uno_flex_env.replay import read_games
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import decision_noise

HELP = """\
Play against policies, here in the terminal. `help` at the prompt says what can be typed, `?` asks for a hint.

  python -m experiments play
  python -m experiments play --opponent champion --players 3
  python -m experiments play --opponent expert search:100ms --players 3 --seat 1 --match
  python -m experiments play --record runs/play/game-1.jsonl
"""
FOLDER = Path("runs/play")
LETTERS = {word: letter for letter, word in words.COLORS.items()}
COMMANDS = """\
3              the third choice of the menu; color and target are asked for
b6/y  WT/!:b@2 an action in notation, see below
?  hint        what the policy of the hints would play
undo           back to your previous decision in this round; luck stays the same
show           the table once more
rules 7.4      what the rules say there; rules 7 shows the whole section
save           write the record so far
quit           write the record and end; so do Ctrl-C and the end of the input"""


@dataclass(frozen=True)
class Config:
    """Settings of a game at the terminal."""

    opponent: tuple[str, ...] = ("champion",)
    """Policies: one for all other seats, or one for each, clockwise from yours."""
    players: int | None = None
    """At the table, 2 to 8, you included; 2, or those of the record, unless it is said."""
    seat: int = 0
    """Yours; seat 0 begins the first round."""
    seed: int | None = None
    """Of the deal and of all luck; a new one each time, unless it is said."""
    rules: Rules = Rules()  # noqa: RUF009 (it is frozen)
    """Switches of the rules."""
    match: bool = False
    """Play rounds until somebody has the target score, 500."""
    hints: str = "champion"
    """The policy that is asked for hints."""
    name: str = "Human"
    """Yours, in what is told."""
    record: Path | None = None
    """Go on with the round in this file. It stays as it is."""
    to: Path | None = None
    """A new file for the record; one in runs/play unless it is said."""

    def __post_init__(self) -> None:
        checked_seed(self.seed)
        for policy in (*self.opponent, self.hints):
            make_policy(policy)
        if self.match and self.record is not None:
            raise ValueError("a match can't go on from a record, which holds no scores: leave out match or record")
        if not self.name.isprintable() or not 1 <= words.columns(self.name) <= words.NAME_COLUMNS:
            raise ValueError(f"name must take 1 to {words.NAME_COLUMNS} columns, got {self.name!r}")
        if self.to is not None:
            try:
                write_new([self.to], b"").unlink()  # tried now: after the game it would be too late to name another one
            except OSError as error:
                raise ValueError(
                    f"to must be a new file that can be written, got {self.to}: {error.strerror}"
                ) from None
        players = current(self.table()).num_players
        check_whole("seat", self.seat, 0, players - 1)
        if len(self.opponent) not in (1, players - 1):
            raise ValueError(
                f"opponent must name 1 policy, or {players - 1} for {players} players, got {self.opponent}"
            )

    def table(self) -> Game | Match:
        """What is played: dealt, or as in the record."""
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


def main(config: Config) -> int:
    """Play; the record is saved however it ends. Status 1 if it could not be."""
    torch.set_num_threads(1)  # as in match play, so that a search is as strong
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="backslashreplace")  # to be explained like any wrong input
    session = Session(config, Console(highlight=False, markup=False, emoji=False))
    try:
        with _signals_end_it():
            session.run()
    except EOFError:
        session.console.print()
    except KeyboardInterrupt:
        session.console.print("\n")
        raise
    finally:
        saved = session.save()
        if not saved:
            session.console.print("This is the record:", *map(json.dumps, session.records()), sep="\n", soft_wrap=True)
    return 0 if saved else 1


@contextmanager
def _signals_end_it() -> Iterator[None]:
    """A closed window or `kill` leaves as Ctrl-C does, by an exception."""

    def leave(number: int, _: Any) -> None:
        sys.exit(128 + number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def current(game: Game | Match) -> Game:
    """The present round."""
    return game.game if isinstance(game, Match) else game


class Session:
    """A person, policies, and what they play."""

    def __init__(self, config: Config, console: Console) -> None:
        self.config, self.console, self.seat = config, console, config.seat
        self.table = config.table()
        self.seed = checked_seed(config.seed)
        self.path: Path | None = None
        self.written = self.records()
        players = self.game.num_players
        made = {spec: make_policy(spec) for spec in (*config.opponent, config.hints)}
        self.hints = made[config.hints]
        others = config.opponent * (players - 1 if len(config.opponent) == 1 else 1)
        self.policies = {(self.seat + 1 + k) % players: made[spec] for k, spec in enumerate(others)}
        names = [config.name if s == self.seat else _short(self.policies[s].name, s) for s in range(players)]
        self.chair = Chair(self.seat, tuple(names), self.game.rules, config.match)

    @property
    def game(self) -> Game:
        """The present round."""
        return current(self.table)

    def run(self) -> None:
        """Play to the end. EOFError when the person leaves."""
        self.console.print(f"You are {self.config.name}, in seat {self.seat}. `help` says what can be typed.")
        while not self.table.is_over:
            game = self.game
            if game.to_move == self.seat:
                self.decide()
            else:
                self.table.play(self.answer(self.policies[game.state.current_player]))
            if game.is_over:
                self.console.print(draw_news(since_last_decision(game, self.seat), self.chair), "")
                self.console.print(draw_end(game, self.chair), "")

    # ---- Policies ----

    def seen(self, policy: Policy) -> Decisions:
        """The present decision, as whoever has to take it sees it. Its key follows from seed, round, seat and how many
        decisions the seat has taken in the round, so what is taken back comes again."""
        current_player, players = self.game.state.current_player, self.game.num_players
        positions = Positions([self.game.state])
        observation, mask = positions.observe()
        taken = steps(self.game)
        rounds = len(self.table.rounds) if isinstance(self.table, Match) else 0
        noise = decision_noise(self.seed, rounds, current_player, sum(event.seat == current_player for event in taken))
        history = np.full((1, policy.history, 3), -1, np.int16)
        for row, event in enumerate(taken[::-1][: policy.history], start=1):
            history[0, -row] = (event.seat - current_player) % players, event.action, event.drawn
        return Decisions(observation, mask, noise, history, positions.hide())

    def answer(self, policy: Policy) -> int:
        """What a policy does now."""
        return int(ask(policy, self.seen(policy), np.zeros(1, np.intp))[0])

    def hint(self) -> None:
        """Tell what the policy of the hints would do: with probabilities, if it has any."""
        if isinstance(self.hints, NetworkPolicy):
            probs = self.hints.probabilities(self.seen(self.hints))[0].tolist()
        else:
            probs = [0.0] * NUM_ACTIONS
            probs[self.answer(self.hints)] = 1.0
        self.console.print(draw_hints(self.hints.name, probs))

    # ---- The person ----

    def decide(self) -> None:
        """Show the table, and read lines until something has changed."""
        self.show()
        while not self.obey(self.ask("> ")):
            pass

    def ask(self, prompt: str) -> str:
        """A line that the person types."""
        return self.console.input(prompt, markup=False, emoji=False).strip()

    def show(self) -> None:
        """What has happened, the table, the hand, and what can be done."""
        game, chair, menu = self.game, self.chair, options(self.game.legal_actions)
        print_ = self.console.print
        print_(Rule(f"Round {len(self.table.rounds) + 1}" if isinstance(self.table, Match) else ""))
        if news := since_last_decision(game, self.seat):
            print_(draw_news(news, chair), "")
        print_(draw_middle(game.state, chair), "", draw_seats(game.state, chair), "", sep="\n")
        print_(draw_hand(game.state, chair, menu), "", explain_phase(game, chair), sep="\n")
        print_(draw_menu(menu, chair))

    def obey(self, line: str) -> bool:
        """Do what a line says; whether the table has changed."""
        match line.lower().split():
            case []:
                pass
            case ["quit" | "q"]:
                raise EOFError
            case ["undo" | "u"]:
                return self.undo()
            case ["hint" | "?"]:
                self.hint()
            case ["help" | "h"]:
                self.console.print(COMMANDS, "", Columns(LEGEND[:-1], padding=(0, 3)), LEGEND[-1], sep="\n")
            case ["show"]:
                self.show()
            case ["save"]:
                self.save()
            case ["rules", number]:
                self.read_rules(number)
            case _:
                return self.choose(line)
        return False

    def choose(self, line: str) -> bool:
        """Take the action that a line names, by number or notation; whether it has been taken."""
        legal = self.game.legal_actions
        menu = options(legal)
        if line.isascii() and line.isdecimal():
            number = int(line[:9])
            meant = list(menu[number - 1].actions) if 1 <= number <= len(menu) else []
        else:
            meant = [action for action in legal if action == line or action.startswith((f"{line}:", f"{line}@"))]
        if not meant:
            self.refuse(line, menu)
            return False
        action = self.complete(meant)
        if action is not None:
            self.table.play(action)
        return action is not None

    def complete(self, actions: list[str]) -> str | None:
        """One of these actions, by asking for color and target where they differ in them; None to go back."""
        for group in ("color", "offset"):
            choices: dict[str, list[str]] = {}
            for action in actions:
                play = words.PLAY.fullmatch(action)
                choices.setdefault(play[group] or "" if play else "", []).append(action)
            answer = self.pick(list(choices)) if len(choices) > 1 else next(iter(choices))
            if answer is None:
                return None
            actions = choices[answer]
        return actions[0]

    def pick(self, allowed: list[str]) -> str | None:
        """A color or a target out of those allowed; None to go back."""
        names, players = self.chair.names, len(self.chair.names)
        shown = [
            f"{one} {words.COLORS[one]}" if one in words.COLORS else f"@{one} {names[(self.seat + int(one)) % players]}"
            for one in allowed
        ]
        while line := self.ask(f"Which: {', '.join(shown)}? ").lower():
            if line in ("quit", "q"):
                raise EOFError
            answer = line.lstrip(":@")
            answer = LETTERS.get(answer, answer)
            if answer in allowed:
                return answer
            self.console.print("One of these, or an empty line to go back to the menu.")
        return None

    def refuse(self, line: str, menu: list[Option]) -> None:
        """Explain why a line can't be obeyed, and what can be."""
        if line.isascii() and line.isdecimal():
            why = f"The numbers go from 1 to {len(menu)}."
        else:
            try:
                text_to_action(line)
                why = why_not(line, self.game, self.seat)
            except NotationError as error:
                why = f"There is {error}. `help` says what else can be typed."
        choices = "  ".join(f"{number} {option.text}" for number, option in enumerate(menu, start=1))
        self.console.print(why, f"You can choose: {choices}", sep="\n")

    def undo(self) -> bool:
        """Go back to the person's previous decision in this round; whether there is one."""
        before = [event.before.ply for event in steps(self.game) if event.seat == self.seat]
        if not before:
            self.console.print("There is nothing of yours to take back in this round.")
            return False
        while self.game.ply > before[-1]:
            self.game.undo()
        return True

    def read_rules(self, number: str) -> None:
        """Show a rule, or a section of the rules, by its number."""
        text = (files("uno_flex_env") / "RULES.md").read_text(encoding="utf-8")
        found = [block for block in text.split("\n\n") if f"**{number}**" in block]
        found += [part for part in re.split(r"^(?=## )", text, flags=re.MULTILINE) if part.startswith(f"## {number}. ")]
        self.console.print(Markdown(found[0]) if found else f"There is no rule {number}; the sections are 1 to 11.")

    # ---- The record ----

    def records(self) -> list[dict[str, Any]]:
        """Those of the finished rounds and of the present one."""
        rounds = self.table.rounds if isinstance(self.table, Match) else []
        return [game.to_record() for game in (rounds if self.game in rounds else [*rounds, self.game])]

    def save(self) -> bool:
        """Write the record, and say where; a file that was there before is never replaced. Whether all is saved."""
        records = self.records()
        if records == self.written:
            self.console.print("There is nothing new to save.")
            return True
        data = "".join(json.dumps(record) + "\n" for record in records).encode()
        try:
            if self.path is None:
                self.path = write_new(_new_files(self.config.to), data)
            else:
                write_whole(self.path, data)
        except OSError as error:
            self.console.print(f"The record can't be saved: {error}", soft_wrap=True)
            return False
        self.written = records
        self.console.print(f"The record is in {self.path}", soft_wrap=True)
        if not self.config.match and not self.table.is_over:
            again = ["--record", str(self.path), "--opponent", *self.config.opponent, "--seat", str(self.seat)]
            again += ["--hints", self.config.hints, "--name", self.config.name]
            self.console.print(f"To go on: python -m experiments play {shlex.join(again)}", soft_wrap=True)
        return True


def _new_files(wanted: Path | None) -> Iterator[Path]:
    """Where the record may go, if it is not taken."""
    if wanted is not None:
        yield wanted
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for number in count(1):
        yield FOLDER / f"game-{number}.jsonl"


def _short(name: str, seat: int) -> str:
    """A policy's name and its seat, which tells it from others of that name."""
    most = words.NAME_COLUMNS - 2
    return f"{name if len(name) <= most else name[: most - 2] + '..'} {seat}"
