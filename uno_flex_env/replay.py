"""Files with one game record per line, and the lines that the command `replay` prints."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from uno_flex_env._core import State
from uno_flex_env.actions import text_to_action
from uno_flex_env.errors import RecordError
from uno_flex_env.game import Game, snapshot
from uno_flex_env.render import Table, ansi

COLUMNS = 80


def read_games(lines: Iterable[bytes]) -> Iterator[Game]:
    """Yield the game of each line, at the last action of its record. Blank lines may only end the file.

    Raises:
        RecordError: a line can't be replayed. The message names line, ply and reason.
    """
    blank: int | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            blank = blank or number
            continue
        if blank is not None:
            raise RecordError("the line is blank, but more records follow", line=blank)
        try:
            game = Game.from_record(read_record(line))
        except RecordError as error:
            raise RecordError(error.reason, error.ply, number) from None
        yield game


def read_record(line: bytes) -> Any:
    """The JSON value of one line; `RecordError` for anything that strict JSON does not allow."""
    try:
        return json.loads(line.decode("utf-8"), object_pairs_hook=_without_duplicates, parse_constant=_refuse_constant)
    except RecordError:
        raise
    except UnicodeDecodeError as error:
        raise RecordError(f"not UTF-8: byte {line[error.start]:#04x} at byte {error.start + 1}") from None
    except json.JSONDecodeError as error:
        reason = "text after the record" if error.msg == "Extra data" else f"broken JSON: {error.msg}"
        raise RecordError(f"{reason}, at column {error.pos + 1}") from None
    except RecursionError:
        raise RecordError("broken JSON: too many brackets within brackets") from None
    except ValueError:
        # Python converts no number that long.
        raise RecordError("broken JSON: a number with thousands of digits") from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict[str, Any]()
    for name, value in pairs:
        if name in fields:
            raise RecordError(f"the key {name!r} occurs twice")
        fields[name] = value
    return fields


def _refuse_constant(name: str) -> NoReturn:
    raise RecordError(f"broken JSON: {name} is not a JSON number")


def snapshot_lines(games: Iterable[Game]) -> Iterator[str]:
    """Yield one JSON line per ply of each game, from 0 to the end: the snapshot (rules 11) and `game`, its index."""
    for index, game in enumerate(games):
        for state in _states(game):
            yield json.dumps({"game": index} | snapshot(state))


def table_lines(games: Iterable[Game]) -> Iterator[str]:
    """Yield each game as text with all hands open: one line per action, in 80 columns."""
    for index, game in enumerate(games):
        if index:
            yield ""
        yield from _heading(index, game)
        states = _states(game)
        yield from _hands(states[0])
        yield ""
        yield from _actions(game, states)
        yield ""
        yield from textwrap.wrap(_ending(game), COLUMNS)
        yield from _hands(states[-1])


def view_lines(games: Iterable[Game], seat: int, *, color: bool) -> Iterator[str]:
    """Yield each game as the player in one seat sees it, drawn after every action. ValueError if a game has no such
    seat."""
    for index, game in enumerate(games):
        if seat >= game.num_players:
            raise ValueError(f"game {index} has no seat {seat}: its {game.num_players} players sit in seats from 0")
        last: tuple[int, int] | None = None
        for state, action in zip(_states(game), [*game.actions, None], strict=True):
            yield f"{f' game {index}, ply {state.ply} ':-^{COLUMNS}}"
            yield ansi(Table.from_state(state, game.rules, last=last), seat, color=color)
            last = None if action is None else (state.current_player, text_to_action(action))


def _states(game: Game) -> list[State]:
    """The states at every ply up to the current one. The game itself does not change."""
    back = game.copy()
    states = [back.state]
    while back.ply:
        states.append(back.undo().state)
    return states[::-1]


def _heading(index: int, game: Game) -> list[str]:
    switches = [f"{name}={value}" for name, value in game.rules.to_dict().items() if name != "deck"]
    if game.rules.deck is not None:
        switches.append(f"a deck of {sum(game.rules.deck.values())} cards")
    rules = ", ".join(switches) or "the official rules"
    return textwrap.wrap(
        f"Game {index}: {game.num_players} players, player {game.dealer} deals, {rules}",
        COLUMNS,
        subsequent_indent="  ",
        break_on_hyphens=False,
    )


def _hands(state: State) -> Iterator[str]:
    for seat, hand in enumerate(snapshot(state)["hands"]):
        cards = " ".join(hand) or "no cards"
        yield from textwrap.wrap(cards, COLUMNS, initial_indent=f"  {seat}  ", subsequent_indent=" " * 5)


def _actions(game: Game, states: list[State]) -> Iterator[str]:
    """A row for the deal and one for each action, with the position after it."""
    seats = max(game.num_players, 5), max(3 * game.num_players - 1, 5)
    yield f" ply seat action    top  color {'Power':{seats[0]}} {'cards':{seats[1]}} pile decides".rstrip()
    taken = [
        ("", "deal"),
        *((str(state.current_player), text) for state, text in zip(states, game.actions, strict=False)),
    ]
    for (seat, action), state in zip(taken, states, strict=True):
        yield _row(seat, action, snapshot(state), *seats).rstrip()


def _row(seat: str, action: str, table: dict[str, Any], power_width: int, sizes_width: int) -> str:
    turning = ">" if table["direction"] == 1 else "<"
    power = "".join("+" if green else "-" for green in table["power"])
    sizes = " ".join(f"{len(hand):2}" for hand in table["hands"])
    phase = table["drawn"] or (f"stack {table['pending_draw']}" if table["phase"] == "stack" else table["phase"])
    decides = "over" if table["to_move"] is None else f"{table['to_move']} {'' if phase == 'play' else phase}"
    return (
        f"{table['ply']:4} {seat:>4} {action:<9} {table['top']:<4} {table['color']:>3} {turning} "
        f"{power:<{power_width}} {sizes:<{sizes_width}} {table['draw_pile']:4} {decides}"
    )


def _ending(game: Game) -> str:
    if not game.is_over:
        return f"The record ends before the round does: player {game.current_player} decides, phase {game.phase}."
    if game.winner is None:
        return "The round ends without a winner: every player in a row tried to draw and no card was left."
    return f"Player {game.winner} wins the round with {game.points} points."
