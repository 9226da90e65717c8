"""What a green Power is worth: a position against its twin in which only Powers differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from agents.flex_policies import features
from agents.policy import Decisions, Policy
from experiments.flex_timing.simulate import sample, winners
from uno_flex_env.actions import text_to_action
from uno_flex_env.observation import LAYOUT
from uno_flex_env.positions import Positions
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import decision_noise

_DRAW = text_to_action("draw")
_POWER = LAYOUT["power"].slice
TWINS = ("green", "red", "last")
"""A green Power of the current player; a red one; a green one while all others are red."""


def has_twin(seen: Decisions) -> npt.NDArray[np.bool_]:
    """(B,), decisions at the beginning of a turn in which another Power is green: both colors of one's own can be."""
    others = seen.observation[:, _POWER][:, 1:].sum(axis=1) > 0
    both: npt.NDArray[np.bool_] = others & (seen.action_mask[:, _DRAW] != 0)
    return both


def twins(policy: Policy, seed: int, deals: range, num_players: int, rules: Rules, repeats: int) -> dict[str, Any]:
    """Play the twins of one decision a deal on to the end, with the same cards and keys, `repeats` times each.

    Returns:
        Columns by name, a row for each decision: the deal, `FEATURES`, `power` (whether the own one is green in
        fact), and how many of the repeats the current player wins in each twin.
    """
    found = sample(policy, seed, deals, num_players, rules, has_twin)
    if found is None:
        return {}
    current_players, green = found.positions.current_player, found.positions.fields["green"]
    own = (1 << current_players.astype(np.int64)).astype(np.uint8)
    powers = {"green": green | own, "red": green & ~own, "last": own}
    keys = decision_noise(seed, np.repeat(found.keys, repeats), 0, np.tile(np.arange(repeats), len(current_players)))
    columns: dict[str, Any] = {"deal": found.deals, **_seen_green(found.positions, green | own)}
    columns["power"] = (green & own) != 0
    for twin in TWINS:
        tables = found.positions.repeat(repeats)
        tables.set_power(np.repeat(powers[twin], repeats))
        won = winners(tables, policy, keys) == np.repeat(current_players, repeats)
        columns[twin] = won.reshape(len(current_players), repeats).sum(axis=1)
    columns["repeats"] = np.full(len(current_players), repeats)
    return columns


def _seen_green(positions: Positions, green: npt.NDArray[np.uint8]) -> dict[str, Any]:
    """The features in the green twin: which flexes are legal depends on the Power."""
    tables = positions[:]
    tables.set_power(green)
    observations, masks = tables.observe()
    return features(Decisions(observations, masks, np.zeros(len(tables), np.uint64)))
