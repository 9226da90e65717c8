"""Sentences that explain the decision to the person."""

from __future__ import annotations

from experiments.terminal.chair import Chair
from uno_flex_env.cards import COLORS
from uno_flex_env.game import Game
from uno_flex_env.render import phrases


def explain_phase(game: Game, chair: Chair) -> str:
    """Explain the decision that the person has to make."""
    state, legal = game.state, game.legal_actions
    who = chair.names[state.actor] if game.phase in ("challenge", "catch") else ""
    if game.phase == "play":
        return "Play a card or draw." if len(legal) > 1 else "No card of yours fits: draw."
    if game.phase == "drawn":
        kept = "or keep it" if "keep" in legal else "and under these rules you must"
        return f"You have drawn {game.drawn}. It fits: you may play it, and no other card, {kept}."
    if game.phase == "uno":
        return "You are down to one card: say uno. If you stay silent and another player catches you, you draw 2."
    if game.phase == "catch":
        return f"{who} is down to one card and has not said UNO: catch it, and {who} draws 2; or ignore it."
    if game.phase == "stack":
        return f"A Draw Two is on you: add a Draw Two, or draw {game.pending_draw} and lose the turn."
    prior = phrases.COLORS[COLORS[state.prior_color]]
    lost = "" if game.actions[-1].startswith("W4/!") else " and lose the turn"  # rules 9.2
    return (
        f"{who} has played a Draw Four on {prior}. Accept: you draw 4{lost}. Challenge: you see the hand; if it has "
        f"a {prior} card or another wild, {who} draws 4; if not, you draw 6{lost}."
    )
