"""Who plays the seats that don't learn: the core's rule bots by name, and policies in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from uno_flex_env.batch import EXTERNAL, bot_number, checked_answer
from uno_flex_env.rules import MAX_PLAYERS

Observations = dict[str, npt.NDArray[Any]]

Policy = Callable[[Observations], npt.ArrayLike]
"""Takes a batch, a dict of arrays {"observation": (B, 640), "action_mask": (B, 216)} and "history": (B, H, 3) if the
environment has one, and answers with B legal actions, (B,) whole numbers. The arrays are the policy's to keep."""

Opponents = str | Policy | Sequence[str | Policy]
"""One opponent for all other seats, or one for each, clockwise from the learning seat."""


def checked_opponents(opponents: Opponents, num_players: int) -> tuple[str | Policy, ...]:
    """One opponent for each seat but the learning one; ValueError if there are too many, too few or unknown ones."""
    one_for_all = isinstance(opponents, str) or callable(opponents)
    each = (opponents,) * (num_players - 1) if one_for_all else tuple(opponents)  # type: ignore[arg-type]
    if len(each) != num_players - 1:
        raise ValueError(f"{num_players} players: the learning seat has {num_players - 1} opponents, got {len(each)}")
    for opponent in each:
        if isinstance(opponent, str):
            bot_number(opponent)
        elif not callable(opponent):
            raise ValueError(f"an opponent must be the name of a rule bot or a policy, got {opponent!r}")
    return each  # type: ignore[return-value]


def controllers(
    opponents: Sequence[str | Policy], learning_seats: npt.NDArray[np.uint8], num_players: int
) -> npt.NDArray[np.uint8]:
    """Who plays each seat of each game, (B, 8), for `Batch.set_seats`: bots by number, `EXTERNAL` for all others."""
    by_offset = [EXTERNAL, *(bot_number(one) if isinstance(one, str) else EXTERNAL for one in opponents)]
    offsets = (np.arange(num_players) - learning_seats.astype(np.int64)[:, None]) % num_players
    seats = np.full((len(learning_seats), MAX_PLAYERS), EXTERNAL, np.uint8)
    seats[:, :num_players] = np.array(by_offset, np.uint8)[offsets]
    return seats


def policies_with_offsets(opponents: Sequence[str | Policy]) -> list[tuple[Policy, npt.NDArray[np.bool_]]]:
    """Each policy once, with the seats that it plays: (n,) bool by offset from the learning seat."""
    found: dict[int, tuple[Policy, npt.NDArray[np.bool_]]] = {}
    for offset, opponent in enumerate(opponents, start=1):
        if not isinstance(opponent, str):
            _, plays = found.setdefault(id(opponent), (opponent, np.zeros(len(opponents) + 1, np.bool_)))
            plays[offset] = True
    return list(found.values())


def ask(policy: Policy, batch: Observations, games: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """A policy's actions for a batch whose rows belong to these games; they are checked."""
    masks = batch["action_mask"].copy()  # the policy may change its batch
    name = getattr(policy, "__name__", type(policy).__name__)
    return checked_answer(policy(batch), masks, games, f"opponent {name}")
