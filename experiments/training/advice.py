"""What a training run tells its user beside its results: runs to continue, what to do next, how many threads to use."""

from __future__ import annotations

import copy
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch

from agents.network import ActorCritic
from experiments.training.checkpoint_file import CHECKPOINT, load_checkpoint
from experiments.training.train_config import TrainConfig, load_config
from uno_flex_env.observation import NUM_FEATURES
from uno_flex_env.rules import Rules


def continuation(folder: Path) -> str:
    """The command that continues a run."""
    return f"python -m experiments train --resume {shlex.quote(str(folder))}"


@contextmanager
def tells_how_to_continue(folder: Path) -> Iterator[None]:
    """Print how to continue the run if a signal ends it and it has a checkpoint."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        if (folder / CHECKPOINT).is_file():
            print(f"interrupted; to continue: {continuation(folder)}", flush=True)
        raise


def report_unfinished(config: TrainConfig) -> None:
    """Say on standard error which earlier runs of this name have not come to their end, and how to continue them."""
    name = re.compile(re.escape(config.name) + r"(-\d+)?")
    for folder in sorted(config.runs.glob("*")):
        if not name.fullmatch(folder.name) or not (folder / CHECKPOINT).is_file():
            continue
        with suppress(ValueError, OSError, LookupError):  # a damaged folder is no run to continue
            total = load_config(folder).decisions
            done = load_checkpoint(folder / CHECKPOINT)["decisions"]
            if done < total:
                progress = f"{done:,} of {total:,} decisions"
                print(f"{folder} is unfinished ({progress}); to continue it: {continuation(folder)}", file=sys.stderr)


def what_now(config: TrainConfig, folder: Path) -> str:
    """Commands that use a finished run."""
    players = config.game.players[0]
    rules = _rule_flags(config.game.rules)
    seats = "" if players == 2 else f" --players {players}"
    commands = (
        f"python -m experiments play --opponent {shlex.quote(str(folder))}{seats}{rules}",
        f"python -m experiments evaluate {shlex.quote(f'{folder}:greedy')} champion --players {players}{rules}",
        f"tensorboard --logdir {shlex.quote(str(config.runs))}",
    )
    return "\n".join(["what now:", *(f"  {command}" for command in commands)])


def _rule_flags(rules: Rules) -> str:
    """The flags for these rules, with a blank before each; a deck has none."""
    flags = []
    for name, value in rules.to_dict().items():
        option = name.replace("_", "-")
        if value is True or value is False:
            flags.append(f" --rules.{'' if value else 'no-'}{option}")
        elif name != "deck":
            flags.append(f" --rules.{option} {value}")
    return "".join(flags)


def thread_advice(network: ActorCritic, rows: int, num_threads: int, seconds: float = 0.25) -> str:
    """Compare the speed of learning on one thread and on all, for four times `seconds`.

    Args:
        network: on the CPU; a copy learns from zeros, and no random numbers are drawn.
        rows: decisions in a minibatch.
        num_threads: threads of the run, at least 2. Afterwards torch has as many again.

    Returns:
        A recommendation, if one thread is clearly faster, such as on a busy machine; else an empty text.
    """
    learner = copy.deepcopy(network)
    observation = torch.zeros((rows, NUM_FEATURES), dtype=torch.uint8)
    events = learner.config.events
    history = torch.full((rows, events, 3), -1, dtype=torch.int16) if events else None

    def learn() -> None:
        logits, _ = learner(observation, history)
        logits.float().square().mean().backward()

    speeds: dict[int, float] = {}
    for threads in (1, num_threads) * 2:  # in turn: the load of the machine changes
        torch.set_num_threads(threads)
        speeds[threads] = max(speeds.get(threads, 0.0), _rate(learn, seconds))
    return slower_with_threads(speeds[1], speeds[num_threads], num_threads)


def slower_with_threads(one: float, all_threads: float, num_threads: int) -> str:
    """The recommendation for these speeds on one thread and on all."""
    if one < 1.1 * all_threads:
        return ""
    return (
        f"{num_threads} threads learn at {all_threads / one:.0%} of the speed of 1 thread here, probably because other "
        "programs use the processor: --num-threads 1 is faster. The run keeps its threads, because their number "
        "changes its last digits."
    )


def _rate(work: Callable[[], None], seconds: float) -> float:
    """How often the work is done in a second."""
    work()
    began, count = time.perf_counter(), 0
    while (passed := time.perf_counter() - began) < seconds or not count:
        work()
        count += 1
    return count / passed
