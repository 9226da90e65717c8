"""The commands: python -m experiments COMMAND."""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
from pathlib import Path
from typing import Any

import tyro

from experiments.settings import read

COMMANDS = {
    "train": "train an agent by self-play",
    "evaluate": "win rates of policies against each other, with intervals",
    "tournament": "round robin over numbers of players: cross table, ratings, heat map",
    "ladder": "each policy at tables of the same opponent, from weak to strong; strength of search by budget",
    "best_response": "how much a fresh learner gains against a frozen policy",
    "play": "play at the terminal against any policy",
    "export": "write a network as an ONNX file for other programs",
    "study": "when is a flex best spent? simulations, figures, a report",
    "ablation": "what each rule of thumb of the expert is worth",
    "networks": "parameters, shapes and cost of the networks",
    "core_speed": "speed of the environments beside RLCard, and instructions per decision",
    "learning_speed": "speed of learning, also against sb3-contrib's MaskablePPO",
    "curves": "draw the learning curves of runs",
}


def usage() -> str:
    """Which commands there are."""
    lines = [f"  {name:14} {what}" for name, what in COMMANDS.items()]
    ending = "python -m experiments COMMAND --help says more; --config FILE reads settings from a TOML file."
    return "\n".join(["usage: python -m experiments COMMAND [--config FILE] [flags]", "", *lines, "", ending])


def main(arguments: list[str]) -> int:
    """Run a command; its exit status: 2 for a mistake in what was asked for, 130 when it was interrupted."""
    if arguments in (["-h"], ["--help"]):
        print(usage())
        return 0
    if not arguments or arguments[0] not in COMMANDS:
        wrong = f"no such command: {arguments[0]!r}\n\n" if arguments else ""
        print(wrong + usage(), file=sys.stderr)
        return 2
    name = arguments[0]
    prepare()
    try:
        module: Any = importlib.import_module(f"experiments.commands.{name}")
        status: int = module.main(parse(module, name, arguments[1:]))
    except BrokenPipeError:  # whoever read the output has gone, as `head` does; let nothing more be written at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (OSError, ValueError) as error:
        print(f"python -m experiments {name}: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    return status


def prepare() -> None:
    """Settings of the process that make learning faster. They do nothing where there is no such switch.

    A gradient step frees tens of megabytes and needs them again at once. The C library (glibc) should keep them,
    because getting them back from the system as fresh pages is slow.

    After a product torch's threads spin for a while (libgomp: milliseconds) in case there is another one, and so keep
    the threads of the games off the cores. They should sleep, or with libgomp spin for some microseconds only. Both
    variables are read when torch is loaded, so this must come first.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(M_TRIM_THRESHOLD, 256 << 20)
        mallopt(M_MMAP_THRESHOLD, 64 << 20)


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Numbers in glibc's malloc.h."""


def parse(module: Any, name: str, arguments: list[str]) -> Any:
    """The settings of a command: defaults, then those of the file that --config names, then flags."""
    default, rest = None, list[str]()
    words = iter(arguments)
    for word in words:
        option, given, file = word.partition("=")
        if option != "--config":
            rest.append(word)
            continue
        if not (file := file if given else next(words, "")):
            raise ValueError("--config needs a file")
        if default is not None:
            raise ValueError(f"--config names one file, got another: {file}")
        default = read(module.Config, Path(file))
    program = f"python -m experiments {name}"
    about = f"{module.HELP}\n--config FILE reads settings from a TOML file, with the names below; flags go before it."
    return tyro.cli(module.Config, args=rest, default=default, prog=program, description=about)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
