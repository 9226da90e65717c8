"""The opponents in the seats that don't learn: the core's rule bots by name, policies, and functions of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from uno_flex_env._core import State
from uno_flex_env.batch import BOTS, EXTERNAL, bot_number, checked_answer
from uno_flex_env.errors import did_you_mean
from uno_flex_env.policy_input import Decisions
from uno_flex_env.positions import Positions
from uno_flex_env.rules import MAX_PLAYERS
from uno_flex_env.seeding import Noise

Observations = dict[str, npt.NDArray[Any]]
Rows = npt.NDArray[np.bool_]


class Policy(Protocol):
    """The policies of match play, leagues and the terminal, see `agents.policy.Policy` in the checkout, and your own.

    It may have a `name`, for messages; `history`, how many of the last events it reads; and `looks_ahead`, true if it
    needs `Decisions.views`. The noise of a decision follows from the game's seed, the episode, the seat, and how often
    policies were asked in the episode before.
    """

    def act(self, decisions: Decisions) -> npt.ArrayLike:
        """A legal action for each of the B decisions, (B,) whole numbers."""


BatchFunction = Callable[[Observations], npt.ArrayLike]
"""A shorter form for opponents alone. It takes a dict of arrays {"observation": (B, 640), "action_mask": (B, 216)} and
"history": (B, H, 3) if the environment has one, and returns B legal actions, (B,) whole numbers. The function may keep
and change the arrays."""

Opponent = str | Policy | BatchFunction
"""The name of a rule bot, which plays inside the core; a policy; or a function of a batch."""

Opponents = Opponent | Sequence[Opponent]
"""One opponent for all other seats, or one for each, clockwise from the learning seat."""


def checked_opponents(opponents: Opponents, num_players: int, history: int) -> tuple[Opponent, ...]:
    """One opponent for each seat except the learning seat.

    Raises:
        ValueError: there are too many or too few, one is not an opponent, or one reads more events than the
            environment's `history`. The message says what is allowed.
    """
    each: tuple[Any, ...] = (opponents,) * (num_players - 1)
    if isinstance(opponents, Iterable) and not isinstance(opponents, str) and not _is_policy(opponents):
        each = tuple(opponents)
    if len(each) != num_players - 1:
        raise ValueError(f"{num_players} players: the learning seat has {num_players - 1} opponents, got {len(each)}")
    for opponent in each:
        _check(opponent, history)
    return each


def _check(opponent: object, history: int) -> None:
    if isinstance(opponent, str):
        if opponent not in BOTS:
            near = did_you_mean(opponent, BOTS) or "."
            raise ValueError(
                f"no such bot: {opponent!r}; there are {', '.join(BOTS)}{near} Other opponents are objects: in "
                f"the checkout agents.policy_factory.make_policy({opponent!r}) makes those that match play knows by "
                "name, such as expert and champion"
            )
        return
    if isinstance(opponent, type):
        raise ValueError(f"an opponent must be an object, got the class {opponent.__name__}: call it")
    if not _is_policy(opponent):
        raise ValueError(
            f"an opponent must be the name of a rule bot, an object with act(decisions), or a function of a batch, got "
            f"{opponent!r}"
        )
    wanted = getattr(opponent, "history", 0) if hasattr(opponent, "act") else 0
    if wanted > history:
        raise ValueError(
            f"{_name(opponent)} wants a history of at least {wanted} events: set the option, got {history}"
        )


def _is_policy(opponent: object) -> bool:
    return hasattr(opponent, "act") or callable(opponent)


def _name(opponent: object) -> str:
    """The name of an opponent in messages."""
    own = getattr(opponent, "name", None) if hasattr(opponent, "act") else getattr(opponent, "__name__", None)
    return own if isinstance(own, str) else type(opponent).__name__


def controllers(
    opponents: Sequence[Opponent], learning_seats: npt.NDArray[np.uint8], num_players: int
) -> npt.NDArray[np.uint8]:
    """The controllers of all seats, (B, 8), for `Batch.set_seats`: bots by number, `EXTERNAL` for all others."""
    by_offset = [EXTERNAL, *(bot_number(one) if isinstance(one, str) else EXTERNAL for one in opponents)]
    offsets = (np.arange(num_players) - learning_seats.astype(np.int64)[:, None]) % num_players
    seats = np.full((len(learning_seats), MAX_PLAYERS), EXTERNAL, np.uint8)
    seats[:, :num_players] = np.array(by_offset, np.uint8)[offsets]
    return seats


def policies_with_offsets(opponents: Sequence[Opponent]) -> list[tuple[Policy | BatchFunction, Rows]]:
    """Each policy once, with the seats that it plays: (n,) bool by offset from the learning seat."""
    found: dict[int, tuple[Policy | BatchFunction, Rows]] = {}
    for offset, opponent in enumerate(opponents, start=1):
        if not isinstance(opponent, str):
            _, plays = found.setdefault(id(opponent), (opponent, np.zeros(len(opponents) + 1, np.bool_)))
            plays[offset] = True
    return list(found.values())


def ask(
    policy: Policy | BatchFunction, batch: Observations, noise: Noise, states: Callable[[], Sequence[State]], games: Any
) -> npt.NDArray[Any]:
    """A policy's actions for a batch; they are checked.

    Args:
        policy: who decides.
        batch: what is seen in each of B games; the arrays are the policy's to keep.
        noise: (B,), a key for each decision.
        states: makes the states of the games, for policies that look ahead.
        games: (B,), the numbers of the games, for messages.

    Raises:
        ValueError: the answer is not (B,) whole numbers.
        IllegalActionError: an action is not legal.
    """
    masks = batch["action_mask"].copy()  # the policy may change its batch
    if hasattr(policy, "act"):
        events = getattr(policy, "history", 0)
        history = batch["history"][:, -events:] if events else None
        views = Positions(states()).hide() if getattr(policy, "looks_ahead", False) else None
        answer = policy.act(Decisions(batch["observation"], batch["action_mask"], noise, history, views))
    else:
        answer = policy(batch)
    return checked_answer(answer, masks, games, f"opponent {_name(policy)}")
