"""Makes policies from their names."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path

from agents.allowed_code import check_allowed
from agents.expert import Expert
from agents.flex_policies import FlexByRules
from agents.policy import Policy
from agents.policy_spec import PolicySpec
from agents.rule_bot import RuleBot
from agents.stdio_policy import StdioPolicy
from uno_flex_env.batch import BOTS
from uno_flex_env.errors import did_you_mean, needs_extra


def make_policy(name: str) -> Policy:
    """Make a policy.

    Args:
        name: "random" or another rule bot; "expert", or "expert-NAME" without one of its heuristics; "flex_by_rules",
            the rules that the study of flex timing has found; the folder of a training run or a `.safetensors` file in
            one, for the network in it, which samples its actions, or always takes the likeliest one with ":greedy"
            after the name; "champion", the network that comes with the project; "search:BUDGET" or
            "search:BUDGET,PRIOR", which looks ahead for so many simulations ("200") or so much time ("100ms") a
            decision and improves on PRIOR, by default the expert ("flat:" does so without a tree); "module:Class" for a
            class of your own, which is called without arguments; "onnx:FILE" for a network in an ONNX file;
            "stdio:COMMAND" for a program in any language (docs/programs.md).

    Raises:
        ValueError: there is no such policy; the message says which there are. Or it is a class or
            a program that `agents.allowed_code.allow_only` does not allow.
    """
    spec = PolicySpec.parse(name)
    match spec.kind:
        case "rule bot":
            return RuleBot(spec.name)
        case "expert":
            return Expert(spec.without)
        case "flex_by_rules":
            return FlexByRules()
        case "search" | "flat":
            return _search(spec)
        case "network":
            return _network(spec)
        case "class":
            return _own_class(spec)
        case "onnx":
            return _onnx(spec)
        case "stdio":
            check_allowed(spec.text)
            return StdioPolicy(spec.text, spec.command, spec.limit, spec.events)


# The modules that need torch or onnxruntime are imported where they are used: it takes a second, and most policies do
# without.


def _network(spec: PolicySpec) -> Policy:
    with needs_extra(f"the policy {spec.text!r}", "train"):
        from agents.checkpoint import find_policy
        from agents.network_policy import load_policy

    file = find_policy(spec.name)
    if file is None:
        raise ValueError(_unknown(spec.text))
    return load_policy(file, name=spec.text, greedy=spec.greedy)


def _onnx(spec: PolicySpec) -> Policy:
    with needs_extra(f"the policy {spec.text!r}", "train"):
        from agents.onnx_policy import load_onnx

    return load_onnx(Path(spec.name), spec.text, greedy=spec.greedy)


def _search(spec: PolicySpec) -> Policy:
    with needs_extra(f"the policy {spec.text!r}", "train"):
        from agents.network_policy import NetworkPolicy
        from agents.search import BotSearch, NetworkSearch

    assert spec.prior is not None
    prior = make_policy(spec.prior.text)
    if not isinstance(prior, NetworkPolicy):
        return BotSearch(spec.text, prior, spec.budget, "flat" if spec.kind == "flat" else "tree")
    if spec.kind == "flat":
        raise ValueError(f"{spec.text!r}: a network guides search:, not flat:")
    return NetworkSearch(spec.text, prior, spec.budget)


def _unknown(text: str) -> str:
    """The message for a name that is not that of a policy."""
    bots = ", ".join((*BOTS, "flex_by_rules", "expert"))
    return (
        f"no such policy: {text!r}; there are {bots}, champion, search:BUDGET, the folders of training runs (:greedy "
        f"behind a network), module:Class, onnx:FILE and stdio:COMMAND{_near(text)}"
    )


def _near(text: str) -> str:
    """The end of a message: the most similar name, or ""."""
    option = text.partition(":")[2]
    budget = option if option[:1].isdecimal() else "100ms"
    known = (*BOTS, "flex_by_rules", "expert", *_networks(), f"search:{budget}", f"flat:{budget}")
    return did_you_mean(text, known)


def _networks() -> list[str]:
    """The names of the networks that are found without a path."""
    names = ["champion", *(path.parent.as_posix() for path in sorted(Path("runs").glob("*/policy.safetensors")))]
    return [*names, *(f"{name}:greedy" for name in names)]


def _own_class(spec: PolicySpec) -> Policy:
    check_allowed(spec.text)
    try:
        if find_spec(spec.name.partition(".")[0]) is None:
            why = _near(spec.text) or f": there is no module {spec.name!r}"
            raise ValueError(f"no such policy: {spec.text!r}{why}")
        module = importlib.import_module(spec.name)
        if not hasattr(module, spec.class_name):
            near = did_you_mean(spec.class_name, vars(module))
            raise ValueError(f"no such policy: {spec.text!r}: {spec.name} has no {spec.class_name!r}{near}")
        policy: Policy = getattr(module, spec.class_name)()
        name, history, fine = policy.name, policy.history, callable(policy.act)
    except (ImportError, AttributeError, SyntaxError, TypeError) as error:
        raise ValueError(f"no such policy: {spec.text!r}: {error}") from None
    if not isinstance(name, str) or not isinstance(history, int) or history < 0 or not fine:
        got = f"{name!r}, {history!r}"
        raise ValueError(f"{spec.text!r} needs a name, a history of 0 or more events, and act, got {got}")
    return policy
