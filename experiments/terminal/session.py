"""A game of a person against policies: what the person types, and what the policies answer."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from rich.columns import Columns
from rich.console import Console
from rich.markdown import Markdown
from rich.rule import Rule

from agents.atomic import write_new, write_whole
from agents.policy import Policy, ask
from agents.policy_factory import make_policy
from experiments.terminal.chair import Chair
from experiments.terminal.coach import decisions_at, estimate, preferences, review
from experiments.terminal.events import since_last_decision, steps
from experiments.terminal.explanations import explain_phase
from experiments.terminal.menu import Option, options
from experiments.terminal.play_config import PlayConfig, current
from experiments.terminal.screen import (
    draw_end,
    draw_hand,
    draw_hints,
    draw_menu,
    draw_middle,
    draw_news,
    draw_review,
    draw_seats,
    draw_seen,
)
from uno_flex_env.actions import ACTIONS, Action, text_to_action
from uno_flex_env.cards import COLORS
from uno_flex_env.errors import NotationError
from uno_flex_env.game import Game, Match
from uno_flex_env.policy_input import Decisions
from uno_flex_env.render import phrases
from uno_flex_env.render.ansi import LEGEND
from uno_flex_env.seeding import checked_seed, derived_seed

FOLDER = Path("runs/play")
FOUND_RULES = 5
"""Rules that a search for words shows, at most."""
LETTERS = {word: letter for letter, word in phrases.COLORS.items()}
COMMANDS = """\
3              the third choice of the menu; color and target are asked for
b6/y  WT/!:b@2 an action in notation
?  hint        what the policy that gives the hints would play
undo           back to your previous decision in this round; the cards stay the same
show           show the game again
seen           the cards in the discard pile, and those that you have not seen
rules 7.4      what the rules say there; rules 7 shows the whole section
rules stacking where the rules say that word
save           write the record so far
quit           write the record and end; so do Ctrl-C and the end of the input"""


class Session:
    """A person and policies at one game.

    Attributes:
        played: the round or the match that they play.
        policies: the policy of each other seat, by seat.
        hints: the policy that gives the hints.
        chair: the person's place, for drawing.
    """

    def __init__(self, config: PlayConfig, console: Console) -> None:
        self.config, self.console, self.seat = config, console, config.seat
        self.played = config.start()
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
        """The round that is played now."""
        return current(self.played)

    @property
    def rounds(self) -> int:
        """The number of rounds before the present one."""
        finished = self.played.rounds if isinstance(self.played, Match) else []
        return len(finished) - (self.game in finished)

    def run(self) -> None:
        """Play to the end.

        Raises:
            EOFError: the person has quit, or the input has ended.
        """
        self.console.print(f"You are {self.config.name}, in seat {self.seat}. `help` says what can be typed.")
        while not self.played.is_over:
            game = self.game
            if game.current_player == self.seat:
                self.decide()
            else:
                self.played.play(self.answer(self.policies[game.state.current_player]))
            if game.is_over:
                self.console.print(draw_news(since_last_decision(game, self.seat), self.chair), "")
                self.console.print(draw_end(game, self.chair), "")
                self.review()

    # ---- Policies ----

    def decisions(self, policy: Policy) -> Decisions:
        """The current decision as its player sees it."""
        return decisions_at(self.game.state, steps(self.game), policy, self.seed, self.rounds)

    def answer(self, policy: Policy) -> int:
        """The action that a policy chooses now."""
        return int(ask(policy, self.decisions(policy), np.zeros(1, np.intp))[0])

    def hint(self) -> None:
        """Show what the policy `hints` would play, with its probabilities and its estimate if it has them."""
        decisions = self.decisions(self.hints)
        self.console.print(draw_hints(self.hints.name, preferences(self.hints, decisions)))
        if said := estimate(self.hints, decisions, self.game.num_players):
            self.console.print(f"{self.hints.name}: {said}.")

    def review(self) -> None:
        """Compare your moves in this round with those of the policy `hints`."""
        count, different = review(steps(self.game), self.seat, self.hints, self.seed, self.rounds)
        if count:
            self.console.print(draw_review(self.hints.name, count, different), "")

    # ---- The person ----

    def decide(self) -> None:
        """Show the game, and read lines until one has changed it."""
        self.show()
        while not self.obey(self.ask("> ")):
            pass

    def ask(self, prompt: str) -> str:
        """Read a line that the person types."""
        return self.console.input(prompt, markup=False, emoji=False).strip()

    def show(self) -> None:
        """Show what has happened, the game, the hand and the menu."""
        game, chair, menu = self.game, self.chair, options(self.game.legal_actions)
        print_ = self.console.print
        print_(Rule(f"Round {len(self.played.rounds) + 1}" if isinstance(self.played, Match) else ""))
        if news := since_last_decision(game, self.seat):
            print_(draw_news(news, chair), "")
        print_(draw_middle(game.state, chair), "", draw_seats(game.state, chair), "", sep="\n")
        print_(draw_hand(game.state, chair, menu), "", explain_phase(game, chair), sep="\n")
        print_(draw_menu(menu, chair))

    def obey(self, line: str) -> bool:
        """Do what a line says; return whether the game has changed."""
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
            case ["seen"]:
                self.console.print(draw_seen(self.game.state, self.chair))
            case ["rules", *words]:
                self.read_rules(" ".join(words))
            case _:
                return self.choose(line)
        return False

    def choose(self, line: str) -> bool:
        """Play the action that a line names, by number or by notation; return whether it was played."""
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
            self.played.play(action)
        return action is not None

    def complete(self, actions: list[str]) -> str | None:
        """One of these actions: ask for color and target where the actions differ in them. None to go back."""
        for part in (_called_color, _target):
            groups: dict[str, list[str]] = {}
            for action in actions:
                groups.setdefault(part(ACTIONS[text_to_action(action)]), []).append(action)
            answer = self.pick(list(groups)) if len(groups) > 1 else next(iter(groups))
            if answer is None:
                return None
            actions = groups[answer]
        return actions[0]

    def pick(self, allowed: list[str]) -> str | None:
        """Ask for one of these colors or targets; None to go back."""
        names, players = self.chair.names, len(self.chair.names)
        shown = [
            f"{one} {phrases.COLORS[one]}"
            if one in phrases.COLORS
            else f"@{one} {names[(self.seat + int(one)) % players]}"
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
        """Explain why a line is not accepted, and what you can choose."""
        if line.isascii() and line.isdecimal():
            why = f"The numbers go from 1 to {len(menu)}."
        else:
            try:
                why = f"{line} is illegal now: {self.game.why_illegal(line)}."
            except NotationError as error:
                why = f"There is {error}. `help` says what else can be typed."
        choices = "  ".join(f"{number} {option.text}" for number, option in enumerate(menu, start=1))
        self.console.print(why, f"You can choose: {choices}", sep="\n")

    def undo(self) -> bool:
        """Go back to the person's previous decision in this round; return whether there is one."""
        before = [event.before.ply for event in steps(self.game) if event.seat == self.seat]
        if not before:
            self.console.print("You have made no decision in this round that you can take back.")
            return False
        while self.game.ply > before[-1]:
            self.game.undo()
        return True

    def read_rules(self, wanted: str) -> None:
        """Show a rule or a section by its number, or the rules in which the words stand."""
        text = (files("uno_flex_env") / "RULES.md").read_text(encoding="utf-8")
        blocks = text.split("\n\n")
        found = [block for block in blocks if f"**{wanted}**" in block][:1]
        found = found or [part for part in re.split(r"^(?=## )", text, flags=re.M) if part.startswith(f"## {wanted}. ")]
        if not found and wanted and not wanted[0].isdecimal():
            found = [_with_word(block, wanted) for block in blocks if wanted in " ".join(block.lower().split())]
        if not found:
            print_ = self.console.print
            none = f"There is no rule {wanted}. " if wanted else ""
            print_(f"{none}Give a number, such as 7.4 or 7, or words, such as stacking.")
        for block in found[:FOUND_RULES]:
            self.console.print(Markdown(block))
        if len(found) > FOUND_RULES:
            self.console.print(f"{len(found) - FOUND_RULES} more; give more words.")

    # ---- Another round ----

    def another(self) -> bool:
        """Ask whether to play again."""
        try:
            answer = self.ask(f"Another {'match' if self.config.match else 'round'} (y or n)? ").lower()
        except EOFError:
            return False
        return answer in ("y", "yes")

    def next_config(self) -> PlayConfig:
        """The settings of the next round or match: the same, with new cards and a record of its own."""
        game, seed = self.game, derived_seed(self.seed, 1)
        return replace(self.config, players=game.num_players, rules=game.rules, seed=seed, record=None, to=None)

    # ---- The record ----

    def records(self) -> list[dict[str, Any]]:
        """The records of the finished rounds and of the present one."""
        rounds = self.played.rounds if isinstance(self.played, Match) else []
        return [game.to_record() for game in (rounds if self.game in rounds else [*rounds, self.game])]

    def save(self) -> bool:
        """Write the record and say where; return whether all is saved. An older file is never replaced."""
        records = self.records()
        if records == self.written:
            done = "The record has been saved already." if self.path else "No move was made: there is nothing to save."
            self.console.print(done)
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
        if not self.config.match and not self.played.is_over:
            again = ["--record", str(self.path), "--opponent", *self.config.opponent, "--seat", str(self.seat)]
            again += ["--hints", self.config.hints, "--name", self.config.name]
            self.console.print(f"To go on: python -m experiments play {shlex.join(again)}", soft_wrap=True)
        return True


def _new_files(wanted: Path | None) -> Iterator[Path]:
    """The files that the record may go to; the first one that does not exist is used."""
    if wanted is not None:
        yield wanted
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    for number in count(1):
        yield FOLDER / f"game-{number}.jsonl"


def _with_word(block: str, words: str) -> str:
    """A block of the rules that holds these words; of a table only its head and the rows that hold them."""
    lines = block.splitlines()
    if not block.startswith("|"):
        return block
    return "\n".join([*lines[:2], *(line for line in lines[2:] if words in line.lower())])


def _called_color(action: Action) -> str:
    return "" if action.color is None else COLORS[action.color]


def _target(action: Action) -> str:
    return str(action.offset) if action.offset else ""


def _short(name: str, seat: int) -> str:
    """A policy's name, shortened to fit, and its seat, since several policies may have the same name."""
    most = phrases.NAME_COLUMNS - 2
    return f"{name if len(name) <= most else name[: most - 2] + '..'} {seat}"
