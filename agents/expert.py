"""A strong player by rules of thumb: each scores every legal action, and the highest sum is played.

It knows what an observation says and nothing else: no memory, no search, no hidden cards. The scores were found by a
policy gradient over these very terms, against rule bots and itself, and rounded; what each rule is worth was measured
by `python -m experiments ablation` and stands in `RULES`. Rules differ between tables of two and larger ones where the
game does: with two players whoever makes the next one lose a turn plays again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from agents.candidates import FLEX_CARDS, Choices, Flags, Numbers, sides, verbs
from agents.policy import Actions, Decisions
from uno_flex_env.seeding import uniforms

_DRAW, _CHALLENGE, _LET_OFF = verbs("draw keep"), verbs("challenge"), verbs("silent ignore")
_REGULAR_SIDES = FLEX_CARDS & sides("1 2 3 4 5 6 7 8 S R D", flex=False)


def _effects(*scores: tuple[Flags, float]) -> Numbers:
    """Scores of sides of cards, as a table over the actions."""
    table: Numbers = np.sum([which * np.float32(score) for which, score in scores], axis=0, dtype=np.float32)
    return table


_MAKE_DRAW = _effects(
    (sides("D", flex=False), 0.5),
    (sides("D", flex=True), 3.5),
    (sides("WA/", flex=True), 8.0),
    (sides("W4/", flex=True), 0.5),
)


def by_players(choices: Choices, two: float, more: float) -> Numbers:
    """One number at tables of two, another at larger ones."""
    return np.where(choices.two, np.float32(two), np.float32(more))


def when(which: Flags, score: Numbers | float) -> Numbers:
    """A score for some choices, 0 for the others."""
    return np.where(which, np.asarray(score, np.float32), np.float32(0.0))


# ---- The rules ----


def play_when_possible(c: Choices) -> Numbers:
    """Draw, or keep the card drawn, only when nothing can be played."""
    return when(c.of(_DRAW), -100.0)


def hold_wilds(c: Choices) -> Numbers:
    """Keep wilds for when no color fits."""
    return when(c.wild, np.where(c.flex, by_players(c, -6.5, -12.0), np.float32(-10.0)))


def spend_wilds_late(c: Choices) -> Numbers:
    """Hold wilds back less once somebody else has only one or two cards."""
    return when(c.wild & (c.least <= 2), by_players(c, 5.5, 3.5))


def hold_flex(c: Choices) -> Numbers:
    """Keep the Power for when no regular side fits."""
    return when(c.flex & ~c.wild, -3.0)


def classic_first(c: Choices) -> Numbers:
    """Of cards that fit, play one without a flex side, which fits less often."""
    return when(c.of(_REGULAR_SIDES), -1.5)


def make_draw(c: Choices) -> Numbers:
    """At larger tables make others draw, above all by the sides that hit everybody: flexed Draw Two and All Draw."""
    return when(~c.two, _MAKE_DRAW[c.action])


def chain_turns(c: Choices) -> Numbers:
    """Play what brings another turn when something of one's own follows it."""
    return when(c.again, np.where(c.follows > 0, by_players(c, 3.0, 5.0), by_players(c, 2.0, -5.0)))


def green_power(c: Choices) -> Numbers:
    """Flip when that turns one's own Power green, or others' red."""
    gain = np.maximum(c.gains_power, by_players(c, 0.0, -0.6))
    return when(~c.flex, gain * by_players(c, 1.5, 2.5))


def keep_followers(c: Choices) -> Numbers:
    """Leave a color of which one holds many, and see that the last card fits."""
    share = np.maximum(c.of_color, 0) / np.maximum(c.left, 1)
    fits = np.where(c.left == 1, by_players(c, 9.0, 11.0), by_players(c, 3.5, 1.0))
    return when(c.two, np.float32(2.5) * share) + when(c.can_follow, fits)


def scarce_colors(c: Choices) -> Numbers:
    """Leave a color of which most cards are on the pile or in one's own hand: others then can't match it."""
    return when(c.plays, by_players(c, -0.4, -0.25) * c.unseen)


def known_colors(c: Choices) -> Numbers:
    """With two players leave no color that the other one has shown in a challenge."""
    return when(c.two & c.plays & c.known, -5.0)


def challenge(c: Choices) -> Numbers:
    """Challenge every Draw Four: it pays although it may cost six cards."""
    return when(c.of(_CHALLENGE), 8.0)


def guard_leader(c: Choices) -> Numbers:
    """At larger tables give the next turn to nobody who has one card."""
    return when(~c.two & c.plays & (c.follower_size <= 1), -5.0)


def aim_at_leader(c: Choices) -> Numbers:
    """At larger tables aim at the opponent with the fewest cards."""
    return when(~c.two & (c.target_size == c.least), 4.5)


def say_uno(c: Choices) -> Numbers:
    """Say UNO, and catch whoever does not."""
    return when(c.of(_LET_OFF), -3.0)


@dataclass(frozen=True)
class Rule:
    """A rule of thumb."""

    term: Callable[[Choices], Numbers]
    """Scores every choice, (P,) float32; its docstring says the rule in a sentence."""
    two: tuple[float, float]
    """What it is worth at two players: by how many points of win rate the expert exceeds a fair share against itself
    without the rule, and half the width of the 95 % interval (20,000 games)."""
    four: tuple[float, float]
    """The same of one at a table of four, all others without the rule."""

    @property
    def name(self) -> str:
        return self.term.__name__

    @property
    def says(self) -> str:
        return self.term.__doc__ or ""


RULES = (
    # Without this one the expert draws for ever, since the other rules mostly count against plays.
    Rule(play_when_possible, two=(50.0, 0.0), four=(60.5, 0.5)),
    Rule(hold_wilds, two=(14.8, 0.7), four=(12.2, 0.7)),
    Rule(spend_wilds_late, two=(2.9, 0.4), four=(0.6, 0.3)),
    Rule(hold_flex, two=(3.1, 0.6), four=(1.9, 0.6)),
    Rule(classic_first, two=(1.4, 0.5), four=(1.0, 0.6)),
    Rule(make_draw, two=(0.0, 0.0), four=(1.7, 0.5)),
    Rule(chain_turns, two=(4.7, 0.6), four=(1.7, 0.4)),
    Rule(green_power, two=(0.4, 0.3), four=(0.5, 0.5)),
    Rule(keep_followers, two=(5.4, 0.6), four=(1.8, 0.5)),
    Rule(scarce_colors, two=(0.9, 0.5), four=(0.5, 0.6)),
    Rule(known_colors, two=(0.3, 0.2), four=(0.0, 0.0)),
    Rule(challenge, two=(0.3, 0.2), four=(0.2, 0.2)),
    Rule(guard_leader, two=(0.0, 0.0), four=(0.4, 0.2)),
    Rule(aim_at_leader, two=(0.0, 0.0), four=(2.9, 0.5)),
    # Where UNO says itself this never comes up; with uno_call="explicit" it is worth 14.3 and 14.7 points.
    Rule(say_uno, two=(0.0, 0.0), four=(0.0, 0.0)),
)
NAMES = tuple(rule.name for rule in RULES)

_LUCK = np.float32(1e-3)
"""Settles ties and nothing else: scores differ by more."""


@dataclass(frozen=True)
class Expert:
    """The policy; see the module.

    Args:
        without: names of rules that it does not follow.
    """

    without: tuple[str, ...] = ()
    history: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        for name in self.without:
            if name not in NAMES:
                raise ValueError(f"the expert has no rule {name!r}; there are {', '.join(NAMES)}")

    @property
    def name(self) -> str:
        """The word expert, with "-RULE" for each rule that it is without."""
        return "-".join(("expert", *self.without))

    def act(self, decisions: Decisions) -> Actions:
        """As `Policy.act`."""
        choices = Choices(decisions)
        score = uniforms(decisions.noise[choices.row] + choices.action.astype(np.uint64)).astype(np.float32) * _LUCK
        for rule in RULES:
            if rule.name not in self.without:
                score += rule.term(choices)
        best = np.maximum.reduceat(score, choices.start)
        winners = np.flatnonzero(score == best[choices.row])
        actions = np.empty(len(decisions), np.int64)
        actions[choices.row[winners]] = choices.action[winners]
        return actions
