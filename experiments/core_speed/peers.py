"""RLCard's UNO, the environment that most people know, in the same run."""

from __future__ import annotations

import random
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from uno_flex_env.bench.measure import Contestant, Figure, Race, rate, ratios

RELEASE = "1.2.0"


def check_installed() -> None:
    """ValueError unless RLCard is there, in the release that is compared with."""
    try:
        found = version("rlcard")
    except PackageNotFoundError:
        raise ValueError(f"RLCard is not installed: pip install rlcard=={RELEASE}") from None
    if found != RELEASE:
        raise ValueError(f"the comparison is with RLCard {RELEASE}, but {found} is installed")


def peer_contestants() -> list[Contestant]:
    """RLCard's UNO, two players who choose at random among the legal actions; its `step` encodes the observation."""
    import rlcard

    env = rlcard.make("uno", config={"seed": 1})
    rng = random.Random(1)
    return [Contestant("rlcard", lambda steps: rate(lambda: _play(env, rng, steps)))]


def _play(env: Any, rng: random.Random, steps: int) -> int:
    taken = 0
    while taken < steps:
        state, _ = env.reset()
        while not env.is_over():
            legal = list(state["legal_actions"])
            state, _ = env.step(legal[int(rng.random() * len(legal))])
            taken += 1
    return taken


def peer_figures(values: Race) -> list[Figure]:
    """RLCard's rate, and how many times as fast the batch and the AEC environment are."""
    group = f"RLCard {RELEASE}: its UNO of two players, env.step with random legal actions"
    batch, aec = ratios(values, "batch_2", "rlcard"), ratios(values, "aec", "rlcard")
    return [
        Figure("rlcard", group, "RLCard", "steps/s", tuple(values["rlcard"])),
        Figure("batch_to_rlcard", group, "batch / RLCard", "ratio", batch, ">= 250"),
        Figure("aec_to_rlcard", group, "uno_flex_v0.env() / RLCard", "ratio", aec, ">= 2.5"),
    ]
