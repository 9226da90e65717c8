# %% [markdown]
# # When to spend the Power: ask the data
#
# The study of flex timing played many thousand positions to the end of the round.
# [Its page](../docs/flex_timing/README.md) has the answers and their limits; the results are in four Parquet files
# beside it. This notebook reads them, so that you can ask your own questions. It plays nothing and runs in seconds.
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
from experiments.plot_style import STYLE, intervals, reference

plt.rcParams.update(STYLE)
FOLDER = Path("../docs/flex_timing")

# %% [markdown]
# ## The four files
#
# | file | a row is | what it holds |
# |---|---|---|
# | `resets` | a deal, played once | turns, red spells, resets, chances to flex |
# | `twins` | a decision | wins with the Power green, and with it red, all else equal |
# | `choices` | a candidate of a decision | the sampled worlds in which it wins |
# | `matches` | a deal, in every seating | wins of one player that flexes at other times |

# %%
results = Results.read(FOLDER)
for name in ("resets", "twins", "choices", "matches"):
    print(f"{name:8} {getattr(results, name).num_rows:>9,} rows")

# %% [markdown]
# The settings are stored with them: who plays, with how many players, and how much of each. The variant `main` is the
# policy under the official rules; the others have another policy or other rules.

# %%
settings = json.loads((FOLDER / "config.json").read_text())["config"]
print("policy:", settings["policy"], "| players:", settings["players"], "| seed:", settings["seed"])
print("variants:", *dict.fromkeys(results.twins["variant"].to_pylist()))


# %% [markdown]
# Differences below are in percentage points of win rate, with a 95 % interval in brackets; the deal is the unit. A star
# marks a difference from zero that holds after Holm's correction for all comparisons of its family.


# %%
def draw(cells: dict[int, Estimate], ylabel: str, title: str, labels: list[str] | None = None) -> None:
    """Estimates in a row, each with its interval."""
    _, axes = plt.subplots()
    values = list(cells.values())
    intervals(axes, range(len(values)), values, scale=100)
    reference(axes, 0)
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
# The same position twice, once with the current player's Power green and once with it red. The cards and the random
# numbers that follow are the same.

# %%
worth = findings.power_by_players(results)
tell(worth)
draw(worth, "points", "Wins with a green Power less wins with a red one")

# %% [markdown]
# ## Spend or hold?
#
# A flex and another play are both legal. This is the best flex less the best other play. Both are chosen in one half of
# the sampled worlds and compared in the other half, so the choice does not bias the result. Above zero: spend.

# %%
spend = findings.spend_by_players(results)
tell(spend)
draw(spend, "points", "The best flex less the best other play")

# %% [markdown]
# The average hides that decisions differ. Split by what the policy did in the game itself:

# %%
for players, cells in findings.spend_by_policy(results).items():
    for flexed, value in cells.items():
        print(f"{players} players, the policy {'flexed' if flexed else 'held  '}: {points(value)}")

# %% [markdown]
# ## Which flex?
#
# The policy's favorite flex of each kind less its favorite other play, three to eight players together. Kinds with too
# few deals are missing.

# %%
kinds = findings.by_kind(results).get(0, {})
for kind, value in kinds.items():
    print(f"{FLEX_KINDS[kind]:13} {points(value)}")
draw(kinds, "points", "A flex of this kind less another play", [FLEX_KINDS[kind].replace(" ", "\n") for kind in kinds])

# %% [markdown]
# ## The reset
#
# When the last green Power turns red, all turn green. These are counts over whole rounds.

# %%
for players in results.players:
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
# *Is a Power worth more when another player is about to win?* Three steps. First select: the columns of the twins in
# the main variant. `leader` is the smallest other hand.

# %%
pairs = results.pairs("main")
values = (pairs["green"] - pairs["red"]) / pairs["repeats"]
near = pairs["leader"] <= 2
print(f"{len(values):,} decisions, in {near.sum():,} of them another player holds one or two cards")

# %% [markdown]
# Then an interval. There is one decision from each deal, so the values at one number of players are independent, and
# `interval` of match play fits. It needs the lowest and the highest possible value.

# %%
first = pairs["num_players"] == results.players[0]
low, high = interval(values[near & first], -1.0, 1.0)
mean = values[near & first].mean()
print(f"{results.players[0]} players, leader near: {100 * mean:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]")

# %% [markdown]
# Then groups. `by_group` gives an interval for each group, with the groups as one family.

# %%
groups = by_group(pairs["num_players"].astype(int) * 10 + near, values, 30)
for key, value in groups.items():
    print(f"{key // 10} players, leader {'near' if key % 10 else 'far '}: {points(value)}")
labels = [f"{key // 10}\n{'near' if key % 10 else 'far'}" for key in groups]
draw(groups, "points", "Worth of a green Power by players, the leader near or far", labels)

# %% [markdown]
# Two intervals that overlap don't answer whether two groups differ. Look at the difference itself. The groups hold
# different deals, so the variances add up.

# %%
for players in results.players:
    near_less_far = difference(groups[10 * players + 1], groups[10 * players])
    print(f"{players} players: near less far {points(near_less_far)}, p = {near_less_far.p:.2f}")

# %% [markdown]
# For candidates use `results.tried`: `tried["hand"]` is a feature of each decision, and `tried.spend_or_hold()` the
# difference between its best flex and its best other play.

# %%
for players in results.players:
    tried = results.tried("hold", players=players)
    by_hand = by_group(tried["hand"] <= 3, tried.spend_or_hold(), 30)
    for few, value in by_hand.items():
        print(f"{players} players, {'two or three cards' if few else 'more cards        '}: {points(value)}")

# %% [markdown]
# ## What the data cannot say
#
# - One policy plays all seats. What is best against it need not be best against people. Where the policy errs in every
#   seat, the data err with it.
# - A feature is not a cause: hands of different sizes differ in much else. Only twins and candidates are compared with
#   all else equal.
# - If you look at twenty splits, one of them will differ by chance. Correct for all of them, or look again with
#   another seed: `python -m experiments study flex_timing --seed 1 --out runs/study/again`.
# - An interval that holds zero doesn't show that there is no difference. Its width shows how large a difference could
#   have been missed.
