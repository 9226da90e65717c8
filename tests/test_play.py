"""Playing at the terminal: scripted games through standard input, what is shown and what is not, and the record."""

from __future__ import annotations

import io
import json
import os
import random
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from agents.checkpoint import save_network
from agents.neural import load_policy
from agents.policy import Actions, Decisions, make_policy
from experiments import __main__ as command
from experiments import play, table
from experiments.play import Config, Session
from tests.learning import KINDS, make_network, one_thread
from tests.playing import PHASES, decision
from tests.rules.table import record
from tests.rules.table import table as position
from uno_flex_env import Game, Rules, uno_flex_v0
from uno_flex_env.actions import NUM_ACTIONS, TEXTS, text_to_action
from uno_flex_env.replay import read_games

ROOT = Path(__file__).parent.parent
BOT = ("--opponent", "flex_any", "--hints", "flex_any")


@pytest.fixture(autouse=True)
def _terminal(monkeypatch, tmp_path):
    """80 columns, no paint, a folder of its own."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.chdir(tmp_path)
    with one_thread():
        yield


@dataclass
class Said:
    status: int
    out: str
    err: str


@pytest.fixture
def pipe(monkeypatch, capsys) -> Callable[..., Said]:
    """The command with these lines as its standard input."""

    def run(lines: str, *flags: object) -> Said:
        monkeypatch.setattr("sys.stdin", io.StringIO(lines))
        try:
            status = command.main(["play", *map(str, flags)])
        except SystemExit as refused:  # by a flag
            status = int(str(refused.code))
        said = capsys.readouterr()
        return Said(status, said.out, said.err)

    return run


class Typist(Console):
    """A terminal at which a function answers; the input ends when it has nothing to say."""

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


def sit(config: Config, answer: Callable[[Session], str | None], mute: bool = False) -> tuple[Session, str]:
    """A game in which a function of the session types each line, and all that was shown."""
    console = Typist(lambda: answer(session))
    if mute:  # drawing takes most of the time
        console.print = lambda *_, **__: None  # type: ignore[method-assign]
    session = Session(config, console)
    with suppress(EOFError):
        session.run()
    return session, console.text


def some_action(session: Session) -> str:
    """One that follows from the position alone."""
    legal = [action for action in session.game.legal_actions if action != "draw"] or ["draw"]
    return legal[sum(session.game.state.to_bytes()) % len(legal)]


def config_of(**settings: Any) -> Config:
    defaults: dict[str, Any] = {"opponent": ("flex_any",), "hints": "flex_any", "seed": 5}
    return Config(**defaults | settings)


def saved(path: Path) -> list[Game]:
    with path.open("rb") as lines:
        return list(read_games(lines))


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return path


# ---- Whole games ----


@pytest.mark.parametrize("players", [2, 3, 8])
@pytest.mark.parametrize(
    "switches", [(), ("--rules.stacking", "--rules.uno-call", "explicit")], ids=["official", "house"]
)
def test_a_whole_game_can_be_piped_in(pipe, players, switches):
    """Fault 22: it ends with a result, and with a record that replays; no line is over 80 columns.

    Seen red with a menu that leaves out `keep`."""
    said = pipe("1\nr\n@1\n" * 1500, "--players", players, "--seed", 3, "--to", "it.jsonl", *BOT, *switches)

    (game,) = saved(Path("it.jsonl"))
    assert (said.status, said.err, game.is_over) == (0, "", True)
    assert (game.num_players, game.rules.stacking) == (players, bool(switches))
    assert re.search(rf"wins the round with {game.points} points\.|ends with no winner", said.out)
    assert "The record is in it.jsonl" in said.out
    assert max(map(len, re.split(r"\n|> (?=─)|\? ", said.out))) <= 80


def test_a_match_is_played_to_its_end(pipe):
    """Each round with its number, scores and record.

    Seen red when the first round's end was taken for that of the match."""
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
def test_a_network_from_a_file_plays_and_hints_in_a_new_process(tmp_path):
    """Fault 22: what was trained can be played against, by scripted input, in a process of its own."""
    save_network(tmp_path / "net.safetensors", make_network(KINDS[2]), {})
    spec = str(tmp_path / "net.safetensors")
    to = str(tmp_path / "it.jsonl")
    arguments = ["--opponent", spec, "--hints", spec, "--rules.hand-size", "2", "--seed", "4", "--to", to]

    done = subprocess.run(
        [sys.executable, "-m", "experiments", "play", *arguments],
        input="?\n1\nr\n@1\n" * 500,
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "would play" in done.stdout
    assert saved(tmp_path / "it.jsonl")[0].is_over


# ---- What the person types ----


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("foo", "There is no such action: 'foo'; 'foo' is neither a card nor one of draw, keep"),
        ("r1/b", "You do not hold r1/b."),
        ("b6", "blue 6 fits neither the color red nor the top r5."),
        ("b4/y!", "Your Power is red, so b4/y can't be played by its flex side."),
        ("WT/!:b@1", "Your Power is red, so WT/ can't be played by its flex side."),
        ("challenge", "challenge is for another moment."),
        ("0", "The numbers go from 1 to 3."),
        ("4", "The numbers go from 1 to 3."),
        ("WT/:x", "There is no such action: 'WT/:x'; WT/ calls a color: one of :r :y :g :b."),
        ("rules 99", "There is no rule 99; the sections are 1 to 11."),
        ("undo", "There is nothing of yours to take back in this round."),
    ],
)
def test_wrong_input_is_explained(line, why):
    """Fault 19: nothing is played in its place, and what can be done is said.

    Seen red with the nearest choice taken for a number out of range."""
    session, console = at(position("r5 | 0: r2^ b6 b4/y WT/ | 1: g1 | power -+"))

    assert session.obey(line) is False

    assert why in " ".join(console.text.split())
    assert session.game.ply == 0
    if line not in ("undo", "rules 99"):
        assert "You can choose: 1 r2^  2 WT/  3 draw" in console.text


def at(game: Game, answers: str = "", **settings: Any) -> tuple[Session, Typist]:
    """A session at this position, with what the person answers to questions."""
    lines = iter(answers.split(","))
    console = Typist(lambda: next(lines))
    session = Session(config_of(players=game.num_players, **settings), console)
    session.table = game
    session.chair = replace(session.chair, rules=game.rules)
    return session, console


@pytest.mark.parametrize(
    ("line", "answers", "action"),
    [
        ("WT/!", "b,@2", "WT/!:b@2"),
        ("WT/!", "blue,2", "WT/!:b@2"),
        ("WT/!:b", "1", "WT/!:b@1"),
        ("WT/!", ":b,orange,", None),
        ("WT/!", "orange,b,3,@1", "WT/!:b@1"),
        ("WT/!:b@2", "", "WT/!:b@2"),
        ("WT/", "y", "WT/:y"),
        ("WT/", "", None),
        ("3", "g,2", "WT/!:g@2"),
        ("1", "", "r2^"),
        ("b6", "", None),
        ("draw", "", "draw"),
    ],
)
def test_color_and_target_are_asked_for(line, answers, action):
    """By number or notation, where they are not said; a wrong answer is explained, an empty line goes back.

    Seen red with targets counted from 0."""
    session, console = at(position("r5 | 0: r2^ b6 WT/ | 1: g1 | 2: g2^"), answers)

    assert session.obey(line) is (action is not None)

    assert session.game.actions == ([] if action is None else [action])
    assert ("One of these" in console.text) is ("orange" in answers)


def test_whom_one_aims_at_is_named():
    """As in the notation: so many seats clockwise. Seen red with the names by seat."""
    session, _ = at(position("r5 | 0: g3 | 1: r2^ WT/ | 2: g2^ | turn 1"), seat=1)
    asked: list[str] = []

    def leave(prompt: Any = "", **_: Any) -> str:
        asked.append(prompt)
        return "quit"

    session.console.input = leave  # type: ignore[method-assign]

    with pytest.raises(EOFError):
        session.obey("WT/!:b")

    assert asked == ["Which: @1 flex_any 2, @2 flex_any 0? "]


def test_help_and_rules_can_be_read():
    """Rules by number, whole sections too. Seen red with the first rule that only cites the number."""
    session, console = at(position("r5 | 0: r2^ b6 | 1: g1"))

    for line in ("help", "rules 7.4", "rules 1", "rules 6.13"):
        assert not session.obey(line)

    text = " ".join(console.text.split())
    assert "undo back to your previous decision" in text
    assert "It may be played guilty, as a bluff" in text
    assert "Checksums: 64 numbers" in text
    assert "everyone else draws 2; nobody" in text


# ---- Taking back ----


@pytest.mark.parametrize("players", [2, 3, 8])
def test_what_is_taken_back_leaves_no_trace(players):
    """Fault 11: after detours of one and of two decisions the game is the same as without them, the luck of cards and
    opponents included.

    Seen red with luck that goes on counting."""
    settings = config_of(players=players, rules=Rules(uno_call="explicit", stacking=True))
    straight, _ = sit(settings, some_action, mute=True)
    plan: list[str] = []
    tried: set[int] = set()

    def answer(session: Session) -> str:
        game = session.game
        if not plan and game.ply not in tried and len(tried) < 8 and min(map(len, game.hands)) > 3:
            tried.add(game.ply)
            plan.extend(["other", "other", "undo", "undo"])
        if not plan:
            return some_action(session)
        return "undo" if plan.pop(0) == "undo" else game.legal_actions[-1]

    wandering, _ = sit(settings, answer, mute=True)

    assert len(tried) > 2
    assert straight.game.is_over
    assert wandering.records() == straight.records()


def test_only_ones_own_decisions_are_taken_back():
    """One after the other, down to the first; not beyond the present round.

    Seen red with an undo of a single action."""
    config = config_of(players=4, seat=2)
    lines = iter(["draw", "1", "draw", "undo", "undo", "undo", "undo"])

    session, text = sit(config, lambda session: next(lines, None))

    assert session.game.to_move == 2
    assert session.game.ply == 2
    assert text.count("There is nothing of yours to take back") >= 1


# ---- Hints ----


def test_hints_are_the_probabilities_of_the_policy(tmp_path):
    """Of a network, from what the person sees, the likeliest first.

    Seen red with the observation of the next seat."""
    save_network(tmp_path / "net.safetensors", make_network(KINDS[0], seed=2), {})
    network = load_policy(tmp_path / "net.safetensors", "net")
    game = position("r5 | 0: g1 | 1: r2^ b4/y g5/r WF | 2: g2^ | turn 1")
    session, console = at(game, seat=1, hints=str(tmp_path / "net.safetensors"))
    observation, mask = np.empty((1, 640), np.uint8), np.empty((1, NUM_ACTIONS), np.int8)
    game.state.encode(1, observation[0])
    game.state.write_mask(mask[0])
    probs = network.probabilities(Decisions(observation, mask, np.zeros(1, np.uint64)))[0].numpy()

    assert session.obey("?") is False

    shown = re.findall(r"^(\S+) +(\d+) % +(=*) *$", console.text, flags=re.MULTILINE)
    ranked = [action for action in np.argsort(-probs)[:6] if probs[action] >= 0.005]
    assert [text for text, *_ in shown] == [TEXTS[action] for action in ranked]
    assert [int(percent) for _, percent, _ in shown] == [round(100 * float(probs[action])) for action in ranked]
    assert max(len(bar) for *_, bar in shown) == round(40 * probs.max())


def test_a_policy_without_probabilities_names_its_move():
    """As its only one. Seen red with a probability of 0."""
    session, console = at(position("r5 | 0: r2^ g1 b3^ | 1: g3"), hints="flex_any")

    session.obey("hint")

    assert "flex_any would play" in console.text
    assert re.search(r"(r2\^|draw) +100 % +={40}", console.text)


def test_hints_change_nothing():
    """A game with a hint at every decision is the same as one without.

    Seen red with a key that every answer moves on."""
    asked: set[int] = set()

    def curious(session: Session) -> str:
        if session.game.ply in asked:
            return some_action(session)
        asked.add(session.game.ply)
        return "?"

    plain, _ = sit(config_of(players=3), some_action, mute=True)
    hinted, text = sit(config_of(players=3), curious)

    assert text.count("would play") == len(asked) > 5
    assert hinted.records() == plain.records()


# ---- What is told ----


@pytest.mark.parametrize("phase", [phase for phase in PHASES if phase != "over"])
def test_every_phase_is_explained_and_drawn(phase, num_players):
    """With the choices that there are, within 80 columns.

    Seen red with an actor taken from a phase that has none."""
    for seed in range(4):
        game = decision(phase, num_players, seed)
        session, console = at(game, seat=game.state.mover)

        session.show()

        words = {"play": "draw", "drawn": f"drawn {game.drawn}", "challenge": "Accept: you draw 4", "uno": "say uno"}
        words |= {"catch": "catch it", "stack": f"draw {game.pending_draw} and lose the turn"}
        assert words[phase] in " ".join(console.text.split())
        assert max(map(len, console.text.split("\n"))) <= 80
        assert all(seat in console.text for seat in session.chair.names)


def test_each_legal_action_is_behind_one_number(num_players):
    """And each number has its own text."""
    wilds = position("r5 | 0: r2^ b6/y y7/r WF WT/ WT/ WA/ W4/ | 1: g1", num_players)
    for game in [wilds, *(decision(phase, num_players, 1) for phase in PHASES)]:
        legal = game.legal_actions

        menu = table.options(legal)

        assert sorted(action for option in menu for action in option.actions) == sorted(legal)
        assert len({option.text for option in menu}) == len(menu)
        assert all(action.startswith(option.text) for option in menu for action in option.actions)


def told(game: Game, seat: int) -> list[str]:
    """What is said of each event since the seat's last decision, on one line each."""
    chair = table.Chair(seat, tuple("ABCDEFGH"[: game.num_players]), game.rules)
    console = Typist(lambda: None)
    console.width = 1000
    console.print(table.draw_news(table.since_last_decision(game, seat), chair))
    return [" ".join(line.split()) for line in console.text.splitlines()]


@pytest.mark.parametrize(
    ("start", "actions", "seat", "lines"),
    [
        ("r5 | 0: rD r1 | 1: b1^ | 2: g1 | draw y1/g y2 y8", "rD", 1, ["A plays red Draw Two (rD); you get y1/g y2"]),
        ("r5 | 0: rD r1 | 1: b1^ | 2: g1 | draw y1/g y2 y8", "rD", 2, ["A plays red Draw Two (rD); B gets 2 cards"]),
        (
            "r5 | 0: rD/ r1 | 1: b1^ | 2: g1 | draw y1/g y2 y8",
            "rD/!",
            2,
            [
                "A plays red Draw Two, the flex side of rD/; its Power is now - red; everyone else gets 1 card; "
                "you get y2"
            ],
        ),
        ("r5 | 0: rR r1 | 1: b1^ | 2: g1", "rR", 2, ["A plays red Reverse (rR); now counterclockwise"]),
        ("r5 | 0: WF r1 | 1: b1^ | power +-", "WF:b", 1, ["A plays Wild All Flip (WF), calls blue; all Powers flip"]),
        (
            "r5 | 0: r2^ r1 | 1: b1^ | 2: g1 | power +--",
            "r2^",
            1,
            ["A plays red 2 (r2^); all Powers are + green again"],
        ),
        ("r5 | 0: r2^ r1 | 1: b1^", "r2^", 1, ["A plays red 2 (r2^); its Power is now - red"]),
        ("r5 | 0: r1 | 1: b1^ | draw b8", "draw", 1, ["A draws"]),
        ("r5 | 0: r1 | 1: b1^ | draw b8 b7/g", "draw draw", 0, ["A draws; you get b8", "B draws"]),
        (
            "r5 | 0: W4/ r1 y3/g | 1: b1^ | 2: g1 | draw b8 b7/g b6 b5^",
            "W4/:b challenge",
            1,
            ["B challenges the Draw Four; you see r1 y3/g; A gets 4 cards"],
        ),
        (
            "r5 | 0: W4/ r1 y3/g | 1: b1^ | 2: g1 | draw b8 b7/g b6 b5^",
            "W4/:b challenge",
            2,
            ["A plays Wild Draw Four (W4/), calls blue", "B challenges the Draw Four; A gets 4 cards"],
        ),
        ("r5 | 0: g1 b2 | 1: g3 | only", "draw", 0, ["A draws; there is no card left"]),
    ],
)
def test_what_has_happened_is_told(start, actions, seat, lines):
    """One's own cards by name, those of others by number; Powers, direction, and what a challenge has shown.

    Seen red with the drawn cards of others, and with the shown hand told to the third player."""
    game = position(start)
    for action in actions.split():
        game.play(action)

    assert told(game, seat) == lines


# ---- What stays hidden ----


def look_alike(game: Game, seat: int, rng: random.Random) -> Game | None:
    """Another game that has looked the same from this seat all along, in which all other hands are different; None if
    none was found."""
    other = game
    for _ in range(300):
        record = other.to_record()
        deck = record["deck"]
        i, j = rng.sample(range(len(deck)), 2)
        deck[i], deck[j] = deck[j], deck[i]
        with suppress(ValueError):
            changed = Game.from_record(record)
            pairs = zip(table.steps(game), table.steps(changed), strict=True)
            if all(a.before.hide(seat) == b.before.hide(seat) for a, b in pairs) and (
                game.state.hide(seat) == changed.state.hide(seat)
            ):
                other = changed
    others = [k for k in range(game.num_players) if k != seat]
    return other if all(game.hands[k] != other.hands[k] for k in others) else None


@pytest.mark.parametrize("players", [2, 3, 8])
def test_hidden_cards_leave_no_trace_in_what_is_shown(pipe, players):
    """Faults 3 and 20: games that differ in nothing that the person has seen print the same, hints included.

    Seen red with a card of the next player shown at the table."""
    rng, found = random.Random(players), 0
    flags = ("--players", players, "--seed", 9, "--opponent", "flex_any", "--hints", "search:40")
    for seed in range(40):
        game = Game(players, seed=seed)
        while not game.is_over and (game.ply < 6 + seed or game.to_move):
            game.play(rng.choice(game.legal_actions))
        other = None if game.is_over else look_alike(game, 0, rng)
        if other is None:
            continue
        found += 1
        typed, to = "?\nhelp\nundo\nquit\n", ("--to", f"new{seed}")
        one = pipe(typed, *flags, *to, "--record", write(Path("one"), game.to_record()))
        Path(f"new{seed}").unlink(missing_ok=True)
        two = pipe(typed, *flags, *to, "--record", write(Path("one"), other.to_record()))
        assert one.status == two.status == 0
        assert one.out == two.out
        if found == 3:
            break
    assert found == 3


@pytest.mark.parametrize("phase", [phase for phase in PHASES if phase != "over"])
def test_opponents_are_handed_what_they_see_and_no_more(phase):
    """Faults 3 and 20: in two worlds that look the same to whoever decides, a policy gets the same arrays, draws the
    same worlds from its view, and a search moves alike.

    Seen red with the observation of another seat."""
    search = make_policy("search:64")
    for seed in range(6):
        game = decision(phase, 2 + seed, seed)
        mover = game.state.mover
        session, _ = at(game, seat=(mover + 1) % game.num_players)
        mine = session.seen(search), session.answer(search)
        game = session.table = game.copy()
        game.state = game.state.hide(mover).determinize(7)
        other = session.seen(search), session.answer(search)

        for name in ("observation", "action_mask", "noise", "history"):
            assert np.array_equal(getattr(mine[0], name), getattr(other[0], name))
        worlds = [seen[0].views.determinize([3]).state(0) for seen in (mine, other) if seen[0].views is not None]
        assert len(worlds) == 2
        assert worlds[0] == worlds[1]
        assert mine[1] == other[1]


class Witness:
    """Plays the first legal action and keeps what it was given."""

    name, history = "witness", 5

    def __init__(self) -> None:
        self.seen: list[Decisions] = []

    def act(self, seen: Decisions) -> Actions:
        self.seen.append(seen)
        first: Actions = np.argmax(seen.action_mask, axis=1)
        return first


def test_policies_see_at_the_terminal_what_they_see_elsewhere():
    """Observation, mask and the last events as the environments write them; each decision has a key of its own.

    Seen red with events counted from the person's seat, and with the oldest event first cut off."""
    witness = Witness()
    config = config_of(players=3, seed=8, rules=Rules(uno_call="explicit"))

    def answer(session: Session) -> str:
        session.policies = dict.fromkeys((1, 2), witness)
        return session.game.legal_actions[0]

    session, _ = sit(config, answer, mute=True)
    env = uno_flex_v0.env(num_players=3, rules=config.rules, history=5)
    env.reset(seed=8)
    expected = []
    for seat, action in ((event.seat, event.action) for event in table.steps(session.game)):
        observation = env.last()[0]
        if seat:
            assert observation is not None
            expected.append(observation)
        env.step(action)

    assert len(expected) == len(witness.seen) > 10
    for seen, observed in zip(witness.seen, expected, strict=True):
        for name in ("observation", "action_mask", "history"):
            assert np.array_equal(getattr(seen, name)[0], observed[name])
        assert seen.views is None
    assert len({int(seen.noise[0]) for seen in witness.seen}) == len(witness.seen)


# ---- The record ----


@pytest.mark.parametrize("end", ["", "quit\n"])
def test_leaving_saves_the_record(pipe, end):
    """At the end of the input, too; it says where. Seen red without the save."""
    said = pipe("draw\n1\ndraw\n" + end, "--seed", 2, *BOT)

    (game,) = saved(Path("runs/play/game-1.jsonl"))
    assert said.status == 0
    assert game.ply >= 2
    assert not game.is_over
    assert "The record is in runs/play/game-1.jsonl" in said.out
    assert "To go on: python -m experiments play --record runs/play/game-1.jsonl" in said.out


@pytest.mark.slow
def test_an_interruption_saves_the_record(tmp_path):
    """Ctrl-C while the prompt waits; the status is that of an interruption."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "experiments", "play", "--seed", "2", "--to", str(tmp_path / "it.jsonl"), *BOT],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("draw\nsave\ndraw\n")
    process.stdin.flush()
    for line in process.stdout:
        if "The record is in" in line:
            break

    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)

    assert process.returncode == 130
    assert "is in" in out or "nothing new" in out
    assert saved(tmp_path / "it.jsonl")[0].actions[0] == "draw"


def test_an_interruption_while_an_opponent_thinks_saves_the_record(monkeypatch):
    """Seen red with a save at the prompt alone."""
    monkeypatch.setattr("sys.stdin", io.StringIO("draw\nkeep\n"))
    monkeypatch.setattr(Session, "answer", lambda self, policy: (_ for _ in ()).throw(KeyboardInterrupt))

    assert command.main(["play", "--seed", "2", "--to", "it.jsonl", *BOT]) == 130

    assert saved(Path("it.jsonl"))[0].actions[0] == "draw"


def test_no_file_is_ever_replaced(pipe):
    """Each game has a new one, and a file that is named must be new; `save` writes one file once and again.

    Seen red with names that are counted from 1 whatever is there."""
    for _ in range(2):
        assert pipe("draw\n1\nsave\ndraw\nsave\nsave\nquit\n", "--seed", 2, *BOT).status == 0
    before = Path("runs/play/game-1.jsonl").read_bytes()

    said = pipe("draw\n", "--seed", 3, "--to", "runs/play/game-1.jsonl", *BOT)

    assert said.status == 2
    assert "to must be a new file in a folder that there is" in said.err
    assert Path("runs/play/game-1.jsonl").read_bytes() == before
    assert sorted(path.name for path in Path("runs/play").iterdir()) == ["game-1.jsonl", "game-2.jsonl"]


def test_nothing_played_is_nothing_saved(pipe):
    """Seen red with an empty file left behind."""
    said = pipe("?\nquit\n", *BOT)

    assert "There is nothing new to save." in said.out
    assert not Path("runs").exists()


def test_a_record_goes_on_where_it_ended(pipe):
    """Fault 22: after as many plies, with its rules and players, from the person's seat; what was done before can be
    taken back; the old file stays.

    Seen red with the record's rules replaced by the official ones."""
    pipe("draw\n1\ndraw\n1\n", "--players", 3, "--rules.stacking", "--seed", 2, "--to", "old", *BOT)
    old = Path("old").read_bytes()
    (game,) = saved(Path("old"))

    said = pipe("undo\nundo\n" + "1\nr\n@1\n" * 500, "--record", "old", "--to", "new", *BOT)

    (new,) = saved(Path("new"))
    assert said.status == 0
    assert Path("old").read_bytes() == old
    assert new.is_over
    assert new.rules == Rules(stacking=True)
    kept = [event.before.ply for event in table.steps(game) if event.seat == 0][-2]
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
        ("--to nowhere/it", "to must be a new file in a folder that there is"),
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

    said = pipe("1\n", *BOT, *flags.split())

    assert (said.status, said.out) == (2, "")
    assert message in " ".join(said.err.split())


class Cheat:
    """Always says UNO."""

    name, history = "cheat", 0

    def act(self, seen: Decisions) -> Actions:
        return np.full(len(seen), text_to_action("uno"))


def test_an_illegal_action_of_an_opponent_is_an_error(pipe, monkeypatch):
    """Fault 14: named, with status 2; nothing is played in its place, and the record so far is saved.

    Seen red when `ask` does not check."""
    monkeypatch.setattr(play, "make_policy", lambda spec: Cheat())

    said = pipe("draw\nkeep\n", "--seed", 2, "--to", "it.jsonl")

    assert said.status == 2
    assert "policy cheat" in said.err
    assert "uno" in said.err
    assert {game.ply for game in saved(Path("it.jsonl"))} <= {1, 2}
