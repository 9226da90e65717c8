"""Which classes the names of policies may import. A file must not choose code to run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_allowed: ContextVar[frozenset[str] | None] = ContextVar("_allowed", default=None)
"""The names of the classes; None for any class."""


@contextmanager
def only_classes(names: Iterable[str] | None = None) -> Iterator[None]:
    """Let `make_policy` import only the classes with these names, such as "my_bots:HeavyFirst".

    Everything that reads names of policies from files does so in this context. With None it keeps the names that an
    outer context has given; without an outer context there are none.
    """
    allowed = frozenset(_allowed.get() or ()) if names is None else frozenset(names)
    token = _allowed.set(allowed)
    try:
        yield
    finally:
        _allowed.reset(token)


def check_class(name: str) -> None:
    """ValueError if the class may not be imported."""
    allowed = _allowed.get()
    if allowed is not None and name not in allowed:
        raise ValueError(
            f"a file names the class {name!r}, and a file can't choose code to run; if you trust it, add --class {name}"
        )
