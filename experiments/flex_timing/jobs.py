"""The simulations of the study, in parts. Each part can run in any process, runs once and has its own file."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tqdm import tqdm

from agents.atomic import write_whole
from agents.flex_policies import FlexByRules, Flexing, FlexRule, How
from agents.match.runner import duel
from agents.match.workers import WorkerPool
from agents.policy import Policy
from agents.policy_factory import make_policy
from experiments.flex_timing.decisions import Tried
from experiments.flex_timing.resets import resets
from experiments.flex_timing.study_settings import STAGES, Config, Variant, variants
from experiments.flex_timing.tree_rules import fit_tree
from experiments.flex_timing.tried_actions import Situation, try_candidates
from experiments.flex_timing.twins import twins
from uno_flex_env.seeding import decision_noise

DEALS_AT_ONCE = {"resets": 1000, "twins": 500, "hold": 25, "stuck": 50, "target": 25}
"""Deals in a part. The number affects the results, since a network's rounding depends on the size of the batch."""
LADDER: tuple[How, ...] = ("never", "first_chance", "when_stuck", "as_learned")
BOTS = ("never_flex", "always_flex", "flex_any")
"""Rule bots that play against `flex_when_stuck`; they differ from it only in when they flex."""
TABLES = {"resets": ("resets",), "twins": ("twins",), "choices": ("hold", "stuck", "target")}
"""The result files that come from stages, and the stages in each."""
RESULT_FILES = tuple(f"{name}.parquet" for name in (*TABLES, "matches"))


@dataclass(frozen=True)
class Job:
    """Some deals of one stage."""

    variant: Variant
    stage: str
    num_players: int
    first: int
    """The first deal."""
    last: int
    """The deal after the last one."""
    repeats: int
    """Playouts of each twin, or worlds for each candidate."""
    seed: int

    @property
    def file(self) -> str:
        """The name of the part's file."""
        return f"{self.stage}-{self.variant.name}-{self.num_players}-{self.first:06}.parquet"

    def run(self) -> bytes:
        """Simulate; return the rows as a Parquet file."""
        policy, rules, players = _policy(self.variant.policy), self.variant.rules, self.num_players
        deals, seed = range(self.first, self.last), self.seed
        if self.stage == "resets":
            columns = resets(policy, seed, deals, players, rules)
        elif self.stage == "twins":
            columns = twins(policy, seed, deals, players, rules, self.repeats)
        else:
            situation = cast(Situation, self.stage)
            columns = try_candidates(policy, seed, deals, players, rules, self.repeats, situation)
        return parquet(columns, {"variant": self.variant.name, "stage": self.stage, "num_players": players})


@dataclass(frozen=True)
class Duel:
    """One cell of a ladder: one seat flexes at other times than all others."""

    variant: Variant
    ladder: str
    """`policy`, `bots` or `rules`."""
    one: str
    """How the one seat flexes, or the name of its bot."""
    num_players: int
    games: int
    seed: int
    tree_rules: tuple[FlexRule, ...] = ()
    """The rules that the bot of the ladder `rules` follows."""

    @property
    def file(self) -> str:
        """The name of the part's file."""
        return f"match-{self.variant.name}-{self.ladder}-{self.one}-{self.num_players}.parquet"

    def run(self) -> bytes:
        """Play; return the wins of each deal as a Parquet file."""
        one, others = self._sides()
        result = duel(one, others, self.num_players, games=self.games, seed=self.seed, rules=self.variant.rules)
        games = result.winners.shape[1]
        wins = np.rint(result.by_deal(0) * games).astype(np.int64)
        columns = {"deal": np.arange(len(wins)), "wins": wins, "games": np.full(len(wins), games)}
        labels = {"variant": self.variant.name, "ladder": self.ladder, "one": self.one, "others": others.name}
        return parquet(columns, {**labels, "num_players": self.num_players})

    def _sides(self) -> tuple[Policy, Policy]:
        if self.ladder == "policy":
            policy = _policy(self.variant.policy)
            return Flexing(policy, cast(How, self.one)), policy
        usual = make_policy("flex_when_stuck")
        return FlexByRules(self.tree_rules) if self.ladder == "rules" else make_policy(self.one), usual


@lru_cache(maxsize=2)
def _policy(name: str) -> Policy:
    """The policy with this name, loaded once in each process."""
    return make_policy(name)


# ---- What is simulated ----


def run_study(config: Config, pool: int | WorkerPool, facts: Mapping[str, Any]) -> None:
    """Simulate the parts that have no file yet, and write the result files with these facts in their metadata.

    The rules of the tree are fitted to the results before the duels of the ladder `rules` are played.
    """
    parts = config.out / "parts"
    jobs, duels = list(stage_jobs(config)), list(ladder_duels(config))
    run_all([*jobs, *duels], parts, pool)
    tables = {name: collect([job for job in jobs if job.stage in stages], parts) for name, stages in TABLES.items()}
    rules = fit_tree(Tried.select(tables["choices"], "hold")).rules
    by_rules = list(rule_duels(config, rules))
    run_all(by_rules, parts, pool)
    tables["matches"] = collect([*duels, *by_rules], parts)
    metadata = {"study": json.dumps(facts)}
    for name, table in tables.items():
        write_whole(config.out / f"{name}.parquet", to_bytes(table.replace_schema_metadata(metadata)))
    for path in parts.iterdir():
        path.unlink()
    parts.rmdir()


def stage_jobs(config: Config) -> Iterator[Job]:
    """The parts of all stages."""
    for variant, budget, all_players in variants(config):
        for players in all_players:
            for stage in STAGES:
                repeats = budget.repeats if stage == "twins" else budget.worlds
                if stage != "target" or players > 2:
                    yield from _parts(variant, stage, players, getattr(budget, stage), repeats, config.seed)


def _parts(variant: Variant, stage: str, num_players: int, deals: int, repeats: int, seed: int) -> Iterator[Job]:
    """The parts of one stage at one number of players."""
    size = DEALS_AT_ONCE[stage]
    stage_seed = int(decision_noise(seed, STAGES.index(stage), num_players, 0)[0])
    for first in range(0, deals, size):
        yield Job(variant, stage, num_players, first, min(first + size, deals), repeats, stage_seed)


def ladder_duels(config: Config) -> Iterator[Duel]:
    """The duels of the ladders `policy` and `bots`."""
    for variant, budget, all_players in variants(config):
        for players in all_players if budget.games else ():
            for how in LADDER:
                yield Duel(variant, "policy", how, players, budget.games, config.seed)
            for bot in BOTS if variant.name == "main" else ():
                yield Duel(variant, "bots", bot, players, budget.games, config.seed)


def rule_duels(config: Config, rules: tuple[FlexRule, ...]) -> Iterator[Duel]:
    """The duels of a bot that follows these rules."""
    official = Variant("main", config.policy)
    for players in config.players:
        yield Duel(official, "rules", "flex_by_rules", players, config.budget.games, config.seed, rules)


# ---- Running, and files ----


def run_all(parts: Iterable[Job | Duel], folder: Path, pool: int | WorkerPool, hidden: bool = False) -> None:
    """Run the parts that have no file in this folder yet, with a progress bar on standard error.

    Args:
        parts: what to run.
        folder: holds a file for each part.
        pool: worker processes, or a number to run in this process.
        hidden: show no progress bar.
    """
    folder.mkdir(parents=True, exist_ok=True)
    wanted = list(parts)
    left = [part for part in wanted if not (folder / part.file).exists()]
    pause = 0.1 if sys.stderr.isatty() else 10.0
    done_before = len(wanted) - len(left)
    with tqdm(total=len(wanted), initial=done_before, unit=" parts", mininterval=pause, disable=hidden) as bar:
        finished = pool.completed(_run, left) if isinstance(pool, WorkerPool) else enumerate(map(_run, left))
        for number, data in finished:
            write_whole(folder / left[number].file, data)
            bar.update()


def _run(part: Job | Duel) -> bytes:
    return part.run()


def parquet(columns: Mapping[str, Any], labels: Mapping[str, Any]) -> bytes:
    """A Parquet file with these columns. Each label becomes a column with the same value in every row."""
    rows = len(next(iter(columns.values()), ()))
    arrays = {name: _label(value, rows) for name, value in labels.items()}
    arrays |= {name: pa.array(_small(name, np.asarray(values))) for name, values in columns.items()}
    return to_bytes(pa.table(arrays))


def to_bytes(table: pa.Table) -> bytes:
    """The table as a Parquet file."""
    file = BytesIO()
    pq.write_table(table, file, compression="zstd", compression_level=9)
    return file.getvalue()


def _label(value: Any, rows: int) -> pa.Array:
    if isinstance(value, str):
        return pa.array([value] * rows, pa.string()).dictionary_encode()
    return pa.array(np.full(rows, value, np.int8))


def _small(name: str, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if values.dtype.kind == "f":
        return values.astype(np.float32)
    if values.dtype.kind == "b" or name == "won":
        return values
    return values.astype(np.int32 if name == "deal" else np.int16)


def collect(parts: Iterable[Job | Duel], folder: Path) -> pa.Table:
    """The rows of these parts, in order."""
    tables = [pq.read_table(folder / part.file) for part in parts]
    return pa.concat_tables([table for table in tables if len(table)], promote_options="default")
