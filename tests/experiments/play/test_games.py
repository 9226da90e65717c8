"""Whole games through the command, their records, and what it refuses."""

from __future__ import annotations

import io
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from agents.atomic import write_new
from agents.checkpoint import save_network
from agents.policy import Actions
from experiments import __main__ as command
from experiments import signals
from experiments.terminal import session as play
from experiments.terminal.events import steps
from experiments.terminal.session import Session
from tests.support.learning import KINDS, make_network
from tests.support.notation import record
from tests.support.paths import ROOT
from tests.support.typist import BOT, saved, write
from uno_flex_env import Rules
from uno_flex_env.actions import text_to_action
from uno_flex_env.policy_input import Decisions
from uno_flex_env.replay import read_games

# ---- Whole games ----


@pytest.mark.parametrize("players", [2, 3, 8])
@pytest.mark.parametrize(
    "switches", [(), ("--rules.stacking", "--rules.uno-call", "explicit")], ids=["official", "house"]
)
def test_a_whole_game_can_be_piped_in(pipe, players, switches):
    """Fault 22: it ends with a result, and with a record that replays; no line is over 80 columns.

    Seen to fail with a menu that leaves out `keep`."""
    said = pipe("1\nr\n@1\n" * 1500, "--players", players, "--seed", 3, "--to", "it.jsonl", *BOT, *switches)

    (game,) = saved(Path("it.jsonl"))
    assert (said.status, said.err, game.is_over) == (0, "", True)
    assert (game.num_players, game.rules.stacking) == (players, bool(switches))
    assert re.search(rf"wins the round with {game.points} points\.|ends with no winner", said.out)
    assert "The record is in it.jsonl" in said.out
    assert max(map(len, re.split(r"\n|> (?=─)|\? ", said.out))) <= 80


def test_a_match_is_played_to_its_end(pipe):
    """Each round with its number, scores and record.

    Seen to fail when the first round's end was taken for that of the match."""
    said = pipe("1\nr\n@1\n" * 3000, "--match", "--rules.target-score", 150, "--seed", 1, "--to", "it.jsonl", *BOT)

    games = saved(Path("it.jsonl"))
    assert said.status == 0
    assert len(games) > 1
    assert [game.dealer for game in games] == [(1 + n) % 2 for n in range(len(games))]
    assert f" Round {len(games)} " in said.out
    assert "and the match" in said.out
    totals = [sum(game.points for game in games if game.winner == seat) for seat in range(2)]
    for total in totals:
        assert f"{total} points" in said.out.rpartition("and the match")[2]


@pytest.mark.slow
def test_a_network_from_a_file_plays_and_hints(pipe, tmp_path):
    """Fault 22: what was trained can be played against, by scripted input."""
    save_network(tmp_path / "net.safetensors", make_network(KINDS[2]), {})
    spec = str(tmp_path / "net.safetensors")
    flags = ["--opponent", spec, "--hints", spec, "--rules.hand-size", "2", "--seed", "4", "--to", "it.jsonl"]

    said = pipe("?\n1\nr\n@1\n" * 500, *flags)

    assert (said.status, said.err) == (0, "")
    assert "would play" in said.out
    assert saved(Path("it.jsonl"))[0].is_over


# ---- The record ----


@pytest.mark.parametrize("end", ["", "quit\n"])
def test_leaving_saves_the_record(pipe, end):
    """At the end of the input, too; it says where. Seen to fail without the save."""
    said = pipe("draw\n1\ndraw\n" + end, "--seed", 2, *BOT)

    (game,) = saved(Path("runs/play/game-1.jsonl"))
    assert said.status == 0
    assert game.ply >= 2
    assert not game.is_over
    assert "The record is in runs/play/game-1.jsonl" in said.out
    assert (
        "To go on: python -m experiments play --record runs/play/game-1.jsonl --opponent flex_any --seat 0 "
        "--hints flex_any --name Human"
    ) in said.out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGHUP"])
def test_an_interruption_saves_the_record(tmp_path, name):
    """Ctrl-C, `kill` or a closed window while the prompt waits; the status is that of the signal. The next test sends
    SIGTERM, too.

    Seen to fail for SIGHUP without its handler."""
    number = getattr(signal, name)
    # A process inherits ignored signals; a shell's background jobs, perhaps these tests, ignore SIGINT.
    before = signal.signal(number, signal.SIG_DFL)
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "experiments", "play", "--seed", "2", "--to", str(tmp_path / "it.jsonl"), *BOT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    signal.signal(number, before)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("draw\nsave\ndraw\n")
    process.stdin.flush()
    for line in process.stdout:
        if "The record is in" in line:
            break

    before = (tmp_path / "it.jsonl").read_bytes()
    process.stdin.write("1\ndraw\n" * 3)
    process.stdin.flush()
    while select.select([process.stdout], [], [], 1)[0]:  # it waits at the prompt when nothing more comes
        os.read(process.stdout.fileno(), 1 << 16)

    os.kill(process.pid, number)
    process.communicate(timeout=60)

    assert process.returncode == 128 + number
    assert len((tmp_path / "it.jsonl").read_bytes()) > len(before)
    assert saved(tmp_path / "it.jsonl")[0].actions[0] == "draw"


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_second_signal_does_not_stop_the_save(monkeypatch, name):
    """Fault 2-9: a closed window sends SIGHUP twice. The second one comes when the file is there and still empty.
    Seen to fail with handlers that also raise the second time: an empty file and no record."""
    number = getattr(signal, name)
    before = signal.signal(number, signal.default_int_handler)  # tests may run with ignored signals
    monkeypatch.setattr("sys.stdin", io.StringIO("draw\nkeep\n"))

    def write_slowly(path: Path, data: bytes) -> None:
        signal.raise_signal(number)
        path.write_bytes(data)

    def answer(self: Session, policy: object) -> None:
        monkeypatch.setattr("agents.atomic.write_whole", write_slowly)
        signal.raise_signal(number)

    monkeypatch.setattr(Session, "answer", answer)
    try:
        status: object = command.main(["play", "--seed", "2", "--to", "it.jsonl", *BOT])
    except SystemExit as ended:
        status = ended.code
    finally:
        signal.signal(number, before)

    assert status == 128 + number
    assert saved(Path("it.jsonl"))[0].actions[0] == "draw"


def test_a_later_signal_ends_a_command_that_hangs(monkeypatch):
    """Fault 2-9, the other side: only signals that follow at once are ignored. Seen to fail without the limit of
    time."""
    monkeypatch.setattr(signals, "PATIENCE", 0.0)
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        with signals.signals_unwind():
            for _ in range(2):
                with pytest.raises(SystemExit):
                    signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with signals.signals_unwind():
            signal.raise_signal(signal.SIGTERM)  # ignored before, as under nohup
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_save_that_a_signal_ends_leaves_no_empty_file(monkeypatch, tmp_path):
    """Fault 2-9: the signal comes while `save` writes. Seen to fail with a clean-up after OSError alone."""

    def interrupted(path: Path, data: bytes) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("agents.atomic.write_whole", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_new([tmp_path / "it.jsonl"], b"data")

    assert not list(tmp_path.iterdir())


def test_an_interruption_while_an_opponent_thinks_saves_the_record(monkeypatch):
    """Seen to fail with a save at the prompt alone."""
    monkeypatch.setattr("sys.stdin", io.StringIO("draw\nkeep\n"))
    monkeypatch.setattr(Session, "answer", lambda self, policy: (_ for _ in ()).throw(KeyboardInterrupt))

    assert command.main(["play", "--seed", "2", "--to", "it.jsonl", *BOT]) == 130

    assert saved(Path("it.jsonl"))[0].actions[0] == "draw"


def test_no_file_is_ever_replaced(pipe):
    """Each game has a new one, and a file that is named must be new; `save` writes one file once and again.

    Seen to fail with names that are counted from 1 whatever is there."""
    for _ in range(2):
        assert pipe("draw\n1\nsave\ndraw\nsave\nsave\nquit\n", "--seed", 2, *BOT).status == 0
    before = Path("runs/play/game-1.jsonl").read_bytes()

    said = pipe("draw\n", "--seed", 3, "--to", "runs/play/game-1.jsonl", *BOT)

    assert said.status == 2
    assert "to must be a new file that can be written" in said.err
    assert Path("runs/play/game-1.jsonl").read_bytes() == before
    assert sorted(path.name for path in Path("runs/play").iterdir()) == ["game-1.jsonl", "game-2.jsonl"]


def test_a_record_that_cannot_be_saved_is_shown(pipe):
    """`save` says so, and the game continues; at its end the record is shown, so nothing is lost. The status is 1.

    Seen to fail with an error that ends the game."""
    Path("runs").write_text("not a folder")

    said = pipe("draw\n1\nsave\ndraw\n1\n", "--seed", 2, *BOT)

    assert said.status == 1
    assert said.out.count("The record can't be saved: ") == 2
    shown = said.out.rpartition("This is the record:\n")[2]
    (game,) = read_games([shown.encode()])
    assert game.ply > 2


def test_a_failed_write_leaves_no_empty_file(pipe, monkeypatch):
    """As on a disk that is full by then. Seen to fail with the empty file that holds the place."""

    def full(path: Path, data: bytes) -> None:
        if data:
            raise OSError("No space left on device")

    monkeypatch.setattr("agents.atomic.write_whole", full)

    said = pipe("draw\n", "--seed", 2, "--to", "it.jsonl", *BOT)

    assert said.status == 1
    assert "No space left on device" in said.out
    assert not Path("it.jsonl").exists()


def test_nothing_played_is_nothing_saved(pipe):
    """Seen to fail with an empty file left behind, and with "has been saved already"."""
    said = pipe("?\nquit\n", *BOT)

    assert "No move was made: there is nothing to save." in said.out
    assert not Path("runs").exists()


def test_a_record_goes_on_where_it_ended(pipe):
    """Fault 22: after as many plies, with its rules and players, from the person's seat; what was done before can be
    taken back; the old file stays.

    Seen to fail with the record's rules replaced by the official ones."""
    pipe("draw\n1\ndraw\n1\n", "--players", 3, "--rules.stacking", "--seed", 2, "--to", "old", *BOT)
    old = Path("old").read_bytes()
    (game,) = saved(Path("old"))

    said = pipe("undo\nundo\n" + "1\nr\n@1\n" * 500, "--record", "old", "--to", "new", *BOT)

    (new,) = saved(Path("new"))
    assert said.status == 0
    assert Path("old").read_bytes() == old
    assert new.is_over
    assert new.rules == Rules(stacking=True)
    kept = [event.before.ply for event in steps(game) if event.seat == 0][-2]
    assert 0 < kept < game.ply
    assert new.actions[:kept] == game.actions[:kept]
    assert new.to_record()["deck"] == game.to_record()["deck"]


# ---- What is refused ----


OVER = record("W4/ WA/ yD g6/r", 3, hand_size=1, actions="W4/!:y@1")
OPEN = record("W4/ WA/ yD g6/r", 3, hand_size=1)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--players 9", "num_players must be from 2 to 8, got 9"),
        ("--players 3 --seat 3", "seat must be a whole number from 0 to 2, got 3"),
        ("--opponent clever", "no such policy: 'clever'"),
        ("--hints clever", "no such policy: 'clever'"),
        ("--players 4 --opponent random flex_any", "opponent must name 1 policy, or 3 for 4 players"),
        ("--seed -1", "a seed must be a whole number from 0"),
        ("--name ABCDEFGHIJKLMNOPQ", "name must take 1 to 16 columns"),
        ("--to nowhere/it", "to must be a new file that can be written, got nowhere/it: No such file"),
        ("--to over", "to must be a new file that can be written, got over: File exists"),
        ("--to link", "to must be a new file that can be written, got link: File exists"),
        (f"--to {'x' * 300}", "File name too long"),
        ("--record none", "No such file"),
        ("--record over", "the round in over is over"),
        ("--record two", "two must hold one round, got 2"),
        ("--record open --players 4", "open has its own players and rules"),
        ("--record open --rules.stacking", "open has its own players and rules"),
        ("--record open --match", "a match can't go on from a record"),
        ("--record broken", "broken: line 1: broken JSON"),
    ],
)
def test_settings_that_make_no_sense_are_refused(pipe, flags: str, message):
    """Before anything is shown, with status 2."""
    write(Path("over"), OVER)
    write(Path("two"), OPEN, OPEN)
    write(Path("open"), OPEN)
    Path("broken").write_text("{")
    Path("link").symlink_to("nothing")

    said = pipe("1\n", *BOT, *flags.split())

    assert (said.status, said.out) == (2, "")
    assert message in " ".join(said.err.split())


def test_a_line_of_other_bytes_is_explained(monkeypatch, capsys):
    """Latin-1 at a terminal of UTF-8. Seen to fail without the error handler of standard input."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"draw\n\xe9\nquit\n"), encoding="utf-8"))

    assert command.main(["play", "--seed", "2", *BOT]) == 0

    assert r"There is no such action: '\\xe9'" in capsys.readouterr().out


class Cheat:
    """Always says UNO."""

    name, history = "cheat", 0

    def act(self, decisions: Decisions) -> Actions:
        return np.full(len(decisions), text_to_action("uno"))


def test_an_illegal_action_of_an_opponent_is_an_error(pipe, monkeypatch):
    """Fault 14: named, with status 2; nothing is played in its place, and the record so far is saved.

    Seen to fail when `ask` does not check."""
    monkeypatch.setattr(play, "make_policy", lambda spec: Cheat())

    said = pipe("draw\nkeep\n", "--seed", 2, "--to", "it.jsonl")

    assert said.status == 2
    assert "policy cheat" in said.err
    assert "uno" in said.err
    assert {game.ply for game in saved(Path("it.jsonl"))} <= {1, 2}
