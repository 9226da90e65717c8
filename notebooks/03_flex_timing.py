# %% [markdown]
# # When to spend the Power: ask the data
#
# The study of flex timing played many thousand positions on to their ends. Its answers are in
# [report.md](../docs/flex_timing/report.md); what it counted is in four Parquet files beside it. This notebook reads
# them, so that you can ask questions of your own. It plays nothing and runs in seconds.
#
# [01_rules_tour](01_rules_tour.ipynb) explains the game, [02_training](02_training.ipynb) what a policy is.

# %%
import sys

sys.path.insert(0, "..")

# %%
import json
from pathlib import Path

import matplotlib.pyplot as plt

from agents.flex_policies import FLEX_KINDS
from agents.match.intervals import interval
from experiments.flex_timing import findings
from experiments.flex_timing.estimates import Estimate, by_group, difference, points
from experiments.flex_timing.findings import Results
from experiments.plot_style import LINES

FOLDER = Path("../docs/flex_timing")

# %% [markdown]
# ## The four files
#
# | file | a row is | of it |
# |---|---|---|
# | `resets` | a deal, played once | turns, red spells, resets, chances to flex |
# | `twins` | a decision | wins with the Power green, and with it red, all else equal |
# | `choices` | a candidate move of a decision | in which of the same sampled worlds it wins |
# | `matches` | a deal, in every seating | wins of one player that flexes otherwise |

# %%
results = Results.read(FOLDER)
for name in ("resets", "twins", "choices", "matches"):
    print(f"{name:8} {getattr(results, name).num_rows:>9,} rows")

# %% [markdown]
# The settings are stored with them: who plays, at which tables, how much of each. The variant `main` is the policy by
# the official rules; the others are other players or other rules.

# %%
settings = json.loads((FOLDER / "config.json").read_text())["config"]
print("policy:", settings["policy"], "| players:", settings["players"], "| seed:", settings["seed"])
print("variants:", *dict.fromkeys(results.twins["variant"].to_pylist()))


# %% [markdown]
# Differences below are in points of win probability, with a 95 % interval in brackets; the deal is the unit. A star
# marks one that stands up after Holm's correction for all comparisons of its family.


# %%
def draw(cells: dict[int, Estimate], ylabel: str, title: str, labels: list[str] | None = None) -> None:
    """Estimates in a row, each with its interval."""
    _, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
    values = list(cells.values())
    for at, value in enumerate(values):
        axes.plot([at, at], [100 * value.low, 100 * value.high], color=LINES[0][0], linewidth=2)
        axes.plot(at, 100 * value.mean, "o", color=LINES[0][0])
    axes.axhline(0, color="gray", linewidth=0.8, linestyle=":")
    axes.set_xticks(range(len(values)), labels or [f"{key} players" for key in cells])
    axes.set(ylabel=ylabel, title=title, xlim=(-0.5, len(values) - 0.5))
    plt.show()


def tell(cells: dict[int, Estimate]) -> None:
    """A line for each number of players."""
    for players, value in cells.items():
        print(f"{players} players: {points(value)}, {value.deals:,} deals")


# %% [markdown]
# ## What is a green Power worth?
#
# The same position twice, with a green and with a red Power of the current player, and the same cards and luck after.

# %%
worth = findings.power_by_players(results)
tell(worth)
draw(worth, "points", "Wins with a green Power less wins with a red one")

# %% [markdown]
# ## Spend or hold?
#
# A flex and another play are both legal. This is the best flex less the best other play, chosen in one half of the
# sampled worlds and compared in the other half, so that luck in choosing is no advantage. Above zero: spend.

# %%
spend = findings.spend_by_players(results)
tell(spend)
draw(spend, "points", "The best flex less the best other play")

# %% [markdown]
# An average over all decisions hides that they differ. Split by what the policy did itself:

# %%
for players, cells in findings.spend_by_deed(results).items():
    for flexed, value in cells.items():
        print(f"{players} players, the policy {'flexed' if flexed else 'held  '}: {points(value)}")

# %% [markdown]
# ## Which flex?
#
# The policy's favorite flex of each kind less its favorite other play, all tables together that have three or more
# players. Kinds that were met in too few deals are missing.

# %%
kinds = findings.by_kind(results).get(0, {})
for kind, value in kinds.items():
    print(f"{FLEX_KINDS[kind]:13} {points(value)}")
draw(kinds, "points", "A flex of this kind less another play", [FLEX_KINDS[kind].replace(" ", "\n") for kind in kinds])

# %% [markdown]
# ## The reset
#
# When the last green Power turns red, all turn green. Shares of what was counted in whole rounds.

# %%
for players in results.tables:
    reset = findings.reset(results, players)
    made = reset.resets
    print(f"{players} players: resets in a round {made.mean:.2f} [{made.low:.2f}, {made.high:.2f}],")
    print(f"    turns with a red Power            {points(reset.red, False)} %,")
    print("    chances to flex that are taken by")
    print(f"        the last green player         {points(reset.flexes_last, False)} %,")
    print(f"        others                        {points(reset.flexes_not_last, False)} %")

# %% [markdown]
# ## A question of your own
#
# *Does it matter for the worth of a Power whether somebody else is about to win?* Three steps. First filter: the
# columns of the twins, of the main variant. `leader` is the smallest other hand.

# %%
pairs = results.pairs("main")
values = (pairs["green"] - pairs["red"]) / pairs["repeats"]
near = pairs["leader"] <= 2
print(f"{len(values):,} decisions, in {near.sum():,} of them somebody else holds one or two cards")

# %% [markdown]
# Then an interval. There is one decision of each deal and table, so the values of one table are independent, and
# `interval` of match play is right for them. It wants to know between which bounds a value can lie.

# %%
first = pairs["num_players"] == results.tables[0]
low, high = interval(values[near & first], -1.0, 1.0)
mean = values[near & first].mean()
print(f"{results.tables[0]} players, leader near: {100 * mean:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]")

# %% [markdown]
# Then groups. `by_group` gives an interval for each group and corrects them as one family.

# %%
groups = by_group(pairs["num_players"].astype(int) * 10 + near, values, 30)
for key, value in groups.items():
    print(f"{key // 10} players, leader {'near' if key % 10 else 'far '}: {points(value)}")
labels = [f"{key // 10}\n{'near' if key % 10 else 'far'}" for key in groups]
draw(groups, "points", "Worth of a green Power by players, the leader near or far", labels)

# %% [markdown]
# Two intervals that overlap leave the question open. To ask whether two groups differ, look at the difference itself:
# the groups hold different deals, so its standard error is that of both together.

# %%
for players in results.tables:
    near_less_far = difference(groups[10 * players + 1], groups[10 * players])
    print(f"{players} players: near less far {points(near_less_far)}, p = {near_less_far.p:.2f}")

# %% [markdown]
# For candidate moves, `results.tried` does the work: `tried["hand"]` is a feature of each decision and
# `tried.spend_or_hold()` its difference.

# %%
for players in results.tables:
    tried = results.tried("hold", players=players)
    by_hand = by_group(tried["hand"] <= 3, tried.spend_or_hold(), 30)
    for few, value in by_hand.items():
        print(f"{players} players, {'two or three cards' if few else 'more cards        '}: {points(value)}")

# %% [markdown]
# ## What the data cannot say
#
# - All seats are played by one policy. What is best against it need not be best against people, and where the policy
#   is wrong in the same way in every seat, the data are too.
# - A feature is not a cause: hands that differ in size differ in much else. Only twins and candidates are compared
#   with all else equal.
# - If you look at twenty splits, one will stand out by chance. Correct for all that you looked at, or look again on
#   deals of another seed: `python -m experiments study flex_timing --seed 1 --out runs/study/again`.
# - No difference beyond doubt is not no difference. The width of the interval says what would have been missed.
