"""The person's seat at the table, and what it sees."""

from __future__ import annotations

from dataclasses import dataclass

from uno_flex_env._core import State
from uno_flex_env.render import Table
from uno_flex_env.rules import Rules


def visible(state: State, seat: int) -> State:
    """A world that agrees with all that the seat knows. A round that is over is shown with all hands open."""
    return state if state.is_over else state.hide(seat).determinize(0)


@dataclass(frozen=True)
class Chair:
    """The person's seat, and what the drawing functions need to know of the game."""

    seat: int
    names: tuple[str, ...]
    """The names of all players, by seat."""
    rules: Rules
    match: bool = False

    def look(self, state: State) -> Table:
        """What the seat sees, as `uno_flex_env.render` draws it."""
        return Table.from_state(visible(state, self.seat), self.rules, match=self.match, names=self.names)

    def offset(self, seat: int) -> int:
        """How many seats clockwise from the person a seat is. The notation of targets uses this number."""
        return (seat - self.seat) % len(self.names)
