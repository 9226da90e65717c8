"""A strong player by heuristics: each scores every legal action, and the action with the highest sum is played.

It knows what an observation says and nothing else: it has no memory, does not search and sees no hidden cards. The
scores were found by a policy gradient over these terms, against rule bots and itself, and rounded. `HEURISTICS` has the
measured worth of each heuristic (`python -m experiments ablation`). With two players many scores differ, because a
player who makes the other one lose a turn plays again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from agents.candidates import FLEX_CARDS, Candidates, Flags, Numbers
from agents.policy import Actions
from uno_flex_env.actions import ACTIONS, FLEX_ACTIONS, NUM_ACTIONS, actions_where
from uno_flex_env.errors import did_you_mean
from uno_flex_env.policy_input import Decisions
from uno_flex_env.seeding import uniforms

_DRAWS_OR_KEEPS = actions_where(lambda action: action.verb in ("draw", "keep"))
_CHALLENGES = actions_where(lambda action: action.verb == "challenge")
_LETS_OFF = actions_where(lambda action: action.verb in ("silent", "ignore"))
_REGULAR_SIDES = FLEX_CARDS & ~FLEX_ACTIONS

_MAKE_DRAW_SCORES = {
    ("next_draws", 2): 0.5,  # Draw Two
    ("others_draw", 1): 3.5,  # Draw Two, flexed
    ("others_draw", 2): 8.0,  # All Draw, flexed
    ("target_bluff", 4): 0.5,  # Draw Four, flexed
}
"""Keys are effects and cards drawn."""
_MAKE_DRAW = np.array([_MAKE_DRAW_SCORES.get((action.effect, action.draws), 0.0) for action in ACTIONS], np.float32)


def by_players(c: Candidates, two: float, more: float) -> Numbers:
    """One number with two players, another with more."""
    return np.where(c.two, np.float32(two), np.float32(more))


def when(which: Flags, score: Numbers | float) -> Numbers:
    """A score for some candidates, 0 for the others."""
    return np.where(which, np.asarray(score, np.float32), np.float32(0.0))


# ---- The heuristics ----


def play_when_possible(c: Candidates) -> Numbers:
    """Draw, or keep the card drawn, only when you can't play."""
    return when(c.of(_DRAWS_OR_KEEPS), -100.0)


def hold_wilds(c: Candidates) -> Numbers:
    """Keep wilds for when no color fits."""
    return when(c.wild, np.where(c.flex, by_players(c, -6.5, -12.0), np.float32(-10.0)))


def spend_wilds_late(c: Candidates) -> Numbers:
    """Hold wilds back less when another player has only one or two cards."""
    return when(c.wild & (c.least <= 2), by_players(c, 5.5, 3.5))


def hold_flex(c: Candidates) -> Numbers:
    """Keep the Power for when no regular side fits."""
    return when(c.flex & ~c.wild, -3.0)


def classic_first(c: Candidates) -> Numbers:
    """Among cards that fit, prefer one without a flex side, which fits less often."""
    return when(c.of(_REGULAR_SIDES), -1.5)


def make_draw(c: Candidates) -> Numbers:
    """With more than two players make others draw, above all by flexing Draw Two and All Draw, which hit everyone."""
    return when(~c.two, _MAKE_DRAW[c.action])


def chain_turns(c: Candidates) -> Numbers:
    """Play what brings another turn, above all if another card of the hand can follow."""
    return when(c.again, np.where(c.follows > 0, by_players(c, 3.0, 5.0), by_players(c, 2.0, -5.0)))


def green_power(c: Candidates) -> Numbers:
    """Flip Powers when that turns yours green, or the others' red."""
    gain = np.maximum(c.gains_power, by_players(c, 0.0, -0.6))
    return when(~c.flex, gain * by_players(c, 1.5, 2.5))


def keep_followers(c: Candidates) -> Numbers:
    """Leave a color of which you hold many, and see that the last card fits."""
    share = np.maximum(c.of_color, 0) / np.maximum(c.left, 1)
    fits = np.where(c.left == 1, by_players(c, 9.0, 11.0), by_players(c, 3.5, 1.0))
    return when(c.two, np.float32(2.5) * share) + when(c.can_follow, fits)


def scarce_colors(c: Candidates) -> Numbers:
    """Leave a color of which most cards are on the pile or in your hand, so that others can't match it."""
    return when(c.plays, by_players(c, -0.4, -0.25) * c.unseen)


def known_colors(c: Candidates) -> Numbers:
    """With two players don't leave a color that the other player has shown in a challenge."""
    return when(c.two & c.plays & c.known, -5.0)


def challenge(c: Candidates) -> Numbers:
    """Challenge every Draw Four: it pays although it may cost six cards."""
    return when(c.of(_CHALLENGES), 8.0)


def guard_leader(c: Candidates) -> Numbers:
    """With more than two players don't give the next turn to a player who has one card."""
    return when(~c.two & c.plays & (c.follower_size <= 1), -5.0)


def aim_at_leader(c: Candidates) -> Numbers:
    """With more than two players aim at the opponent with the fewest cards."""
    return when(~c.two & (c.target_size == c.least), 4.5)


def say_uno(c: Candidates) -> Numbers:
    """Say UNO, and catch a player who does not."""
    return when(c.of(_LETS_OFF), -3.0)


@dataclass(frozen=True)
class Heuristic:
    """A rule of thumb."""

    term: Callable[[Candidates], Numbers]
    """Scores every candidate, (P,) float32; its docstring says the heuristic in a sentence."""
    two: tuple[float, float]
    """Its worth with two players: the expert's win rate less the fair share, in points, against the expert without the
    heuristic; and half the width of the 95 % interval (20,000 games)."""
    four: tuple[float, float]
    """The same for one expert among four players, where the other three play without the heuristic."""

    @property
    def name(self) -> str:
        return self.term.__name__

    @property
    def says(self) -> str:
        return self.term.__doc__ or ""


HEURISTICS = (
    # Without this one the expert draws forever, since most other heuristics count against plays.
    Heuristic(play_when_possible, two=(50.0, 0.0), four=(60.5, 0.5)),
    Heuristic(hold_wilds, two=(14.8, 0.7), four=(12.2, 0.7)),
    Heuristic(spend_wilds_late, two=(2.9, 0.4), four=(0.6, 0.3)),
    Heuristic(hold_flex, two=(3.1, 0.6), four=(1.9, 0.6)),
    Heuristic(classic_first, two=(1.4, 0.5), four=(1.0, 0.6)),
    Heuristic(make_draw, two=(0.0, 0.0), four=(1.7, 0.5)),
    Heuristic(chain_turns, two=(4.7, 0.6), four=(1.7, 0.4)),
    Heuristic(green_power, two=(0.4, 0.3), four=(0.5, 0.5)),
    Heuristic(keep_followers, two=(5.4, 0.6), four=(1.8, 0.5)),
    Heuristic(scarce_colors, two=(0.9, 0.5), four=(0.5, 0.6)),
    Heuristic(known_colors, two=(0.3, 0.2), four=(0.0, 0.0)),
    Heuristic(challenge, two=(0.3, 0.2), four=(0.2, 0.2)),
    Heuristic(guard_leader, two=(0.0, 0.0), four=(0.4, 0.2)),
    Heuristic(aim_at_leader, two=(0.0, 0.0), four=(2.9, 0.5)),
    # Under the official rules UNO says itself. With uno_call="explicit" this is worth 14.3 and 14.7 points.
    Heuristic(say_uno, two=(0.0, 0.0), four=(0.0, 0.0)),
)
NAMES = tuple(heuristic.name for heuristic in HEURISTICS)

_TIE_BREAK = np.float32(1e-3)
"""Scale of the random part of a score. It only breaks ties: unequal scores differ by more."""


@dataclass(frozen=True)
class Expert:
    """The expert policy; see the module.

    Args:
        without: names of heuristics to leave out; ValueError for an unknown name.
    """

    without: tuple[str, ...] = ()
    history: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        for name in self.without:
            if name not in NAMES:
                near = did_you_mean(name, NAMES)
                raise ValueError(f"the expert has no heuristic {name!r}; there are {', '.join(NAMES)}{near}")

    @property
    def name(self) -> str:
        """The word expert, with "-NAME" for each heuristic that it leaves out."""
        return "-".join(("expert", *self.without))

    def act(self, decisions: Decisions) -> Actions:
        """As `Policy.act`."""
        candidates = Candidates(decisions)
        keys = decisions.noise[candidates.row] + candidates.action.astype(np.uint64)
        score = self._score(candidates, uniforms(keys).astype(np.float32) * _TIE_BREAK)
        highest = np.maximum.reduceat(score, candidates.start)
        best = np.flatnonzero(score == highest[candidates.row])
        actions = np.empty(len(decisions), np.int64)
        actions[candidates.row[best]] = candidates.action[best]
        return actions

    def probabilities(self, decisions: Decisions) -> npt.NDArray[np.float64]:
        """The probabilities of all actions, (B, 216): equal for the actions with the highest score, otherwise 0."""
        candidates = Candidates(decisions)
        score = self._score(candidates, np.zeros(len(candidates.row), np.float32))
        highest = np.maximum.reduceat(score, candidates.start)
        best = np.flatnonzero(score > highest[candidates.row] - _TIE_BREAK / 2)
        odds = np.zeros((len(decisions), NUM_ACTIONS))
        odds[candidates.row[best], candidates.action[best]] = 1.0
        odds /= odds.sum(axis=1, keepdims=True)
        return odds

    def _score(self, candidates: Candidates, score: Numbers) -> Numbers:
        """The score of every candidate, on top of the given one."""
        for heuristic in HEURISTICS:
            if heuristic.name not in self.without:
                score = score + heuristic.term(candidates)
        return score
