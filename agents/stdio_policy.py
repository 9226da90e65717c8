"""A program in any language as a policy. It reads a decision as a line of JSON and writes an action as a line of JSON.

docs/programs.md explains both lines, with examples.
"""

from __future__ import annotations

import json
import os
import selectors
import shutil
import signal
import subprocess
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.policy import Actions
from uno_flex_env.actions import NUM_ACTIONS, TEXTS
from uno_flex_env.errors import IllegalActionError
from uno_flex_env.policy_input import Decisions
from uno_flex_env.seeding import uniforms
from uno_flex_env.view_text import view_to_json

START_LIMIT = 60.0
"""Seconds that a program may take for its first answer on top of its limit, since it has to start."""

GRACE = 1.0
"""Seconds that a program has to end after the end of its input. Then it is killed."""

LONGEST_ANSWER = 1 << 16
"""Bytes of the longest line that a program may write."""


class StdioPolicy:
    """Asks a program for each action. The program starts with the first decision, and once in each worker process.

    Args:
        name: see `Policy.name`.
        command: the words of its command line; no shell reads them.
        limit: seconds for each decision.
        events: how many of the last events it reads.

    Raises:
        ValueError: there is no such program.
    """

    looks_ahead = True

    def __init__(self, name: str, command: Sequence[str], limit: float, events: int = 0) -> None:
        if os.name != "posix":
            raise ValueError(f"{name!r}: programs can play on Linux and macOS only")
        if shutil.which(command[0]) is None:
            raise ValueError(f"no such policy: {name!r}: there is no program {command[0]!r}")
        self.name, self.history = name, events
        self._command, self._limit = tuple(command), limit
        self._program: _Program | None = None

    def act(self, decisions: Decisions) -> Actions:
        """As `Policy.act`.

        Raises:
            IllegalActionError: the program's action is not legal.
            ValueError: the program can't be started, has ended, took too long, or wrote something else than one line of
                JSON with an action. It is started anew for the next decision.
        """
        if decisions.views is None:
            raise ValueError(f"{self.name} needs Decisions.views")
        actions, random = np.empty(len(decisions), np.int64), uniforms(decisions.noise)
        for row, mask in enumerate(decisions.action_mask):
            history = None if decisions.history is None else decisions.history[row]
            view = view_to_json(decisions.views.view(row), mask=mask, history=history)
            answer = self._ask(json.dumps(view | {"random": float(random[row])}), mask)
            actions[row] = self._checked(answer, mask)
        return actions

    def close(self) -> None:
        """End the program, if it runs. It also ends when this object is deleted and when Python exits."""
        program, self._program = self._program, None
        if program is not None:
            program.end()

    def _ask(self, question: str, mask: npt.NDArray[np.int8]) -> bytes:
        """The line that the program answers."""
        limit = self._limit
        if self._program is None or self._program.owner != os.getpid():  # after a fork the program is the parent's
            limit += START_LIMIT
            try:
                self._program = _Program(self._command)
            except OSError as error:
                raise ValueError(f"{self.name} can't be started: {error}") from None
        try:
            return self._program.ask(question.encode() + b"\n", limit)
        except _ProgramError as fault:
            self.close()
            raise ValueError(f"{self.name} {fault}; {_allowed(mask)}") from None
        except BaseException:  # such as Ctrl-C: a late answer must not be taken for the next one
            self.close()
            raise

    def _checked(self, answer: bytes, mask: npt.NDArray[np.int8]) -> int:
        """The number of the action in an answer."""
        try:
            action = json.loads(answer)
        except (ValueError, RecursionError):
            action = None
        number = TEXTS.index(action) if isinstance(action, str) and action in TEXTS else action
        if type(number) is not int or not 0 <= number < NUM_ACTIONS:
            self.close()
            raise ValueError(f"{self.name} wrote {_shown(answer)}, which is no action; {_allowed(mask)}")
        if not mask[number]:
            self.close()
            raise IllegalActionError(f"{self.name} wrote {_shown(answer)}, which is illegal now; {_allowed(mask)}")
        return number

    def __reduce__(self) -> Any:
        """A copy in another process is made once there: matches send policies with each part of their work."""
        return _made, (self.name, self._command, self._limit, self.history)


@cache
def _made(name: str, command: tuple[str, ...], limit: float, events: int) -> StdioPolicy:
    return StdioPolicy(name, command, limit, events)


def _allowed(mask: npt.NDArray[np.int8]) -> str:
    """The end of a message: what the program may write."""
    legal = ", ".join(f'"{TEXTS[number]}" or {number}' for number in np.flatnonzero(mask))
    return f"allowed is one line of JSON with an action: {legal}"


def _shown(data: bytes) -> str:
    text = repr(data.decode(errors="backslashreplace").rstrip("\n"))
    return text if len(text) <= 200 else f"{text[:200]}..."


class _ProgramError(Exception):
    """What a program has done wrong, as the end of a sentence about it."""


class _Program:
    """A running program, the leader of a process group of its own, so that it ends with all that it has started."""

    def __init__(self, command: Sequence[str]) -> None:
        self.owner = os.getpid()
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
        )
        self._finalizer = weakref.finalize(self, _finish, self._process, self.owner)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)

    def end(self) -> None:
        """End the program, if that has not been done."""
        self._finalizer()

    def ask(self, question: bytes, limit: float) -> bytes:
        """Write a line and read the answer, without its end of line.

        Raises:
            _ProgramError: the program has ended, takes longer than `limit` seconds, or writes more than one line.
        """
        until, left, answer = time.monotonic() + limit, question, b""
        if early := self._read():
            raise _ProgramError(f"wrote {_shown(early)} before it was asked")
        with selectors.DefaultSelector() as selector:
            selector.register(self._in, selectors.EVENT_WRITE)
            selector.register(self._out, selectors.EVENT_READ)
            while left or b"\n" not in answer:
                if (seconds := until - time.monotonic()) <= 0:
                    raise _ProgramError(f"gave no answer in {limit:g} s, it wrote {_shown(answer)}")
                ready = [key.fd for key, _ in selector.select(seconds)]
                if self._out in ready:
                    if not (some := self._read()):
                        raise _ProgramError(f"{self._ending()}, it wrote {_shown(answer)}")
                    answer += some
                if self._in in ready and not (left := left[self._write(left) :]):
                    selector.unregister(self._in)
                if len(answer) > LONGEST_ANSWER:
                    raise _ProgramError(f"wrote more than {LONGEST_ANSWER} bytes: {_shown(answer)}")
        line, _, more = answer.partition(b"\n")
        if more:
            raise _ProgramError(f"wrote more than one line: {_shown(answer)}")
        return line

    def _write(self, data: bytes) -> int:
        """How many bytes the program's input has taken."""
        try:
            return os.write(self._in, data)
        except BlockingIOError:
            return 0
        except BrokenPipeError:
            raise _ProgramError(self._ending()) from None

    def _read(self) -> bytes:
        """What the program has written since the last call; b"" for nothing, and at the end of its output."""
        try:
            return os.read(self._out, LONGEST_ANSWER)
        except BlockingIOError:
            return b""

    def _ending(self) -> str:
        """How the program has ended or is ending."""
        try:
            status = self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return "closed its input or output"
        return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"


def _finish(process: subprocess.Popen[bytes], owner: int) -> None:
    """Close the pipes of a program, give it time to end, kill what is left of its group, and wait for it."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.stdout.close()
    if owner != os.getpid():
        return
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    with suppress(ProcessLookupError, PermissionError):  # on macOS a group of dead processes can't be signaled
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
