"""The commands: python -m uno_flex_env replay | perft | bench | soak."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from uno_flex_env.errors import RecordError
from uno_flex_env.game import Game
from uno_flex_env.replay import read_games, read_record, snapshot_lines, table_lines, view_lines
from uno_flex_env.rules import Rules

FOUND, REFUSED, INTERRUPTED, CLOSED = 1, 2, 130, 141
"""Exit statuses besides 0: a soak found a fault; bad input; Ctrl-C; the reader closed the output. The last two are the
usual statuses of a program that a signal ends."""

BILLION = 10**9


def main(arguments: list[str] | None = None) -> int:
    """Run a command and return its exit status."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help(sys.stderr)
        return REFUSED
    try:
        status: int = options.command(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Python flushes standard output at exit and would report the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except (OSError, ValueError) as error:
        sys.stdout.flush()
        reason = _short(str(error))
        if isinstance(error, OSError) and error.filename and error.strerror:
            reason = f"{error.filename}: {error.strerror}"
        print(f"{parser.prog} {options.name}: {reason}", file=sys.stderr)
        return REFUSED


def _short(reason: str, most: int = 2000) -> str:
    """The reason, cut if it quotes a whole broken file."""
    return reason if len(reason) <= most else f"{reason[:most]} ... ({len(reason):,} characters)"


# ---- replay ----

REPLAY = """\
Replay game records: JSON, one game per line (rules 11, see RULES.md).
json.dumps(Game(3, seed=1).play("draw").to_record()) writes one in Python.

  line per action   python -m uno_flex_env replay games.jsonl
  as seat 1 saw it  python -m uno_flex_env replay --seat 1 games.jsonl
  for programs      python -m uno_flex_env replay --snapshots games.jsonl
  from a pipe       zcat games.jsonl.gz | python -m uno_flex_env replay -

In the table > is clockwise, < counterclockwise, + a green Power, - a red one;
"cards" shows the size of each hand, "pile" the size of the draw pile.
"decides" names the player to act and, outside an ordinary turn, the decision:
a card just drawn, the cards owed under stacking, a challenge, uno, catch.

A broken or illegal record ends the command with exit status 2 and a message
with its line, ply and the reason. The games before it are printed. No part of
the bad record is printed.
"""


def _replay(options: argparse.Namespace) -> int:
    with _opened(options.file) as file:
        games = read_games(file)
        if options.snapshots:
            lines = snapshot_lines(games)
        elif options.seat is None:
            lines = table_lines(games)
        else:
            lines = view_lines(games, options.seat, color=sys.stdout.isatty())
        try:
            _print_all(lines)
        except RecordError as error:
            raise ValueError(f"{options.file}: {error}") from None
    return 0


def _print_all(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    if name == "-":
        yield sys.stdin.buffer
    else:
        with Path(name).open("rb") as file:
            yield file


# ---- perft ----

PERFT = """\
Count the positions that are DEPTH actions away. A round that ends earlier
counts once. Compare the counts to check one engine against another.

  from a deal       python -m uno_flex_env perft 4 --players 3 --seed 7
  by first action   python -m uno_flex_env perft 4 --seed 7 --divide
  with switches     python -m uno_flex_env perft 4 --rules '{"stacking": true}'
  from a record     python -m uno_flex_env perft 3 --record game.jsonl --ply 10
"""


def _perft(options: argparse.Namespace) -> int:
    from uno_flex_env.perft import perft_lines

    if options.record is None:
        if options.ply is not None:
            raise ValueError("--ply goes with --record")
        game = Game(options.players, Rules.from_dict(options.rules), seed=options.seed, dealer=options.dealer)
    else:
        game = _game_at(options.record, options.ply)
    _print_all(perft_lines(game.state, options.depth, divide=options.divide))
    return 0


def _game_at(file_name: str, ply: int | None) -> Game:
    """The first game of a file, at its last ply or the given one."""
    with _opened(file_name) as file:
        try:
            game = next(read_games(file), None)
        except RecordError as error:
            raise ValueError(f"{file_name}: {error}") from None
    if game is None:
        raise ValueError(f"{file_name}: there is no record in it")
    if ply is not None and ply > game.ply:
        raise ValueError(f"{file_name}: the record has {game.ply} actions, so there is no ply {ply}")
    while ply is not None and game.ply > ply:
        game.undo()
    return game


# ---- bench ----

BENCH = """\
Measure the speed and print medians of several runs. The measurements of a run
alternate, so other load on the machine slows all of them alike. Measurements
use one core unless noted.

  everything        python -m uno_flex_env bench
  a few seconds     python -m uno_flex_env bench --quick
  a larger batch    python -m uno_flex_env bench --games 4096
  for programs      python -m uno_flex_env bench --json bench.json
"""


def _bench(options: argparse.Namespace) -> int:
    from uno_flex_env.bench.report import as_table
    from uno_flex_env.bench.suite import QUICK, Settings, bench

    given = {name: getattr(options, name) for name in ("games", "runs", "threads", "seconds")}
    settings = replace(
        QUICK if options.quick else Settings(),
        **{name: value for name, value in given.items() if value is not None},
    )
    path = None if options.json in (None, "-") else Path(options.json)
    if path is not None:
        path.open("a").close()  # fail now instead of after minutes
    report = bench(settings, sys.stderr)
    text = json.dumps(report, indent=1)
    if path is not None:
        part = path.with_name(f".{path.name}.{os.getpid()}")
        part.write_text(text + "\n", encoding="utf-8")
        part.replace(path)  # a reader finds all of the old report or all of the new
    print(text if options.json == "-" else as_table(report))
    return 0


# ---- soak ----

SOAK = """\
Look for faults: play random decisions under all combinations of switches and
check the state after each. If there is a fault, the exit status is 1 and the
output gives the seed and the record that reproduce it.

  a billion         python -m uno_flex_env soak
  on two threads    python -m uno_flex_env soak --threads 2
  a short one       python -m uno_flex_env soak 1e6
  with a seed       python -m uno_flex_env soak 1e6 --seed 7
"""


def _soak(options: argparse.Namespace) -> int:
    from uno_flex_env.progress import Progress
    from uno_flex_env.soak import soak

    with Progress(options.decisions, "decisions", sys.stderr) as progress:
        outcome = soak(options.decisions, seed=options.seed, threads=options.threads, advance=progress.advance)
    print(outcome)
    return 0 if outcome.fault is None else FOUND


# ---- Arguments ----


def _whole(least: int, most: int) -> Callable[[str], int]:
    """A parser of whole numbers in these bounds. It also accepts 1e9 and 1_000_000."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = _from_exponent(text)
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"must be from {least} to {most}, got {text}")
        return number

    return read


def _from_exponent(text: str) -> int:
    try:
        number = float(text)
        whole = number == int(number)
    except (ValueError, OverflowError):
        whole = False
    if not whole:
        raise argparse.ArgumentTypeError(f"must be a whole number, got {text!r}")
    return int(number)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.001 <= seconds <= 60:
        raise argparse.ArgumentTypeError(f"must be from 0.001 to 60, got {text!r}")
    return seconds


def _switches(text: str) -> dict[str, Any]:
    try:
        switches = read_record(text.encode())
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not isinstance(switches, dict):
        raise argparse.ArgumentTypeError(f'must be a JSON object like {{"stacking": true}}, got {text!r}')
    return switches


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m uno_flex_env",
        description="UNO Flex for reinforcement learning.",
        epilog="Help for a command: python -m uno_flex_env replay --help",
    )
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", metavar="")
    _add_replay(_command(commands, "replay", _replay, "show the games of a file of records", REPLAY))
    _add_perft(_command(commands, "perft", _perft, "count positions, to compare engines", PERFT))
    _add_bench(_command(commands, "bench", _bench, "measure the speed", BENCH))
    _add_soak(_command(commands, "soak", _soak, "look for faults by random play", SOAK))
    return parser


def _command(
    commands: Any, name: str, function: Callable[[argparse.Namespace], int], summary: str, text: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=summary, description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(command=function, name=name)
    return parser


def _add_replay(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="file with one record per line; - for standard input")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--snapshots", action="store_true", help="print a JSON line per ply: game and snapshot")
    form.add_argument(
        "--seat", metavar="N", type=_whole(0, 7), help="show the table after each action as this seat sees it"
    )


def _add_perft(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("depth", metavar="DEPTH", type=_whole(0, 100), help="number of actions")
    parser.add_argument("--divide", action="store_true", help="also print the count for each first action")
    parser.add_argument("--players", metavar="N", type=_whole(2, 8), default=2, help="number of players, 2 to 8 (2)")
    parser.add_argument("--dealer", metavar="N", type=_whole(0, 7), help="seat of the dealer (the last seat)")
    parser.add_argument("--seed", metavar="N", type=_whole(0, (1 << 64) - 1), default=0, help="seed of the deal (0)")
    parser.add_argument("--rules", type=_switches, default={}, metavar="JSON", help="switches, named as in records")
    parser.add_argument("--record", metavar="FILE", help="start from the end of the first record in this file")
    parser.add_argument("--ply", metavar="N", type=_whole(0, 1 << 30), help="start after N actions of the record")


def _add_bench(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="take a few seconds; the figures are rough")
    parser.add_argument("--json", metavar="FILE", help="write all results to this file; - prints them")
    parser.add_argument("--games", metavar="N", type=_whole(1, 1 << 20), help="games in the batch (1,024)")
    parser.add_argument("--runs", metavar="N", type=_whole(1, 1000), help="number of runs (7)")
    parser.add_argument("--seconds", metavar="S", type=_seconds, help="time for each measurement in a run (0.2)")
    parser.add_argument("--threads", metavar="N", type=_whole(1, 256), help="threads where several are used (2)")


def _add_soak(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "decisions",
        nargs="?",
        default=BILLION,
        type=_whole(1, 10**15),
        metavar="N",
        help="number of decisions (a billion)",
    )
    parser.add_argument("--seed", metavar="N", type=_whole(0, (1 << 64) - 1), default=0, help="seed of the soak (0)")
    parser.add_argument("--threads", metavar="N", type=_whole(1, 256), default=1, help="number of threads (1)")


if __name__ == "__main__":
    sys.exit(main())
