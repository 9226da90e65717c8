"""The events of a round, as one seat knows them."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.terminal.chair import visible
from uno_flex_env._core import State
from uno_flex_env.actions import ACTIONS, text_to_action
from uno_flex_env.game import Game


@dataclass(frozen=True)
class Event:
    """One action, with the states before and after it."""

    seat: int
    action: int
    before: State
    after: State

    @property
    def drawn(self) -> int:
        """How many cards all players have drawn."""
        return sum(self.after.sizes) - sum(self.before.sizes) + (ACTIONS[self.action].face is not None)


def steps(game: Game) -> list[Event]:
    """All events of a round, with the true states."""
    back, found = game.copy(), list[Event]()
    for action in reversed(game.actions):
        after = back.state
        before = back.undo().state
        found.append(Event(before.current_player, text_to_action(action), before, after))
    return found[::-1]


def since_last_decision(game: Game, seat: int) -> list[Event]:
    """The events since the seat's last decision, with that decision, in worlds that the seat may see."""
    found = list[Event]()
    for event in reversed(steps(game)):
        seen = visible(event.before, seat), visible(event.after, seat)
        found.append(Event(event.seat, event.action, *seen))
        if event.seat == seat:
            break
    return found[::-1]
