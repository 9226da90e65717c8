"""The report on flex timing: tables, figures with captions that say the finding, all from the raw results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from agents.files import write_whole
from agents.flex_bots import FLEX_KINDS
from experiments.studies import figures, findings
from experiments.studies.estimates import Estimate, points, table
from experiments.studies.findings import BINS, Results
from experiments.studies.resets import CAUSES
from experiments.studies.rules import Found, find
from experiments.studies.words import caption, each, listed, range_of, verdict

Curves = Mapping[int, Mapping[int, Estimate]]

METHOD = """\
## Method, and what it can't say

- One decision of each deal is sampled, uniformly among those of its kind, so the deal is the unit of every interval:
  Student's t on one value a deal with one deal of each extreme added, the same as in match play. Shares of events
  are ratios of sums over deals, linearized. A star means that a difference is not zero at a level of 5 % after Holm's
  correction for all comparisons of its table.
- *Twins* share all cards, the order of the draw pile, and the luck of each seat's decisions; they differ in Powers
  alone.
- *Candidates* of a decision are tried in the same worlds, drawn uniformly from all that agree with what the player
  knows; hidden cards are never looked at. Candidates are the policy's favorite of each kind of flex, its two favorite
  other plays, and drawing: favorites are what it does when nothing else is legal. The best of several is chosen in one
  half of the worlds and measured in the other half, both ways round.
- After the candidate the policy plays all seats. So a difference is what one move is worth *if all go on as this policy
  does*, not under perfect play; worlds are drawn without what the others' earlier moves give away.
- Decisions with one card in hand are left out: every legal play wins then. So are cards just drawn.
- For somebody with a green Power, the flexes left until all turn green again are one more than the green Powers of
  others, so the distance to the reset and the others' Powers are one and the same feature.
- The same command gives the same numbers, with any number of processes. On another kind of processor a network's
  rounding can differ, and with it single games."""


def write_report(results: Results, folder: Path, notes: Mapping[str, Any]) -> None:
    """Draw all figures and write report.md."""
    (folder / "figures").mkdir(exist_ok=True)
    found = find(results.tried("hold"))
    sections = [
        _head(results, notes),
        _power(results, folder),
        _spend(results, folder),
        _kinds(results, folder),
        _resets(results, folder),
        _ladders(results, folder),
        _rules(results, found, folder),
        _robust(results),
        METHOD,
    ]
    write_whole(folder / "report.md", ("\n\n".join(sections) + "\n").encode())


def _head(results: Results, notes: Mapping[str, Any]) -> str:
    config = notes["config"]
    tables = ",".join(map(str, config["players"]))
    alone, spend = findings.alone_by_players(results), findings.spend_by_players(results)
    ladder = findings.ladder(results, "policy")
    weights = "".join(
        f" (weights {digest[:12]})" for name, digest in notes["weights"].items() if name == config["policy"]
    )
    lines = [
        "# When is a flex best spent?",
        f"`python -m experiments study flex_timing --policy {config['policy']} --players {tables}` wrote this page, "
        f"its figures and the Parquet files beside it. All seats are played by `{config['policy']}`{weights}; seed "
        f"{config['seed']}; `config.json` has the rest. Numbers are percentage points of win probability with 95 % "
        "intervals; a star marks differences that stand up to the correction for many comparisons.",
        "## In short",
        f"- **A green Power is worth** {each(findings.power_by_players(results))} at the beginning of a turn.",
        f"- **Being the only green player**, whose flex comes back at once, is worth a further {each(alone)}.",
        f"- **The best flex against the best other play**, over all decisions between the two: {each(spend)}.",
        *(
            f"- **One seat that {figures.LADDER_LABELS[how]}** wins, above a fair share against the unchanged policy, "
            f"{each(_column(ladder, how))}."
            for how in ("never", "first_chance", "when_stuck")
        ),
    ]
    return "\n\n".join(lines[:3]) + "\n\n" + "\n".join(lines[3:])


def _column(cells: Mapping[tuple[int, str], Estimate], one: str) -> dict[int, Estimate]:
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
    return f"![{name.replace('_', ' ')}](figures/{name}.png)\n\n*{text}*"


def _power(results: Results, folder: Path) -> str:
    panels = {feature: findings.power_by_feature(results, feature) for feature in BINS}
    tables = results.tables
    figures.save(figures.curves(panels, tables, "worth of a green Power, points"), folder / "figures", "power")
    overall, alone = findings.power_by_players(results), findings.alone_by_players(results)
    pairs = results.pairs()
    text = caption("A green Power", "is worth", overall, "more than a red one", "less than a red one")
    text += " " + range_of(panels["flex_cards"], "flex_cards")
    head = ["players", "deals", "green less red", "only green one less as it was"]
    rows = [[str(p), f"{v.deals:,}", points(v), points(alone[p]) if p in alone else "-"] for p, v in overall.items()]
    return "\n\n".join(
        [
            "## What is a green Power worth?",
            f"{len(pairs['deal']):,} sampled positions and their twins. In the last column the mover's Power is green, "
            "and all others are red instead of as they were.",
            table(head, rows),
            _figure("power", text),
            *(_by_feature(panels[feature], feature) for feature in BINS),
        ]
    )


def _spend(results: Results, folder: Path) -> str:
    panels = {feature: findings.spend_by_feature(results, feature) for feature in BINS}
    players = results.tables
    figures.save(figures.curves(panels, players, "flex less other play, points"), folder / "figures", "spend")
    figures.save(figures.maps({p: findings.spend_map(results, p) for p in players}), folder / "figures", "spend_map")
    overall = findings.spend_by_players(results)
    text = caption("The best flex", "is worth", overall, "more than the best other play", "less than that")
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
            "Decisions in which a flex and another play are legal: the best flex less the best other play.",
            table(head, rows),
            _figure("spend", text),
            *(_by_feature(panels[feature], feature) for feature in BINS),
            _figure("spend_map", "The same by both hands. Light: spend; dark: hold; bold: beyond doubt at that table."),
            _agreement(results, "hold", "The policy's favorite flex against its favorite other play"),
            "### Drawing by choice",
            _draws(results),
            _agreement(results, "stuck", "Where flexes are the only plays: the favorite flex against drawing"),
        ]
    )


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
    for players in results.players(situation):
        found = findings.agreement(results, situation, players)
        cells = (points(v, signed=False) for v in (found.clear, found.agrees, found.regret))
        rows.append([str(players), *cells])
    head = ["players", "clear decisions, % (5 by chance)", "policy agrees there, %", "regret where not, points"]
    return f"{what}; a decision is clear where the 95 % interval over its worlds excludes zero:\n\n{table(head, rows)}"


def _kinds(results: Results, folder: Path) -> str:
    cells = findings.by_kind(results)
    figures.save(figures.kinds(cells, results.tables), folder / "figures", "kinds")
    means = {kind: [row[kind].mean for row in cells.values() if kind in row] for kind in range(len(FLEX_KINDS))}
    order = sorted((k for k in means if means[k]), key=lambda kind: -float(np.mean(means[kind])))
    best = listed([FLEX_KINDS[kind] for kind in order[:2]])
    text = (
        f"Averaged over the tables, {best} are worth most and {FLEX_KINDS[order[-1]]} least." if len(order) > 2 else ""
    )
    rows = [[FLEX_KINDS[k], *(_cell(cells, p, k) for p in cells)] for k in range(len(FLEX_KINDS))]
    leader = findings.by_kind_and_leader(results)
    by_leader = [
        [name, *(points(leader[k, b]) if (k, b) in leader else "-" for b in range(len(findings.MAP_LABELS)))]
        for k, name in enumerate(FLEX_KINDS)
    ]
    sections = [
        "## Which flex is worth it?",
        "The favorite flex of each kind less the favorite other play, where both are legal.",
        table(["flex", *(f"{p} players" for p in cells)], rows),
        _figure("kinds", text),
        "By the smallest other hand, three players and more:",
        table(["flex", *(f"{label} cards" for label in findings.MAP_LABELS)], by_leader),
    ]
    if targets := findings.by_target(results):
        sections += [
            "### Whom to target",
            "A targeted flex aimed at the smallest other hand, less the same flex aimed at somebody else, where "
            "the two differ:",
            table(
                ["players", "instead of", "difference"], [[str(p), name, points(v)] for (p, name), v in targets.items()]
            ),
        ]
    return "\n\n".join(sections)


def _resets(results: Results, folder: Path) -> str:
    tables = sorted(set(results.resets["num_players"].to_pylist()))
    found = {players: findings.reset(results, players) for players in tables}
    figures.save(figures.resets(found), folder / "figures", "resets")
    lines: dict[str, Callable[[findings.Reset], str]] = {
        "turns with a red Power, %": lambda r: _share(r.red),
        "length of a red spell, rounds of the table": lambda r: _plain(r.length),
        **{f"red spells ended by: {cause}, %": partial(_ended_by, cause) for cause in CAUSES},
        "resets in a round": lambda r: _plain(r.resets),
        "of these by a flex (others by a flip icon), %": lambda r: _share(r.by_flex),
        "wins of who brought the last reset, %": lambda r: _share(r.wins),
        "chances to flex taken by the last green player, %": lambda r: _share(r.flexes_last),
        "taken by others, %": lambda r: _share(r.flexes_not_last),
        "flip icon rather than a plain number, Power red, %": lambda r: _against(r.icon["red"]),
        "the same, Power green, %": lambda r: _against(r.icon["green"]),
        "Wild All Flip played, Power red, %": lambda r: _share(r.all_flip["red"]),
        "the same, green among others, %": lambda r: _share(r.all_flip["green"]),
        "the same, last green player, %": lambda r: _share(r.all_flip["last"]),
    }
    rows = [[name, *(read(reset) for reset in found.values())] for name, read in lines.items()]
    seeks = {p: verdict(r.flexes_last, r.flexes_not_last) for p, r in found.items()}
    text = "The last green player, whose Power comes back at once, takes chances to flex " + listed(
        [f"{word} at {players} players" for players, word in seeks.items()]
    )
    return "\n\n".join(
        [
            "## The reset",
            "When the last green Power turns red, all turn green (rules 5.4). Counted in whole rounds; in brackets "
            "after the choices of flip icons, what they would be by chance.",
            table(["", *(f"{p} players" for p in tables)], rows),
            _figure("resets", text + "."),
        ]
    )


def _share(value: Estimate) -> str:
    return points(value, signed=False)


def _ended_by(cause: str, found: findings.Reset) -> str:
    return _share(found.ends[cause])


def _plain(value: Estimate) -> str:
    return "-" if np.isnan(value.mean) else f"{value.mean:.2f} [{value.low:.2f}, {value.high:.2f}]"


def _against(pair: tuple[Estimate, Estimate]) -> str:
    return f"{points(pair[0], signed=False)} ({100 * pair[1].mean:.0f})" if not np.isnan(pair[0].mean) else "-"


def _ladders(results: Results, folder: Path) -> str:
    policy, bots = findings.ladder(results, "policy"), findings.ladder(results, "bots")
    tables = sorted({players for players, _ in policy})
    panels = {"the policy, flexing otherwise, against itself": policy, "rule bots against flex_when_stuck": bots}
    figures.save(figures.ladders(panels, tables), folder / "figures", "ladders")
    cells = {how: _column(policy, how) for how in ("never", "first_chance", "when_stuck")}
    text = " ".join(
        caption(f"One that {figures.LADDER_LABELS[how]}", "wins", column, "above a fair share", "below it")
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
            _figure("ladders", text),
        ]
    )


def _ladder_table(cells: Mapping[tuple[int, str], Estimate], tables: Sequence[int]) -> str:
    ones = list(dict.fromkeys(one for _, one in cells))
    rows = [[f"`{one}`", *(points(cells[p, one]) if (p, one) in cells else "-" for p in tables)] for one in ones]
    return table(["", *(f"{p} players" for p in tables)], rows)


def _rules(results: Results, found: Found, folder: Path) -> str:
    figures.save(figures.tree(found), folder / "figures", "tree")
    match = findings.ladder(results, "rules")
    spends = sum(leaf.share for leaf in found.leaves if leaf.rule.spend)
    text = f"The rules spend the Power in {100 * spends:.0f} % of the decisions between a flex and another play."
    sure = {players: value for (players, _), value in match.items() if value.sure}
    better = [players for players, value in sure.items() if value.mean > 0]
    worse = [players for players, value in sure.items() if value.mean < 0]
    outcome = [
        f"a bot with these rules beats `flex_when_stuck` at {listed(list(map(str, better)))} players" if better else "",
        f"it loses at {listed(list(map(str, worse)))} players" if worse else "",
        "elsewhere no difference is beyond doubt" if len(sure) < len(match) and sure else "",
        "the rules do not help the bot: no difference is beyond doubt" if not sure else "",
    ]
    return "\n\n".join(
        [
            "## Rules that a person can use",
            "A shallow tree, fitted to what the best flex was worth over the best other play:",
            "\n".join(f"- {leaf.sentence()}" for leaf in found.leaves),
            _figure("tree", text),
            "What spending by a rule is worth over always holding, in points for each such decision:",
            table(
                ["by the tree (cross-validated)", "always spending", "as the policy spends"],
                [[points(found.by_tree), points(found.always), points(found.by_policy)]],
            ),
            "The same rules as a bot, all else as in `flex_when_stuck`, against a table of that, above a fair share: "
            + "; ".join(filter(None, outcome))
            + ".",
            _ladder_table(match, sorted({players for players, _ in match})),
        ]
    )


def _robust(results: Results) -> str:
    names = list(dict.fromkeys(results.twins["variant"].to_pylist()))
    tables = sorted({p for name in names[1:] for p in results.players(variant=name)})
    rows = []
    for players in tables:
        for name in names:
            power = findings.power_by_players(results, name).get(players)
            spend = findings.spend_by_players(results, name).get(players)
            ladder = findings.ladder(results, "policy", name)
            cells = [power, spend, *(ladder.get((players, how)) for how in ("never", "first_chance", "when_stuck"))]
            rows.append([str(players), name, *("-" if value is None else points(value) for value in cells)])
    head = ["players", "variant", "green Power", "flex less other play", "never", "first chance", "when stuck"]
    return "\n\n".join(
        [
            "## Do the findings depend on the player and on the rules?",
            "The same with search in place of the policy (its own moves in playouts, too), and with three switches of "
            "the rules. The policy has learned by the official rules; by others it plays as well as it can tell.",
            table(head, rows),
        ]
    )
