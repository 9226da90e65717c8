"""The grammar of policy names. No other module parses them.

random, flex_any, ...       a rule bot of the core
expert, expert-NAME-NAME    the expert, without some of its heuristics
flex_by_rules               the rules of the flex study
NETWORK, NETWORK:greedy     a network: `champion`, a run's folder, or a .safetensors file
search:BUDGET[,PRIOR]       a tree search that improves on PRIOR, by default the expert
flat:BUDGET[,PRIOR]         the same without a tree
module:Class                a class, which is called without arguments
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agents.budget import Budget
from uno_flex_env.batch import BOTS

Kind = Literal["rule bot", "expert", "flex_by_rules", "network", "search", "flat", "class"]


@dataclass(frozen=True)
class PolicySpec:
    """The parts of a policy name. Whether the network or class exists is checked when the policy is made."""

    text: str
    """The whole name."""
    kind: Kind
    name: str = ""
    """The rule bot, the network, or the module of the class."""
    without: tuple[str, ...] = ()
    """The heuristics that the expert leaves out."""
    greedy: bool = False
    """Whether the network always takes its likeliest action."""
    class_name: str = ""
    budget: Budget = Budget()  # noqa: RUF009 (it is frozen)
    prior: PolicySpec | None = None
    """The policy that a search improves on."""

    @classmethod
    def parse(cls, text: str) -> PolicySpec:
        """Parse a name; ValueError for an invalid budget. A name of no other form is taken as a network."""
        name, _, option = text.partition(":")
        if text in BOTS:
            return cls(text, "rule bot", name)
        if text == "expert" or text.startswith("expert-"):
            return cls(text, "expert", without=tuple(text.split("-")[1:]))
        if text == "flex_by_rules":
            return cls(text, "flex_by_rules")
        if name in ("search", "flat"):
            budget, _, prior = option.partition(",")
            kind: Kind = "search" if name == "search" else "flat"
            return cls(text, kind, budget=Budget.parse(budget), prior=cls.parse(prior or "expert"))
        if option in ("", "greedy") or not name:
            return cls(text, "network", name, greedy=option == "greedy")
        return cls(text, "class", name, class_name=option)

    @property
    def network(self) -> str | None:
        """The name of the policy's network, alone or as the prior of a search; None if there is none."""
        if self.prior is not None:
            return self.prior.network
        return self.name if self.kind == "network" else None
