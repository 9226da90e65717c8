"""Who plays the seats that don't learn: the core's rule bots by name, and policies in Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from uno_flex_env.actions import NUM_ACTIONS, describe_illegal
from uno_flex_env.envs.vec_env import EXTERNAL, bot_number
from uno_flex_env.errors import IllegalActionError
from uno_flex_env.rules import MAX_PLAYERS

Observations = dict[str, npt.NDArray[Any]]

Policy = Callable[[Observations], npt.ArrayLike]
"""Takes a batch, a dict of arrays {"observation": (B, 640), "action_mask": (B, 216)} and "history": (B, H, 3) if the
environment has one, and answers with B legal actions, (B,) whole numbers. The arrays are the policy's to keep."""

Opponents = str | Policy | Sequence[str | Policy]
"""One opponent for all seats but the learner's, or one for each, clockwise from the learner."""


def checked_opponents(opponents: Opponents, num_players: int) -> tuple[str | Policy, ...]:
    """One opponent for each seat but the learner's; ValueError if there are too many, too few or unknown ones."""
    one_for_all = isinstance(opponents, str) or callable(opponents)
    each = (opponents,) * (num_players - 1) if one_for_all else tuple(opponents)  # type: ignore[arg-type]
    if len(each) != num_players - 1:
        raise ValueError(f"{num_players} players: the learner has {num_players - 1} opponents, got {len(each)}")
    for opponent in each:
        if isinstance(opponent, str):
            bot_number(opponent)
        elif not callable(opponent):
            raise ValueError(f"an opponent must be the name of a rule bot or a policy, got {opponent!r}")
    return each  # type: ignore[return-value]


def controllers(
    opponents: Sequence[str | Policy], learners: npt.NDArray[np.uint8], num_players: int
) -> npt.NDArray[np.uint8]:
    """Who plays each seat of each game, (B, 8), as the core wants it: bots by number, all others from outside."""
    by_offset = [EXTERNAL, *(bot_number(one) if isinstance(one, str) else EXTERNAL for one in opponents)]
    offsets = (np.arange(num_players) - learners.astype(np.int64)[:, None]) % num_players
    seats = np.full((len(learners), MAX_PLAYERS), EXTERNAL, np.uint8)
    seats[:, :num_players] = np.array(by_offset, np.uint8)[offsets]
    return seats


def policies_with_offsets(opponents: Sequence[str | Policy]) -> list[tuple[Policy, npt.NDArray[np.bool_]]]:
    """Each policy once, with the seats that it plays: (n,) bool by offset from the learner."""
    found: dict[int, tuple[Policy, npt.NDArray[np.bool_]]] = {}
    for offset, opponent in enumerate(opponents, start=1):
        if not isinstance(opponent, str):
            _, plays = found.setdefault(id(opponent), (opponent, np.zeros(len(opponents) + 1, np.bool_)))
            plays[offset] = True
    return list(found.values())


def ask(policy: Policy, batch: Observations, games: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
    """A policy's actions for a batch whose rows belong to these games; they are checked."""
    masks = batch["action_mask"].copy()  # what the policy does with its batch is its own business
    name = getattr(policy, "__name__", type(policy).__name__)
    return checked_answer(policy(batch), masks, games, f"opponent {name}")


def checked_answer(
    answer: npt.ArrayLike, masks: npt.NDArray[np.int8], games: npt.NDArray[np.intp], who: str
) -> npt.NDArray[Any]:
    """What somebody has answered, if it is a legal action for each game, row i of it and of `masks` being `games[i]`.

    Raises:
        ValueError: it has another shape, or is no whole numbers.
        IllegalActionError: an action is not legal.
    """
    actions = np.asarray(answer)
    if actions.shape != games.shape or not np.issubdtype(actions.dtype, np.integer):
        got = f"{actions.dtype} of shape {actions.shape}"
        raise ValueError(f"the {who} must answer with {games.size} whole numbers, got {got}")
    check_legal(actions, masks, games, f", {who}")
    return actions


def check_legal(
    actions: npt.NDArray[Any], masks: npt.NDArray[np.int8], games: npt.NDArray[np.intp], who: str = ""
) -> None:
    """IllegalActionError for the first action that is not legal; row i of `actions` and `masks` is game `games[i]`."""
    known = (actions >= 0) & (actions < NUM_ACTIONS)
    legal = known & (masks[np.arange(len(actions)), np.where(known, actions, 0)] != 0)
    if legal.all():
        return
    row = int(legal.argmin())
    action = int(actions[row])
    why = f"an action must be from 0 to {NUM_ACTIONS - 1}, got action {action}"
    if known[row]:
        why = describe_illegal(action, masks[row])
    raise IllegalActionError(f"game {games[row]}{who}: {why}")
