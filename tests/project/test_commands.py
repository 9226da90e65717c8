"""The commands: what they print, what they refuse, and their exit statuses."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments.__main__ import main as experiments_main
from experiments.speed import callgrind, callgrind_target, peers
from tests.support.golden_games import canonical, golden
from tests.support.notation import record
from tests.support.paths import GOLDEN, ROOT
from uno_flex_env import Game, Rules, __main__, _core
from uno_flex_env.__main__ import main
from uno_flex_env.bench import batch_speed, measure
from uno_flex_env.progress import Progress
from uno_flex_env.replay import read_games, snapshot_lines


def command(*arguments: object, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "uno_flex_env", *map(str, arguments)],
        input=text,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
    )


def file_of(folder: Path, *lines: str | bytes, end: bytes = b"\n") -> Path:
    """A file of these lines."""
    raw = [line.encode() if isinstance(line, str) else line for line in lines]
    path = folder / "games.jsonl"
    path.write_bytes(b"\n".join(raw) + end)
    return path


def small(**changes: Any) -> dict[str, Any]:
    """The game of the rules page's example, over after one action."""
    return record("W4/ WA/ yD g6/r", 3, hand_size=1, actions="W4/!:y@1") | changes


# ---- replay ----------------------------------------------------------------------------------------------------------


@pytest.mark.sanitize
def test_replay_prints_the_golden_games_snapshot_by_snapshot():
    """Rules 11."""
    done = command("replay", "--snapshots", GOLDEN / "full.jsonl")

    assert (done.returncode, done.stderr) == (0, "")
    expected = [
        {"game": index} | snapshot for index, game in enumerate(golden("full.jsonl")) for snapshot in game["snapshots"]
    ]
    assert [canonical(json.loads(line)) for line in done.stdout.splitlines()] == list(map(canonical, expected))


@pytest.mark.slow
@pytest.mark.sanitize
def test_replay_prints_the_golden_games_of_the_digests():
    """Rules 11: the digest stands for every snapshot."""
    games = golden("digest.jsonl")
    hashes = [hashlib.sha256() for _ in games]
    last: dict[int, dict[str, Any]] = {}
    with (GOLDEN / "digest.jsonl").open("rb") as file:
        for line in snapshot_lines(read_games(file)):
            snapshot = json.loads(line)
            index = snapshot.pop("game")
            hashes[index].update(canonical(snapshot).encode())
            last[index] = snapshot

    assert [each.hexdigest() for each in hashes] == [game["digest"] for game in games]
    assert [last[index] for index in range(len(games))] == [game["final"] for game in games]


NESTED = '{"format": ' + "[" * 100_000
OTHER_DECK = ["WF", *small()["deck"][1:]]

BROKEN = [
    ("illegal", json.dumps(small(actions=["draw", "keep"])), "ply 1: keep is illegal"),
    ("no action", json.dumps(small(actions=["draw", "y9"])), "ply 1: no such action: 'y9'"),
    ("after the end", json.dumps(small(actions=["W4/!:y@1", "draw"])), "ply 1: draw is illegal: the round is over"),
    ("reshuffles", json.dumps(small(reshuffles=[["r1"]])), "ply 1: the game ends with 1 of 1 reshuffles unused"),
    ("deck", json.dumps(small(deck=OTHER_DECK)), "missing ['W4/'], too many ['WF']"),
    ("rules", json.dumps(small(rules={"jump_in": True})), "unknown rule 'jump_in'"),
    ("missing key", json.dumps({key: value for key, value in small().items() if key != "deck"}), "lacks 'deck'"),
    ("unknown key", json.dumps(small(seed=1)), "unknown key 'seed'"),
    ("no object", "[]", "a record is a JSON object, got list"),
    ("trailing text", json.dumps(small()) + " and so on", "text after the record, at column "),
    ("two records", json.dumps(small()) * 2, "text after the record, at column "),
    ("cut off", json.dumps(small())[:-1], "broken JSON"),
    ("no JSON", "W4/!:y@1", "broken JSON"),
    ("key twice", json.dumps(small())[:-1] + ', "dealer": 1}', "the key 'dealer' occurs twice"),
    ("NaN", json.dumps(small(dealer=float("nan"))), "NaN"),
    ("infinity", json.dumps(small(players=float("-inf"))), "-Infinity"),
    ("overflow", json.dumps(small()).replace('"players": 3', '"players": 1e999'), "players must be a whole number"),
    ("huge number", json.dumps(small()).replace('"players": 3', f'"players": {"9" * 5000}'), "thousands of digits"),
    ("large number", json.dumps(small(players=10**20)), "must be from 2 to 8"),
    ("nested", NESTED, "too many brackets"),
    ("not UTF-8", json.dumps(small()).encode().replace(b"yD", b"\xff\xfe"), "not UTF-8: byte 0xff"),
    ("UTF-16", json.dumps(small()).encode("utf-16"), "not UTF-8"),
    ("surrogate", json.dumps(small(format="\ud800")), "format must be 'uno-flex/1'"),
    ("blank", "", "the line is blank, but more records follow"),
]


@pytest.mark.parametrize(("line", "reason"), [case[1:] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_a_broken_record_is_refused_with_its_line_and_reason(tmp_path, capsys, line, reason):
    """Rules 11. The record before it has been printed, of this one nothing, and none after it."""
    path = file_of(tmp_path, json.dumps(small()), line, json.dumps(small()))

    status = main(["replay", "--snapshots", str(path)])

    out, err = capsys.readouterr()
    assert status == 2
    assert re.search(r"games\.jsonl: line 2\b.*" + re.escape(reason), err)
    assert [(json.loads(row)["game"], json.loads(row)["ply"]) for row in out.splitlines()] == [(0, 0), (0, 1)]


def test_a_refusal_exits_with_status_2_and_names_line_ply_and_reason(tmp_path):
    """Rules 11, as a user sees it."""
    path = file_of(tmp_path, json.dumps(small()), json.dumps(small(actions=["W4/!:y@1", "draw"])))

    done = command("replay", "--snapshots", path)

    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == 2
    assert done.stderr == (
        f"python -m uno_flex_env replay: {path}: line 2, ply 1: draw is illegal: the round is over (rules 10.7)\n"
    )


@pytest.mark.parametrize("form", [["--snapshots"], [], ["--seat", "1"]])
def test_every_form_refuses(tmp_path, capsys, form):
    """Whatever is printed."""
    path = file_of(tmp_path, json.dumps(small(actions=["keep"])))

    assert main(["replay", *form, str(path)]) == 2
    assert "line 1, ply 0: keep is illegal" in capsys.readouterr().err


def test_a_refusal_that_quotes_a_whole_file_is_cut(tmp_path, capsys):
    """A message is for people."""
    path = file_of(tmp_path, json.dumps(small(rules=["r1"] * 100_000)))

    assert main(["replay", str(path)]) == 2
    assert "rules must be an object" in (message := capsys.readouterr().err)
    assert len(message) < 2500


@pytest.mark.parametrize(
    ("lines", "end", "games"),
    [([], b"", 0), ([], b"\n\n", 0), ([small()], b"", 1), ([small()] * 2, b"\n\n  \n\r\n", 2), ([small()], b"\r\n", 1)],
)
def test_lines_may_be_blank_at_the_end(tmp_path, capsys, lines, end, games):
    """And a file may be empty."""
    path = file_of(tmp_path, *map(json.dumps, lines), end=end)

    assert main(["replay", "--snapshots", str(path)]) == 0
    assert {json.loads(row)["game"] for row in capsys.readouterr().out.splitlines()} == set(range(games))


def test_replay_reads_standard_input():
    """The file's name is then "-"."""
    text = json.dumps(small()) + "\n"

    assert len(command("replay", "--snapshots", "-", text=text).stdout.splitlines()) == 2
    assert "-: line 2: broken JSON" in command("replay", "-", text=text + "{").stderr


def test_a_reader_that_has_seen_enough_is_no_error():
    """As in `replay FILE | head -1`."""
    arguments = [sys.executable, "-m", "uno_flex_env", "replay", str(GOLDEN / "full.jsonl")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"Game 0")
        process.stdout.close()

        assert process.stderr.read() == b""
        assert process.wait(60) == 141


@pytest.mark.parametrize(("name", "reason"), [("nowhere.jsonl", "No such file"), (".", "directory")])
def test_a_file_that_cannot_be_read_is_refused(capsys, name, reason):
    """With the reason of the system."""
    assert main(["replay", name]) == 2
    assert reason in capsys.readouterr().err


def test_the_table_of_a_game_fits_80_columns(capsys):
    """All golden games: up to eight players, every phase."""
    assert main(["replay", str(GOLDEN / "full.jsonl")]) == 0

    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_the_table_of_a_game_shows_deal_actions_and_end(tmp_path, capsys):
    """The example of the rules page: seat 1 draws r1 r2^ r3 r4^."""
    assert main(["replay", str(file_of(tmp_path, json.dumps(small())))]) == 0

    assert (
        capsys.readouterr().out
        == """\
Game 0: 3 players, player 2 deals, hand_size=1
  0  W4/
  1  WA/
  2  yD

 ply seat action    top  color Power cards    pile decides
   0      deal      g6/r   g > +++    1  1  1  100 0
   1    0 W4/!:y@1  W4/    y > -++    0  5  1   96 over

Player 0 wins the round with 80 points.
  0  no cards
  1  WA/ r1 r2^ r3 r4^
  2  yD
"""
    )


def test_a_record_that_ends_early_says_who_decides(tmp_path, capsys):
    """A record may stop before the round does."""
    assert main(["replay", str(file_of(tmp_path, json.dumps(small(actions=[]))))]) == 0

    assert "player 0 decides, phase play" in capsys.readouterr().out


def test_a_seat_sees_no_other_hand(tmp_path, capsys):
    """Seat 0 of the example never sees what seats 1 and 2 hold."""
    assert main(["replay", "--seat", "0", str(file_of(tmp_path, json.dumps(small())))]) == 0

    out = capsys.readouterr().out
    assert "game 0, ply 0" in out
    assert "game 0, ply 1" in out
    assert "Hand (1): W4/" in out
    assert not {"WA/", "yD"} & set(out.split())
    assert "player_0 plays Wild Draw Four" in out


def test_a_seat_that_a_game_lacks_is_refused(tmp_path, capsys):
    """By its number."""
    assert main(["replay", "--seat", "3", str(file_of(tmp_path, json.dumps(small())))]) == 2
    assert "no seat 3" in capsys.readouterr().err


# ---- perft -----------------------------------------------------------------------------------------------------------


def naive(game: Game, depth: int) -> int:
    """Through the game for people, one action after another."""
    if depth == 0 or game.is_over:
        return 1
    return sum(naive(game.copy().play(action), depth - 1) for action in game.legal_actions)


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_perft_counts_positions(capsys, depth):
    """As a slower way does."""
    switches = {"stacking": True, "hand_size": 3}
    game = Game(3, Rules.from_dict(switches), seed=7, dealer=1)

    arguments = ["--players", "3", "--seed", "7", "--dealer", "1", "--rules", json.dumps(switches)]
    assert main(["perft", str(depth), *arguments]) == 0

    assert int(capsys.readouterr().out) == naive(game, depth)


def test_perft_divides_the_count_by_the_first_action(capsys):
    """The parts add up."""
    game = Game(2, seed=7)

    assert main(["perft", "3", "--seed", "7", "--divide"]) == 0

    *rows, total = capsys.readouterr().out.splitlines()
    parts = {action: int(count) for action, count in map(str.split, rows)}
    assert parts == {action: naive(game.copy().play(action), 2) for action in game.legal_actions}
    assert int(total) == sum(parts.values())


@pytest.mark.parametrize("ply", [0, 2, None])
def test_perft_begins_at_a_ply_of_a_record(tmp_path, capsys, ply):
    """By default at its last action."""
    game = Game(2, seed=7).play("draw")
    game.play(game.legal_actions[0]).play(game.legal_actions[0])
    path = file_of(tmp_path, json.dumps(game.to_record()))

    assert main(["perft", "2", "--record", str(path), *([] if ply is None else ["--ply", str(ply)])]) == 0

    while ply is not None and game.ply > ply:
        game.undo()
    assert int(capsys.readouterr().out) == naive(game, 2)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["-1"], "must be from 0"),
        (["two"], "must be a whole number"),
        (["2", "--players", "9"], "must be from 2 to 8"),
        (["2", "--dealer", "2"], "dealer must be a seat from 0 to 1"),
        (["2", "--seed", str(1 << 64)], "must be from 0"),
        (["2", "--rules", "stacking"], "broken JSON"),
        (["2", "--rules", "[1]"], "must be a JSON object"),
        (["2", "--rules", '{"stacking": 1}'], "stacking must be"),
        (["2", "--rules", '{"jump_in": true}'], "unknown rule"),
        (["2", "--ply", "1"], "goes with --record"),
        (["2", "--record", "EMPTY"], "no record in it"),
        (["2", "--record", "SMALL", "--ply", "2"], "the record has 1 actions"),
    ],
)
def test_perft_refuses_bad_arguments(tmp_path, capsys, arguments, reason):
    """With exit status 2."""
    (tmp_path / "EMPTY").write_text("")
    (tmp_path / "SMALL").write_text(json.dumps(small()))
    arguments = [str(tmp_path / each) if each.isupper() else each for each in arguments]

    assert status_of("perft", *arguments) == 2
    assert reason in capsys.readouterr().err


def status_of(*arguments: str, run: Callable[[list[str]], int] = main) -> int:
    """The exit status of a command in this process."""
    try:
        return run(list(arguments))
    except SystemExit as leaving:
        return int(leaving.code or 0)


# ---- bench -----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_bench_measures_everything_in_json():
    """No speed is asked for; the figures are there, positive, and medians of as many runs as were asked for."""
    done = command("bench", "--quick", "--runs", "2", "--seconds", "0.002", "--games", "16", "--json", "-")

    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["format"] == "uno-flex-bench/1"
    assert {"processor", "cores", "level", "python", "numpy", "system"} == set(report["machine"])
    assert {"before", "after"} == set(report["load"])
    figures = report["figures"]
    players = [f"{name}_{n}" for name in ("batch", "floor_ratio", "python_ratio", "playout") for n in (2, 4, 8)]
    named = ["spread", "batch_threads_ratio", "playout_threads_ratio", "aec", "idle", "idle_wrapped", "aec_ratio"]
    assert {*players, *named, "rules_2", "mask_2", "observation_2", "start_aec", "start_game"} <= set(figures)
    for figure in figures.values():
        assert len(figure["values"]) == 2
        assert 0 < min(figure["values"]) <= figure["median"] <= max(figure["values"])
    assert figures["aec_ratio"]["target"] == ">= 4"
    assert figures["spread"]["median"] >= 1


def test_bench_prints_a_table_and_writes_the_file(tmp_path, capsys, monkeypatch):
    """The figures of one short run, few of them."""
    only_batches(monkeypatch)
    path = tmp_path / "bench.json"

    assert main(["bench", "--quick", "--runs", "1", "--seconds", "0.001", "--games", "8", "--json", str(path)]) == 0

    out, err = capsys.readouterr()
    report = json.loads(path.read_text())
    rows = [line[2:46].rstrip() for line in out.splitlines() if line.startswith("  ") and line[2] != " "]
    assert rows == [figure["label"] for figure in report["figures"].values()]
    assert "Load of the machine" in out
    assert err == ""


def only_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out what starts processes and takes long."""
    for name in ("aec", "start"):
        monkeypatch.setattr(f"uno_flex_env.bench.suite.{name}_contestants", list)
        monkeypatch.setattr(f"uno_flex_env.bench.suite.{name}_figures", lambda values: [])


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--runs", "0"], "must be from 1"),
        (["--games", "none"], "must be a whole number"),
        (["--games", "1.5"], "must be a whole number"),
        (["--seconds", "0"], "must be from 0.001"),
        (["--seconds", "nan"], "must be from 0.001"),
        (["--threads", "0"], "must be from 1"),
        (["--seed", "1"], "unrecognized arguments: --seed"),
        (["--json", "no/where.json"], "No such file"),
        (["--fast"], "unrecognized arguments: --fast"),
    ],
)
def test_bench_refuses_bad_arguments(capsys, monkeypatch, arguments, reason):
    """With exit status 2, and before anything is measured."""

    monkeypatch.setattr("uno_flex_env.bench.suite.bench", never)

    assert status_of("bench", *arguments) == 2
    assert reason in capsys.readouterr().err


def never(*arguments: object, **options: object) -> None:
    """In place of what a refused command must not do."""
    raise AssertionError("it runs anyway")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["0"], "must be from 1"),
        (["lots"], "must be a whole number"),
        (["inf"], "must be a whole number"),
        (["1", "--threads", "0"], "must be from 1"),
        (["1", "--seed", "-1"], "must be from 0"),
        (["1", "--json", "x"], "unrecognized arguments: --json"),
    ],
)
def test_soak_refuses_bad_arguments(capsys, monkeypatch, arguments, reason):
    """With exit status 2, and before anything is played."""
    monkeypatch.setattr("uno_flex_env.soak.soak", never)

    assert status_of("soak", *arguments) == 2
    assert reason in capsys.readouterr().err


def test_the_median_of_runs_counts():
    """Not their mean."""
    assert measure.Figure("a", "b", "c", "d", (1.0, 2.0, 9.0)).median == 2.0


def test_contestants_run_in_turn():
    """So that each ratio is of one run, whatever else the machine does; the work is set so that it takes the time."""
    order: list[tuple[str, int]] = []

    def contestant(name: str) -> measure.Contestant:
        def run(amount: int) -> float:
            order.append((name, amount))
            return 1.0

        return measure.Contestant(name, run, amount=3)

    values = measure.race([contestant("a"), contestant("b")], runs=2, seconds=1, advance=lambda: None)

    assert order == [("a", 3), ("b", 3)] * 2
    assert values == {"a": [1.0, 1.0], "b": [1.0, 1.0]}
    assert measure.ratios({"a": [1.0, 6.0], "b": [2.0, 3.0]}, "a", "b") == (0.5, 2.0)


def test_the_amount_of_work_takes_the_time_asked_for(monkeypatch):
    """A unit takes a millisecond here."""
    clock = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])

    def work(amount: int) -> float:
        clock[0] += 0.001 * amount
        return 1.0

    assert measure.amount_for(work, 0.2) == 200


def test_peers_are_measured_in_one_release_only(monkeypatch, capsys):
    """And the message says what to install."""
    monkeypatch.setattr(peers, "version", lambda name: "1.0.7")
    assert experiments_main(["core_speed"]) == 2
    assert "RLCard 1.2.0, but 1.0.7 is installed" in capsys.readouterr().err

    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(peers, "version", missing)
    assert experiments_main(["core_speed"]) == 2
    assert "pip install rlcard==1.2.0" in capsys.readouterr().err


def test_instructions_need_valgrind(monkeypatch, capsys):
    """And the message says so."""
    monkeypatch.setenv("PATH", "")

    assert experiments_main(["core_speed", "--no-rlcard", "--instructions"]) == 2
    assert "valgrind is not installed" in capsys.readouterr().err


def test_the_core_is_measured_beside_rlcard(monkeypatch, tmp_path, capsys):
    """With a stand-in for RLCard whose round is over after three actions."""
    monkeypatch.setattr(peers, "version", lambda name: peers.RELEASE)
    monkeypatch.setitem(sys.modules, "rlcard", SimpleNamespace(make=lambda name, config: ThreeSteps()))
    path = tmp_path / "speed.json"

    assert experiments_main(["core_speed", "--runs", "2", "--seconds", "0.001", "--json", str(path)]) == 0

    figures = json.loads(path.read_text())["figures"]
    assert list(figures) == ["rlcard", "batch_2", "aec", "batch_to_rlcard", "aec_to_rlcard"]
    assert all(len(figure["values"]) == 2 and min(figure["values"]) > 0 for figure in figures.values())
    assert "batch / RLCard" in capsys.readouterr().out


class ThreeSteps:
    """What the comparison uses of RLCard's environment."""

    def reset(self) -> tuple[dict[str, Any], int]:
        self.left = 3
        return {"legal_actions": {0: None}}, 0

    def step(self, action: int) -> tuple[dict[str, Any], int]:
        assert action == 0
        self.left -= 1
        return {"legal_actions": {0: None}}, 0

    def is_over(self) -> bool:
        return self.left == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--no-rlcard"], "nothing to measure"),
        (["--runs", "0"], "runs must be at least 1"),
        (["--seconds", "nan"], "seconds must be from 0.001"),
    ],
)
def test_a_comparison_of_nothing_is_refused(capsys, arguments, reason):
    """With exit status 2."""
    assert status_of("core_speed", *arguments, run=experiments_main) == 2
    assert reason in capsys.readouterr().err


def test_instructions_leave_out_what_happens_once(monkeypatch):
    """Two runs of different length are subtracted: a rule costs 400 here, the mask 80, the observation 450."""
    cost = {batch_speed.RULES_ONLY: 400, batch_speed.MASK: 480, batch_speed.OBSERVATION: 850, batch_speed.ALL: 930}
    monkeypatch.setattr(
        callgrind, "_total", lambda players, parts, steps: 10**7 + callgrind.GAMES * steps * cost[parts]
    )

    figures = {each.name: each.median for each in callgrind.instruction_figures(lambda: None)}

    expected = {"rules": 400, "mask": 80, "observation": 450, "all": 930}
    assert {name: figures[f"instructions_{name}_4"] for name in expected} == expected


def test_what_callgrind_runs_needs_nothing_but_the_core():
    """A start that brings numpy would take callgrind a minute."""
    command = [
        sys.executable,
        "-I",
        "-S",
        callgrind_target.__file__,
        str(_core.__file__),
        "4",
        "2",
        str(batch_speed.ALL),
        "20",
    ]

    done = subprocess.run(command, capture_output=True, text=True, timeout=60)

    assert (done.returncode, done.stderr) == (0, "")


def test_progress_is_a_line_now_and_then(monkeypatch):
    """Without a terminal."""
    clock = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    stream = io.StringIO()

    with Progress(1000, "runs", stream) as steps:
        for clock[0] in (1.0, 20.0, 21.0, 40.0):
            steps.advance(100)

    assert stream.getvalue() == "200 of 1,000 runs, about 80 s left\n400 of 1,000 runs, about 60 s left\n"


# ---- Help ------------------------------------------------------------------------------------------------------------


COMMANDS = {name: getattr(__main__, name.upper()) for name in ("replay", "perft", "bench", "soak")}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_teaches_by_examples_that_work(capsys, name):
    """Each example is a command line that the command takes."""
    assert status_of(name, "--help") == 0
    assert COMMANDS[name] in capsys.readouterr().out

    examples = re.findall(r"python -m uno_flex_env (.*?)(?: {2,}.*)?$", COMMANDS[name], re.MULTILINE)
    assert len(examples) >= 4
    for example in examples:
        options = __main__._parser().parse_args(shlex.split(example))
        assert options.name == name


def test_help_fits_80_columns():
    """The texts; argparse wraps the rest itself."""
    assert max(len(line) for text in COMMANDS.values() for line in text.splitlines()) <= 80


def test_without_a_command_the_commands_are_listed():
    """And the status says that nothing was done."""
    done = command()

    assert done.returncode == 2
    assert all(name in done.stderr for name in COMMANDS)


def test_an_unknown_command_is_refused(capsys):
    """By its name."""
    assert status_of("deal") == 2
    assert "'deal'" in capsys.readouterr().err


def test_ctrl_c_ends_a_command_silently(monkeypatch, capsys):
    """With the status that shells give to a program that it ends."""

    def interrupted(lines: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(__main__, "_print_all", interrupted)

    assert main(["perft", "1"]) == 130
    assert capsys.readouterr() == ("", "")
