"""Self-play training: one run in one folder, which can be killed at any time and goes on exactly where it was."""

from __future__ import annotations

import copy
import json
import platform
import subprocess
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Literal

import torch

import uno_flex_env
from agents import checkpoint
from agents.atomic import new_folder, write_whole
from agents.device import choose_device
from agents.league import League, LeagueConfig
from agents.match.progress_bar import progress_bar
from agents.match.results import Rate
from agents.match.runner import MAX_DECISIONS, duel
from agents.match.workers import cores, worker_pool
from agents.network import ActorCritic, NetworkConfig
from agents.network_policy import NetworkPolicy, load_policy
from agents.policy_factory import make_policy
from agents.ppo import PPO, PPOConfig
from agents.rollout import Experience, GameConfig, Rollout
from experiments.config import from_table
from experiments.output import say
from experiments.training.behavior import behavior
from experiments.training.monitor import Monitor
from uno_flex_env.envs.vec_env import BOTS
from uno_flex_env.options import check_whole

HELP = """\
Train an agent by self-play (PPO). All seats of thousands of games learn at once; ends with a table of what it beats.

  python -m experiments train --config configs/train/quick.toml
  python -m experiments train --config configs/train/four_players.toml --name wide --network.width 512 --seed 2
  tensorboard --logdir runs
  python -m experiments resume runs/quick        after a kill, exactly where it was

Results in runs/NAME: policy.safetensors, config.json, metrics.jsonl, TensorBoard events. `evaluate runs/NAME ...` plays
the network's actions with their probabilities, `runs/NAME:greedy` its likeliest ones, as charts and final table do.
"""

CHECKPOINT = "checkpoint.safetensors"
FORMAT = "uno-flex-training/1"


@dataclass(frozen=True)
class Config:
    """Settings of a training run."""

    name: str = "quick"
    """The results go to runs/NAME, or NAME-2 and so on if that is there already."""
    runs: Path = Path("runs")
    """Where the folders of runs lie."""
    seed: int = 1
    """Of weights, deals and choices. On one machine with as many threads, the same seed gives the same run."""
    learner: Literal["ppo", "sb3"] = "ppo"
    """ppo: this project's own, agents/ppo.py; sb3: sb3-contrib's MaskablePPO, to compare with, experiments/sb3.py. It
    refuses settings that it has nothing for, and its runs have no checkpoints and can't be resumed."""
    decisions: int = 25_000_000
    """To learn from, in all."""
    game: GameConfig = field(default_factory=GameConfig)
    """What is played."""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    """What learns."""
    ppo: PPOConfig = field(default_factory=PPOConfig)
    """How it learns."""
    league: LeagueConfig = field(default_factory=LeagueConfig)
    """Whom it meets beside itself."""
    start: str = ""
    """Begin with the weights of this policy (a run's folder, or a file) and not with random ones; the networks must be
    alike."""
    yardsticks: tuple[str, ...] = ("expert", "flex_when_stuck")
    """Policies against which strength is measured; the first is shown while the run goes on."""
    evaluations: int = 20
    """How often during the run."""
    evaluation_games: int = 2000
    """Each time, against each yardstick, at each number of players."""
    final_games: int = 20_000
    """At the end, for each cell of the table."""
    checkpoint_seconds: float = 60.0
    """Time between two checkpoints; there is one more at each evaluation and at the end."""
    device: str = "auto"
    """cpu, cuda, mps, or the best of them that is there."""
    threads: int = 0
    """Of torch and of the games; 0 for as many as there are cores that this process may use."""

    def __post_init__(self) -> None:
        for name in ("decisions", "evaluations", "evaluation_games", "final_games"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        check_whole("threads", self.threads, 0, 1024)
        if not 0.0 <= self.checkpoint_seconds < inf:
            raise ValueError(f"checkpoint_seconds must be at least 0 and finite, got {self.checkpoint_seconds}")
        if not self.name or Path(self.name).name != self.name or self.name == "..":
            raise ValueError(f"name must be that of a folder, got {self.name!r}")
        check_whole("seed", self.seed, 0, (1 << 63) - 1)
        choose_device(self.device)
        if self.network.events and self.game.max_decisions is not None:
            raise ValueError('network.kind "history" can\'t estimate games cut by game.max_decisions: leave one out')
        if not self.yardsticks:
            raise ValueError("yardsticks must name at least one policy")
        for name in (*self.yardsticks, *self.league.opponents):
            make_policy(name)


class Trainer:
    """Everything that decides how a run goes on, and how it gets from one update to the next."""

    def __init__(self, config: Config, folder: Path, threads: int) -> None:
        self.config, self.folder = config, folder
        self.device = choose_device(config.device)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            network = ActorCritic(config.network)
        self.opponents = checkpoint.digests(config.league.opponents)  # of the files that are loaded here
        self.league = League(config.league, config.seed)
        self.ppo = PPO(config.ppo, network, self.device, config.seed)
        self.rollout = Rollout(config.game, network, self.league, config.seed, threads)
        self.decisions = 0
        self.seconds = {"collecting": 0.0, "learning": 0.0, "measuring": 0.0}

    def begin_with(self, weights: Mapping[str, torch.Tensor]) -> None:
        """Use these first weights instead of random ones."""
        self.ppo.network.load_state_dict(weights)
        if self.ppo.magnet is not None:
            self.ppo.magnet.load_state_dict(weights)

    @property
    def over(self) -> bool:
        """Whether there is nothing left to learn."""
        return self.decisions >= self.config.decisions

    @property
    def minutes(self) -> float:
        """Spent so far, on learning and on measuring."""
        return sum(self.seconds.values()) / 60

    def step(self) -> dict[str, float]:
        """One rollout and one update."""
        config = self.config
        began = time.perf_counter()
        seen = self._collect()
        while not len(seen.rows):  # short rollouts of large tables: nobody has decided twice
            seen = self._collect()
        collected = time.perf_counter()
        metrics = self.ppo.update(seen, min(1.0, self.decisions / config.decisions))
        learned = time.perf_counter()
        before = self.decisions
        self.decisions += len(seen.rows)
        some = seen.rows[::8]
        metrics |= behavior(seen.legal[some], seen.action[some]) | {"game_length": self.rollout.game_length}
        metrics["decisions_per_second"] = len(seen.rows) / (learned - began)
        metrics["games_share"] = self.rollout.take_seconds() / (learned - began)
        self.seconds["collecting"] += collected - began
        self.seconds["learning"] += learned - collected
        metrics["minutes"] = self.minutes
        if config.league.snapshots and self.decisions // config.league.every > before // config.league.every:
            self._take_snapshot()
        return metrics

    def _collect(self) -> Experience:
        ppo = self.config.ppo
        with self.ppo.autocast():
            return self.rollout.collect(self.ppo.network, self.device, ppo.gamma, ppo.gae_lambda)

    def policy(self, name: str = "agent", *, greedy: bool = True) -> NetworkPolicy:
        """A copy of the policy as it is now."""
        return NetworkPolicy(copy.deepcopy(self.ppo.network).cpu(), name, greedy=greedy)

    # ---- Files ----

    def save_policy(self, path: Path) -> None:
        """The network alone, for playing."""
        checkpoint.save_network(path, self.ppo.network, {"decisions": self.decisions, "config": portable(self.config)})

    def _take_snapshot(self) -> None:
        path = self._snapshot(self.league.taken)
        path.parent.mkdir(exist_ok=True)
        self.save_policy(path)
        self.league.add(load_policy(path, path.stem))

    def _snapshot(self, number: int) -> Path:
        return self.folder / "snapshots" / f"{number:05}.safetensors"

    def save(self) -> None:
        """Everything, so that `restore` goes on bit for bit."""
        tensors = {f"network.{name}": value for name, value in self.ppo.network.state_dict().items()}
        if self.ppo.magnet is not None:
            tensors |= {f"magnet.{name}": value for name, value in self.ppo.magnet.state_dict().items()}
        for number, state in self.ppo.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{number}.{name}": value for name, value in state.items()}
        tensors |= {f"rollout.{name}": value for name, value in self.rollout.state().items()}
        tensors["generator"] = self.ppo.generator.get_state()
        about = {
            "config": plain(self.config),
            "decisions": self.decisions,
            "updates": self.ppo.updates,
            "league": self.league.state(),
            "opponents": self.opponents,
            "seconds": self.seconds,
        }
        self.save_policy(self.folder / checkpoint.POLICY)
        checkpoint.save(self.folder / CHECKPOINT, FORMAT, tensors, about)

    def restore(self) -> None:
        """Go on where `save` was called last.

        Raises:
            ValueError: the checkpoint was made with other settings or other opponents, which the message names.
        """
        tensors, about = checkpoint.load(self.folder / CHECKPOINT, FORMAT)
        for name, value in plain(self.config).items():
            if about["config"].get(name) != json.loads(json.dumps(value)):
                raise ValueError(f"{self.folder}: {name} is not what it was: {about['config'].get(name)}, now {value}")
        if about["opponents"] != self.opponents:
            raise ValueError(f"{self.folder}: the networks of its opponents {list(about['opponents'])} have changed")

        def part(name: str) -> dict[str, torch.Tensor]:
            prefix = name + "."
            return {key.removeprefix(prefix): value for key, value in tensors.items() if key.startswith(prefix)}

        self.ppo.network.load_state_dict(part("network"))
        if self.ppo.magnet is not None:
            self.ppo.magnet.load_state_dict(part("magnet"))
        optimizer = self.ppo.optimizer.state_dict()
        optimizer["state"] = {i: part(f"optimizer.{i}") for i in optimizer["param_groups"][0]["params"]}
        if about["updates"]:
            self.ppo.optimizer.load_state_dict(optimizer)
        self.ppo.generator.set_state(tensors["generator"])
        self.decisions, self.ppo.updates, self.seconds = about["decisions"], about["updates"], about["seconds"]
        taken, kept = about["league"]["taken"], self.config.league.snapshots
        slots = {number % kept: number for number in range(max(0, taken - kept), taken)} if kept else {}
        paths = [self._snapshot(slots[slot]) for slot in sorted(slots)]
        self.league.restore(about["league"], [load_policy(path, path.stem) for path in paths])
        self.rollout.restore(part("rollout"))


def first_weights(config: Config) -> Mapping[str, torch.Tensor]:
    """Those of the policy that `start` names; ValueError if its network is another than the run's."""
    path = checkpoint.find_policy(config.start)
    if path is None:
        raise ValueError(f"start: there is no network {config.start!r}")
    network, _ = checkpoint.load_network(path)
    if network.config != config.network:
        raise ValueError(f"start: {config.start} has the network {network.config}, the run {config.network}")
    return network.state_dict()


def main(config: Config) -> int:
    """The command: begin a run."""
    if config.learner == "sb3":
        from experiments.training import maskable_ppo as sb3  # which builds on this module

        return sb3.main(config)
    return run(config, begin(config))


def begin(config: Config) -> Path:
    """The folder of a new run, with its settings."""
    if config.start:
        first_weights(config)  # before there is a folder
    folder = new_folder(config.runs, config.name)
    write_whole(folder / "config.json", json.dumps(plain(config) | {"made_by": made_by()}, indent=2).encode() + b"\n")
    return folder


def run(config: Config, folder: Path, *, resume: bool = False) -> int:
    """Train to the end, then measure."""
    if not learn(config, folder, resume=resume):
        return 1
    say(final_table(config, folder, config.threads or cores()))
    return 0


def learn(config: Config, folder: Path, *, resume: bool = False) -> bool:
    """Train to the end, in a folder that `begin` has made; False if the run has diverged."""
    threads = config.threads or cores()
    torch.set_num_threads(threads)
    trainer = Trainer(config, folder, threads)
    if resume:
        trainer.restore()
    else:
        if config.start:
            trainer.begin_with(first_weights(config))
        trainer.save()
    say(f"{folder}: {trainer.device.type}, {threads} threads, {str(trainer.ppo.precision).removeprefix('torch.')}")
    with Monitor(folder, config.decisions, trainer.decisions) as monitor:
        try:
            _train(config, trainer, monitor)
        except FloatingPointError as error:
            say(f"the run has diverged: {error}; {folder / CHECKPOINT} holds the last good state")
            return False
        except KeyboardInterrupt:
            say(f"interrupted; python -m experiments resume {folder} goes on from its last checkpoint")
            raise
    return True


def _train(config: Config, trainer: Trainer, monitor: Monitor) -> None:
    saved = time.monotonic()
    while not trainer.over:
        before = trainer.decisions
        metrics = trainer.step()
        monitor.update(trainer.decisions, trainer.ppo.updates, metrics, trainer.league.win_rates())
        mark = config.decisions / config.evaluations
        measured = trainer.decisions // mark > before // mark or trainer.over
        if measured:
            began = time.perf_counter()
            monitor.strength(trainer.decisions, trainer.minutes, measure(config, trainer.policy()))
            trainer.seconds["measuring"] += time.perf_counter() - began
        if measured or time.monotonic() - saved > config.checkpoint_seconds:
            monitor.flush()
            trainer.save()
            saved = time.monotonic()


def measure(config: Config, policy: NetworkPolicy) -> dict[tuple[str, int], Rate]:
    """Win rates against the yardsticks during a run, always on the same deals."""
    return {
        (yardstick, players): duel(
            policy,
            yardstick,
            players,
            games=config.evaluation_games,
            seed=config.seed + 1,
            rules=config.game.rules,
            max_decisions=config.game.max_decisions or MAX_DECISIONS,
        ).rate(policy.name)
        for players in config.game.players
        for yardstick in config.yardsticks
    }


def final_table(config: Config, folder: Path, threads: int) -> str:
    """What the agent beats at the end, on deals that no decision of the run has seen."""
    name = f"{folder}:greedy"
    cells = [(other, n) for n in config.game.players for other in dict.fromkeys((*BOTS, *config.yardsticks))]
    lines = [f"{name}, {config.final_games:,} games a line", ""]
    lines.append(f"{'against':16} players  {'wins, 95 % interval':>21}  fair share")
    options = {
        "games": config.final_games,
        "seed": config.seed + 2,
        "rules": config.game.rules,
        "max_decisions": config.game.max_decisions or MAX_DECISIONS,
    }
    with (
        nullcontext(1) if threads == 1 else worker_pool(threads) as workers,
        progress_bar(config.final_games * len(cells)) as bar,
    ):
        for other, players in cells:
            rate = duel(name, other, players, workers=workers, progress=bar, **options).rate(name)
            lines.append(f"{other:16} {players:>7}  {rate!s:>21}  {100 * rate.fair:>8.1f} %")
    return "\n".join(lines)


def load_config(folder: Path) -> Config:
    """The settings of a run."""
    path = folder / "config.json"
    if not path.is_file():
        raise ValueError(f"{folder} is not the folder of a run: there is no config.json in it")
    settings = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(settings, dict) or "made_by" not in settings:
        raise ValueError(f"{folder / 'config.json'} is not that of a run")
    del settings["made_by"]
    config: Config = from_table(Config, settings)
    return config


def plain(config: Config) -> dict[str, Any]:
    """The settings as JSON can hold them."""
    return asdict(config) | {"runs": str(config.runs)}


def portable(config: Config) -> dict[str, Any]:
    """The settings without the place of the run: a policy's file may go anywhere."""
    settings = plain(config)
    del settings["runs"]
    return settings


def made_by() -> dict[str, str]:
    """Versions of what makes a run, and the commit of the checkout, if there is one."""
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        commit = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = "unknown"
    versions = {"uno_flex_env": uno_flex_env.__version__, "torch": torch.__version__}
    return versions | {"python": platform.python_version(), "machine": platform.machine(), "commit": commit}
