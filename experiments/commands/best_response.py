"""Approximate exploitability: how much somebody gains who learns to play against one fixed policy and nobody else."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import tyro

from agents.atomic import write_whole
from agents.league import LeagueConfig
from agents.match.progress_bar import progress_bar
from agents.match.results import Rate
from agents.match.runner import MAX_DECISIONS, duel
from agents.match.workers import cores, worker_pool
from agents.policy_factory import make_policy
from experiments.training.run import begin, learn
from experiments.training.train_config import TrainConfig
from uno_flex_env.options import check_whole

HELP = """\
Train fresh learners against a frozen policy in all other seats, and report what the best of them gains: a lower bound
of how much the policy can be exploited.

  python -m experiments best_response runs/quick --seeds 3
  python -m experiments best_response runs/two_players:greedy --train.decisions 100_000_000 --train.network.width 512
  python -m experiments best_response runs/four_players --train.game.players 4 --train.init-from runs/four_players

The learner of each seed is in runs/best_response-SEED (or with -2 and so on behind it), where its charts show what it
wins against the frozen policy; the result is in result.json beside the best one.
"""


@dataclass(frozen=True)
class Config:
    """Settings of a search for a best response."""

    policy: tyro.conf.Positional[str] = "runs/quick"
    """The frozen policy, in every seat but the learner's."""
    seeds: int = 3
    """Learners, with the seeds from `train.seed` on."""
    selection_games: int = 20_000
    """For each learner and number of players, to choose the best one."""
    games: int = 50_000
    """Of the best one for each number of players, on deals that the choice has not seen."""
    train: TrainConfig = field(default_factory=lambda: TrainConfig(name="best_response"))
    """How a learner learns: as in `train`. Its league and its only baseline are the frozen policy."""

    def __post_init__(self) -> None:
        for name in ("seeds", "selection_games", "games"):
            check_whole(name, getattr(self, name), 1, 1 << 30)
        if self.train.learner != "ppo":
            raise ValueError(f"train.learner must be ppo here, got {self.train.learner!r}")
        if self.train.league != LeagueConfig():
            raise ValueError(f"train.league is the frozen policy alone, got {self.train.league}")

    def learner(self, number: int) -> TrainConfig:
        """The run of one of the seeds."""
        seed = self.train.seed + number
        league = LeagueConfig(fraction=1.0, opponents=(self.policy,))
        name = f"{self.train.name}-{seed}"
        return replace(self.train, name=name, seed=seed, league=league, baselines=(self.policy,))


@dataclass(frozen=True)
class Response:
    """The best learner of several, measured on deals on which it was not chosen."""

    folder: Path
    """Its run."""
    rates: dict[int, Rate]
    """Its win rate in one seat, the frozen policy in all others, by number of players."""
    selection: dict[str, float]
    """What each learner gained on the deals of the selection, by folder."""

    def __str__(self) -> str:
        lines = [
            f"{folder}: gains {100 * gain:+.1f} points on the deals of the selection"
            for folder, gain in self.selection.items()
        ]
        lines += [f"the best: {self.folder}", ""]
        for players, rate in self.rates.items():
            low, mean, high = (100 * (value - rate.fair) for value in (rate.low, rate.mean, rate.high))
            lines.append(f"{players} players: wins {rate}, fair share {100 * rate.fair:.1f} %")
            lines.append(f"  gain {mean:+.1f} points [{low:+.1f}, {high:+.1f}] on {rate.deals:,} held-out deals")
        lines.append("This is a lower bound: a better or longer learner may gain more.")
        return "\n".join(lines)


def main(config: Config) -> int:
    """Train, choose, measure."""
    print(str(best_response(config)), flush=True)
    return 0


def best_response(config: Config) -> Response:
    """Train a learner for each seed, choose the best on some deals, and measure it on others.

    Raises:
        ValueError: there is no such policy, or the runs of all seeds have diverged.
    """
    threads = config.train.num_threads or cores()
    make_policy(config.policy)
    runs = [(settings, begin(settings)) for settings in map(config.learner, range(config.seeds))]
    folders = [folder for settings, folder in runs if learn(settings, folder)]
    if not folders:
        raise ValueError(f"all {config.seeds} runs have diverged")
    players = config.train.game.players
    total = len(players) * (len(folders) * config.selection_games + config.games)
    # The deals of training have the seed of the run.
    chosen_on, held_out = config.train.seed + 2**32, config.train.seed + 2**33
    with worker_pool(threads) as workers, progress_bar(total) as bar:
        max_decisions = config.train.game.max_decisions or MAX_DECISIONS
        options = {"workers": workers, "progress": bar, "max_decisions": max_decisions}
        tried = {folder: rates(config, folder, config.selection_games, chosen_on, options) for folder in folders}
        selection = {folder: mean_gain(found) for folder, found in tried.items()}
        best = max(selection, key=selection.__getitem__)
        response = Response(
            best,
            rates(config, best, config.games, held_out, options),
            {str(folder): gain for folder, gain in selection.items()},
        )
    about = {"policy": config.policy, "selection": response.selection, "games": config.games}
    about |= {"rates": {count: asdict(rate) for count, rate in response.rates.items()}}
    write_whole(best / "result.json", json.dumps(about, indent=2).encode() + b"\n")
    return response


def rates(config: Config, folder: Path, games: int, seed: int, options: dict[str, Any]) -> dict[int, Rate]:
    """The win rate of a learner's likeliest actions against the frozen policy, by number of players."""
    name, rules = f"{folder}:greedy", config.train.game.rules
    return {
        players: duel(name, config.policy, players, games=games, seed=seed, rules=rules, **options).rate(name)
        for players in config.train.game.players
    }


def mean_gain(rates: dict[int, Rate]) -> float:
    """Above the fair share, over the numbers of players."""
    return sum(rate.mean - rate.fair for rate in rates.values()) / len(rates)
