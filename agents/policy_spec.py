"""The grammar of policy names. No other module parses them.

random, flex_any, ...       a rule bot of the core
expert, expert-NAME-NAME    the expert, without some of its heuristics
flex_by_rules               the rules of the flex study
NETWORK, NETWORK:greedy     a network: `champion`, a run's folder, or a .safetensors file
search:BUDGET[,PRIOR]       a tree search that improves on PRIOR, by default the expert
flat:BUDGET[,PRIOR]         the same without a tree
module:Class                a class, which is called without arguments
onnx:FILE, onnx:FILE:greedy a network in an ONNX file
stdio:[LIMIT,][Nevents,]COMMAND
                            a program in any language, see `agents.stdio_policy`. LIMIT is the time for a decision, such
                            as 500ms or 5s; N is how many of the last events it reads, such as 8events
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Literal

from agents.budget import Budget
from uno_flex_env.batch import BOTS
from uno_flex_env.options import MAX_HISTORY

Kind = Literal["rule bot", "expert", "flex_by_rules", "network", "search", "flat", "class", "onnx", "stdio"]


@dataclass(frozen=True)
class PolicySpec:
    """The parts of a policy name. Whether the network or class exists is checked when the policy is made."""

    text: str
    """The whole name."""
    kind: Kind
    name: str = ""
    """The rule bot, the network, the module of the class, or the ONNX file."""
    without: tuple[str, ...] = ()
    """The heuristics that the expert leaves out."""
    greedy: bool = False
    """Whether the network always takes its likeliest action."""
    class_name: str = ""
    command: tuple[str, ...] = ()
    """The words of a program's command line."""
    limit: float = 10.0
    """The time that a program may take for a decision, in seconds."""
    events: int = 0
    """How many of the last events a program reads."""
    budget: Budget = Budget()  # noqa: RUF009 (it is frozen)
    prior: PolicySpec | None = None
    """The policy that a search improves on."""

    @classmethod
    def parse(cls, text: str) -> PolicySpec:
        """Parse a name; ValueError for an invalid budget or command. A name of no other form is taken as a network."""
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
        if name == "onnx" and option:
            return cls(text, "onnx", option.removesuffix(":greedy"), greedy=option.endswith(":greedy"))
        if name == "stdio" and option:
            limit, events, command = _program(text, option)
            return cls(text, "stdio", command=command, limit=limit, events=events)
        if option in ("", "greedy") or not name:
            return cls(text, "network", name, greedy=option == "greedy")
        return cls(text, "class", name, class_name=option)

    @property
    def network(self) -> str | None:
        """The name of the policy's network, alone or as the prior of a search; None if there is none."""
        if self.prior is not None:
            return self.prior.network
        return self.name if self.kind == "network" else None

    @property
    def onnx_file(self) -> str | None:
        """The policy's ONNX file, alone or as the prior of a search; None if there is none."""
        if self.prior is not None:
            return self.prior.onnx_file
        return self.name if self.kind == "onnx" else None


LONGEST_LIMIT = 3600
"""The longest time for a decision of a program, in seconds."""


def _program(text: str, option: str) -> tuple[float, int, tuple[str, ...]]:
    """The time limit in seconds, the number of events, and the words of the command."""
    parts = re.fullmatch(r"(?:([0-9]+)(ms|s),)?(?:([0-9]+)events,)?(.*)", option, re.DOTALL)
    assert parts is not None  # anything is a command
    number, unit, events, command = parts.groups()
    limit = PolicySpec.limit if number is None else int(number) / (1000 if unit == "ms" else 1)
    if not 0 < limit <= LONGEST_LIMIT:
        raise ValueError(f"{text!r}: the time for a decision is from 1ms to {LONGEST_LIMIT}s, got {number}{unit}")
    if int(events or 0) > MAX_HISTORY:
        raise ValueError(f"{text!r}: a program reads at most {MAX_HISTORY} events, got {events}")
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise ValueError(f"{text!r}: the command can't be split into words: {error}") from None
    if not words:
        raise ValueError(f"{text!r} needs a command, such as stdio:./my_bot")
    return limit, int(events or 0), words
