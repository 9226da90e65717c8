"""Which code the names of policies may run: classes and programs. A file must not choose code to run."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_allowed: ContextVar[frozenset[str] | None] = ContextVar("_allowed", default=None)
"""The names that are allowed; None for any name."""


@contextmanager
def allow_only(names: Iterable[str] | None = None) -> Iterator[None]:
    """Let `make_policy` run only the code with these names, such as "my_bots:HeavyFirst" or "stdio:./my_bot".

    Everything that reads names of policies from files does so in this context. With None it keeps the names that an
    outer context has given; without an outer context there are none.
    """
    allowed = frozenset(_allowed.get() or ()) if names is None else frozenset(names)
    token = _allowed.set(allowed)
    try:
        yield
    finally:
        _allowed.reset(token)


def check_allowed(name: str) -> None:
    """ValueError if the code of this name may not run."""
    allowed = _allowed.get()
    if allowed is not None and name not in allowed:
        kind = "program" if name.startswith("stdio:") else "class"
        raise ValueError(
            f"a file names the {kind} {name!r}, and a file can't choose code to run; if you trust it, add --allow "
            f"{shlex.quote(name)}"
        )
