"""Plays matches: the same deals in every seating of a line-up.

The cards decide most single games. So the line-up moves on by one seat until every policy has sat in every seat and
has held the same hands. The games of one deal are not independent, so the deal is the unit of the statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from tqdm import tqdm

from agents.match.games import MatchSetup, Played, play_games
from agents.match.intervals import looks
from agents.match.progress_bar import progress_bar
from agents.match.results import MatchResult, Rate
from agents.match.workers import WorkerPool, cores, worker_pool
from agents.policy import Policy
from agents.policy_factory import make_policy
from uno_flex_env.options import check_whole, checked_rules
from uno_flex_env.rules import Rules
from uno_flex_env.seeding import checked_seed

MAX_DECISIONS = 10_000
"""Decisions after which a game is cut off. Only under `play_drawn_card="forced"` can rounds be endless."""


@dataclass(frozen=True)
class Stop:
    """When a match may end before its last deal, judged by the win rate of the line-up's first policy."""

    threshold: float | None = None
    """Stop as soon as the interval excludes this rate."""
    width: float | None = None
    """Stop as soon as the interval is narrower than this."""

    def __post_init__(self) -> None:
        for name, value in (("threshold", self.threshold), ("width", self.width)):
            if value is not None and not 0.0 < value < 1.0:
                raise ValueError(f"stop.{name} must lie in (0, 1), got {value}")
        if self.threshold is None and self.width is None:
            raise ValueError("stop needs a threshold or a width, got neither")

    def reached(self, rate: Rate) -> bool:
        """Whether a match with this rate may end."""
        excluded = self.threshold is not None and not rate.low <= self.threshold <= rate.high
        return excluded or (self.width is not None and rate.high - rate.low < self.width)


def duel(policy: str | Policy, against: str | Policy, num_players: int = 2, **options: Any) -> MatchResult:
    """Play one policy at tables of another; it sits in each of the seats in turn. Options as in `play_match`."""
    return play_match([policy] + [against] * (num_players - 1), **options)


def play_match(
    lineup: Sequence[str | Policy],
    *,
    games: int = 20_000,
    seed: int = 0,
    rules: Rules | Mapping[str, Any] | None = None,
    stop: Stop | None = None,
    workers: int | WorkerPool = 1,
    num_envs: int = 1024,
    max_decisions: int = MAX_DECISIONS,
    progress: bool | tqdm = False,
) -> MatchResult:
    """Play the same deals in every seating of a line-up.

    The line-up moves on by one seat until it is the first one again. So there are n seatings for n different policies,
    or for one policy against n - 1 of another. No seating is played twice.

    Args:
        lineup: for each seat in turn a policy, or the name that `make_policy` makes one from. The same object or the
            same name is the same policy.
        games: number of games, rounded up to whole deals.
        seed: fixes the deals. Deal d has the same cards and keys in every match with this seed, for all policies.
        rules: as in `VecEnv`.
        stop: when to end early; `agents.match.intervals.looks` explains the intervals of such a match.
        workers: processes that share the deals, or a `worker_pool` that several matches share. Policies are pickled.
            If a worker is killed, its deals are played again.
        num_envs: games that a process plays side by side. Like `workers`, it changes only the speed.
        max_decisions: decisions after which a game is cut off.
        progress: show a bar on standard error; or the `progress_bar` that counts the games of several matches.

    Raises:
        ValueError: an argument is out of its bounds, or two policies have the same name.
        IllegalActionError: a policy has answered with an illegal action.
        ChildProcessError: workers were killed again and again.
    """
    setup, given = _set_up(lineup, checked_rules(rules), checked_seed(seed), max_decisions, num_envs)
    policies = _made(given)
    check_whole("games", games, 1, 1 << 30)
    planned = looks(-(-games // setup.seatings), stop is not None)
    parts, dealt = list[Played](), 0
    with _playing(setup, policies, workers) as play, _counting(progress, planned[-1][0] * setup.seatings) as bar:
        for deals, confidence in planned:
            for part in play(_chunks(range(dealt, deals), setup, shared=workers != 1)):
                parts.append(part)
                bar.update(part.winners.size)
            dealt = deals
            result = _result(setup, policies, parts, confidence)
            if stop is not None and stop.reached(result.rate(0)):
                break
    return result


def _counting(progress: bool | tqdm, games: int) -> AbstractContextManager[tqdm]:
    """The bar of a match: one that closes with it, or one that stays open for other matches."""
    return progress_bar(games, not progress) if isinstance(progress, bool) else nullcontext(progress)


def _set_up(
    lineup: Sequence[str | Policy], rules: Rules, seed: int, max_decisions: int, num_envs: int
) -> tuple[MatchSetup, tuple[str | Policy, ...]]:
    """The setup, and each policy once, in the form that it was given in."""
    rules.check(len(lineup))
    check_whole("max_decisions", max_decisions, 1, (1 << 31) - 1)
    check_whole("num_envs", num_envs, 1, 1 << 20)
    keys = [policy if isinstance(policy, str) else id(policy) for policy in lineup]
    order = list(dict.fromkeys(keys))
    seats, given = tuple(order.index(key) for key in keys), tuple(lineup[keys.index(key)] for key in order)
    seatings = next(turn for turn in range(1, len(seats) + 1) if seats[turn:] + seats[:turn] == seats)
    return MatchSetup(seats, seatings, rules, seed, max_decisions, num_envs), given


def _made(given: Sequence[str | Policy]) -> list[Policy]:
    """The policies themselves; ValueError if two of them have the same name."""
    policies = [make_policy(policy) if isinstance(policy, str) else policy for policy in given]
    names = [policy.name for policy in policies]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two different policies are called {name!r}; give one of them another name")
    return policies


def _chunks(deals: range, setup: MatchSetup, *, shared: bool) -> list[range]:
    """Divide the deals into enough parts that workers end together and a bar moves, but few enough for full batches."""
    least = 4 * cores() if shared else 1
    number = min(max(least, len(deals) * setup.seatings // (4 * setup.num_envs)), len(deals))
    edges = [deals.start + len(deals) * part // number for part in range(number + 1)]
    return [range(begin, end) for begin, end in pairwise(edges)]


def _result(setup: MatchSetup, policies: Sequence[Policy], parts: Sequence[Played], confidence: float) -> MatchResult:
    winners = np.concatenate([part.winners for part in parts])
    decisions = np.concatenate([part.decisions for part in parts])
    names = tuple(policy.name for policy in policies)
    return MatchResult(names, setup.lineup, setup.seed, setup.rules, winners, decisions, confidence)


Play = Callable[[Iterable[range]], Iterator[Played]]


@contextmanager
def _playing(setup: MatchSetup, policies: Sequence[Policy], workers: int | WorkerPool) -> Iterator[Play]:
    """A function that plays chunks of deals, in this process or in worker processes."""
    play = partial(play_games, setup, policies)
    with nullcontext(workers) if isinstance(workers, WorkerPool) else worker_pool(workers) as pool:
        yield partial(pool.map, play) if isinstance(pool, WorkerPool) else partial(map, play)
