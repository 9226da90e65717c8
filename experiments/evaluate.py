"""How often a policy wins against the rule bots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from uno_flex_env.learner import LearnerGames
from uno_flex_env.opponents import Policy
from uno_flex_env.vector import BOTS


@dataclass(frozen=True)
class WinRate:
    """Share of rounds won against a bot, with half the width of its 95 % interval."""

    bot: str
    mean: float
    margin: float
    games: int

    def __str__(self) -> str:
        return f"{100 * self.mean:.1f} +- {100 * self.margin:.1f} %"


def win_rate(policy: Policy, bot: str, *, num_players: int = 2, deals: int = 1000, seed: int = 0) -> WinRate:
    """Play each deal from every seat, against bots in all others.

    The same deal in every seat takes much of the luck out; the interval is that of the deals' means, since the games of
    one deal are not independent.
    """
    wins = [_wins(policy, bot, num_players, seat, deals, seed) for seat in range(num_players)]
    by_deal = np.mean(wins, axis=0)
    margin = 1.96 * by_deal.std(ddof=1) / np.sqrt(deals)
    return WinRate(bot, float(by_deal.mean()), float(margin), deals * num_players)


def _wins(policy: Policy, bot: str, num_players: int, seat: int, deals: int, seed: int) -> npt.NDArray[np.bool_]:
    games = LearnerGames(deals, num_players, opponents=bot, seat=seat)
    games.reset(seed)
    wins, over = np.zeros((2, deals), np.bool_)
    actions = np.zeros(deals, np.int64)
    while not over.all():
        rows = np.flatnonzero(~over)
        actions[rows] = policy(games.seen(rows))
        games.step(actions, alone=over)
        wins |= games.rewards > 0
        over |= games.terminated
    return wins


def table(rates: list[WinRate]) -> str:
    """For people."""
    width = max(len(bot) for bot in BOTS)
    lines = [f"{'against':{width}}  wins, 95 % interval   games"]
    lines += [f"{rate.bot:{width}}  {rate!s:>19}  {rate.games:>6,}" for rate in rates]
    return "\n".join(lines)
