"""A ladder: each policy by itself at tables of one and the same opponent, from weak to strong."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tyro

from agents.atomic import write_whole
from agents.checkpoint import digests
from agents.match.progress_bar import progress_bar
from agents.match.results import Rate
from agents.match.runner import duel
from agents.match.workers import cores, worker_pool
from agents.policy import looks_ahead
from agents.policy_factory import make_policy
from experiments.match_tables.cross_table import check_policies
from experiments.match_tables.plots import rungs
from uno_flex_env.options import check_whole, checked_seed
from uno_flex_env.rules import Rules

HELP = """\
How often each policy wins at a table of one and the same opponent, in every seat of the same deals, with 95 %
intervals.

  python -m experiments ladder --config configs/ladder/ladder.toml        the ladder in the README
  python -m experiments ladder --config configs/ladder/budgets.toml       strength of search against its budget
  python -m experiments ladder random flex_any champion --against flex_when_stuck --players 2 4 --name mine

The folder runs/ladder/NAME gets the table, a picture and the results; a ladder that was interrupted goes on there.
"""


@dataclass(frozen=True)
class Config:
    """Settings of a ladder."""

    policies: tyro.conf.Positional[tuple[str, ...]] = ("random", "flex_any", "flex_when_stuck")
    """Names of policies, from the weakest to the strongest."""
    against: str = "expert"
    """Who sits in all other seats."""
    players: tuple[int, ...] = (2, 4, 8)
    """Numbers of players, one after the other: --players 2 4 8."""
    games: int = 20_000
    """Of each policy at each number of players, rounded up to whole deals."""
    search_games: int = 400
    """The same of policies that look ahead, which take their time."""
    seed: int = 0
    """Of the deals and of all luck."""
    name: str = "ladder"
    """The results go to runs/ladder/NAME; what is there already with the same settings is not played again."""
    workers: int = 0
    """Processes; 0 for one a core. They don't change the results, unless a search has a budget of time."""

    def __post_init__(self) -> None:
        check_policies(
            list(dict.fromkeys((*self.policies, self.against))) if len(self.policies) == 1 else self.policies
        )
        for policy in (*self.policies, self.against):
            make_policy(policy)
        checked_seed(self.seed)
        if not self.players or len(set(self.players)) < len(self.players):
            raise ValueError(f"players must be different numbers, at least one, got {self.players}")
        for num_players in self.players:
            Rules().check(num_players)
        for name in ("games", "search_games"):
            check_whole(name, getattr(self, name), 1, 1 << 30)
        check_whole("workers", self.workers, 0, 1024)
        if self.name == ".." or not self.name or Path(self.name).name != self.name:
            raise ValueError(f"name must be that of a folder, got {self.name!r}")

    def games_of(self, policy: str) -> int:
        """How many it plays at each number of players."""
        return self.search_games if looks_ahead(make_policy(policy)) else self.games


Rates = dict[tuple[str, int], Rate]


def main(config: Config) -> int:
    """Play what has not been played yet; tell, draw and write the results."""
    folder = Path("runs", "ladder", config.name)
    folder.mkdir(parents=True, exist_ok=True)
    rates = earlier(config, folder)
    cells = [(p, n) for p in config.policies for n in config.players if p != config.against and (p, n) not in rates]
    with worker_pool(config.workers or cores()) as pool, progress_bar(sum(config.games_of(p) for p, _ in cells)) as bar:
        for policy, players in cells:
            games = config.games_of(policy)
            match = duel(
                policy, config.against, players, games=games, seed=config.seed, workers=pool, progress=bar, num_envs=256
            )
            rates[policy, players] = match.rate(make_policy(policy).name)
            write_whole(folder / "results.json", json.dumps(plain(config, rates), indent=2).encode() + b"\n")
    text = table(config, rates)
    write_whole(folder / "ladder.md", text.encode() + b"\n")
    itself = {(config.against, n): Rate(1 / n, 1 / n, 1 / n, 1 / n, 0) for n in config.players}
    picture = rungs(config.policies, config.players, rates | itself, f"wins at tables of {config.against}")
    write_whole(folder / "ladder.png", picture)
    print(f"{text}\n\nresults: {folder}", flush=True)
    return 0


def table(config: Config, rates: Rates) -> str:
    """In Markdown: a row for each policy, a column for each number of players. Who sits in all other seats has a fair
    share by definition."""
    heads = [f"{n} players (fair {100 / n:.3g} %)" for n in config.players]
    lines = [f"| one against `{config.against}` | " + " | ".join(heads) + " |", "|---|" + "---|" * len(heads)]
    for policy in config.policies:
        fair = [f"{100 / n:.3g} %" for n in config.players]
        cells = fair if policy == config.against else [str(rates[policy, n]) for n in config.players]
        lines.append(f"| `{policy}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def settings(config: Config) -> dict[str, Any]:
    """What a result depends on beside its policy and its number of players."""
    return {
        "against": config.against,
        "weights": digests([config.against]).get(config.against),
        "games": config.games,
        "search_games": config.search_games,
        "seed": config.seed,
    }


def plain(config: Config, rates: Rates) -> dict[str, Any]:
    """Settings and results as JSON can hold them."""
    rows = [
        {"policy": policy, "players": players, "weights": digests([policy]).get(policy), "rate": asdict(rate)}
        for (policy, players), rate in rates.items()
    ]
    return {"settings": settings(config), "rates": rows}


def earlier(config: Config, folder: Path) -> Rates:
    """The results that lie in a folder; ValueError if they were played with other settings."""
    path = folder / "results.json"
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        played, rates = found["settings"], Rates()
        for row in found["rates"]:
            rates[row["policy"], row["players"]] = Rate(**row["rate"])
            if row["weights"] != digests([row["policy"]]).get(row["policy"]):
                raise ValueError(f"{path}: the network of {row['policy']} has changed: choose another --name")
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} holds no results of a ladder: {error!r}") from None
    if played != settings(config):
        raise ValueError(f"{path} was played with {played}, not {settings(config)}: choose another --name")
    return rates
