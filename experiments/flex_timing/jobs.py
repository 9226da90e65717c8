"""The simulations of a study in parts: each is played anywhere, kept in a file of its own, and never played twice."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor, as_completed
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
from agents.flex_policies import FlexByRules, Flexing, How, Rule
from agents.match.runner import duel
from agents.policy import Policy
from agents.policy_factory import make_policy
from experiments.flex_timing.resets import resets
from experiments.flex_timing.tried_actions import Situation, choices
from experiments.flex_timing.twins import twins
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import decision_noise

STAGES = ("resets", "twins", "hold", "stuck", "target")
DEALS_AT_ONCE = {"resets": 1000, "twins": 500, "hold": 25, "stuck": 50, "target": 25}
"""In a part: some seconds. They are part of the results, since a network's rounding may depend on the batch."""
LADDER: tuple[How, ...] = ("never", "first_chance", "when_stuck", "as_learned")
BOTS = ("never_flex", "always_flex", "flex_any")
"""Each meets a table of flex_when_stuck, from which it differs in its flex policy alone."""


@dataclass(frozen=True)
class Variant:
    """Who plays, and by which rules."""

    name: str
    policy: str
    rules: Rules = Rules()  # noqa: RUF009 (it is frozen)


@dataclass(frozen=True)
class Job:
    """Deals of a stage."""

    variant: Variant
    stage: str
    num_players: int
    first: int
    last: int
    """The first one that is not among them."""
    repeats: int
    """Playouts of each twin, or worlds."""
    seed: int

    @property
    def file(self) -> str:
        return f"{self.stage}-{self.variant.name}-{self.num_players}-{self.first:06}.parquet"

    def run(self) -> bytes:
        """Play, and hand back the rows as Parquet."""
        policy, rules, players = _policy(self.variant.policy), self.variant.rules, self.num_players
        deals, seed = range(self.first, self.last), self.seed
        if self.stage == "resets":
            columns = resets(policy, seed, deals, players, rules)
        elif self.stage == "twins":
            columns = twins(policy, seed, deals, players, rules, self.repeats)
        else:
            situation = cast(Situation, self.stage)
            columns = choices(policy, seed, deals, players, rules, self.repeats, situation)
        return parquet(columns, {"variant": self.variant.name, "stage": self.stage, "num_players": players})


@dataclass(frozen=True)
class Match:
    """One cell of a ladder: one seat plays differently from all others."""

    variant: Variant
    ladder: str
    """policy, bots or rules."""
    one: str
    """How the one flexes, or which bot it is."""
    num_players: int
    games: int
    seed: int
    rules_found: tuple[Rule, ...] = ()

    @property
    def file(self) -> str:
        return f"match-{self.variant.name}-{self.ladder}-{self.one}-{self.num_players}.parquet"

    def run(self) -> bytes:
        """Play, and hand back the wins of each deal as Parquet."""
        one, others = self._sides()
        result = duel(one, others, self.num_players, games=self.games, seed=self.seed, rules=self.variant.rules)
        games = result.winners.shape[1]
        wins = np.rint(result.by_deal(0) * games).astype(np.int64)
        columns = {"deal": np.arange(len(wins)), "wins": wins, "games": np.full(len(wins), games)}
        notes = {"variant": self.variant.name, "ladder": self.ladder, "one": self.one, "others": others.name}
        return parquet(columns, {**notes, "num_players": self.num_players})

    def _sides(self) -> tuple[Policy, Policy]:
        if self.ladder == "policy":
            policy = _policy(self.variant.policy)
            return Flexing(policy, cast(How, self.one)), policy
        usual = make_policy("flex_when_stuck")
        return FlexByRules(self.rules_found) if self.ladder == "rules" else make_policy(self.one), usual


@lru_cache(maxsize=2)
def _policy(name: str) -> Policy:
    """Loaded once in each process."""
    return make_policy(name)


def stage_jobs(variant: Variant, stage: str, num_players: int, deals: int, repeats: int, seed: int) -> Iterator[Job]:
    """The parts of a stage at one number of players."""
    size = DEALS_AT_ONCE[stage]
    own_seed = int(decision_noise(seed, STAGES.index(stage), num_players, 0)[0])
    for first in range(0, deals, size):
        yield Job(variant, stage, num_players, first, min(first + size, deals), repeats, own_seed)


def run_all(jobs: Iterable[Job | Match], folder: Path, pool: int | Executor, hidden: bool = False) -> None:
    """Play what has no file in this folder yet, in this process or in those of a pool, with a bar on standard error."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = list(jobs)
    left = [job for job in wanted if not (folder / job.file).exists()]
    pause = 0.1 if sys.stderr.isatty() else 10.0
    done_before = len(wanted) - len(left)
    with tqdm(total=len(wanted), initial=done_before, unit=" parts", mininterval=pause, disable=hidden) as bar:
        if not isinstance(pool, Executor):
            for job in left:
                write_whole(folder / job.file, job.run())
                bar.update()
            return
        running = {pool.submit(_run, job): job for job in left}
        try:
            for done in as_completed(running):
                write_whole(folder / running[done].file, done.result())
                bar.update()
        finally:
            for future in running:
                future.cancel()


def _run(job: Job | Match) -> bytes:
    return job.run()


def parquet(columns: Mapping[str, Any], labels: Mapping[str, Any]) -> bytes:
    """Rows as a file; the labels become columns that say the same in each row."""
    rows = len(next(iter(columns.values()), ()))
    arrays = {name: _label(value, rows) for name, value in labels.items()}
    arrays |= {name: pa.array(_small(name, np.asarray(values))) for name, values in columns.items()}
    return to_bytes(pa.table(arrays))


def to_bytes(table: pa.Table) -> bytes:
    """As a Parquet file."""
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


def collect(jobs: Iterable[Job | Match], folder: Path) -> pa.Table:
    """The rows of these parts, in order."""
    tables = [pq.read_table(folder / job.file) for job in jobs]
    return pa.concat_tables([table for table in tables if len(table)], promote_options="default")
