"""The worth of a green Power: the same position is played to the end with different Powers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from agents.flex_policies import features
from agents.policy import Policy
from experiments.flex_timing.simulate import sample, winners
from uno_flex_env.actions import DRAW
from uno_flex_env.observation import LAYOUT
from uno_flex_env.policy_input import Decisions
from uno_flex_env.positions import Positions
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import decision_noise

_POWER = LAYOUT["power"].slice
TWINS = ("green", "red", "last")
"""The current player's Power is green; it is red; it is green and all others are red."""


def has_twin(decisions: Decisions) -> npt.NDArray[np.bool_]:
    """(B,), whether a decision starts a turn and another Power is green, so that the player's may be green or red."""
    others = decisions.observation[:, _POWER][:, 1:].sum(axis=1) > 0
    both: npt.NDArray[np.bool_] = others & (decisions.action_mask[:, DRAW] != 0)
    return both


def twins(policy: Policy, seed: int, deals: range, num_players: int, rules: Rules, repeats: int) -> dict[str, Any]:
    """Play the twins of one decision in each deal on to the end, `repeats` times each, with the same cards and keys.

    Returns:
        Columns by name, a row for each decision: the deal, `FEATURES`, `power` (whether the current player's Power is
        green in the game itself), and the wins of the current player in each twin, out of `repeats`.
    """
    found = sample(policy, seed, deals, num_players, rules, has_twin)
    if found is None:
        return {}
    current_players, green = found.positions.current_player, found.positions.fields["green"]
    own = (1 << current_players.astype(np.int64)).astype(np.uint8)
    powers = {"green": green | own, "red": green & ~own, "last": own}
    keys = decision_noise(seed, np.repeat(found.keys, repeats), 0, np.tile(np.arange(repeats), len(current_players)))
    columns: dict[str, Any] = {"deal": found.deals, **_green_features(found.positions, green | own)}
    columns["power"] = (green & own) != 0
    for twin in TWINS:
        positions = found.positions.repeat(repeats)
        positions.set_power(np.repeat(powers[twin], repeats))
        won = winners(positions, policy, keys) == np.repeat(current_players, repeats)
        columns[twin] = won.reshape(len(current_players), repeats).sum(axis=1)
    columns["repeats"] = np.full(len(current_players), repeats)
    return columns


def _green_features(positions: Positions, green: npt.NDArray[np.uint8]) -> dict[str, Any]:
    """The features in the green twin; which flexes are legal depends on the Power."""
    twins = positions[:]
    twins.set_power(green)
    observations, masks = twins.observe()
    return features(Decisions(observations, masks, np.zeros(len(twins), np.uint64)))
