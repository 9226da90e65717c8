"""Short rules for when to flex, from a shallow decision tree that is fitted to the worth of the best flex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.tree import DecisionTreeRegressor

from agents.flex_policies import FEATURES, FLEX_KINDS, Condition, FlexRule
from experiments.flex_timing.decisions import Tried
from experiments.flex_timing.estimates import Estimate, Floats, estimate, holm

DEPTH = 3
FOLDS = 5
MIN_LEAF_SHARE = 0.04
"""The smallest leaf, as a share of all decisions."""


@dataclass(frozen=True)
class Leaf:
    """A leaf of the tree, as a rule."""

    path: tuple[Condition, ...]
    """The answers to the questions of the tree that lead here."""
    rule: FlexRule
    """The same conditions without those that later ones imply, and whether to spend."""
    worth: Estimate
    """The best flex less the best other play, in the decisions that the tree was fitted to."""
    share: float
    """The share of all decisions that reach this leaf."""


@dataclass(frozen=True)
class Tree:
    """A tree, and the worth of following it over always holding, in win rate for each decision."""

    leaves: tuple[Leaf, ...]
    by_tree: Estimate
    """Spending where the tree says so. Cross-validated: the tree of a decision is fitted to other deals."""
    always: Estimate
    """Always spending."""
    by_policy: Estimate
    """Spending where the policy did."""

    @property
    def rules(self) -> tuple[FlexRule, ...]:
        """The rule of each leaf."""
        return tuple(leaf.rule for leaf in self.leaves)


def fit_tree(tried: Tried) -> Tree:
    """Fit a tree to spending or holding; all decisions of a deal are in one fold."""
    worth = tried.spend_or_hold()
    table = np.stack([tried[name] for name in FEATURES], axis=1).astype(np.float64)
    least = max(2, int(MIN_LEAF_SHARE * len(worth)))
    tree = DecisionTreeRegressor(max_depth=DEPTH, min_samples_leaf=least, random_state=0)
    folds = GroupKFold(n_splits=min(FOLDS, len(np.unique(tried["deal"]))))
    foreseen = cross_val_predict(tree, table, worth, groups=tried["deal"], cv=folds)
    tree.fit(table, worth)
    spent = {"tree": foreseen > 0, "always": np.ones(len(worth), np.bool_), "policy": tried.flexed}
    compared = holm({name: estimate(np.where(where, worth, 0.0)) for name, where in spent.items()})
    return Tree(tuple(_leaves(tree, table, worth)), compared["tree"], compared["always"], compared["policy"])


def _leaves(tree: DecisionTreeRegressor, table: Floats, worth: Floats) -> list[Leaf]:
    """The leaves from left to right; a branch whose leaves all say the same is one leaf."""
    nodes, names, reached = tree.tree_, list(FEATURES), tree.decision_path(table).toarray() != 0

    def below(node: int, path: tuple[Condition, ...]) -> list[Leaf]:
        inside = reached[:, node]
        leaf = Leaf(
            path,
            FlexRule(_shortened(path), bool(worth[inside].mean() > 0)),
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
    """The conditions without the wider ones: on one feature in one direction, the last one is the narrowest."""
    narrowest = {(feature, above): threshold for feature, above, threshold in path}
    return tuple((feature, above, threshold) for (feature, above), threshold in narrowest.items())


def condition_text(condition: Condition) -> str:
    """A condition in words."""
    return f"{question_text(condition)}: {answer_text(condition)}"


def question_text(condition: Condition) -> str:
    """What a condition is about."""
    return FEATURES[condition[0]].replace("flex: ", "flex ")


def answer_text(condition: Condition) -> str:
    """The range of a condition: "N or more", "N or fewer", "none", or yes or no for a feature that is 0 or 1."""
    name, above, threshold = condition
    if name in list(FEATURES)[-len(FLEX_KINDS) :]:
        return "yes" if above else "no"
    number = int(np.floor(threshold))
    if above:
        return f"{number + 1} or more"
    return f"{number} or fewer" if number else "none"
