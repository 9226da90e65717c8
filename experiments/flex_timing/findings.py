"""From raw results to estimates: one or more functions for each question of the study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from agents.flex_policies import FLEX_KINDS
from experiments.flex_timing.decisions import Tried, columns_of, rows_where
from experiments.flex_timing.estimates import Estimate, Floats, by_group, difference, estimate, holm, ratio
from experiments.flex_timing.resets import CAUSES
from experiments.flex_timing.tried_actions import LARGEST, LEADER, NEXT, OTHER, Situation

Cells = dict[int, dict[int, Estimate]]
"""Estimates by the number of players, then by a second number that the function names."""
BINS: dict[str, tuple[int, ...]] = {
    "hand": (1, 2, 3, 4, 5, 6, 7, 9),
    "flex_cards": (0, 1, 2, 3, 4, 5),
    "others_green": (0, 1, 2, 3, 4, 5, 6),
    "leader": (1, 2, 3, 4, 5, 6),
}
"""Where the bins of a feature begin; the last one is open."""
ENOUGH = 30
"""The least number of deals in an estimate that is shown."""


def binned(name: str, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The first value of each value's bin, in the shape of the values."""
    edges = np.array(BINS[name])
    return edges[np.clip(np.searchsorted(edges, values, side="right") - 1, 0, None)]


def bin_label(name: str, begin: int) -> str:
    """The values of a bin as text, such as `7-8` or `9+`."""
    edges = BINS[name]
    if begin == edges[-1]:
        return f"{begin}+"
    end = edges[edges.index(begin) + 1] - 1
    return str(begin) if end == begin else f"{begin}-{end}"


@dataclass(frozen=True, eq=False)
class Results:
    """All raw results, one table for each Parquet file."""

    resets: pa.Table
    twins: pa.Table
    choices: pa.Table
    matches: pa.Table

    @classmethod
    def read(cls, folder: Path) -> Results:
        """Read the Parquet files in the folder of a study."""
        return cls(*(pq.read_table(folder / f"{field.name}.parquet") for field in fields(cls)))

    def tried(self, situation: Situation, variant: str = "main", players: int | None = None) -> Tried:
        """The decisions of one situation with their candidates, for one number of players or for all."""
        return Tried.select(self.choices, situation, variant, players)

    def pairs(self, variant: str = "main", players: int | None = None) -> dict[str, npt.NDArray[Any]]:
        """The twins as columns, a row for each decision."""
        return columns_of(rows_where(self.twins, variant=variant, num_players=players))

    def counts(self, players: int, variant: str = "main") -> dict[str, npt.NDArray[Any]]:
        """What was counted, as columns, a row for each deal."""
        return columns_of(rows_where(self.resets, variant=variant, num_players=players))

    @property
    def players(self) -> list[int]:
        """The numbers of players of the main variant."""
        return sorted(set(rows_where(self.twins, variant="main")["num_players"].to_pylist()))

    def players_in(self, stage: Situation = "hold", variant: str = "main") -> list[int]:
        """The numbers of players at which a situation came up."""
        found = pc.unique(rows_where(self.choices, stage=stage, variant=variant)["num_players"])
        return sorted(found.to_pylist())


# ---- What is a green Power worth? ----


def power_worth(pairs: Mapping[str, npt.NDArray[Any]]) -> Floats:
    """(N,), for each decision: the win rate with a green Power minus the win rate with a red one."""
    worth: Floats = (pairs["green"] - pairs["red"]) / pairs["repeats"]
    return worth


def alone_worth(pairs: Mapping[str, npt.NDArray[Any]]) -> Floats:
    """(N,), for each decision: the win rate with all other Powers red minus the win rate with them as they are. The
    player's own Power is green in both."""
    worth: Floats = (pairs["last"] - pairs["green"]) / pairs["repeats"]
    return worth


def power_by_players(results: Results, variant: str = "main") -> dict[int, Estimate]:
    """What a green Power is worth, by players."""
    pairs = results.pairs(variant)
    return by_group(pairs["num_players"], power_worth(pairs), ENOUGH)


def alone_by_players(results: Results) -> dict[int, Estimate]:
    """The worth of all other Powers being red, by players."""
    pairs = results.pairs()
    return by_group(pairs["num_players"], alone_worth(pairs), ENOUGH)


def power_by_feature(results: Results, feature: str) -> Cells:
    """What a green Power is worth, by players and bins of a feature; one family."""
    pairs = results.pairs()
    return _by_two(pairs["num_players"], binned(feature, pairs[feature]), power_worth(pairs))


def _by_two(one: npt.NDArray[Any], two: npt.NDArray[Any], values: Floats) -> Cells:
    cells = by_group(one.astype(np.int64) * 100 + two, values, ENOUGH)
    table: Cells = {}
    for key, value in cells.items():
        table.setdefault(key // 100, {})[key % 100] = value
    return table


# ---- Spend or hold? Flex or draw? ----


def spend_by_players(results: Results, variant: str = "main") -> dict[int, Estimate]:
    """The best flex less the best other play, by players."""
    tried = results.tried("hold", variant)
    return by_group(tried["num_players"], tried.spend_or_hold(), ENOUGH)


def spend_by_feature(results: Results, feature: str) -> Cells:
    """The best flex less the best other play, by players and bins of a feature; one family."""
    tried = results.tried("hold")
    return _by_two(tried["num_players"], binned(feature, tried[feature]), tried.spend_or_hold())


def spend_by_last(results: Results) -> Cells:
    """The same by players and by whether the player's Power is the last green one (1) or not (0)."""
    tried = results.tried("hold")
    return _by_two(tried["num_players"], (tried["others_green"] == 0).astype(np.int64), tried.spend_or_hold())


def spend_by_policy(results: Results) -> Cells:
    """The same by players and by whether the policy flexed in the game itself (1) or not (0)."""
    tried = results.tried("hold")
    return _by_two(tried["num_players"], tried.flexed.astype(np.int64), tried.spend_or_hold())


def spend_map(results: Results, players: int) -> dict[tuple[int, int], Estimate]:
    """The same at one number of players, by the bins of the smallest other hand and of the own hand."""
    tried = results.tried("hold", players=players)
    leader = np.searchsorted(LEADER_BINS, tried["leader"], side="right") - 1
    hand = np.searchsorted(OWN_BINS, tried["hand"], side="right") - 1
    cells = by_group(leader * 10 + hand, tried.spend_or_hold(), ENOUGH)
    return {(key // 10, key % 10): value for key, value in cells.items()}


LEADER_BINS, LEADER_LABELS = (1, 3, 5), ("1-2", "3-4", "5+")
OWN_BINS, OWN_LABELS = (2, 4, 6), ("2-3", "4-5", "6+")


def draw_by_players(results: Results, situation: Situation) -> dict[int, Estimate]:
    """The best flex less drawing, by players."""
    tried = results.tried(situation)
    return by_group(tried["num_players"], tried.flex_or_draw(), ENOUGH)


@dataclass(frozen=True)
class Agreement:
    """How often the policy chooses the better of two candidates, where one of them is clearly better."""

    clear: Estimate
    """Share of the decisions in which the interval of the difference, over the worlds, excludes zero."""
    by_chance: float
    """The share that is expected if the two are equally good in every decision."""
    agrees: Estimate
    """How often the policy chooses the better one there."""
    regret: Estimate
    """How much it loses where it chooses the worse one. One half of the worlds decides what is clear, and the loss is
    measured in the other half. Positive values are losses."""


def agreement(results: Results, situation: Situation, players: int | None) -> Agreement:
    """The policy's favorite flex against its favorite other play or drawing; `players` is None for all together."""
    tried = results.tried(situation, players=players)
    one, other = tried.favorites()
    clear, flexed = tried.sure(one, other), tried.flexed
    lost = np.full((2, len(tried)), np.nan)
    for half in (0, 1):
        better = tried.sure(one, other, half)
        wrong = (better != 0) & ((better > 0) != flexed)
        lost[half, wrong] = (tried.difference(one, other, 1 - half) * better)[wrong]
    halves = (~np.isnan(lost)).sum(axis=0)
    regret = np.nansum(lost, axis=0)[halves > 0] / halves[halves > 0]
    return Agreement(
        estimate(clear != 0, 0.0),
        tried.sure_by_chance(one, other),
        _of(((clear > 0) == flexed)[clear != 0], 0.0),
        _of(regret, -1.0),
    )


def _of(values: npt.NDArray[Any], least: float) -> Estimate:
    """NaN for fewer than ten."""
    return estimate(values, least) if values.size >= 10 else Estimate(np.nan, np.nan, np.nan, values.size)


# ---- Which flex, and at whom? ----


def by_kind(results: Results) -> Cells:
    """The favorite flex of a kind minus the favorite other play, by players and kind of flex; one family. The key 0
    stands for three and more players together."""
    tried = results.tried("hold")
    other, players = tried.rows(tried.kind(OTHER) & tried.columns["favorite"]), tried["num_players"]
    at = {number: players == number for number in results.players} | {0: players > 2}
    cells: dict[tuple[int, int], Estimate] = {}
    for kind in range(len(FLEX_KINDS)):
        worth = tried.difference(tried.rows(tried.kind(kind)), other)
        for number, here in at.items():
            values = worth[here & ~np.isnan(worth)]
            if values.size >= ENOUGH:
                cells[number, kind] = estimate(values)
    table: Cells = {}
    for (number, kind), value in holm(cells).items():
        table.setdefault(number, {})[kind] = value
    return table


def by_kind_and_leader(results: Results) -> dict[tuple[int, int], Estimate]:
    """The same by the kind of flex and the smallest other hand (`LEADER_BINS`), three and more players together."""
    tried = results.tried("hold")
    other = tried.rows(tried.kind(OTHER) & tried.columns["favorite"])
    leader = np.searchsorted(LEADER_BINS, tried["leader"], side="right") - 1
    cells = {}
    for kind in range(len(FLEX_KINDS)):
        worth = tried.difference(tried.rows(tried.kind(kind)), other)
        for place in range(len(LEADER_BINS)):
            values = worth[(leader == place) & ~np.isnan(worth) & (tried["num_players"] > 2)]
            if values.size >= ENOUGH:
                cells[kind, place] = estimate(values)
    return holm(cells)


def by_target(results: Results) -> dict[tuple[int, str], Estimate]:
    """A flex aimed at the smallest other hand minus one aimed at the next player or at the largest hand, where the
    targets differ; by players and by that other target."""
    cells = {}
    for players in results.players_in("target"):
        tried = results.tried("target", players=players)
        leader = tried.rows(tried.kind(LEADER))
        for name, kind in (("next", NEXT), ("largest hand", LARGEST)):
            other = tried.rows(tried.kind(kind))
            differ = tried.columns["action"][leader] != tried.columns["action"][other]
            values = tried.difference(leader, other)[differ]
            if values.size >= ENOUGH:
                cells[players, name] = estimate(values)
    return holm(cells)


# ---- What happens to the Powers in a round? ----


@dataclass(frozen=True)
class Reset:
    """Powers over whole rounds at one number of players."""

    red: Estimate
    """Share of the turns that start with the player's own Power red."""
    length: Estimate
    """Length of the red spells that end before the round does, in turns of all players over the number of players."""
    ends: dict[str, Estimate]
    """Shares of the red spells by what ends them (`CAUSES`)."""
    resets: Estimate
    """Mean number of resets (rule 5.4) in a round."""
    by_flex: Estimate
    """Share of the resets that a flex causes; a flip icon causes the others."""
    wins: Estimate
    """How often the player who caused the last reset of a round wins it."""
    flexes_last: Estimate
    """Share of the turns with a flex and another play in which the last green player flexes."""
    flexes_not_last: Estimate
    """The same for other players with a green Power."""
    icon: dict[str, tuple[Estimate, Estimate]]
    """How often a classic number with the flip icon is chosen over one without, and how often by chance; by the color
    of the player's Power."""
    all_flip: dict[str, Estimate]
    """How often Wild All Flip is played where it can be: own Power "red", "green" beside others, "last" green one."""


def reset(results: Results, players: int) -> Reset:
    """What is counted about Powers and resets at one number of players."""
    c = results.counts(players)
    spells = {cause: c[f"red_spells_{cause.replace(' ', '_')}"] for cause in CAUSES}
    ended, all_spells = sum(spells[cause] for cause in CAUSES[:-1]), sum(spells.values())
    made = c["resets_by_flex"] + c["resets_by_icon"]
    played = {p: (c[f"icon_taken_{p}"], c[f"icon_or_plain_{p}"], c[f"icon_expected_{p}"]) for p in ("red", "green")}
    return Reset(
        ratio(c["red_turns"], c["turns"]),
        ratio(c["red_length"] / players, ended),
        {cause: ratio(spell, all_spells) for cause, spell in spells.items()},
        ratio(made, np.ones(len(made))),
        ratio(c["resets_by_flex"], made),
        ratio(c["won_by_last_resetter"], c["rounds_with_reset"], 1 / players),
        ratio(c["flexes_last"], c["chances_last"]),
        ratio(c["flexes_not_last"], c["chances_not_last"]),
        {power: (ratio(taken, whole), ratio(chance, whole)) for power, (taken, whole, chance) in played.items()},
        {p: ratio(c[f"all_flip_played_{p}"], c[f"all_flip_chances_{p}"]) for p in ("red", "green", "last")},
    )


# ---- What if a policy flexed at other times in the whole game? ----


def ladder(results: Results, name: str, variant: str = "main") -> dict[tuple[int, str], Estimate]:
    """The win rate of the one seat minus the fair share, by players and by how it flexes; one family."""
    table = rows_where(results.matches, ladder=name, variant=variant)
    cells = {}
    for one in dict.fromkeys(table["one"].to_pylist()):
        for players, share in _shares(rows_where(table, one=one)).items():
            cells[players, one] = estimate(share - 1 / players, -1 / players, 1 - 1 / players)
    return holm(cells)


def _shares(match: pa.Table) -> dict[int, Floats]:
    """(D,), the share of each deal's games that are won, by players."""
    players, wins, games = (match[name].to_numpy() for name in ("num_players", "wins", "games"))
    return {int(number): (wins / games)[players == number] for number in np.unique(players)}


def rules_against_any(results: Results) -> dict[int, Estimate]:
    """The win rate of `flex_by_rules` minus that of `flex_any`, both against `flex_when_stuck` on the same deals, by
    players."""
    duels = (rows_where(results.matches, variant="main", one=one) for one in ("flex_by_rules", "flex_any"))
    rules, others = map(_shares, duels)
    return holm({players: estimate(share - others[players]) for players, share in rules.items() if players in others})


# ---- Do the findings depend on the player and on the rules? ----


def robust(results: Results) -> dict[tuple[int, str, str], Estimate]:
    """The main estimates by players, variant and question. A question is "power", "spend", or how one seat flexes in
    the ladder `policy`."""
    names = list(dict.fromkeys(results.twins["variant"].to_pylist()))
    all_players = sorted({players for name in names[1:] for players in results.players_in(variant=name)})
    found: dict[tuple[int, str, str], Estimate] = {}
    for players in all_players:
        for name in names:
            line = {
                "power": power_by_players(results, name).get(players),
                "spend": spend_by_players(results, name).get(players),
            }
            line |= {how: v for (number, how), v in ladder(results, "policy", name).items() if number == players}
            found |= {(players, name, what): value for what, value in line.items() if value is not None}
    return found


def changes(cells: Mapping[tuple[int, str, str], Estimate]) -> dict[tuple[int, str, str], Estimate]:
    """Each estimate of `robust` minus that of the main variant; one family."""
    family = {}
    for (players, variant, what), value in cells.items():
        if variant != "main" and what != "as_learned" and (players, "main", what) in cells:
            family[players, variant, what] = difference(value, cells[players, "main", what])
    return holm(family)
