"""Programs as policies: what they are asked and may answer, and how they start, fail and end."""

from __future__ import annotations

import json
import os
import pickle
import re
import selectors
import shlex
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from agents import stdio_policy
from agents.match.runner import play_match
from agents.policy import ask
from agents.policy_factory import make_policy
from agents.policy_spec import PolicySpec
from experiments.terminal.coach import decisions_at
from experiments.terminal.events import steps
from tests.support.paths import ROOT
from uno_flex_env import Game, IllegalActionError, VecEnv
from uno_flex_env.actions import TEXTS
from uno_flex_env.policy_input import Decisions
from uno_flex_env.positions import Positions
from uno_flex_env.seeding import uniforms
from uno_flex_env.view_text import view_to_json

FIRST = f"stdio:{shlex.quote(str(ROOT / 'docs' / 'stdio_bot.sh'))}"
HEAVY = f"stdio:{shlex.join([sys.executable, '-S', str(ROOT / 'docs' / 'stdio_bot.py')])}"


class FirstAction:
    """What docs/stdio_bot.sh plays."""

    name, history = "first", 0

    def act(self, decisions):
        return decisions.action_mask.argmax(axis=1)


def shell(script: str, limit: str = "") -> str:
    return f"stdio:{limit}{shlex.join(['sh', '-c', script])}"


def decisions(games: int = 3, history: int = 0) -> Decisions:
    """The first decisions of some games, the same each time. Drawing is legal in all."""
    env = VecEnv(games, 2, seed=5, history=max(history, 1))
    env.reset()
    for _ in range(history):
        env.step(env.sample())
    views = Positions([env.state(game) for game in range(games)]).hide()
    return Decisions(env.observations, env.action_masks, np.arange(games, dtype=np.uint64), env.histories, views)


def answer(name: str, asked: Decisions | None = None) -> list[int]:
    """A policy's actions; the program has ended afterwards."""
    policy, asked = make_policy(name), decisions() if asked is None else asked
    try:
        actions: list[int] = ask(policy, asked, np.arange(len(asked))).tolist()
        return actions
    finally:
        policy.close()  # type: ignore[attr-defined]


def gone(pid: int, *, orphan: bool = False) -> bool:
    """Whether a process has ended, within some seconds, and is no zombie. The system may leave an orphan one."""
    stat = Path(f"/proc/{pid}/stat")
    for _ in range(500):
        try:
            os.kill(pid, 0)
            if orphan and stat.exists() and ") Z " in stat.read_text():
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


# ---- Names ----


@pytest.mark.parametrize(
    ("name", "limit", "events", "command"),
    [
        ("stdio:./bot", 10.0, 0, ("./bot",)),
        ("stdio:2s,./bot --depth=3,4", 2.0, 0, ("./bot", "--depth=3,4")),
        ("stdio:500ms,8events,sh -c 'a b'", 0.5, 8, ("sh", "-c", "a b")),
        ("stdio:8events,./bot", 10.0, 8, ("./bot",)),
        ("stdio:./bot:greedy", 10.0, 0, ("./bot:greedy",)),
        ("search:10,stdio:2s,./bot x", 2.0, 0, ("./bot", "x")),
    ],
)
def test_a_name_holds_limit_events_and_command(name, limit, events, command):
    """Seen to fail with the command split at each comma."""
    spec = PolicySpec.parse(name)
    spec = spec.prior or spec

    assert (spec.kind, spec.limit, spec.events, spec.command) == ("stdio", limit, events, command)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("stdio:", "no such policy"),
        ("stdio:2s,", "needs a command"),
        ("stdio:0ms,sh", "from 1ms to 3600s, got 0ms"),
        ("stdio:3601s,sh", "from 1ms to 3600s, got 3601s"),
        ("stdio:1025events,sh", "at most"),
        ("stdio:sh 'x", "can't be split"),
        ("stdio:no_such_program 1", "there is no program 'no_such_program'"),
    ],
)
def test_bad_names_are_refused(name, message):
    """Before any program starts. Seen to fail without the check for the program."""
    with pytest.raises(ValueError, match=message):
        make_policy(name)


# ---- Questions and answers ----


def test_a_program_reads_the_view_and_may_answer_with_a_number_or_a_notation(tmp_path):
    """Seen to fail with the events left out, and with the random number of another row."""
    seen = decisions(games=3, history=8)
    log = tmp_path / "log"
    script = f'while read -r line; do echo "$line" >>{log}; echo \'"draw"\'; done'

    assert answer(shell(script, "5events,"), seen) == [TEXTS.index("draw")] * 3

    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for row, line in enumerate(lines):
        assert line.pop("random") == uniforms(seen.noise)[row]
        assert len(line["history"]) == 5
        assert seen.views is not None
        assert seen.history is not None
        expected = view_to_json(seen.views.view(row), mask=seen.action_mask[row], history=seen.history[row, -5:])
        assert line == expected
    assert answer(shell("while read -r line; do echo 208; done")) == [208] * 3


def test_a_program_reads_the_mask_of_the_decision():
    """A mask may leave out legal actions. Seen to fail with the legal actions of the view."""
    seen = decisions()
    narrow = np.zeros_like(seen.action_mask)
    narrow[:, 208] = 1

    assert answer(FIRST, Decisions(seen.observation, narrow, seen.noise, views=seen.views)) == [208] * 3


def test_programs_play_matches():
    """docs/stdio_bot.sh wins the very games that the same policy in Python wins. Seen to fail with the answers of two
    rows exchanged."""
    program = play_match([FIRST, "flex_any"], games=40, seed=3, num_envs=16)
    python = play_match([FirstAction(), "flex_any"], games=40, seed=3, num_envs=16)

    assert (program.winners == python.winners).all()
    assert (program.decisions == python.decisions).all()


def test_the_program_of_the_documentation_is_better_than_chance():
    result = play_match([HEAVY, "random"], games=60, seed=1)

    assert result.rate(HEAVY).low > 0.7


@pytest.mark.slow
def test_the_example_for_language_models_plays(tmp_path):
    """With a model that names the first legal action of the text. Seen to fail with the text of another view."""
    page = (ROOT / "docs" / "programs.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(import json\n.*?)```", page, flags=re.DOTALL)
    bot = tmp_path / "bot.py"
    bot.write_text("def answer(prompt): return prompt.split('number:\\n- ')[1].split()[0]\n" + code)

    asked = decisions(history=4)
    assert (
        answer(f"stdio:4events,{shlex.join([sys.executable, str(bot)])}", asked)
        == asked.action_mask.argmax(axis=1).tolist()
    )


@pytest.mark.slow
def test_each_worker_process_starts_the_program_once(tmp_path):
    """Matches send policies with each part of their work. Seen to fail when each copy has a program of its own."""
    log = tmp_path / "log"
    name = shell(f"echo start >>{log}; exec {ROOT / 'docs' / 'stdio_bot.sh'}")

    alone = play_match([FIRST, "random"], games=40, seed=3)
    shared = play_match([name, "random"], games=40, seed=3, workers=2)

    assert (shared.winners == alone.winners).all()
    assert 1 <= len(log.read_text().splitlines()) <= 2


def test_the_environments_take_programs_as_opponents():
    """Seen to fail without `looks_ahead`, which gives the views."""
    program, python = make_policy(FIRST), FirstAction()
    seen = []
    for opponent in (program, python):
        env = gymnasium.make("UnoFlex-v0", num_players=3, opponents=opponent)
        observation, _ = env.reset(seed=1)
        for _ in range(5):
            observation, *_ = env.step(int(observation["action_mask"].argmax()))
        seen.append(observation["observation"])
    program.close()  # type: ignore[attr-defined]

    assert (seen[0] == seen[1]).all()


# ---- Faults ----


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 3", "ended with status 3"),
        ("read -r l; printf 12; exit 0", "ended with status 0, it wrote '12'"),
        ("read -r l; kill -9 $$", "was killed by signal 9"),
        ("read -r l; exec >&-; sleep 9", "closed its input or output"),
        ("exec sleep 9", "gave no answer in 0.2 s, it wrote ''"),
        ("read -r l; while :; do printf x; sleep 0.01; done", r"gave no answer in 0.2 s, it wrote 'x+'"),
        ("while :; do echo 208; done", "wrote '.*'? before it was asked|more than"),
        ("read -r l; printf '208\\n208\\n'", r"wrote more than one line: '208\\n208'"),
        (
            "echo ready; while read -r l; do echo 208; done",
            "wrote ('ready'(, which| before it)|more than one line: 'ready)",
        ),
        ("read -r l; echo hello", "wrote 'hello', which is no action"),
        ("read -r l; echo", "wrote '', which is no action"),
        ("read -r l; echo '\"r99\"'", "which is no action"),
        ("read -r l; echo 216", "wrote '216', which is no action"),
        ("read -r l; echo -1", "wrote '-1', which is no action"),
        ("read -r l; echo true", "wrote 'true', which is no action"),
        ("read -r l; echo 208.0", "wrote '208.0', which is no action"),
        ("read -r l; echo [208]", "which is no action"),
        ("read -r l; printf '\\377\\n'", "which is no action"),
        ("read -r l; tr '\\0' x </dev/zero", "wrote more than 65536 bytes: 'xxx"),
    ],
)
def test_death_silence_and_nonsense_are_errors_that_name_the_program(monkeypatch, script, message):
    """They say what it wrote and what is allowed. Seen to fail, one by one, without the check for each."""
    monkeypatch.setattr(stdio_policy, "START_LIMIT", 0.0)
    monkeypatch.setattr(stdio_policy, "GRACE", 0.3)
    limit = "200ms," if "gave no answer" in message else ""

    with pytest.raises(ValueError, match=message) as caught:
        answer(shell(script, limit))

    assert str(caught.value).startswith(shell(script, limit))
    assert "; allowed is one line of JSON with an action: " in str(caught.value)
    assert '"draw" or 208' in str(caught.value)


def test_an_illegal_action_is_refused_by_name():
    """Seen to fail when the mask is not checked: then the match refuses it, without what the program wrote."""
    name = shell("read -r l; echo '\"keep\"'")

    with pytest.raises(IllegalActionError, match=r"wrote '\"keep\"', which is illegal now; allowed .*\"draw\" or 208"):
        answer(name)


def test_the_first_answer_has_more_time(monkeypatch):
    """Seen to fail with the time for the start left out."""
    monkeypatch.setattr(stdio_policy, "START_LIMIT", 30.0)

    slow = shell("sleep 0.9; while read -r l; do echo 208; done", "500ms,")

    assert answer(slow) == [208] * 3


def test_after_an_error_a_new_program_answers():
    """Seen to fail when the old program's late answers are read."""
    policy = make_policy(shell("read -r l; echo 208; read -r l; echo nonsense"))
    one = decisions(1)

    for _ in range(2):
        assert policy.act(one).tolist() == [208]
        with pytest.raises(ValueError, match="nonsense"):
            policy.act(one)


def test_standard_error_of_a_program_passes_through(capfd):
    answer(shell("echo thinking >&2; while read -r l; do echo 208; done"))

    assert capfd.readouterr().err == "thinking\n"


# ---- Beginning and end ----


def counted(folder: Path, rest: str = "while read -r l; do echo 208; done") -> str:
    """A program that writes its process id when it starts."""
    return shell(f"echo $$ >>{folder / 'pids'}; {rest}")


def pids(folder: Path) -> list[int]:
    file = folder / "pids"
    return [int(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_a_program_starts_with_the_first_decision_and_ends_with_its_policy(tmp_path):
    """By `close`, and when the policy is deleted; no zombie stays. Seen to fail with the program started at once, and
    without the wait after it was killed."""
    policy = make_policy(counted(tmp_path))
    assert pids(tmp_path) == []

    policy.act(decisions())
    policy.act(decisions())
    (pid,) = pids(tmp_path)
    policy.close()  # type: ignore[attr-defined]
    assert gone(pid)

    policy.act(decisions())
    again = pids(tmp_path)[-1]
    del policy
    assert gone(again)


def test_a_program_has_time_to_end(tmp_path):
    """It may still write a file after its last line. Seen to fail when it is killed at once."""
    policy = make_policy(shell(f"while read -r l; do echo 208; done; sleep 0.1; touch {tmp_path / 'ended'}"))

    policy.act(decisions())
    policy.close()  # type: ignore[attr-defined]

    assert (tmp_path / "ended").exists()


@pytest.mark.parametrize("rest", ["read -r l; echo 208; exec sleep 99", "sleep 99 & echo $! >>{}; read -r l; echo 208"])
def test_a_program_that_does_not_end_is_killed_with_all_that_it_has_started(tmp_path, monkeypatch, rest):
    """Seen to fail with the program alone killed, and with the end of its input alone."""
    monkeypatch.setattr(stdio_policy, "GRACE", 0.2)
    policy = make_policy(counted(tmp_path, rest.format(tmp_path / "pids")))

    policy.act(decisions(1))
    policy.close()  # type: ignore[attr-defined]

    pid, *children = pids(tmp_path)
    assert gone(pid)
    assert all(gone(child, orphan=True) for child in children)


@pytest.mark.slow
def test_a_program_ends_with_python(tmp_path):
    """Also when the policy is still in use. Seen to fail without the finalizer, for a program that reads no end."""
    code = f"""
from agents.policy_factory import make_policy
from tests.agents.test_stdio_policy import decisions
policy = make_policy({counted(tmp_path, "read -r l; echo 208; exec sleep 99")!r})
policy.act(decisions(1))
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, timeout=60)

    (pid,) = pids(tmp_path)
    assert gone(pid)


def test_copies_from_another_process_share_one_program(tmp_path):
    """Seen to fail when each copy has a program of its own."""
    data = pickle.dumps(make_policy(counted(tmp_path)))

    copies = [pickle.loads(data) for _ in range(3)]
    for copy in copies:
        copy.act(decisions(1))
    copies[0].close()

    assert len(pids(tmp_path)) == 1


def test_ctrl_c_ends_the_program(tmp_path, monkeypatch):
    """A late answer must not be taken for the next one. Seen to fail when only faults of the program end it."""
    policy = make_policy(counted(tmp_path))
    policy.act(decisions(1))

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(selectors.DefaultSelector, "select", interrupted)
        with pytest.raises(KeyboardInterrupt):
            policy.act(decisions(1))

    assert gone(pids(tmp_path)[0])
    assert policy.act(decisions(1)).tolist() == [208]
    policy.close()  # type: ignore[attr-defined]


def test_views_are_needed():
    with pytest.raises(ValueError, match=r"needs Decisions\.views"):
        make_policy(FIRST).act(replace(decisions(), views=None))


def test_a_game_at_the_terminal_takes_programs():
    """`decisions_at` gives views and events. Seen to fail without `looks_ahead`."""
    game, policy = Game(seed=1).play("draw"), make_policy(FIRST)
    asked = decisions_at(game.state, steps(game), policy, 1, 0)

    assert TEXTS[int(policy.act(asked)[0])] in game.legal_actions
    policy.close()  # type: ignore[attr-defined]
