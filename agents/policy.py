"""The protocol of policies: a batch of decisions in, a legal action for each out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from uno_flex_env.batch import checked_answer
from uno_flex_env.positions import Views
from uno_flex_env.seeding import Noise

Actions = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Decisions:
    """B decisions, each as the player who has to take it sees it. A policy must not write to the arrays."""

    observation: npt.NDArray[np.uint8]
    """(B, 640), see `uno_flex_env.observation`."""
    action_mask: npt.NDArray[np.int8]
    """(B, 216), 1 for each legal action; at least one in each row."""
    noise: Noise
    """(B,), a key for each decision. All random numbers of row i follow from `noise[i]`. So an action doesn't depend on
    the other rows, and two games with the same keys are comparable."""
    history: npt.NDArray[np.int16] | None = None
    """(B, H, 3), the last public events, for policies that read them."""
    views: Views | None = None
    """B views, for policies that look ahead."""

    def __len__(self) -> int:
        return len(self.observation)

    def __getitem__(self, rows: Any) -> Decisions:
        history = None if self.history is None else self.history[rows]
        views = None if self.views is None else self.views[rows]
        return Decisions(self.observation[rows], self.action_mask[rows], self.noise[rows], history, views)


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
    """A policy's actions, (B,), checked. The policy gets as many events as it reads. Row i belongs to `games[i]`.

    Raises:
        IllegalActionError: an action is not legal; the message names the policy and the game.
        ValueError: the answer is not (B,) whole numbers, or the policy reads more events than there are.
    """
    mask = decisions.action_mask.copy()  # the original is needed for the check below
    history, views = last_events(policy, decisions.history), decisions.views if looks_ahead(policy) else None
    given = Decisions(decisions.observation, mask, decisions.noise, history, views)
    return checked_answer(policy.act(given), decisions.action_mask, games, f"policy {policy.name}")


def looks_ahead(policy: Policy) -> bool:
    """Whether a policy needs `Decisions.views`."""
    return bool(getattr(policy, "looks_ahead", False))


def last_events(policy: Policy, history: npt.NDArray[np.int16] | None) -> npt.NDArray[np.int16] | None:
    """As many of the last events as a policy reads, (B, policy.history, 3); ValueError if there are fewer."""
    if not policy.history:
        return None
    if history is None or history.shape[1] < policy.history:
        raise ValueError(f"{policy.name} wants a history of at least {policy.history} events: set the option")
    return history[:, -policy.history :]
