"""The settings of a training run, and the file in the run's folder that keeps them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from typing import Any

from agents.allowed_code import allow_only
from agents.device import choose_device
from agents.json_text import read_json
from agents.learners.a2c import A2CConfig
from agents.learners.dmc import DMCConfig
from agents.learners.dqn import DQNConfig
from agents.learners.league import LeagueConfig
from agents.learners.learner_factory import LEARNERS, learner_class
from agents.learners.maskable_ppo import MaskablePPOConfig
from agents.learners.mmd import MMDConfig
from agents.learners.nfsp import NFSPConfig
from agents.learners.ppg import PPGConfig
from agents.learners.ppo import PPOConfig
from agents.learners.ppo_league import PPOLeagueConfig
from agents.learners.rnad import RNaDConfig
from agents.learners.task import GameConfig, LearningTask
from agents.network import NetworkConfig
from agents.policy_factory import make_policy
from experiments.settings import check_folder_name, from_table
from uno_flex_env.options import check_whole

CONFIG = "config.json"
"""The settings of a run, in its folder."""


@dataclass(frozen=True)
class TrainConfig:
    """Settings of a training run."""

    name: str = "quick"
    """The results go to runs/NAME, or to NAME-2 and so on if that folder exists."""
    runs: Path = Path("runs")
    """The folder in which each run has its folder."""
    seed: int = 1
    """Seed of the first weights, the deals and the actions. On one machine with the same number of threads, the same
    seed gives the same run."""
    learner: str = "ppo"
    """A learner of `agents.learners.learner_factory.LEARNERS`, or module:Class for one of your own. A learner refuses
    settings of games, network and league that it does not support."""
    decisions: int = 25_000_000
    """How many decisions the agent learns from in all."""
    game: GameConfig = field(default_factory=GameConfig)
    """The games that are played."""
    network: NetworkConfig = field(default_factory=NetworkConfig)
    """The network that learns."""
    ppo: PPOConfig = field(default_factory=PPOConfig)
    """How the learner "ppo" learns."""
    mmd: MMDConfig = field(default_factory=MMDConfig)
    """How the learner "mmd" learns."""
    ppo_league: PPOLeagueConfig = field(default_factory=PPOLeagueConfig)
    """How the learner "ppo_league" learns."""
    a2c: A2CConfig = field(default_factory=A2CConfig)
    """How the learner "a2c" learns."""
    ppg: PPGConfig = field(default_factory=PPGConfig)
    """How the learner "ppg" learns."""
    dqn: DQNConfig = field(default_factory=DQNConfig)
    """How the learner "dqn" learns."""
    nfsp: NFSPConfig = field(default_factory=NFSPConfig)
    """How the learner "nfsp" learns."""
    dmc: DMCConfig = field(default_factory=DMCConfig)
    """How the learner "dmc" learns."""
    rnad: RNaDConfig = field(default_factory=RNaDConfig)
    """How the learner "rnad" learns."""
    maskable_ppo: MaskablePPOConfig = field(default_factory=MaskablePPOConfig)
    """How the learner "maskable_ppo" learns."""
    league: LeagueConfig = field(default_factory=LeagueConfig)
    """The opponents that the agent meets, in addition to itself."""
    init_from: str = ""
    """Start from the weights of this policy (the folder of a run, or a .safetensors file) instead of random ones. Its
    network must have the same settings as the run's."""
    baselines: tuple[str, ...] = ("expert", "flex_when_stuck")
    """Policies that strength is measured against. The progress bar shows the win rate against the first one."""
    evaluations: int = 20
    """How many times strength is measured during the run."""
    evaluation_games: int = 2000
    """Games of each measurement, against each baseline at each number of players."""
    final_games: int = 20_000
    """Games for each line of the final table."""
    checkpoint_seconds: float = 60.0
    """Seconds between two checkpoints. A checkpoint is also written after each measurement and at the end."""
    device: str = "auto"
    """cpu, cuda, mps, or auto for the best one that is available."""
    num_threads: int = 0
    """Threads of torch and of the games; 0 uses every core that this process may use."""

    def __post_init__(self) -> None:
        for name in ("decisions", "evaluations", "evaluation_games", "final_games"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        check_whole("num_threads", self.num_threads, 0, 1024)
        if not 0.0 <= self.checkpoint_seconds < inf:
            raise ValueError(f"checkpoint_seconds must be at least 0 and finite, got {self.checkpoint_seconds}")
        check_folder_name(self.name)
        learner_class(self.learner)
        check_whole("seed", self.seed, 0, (1 << 63) - 1)
        choose_device(self.device)
        if self.network.events and self.game.max_decisions is not None:
            raise ValueError('network.kind "history" can\'t estimate games cut by game.max_decisions: leave one out')
        if not self.baselines:
            raise ValueError("baselines must name at least one policy")
        for name in (*self.baselines, *self.league.opponents):
            make_policy(name)

    def task(self, num_threads: int) -> LearningTask:
        """What the learner gets."""
        return LearningTask(self.game, self.network, self.league, self.device, num_threads)

    def learner_config(self) -> Any:
        """The settings of the learner itself; None if it has none here."""
        return getattr(self, self.learner, None) if self.learner in LEARNERS else None

    def to_dict(self) -> dict[str, Any]:
        """The settings as plain values that JSON can hold."""
        return asdict(self) | {"runs": str(self.runs)}

    def portable(self) -> dict[str, Any]:
        """`to_dict` without the folder of the runs: the file of a policy may be moved to another machine."""
        settings = self.to_dict()
        del settings["runs"]
        return settings


def load_config(folder: Path) -> TrainConfig:
    """Read the settings of the run in `folder`.

    Raises:
        ValueError: the folder is not that of a run, or its settings name a class or a program that
            `agents.allowed_code.allow_only` has not allowed.
    """
    path = folder / CONFIG
    if not path.is_file():
        raise ValueError(f"{folder} is not the folder of a run: there is no {CONFIG} in it")
    settings = read_json(path)
    if not isinstance(settings, dict) or "made_by" not in settings:
        raise ValueError(f"{path} is not that of a run")
    del settings["made_by"]
    try:
        with allow_only():
            config: TrainConfig = from_table(TrainConfig, settings)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    return config
