"""The league of a learner in its state: results, and the snapshots that only the run itself has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agents.learners.league import League
from agents.network_policy import NetworkPolicy


def league_state(league: League) -> dict[str, Any]:
    """Everything but the seating and the opponents that have names, as plain values and tensors."""
    own = league.policies[len(league.config.opponents) :]
    snapshots = [[policy.name, policy.network.state_dict()] for policy in own if isinstance(policy, NetworkPolicy)]
    return {"results": league.state(), "snapshots": snapshots}


def restore_league(league: League, state: Mapping[str, Any], snapshot: Callable[[str], NetworkPolicy]) -> None:
    """Continue from a `league_state`; `snapshot` makes a policy of this name, whose weights are replaced."""
    restored = []
    for name, weights in state["snapshots"]:
        policy = snapshot(name)
        policy.network.load_state_dict(weights)
        restored.append(policy)
    league.restore(state["results"], list(restored))
