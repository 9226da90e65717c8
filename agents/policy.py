"""The protocol of policies: a batch of decisions in, a legal action for each out."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from uno_flex_env.batch import checked_answer
from uno_flex_env.policy_input import Decisions

Actions = npt.NDArray[np.int64]


class Policy(Protocol):
    """Chooses actions. A policy that needs `Decisions.views` has an attribute `looks_ahead` that is true."""

    @property
    def name(self) -> str:
        """The name in tables. If `agents.policy_factory.make_policy` can make the policy, this is the name for it."""

    @property
    def history(self) -> int:
        """How many of the last events the policy reads; 0 for none."""

    def act(self, decisions: Decisions) -> Actions:
        """A legal action for each of the B decisions, (B,)."""


def ask(policy: Policy, decisions: Decisions, games: npt.NDArray[np.intp]) -> Actions:
    """Ask a policy for its actions, (B,), and check them. It gets as many events as it reads. Row i is `games[i]`.

    Raises:
        IllegalActionError: an action is not legal; the message names the policy and the game.
        ValueError: the answer is not (B,) whole numbers, or the policy reads more events than there are.
    """
    mask = decisions.action_mask.copy()  # the original is needed for the check below
    history, views = last_events(policy, decisions.history), decisions.views if looks_ahead(policy) else None
    given = Decisions(decisions.observation, mask, decisions.noise, history, views)
    return checked_answer(policy.act(given), decisions.action_mask, games, f"policy {policy.name}")


def looks_ahead(policy: Policy) -> bool:
    """Whether the policy needs `Decisions.views`."""
    return bool(getattr(policy, "looks_ahead", False))


def last_events(policy: Policy, history: npt.NDArray[np.int16] | None) -> npt.NDArray[np.int16] | None:
    """The last events that a policy reads, (B, policy.history, 3); ValueError if there are fewer."""
    if not policy.history:
        return None
    if history is None or history.shape[1] < policy.history:
        raise ValueError(f"{policy.name} wants a history of at least {policy.history} events: set the option")
    return history[:, -policy.history :]
