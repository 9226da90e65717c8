"""The exceptions for bad input. All are ValueErrors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: a suggestion of the most similar known word, or ""."""
    near = get_close_matches(word, list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else ""


@contextmanager
def needs_extra(what: str, extra: str) -> Iterator[None]:
    """Import optional packages inside. If one is missing, the message says which extra of this package brings it. The
    innermost use of this function says what needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        said = isinstance(error.__cause__, ModuleNotFoundError)
        if said or package in ("", "agents", "experiments", "uno_flex_env"):
            raise
        message = f"{what} needs the package {package}: pip install 'uno-flex-env[{extra}]'"
        raise ModuleNotFoundError(message, name=error.name, path=error.path) from error


class NotationError(ValueError):
    """A text or number that does not name a card or an action."""


class IllegalActionError(ValueError):
    """An action that exists but is not legal now."""


LONGEST_REASON = 1500
"""In characters: room for two lists of all cards of a deck."""


class RecordError(ValueError):
    """A game record that is malformed, holds an illegal action or goes on after the end of the round.

    `ply` is the number of actions taken before the fault (None if the fault is not in the actions), `line` the line of
    the file (from 1; None outside a file). A very long reason is cut.
    """

    def __init__(self, reason: str, ply: int | None = None, line: int | None = None) -> None:
        if len(reason) > LONGEST_REASON:
            reason = f"{reason[:LONGEST_REASON]}..."
        self.reason, self.ply, self.line = reason, ply, line
        super().__init__(reason, ply, line)

    def __str__(self) -> str:
        place = [f"line {self.line}"] if self.line is not None else []
        place += [f"ply {self.ply}"] if self.ply is not None else []
        return f"{', '.join(place)}: {self.reason}" if place else self.reason
