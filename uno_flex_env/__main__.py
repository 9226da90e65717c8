"""The commands: python -m uno_flex_env replay | perft | bench."""

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
"""Exit statuses besides 0: a fault was found, bad input, Ctrl-C, nobody reads on. The last two are what shells say of a
program that the signal ends."""

BILLION = 10**9


def main(arguments: list[str] | None = None) -> int:
    """Run a command; its exit status."""
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
        # What is still to be flushed at exit goes nowhere, without a word.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except (OSError, ValueError) as error:
        sys.stdout.flush()
        print(f"{parser.prog} {options.name}: {_short(str(error))}", file=sys.stderr)
        return REFUSED


def _short(reason: str, most: int = 2000) -> str:
    """A reason that quotes a whole broken file is cut."""
    return reason if len(reason) <= most else f"{reason[:most]} ... ({len(reason):,} characters)"


# ---- replay ----

REPLAY = """\
Replay game records: JSON, one game a line, see section 11 of RULES.md.
In Python, json.dumps(Game(3, seed=1).play("draw").to_record()) writes one.

  a line an action  python -m uno_flex_env replay games.jsonl
  as seat 1 saw it  python -m uno_flex_env replay --seat 1 games.jsonl
  for programs      python -m uno_flex_env replay --snapshots games.jsonl
  from a pipe       zcat games.jsonl.gz | python -m uno_flex_env replay -

In the table > is clockwise, < counterclockwise, + a green Power, - a red one;
"cards" are the hands' sizes by seat, "pile" is the draw pile. "decides" is who
acts next and, unless it is an ordinary turn, on what: a card just drawn, the
sum owed under stacking, a challenge, uno, catch.

A record that is broken or illegal is refused with its line, ply and reason, and
exit status 2. The games before it have been printed, nothing of it has.
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
Count the positions that lie DEPTH actions on; a round that ends earlier counts
once. Two engines that agree on such numbers agree on the rules there.

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
    """The game of a file's first record, taken back to a ply."""
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
Measure the speed: medians of several runs in which everything takes turns, so
that what else the machine does slows all alike. One core unless it says more.

  everything        python -m uno_flex_env bench
  in some seconds   python -m uno_flex_env bench --quick
  beside RLCard     python -m uno_flex_env bench --peers  (needs rlcard)
  with callgrind    python -m uno_flex_env bench --instructions
  for programs      python -m uno_flex_env bench --json bench.json

Or look for faults: play random decisions under all combinations of switches and
check everything after each. Exit status 1 if a fault is found; it is printed
with the seed and the record that lead there.

  a billion         python -m uno_flex_env bench --soak --threads 2
  a short one       python -m uno_flex_env bench --soak 1e6 --seed 7
"""


def _bench(options: argparse.Namespace) -> int:
    return _measure(options) if options.soak is None else _soak(options)


def _measure(options: argparse.Namespace) -> int:
    from uno_flex_env.bench.report import as_table
    from uno_flex_env.bench.run import QUICK, Settings, bench

    if options.seed is not None:
        raise ValueError("--seed goes with --soak")
    given = {name: getattr(options, name) for name in ("games", "runs", "threads", "seconds")}
    settings = replace(
        QUICK if options.quick else Settings(),
        **{name: value for name, value in given.items() if value is not None},
        peers=options.peers,
        instructions=options.instructions,
    )
    path = None if options.json in (None, "-") else Path(options.json)
    if path is not None:
        path.open("a").close()  # refused now and not after minutes
    report = bench(settings, sys.stderr)
    text = json.dumps(report, indent=1)
    if path is not None:
        path.write_text(text + "\n", encoding="utf-8")
    print(text if options.json == "-" else as_table(report))
    return 0


def _soak(options: argparse.Namespace) -> int:
    from uno_flex_env.bench.progress import Progress
    from uno_flex_env.soak import soak

    for name in ("games", "runs", "seconds", "json", "quick", "peers", "instructions"):
        if getattr(options, name):
            raise ValueError(f"--{name} does not go with --soak")
    with Progress(options.soak, "decisions", sys.stderr) as progress:
        outcome = soak(options.soak, seed=options.seed or 0, threads=options.threads or 1, advance=progress.advance)
    print(outcome)
    return 0 if outcome.fault is None else FOUND


# ---- Arguments ----


def _whole(least: int, most: int) -> Callable[[str], int]:
    """A whole number in these bounds; 1e9 and 1_000_000 are such too."""

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
        epilog="Each command tells more: python -m uno_flex_env replay --help",
    )
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", metavar="")
    _add_replay(_command(commands, "replay", _replay, "show the games of a file of records", REPLAY))
    _add_perft(_command(commands, "perft", _perft, "count positions, to compare engines", PERFT))
    _add_bench(_command(commands, "bench", _bench, "measure the speed, or look for faults", BENCH))
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
    parser.add_argument("file", metavar="FILE", help="file of records, one a line; - for standard input")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--snapshots", action="store_true", help="one JSON line a ply: the snapshot and the game's index")
    form.add_argument(
        "--seat", metavar="N", type=_whole(0, 7), help="show the table as this seat sees it, after every action"
    )


def _add_perft(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("depth", metavar="DEPTH", type=_whole(0, 100), help="actions to go on")
    parser.add_argument("--divide", action="store_true", help="also the count below each legal action")
    parser.add_argument("--players", metavar="N", type=_whole(2, 8), default=2, help="2 to 8 (2)")
    parser.add_argument("--dealer", metavar="N", type=_whole(0, 7), help="seat of the dealer (the last)")
    parser.add_argument("--seed", metavar="N", type=_whole(0, (1 << 64) - 1), default=0, help="of the deal (0)")
    parser.add_argument("--rules", type=_switches, default={}, metavar="JSON", help="switches, as records name them")
    parser.add_argument("--record", metavar="FILE", help="begin at the end of the first record of this file instead")
    parser.add_argument("--ply", metavar="N", type=_whole(0, 1 << 30), help="begin after so many actions of the record")


def _add_bench(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_true", help="a few seconds, rough figures")
    parser.add_argument("--json", metavar="FILE", help="write everything measured to this file; - prints it")
    parser.add_argument("--peers", action="store_true", help="also RLCard's UNO")
    parser.add_argument("--instructions", action="store_true", help="also instructions a decision, by callgrind")
    parser.add_argument("--games", metavar="N", type=_whole(1, 1 << 20), help="games of the batch (1,024)")
    parser.add_argument("--runs", metavar="N", type=_whole(1, 1000), help="runs whose median counts (7)")
    parser.add_argument("--seconds", metavar="S", type=_seconds, help="of each contestant in each run (0.2)")
    parser.add_argument("--threads", metavar="N", type=_whole(1, 256), help="of what has several (2); of the soak (1)")
    parser.add_argument(
        "--soak",
        nargs="?",
        const=BILLION,
        type=_whole(1, 10**15),
        metavar="N",
        help="look for faults (a billion decisions)",
    )
    parser.add_argument("--seed", metavar="N", type=_whole(0, (1 << 64) - 1), help="of the soak (0)")


if __name__ == "__main__":
    sys.exit(main())
