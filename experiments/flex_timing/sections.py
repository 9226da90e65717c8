"""The sections of the report on flex timing: tables, and figures with captions that say the finding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from agents.flex_policies import FLEX_KINDS
from experiments.flex_timing import figures, findings
from experiments.flex_timing.estimates import Estimate, difference, holm, points, table
from experiments.flex_timing.findings import BINS, Results
from experiments.flex_timing.resets import CAUSES
from experiments.flex_timing.tree_rules import Found
from experiments.flex_timing.words import beyond_doubt, caption, each, listed, verdict

Curves = Mapping[int, Mapping[int, Estimate]]


def column(cells: Mapping[tuple[int, str], Estimate], one: str) -> dict[int, Estimate]:
    """Of a ladder, one step at all tables."""
    return {players: value for (players, name), value in cells.items() if name == one}


def _by_feature(cells: Curves, feature: str) -> str:
    begins = sorted({begin for line in cells.values() for begin in line})
    rows = [
        [f"{players} players", *(points(line[b]) if b in line else "-" for b in begins)]
        for players, line in cells.items()
    ]
    head = [figures.FEATURE_LABELS[feature], *(findings.bin_label(feature, b) for b in begins)]
    return table(head, rows)


def _figure(name: str, text: str) -> str:
    return f"![{name.replace('_', ' ')}](figures/{name}.png)\n\n> {text}"


def power(results: Results, folder: Path) -> str:
    """What a green Power is worth: its section."""
    panels = {feature: findings.power_by_feature(results, feature) for feature in BINS}
    tables = results.tables
    figures.save(figures.curves(panels, tables, "worth of a green Power, points"), folder / "figures", "power")
    overall, alone = findings.power_by_players(results), findings.alone_by_players(results)
    pairs = results.pairs()
    text = caption("A green Power", "is worth", overall, "more than a red one", "less than a red one")
    text += _beyond_doubt(panels)
    head = ["players", "deals", "green less red", "only green one less as it was"]
    rows = [[str(p), f"{v.deals:,}", points(v), points(alone[p]) if p in alone else "-"] for p, v in overall.items()]
    return "\n\n".join(
        [
            "## What is a green Power worth?",
            f"{len(pairs['deal']):,} sampled turns, in which at least one other Power is green, and their twins. In "
            "the last column the current player's Power is green, and all others are red instead of as they were: that "
            "holds what the others lose as well as that one's own flex turns all green again.",
            table(head, rows),
            _figure("power", text),
            *(_by_feature(panels[feature], feature) for feature in BINS),
        ]
    )


def spend(results: Results, folder: Path) -> str:
    """Spend or hold, flex or draw: its section."""
    panels = {feature: findings.spend_by_feature(results, feature) for feature in BINS}
    players = results.tables
    figures.save(figures.curves(panels, players, "flex less other play, points"), folder / "figures", "spend")
    maps = {p: findings.spend_map(results, p) for p in players}
    figures.save(figures.maps(maps), folder / "figures", "spend_map")
    overall = findings.spend_by_players(results)
    text = caption(
        "The best flex", "is worth", overall, "more than the best other play", "less than the best other play"
    )
    text += _beyond_doubt(panels)
    deeds, last = findings.spend_by_deed(results), findings.spend_by_last(results)
    head = ["players", "deals", "all", "where it flexed", "where it held", "last green player", "others"]
    rows = [
        [
            str(p),
            f"{v.deals:,}",
            points(v),
            _cell(deeds, p, 1),
            _cell(deeds, p, 0),
            _cell(last, p, 1),
            _cell(last, p, 0),
        ]
        for p, v in overall.items()
    ]
    return "\n\n".join(
        [
            "## Spend now, or hold?",
            "Decisions in which a flex and another play are legal, one of each deal: the best flex less the best other "
            "play.",
            table(head, rows),
            _figure("spend", text),
            *(_by_feature(panels[feature], feature) for feature in BINS),
            _figure("spend_map", _map_in_short(maps)),
            _agreement(results, "hold", "The policy's favorite flex against its favorite other play"),
            "### Drawing by choice",
            _draws(results),
            _agreement(results, "stuck", "Where flexes are the only plays: the favorite flex against drawing"),
        ]
    )


def _map_in_short(maps: Mapping[int, Mapping[tuple[int, int], Estimate]]) -> str:
    sure = [
        f"{100 * value.mean:+.1f} at {players} players with {findings.OWN_LABELS[own]} cards in hand and "
        f"{findings.LEADER_LABELS[leader]} in the smallest other one"
        for players, cells in maps.items()
        for (leader, own), value in cells.items()
        if value.sure
    ]
    return (
        f"The same by both hands: beyond doubt (bold, corrected table by table) is {listed(sure) or 'nothing'}. "
        f"Light: spend; dark: hold; white: fewer than {findings.ENOUGH} deals."
    )


def _beyond_doubt(panels: Mapping[str, Curves]) -> str:
    parts = [
        beyond_doubt(f"By {figures.FEATURE_LABELS[feature]}", feature, cells)
        for feature, cells in panels.items()
        if len({begin for line in cells.values() for begin in line}) > 1
    ]
    return "".join(f" {part}" for part in parts if part)


def _cell(cells: Curves, players: int, place: int) -> str:
    return points(cells[players][place]) if place in cells.get(players, {}) else "-"


def _draws(results: Results) -> str:
    rows = []
    hold, stuck = (findings.draw_by_players(results, situation) for situation in ("hold", "stuck"))
    for players in sorted({*hold, *stuck}):
        rows.append([str(players), *(points(c[players]) if players in c else "-" for c in (hold, stuck))])
    head = ["players", "best flex less drawing, where another play is legal", "where flexes are the only plays"]
    return table(head, rows)


def _agreement(results: Results, situation: str, what: str) -> str:
    rows = []
    for players in (*results.players(situation), None):
        found = findings.agreement(results, situation, players)
        clear, agrees, regret = (points(v, signed=False) for v in (found.clear, found.agrees, found.regret))
        rows.append(
            [str(players or "all"), f"{clear} ({100 * found.by_chance:.1f})", str(found.agrees.deals), agrees, regret]
        )
    head = ["players", "clear decisions, % (by chance)", "number", "policy agrees there, %", "regret where not, points"]
    return (
        f"{what}; a decision is clear where the 95 % interval over its worlds excludes zero. What is clear by chance "
        "is right as often as wrong, which draws the agreement to 50 % where few are clear. A regret above zero is "
        f"lost; it is shown where there are ten to measure it by.\n\n{table(head, rows)}"
    )


def kinds_in_short(results: Results) -> str:
    """Which kinds of flex are better than another play beyond doubt, and which are worse."""
    parts = []
    for players, cells in findings.by_kind(results).items():
        sure = {kind: value for kind, value in cells.items() if value.sure}
        for sign, what in ((1, "better"), (-1, "worse")):
            names = [f"{FLEX_KINDS[kind]} ({points(value)})" for kind, value in sure.items() if value.mean * sign > 0]
            if names and players:
                where = f"{players} players"
                parts.append(f"at {where} {what}: {listed(names)}")
    return f"Than another play, {'; '.join(parts)}." if parts else "No kind of flex is beyond doubt better than others."


def kinds(results: Results, folder: Path) -> str:
    """Which flex, and at whom: its section."""
    cells = findings.by_kind(results)
    figures.save(figures.kinds(cells, results.tables), folder / "figures", "kinds")
    rows = [[FLEX_KINDS[k], *(_cell(cells, p, k) for p in cells)] for k in range(len(FLEX_KINDS))]
    leader = findings.by_kind_and_leader(results)
    by_leader = [
        [name, *(points(leader[k, b]) if (k, b) in leader else "-" for b in range(len(findings.LEADER_LABELS)))]
        for k, name in enumerate(FLEX_KINDS)
    ]
    sections = [
        "## Which flex is worth it?",
        "The favorite flex of each kind less the favorite other play, where both are legal.",
        table(["flex", *(f"{p} players" if p else "3 and more together" for p in cells)], rows),
        _figure("kinds", kinds_in_short(results) + " Other intervals that miss zero don't stand up to the correction."),
        "By the smallest other hand, three players and more:",
        table(["flex", *(f"{label} cards" for label in findings.LEADER_LABELS)], by_leader),
    ]
    if targets := findings.by_target(results):
        sections += [
            "### Whom to target",
            "A targeted flex aimed at the smallest other hand, less the same flex aimed at somebody else, where "
            "the two differ:",
            table(
                ["players", "instead of", "difference"], [[str(p), name, points(v)] for (p, name), v in targets.items()]
            ),
            _targets_in_short(targets),
        ]
    return "\n\n".join(sections)


def _targets_in_short(cells: Mapping[tuple[int, str], Estimate]) -> str:
    sure = [f"than the {name} at {players} players ({points(v)})" for (players, name), v in cells.items() if v.sure]
    return (
        f"The smallest hand is beyond doubt another target {listed(sure)}."
        if sure
        else "No target is beyond doubt better."
    )


def resets(results: Results, folder: Path) -> str:
    """The reset: its section."""
    tables = sorted(set(results.resets["num_players"].to_pylist()))
    found = {players: findings.reset(results, players) for players in tables}
    figures.save(figures.resets(found), folder / "figures", "resets")
    lines: dict[str, Callable[[findings.Reset], str]] = {
        "turns with a red Power, %": lambda r: _share(r.red),
        "length of the red spells that end before the round, in rounds of the table": lambda r: _plain(r.length),
        **{f"red spells ended by: {cause}, %": partial(_ended_by, cause) for cause in CAUSES},
        "resets in a round": lambda r: _plain(r.resets),
        "of these by a flex (others by a flip icon), %": lambda r: _share(r.by_flex),
        "wins of who brought the last reset of a round, % (fair share)": lambda r: _share(r.wins),
        "chances to flex taken by the last green player, %": lambda r: _share(r.flexes_last),
        "taken by others, %": lambda r: _share(r.flexes_not_last),
        "flip icon rather than a plain number, Power red, %": lambda r: _against(r.icon["red"]),
        "the same, Power green, %": lambda r: _against(r.icon["green"]),
        "Wild All Flip played, Power red, %": lambda r: _share(r.all_flip["red"]),
        "the same, green among others, %": lambda r: _share(r.all_flip["green"]),
        "the same, last green player, %": lambda r: _share(r.all_flip["last"]),
    }
    rows = [[name, *(read(reset) for reset in found.values())] for name, read in lines.items()]
    for row in rows:
        if row[0].endswith("(fair share)"):
            row[1:] = [f"{cell} ({100 / players:.0f})" for cell, players in zip(row[1:], tables, strict=True)]
    few, many = found[tables[0]], found[tables[-1]]
    text = (
        f"A Power is red in {100 * few.red.mean:.0f} % of the turns at {tables[0]} players and in "
        f"{100 * many.red.mean:.0f} % at {tables[-1]}, with {few.resets.mean:.1f} and {many.resets.mean:.1f} resets in "
        "a round. "
    )
    text += "The last green player, whose Power comes back at once, takes chances to flex " + listed(
        [f"{word} at {listed(tables)} players" for word, tables in _verdicts(found).items()]
    )
    return "\n\n".join(
        [
            "## The reset",
            "When the last green Power turns red, all turn green (rules 5.4). Counted in whole rounds; in brackets "
            "after the choices of flip icons, what they would be by chance.",
            table(["", *(f"{p} players" for p in tables)], rows),
            _figure("resets", text + "."),
            _as_tools(found),
            _seeks(results),
        ]
    )


def _as_tools(found: Mapping[int, findings.Reset]) -> str:
    """How flip icons and Wild All Flip are used."""

    def shares(read: Callable[[findings.Reset], Estimate]) -> str:
        values = [read(reset) for reset in found.values()]
        return listed([f"{100 * value.mean:.0f}" for value in values if not np.isnan(value.mean)]) or "no"

    return (
        "As tools: with a red Power a flip icon is taken rather than a plain number in "
        f"{shares(lambda r: r.icon['red'][0])} % of the choices at {listed(list(map(str, found)))} players, with a "
        f"green one in {shares(lambda r: r.icon['green'][0])} %; Wild All Flip is played in "
        f"{shares(lambda r: r.all_flip['red'])} % of the chances with a red Power, in "
        f"{shares(lambda r: r.all_flip['green'])} % with a green one beside others. What either is worth was not "
        "measured."
    )


def _seeks(results: Results) -> str:
    """Whether it is right to flex sooner as the last green player."""
    cells = findings.spend_by_last(results)
    apart = {p: difference(line[1], line[0]) for p, line in cells.items() if len(line) == 2}
    if not apart:
        return "Too few decisions of the last green player were met to say whether flexing is worth more then."
    return (
        "Flexing rather than another play, by the last green player less by others (of different deals): "
        f"{each(holm(apart))}."
    )


def _verdicts(found: Mapping[int, findings.Reset]) -> dict[str, list[str]]:
    """At which tables the last green player flexes more often than others."""
    words: dict[str, list[str]] = {}
    for players, reset in found.items():
        words.setdefault(verdict(reset.flexes_last, reset.flexes_not_last), []).append(str(players))
    return words


def _share(value: Estimate) -> str:
    return points(value, signed=False)


def _ended_by(cause: str, found: findings.Reset) -> str:
    return _share(found.ends[cause])


def _plain(value: Estimate) -> str:
    return "-" if np.isnan(value.mean) else f"{value.mean:.2f} [{value.low:.2f}, {value.high:.2f}]"


def _against(pair: tuple[Estimate, Estimate]) -> str:
    return f"{points(pair[0], signed=False)} ({100 * pair[1].mean:.0f})" if not np.isnan(pair[0].mean) else "-"


def ladders(results: Results, folder: Path) -> str:
    """The whole policy, flexing otherwise: its section."""
    policy, bots = findings.ladder(results, "policy"), findings.ladder(results, "bots")
    tables = sorted({players for players, _ in policy})
    all_bots = bots | findings.ladder(results, "rules")
    panels = {"the policy, flexing otherwise, against itself": policy, "rule bots against flex_when_stuck": all_bots}
    figures.save(figures.ladders(panels, tables), folder / "figures", "ladders")
    cells, fair = {how: column(policy, how) for how in ("never", "first_chance", "when_stuck")}, "a fair share"
    text = " ".join(
        caption(f"One that {figures.LADDER_LABELS[how]}", "wins", column, f"more than {fair}", f"less than {fair}")
        for how, column in cells.items()
    )
    return "\n\n".join(
        [
            "## The whole policy, flexing otherwise",
            "One seat decides when to flex in another way and everything else as before; all others are unchanged. "
            "Wins above a fair share, in match play on the same deals in every seating. Rule bots differ from "
            "`flex_when_stuck` in nothing else.",
            _ladder_table(policy, tables),
            _ladder_table(bots, tables),
            _figure("ladders", text + " " + _bots_in_short(bots)),
        ]
    )


def _bots_in_short(cells: Mapping[tuple[int, str], Estimate]) -> str:
    return "Rule bots: " + " ".join(
        caption(f"`{one}`", "wins", column(cells, one), "more than a fair share", "less than a fair share")
        for one in dict.fromkeys(one for _, one in cells)
    )


def _ladder_table(cells: Mapping[tuple[int, str], Estimate], tables: Sequence[int]) -> str:
    ones = list(dict.fromkeys(one for _, one in cells))
    rows = [[f"`{one}`", *(points(cells[p, one]) if (p, one) in cells else "-" for p in tables)] for one in ones]
    return table(["", *(f"{p} players" for p in tables)], rows)


def rules_in_short(results: Results) -> str:
    """Whether the rules help a bot."""
    match = findings.ladder(results, "rules")
    sure = {players: value for (players, _), value in match.items() if value.sure}
    better = [f"{players} ({points(value)})" for players, value in sure.items() if value.mean > 0]
    worse = [f"{players} ({points(value)})" for players, value in sure.items() if value.mean < 0]
    same = [str(players) for (players, _), value in match.items() if value.mean == 0]
    unclear = [str(players) for (players, _), value in match.items() if players not in sure and value.mean != 0]
    outcome = [
        f"wins more than a fair share at {listed(better)} players" if better else "",
        f"less at {listed(worse)} players" if worse else "",
        f"neither beyond doubt at {listed(unclear)} players" if unclear else "",
        f"it is the same bot at {listed(same)} players, where the rules never spend" if same else "",
    ]
    against = each(findings.rules_against_any(results))
    what = "The same rules as a bot, all else as in `flex_when_stuck`, against a table of that:"
    return (
        f"{what} it {'; '.join(filter(None, outcome))}. `flex_any`, which flexes like any card and knows no rules, is "
        f"the better measure: against the same table, on the same deals, the rules win more than it does by {against}."
    )


def rules(results: Results, found: Found, folder: Path) -> str:
    """Rules that a person can use: their section."""
    figures.save(figures.tree(found), folder / "figures", "tree")
    match = findings.ladder(results, "rules")
    spends = sum(leaf.share for leaf in found.leaves if leaf.rule.spend)
    text = (
        f"The rules spend the Power in {100 * spends:.0f} % of the decisions between a flex and another play, one of "
        f"each deal; the policy does in {100 * results.tried('hold').flexed.mean():.0f} %."
    )
    return "\n\n".join(
        [
            "## Rules that a person can use",
            "A shallow tree, fitted to what the best flex was worth over the best other play; branches that come to "
            "the same are one. The numbers of its leaves are of the deals that it was fitted to, which flatters them, "
            "so they carry no star; below is what it is worth on others.",
            "\n".join(f"- {leaf.sentence()}" for leaf in found.leaves),
            _figure("tree", text),
            "What spending by a rule is worth over always holding, in points for each such decision:",
            table(
                ["by the tree (cross-validated)", "always spending", "as the policy spends"],
                [[points(found.by_tree), points(found.always), points(found.by_policy)]],
            ),
            "A leaf says when to spend and not on what: the bot then plays any colored flex.",
            rules_in_short(results),
            _ladder_table(match, sorted({players for players, _ in match})),
        ]
    )


def robust(results: Results, search: str) -> str:
    """Other players and rules: their section."""
    cells = findings.robust(results)
    lines = dict.fromkeys((players, variant) for players, variant, _ in cells)

    def lined(cells: Mapping[tuple[int, str, str], Estimate], without: str = "") -> str:
        rows = [
            [str(p), name, *(points(cells[p, name, what]) if (p, name, what) in cells else "-" for what in ROBUST)]
            for p, name in lines
            if name != without
        ]
        return table(["players", "variant", *ROBUST.values()], rows)

    return "\n\n".join(
        [
            "## Do the findings depend on the player and on the rules?",
            f"The same with `{search}` in place of the policy (its own moves in playouts, too), and with three "
            "switches of the rules. The policy has learned by the official rules; by others it plays as well as it "
            "can tell, and sees an input set that never was in training. A search knows no restriction: where it would "
            "flex and may not, or has to, its prior policy decides.",
            lined(cells),
            "What changes: each line less the main one. They share deals, so these intervals, which take them for "
            "independent, are wider than need be.",
            lined(findings.changes(cells), without="main"),
        ]
    )


ROBUST = {
    "power": "green Power",
    "spend": "flex less other play",
    "never": "never",
    "first_chance": "first chance",
    "when_stuck": "when stuck",
}
"""What is looked at once more, as heads of a table."""
