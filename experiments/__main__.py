"""Run a command: python -m experiments COMMAND."""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

from agents.allowed_code import allow_only
from experiments.process_setup import prepare
from experiments.signals import signals_unwind
from uno_flex_env.errors import did_you_mean, needs_extra

GROUPS = {
    "train": {
        "train": "train an agent by self-play, or continue a run",
        "curves": "draw the learning curves of runs",
        "best_response": "train learners against a frozen policy: how far can it be exploited?",
    },
    "measure strength": {
        "evaluate": "win rates of policies against each other",
        "tournament": "round robin: cross tables, ratings, heat map",
        "ladder": "win rates of policies against one opponent; strength of search by budget",
        "exploitability": "exact exploitability of a policy on a tiny deck",
        "ablation": "what each heuristic of the expert is worth",
    },
    "compare algorithms": {
        "benchmark run": "train every algorithm on every task of a suite, with several seeds",
        "benchmark tune": "find the settings of each algorithm, with the same effort",
        "benchmark cross": "let the final policies of a suite play each other",
        "benchmark exploit": "train exploiters of the final policies, with a fixed budget",
        "benchmark report": "tables and figures of all results",
        "benchmark submit": "pack a policy for the leaderboard",
        "benchmark check": "measure entries of the leaderboard again",
        "benchmark leaderboard": "make the page of the leaderboard",
    },
    "use a policy": {
        "play": "play at the terminal against any policy",
        "export": "write a network as an ONNX file for other programs",
    },
    "study the game": {
        "study": "when is a flex best spent? simulations, figures, an appendix",
    },
    "measure speed": {
        "networks": "layers, parameters and cost of the networks",
        "learning_speed": "speed of learning beside sb3-contrib's MaskablePPO",
        "core_speed": "speed of the environments beside RLCard, and instructions per decision",
    },
}
"""The commands in groups, each with a line of help. A command is a module of `experiments.commands` with HELP, a
dataclass Config and a function main; that of a command of two words has an underscore between them."""

COMMANDS = {name: what for group in GROUPS.values() for name, what in group.items()}


def usage() -> str:
    """The list of the commands."""
    lines = ["usage: python -m experiments COMMAND [--config FILE] [flags]"]
    for purpose, group in GROUPS.items():
        lines += ["", f"{purpose}:", *(f"  {name:21} {what}" for name, what in group.items())]
    ending = [
        "python -m experiments COMMAND --help explains a command, with examples.",
        "--config FILE reads settings from a TOML file; the folder configs/COMMAND has some.",
    ]
    return "\n".join([*lines, "", *ending])


def main(arguments: list[str]) -> int:
    """Run a command; return the exit status: 2 for wrong arguments, 130 for Ctrl-C, 1 if nothing reads the output."""
    name = next((name for name in COMMANDS if arguments[: len(name.split())] == name.split()), "")
    if not name and (not arguments or arguments[0] not in ("-h", "--help")):
        given = " ".join(arguments[: 1 + (arguments[:1] == ["benchmark"])])
        wrong = f"no such command: {given!r}{did_you_mean(given, COMMANDS)}\n\n" if arguments else ""
        print(wrong + usage(), file=sys.stderr)
        return 2
    prepare()
    try:
        if not name:
            print(usage(), flush=True)
            return 0
        with needs_extra("this command", "train"):
            return _run(name, arguments[len(name.split()) :])
    except BrokenPipeError:  # the reader of the output has gone, such as `head`; Python must not flush to it at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except ModuleNotFoundError as error:
        print(f"python -m experiments {name}: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        reason = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
        print(f"python -m experiments {name}: {reason}", file=sys.stderr)
        return 2
    except ValueError as error:
        print(f"python -m experiments {name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _run(name: str, flags: list[str]) -> int:
    """Read the settings of a command, and run it."""
    module: Any = importlib.import_module(f"experiments.commands.{name.replace(' ', '_')}")
    parse = importlib.import_module("experiments.command_line").parse  # here, since it needs tyro
    with allow_only(_names(flags)):
        config = parse(module, name, flags)
        with signals_unwind():
            status: int = module.main(config)
    return status


def _names(flags: list[str]) -> Iterator[str]:
    """All that may be the name of a policy in these words: a word, and what follows "=" or a comma in it."""
    for word in flags:
        yield word
        yield from (word[mark.end() :] for mark in re.finditer("[=,]", word))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
