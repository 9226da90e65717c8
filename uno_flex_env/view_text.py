"""What one player sees, as JSON for programs in any language and as text for language models. Neither holds a hidden
card, since both are made from a view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from uno_flex_env._core import MATCH_FLAG, PHASES, View
from uno_flex_env.actions import TEXTS
from uno_flex_env.cards import CODES, COLORS, FACES, cards_to_text, text_to_card
from uno_flex_env.render import phrases
from uno_flex_env.rules import MAX_PLAYERS, SWITCHES, Rules, official_deck
from uno_flex_env.state import STATE_DTYPE

FORMAT = "uno-flex-view/1"
"""Name and version of the JSON form of a view."""


def view_to_json(
    view: View, *, mask: npt.ArrayLike | None = None, history: npt.NDArray[np.int16] | None = None
) -> dict[str, Any]:
    """A view as numbers, texts and lists that `json` can write. docs/programs.md explains each key.

    >>> from uno_flex_env import Game
    >>> game = Game.from_position([["r1", "y2/g"], ["b2", "b3^"]], top="r5")
    >>> seen = view_to_json(game.state.hide(0))
    >>> seen["hand"], seen["hand_sizes"], seen["legal"], seen["legal_numbers"]
    (['r1', 'y2/g'], [2, 2], ['r1', 'draw'], [0, 208])

    Args:
        view: what the player sees, see `State.hide`.
        mask: (216,), nonzero for each action to list as legal; None for those of the view.
        history: (H, 3), the last public events as this player sees them (`uno_flex_env.uno_flex_v0`); None for none.
    """
    row = np.frombuffer(view.to_bytes(), STATE_DTYPE)[0]
    seats, phase = range(int(row["num_players"])), PHASES[row["phase"]]
    legal = view.legal_actions() if mask is None else np.flatnonzero(np.asarray(mask)).tolist()
    return {
        "format": FORMAT,
        "num_players": len(seats),
        "viewer": view.viewer,
        "current_player": _seat(row["current_player"]),
        "dealer": int(row["dealer"]),
        "ply": int(row["ply"]),
        "phase": phase,
        "direction": int(row["direction"]),
        "top": CODES[row["top"]],
        "color": COLORS[row["color"]],
        "prior_color": COLORS[row["prior_color"]] if phase == "challenge" else None,
        "actor": _seat(row["actor"]) if phase in ("challenge", "uno", "catch") else None,
        "hand": cards_to_text(view.hand(view.viewer)),
        "drawn": None if row["drawn"] >= len(CODES) else CODES[row["drawn"]],
        "hand_sizes": [int(row["size"][seat]) for seat in seats],
        "known": [[] if seat == view.viewer else cards_to_text(view.hand(seat)) for seat in seats],
        "power": [bool(row["green"] >> seat & 1) for seat in seats],
        "draw_pile": int(row["pile_size"]),
        "discards": cards_to_text(view.discards),
        "reshuffles": int(row["reshuffles"]),
        "empty_draws": int(row["empty_draws"]),
        "pending_draw": int(row["owed"]),
        "scores": [int(row["score"][seat]) for seat in seats] if row["flags"] & MATCH_FLAG else None,
        "winner": _seat(row["winner"]),
        "points": int(row["points"]),
        "rules": _rules(row, view).to_dict(),
        "history": _events(history, view.viewer, len(seats)),
        "legal": [TEXTS[action] for action in legal],
        "legal_numbers": legal,
    }


def _seat(number: Any) -> int | None:
    """A seat of the core, or None for none."""
    return int(number) if number < MAX_PLAYERS else None


def _rules(row: Any, view: View) -> Rules:
    switches: dict[str, Any] = {
        name: values[row["switches"] >> bit & 1] for bit, (name, values) in enumerate(SWITCHES.items())
    }
    codes = [CODES[face] for face in view.deck]
    deck = {code: codes.count(code) for code in CODES if code in codes}
    switches |= {"hand_size": int(row["hand_size"]), "target_score": int(row["target_score"])}
    return Rules.from_dict(switches | ({} if deck == official_deck() else {"deck": deck}))


def _events(history: npt.NDArray[np.int16] | None, viewer: int, num_players: int) -> list[dict[str, Any]]:
    """The events of a history, the newest last."""
    rows = [] if history is None else np.asarray(history).tolist()
    return [
        {"seat": (viewer + offset) % num_players, "action": TEXTS[action], "drawn": drawn}
        for offset, action, drawn in rows
        if action >= 0
    ]


def describe_view(view: Mapping[str, Any]) -> str:
    """The JSON form of a view as English text, with the legal actions, each in a line with its number and notation.

    >>> from uno_flex_env import Game
    >>> game = Game.from_position([["r1", "y2/g"], ["b2", "b3^"]], top="r5")
    >>> print(describe_view(view_to_json(game.state.hide(0))))
    UNO Flex with 2 players, clockwise. You are player 0.
    Top of the discard pile: r5 (red 5). Active color: red.
    Draw pile: 99 cards. Discard pile: r5
    Players:
    - player 0 (you): 2 cards, Power green
    - player 1: 2 cards, Power green
    Your hand:
    - r1 (red 1)
    - y2/g (yellow 2, flex side green 2)
    Now: player 0 plays a card or draws.
    Legal actions, each with its number:
    - 0 r1: plays red 1 (r1)
    - 208 draw: draws

    Args:
        view: what `view_to_json` returns.

    Raises:
        ValueError: it has another format.
    """
    if not isinstance(view, Mapping) or view.get("format") != FORMAT:
        raise ValueError(f"not a view: its format must be {FORMAT!r}")
    names = [f"player {seat}" for seat in range(view["num_players"])]
    turning = "clockwise" if view["direction"] == 1 else "counterclockwise"
    rules = [f"{name}={value}" for name, value in view["rules"].items()]
    lines = [
        f"UNO Flex with {view['num_players']} players, {turning}. You are player {view['viewer']}.",
        *([f"House rules: {', '.join(rules)}"] if rules else []),
        f"Top of the discard pile: {_card(view['top'])}. Active color: {phrases.COLORS[view['color']]}.",
        f"Draw pile: {view['draw_pile']} cards. Discard pile: {' '.join(view['discards'])}",
        "Players:",
        *(f"- {_player(view, seat)}" for seat in range(view["num_players"])),
        "Your hand:",
        *(f"- {_card(card)}" for card in phrases.in_order(view["hand"])),
    ]
    if view["history"]:
        lines += ["The last events, the newest last:", *(f"- {_event(event, names)}" for event in view["history"])]
    return "\n".join([*lines, f"Now: {_now(view, names)}", *_choices(view, names)])


def _card(card: str) -> str:
    """A card in notation and in words."""
    face = FACES[text_to_card(card)]
    words = phrases.side(card, False)
    if face.has_flex and face.color is not None:
        words += f", flex side {phrases.side(card, True)}"
    return f"{card} ({words}{', flips your Power' if face.flip_icon else ''})"


def _player(view: Mapping[str, Any], seat: int) -> str:
    cards = view["hand_sizes"][seat]
    text = f"player {seat}{' (you)' if seat == view['viewer'] else ''}: {cards} card{'s' if cards != 1 else ''}"
    text += f", Power {'green' if view['power'][seat] else 'red'}"
    if view["scores"]:
        text += f", {view['scores'][seat]} points"
    if known := view["known"][seat]:
        text += f"; you know {' '.join(known)}"
    return text


def _event(event: Mapping[str, Any], names: list[str]) -> str:
    drawn = event["drawn"]
    action = phrases.action_sentence(event["seat"], TEXTS.index(event["action"]), names)
    return action + (f"; cards drawn: {drawn}" if drawn else "")


def _now(view: Mapping[str, Any], names: list[str]) -> str:
    """What has to be decided, or the end."""
    if view["current_player"] is None:
        winner = view["winner"]
        return "the round is over." if winner is None else f"{names[winner]} has won with {view['points']} points."
    sentence = phrases.PHASES[view["phase"]].format(who=names[view["current_player"]], owed=view["pending_draw"])
    if view["drawn"]:
        sentence += f"; the drawn card is {_card(view['drawn'])}"
    if view["prior_color"]:
        sentence += (
            f"; {names[view['actor']]} played it when the active color was {phrases.COLORS[view['prior_color']]}"
        )
    elif view["actor"] is not None:
        sentence += f"; {names[view['actor']]} has one card left"
    return f"{sentence}."


def _choices(view: Mapping[str, Any], names: list[str]) -> list[str]:
    """A line for each legal action."""
    if not view["legal"]:
        return []
    name = f"{names[view['viewer']]} "
    lines = [
        f"- {number} {text}: {phrases.action_sentence(view['viewer'], number, names).removeprefix(name)}"
        for number, text in zip(view["legal_numbers"], view["legal"], strict=True)
    ]
    return ["Legal actions, each with its number:", *lines]
