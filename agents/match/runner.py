"""Match play: the one place that computes win rates.

A match plays the same deals in every seating. Luck with the cards is large in this game, and it falls on whoever sits
where; when a line-up is moved on by one seat until everybody has sat everywhere, each policy has held the same hands.
The deal is the unit of statistics, since the games of one deal are not independent.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from multiprocessing import get_context
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import stdtrit
from tqdm import tqdm

from agents.match.games import GIVEN_UP, NO_WINNER, Deals, Played, play_deals
from agents.policy import Policy
from agents.policy_factory import make_policy
from uno_flex_env.options import check_whole, checked_rules, checked_seed
from uno_flex_env.rules import Rules

CONFIDENCE = 0.95
LONGEST_GAME = 10_000
"""Decisions after which a game is given up. Under `play_drawn_card="forced"` rounds can be endless; otherwise hardly a
game in a million takes a tenth of it."""
FIRST_LOOK = 256
"""Deals of the first look of a match that may stop early."""


@dataclass(frozen=True)
class Rate:
    """How often a seat of a policy wins: the share of games, its interval, and what it would be among equals."""

    mean: float
    low: float
    high: float
    fair: float
    deals: int

    def __str__(self) -> str:
        return f"{100 * self.mean:.1f} % [{100 * self.low:.1f}, {100 * self.high:.1f}]"


@dataclass(frozen=True)
class Stop:
    """When a match may end before its last deal, by the win rate of the line-up's first policy."""

    threshold: float | None = None
    """As soon as the interval excludes this rate."""
    width: float | None = None
    """As soon as the interval is narrower than this."""

    def __post_init__(self) -> None:
        for name, value in (("threshold", self.threshold), ("width", self.width)):
            if value is not None and not 0.0 < value < 1.0:
                raise ValueError(f"stop.{name} must lie in (0, 1), got {value}")
        if self.threshold is None and self.width is None:
            raise ValueError("stop needs a threshold or a width, got neither")

    def reached(self, rate: Rate) -> bool:
        """Whether this is enough."""
        excluded = self.threshold is not None and not rate.low <= self.threshold <= rate.high
        return excluded or (self.width is not None and rate.high - rate.low < self.width)


@dataclass(frozen=True, eq=False)
class MatchResult:
    """What came of a match of D deals in R seatings."""

    policies: tuple[str, ...]
    """Their names."""
    lineup: tuple[int, ...]
    """The policy in each seat of the first seating, by its place in `policies`. In seating r all sit r seats on."""
    seed: int
    rules: Rules
    winners: npt.NDArray[np.int8]
    """(D, R), the winning seat, NO_WINNER or GIVEN_UP."""
    decisions: npt.NDArray[np.int32]
    """(D, R), how many decisions the game took."""
    confidence: float = CONFIDENCE
    """Level of the intervals. In a match that could stop early, that of the last look, which is higher."""

    @property
    def num_players(self) -> int:
        return len(self.lineup)

    @property
    def num_games(self) -> int:
        return self.winners.size

    @property
    def no_winner(self) -> int:
        """Rounds that ended without a winner (rules 3)."""
        return int((self.winners == NO_WINNER).sum())

    @property
    def given_up(self) -> int:
        """Games cut off after too many decisions (`longest` of `play_match`); they count as won by nobody."""
        return int((self.winners == GIVEN_UP).sum())

    @cached_property
    def winning_policies(self) -> npt.NDArray[np.int8]:
        """(D, R), the winner by its place in `policies`, or -1."""
        chair = (self.winners - np.arange(self.winners.shape[1])) % self.num_players
        return np.where(self.winners >= 0, np.array(self.lineup, np.int8)[chair], np.int8(-1))

    @cached_property
    def wins(self) -> npt.NDArray[np.bool_]:
        """(D, R, policies), who has won which game."""
        won: npt.NDArray[np.bool_] = self.winning_policies[..., None] == np.arange(len(self.policies))
        return won

    def by_deal(self, policy: str | int) -> npt.NDArray[np.float64]:
        """(D,), the share of a deal's games that one seat of this policy wins; among equals 1 / num_players."""
        index = self._index(policy)
        share: npt.NDArray[np.float64] = self.wins[..., index].mean(axis=1) / self.lineup.count(index)
        return share

    def rate(self, policy: str | int) -> Rate:
        """The win rate of one seat of this policy."""
        return self._rate(self.by_deal(policy), 1 / self.lineup.count(self._index(policy)))

    def seat_rates(self) -> tuple[Rate, ...]:
        """How often each seat wins, whoever sits there; seat 0 begins."""
        return tuple(self._rate((self.winners == seat).mean(axis=1), 1.0) for seat in range(self.num_players))

    def _rate(self, by_deal: npt.NDArray[np.float64], most: float) -> Rate:
        low, high = interval(by_deal, 0.0, most, self.confidence)
        return Rate(float(by_deal.mean()), low, high, 1 / self.num_players, len(by_deal))

    def _index(self, policy: str | int) -> int:
        if policy in self.policies:
            return self.policies.index(str(policy))
        if isinstance(policy, int) and 0 <= policy < len(self.policies):
            return policy
        raise ValueError(f"no such policy in this match: {policy!r}; there are {', '.join(self.policies)}")

    def __str__(self) -> str:
        """A table for people."""
        width = max(map(len, self.policies))
        level = f"{100 * self.confidence:.4g} % interval"
        lines = [f"{'policy':{width}}  seats  wins a seat, {level:16}  fair share"]
        for index, name in enumerate(self.policies):
            rate = self.rate(index)
            lines.append(f"{name:{width}}  {self.lineup.count(index):>5}  {rate!s:>29}  {100 * rate.fair:>8.1f} %")
        lines.append(
            f"{self.num_games:,} games of {len(self.winners):,} deals, {self.decisions.mean():.1f} decisions each"
        )
        if self.no_winner or self.given_up:
            lines.append(f"{self.no_winner:,} without a winner, {self.given_up:,} given up as endless")
        return "\n".join(lines)


def interval(
    values: npt.NDArray[np.float64], least: float, most: float, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """An interval for the mean of what independent deals brought, each between `least` and `most`.

    Student's t, with two deals added, one of each extreme: the idea of Agresti and Coull (Am. Stat. 52,
    1998), which keeps the interval honest with few deals, at rates of 0 or 1, and where hardly any two deals differ.
    """
    padded = np.append(values, (least, most))
    half = stdtrit(padded.size - 1, (1 + confidence) / 2) * padded.std(ddof=1) / np.sqrt(padded.size)
    return max(least, float(padded.mean() - half)), min(most, float(padded.mean() + half))


def duel(policy: str | Policy, against: str | Policy, num_players: int = 2, **options: Any) -> MatchResult:
    """One policy against a table of another: it sits in each of the seats in turn. Options as in `play_match`."""
    return play_match([policy] + [against] * (num_players - 1), **options)


def play_match(
    lineup: Sequence[str | Policy],
    *,
    games: int = 20_000,
    seed: int = 0,
    rules: Rules | Mapping[str, Any] | None = None,
    stop: Stop | None = None,
    workers: int | Executor = 1,
    rows: int = 1024,
    longest: int = LONGEST_GAME,
    progress: bool | tqdm = False,
) -> MatchResult:
    """Play the same deals in every seating of a line-up.

    The line-up is moved on by one seat until it is again what it was: n seatings for n different policies or for one
    against n - 1 of another. A seating that would only repeat another (the same policies in the same seats, with the
    same keys, play the same game) is not played.

    Args:
        lineup: a policy, or what `make_policy` makes one from, for each seat in turn. The same object or the same name
            is the same policy.
        games: rounded up to whole deals.
        seed: deal d has the same cards and keys in each match with this seed, whoever plays.
        rules: as in `VecEnv`.
        stop: when to end early. The intervals at 256 to 511 deals and each doubling hold at once: the last look
            has half of the 5 %, the one before it a quarter and so on (repeated confidence intervals: Jennison and
            Turnbull, J. R. Statist. Soc. B 51, 1989; the error is split over the looks by the union bound).
        workers: processes that share the deals, or a `worker_pool` that several matches share. Policies are pickled.
        rows: games that a process plays at once. As `workers`, it changes nothing but the speed.
        longest: decisions after which a game is given up.
        progress: show a bar on standard error; or one that counts the games of several matches, see `progress_bar`.

    Raises:
        ValueError: an argument is out of its bounds, or two policies have the same name.
        IllegalActionError: a policy has answered with an illegal action.
    """
    deals, given = _set_up(lineup, checked_rules(rules), checked_seed(seed), longest, rows)
    policies = _made(given)
    check_whole("games", games, 1, 1 << 30)
    looks = _looks(-(-games // deals.seatings), stop is not None)
    parts, dealt = list[Played](), 0
    with _playing(deals, policies, workers) as play, _counting(progress, looks[-1][0] * deals.seatings) as bar:
        for size, confidence in looks:
            for part in play(_chunks(range(dealt, size), deals)):
                parts.append(part)
                bar.update(part.winners.size)
            dealt = size
            result = _result(deals, policies, parts, confidence)
            if stop is not None and stop.reached(result.rate(0)):
                break
    return result


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def worker_pool(workers: int) -> Iterator[int | Executor]:
    """Processes for `workers` of several matches, each with one thread; for one worker none but this one."""
    check_whole("workers", workers, 1, 1024)
    if workers == 1:
        yield 1
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), _one_thread) as pool:
        yield pool


def progress_bar(games: int, hidden: bool = False) -> tqdm:
    """A bar on standard error for so many games; where nobody watches, a line now and then."""
    pause = 0.1 if sys.stderr.isatty() else 10.0
    return tqdm(total=games, unit=" games", unit_scale=True, mininterval=pause, disable=hidden)


def _counting(progress: bool | tqdm, games: int) -> AbstractContextManager[tqdm]:
    """The bar of a match: its own, or one that stays open."""
    return progress_bar(games, not progress) if isinstance(progress, bool) else nullcontext(progress)


def _set_up(
    lineup: Sequence[str | Policy], rules: Rules, seed: int, longest: int, rows: int
) -> tuple[Deals, tuple[str | Policy, ...]]:
    """The deals, and each policy once, as it was given."""
    rules.check(len(lineup))
    check_whole("longest", longest, 1, (1 << 31) - 1)
    check_whole("rows", rows, 1, 1 << 20)
    keys = [policy if isinstance(policy, str) else id(policy) for policy in lineup]
    order = list(dict.fromkeys(keys))
    seats, given = tuple(order.index(key) for key in keys), tuple(lineup[keys.index(key)] for key in order)
    seatings = next(turn for turn in range(1, len(seats) + 1) if seats[turn:] + seats[:turn] == seats)
    return Deals(seats, seatings, rules, seed, longest, rows), given


def _made(given: Sequence[str | Policy]) -> list[Policy]:
    """The policies themselves; two of one name could not be told apart."""
    policies = [make_policy(policy) if isinstance(policy, str) else policy for policy in given]
    names = [policy.name for policy in policies]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two different policies are called {name!r}; give one of them another name")
    return policies


def _looks(deals: int, several: bool) -> list[tuple[int, float]]:
    """When the result is looked at: after how many deals, and at which level."""
    if not several:
        return [(deals, CONFIDENCE)]
    sizes = [deals]
    while sizes[0] >= 2 * FIRST_LOOK:
        sizes.insert(0, -(-sizes[0] // 2))
    shares = [0.5 ** (len(sizes) - look) for look in range(len(sizes))]
    shares[0] *= 2  # together they spend all of it
    return [(size, 1 - (1 - CONFIDENCE) * share) for size, share in zip(sizes, shares, strict=True)]


def _chunks(which: range, deals: Deals) -> list[range]:
    """Parts of these deals: enough that workers end together and a bar moves, few enough that their rows stay full."""
    number = min(max(4 * cores(), len(which) * deals.seatings // (4 * deals.rows)), len(which))
    edges = [which.start + len(which) * part // number for part in range(number + 1)]
    return [range(begin, end) for begin, end in pairwise(edges)]


def _result(deals: Deals, policies: Sequence[Policy], parts: Sequence[Played], confidence: float) -> MatchResult:
    winners = np.concatenate([part.winners for part in parts])
    decisions = np.concatenate([part.decisions for part in parts])
    names = tuple(policy.name for policy in policies)
    return MatchResult(names, deals.lineup, deals.seed, deals.rules, winners, decisions, confidence)


Play = Callable[[Iterable[range]], Iterator[Played]]


@contextmanager
def _playing(deals: Deals, policies: Sequence[Policy], workers: int | Executor) -> Iterator[Play]:
    """A function that plays chunks of deals, here or in processes of their own."""
    play = partial(play_deals, deals, policies)
    with nullcontext(workers) if isinstance(workers, Executor) else worker_pool(workers) as pool:
        yield partial(pool.map, play) if isinstance(pool, Executor) else partial(map, play)


def _one_thread() -> None:
    """There are as many workers as cores; torch would start as many threads in each of them."""
    os.environ["OMP_NUM_THREADS"] = "1"  # for a torch that is imported from here on
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)


def games_table(results: Sequence[MatchResult]) -> pa.Table:
    """All games of some matches, one a row, for Parquet. The metadata say under "matches" what was played, as JSON."""
    games = pa.concat_tables([_games_table(number, result) for number, result in enumerate(results)])
    matches = [
        {
            "policies": result.policies,
            "lineup": result.lineup,
            "seed": result.seed,
            "rules": result.rules.to_dict(),
            "confidence": result.confidence,
        }
        for result in results
    ]
    return games.replace_schema_metadata({"matches": json.dumps(matches)})


def _games_table(number: int, result: MatchResult) -> pa.Table:
    deals, seatings = result.winners.shape
    names = [*result.policies, None]  # -1 is the last
    games = result.num_games
    return pa.table(
        {
            "match": np.full(games, number, np.int32),
            "lineup": pa.array([" ".join(result.policies[p] for p in result.lineup)] * games).dictionary_encode(),
            "num_players": np.full(games, result.num_players, np.int8),
            "deal": np.repeat(np.arange(deals, dtype=np.int32), seatings),
            "seating": np.tile(np.arange(seatings, dtype=np.int8), deals),
            "winner": pa.array([names[p] for p in result.winning_policies.ravel()], pa.string()).dictionary_encode(),
            "winning_seat": result.winners.ravel(),
            "decisions": result.decisions.ravel(),
        }
    )
