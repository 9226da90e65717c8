"""A training run from start to end: its folder, the training loop, the measurements and the final table.

You can kill a run at any time; `resume` continues it from its last checkpoint, bit for bit.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

import torch

import uno_flex_env
from agents import checkpoint
from agents.atomic import new_folder, write_whole
from agents.folder_lock import locked
from agents.learners.self_play_ppo import SelfPlayPPO
from agents.match.progress_bar import progress_bar
from agents.match.results import Rate
from agents.match.runner import MAX_DECISIONS, duel
from agents.match.workers import cores, worker_pool
from agents.policy import Policy
from experiments.match_tables.match_settings import games_of
from experiments.training.advice import tells_how_to_continue, thread_advice, what_now
from experiments.training.checkpoint_file import CHECKPOINT
from experiments.training.monitor import Monitor
from experiments.training.train_config import CONFIG, TrainConfig, load_config
from experiments.training.trainer import Trainer
from uno_flex_env.batch import BOTS
from uno_flex_env.seeding import derived_seed


def begin(config: TrainConfig) -> Path:
    """Make the folder of a new run and write the settings into it.

    Raises:
        ValueError: `init_from` names no network, or one that does not fit, or the learner does not support a setting;
            no folder is made.
    """
    if config.init_from:
        first_weights(config)
    Trainer(config, config.runs, num_threads=1)  # for what it refuses
    folder = new_folder(config.runs, config.name)
    write_whole(folder / CONFIG, json.dumps(config.to_dict() | {"made_by": made_by()}, indent=2).encode() + b"\n")
    return folder


def first_weights(config: TrainConfig) -> Mapping[str, torch.Tensor]:
    """The weights of the policy that `init_from` names.

    Raises:
        ValueError: there is no such network, or its settings differ from those of the run's network.
    """
    path = checkpoint.find_policy(config.init_from)
    if path is None:
        raise ValueError(f"init_from: there is no network {config.init_from!r}")
    network, _ = checkpoint.load_network(path)
    if network.config != config.network:
        raise ValueError(f"init_from: {config.init_from} has the network {network.config}, the run {config.network}")
    return network.state_dict()


def run(config: TrainConfig, folder: Path, *, resume: bool = False, num_threads: int = 0) -> int:
    """Train to the end, then print the final table. Return the exit status: 1 if the run has diverged, else 0.

    Args:
        num_threads: in place of the run's own number; 0 for that.
    """
    num_threads = num_threads or config.num_threads or cores()
    if not learn(config, folder, resume=resume, num_threads=num_threads):
        return 1
    with tells_how_to_continue(folder):
        print(final_table(config, folder, num_threads), what_now(config, folder), sep="\n\n", flush=True)
    return 0


def resume(folder: Path, num_threads: int = 0) -> int:
    """Continue the run in `folder` from its last checkpoint. Return the exit status as `run` does.

    With another number of threads the run does not continue bit for bit, since torch adds in another order.

    Args:
        num_threads: in place of the run's own number; 0 for that.

    Raises:
        ValueError: the folder is not that of a run, or the run has no checkpoint.
    """
    config = load_config(folder)
    if not (folder / CHECKPOINT).is_file():
        raise ValueError(f"{folder} can't be resumed: there is no {CHECKPOINT} in it")
    own = config.num_threads or cores()
    if num_threads not in (0, own):
        print(
            f"{folder} had {own} threads and continues with {num_threads}: not bit for bit as without the interruption",
            file=sys.stderr,
        )
    return run(config, folder, resume=True, num_threads=num_threads)


def learn(config: TrainConfig, folder: Path, *, resume: bool = False, num_threads: int = 0) -> bool:
    """Train to the end in a folder that `begin` has made. Return False if the run has diverged.

    Args:
        num_threads: in place of `config.num_threads`; 0 for that.

    Raises:
        ValueError: another process trains in this folder, or what `Trainer.restore` raises.
    """
    with tells_how_to_continue(folder), locked(folder):
        return _learn(config, folder, num_threads or config.num_threads or cores(), resume=resume)


def _learn(config: TrainConfig, folder: Path, num_threads: int, *, resume: bool) -> bool:
    torch.set_num_threads(num_threads)
    trainer = Trainer(config, folder, num_threads)
    if resume:
        trainer.restore()
        if trainer.is_done:
            print(
                f"{folder} has learned from all of its {config.decisions:,} decisions; its final table follows. To "
                f"train further from its policy: --init-from {folder}",
                flush=True,
            )
    else:
        if config.init_from:
            trainer.load_weights(first_weights(config))
        trainer.save()
    _introduce(trainer, num_threads)
    with Monitor(folder, config.decisions, trainer.decisions) as monitor:
        try:
            _train(config, trainer, monitor)
        except FloatingPointError as error:
            print(f"the run has diverged: {error}; {folder / CHECKPOINT} holds the last good state", flush=True)
            return False
    return True


def _introduce(trainer: Trainer, num_threads: int) -> None:
    """Say what learns and where, and whether one thread would be faster."""
    learner = trainer.learner
    if not isinstance(learner, SelfPlayPPO):
        print(f"{trainer.folder}: {trainer.config.learner}, {num_threads} threads", flush=True)
        return
    precision = str(learner.ppo.precision).removeprefix("torch.")
    print(f"{trainer.folder}: {learner.ppo.device.type}, {num_threads} threads, {precision}", flush=True)
    if num_threads > 1 and learner.ppo.device.type == "cpu" and not trainer.is_done:
        with learner.ppo.autocast():
            advice = thread_advice(learner.network, learner.ppo.config.minibatch_size, num_threads)
        print(advice, end="\n" * bool(advice), file=sys.stderr, flush=True)


def _train(config: TrainConfig, trainer: Trainer, monitor: Monitor) -> None:
    saved = time.monotonic()
    interval = config.decisions / config.evaluations
    while not trainer.is_done:
        before = trainer.decisions
        metrics = trainer.step()
        monitor.update(trainer.decisions, trainer.updates, metrics, trainer.league_rates())
        measured = trainer.decisions // interval > before // interval or trainer.is_done
        if measured:
            began = time.perf_counter()
            monitor.strength(trainer.decisions, trainer.minutes, measure(config, trainer.policy()))
            trainer.seconds["measuring"] += time.perf_counter() - began
        if measured or time.monotonic() - saved > config.checkpoint_seconds:
            monitor.flush()
            trainer.save()
            saved = time.monotonic()


# ---- Measurements ----

MEASURED, FINAL = 1 << 32, (1 << 32) + 1
"""Numbers of the seeds that measurements derive from the seed of a run; training derives those of small numbers."""


def measure(config: TrainConfig, policy: Policy) -> dict[tuple[str, int], Rate]:
    """Measure the win rate against each baseline at each number of players. All measurements play the same deals."""
    return {
        (baseline, num_players): duel(
            policy,
            baseline,
            num_players,
            games=config.evaluation_games,
            seed=derived_seed(config.seed, MEASURED),
            rules=config.game.rules,
            max_decisions=config.game.max_decisions or MAX_DECISIONS,
        ).rate(policy.name)
        for num_players in config.game.players
        for baseline in config.baselines
    }


def final_table(config: TrainConfig, folder: Path, workers: int) -> str:
    """Measure the finished run on deals that neither training nor `measure` has used; return the table as text."""
    name = f"{folder}:greedy"
    cells = [(other, n) for n in config.game.players for other in dict.fromkeys((*BOTS, *config.baselines))]
    lines = [f"{name}, {config.final_games:,} games a line", ""]
    lines.append(f"{'against':16} players  {'wins, 95 % interval':>21}  fair share")
    options = {
        "games": config.final_games,
        "seed": derived_seed(config.seed, FINAL),
        "rules": config.game.rules,
        "max_decisions": config.game.max_decisions or MAX_DECISIONS,
    }
    with (
        nullcontext(1) if workers == 1 else worker_pool(workers) as pool,
        progress_bar(sum(games_of(config.final_games, n) for _, n in cells)) as bar,
    ):
        for other, num_players in cells:
            rate = duel(name, other, num_players, workers=pool, progress=bar, **options).rate(name)
            lines.append(f"{other:16} {num_players:>7}  {rate!s:>21}  {100 * rate.fair:>8.1f} %")
    return "\n".join(lines)


def made_by() -> dict[str, str]:
    """The versions of Python, torch and this package, the machine, and the commit of the checkout if there is one."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = "unknown"
    versions = {"uno_flex_env": uno_flex_env.__version__, "torch": torch.__version__}
    return versions | {"python": platform.python_version(), "machine": platform.machine(), "commit": commit}
