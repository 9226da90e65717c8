"""Rules that a person can use: a shallow tree fitted to what spending the Power was worth in many decisions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.tree import DecisionTreeRegressor

from agents.flex_policies import FEATURES, Condition, Rule
from experiments.flex_timing.decisions import Tried
from experiments.flex_timing.estimates import Estimate, Floats, estimate, holm, points

DEPTH = 3
FOLDS = 5
LEAST_SHARE = 0.04
"""Of all decisions, in each leaf."""


@dataclass(frozen=True)
class Leaf:
    """Where a rule holds."""

    path: tuple[Condition, ...]
    """The questions of the tree, with the answers that lead here."""
    rule: Rule
    """The same without those that later ones make needless."""
    worth: Estimate
    """Of the best flex over the best other play, on the decisions that the tree was fitted to."""
    share: float
    """Of all decisions."""

    def sentence(self) -> str:
        """For people."""
        where = " and ".join(map(condition, self.rule.conditions)) or "always"
        what = "spend the Power" if self.rule.spend else "hold it"
        return (
            f"If {where}: {what} (flexing is worth {points(self.worth)} points; {100 * self.share:.0f} % of the cases)."
        )


@dataclass(frozen=True)
class Found:
    """A tree, and what following it would be worth, in win probability for each decision, over always holding."""

    leaves: tuple[Leaf, ...]
    by_tree: Estimate
    """Cross-validated: each decision by a tree that was fitted to other deals."""
    always: Estimate
    """Always spending."""
    by_policy: Estimate
    """Spending where the policy did."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """One for each leaf."""
        return tuple(leaf.rule for leaf in self.leaves)


def find(tried: Tried) -> Found:
    """Fit a tree to spending or holding; deals stay together in the folds."""
    worth = tried.spend_or_hold()
    table = np.stack([tried[name] for name in FEATURES], axis=1).astype(np.float64)
    least = max(2, int(LEAST_SHARE * len(worth)))
    tree = DecisionTreeRegressor(max_depth=DEPTH, min_samples_leaf=least, random_state=0)
    folds = GroupKFold(n_splits=min(FOLDS, len(np.unique(tried["deal"]))))
    foreseen = cross_val_predict(tree, table, worth, groups=tried["deal"], cv=folds)
    tree.fit(table, worth)
    spent = {"tree": foreseen > 0, "always": np.ones(len(worth), np.bool_), "policy": tried.flexed}
    compared = holm({name: estimate(np.where(where, worth, 0.0)) for name, where in spent.items()})
    return Found(tuple(_leaves(tree, table, worth)), compared["tree"], compared["always"], compared["policy"])


def _leaves(tree: DecisionTreeRegressor, table: Floats, worth: Floats) -> list[Leaf]:
    """From the left to the right; branches that come to the same are one leaf."""
    nodes, names, reached = tree.tree_, list(FEATURES), tree.decision_path(table).toarray() != 0

    def below(node: int, path: tuple[Condition, ...]) -> list[Leaf]:
        inside = reached[:, node]
        leaf = Leaf(
            path,
            Rule(_shortened(path), bool(worth[inside].mean() > 0)),
            estimate(worth[inside]),
            float(inside.mean()),
        )
        if nodes.children_left[node] < 0:
            return [leaf]
        feature, threshold = names[nodes.feature[node]], float(nodes.threshold[node])
        leaves = below(nodes.children_left[node], (*path, (feature, False, threshold)))
        leaves += below(nodes.children_right[node], (*path, (feature, True, threshold)))
        return leaves if len({part.rule.spend for part in leaves}) > 1 else [leaf]

    return below(0, ())


def _shortened(path: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Of conditions on one feature in one direction the last is the narrowest."""
    narrowest = {(feature, above): threshold for feature, above, threshold in path}
    return tuple((feature, above, threshold) for (feature, above), threshold in narrowest.items())


SENTENCES = {
    "players": ("there are {}", "player"),
    "hand": ("you hold {}", "card"),
    "flex_cards": ("you hold {} with a flex side", "card"),
    "others_green": ("others have {}", "green Power"),
    "leader": ("the smallest other hand has {}", "card"),
    "next": ("the next player has {}", "card"),
    "other_cards": ("you can play {} on the regular side, wilds apart", "card"),
    "flexes": ("you can play {} of flex", "kind"),
}
"""What is said about features that are counted, and of what."""


def condition(given: Condition) -> str:
    """For people: all features are whole numbers."""
    name, above, threshold = given
    if name not in SENTENCES:
        kind = FEATURES[name].removeprefix("you can flex: ")
        return f'you can flex "{kind}"' if above else f'you can\'t flex "{kind}"'
    sentence, noun = SENTENCES[name]
    number = int(np.floor(threshold)) + above
    nouns = noun if number == 1 else f"{noun}s"
    few = {1: "one", 2: "two", 3: "three"}.get(number, str(number))
    how_many = f"at least {few}" if above else f"at most {few}" if number else "no"
    return sentence.format(f"{how_many} {nouns}")
