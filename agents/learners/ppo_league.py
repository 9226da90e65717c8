"""PPO in a league of its own snapshots: in some games one seat learns, and a past self plays all others.

The league draws a past self the more often, the less often the learner beats it (prioritized fictitious self-play,
doi:10.1038/s41586-019-1724-z; see `agents.learners.league`). All else is as in `agents.learners.ppo`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from agents.learners.league import LeagueConfig
from agents.learners.ppo import PPOConfig
from agents.learners.self_play_ppo import SelfPlayPPO
from agents.learners.task import LearningTask

PAST_SELVES = LeagueConfig(fraction=0.25, snapshots=8, every=500_000)
"""The league of a task that has none."""


@dataclass(frozen=True)
class PPOLeagueConfig(PPOConfig):
    """Hyperparameters of PPO in a league; the league itself belongs to the task."""

    TABLE: ClassVar[str] = "ppo_league"


class PPOLeague(SelfPlayPPO):
    """See `agents.learners.self_play_ppo.SelfPlayPPO`. If the task has no league, it is `PAST_SELVES`."""

    Config = PPOLeagueConfig

    def __init__(
        self,
        task: LearningTask,
        seed: int,
        config: PPOLeagueConfig = PPOLeagueConfig(),
    ) -> None:
        super().__init__(task if task.league.fraction else replace(task, league=PAST_SELVES), seed, config)
