"""Sentences about estimates: what they say never goes beyond the intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.studies.estimates import Estimate, points
from experiments.studies.findings import bin_label


def listed(words: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, [", ".join(words[:-1]), *words[-1:]]))


def each(cells: Mapping[int, Estimate]) -> str:
    """The number at every table."""
    return listed([f"{points(value)} at {players} players" for players, value in cells.items()]) or "nothing measured"


def caption(what: str, verb: str, cells: Mapping[int, Estimate], than: str = "", *, signed_words: bool = False) -> str:
    """Where a difference is beyond doubt and which way, and where it is not."""
    groups: dict[str, list[str]] = {"more": [], "less": [], "unclear": []}
    for players, value in cells.items():
        groups["unclear" if not value.sure else "more" if value.mean > 0 else "less"].append(
            f"{abs(100 * value.mean):.1f} at {players} players" if value.sure else f"{players}"
        )
    parts = []
    if groups["more"]:
        parts.append(f"{verb} {listed(groups['more'])} points {than}".rstrip())
    if groups["less"]:
        opposite = than.replace("more", "fewer" if signed_words else "less")
        parts.append(f"{verb} {listed(groups['less'])} points {opposite or 'less than nothing'}".rstrip())
    if groups["unclear"]:
        parts.append(f"makes no difference beyond doubt at {listed(groups['unclear'])} players")
    return f"{what} {'; it '.join(parts)}." if parts else ""


def range_of(cells: Mapping[int, Mapping[int, Estimate]], feature: str) -> str:
    """From where to where the estimates go at the table with the most deals."""
    if not cells:
        return ""
    players, line = max(cells.items(), key=lambda item: sum(value.deals for value in item[1].values()))
    least, most = (pick(line, key=lambda begin: line[begin].mean) for pick in (min, max))
    names = {"flex_cards": "cards with a flex side"}
    if line[most].low <= line[least].high:
        return f"It hardly depends on the {names[feature]} (intervals overlap)."
    low, high = (f"{100 * line[b].mean:+.1f} with {bin_label(feature, b)}" for b in (least, most))
    return f"At {players} players it goes from {low} to {high} {names[feature]}."


def verdict(one: Estimate, other: Estimate) -> str:
    """How often one does something beside another: intervals that overlap leave it open."""
    if one.low > other.high:
        return "more often than others"
    return "less often than others" if one.high < other.low else "about as often as others"
