"""The table that the renderers draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from uno_flex_env._core import State
from uno_flex_env.cards import COLORS
from uno_flex_env.game import snapshot
from uno_flex_env.rules import Rules


@dataclass(frozen=True)
class Table:
    """A position with the names and scores of the players. It holds all hands; the renderers draw only visible ones.

    Cards are in notation, and actions are numbers. Sequences with one item per player are ordered by seat.
    """

    phase: str
    current_player: int | None
    """The seat to act; None at the end."""
    direction: int
    """1 for clockwise, -1 for counterclockwise."""
    top: str
    color: str
    """The letter of the active color."""
    hands: Sequence[Sequence[str]]
    power: Sequence[bool]
    """True for green."""
    draw_pile: int
    discard_pile: int
    drawn: str | None
    """The card just drawn, in phase drawn."""
    pending_draw: int
    """The cards owed, in phase stack."""
    winner: int | None
    points: int
    legal: Sequence[int]
    dealer: int
    names: Sequence[str]
    last: tuple[int, int] | None = None
    """The seat that decided last, and its action; None after a deal."""
    scores: Sequence[int] | None = None
    """The points before this round; None outside a match."""
    target_score: int | None = None
    prior_color: str | None = None
    """In phase challenge, the letter of the active color before the Draw Four, by which guilt is judged (rules 7)."""

    @property
    def num_players(self) -> int:
        return len(self.hands)

    @classmethod
    def from_state(
        cls,
        state: State,
        rules: Rules,
        *,
        match: bool = False,
        last: tuple[int, int] | None = None,
        names: Sequence[str] | None = None,
    ) -> Self:
        """The table of a state.

        Args:
            match: show the scores too.
            last: the seat that decided last, and its action; None after a deal.
            names: the players' names by seat; by default player_0, player_1 and so on.
        """
        known = snapshot(state)
        return cls(
            phase=known["phase"],
            current_player=known["to_move"],
            direction=known["direction"],
            top=known["top"],
            color=known["color"],
            hands=known["hands"],
            power=known["power"],
            draw_pile=known["draw_pile"],
            discard_pile=known["discard_pile"],
            drawn=known["drawn"],
            pending_draw=known["pending_draw"],
            winner=known["winner"],
            points=known["points"],
            legal=state.legal_actions(),
            dealer=state.dealer,
            names=names or [f"player_{seat}" for seat in range(state.num_players)],
            last=last,
            scores=list(state.scores) if match else None,
            target_score=rules.target_score if match else None,
            prior_color=COLORS[state.prior_color] if known["phase"] == "challenge" else None,
        )
