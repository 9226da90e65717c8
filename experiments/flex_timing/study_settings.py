"""Settings of the study: who plays, how much is played, and under which rules."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import tyro

import uno_flex_env
from agents.checkpoint import digests
from agents.policy_factory import make_policy
from experiments.flex_timing.tried_actions import MAX_WORLDS
from uno_flex_env.options import check_whole
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import checked_seed

STAGES = ("resets", "twins", "hold", "stuck", "target")
"""Kinds of simulation, in the order in which they are played."""
SWITCHES: dict[str, Rules] = {
    "two_player_reverse=pass": Rules(two_player_reverse="pass"),
    "flex_action_match=color": Rules(flex_action_match="color"),
    "draw_four=strict": Rules(draw_four="strict"),
}
"""Variants of the rules under which the main questions are asked again."""


@dataclass(frozen=True)
class Budget:
    """How much is played at each number of players."""

    resets: int = 0
    """Deals that are played once to the end, to count what happens to the Powers."""
    twins: int = 0
    """Deals in which one decision is played to the end twice, with the player's Power green and red."""
    repeats: int = 1
    """Playouts of each twin."""
    hold: int = 0
    """Deals in which the candidates of one decision between a flex and another play are tried."""
    stuck: int = 0
    """Deals in which the candidates of one decision between a flex and drawing are tried."""
    target: int = 0
    """Deals in which the targets of one flex are tried."""
    worlds: int = 64
    """Sampled worlds in which each candidate is tried, 2 to 64."""
    games: int = 0
    """Games of each duel."""

    def __post_init__(self) -> None:
        for name in (*STAGES, "games"):
            check_whole(name, getattr(self, name), 0, 1 << 24)
        check_whole("repeats", self.repeats, 1, 1 << 10)
        check_whole("worlds", self.worlds, 2, MAX_WORLDS)


@dataclass(frozen=True)
class Config:
    """Settings of a study."""

    study: tyro.conf.Positional[Literal["flex_timing"]] = "flex_timing"
    """The study; there is one."""
    policy: str = "champion"
    """The policy that plays all seats. It must not read past events."""
    players: tuple[int, ...] = (2, 3, 4, 6, 8)
    """Numbers of players."""
    seed: int = 0
    """Seed of the deals and of all random choices."""
    budget: Budget = Budget(
        resets=10_000, twins=6_000, repeats=2, hold=600, stuck=300, target=200, worlds=48, games=20_000
    )
    """The budget for the first policy at each number of players."""
    search: str = "search:100"
    """A second policy that plays all seats, to see whether the findings depend on the first one."""
    robust_players: tuple[int, ...] = (2, 4)
    """Numbers of players for the second policy and for the variants of the rules."""
    search_budget: Budget = Budget(twins=1_000, hold=50, worlds=32, games=1_000)
    """The budget for the second policy."""
    switch_budget: Budget = Budget(twins=2_000, repeats=2, hold=100, worlds=48, games=4_000)
    """The budget for each variant of the rules."""
    workers: int = 0
    """Number of worker processes; 0 uses one for each core. It does not change the results."""
    out: Path = Path("runs/study/flex_timing")
    """The folder of the results."""

    def __post_init__(self) -> None:
        checked_seed(self.seed)
        for policy in (self.policy, self.search):
            if make_policy(policy).history:
                raise ValueError(f"policy must need no history of events, got {policy!r}")
        for name in ("players", "robust_players"):
            players = getattr(self, name)
            if not players or len(set(players)) < len(players):
                raise ValueError(f"{name} must be different numbers, at least one, got {players}")
            for number in players:
                Rules().check(number)
        check_whole("workers", self.workers, 0, 1024)


@dataclass(frozen=True)
class Variant:
    """The policy in all seats, and the rules."""

    name: str
    """`main`, `search` or a switch of `SWITCHES`."""
    policy: str
    rules: Rules = Rules()  # noqa: RUF009 (it is frozen)


def variants(config: Config) -> list[tuple[Variant, Budget, tuple[int, ...]]]:
    """All variants with their budgets and numbers of players; the main one comes first."""
    robust = [(Variant("search", config.search), config.search_budget, config.robust_players)]
    for name, rules in SWITCHES.items():
        # Rule 9.3 is about two players: with more of them this switch changes nothing.
        only_two = rules.two_player_reverse != Rules().two_player_reverse
        players = tuple(number for number in config.robust_players if number == 2 or not only_two)
        robust.append((Variant(name, config.policy, rules), config.switch_budget, players))
    return [(Variant("main", config.policy), config.budget, config.players), *robust]


def as_json(config: Config) -> dict[str, Any]:
    """Everything that determines the results, as JSON values: version, settings and digests of the weights."""
    settings = asdict(config)
    for name in ("workers", "out"):
        del settings[name]
    weights = digests((config.policy, config.search))
    facts = {"version": uno_flex_env.__version__, "config": settings, "weights": weights}
    plain: dict[str, Any] = json.loads(json.dumps(facts))
    return plain
