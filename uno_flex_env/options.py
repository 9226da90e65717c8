"""The options of an episode, which are the same in every environment, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from functools import cached_property
from typing import Any, Literal

from uno_flex_env import _core
from uno_flex_env.rules import Rules

REWARDS: tuple[str, ...] = _core.REWARDS
"""The kinds of reward, by the core's number."""

MAX_HISTORY: int = _core.MAX_HISTORY
"""The longest history, in events."""

DEFAULT_MAX_DECISIONS = 20_000
"""After so many decisions the environments of PettingZoo, Gymnasium and Stable-Baselines3 truncate an episode.

Some ways to play never end a round. At 2 to 8 players under the official rules, fewer than one random round in a
million takes so many decisions, and fewer than one random match.
"""

ILLEGAL = ("raise", "terminate")
"""What an illegal action does: raise IllegalActionError, or end the episode with -1 for the player that took it."""


@dataclass(frozen=True)
class EpisodeOptions:
    """The options of an episode. The environments take them as keyword arguments, with the defaults below.

    Args:
        num_players: 2 to 8.
        rules: the switches of rules 9. Environments also take a dict of the switches that differ from the official
            ones, or None for the official rules.
        match: play a whole match to `rules.target_score` instead of one round.
        reward: "win" pays 1 to the winner and -1/(n-1) to each loser of n players. With "points" each loser pays the
            points of its hand / 100 to the winner. A match pays "win" once, at its end, and "points" after every round.
        history: how many of the last public events of a round are observed, 0 to 1024.
        max_decisions: truncate the episode after this many decisions; None for no limit. In an environment with one
            learning seat, only the decisions of that seat count. In the environments of PettingZoo, Gymnasium and
            Stable-Baselines3, the default is `DEFAULT_MAX_DECISIONS`.
        dealer: seat that deals the (first) round; None for the last seat, so that seat 0 begins.

    Raises:
        ValueError: an option is out of range; the message names it.
    """

    num_players: int = 2
    rules: Rules = Rules()  # noqa: RUF009 (it is frozen)
    _: KW_ONLY
    match: bool = False
    reward: Literal["win", "points"] = "win"
    history: int = 0
    max_decisions: int | None = None
    dealer: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.rules, Rules):
            raise ValueError(f"rules must be a Rules or None, got {self.rules!r}")
        self.rules.check(self.num_players)
        check_flag("match", self.match)
        check_one_of("reward", self.reward, REWARDS)
        check_whole("history", self.history, 0, MAX_HISTORY)
        if self.max_decisions is not None:
            check_whole("max_decisions", self.max_decisions, 1, (1 << 32) - 1)
        if self.dealer is not None and (type(self.dealer) is not int or not 0 <= self.dealer < self.num_players):
            raise ValueError(f"dealer must be a seat from 0 to {self.num_players - 1}, got {self.dealer!r}")

    @property
    def first_dealer(self) -> int:
        """Seat that deals the (first) round."""
        return self.num_players - 1 if self.dealer is None else self.dealer

    @cached_property
    def core(self) -> _core.EpisodeOptions:
        """These options as the core takes them."""
        return _core.EpisodeOptions(
            num_players=self.num_players,
            rules=self.rules.core,
            dealer=self.first_dealer,
            match=self.match,
            reward=REWARDS.index(self.reward),
            history=self.history,
            max_decisions=self.max_decisions or 0,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def checked_rules(rules: Rules | Mapping[str, Any] | None) -> Rules:
    """`Rules` from `Rules`, from the switches that differ from the official ones, or from None."""
    if isinstance(rules, Rules):
        return rules
    if rules is None:
        return Rules()
    if isinstance(rules, Mapping):
        return Rules.from_dict(rules)
    raise ValueError(f"rules must be a Rules, a dict of switches or None, got {rules!r}")


def check_flag(name: str, value: object) -> None:
    """ValueError unless the option is True or False."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be True or False, got {value!r}")


def check_one_of(name: str, value: object, choices: tuple[str | None, ...]) -> None:
    """ValueError unless the option is one of the choices."""
    if not any(value == choice and type(value) is type(choice) for choice in choices):
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}")


def check_whole(name: str, value: object, least: int, most: int) -> None:
    """ValueError unless the option is a whole number in these bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}, got {value!r}")
