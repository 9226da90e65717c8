"""Compares the rules that networks were trained by with the rules of a match."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace

from agents.checkpoint import trained_rules
from uno_flex_env.rules import Rules


def compare_rules(policies: Iterable[str], rules: Rules, *, other_rules: bool) -> None:
    """Report on standard error which of these policies were trained by other rules than those of the match.

    The target score is left out, since it changes no round.

    Raises:
        ValueError: a policy was trained by house rules, the match is by the official ones, and `other_rules` is off.
    """
    rules = replace(rules, target_score=Rules().target_score)
    for policy in dict.fromkeys(policies):
        trained = trained_rules(policy)
        if trained is None or replace(trained, target_score=rules.target_score) == rules:
            continue
        if rules == Rules() and not other_rules:
            raise ValueError(
                f"{policy} was trained by {described(trained)}, and this match is by the official rules: give those "
                "rules, or --other-rules to play by the official ones"
            )
        print(f"{policy} was trained by {described(trained)}, and plays by {described(rules)} here", file=sys.stderr)


def described(rules: Rules) -> str:
    """The switches that are not official, as text."""
    switches = [f"{name}={value}" for name, value in rules.to_dict().items() if name != "deck"]
    if rules.deck is not None:
        switches.append(f"a deck of {sum(rules.deck.values())} cards")
    return f"rules with {', '.join(switches)}" if switches else "the official rules"
