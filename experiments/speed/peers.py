"""The speed of the environments compared with RLCard's UNO, in the same runs."""

from __future__ import annotations

import random
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from uno_flex_env.bench.aec_speed import aec_contestants
from uno_flex_env.bench.batch_speed import batch_contestant, batch_of
from uno_flex_env.bench.measure import Contestant, Figure, Race, rate, ratios

RELEASE = "1.2.0"
NUM_ENVS = 1024


def check_installed() -> None:
    """Raise ValueError unless RLCard is installed in the release to compare with."""
    try:
        found = version("rlcard")
    except PackageNotFoundError:
        raise ValueError(f"RLCard is not installed: pip install rlcard=={RELEASE}") from None
    if found != RELEASE:
        raise ValueError(f"the comparison is with RLCard {RELEASE}, but {found} is installed")


def peer_contestants() -> list[Contestant]:
    """RLCard's UNO, the batch and the PettingZoo environment. All play with two players who choose at random among the
    legal actions, and all write an observation for each decision."""
    import rlcard

    env = rlcard.make("uno", config={"seed": 1})
    rng = random.Random(1)
    ours = [each for each in aec_contestants() if each.name == "aec"]
    theirs = Contestant("rlcard", lambda steps: rate(lambda: _play(env, rng, steps)))
    return [batch_contestant(batch_of(NUM_ENVS, 2)), *ours, theirs]


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
    """The rates of `peer_contestants`, and the ratio of each to RLCard's rate."""
    group = f"RLCard {RELEASE}: its UNO of two players, env.step with random legal actions"
    batch, aec = ratios(values, "batch_2", "rlcard"), ratios(values, "aec", "rlcard")
    return [
        Figure("rlcard", group, "RLCard", "steps/s", tuple(values["rlcard"])),
        Figure("batch_2", group, f"batch, {NUM_ENVS:,} games", "decisions/s", tuple(values["batch_2"])),
        Figure("aec", group, "uno_flex_v0.env()", "steps/s", tuple(values["aec"])),
        Figure("batch_to_rlcard", group, "batch / RLCard", "ratio", batch, ">= 250"),
        Figure("aec_to_rlcard", group, "uno_flex_v0.env() / RLCard", "ratio", aec, ">= 2.5"),
    ]
