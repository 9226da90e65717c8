"""Studies of the game by simulation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

import uno_flex_env
from agents.atomic import write_whole
from agents.checkpoint import digests
from agents.flex_policies import Rule
from agents.match.workers import cores, worker_pool
from agents.policy_factory import make_policy
from experiments.flex_timing.findings import Results
from experiments.flex_timing.jobs import (
    BOTS,
    LADDER,
    STAGES,
    Job,
    Match,
    Variant,
    collect,
    run_all,
    stage_jobs,
    to_bytes,
)
from experiments.flex_timing.report import write_report
from experiments.flex_timing.tree_rules import find
from experiments.flex_timing.tried_actions import MOST_WORLDS
from uno_flex_env.options import check_whole, checked_seed
from uno_flex_env.rules import Rules

HELP = """\
When is a flex best spent? Plays thousands of positions on to their ends, with every Power green and red and with every
candidate move, and matches of policies that differ in nothing but when they flex.

  python -m experiments study flex_timing --policy champion --players 2,3,4,6,8
  python -m experiments study --config configs/study/smoke.toml

The folder --out gets the raw results as Parquet with the settings, figures (PNG, SVG) and report.md. A command that was
interrupted goes on where it was when it is given again; the same settings give the same numbers.
"""

SWITCHES: dict[str, Rules] = {
    "two_player_reverse=pass": Rules(two_player_reverse="pass"),
    "flex_action_match=color": Rules(flex_action_match="color"),
    "draw_four=strict": Rules(draw_four="strict"),
}
"""Variants of the rules under which the main findings are looked at once more."""


def _read_numbers(words: list[str]) -> tuple[int, ...]:
    return tuple(int(number) for word in words for number in word.split(",") if number)


Players = Annotated[
    tuple[int, ...],
    tyro.constructors.PrimitiveConstructorSpec(
        nargs="*",
        metavar="2,3,4",
        instance_from_str=_read_numbers,
        is_instance=lambda value: isinstance(value, tuple) and all(type(number) is int for number in value),
        str_from_instance=lambda value: [",".join(map(str, value))],
    ),
]
"""Numbers of players, with commas or spaces between them."""


@dataclass(frozen=True)
class Budget:
    """How much is played at each number of players."""

    resets: int = 0
    """Whole deals, in which Powers are watched."""
    twins: int = 0
    """Deals of which a decision is played on with the player's Power green and red."""
    repeats: int = 1
    """How often each is played on."""
    hold: int = 0
    """Deals of which a decision between a flex and another play is tried."""
    stuck: int = 0
    """The same between a flex and drawing."""
    target: int = 0
    """The same between the targets of a flex."""
    worlds: int = 64
    """In which each candidate is tried, 2 to 64."""
    games: int = 0
    """Of each match."""

    def __post_init__(self) -> None:
        for name in (*STAGES, "games"):
            check_whole(name, getattr(self, name), 0, 1 << 24)
        check_whole("repeats", self.repeats, 1, 1 << 10)
        check_whole("worlds", self.worlds, 2, MOST_WORLDS)


@dataclass(frozen=True)
class Config:
    """Settings of a study."""

    study: tyro.conf.Positional[Literal["flex_timing"]] = "flex_timing"
    """Which one."""
    policy: str = "champion"
    """Plays all seats; any policy that needs no history."""
    players: Players = (2, 3, 4, 6, 8)
    """Numbers of players."""
    seed: int = 0
    """Of the deals and of all luck."""
    budget: Budget = Budget(
        resets=10_000, twins=6_000, repeats=2, hold=600, stuck=300, target=200, worlds=48, games=20_000
    )
    """At each number of players."""
    search: str = "search:100"
    """Plays in place of the policy, to see whether the findings are the same."""
    robust_players: Players = (2, 4)
    """Numbers of players of that, and of the variants of the rules."""
    search_budget: Budget = Budget(twins=1_000, hold=50, worlds=32, games=1_000)
    """Of the search."""
    switch_budget: Budget = Budget(twins=2_000, repeats=2, hold=100, worlds=48, games=4_000)
    """Of each variant of the rules."""
    workers: int = 0
    """Processes; 0 for one a core. They don't change the results."""
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


def main(config: Config) -> int:
    """Simulate what is not there yet, then draw and write."""
    config.out.mkdir(parents=True, exist_ok=True)
    notes = _notes(config)
    _begin(config.out / "config.json", notes)
    if not all((config.out / f"{name}.parquet").exists() for name in (*TABLES, "matches")):
        with worker_pool(config.workers or cores()) as pool:
            _simulate(config, pool, json.dumps(notes))
    write_report(Results.read(config.out), config.out, notes)
    print(f"report, figures and raw results: {config.out}", flush=True)
    return 0


TABLES = {"resets": ("resets",), "twins": ("twins",), "choices": ("hold", "stuck", "target")}
"""Files of results, and the stages in them."""


def _simulate(config: Config, pool: int | Executor, notes: str) -> None:
    parts = config.out / "parts"
    jobs, matches = list(_jobs(config)), list(_matches(config))
    run_all([*jobs, *matches], parts, pool)
    tables = {name: collect([job for job in jobs if job.stage in stages], parts) for name, stages in TABLES.items()}
    hold = Results(tables["resets"], tables["twins"], tables["choices"], tables["choices"]).tried("hold")
    by_rules = list(_rule_matches(config, find(hold).rules))
    run_all(by_rules, parts, pool)
    tables["matches"] = collect([*matches, *by_rules], parts)
    for name, table in tables.items():
        write_whole(config.out / f"{name}.parquet", to_bytes(table.replace_schema_metadata({"study": notes})))
    for path in parts.iterdir():
        path.unlink()
    parts.rmdir()


def variants(config: Config) -> list[tuple[Variant, Budget, tuple[int, ...]]]:
    """The policy by the official rules; then search, and the policy by others."""
    robust = [(Variant("search", config.search), config.search_budget, config.robust_players)]
    for name, rules in SWITCHES.items():
        # Rules 9.3 speaks of two players: at other tables this switch changes nothing.
        only_two = rules.two_player_reverse != Rules().two_player_reverse
        tables = tuple(players for players in config.robust_players if players == 2 or not only_two)
        robust.append((Variant(name, config.policy, rules), config.switch_budget, tables))
    return [(Variant("main", config.policy), config.budget, config.players), *robust]


def _jobs(config: Config) -> Iterator[Job]:
    for variant, budget, tables in variants(config):
        for players in tables:
            for stage in STAGES:
                repeats = budget.repeats if stage == "twins" else budget.worlds
                if stage != "target" or players > 2:
                    yield from stage_jobs(variant, stage, players, getattr(budget, stage), repeats, config.seed)


def _matches(config: Config) -> Iterator[Match]:
    for variant, budget, tables in variants(config):
        for players in tables if budget.games else ():
            for how in LADDER:
                yield Match(variant, "policy", how, players, budget.games, config.seed)
            for bot in BOTS if variant.name == "main" else ():
                yield Match(variant, "bots", bot, players, budget.games, config.seed)


def _rule_matches(config: Config, rules: tuple[Rule, ...]) -> Iterator[Match]:
    official = Variant("main", config.policy)
    for players in config.players:
        yield Match(official, "rules", "flex_by_rules", players, config.budget.games, config.seed, rules)


def _notes(config: Config) -> dict[str, Any]:
    """All that decides the numbers, as JSON can hold it."""
    settings = asdict(config)
    for name in ("workers", "out"):
        del settings[name]
    weights = digests((config.policy, config.search))
    notes = {"version": uno_flex_env.__version__, "config": settings, "weights": weights}
    plain: dict[str, Any] = json.loads(json.dumps(notes))
    return plain


def _begin(file: Path, notes: dict[str, Any]) -> None:
    """Write down the settings; ValueError if the folder holds results of others."""
    if file.exists():
        if json.loads(file.read_text()) != notes:
            raise ValueError(
                f"{file.parent} holds results of other settings or weights: choose another --out, or delete it"
            )
        return
    write_whole(file, json.dumps(notes, indent=2).encode() + b"\n")
