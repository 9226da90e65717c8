"""The tables of the appendix and of the page, in Markdown, from the raw results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from agents.flex_policies import FLEX_KINDS
from experiments.flex_timing import findings
from experiments.flex_timing.estimates import Estimate, difference, holm, markdown_table, points
from experiments.flex_timing.findings import BINS, Cells, Reset, Results
from experiments.flex_timing.resets import CAUSES
from experiments.flex_timing.tree_rules import Tree, condition_text, fit_tree
from experiments.flex_timing.tried_actions import Situation

ROBUST = {
    "power": "green Power",
    "spend": "flex less other play",
    "never": "`never`",
    "first_chance": "`first_chance`",
    "when_stuck": "`when_stuck`",
}
"""The questions that are repeated with other players and rules, as heads of a table."""


def all_tables(results: Results, facts: Mapping[str, Any]) -> dict[str, str]:
    """Every table by name.

    Args:
        results: what was simulated.
        facts: version, settings and weights, as in `config.json`.
    """
    tree = fit_tree(results.tried("hold"))
    powers = {f"power_by_{feature}": findings.power_by_feature(results, feature) for feature in BINS}
    spending = {f"spend_by_{feature}": findings.spend_by_feature(results, feature) for feature in BINS}
    return {
        "settings": settings(facts),
        "budgets": budgets(facts),
        "power": power(results),
        **{name: by_feature(cells, name.removeprefix("power_by_")) for name, cells in powers.items()},
        "spend": spend(results),
        **{name: by_feature(cells, name.removeprefix("spend_by_")) for name, cells in spending.items()},
        "agreement_hold": agreement(results, "hold"),
        "draw": draw(results),
        "agreement_stuck": agreement(results, "stuck"),
        "kinds": kinds(results),
        "kinds_by_leader": kinds_by_leader(results),
        "targets": targets(results),
        "resets": resets(results),
        "last_green": last_green(results),
        "ladder_policy": ladder(results, "policy"),
        "ladder_bots": ladder(results, "bots"),
        "leaves": leaves(tree),
        "tree": tree_worth(tree),
        "ladder_rules": ladder(results, "rules"),
        "rules_against_any": by_players({"`flex_by_rules` less `flex_any`": findings.rules_against_any(results)}),
        **robust(results),
    }


# ---- Shapes of tables ----


def by_players(rows: Mapping[str, Mapping[int, Estimate]]) -> str:
    """A row for each name, a column for each number of players."""
    numbers = sorted({players for cells in rows.values() for players in cells})
    lines = [[name, *(_cell(cells, players) for players in numbers)] for name, cells in rows.items()]
    return markdown_table(["", *_heads(numbers)], lines)


def by_feature(cells: Cells, feature: str) -> str:
    """A row for each number of players, a column for each bin of a feature."""
    begins = sorted({begin for line in cells.values() for begin in line})
    rows = [[f"{players} players", *(_cell(line, begin) for begin in begins)] for players, line in cells.items()]
    return markdown_table(["", *(findings.bin_label(feature, begin) for begin in begins)], rows)


def _heads(numbers: Iterable[int]) -> list[str]:
    return [f"{players} players" for players in numbers]


def _cell(cells: Mapping[Any, Estimate], key: Any) -> str:
    return points(cells[key]) if key in cells else "-"


def _second(cells: Cells, place: int) -> dict[int, Estimate]:
    """By players, the estimates with this second number."""
    return {players: line[place] for players, line in cells.items() if place in line}


def _share(value: Estimate) -> str:
    return points(value, signed=False)


# ---- The study ----


def settings(facts: Mapping[str, Any]) -> str:
    """The policies, the seed and the version."""
    config = facts["config"]
    rows = [
        ["policy in all seats", f"`{config['policy']}`"],
        *([f"weights of `{name}`", digest[:12]] for name, digest in facts["weights"].items()),
        ["second policy", f"`{config['search']}`"],
        ["seed", str(config["seed"])],
        ["version of the package", facts["version"]],
    ]
    return markdown_table(["setting", "value"], rows)


def budgets(facts: Mapping[str, Any]) -> str:
    """The numbers of deals and games at each number of players."""
    config = facts["config"]
    names = {"budget": "main", "search_budget": "search", "switch_budget": "each switch of the rules"}
    first = config["budget"]
    rows = [[name, *(str(config[names_of][key]) for names_of in names)] for key, name in BUDGET_LABELS.items()]
    assert set(BUDGET_LABELS) == set(first)
    return markdown_table(["at each number of players", *names.values()], rows)


BUDGET_LABELS = {
    "resets": "whole deals for the count of resets",
    "twins": "deals for twins",
    "repeats": "playouts of each twin",
    "hold": "deals for a flex against another play",
    "stuck": "deals for a flex against drawing",
    "target": "deals for the targets of a flex",
    "worlds": "worlds for each candidate",
    "games": "games of each duel",
}


# ---- What a green Power is worth ----


def power(results: Results) -> str:
    """The worth of a green Power, and of all others being red."""
    return by_players(
        {
            "own Power green less red": findings.power_by_players(results),
            "all other Powers red less as they were": findings.alone_by_players(results),
        }
    )


# ---- Spend or hold ----


def spend(results: Results) -> str:
    """The best flex minus the best other play: all decisions, and parts of them."""
    own, last = findings.spend_by_policy(results), findings.spend_by_last(results)
    return by_players(
        {
            "all decisions": findings.spend_by_players(results),
            "where the policy flexed": _second(own, 1),
            "where the policy held": _second(own, 0),
            "the player's Power is the last green one": _second(last, 1),
            "other Powers are green": _second(last, 0),
        }
    )


def draw(results: Results) -> str:
    """The best flex minus drawing."""
    return by_players(
        {
            "another play is legal": findings.draw_by_players(results, "hold"),
            "flexes are the only plays": findings.draw_by_players(results, "stuck"),
        }
    )


def agreement(results: Results, situation: Situation) -> str:
    """How often the policy chooses the better play, where one is clearly better."""
    rows = []
    for players in (*results.players_in(situation), None):
        found = findings.agreement(results, situation, players)
        clear = f"{_share(found.clear)} ({100 * found.by_chance:.1f})"
        rows.append([str(players or "all"), clear, str(found.agrees.deals), _share(found.agrees), _share(found.regret)])
    head = ["players", "clear decisions, % (by chance)", "number", "policy agrees there, %", "loss where not, points"]
    return markdown_table(head, rows)


# ---- Which flex, and at whom ----


def kinds(results: Results) -> str:
    """The favorite flex of each kind minus the favorite other play."""
    cells = findings.by_kind(results)
    rows = [[name, *(_cell(line, kind) for line in cells.values())] for kind, name in enumerate(FLEX_KINDS)]
    return markdown_table(["flex", *(f"{p} players" if p else "3 to 8 together" for p in cells)], rows)


def kinds_by_leader(results: Results) -> str:
    """The favorite flex of each kind minus the favorite other play, by the smallest other hand; 3 to 8 players."""
    cells, labels = findings.by_kind_and_leader(results), findings.LEADER_LABELS
    rows = [[name, *(_cell(cells, (k, place)) for place in range(len(labels)))] for k, name in enumerate(FLEX_KINDS)]
    return markdown_table(["flex", *(f"{label} cards" for label in labels)], rows)


def targets(results: Results) -> str:
    """A flex aimed at the smallest other hand minus the same flex aimed at another player."""
    rows = [[str(p), name, points(value)] for (p, name), value in findings.by_target(results).items()]
    return markdown_table(["players", "other target", "difference"], rows)


# ---- Powers and resets ----


def resets(results: Results) -> str:
    """Counts of Powers and resets in whole rounds."""
    numbers = sorted(set(results.resets["num_players"].to_pylist()))
    found = {players: findings.reset(results, players) for players in numbers}
    lines: dict[str, Callable[[Reset], str]] = {
        "turns with a red Power, %": lambda r: _share(r.red),
        "length of red spells that end before the round, in turns of each player": lambda r: _plain(r.length),
        **{f"red spells that end by: {cause}, %": partial(_ended_by, cause) for cause in CAUSES},
        "resets in a round": lambda r: _plain(r.resets),
        "resets by a flex, %": lambda r: _share(r.by_flex),
        "wins of the player with the round's last reset, %": lambda r: _share(r.wins),
        "chances to flex taken by the last green player, %": lambda r: _share(r.flexes_last),
        "chances to flex taken by other green players, %": lambda r: _share(r.flexes_not_last),
        "flip icon over a plain number, own Power red, % (by chance)": lambda r: _with_chance(r.icon["red"]),
        "flip icon over a plain number, own Power green, % (by chance)": lambda r: _with_chance(r.icon["green"]),
        "Wild All Flip played, own Power red, %": lambda r: _share(r.all_flip["red"]),
        "Wild All Flip played, own Power green among others, %": lambda r: _share(r.all_flip["green"]),
        "Wild All Flip played, own Power the last green one, %": lambda r: _share(r.all_flip["last"]),
    }
    rows = [[name, *(read(reset) for reset in found.values())] for name, read in lines.items()]
    return markdown_table(["", *_heads(found)], rows)


def last_green(results: Results) -> str:
    """The best flex minus the best other play: the last green player minus other green players (different deals)."""
    cells = findings.spend_by_last(results)
    apart = {players: difference(line[1], line[0]) for players, line in cells.items() if len(line) == 2}
    return by_players({"last green player less others": holm(apart)})


def _ended_by(cause: str, found: Reset) -> str:
    return _share(found.ends[cause])


def _plain(value: Estimate) -> str:
    return "-" if np.isnan(value.mean) else f"{value.mean:.2f} [{value.low:.2f}, {value.high:.2f}]"


def _with_chance(pair: tuple[Estimate, Estimate]) -> str:
    return "-" if np.isnan(pair[0].mean) else f"{_share(pair[0])} ({100 * pair[1].mean:.0f})"


# ---- Duels, and the tree ----


def ladder(results: Results, name: str) -> str:
    """Wins above a fair share of one seat that flexes at other times, by how it flexes."""
    cells = findings.ladder(results, name)
    ones = dict.fromkeys(one for _, one in cells)
    return by_players({f"`{one}`": {players: v for (players, o), v in cells.items() if o == one} for one in ones})


def leaves(tree: Tree) -> str:
    """The rules of the tree, one for each leaf."""
    rows = [
        [
            "; ".join(map(condition_text, leaf.rule.conditions)),
            ACTIONS_OF_LEAVES[leaf.rule.spend],
            points(leaf.worth),
            f"{100 * leaf.share:.0f}",
        ]
        for leaf in tree.leaves
    ]
    return markdown_table(["where", "rule of the bot", "best flex less best other play", "share of decisions, %"], rows)


ACTIONS_OF_LEAVES = {True: "spend", False: "hold"}


def tree_worth(tree: Tree) -> str:
    """The worth of spending over always holding, by the rule that decides when to spend."""
    rows = [["the tree, cross-validated", points(tree.by_tree)], ["the policy", points(tree.by_policy)]]
    return markdown_table(["when to spend", "points a decision"], [*rows, ["always", points(tree.always)]])


def robust(results: Results) -> dict[str, str]:
    """The main questions by variant (`robust`), their differences from the main variant (`changes`), and the part of
    `robust` with the official rules (`search`)."""
    cells = findings.robust(results)
    lines = list(dict.fromkeys((players, variant) for players, variant, _ in cells))
    others = [(players, variant) for players, variant in lines if variant != "main"]
    policies = [(players, variant) for players, variant in lines if variant in ("main", "search")]
    return {
        "robust": _by_variant(cells, lines),
        "changes": _by_variant(findings.changes(cells), others),
        "search": _by_variant(cells, policies),
    }


def _by_variant(cells: Mapping[tuple[int, str, str], Estimate], lines: Sequence[tuple[int, str]]) -> str:
    rows = [[str(p), f"`{variant}`", *(_cell(cells, (p, variant, what)) for what in ROBUST)] for p, variant in lines]
    return markdown_table(["players", "variant", *ROBUST.values()], rows)
