"""The appendix of the study: all figures and all tables, with a neutral sentence for each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agents.atomic import write_whole
from experiments.flex_timing import figures, findings
from experiments.flex_timing.findings import BINS, Results
from experiments.flex_timing.result_tables import all_tables
from experiments.flex_timing.tree_rules import fit_tree

TEMPLATE = """\
# Flex timing: all tables and figures

`python -m experiments study` wrote this page from the Parquet files beside it. `config.json` holds all settings.

{settings}

{budgets}

Cells are percentage points of win rate with 95 % intervals in brackets, unless a head says otherwise. A star marks a
difference from zero at a level of 5 % after Holm's correction for its family. A family is one table where rows are
features, kinds of flex, duels or variants; elsewhere it is one row, or two rows that split the same decisions. A dash
stands for too few deals, mostly fewer than 30. In figures, markers are means and bars are 95 % intervals.

## What a green Power is worth

Sampled turns in which at least one other Power is green. Each is played on from the same cards with the player's own
Power green and red, then with the own Power green and all others red.

{power}

![What a green Power is worth](figures/power.png)

*Own Power green less red, by features of the position and number of players.*

By cards in hand:

{power_by_hand}

By cards with a flex side in hand:

{power_by_flex_cards}

By green Powers of others:

{power_by_others_green}

By cards in the smallest other hand:

{power_by_leader}

## Spend or hold

Decisions in which a flex and another play are legal, one from each deal: the best flex less the best other play.

{spend}

![The best flex less the best other play](figures/spend.png)

*The best flex less the best other play, by features of the position and number of players.*

By cards in hand:

{spend_by_hand}

By cards with a flex side in hand:

{spend_by_flex_cards}

By green Powers of others:

{spend_by_others_green}

By cards in the smallest other hand:

{spend_by_leader}

![The best flex less the best other play, by two hands](figures/spend_map.png)

*The best flex less the best other play, by the own hand and the smallest other hand. Amber, +: the flex wins more;
blue, -: the other play wins more; bold: a star within one map; gray: fewer than 30 deals.*

The policy's favorite flex against its favorite other play. A decision is clear where the interval over its worlds
excludes zero. In decisions that are clear by chance the policy agrees half of the time. The last column needs ten
decisions; positive values are losses.

{agreement_hold}

## Flex or draw

The best flex less drawing.

{draw}

The policy's favorite flex against drawing, where flexes are the only plays; columns as above.

{agreement_stuck}

## Which flex, and at whom

The policy's favorite flex of each kind less its favorite other play.

{kinds}

![Flexes by kind](figures/kinds.png)

*The policy's favorite flex of each kind less its favorite other play, by number of players.*

The same by the cards in the smallest other hand, three to eight players together:

{kinds_by_leader}

A flex aimed at the smallest other hand less the same flex aimed at another target, where the two differ:

{targets}

## Powers and resets

Counted in whole rounds. A reset is rule 5.4: the last green Power turns red, so all turn green. A red spell lasts from
the turn in which a Power turns red until it is green again.

{resets}

![Powers and resets](figures/resets.png)

*Turns with a red Power, resets, and chances to flex that are taken, by number of players.*

The best flex less the best other play, last green player less other green players:

{last_green}

## Duels

One seat flexes at other times than all others. The cells are its wins above a fair share.

In this table the others are the unchanged policy. `never` doesn't flex, `first_chance` flexes whenever it can,
`when_stuck` flexes when it has no other play and then always, and `as_learned` is the unchanged policy with random
numbers of its own, as a control. All of them bind wild cards as well as colored cards.

{ladder_policy}

In this table the others are the rule bot `flex_when_stuck`, from which the rule bots differ only in when they flex.

{ladder_bots}

![Duels](figures/ladders.png)

*Wins above a fair share of one seat that flexes at other times.*

## A tree of rules

A decision tree of depth three, fitted to the best flex less the best other play. The figures of the leaves come from
the decisions that the tree was fitted to, so their differences are too large. The leaves are the rules of a bot and not
advice: some intervals hold zero.

{leaves}

![The tree](figures/tree.png)

*The tree with the figures of its leaves. Amber: spend; blue: hold; white: undecided, since the
interval holds zero.*

What spending is worth over always holding:

{tree}

The bot `flex_by_rules` plays by the leaves and else as `flex_when_stuck`. Its wins above a fair share against
`flex_when_stuck`:

{ladder_rules}

Both bots against `flex_when_stuck` on the same deals:

{rules_against_any}

## Other players and rules

The variant `search` has another policy in all seats, in playouts too. The other variants switch one rule.

{robust}

Each variant less `main`. The intervals take the two as independent, although they share deals.

{changes}

## The files

| file | a row is | columns |
| --- | --- | --- |
| `resets.parquet` | a deal | counts of what happened in it, see `experiments.flex_timing.resets` |
| `twins.parquet` | a sampled position | features of the player to move; `power`: whether the own Power was green in \
the game; `green`, `red`, `last`: wins out of `repeats` in each twin |
| `choices.parquet` | a candidate | `stage`: hold (a flex and another play are legal), stuck (flexes are the only \
plays) or target; features; `kind` and `taken`, indices of `experiments.flex_timing.tried_actions.KINDS`; `won`: bit w \
is set if the player wins in world w of `worlds` |
| `matches.parquet` | a deal of a duel | `one` against `others`; `wins` of the one seat out of `games` |

In all of them `variant` is main, search or a switch of the rules. `deal` numbers the deals of one stage and number of
players. `experiments.flex_timing.findings.Results.read` reads the files.
"""


def appendix(results: Results, facts: Mapping[str, Any]) -> str:
    """The text of the appendix.

    Args:
        results: what was simulated.
        facts: version, settings and weights, as in `config.json`.
    """
    return TEMPLATE.format(**all_tables(results, facts))


def write_appendix(results: Results, folder: Path, facts: Mapping[str, Any]) -> None:
    """Write `appendix.md` and its figures into a folder; the arguments are those of `appendix`."""
    write_figures(results, folder / "figures")
    write_whole(folder / "appendix.md", appendix(results, facts).encode())


def write_figures(results: Results, folder: Path) -> None:
    """Draw all figures into a folder."""
    folder.mkdir(exist_ok=True)
    players = results.players
    power = {feature: findings.power_by_feature(results, feature) for feature in BINS}
    spend = {feature: findings.spend_by_feature(results, feature) for feature in BINS}
    counted = sorted(set(results.resets["num_players"].to_pylist()))
    duels = {
        "the policy, flexing at other times, against itself": findings.ladder(results, "policy"),
        "rule bots against flex_when_stuck": findings.ladder(results, "bots") | findings.ladder(results, "rules"),
    }
    drawn = {
        "power": figures.by_features(power, players, "own Power green less red, points"),
        "spend": figures.by_features(spend, players, "flex less other play, points"),
        "spend_map": figures.maps({number: findings.spend_map(results, number) for number in players}),
        "kinds": figures.kinds(findings.by_kind(results), players),
        "resets": figures.resets({number: findings.reset(results, number) for number in counted}),
        "ladders": figures.ladders(duels, players),
        "tree": figures.tree(fit_tree(results.tried("hold"))),
    }
    for name, figure in drawn.items():
        figures.save(figure, folder, name)
