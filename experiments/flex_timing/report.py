"""The report on flex timing, all from the raw results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.atomic import write_whole
from experiments.flex_timing import figures, findings, sections
from experiments.flex_timing.estimates import points
from experiments.flex_timing.findings import Results
from experiments.flex_timing.tree_rules import find
from experiments.flex_timing.words import each, listed

METHOD = """\
## Method, and what it can't say

- One decision of each deal is sampled, uniformly among those of its kind, so the deal is the unit of every interval:
  Student's t on one value a deal with one deal of each extreme added, the same as in match play. Shares of events
  are ratios of sums over deals, linearized. Deals weigh equally, not decisions. A star means that a difference is not
  zero at a level of 5 % after Holm's correction for its family: the comparisons of one kind in a table, such as a
  column, a ladder, or the cells of a figure.
- Decisions of `twins` are turns in which at least one other Power is green: without one, a red twin can't be reached.
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


FILES = """\
## The files

| file | a row is | columns |
| --- | --- | --- |
| `resets.parquet` | a deal | how often things happened in it: see `experiments.flex_timing.resets` |
| `twins.parquet` | a sampled position | features of the player to move; `power`: whether it was green in fact; \
`green`, `red`, `last`: wins of `repeats` in each twin |
| `choices.parquet` | a candidate | `stage`: hold (a flex and another play are legal), stuck (flexes are the only \
plays), target; features; `kind` and `taken`, by their place in `experiments.flex_timing.\
tried_actions.KINDS`; `won`: bit w is set if the player wins in world w of `worlds` |
| `matches.parquet` | a deal of a match | `one` against `others`, `wins` of the one in `games` |

In all of them `variant` is main, search, or a switch of the rules; `deal` tells deals of one stage and number of \
players apart. `experiments.flex_timing.findings.Results.read` reads them."""


def write_report(results: Results, folder: Path, notes: Mapping[str, Any]) -> None:
    """Draw all figures and write report.md."""
    (folder / "figures").mkdir(exist_ok=True)
    found = find(results.tried("hold"))
    parts = [
        _head(results, notes),
        sections.power(results, folder),
        sections.spend(results, folder),
        sections.kinds(results, folder),
        sections.resets(results, folder),
        sections.ladders(results, folder),
        sections.rules(results, found, folder),
        sections.robust(results, notes["config"]["search"]),
        METHOD,
        FILES,
    ]
    write_whole(folder / "report.md", ("\n\n".join(parts) + "\n").encode())


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
        f"- **A green Power is worth** {each(findings.power_by_players(results))} at the beginning of a turn in which "
        "another one is green.",
        "- **That all others are red as well**, so that one's own flex comes back at once, is worth a further "
        f"{each(alone)}.",
        f"- **The best flex against the best other play**, where both are legal: {each(spend)}.",
        *(
            f"- **One seat that {figures.LADDER_LABELS[how]}** differs from a fair share against the unchanged policy "
            f"by {each(sections.column(ladder, how))}."
            for how in ("never", "first_chance", "when_stuck")
        ),
        f"- **Which flex.** {sections.kinds_in_short(results)}",
        f"- **The policy's own timing.** {_timing(results)}",
        f"- **Rules for people.** {sections.rules_in_short(results)}",
    ]
    return "\n\n".join(lines[:3]) + "\n\n" + "\n".join(lines[3:])


def _timing(results: Results) -> str:
    """Whether the policy does what is better."""
    deeds = findings.spend_by_deed(results)
    parts = [f"{points(deed[1])} at {players} players" for players, deed in deeds.items() if 1 in deed]
    held = [f"{points(deed[0])} at {players} players" for players, deed in deeds.items() if 0 in deed]
    found = {players: findings.agreement(results, "hold", players) for players in results.players()}
    more = {players: value.agrees for players, value in found.items() if value.clear.low > value.by_chance}
    agrees = listed([f"{points(v, signed=False)} % at {p} players" for p, v in more.items()])
    return (
        f"Where it flexed, the best flex was worth {listed(parts) or 'too little seen'} against the best other play; "
        f"where it held, {listed(held) or 'too little seen'}. In decisions that are clear it does what is better "
        f"in {agrees or 'no share that could be told'}, the tables with more of them than chance would make."
    )
