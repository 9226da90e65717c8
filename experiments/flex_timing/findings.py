"""From raw results to estimates: one function for each question of the study."""

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
from experiments.flex_timing.decisions import Tried
from experiments.flex_timing.estimates import Estimate, Floats, by_group, difference, estimate, holm, ratio
from experiments.flex_timing.resets import CAUSES
from experiments.flex_timing.tried_actions import LARGEST, LEADER, NEXT, OTHER

Cells = Mapping[Any, Estimate]
BINS: dict[str, tuple[int, ...]] = {
    "hand": (1, 2, 3, 4, 5, 6, 7, 9),
    "flex_cards": (0, 1, 2, 3, 4, 5),
    "others_green": (0, 1, 2, 3, 4, 5, 6),
    "leader": (1, 2, 3, 4, 5, 6),
}
"""Of features: where each bin begins; the last is open."""
ENOUGH = 30
"""Deals that a cell needs to be shown."""


def binned(name: str, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The beginning of the bin of each value."""
    edges = np.array(BINS[name])
    return edges[np.clip(np.searchsorted(edges, values, side="right") - 1, 0, None)]


def bin_label(name: str, begin: int) -> str:
    """For people."""
    edges = BINS[name]
    if begin == edges[-1]:
        return f"{begin}+"
    end = edges[edges.index(begin) + 1] - 1
    return str(begin) if end == begin else f"{begin}-{end}"


@dataclass(frozen=True, eq=False)
class Results:
    """All raw results."""

    resets: pa.Table
    twins: pa.Table
    choices: pa.Table
    matches: pa.Table

    @classmethod
    def read(cls, folder: Path) -> Results:
        """From the Parquet files of a study."""
        return cls(*(pq.read_table(folder / f"{field.name}.parquet") for field in fields(cls)))

    def tried(self, situation: str, variant: str = "main", players: int | None = None) -> Tried:
        """The candidates of one situation."""
        return Tried.of(_only(self.choices, stage=situation, variant=variant, num_players=players))

    def pairs(self, variant: str = "main", players: int | None = None) -> dict[str, npt.NDArray[Any]]:
        """The twins, as columns."""
        return _columns(_only(self.twins, variant=variant, num_players=players))

    def counts(self, players: int, variant: str = "main") -> dict[str, npt.NDArray[Any]]:
        """What was counted in each deal."""
        return _columns(_only(self.resets, variant=variant, num_players=players))

    @property
    def tables(self) -> list[int]:
        """All numbers of players of the main part."""
        return sorted(set(_only(self.twins, variant="main")["num_players"].to_pylist()))

    def players(self, stage: str = "hold", variant: str = "main") -> list[int]:
        """At which tables a situation was met."""
        found = pc.unique(_only(self.choices, stage=stage, variant=variant)["num_players"])
        return sorted(found.to_pylist())


def _only(table: pa.Table, **values: str | int | None) -> pa.Table:
    for name, value in values.items():
        if value is not None:
            column = pc.cast(table[name], pa.string()) if isinstance(value, str) else table[name]
            table = table.filter(pc.equal(column, value))
    return table


def _columns(table: pa.Table) -> dict[str, npt.NDArray[Any]]:
    return {name: table[name].to_numpy() for name in table.column_names if name not in ("variant", "stage")}


# ---- 2. What a green Power is worth ----


def power_worth(pairs: Mapping[str, npt.NDArray[Any]]) -> Floats:
    """(N,), of each sampled decision: wins with the Power green less wins with it red."""
    worth: Floats = (pairs["green"] - pairs["red"]) / pairs["repeats"]
    return worth


def alone_worth(pairs: Mapping[str, npt.NDArray[Any]]) -> Floats:
    """(N,): wins as the only green player less wins with the others' Powers as they are, one's own green in both."""
    worth: Floats = (pairs["last"] - pairs["green"]) / pairs["repeats"]
    return worth


def power_by_players(results: Results, variant: str = "main") -> dict[int, Estimate]:
    """What a green Power is worth at each table."""
    pairs = results.pairs(variant)
    return by_group(pairs["num_players"], power_worth(pairs), ENOUGH)


def alone_by_players(results: Results) -> dict[int, Estimate]:
    """What it is worth to be the only green player."""
    pairs = results.pairs()
    return by_group(pairs["num_players"], alone_worth(pairs), ENOUGH)


def power_by_feature(results: Results, feature: str) -> dict[int, dict[int, Estimate]]:
    """By players, then by the bins of a feature; one family."""
    pairs = results.pairs()
    return _by_two(pairs["num_players"], binned(feature, pairs[feature]), power_worth(pairs))


def _by_two(one: npt.NDArray[Any], two: npt.NDArray[Any], values: Floats) -> dict[int, dict[int, Estimate]]:
    cells = by_group(one.astype(np.int64) * 100 + two, values, ENOUGH)
    table: dict[int, dict[int, Estimate]] = {}
    for key, value in cells.items():
        table.setdefault(key // 100, {})[key % 100] = value
    return table


# ---- 3. Spend or hold, draw or flex ----


def spend_by_players(results: Results, variant: str = "main") -> dict[int, Estimate]:
    """The best flex against the best other play."""
    tried = results.tried("hold", variant)
    return by_group(tried["num_players"], tried.spend_or_hold(), ENOUGH)


def spend_by_feature(results: Results, feature: str) -> dict[int, dict[int, Estimate]]:
    """By players, then by the bins of a feature; one family."""
    tried = results.tried("hold")
    return _by_two(tried["num_players"], binned(feature, tried[feature]), tried.spend_or_hold())


def spend_by_last(results: Results) -> dict[int, dict[int, Estimate]]:
    """By players, then by whether the player is the last green one (1) or not (0)."""
    tried = results.tried("hold")
    return _by_two(tried["num_players"], (tried["others_green"] == 0).astype(np.int64), tried.spend_or_hold())


def spend_by_deed(results: Results) -> dict[int, dict[int, Estimate]]:
    """By players, then by whether the policy flexed (1) or not (0)."""
    tried = results.tried("hold")
    return _by_two(tried["num_players"], tried.flexed.astype(np.int64), tried.spend_or_hold())


def spend_map(results: Results, players: int) -> dict[tuple[int, int], Estimate]:
    """At one table, by the leader's hand and by one's own."""
    tried = results.tried("hold", players=players)
    leader = np.searchsorted(LEADER_BINS, tried["leader"], side="right") - 1
    hand = np.searchsorted(OWN_BINS, tried["hand"], side="right") - 1
    cells = by_group(leader * 10 + hand, tried.spend_or_hold(), ENOUGH)
    return {(key // 10, key % 10): value for key, value in cells.items()}


LEADER_BINS, LEADER_LABELS = (1, 3, 5), ("1-2", "3-4", "5+")
OWN_BINS, OWN_LABELS = (2, 4, 6), ("2-3", "4-5", "6+")


def draw_by_players(results: Results, situation: str) -> dict[int, Estimate]:
    """The best flex against drawing."""
    tried = results.tried(situation)
    return by_group(tried["num_players"], tried.flex_or_draw(), ENOUGH)


@dataclass(frozen=True)
class Agreement:
    """Whether the policy does what is better, where that is clear."""

    clear: Estimate
    """Share of the decisions in which the interval of the difference excludes zero."""
    by_chance: float
    """What that share would be if all candidates were equally good."""
    agrees: Estimate
    """How often the policy does what is better then."""
    regret: Estimate
    """How much it loses where it doesn't, in the half of the worlds that had no say in what is better; above zero is
    lost."""


def agreement(results: Results, situation: str, players: int | None) -> Agreement:
    """Of the policy's own favorite flex against its favorite other play, or against drawing; None for all tables."""
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


# ---- 4. Which flex, and at whom ----


def by_kind(results: Results) -> dict[int, dict[int, Estimate]]:
    """By players (0 for three and more together, whose deals are not the same), then by the kind of flex: the favorite
    of that kind against the favorite other play."""
    tried = results.tried("hold")
    other, players = tried.rows(tried.kind(OTHER) & tried.columns["favorite"]), tried["num_players"]
    at = {number: players == number for number in results.tables} | {0: players > 2}
    cells: dict[tuple[int, int], Estimate] = {}
    for kind in range(len(FLEX_KINDS)):
        worth = tried.difference(tried.rows(tried.kind(kind)), other)
        for number, here in at.items():
            values = worth[here & ~np.isnan(worth)]
            if values.size >= ENOUGH:
                cells[number, kind] = estimate(values)
    table: dict[int, dict[int, Estimate]] = {}
    for (number, kind), value in holm(cells).items():
        table.setdefault(number, {})[kind] = value
    return table


def by_kind_and_leader(results: Results) -> dict[tuple[int, int], Estimate]:
    """By the kind of flex and the leader's hand (`LEADER_BINS`), at tables of three and more."""
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
    """By players: the leader against the next player, and against the largest hand, as targets where they differ."""
    cells = {}
    for players in results.players("target"):
        tried = results.tried("target", players=players)
        leader = tried.rows(tried.kind(LEADER))
        for name, kind in (("next", NEXT), ("largest hand", LARGEST)):
            other = tried.rows(tried.kind(kind))
            differ = tried.columns["action"][leader] != tried.columns["action"][other]
            values = tried.difference(leader, other)[differ]
            if values.size >= ENOUGH:
                cells[players, name] = estimate(values)
    return holm(cells)


# ---- 5. The reset ----


@dataclass(frozen=True)
class Reset:
    """Powers over whole rounds at one table."""

    red: Estimate
    """Share of the turns that begin with one's own Power red."""
    length: Estimate
    """Turns of the table in a red spell that ends before the round does, in rounds of the table."""
    ends: dict[str, Estimate]
    """What ends a red spell, by `CAUSES`."""
    resets: Estimate
    """All-red resets in a round, the mean number of them."""
    by_flex: Estimate
    """Share of the resets that a flex brought; the others came by a flip icon."""
    wins: Estimate
    """How often the player who brought the last reset of a round won it."""
    flexes_last: Estimate
    """Share of the chances to flex instead of another play that are taken by the last green player,"""
    flexes_not_last: Estimate
    """and by others."""
    icon: dict[str, tuple[Estimate, Estimate]]
    """With the own Power "red" and "green": share of the choices between classic numbers with and without the flip
    icon in which the icon is taken, and what it would be by chance."""
    all_flip: dict[str, Estimate]
    """With the own Power "red", "green" beside other green ones, "last": how often Wild All Flip is played."""


def reset(results: Results, players: int) -> Reset:
    """All of item 5 that is counted."""
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


# ---- 6. Ladders ----


def ladder(results: Results, name: str, variant: str = "main") -> dict[tuple[int, str], Estimate]:
    """By players and by how the one flexes: its win rate less a fair share; one family."""
    table = _only(results.matches, ladder=name, variant=variant)
    cells = {}
    for one in dict.fromkeys(table["one"].to_pylist()):
        for players, share in _shares(_only(table, one=one)).items():
            cells[players, one] = estimate(share - 1 / players, -1 / players, 1 - 1 / players)
    return holm(cells)


def _shares(match: pa.Table) -> dict[int, Floats]:
    """By players: the share of the games of each deal that are won."""
    players, wins, games = (match[name].to_numpy() for name in ("num_players", "wins", "games"))
    return {int(number): (wins / games)[players == number] for number in np.unique(players)}


def rules_against_any(results: Results) -> dict[int, Estimate]:
    """By players: how much more `flex_by_rules` wins against `flex_when_stuck` than `flex_any` does, on the same
    deals."""
    shares = {one: _shares(_only(results.matches, variant="main", one=one)) for one in ("flex_by_rules", "flex_any")}
    rules, others = shares.values()
    return holm({players: estimate(share - others[players]) for players, share in rules.items() if players in others})


# ---- 8. Other players and rules ----


def robust(results: Results) -> dict[tuple[int, str, str], Estimate]:
    """By players, variant and what is looked at: "power", "spend", or how one flexes in the policy's ladder."""
    names = list(dict.fromkeys(results.twins["variant"].to_pylist()))
    tables = sorted({players for name in names[1:] for players in results.players(variant=name)})
    found: dict[tuple[int, str, str], Estimate] = {}
    for players in tables:
        for name in names:
            line = {
                "power": power_by_players(results, name).get(players),
                "spend": spend_by_players(results, name).get(players),
            }
            line |= {how: v for (number, how), v in ladder(results, "policy", name).items() if number == players}
            found |= {(players, name, what): value for what, value in line.items() if value is not None}
    return found


def changes(cells: Mapping[tuple[int, str, str], Estimate]) -> dict[tuple[int, str, str], Estimate]:
    """How much each of `robust` differs from the main line; one family."""
    family = {}
    for (players, variant, what), value in cells.items():
        if variant != "main" and what != "as_learned" and (players, "main", what) in cells:
            family[players, variant, what] = difference(value, cells[players, "main", what])
    return holm(family)
