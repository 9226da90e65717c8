"""Match play: planted strengths are recovered, seats cancel out, pairs stay paired, and the work can be split."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import pytest

from agents.match.progress_bar import progress_bar
from agents.match.results import MatchResult, games_table
from agents.match.runner import duel, play_match
from agents.match.workers import worker_pool
from agents.policy import Policy
from tests.support.episodes import NO_MATCHES, SHORT
from tests.support.planted import HALF, ONE_RED_CARD, SURE, THIRD, Player, Shifted
from uno_flex_env import IllegalActionError
from uno_flex_env.policy_input import Decisions

# ---- Win rates ----


@pytest.mark.parametrize("num_players", [2, 3, 5])
def test_a_planted_strength_is_recovered(num_players):
    """The policy wins in seat 0 if it plays, and comes too late in every other seat.

    Seen to fail when no policy moves on to another seat (`chairs` without the seating), and with the lineup turned
    against the direction of `winning_policies`."""
    result = duel(HALF, SURE, num_players, games=3000 * num_players, rules=ONE_RED_CARD)

    rate, others = result.rate("half"), result.rate("sure")
    assert rate.low < 0.5 / num_players < rate.high
    assert rate.high - rate.low < 0.04
    assert others.mean == pytest.approx((1 - rate.mean) / (num_players - 1))
    assert rate.fair == others.fair == 1 / num_players


def test_the_strengths_of_a_mixed_lineup_are_recovered():
    """By hand over the three seatings: third 1/3, 0, 0; half 2/3 * 1/2, 0, 1/2; sure the rest."""
    result = play_match([THIRD, HALF, SURE], games=12_000, seed=1, rules=ONE_RED_CARD)

    for name, wins in (("third", 1 / 3), ("half", 2 / 3 / 2 + 1 / 2), ("sure", 2 / 3 / 2 + 1 + 1 / 2)):
        rate = result.rate(name)
        assert rate.low < wins / 3 < rate.high, name


def test_the_same_policy_in_several_seats_is_counted_once():
    """Its rate is that of one seat: with two of three seats, the second wins only where the first would have, too."""
    result = play_match([SURE, SURE, HALF], games=6000, rules=ONE_RED_CARD)

    assert result.policies == ("sure", "half")
    assert 2 * result.rate("sure").mean + result.rate("half").mean == pytest.approx(1.0)
    assert result.rate("half").low < 0.5 / 3 < result.rate("half").high


@pytest.mark.parametrize("num_players", [2, 4, 7])
def test_one_policy_in_all_seats_gets_its_fair_share_in_each(num_players):
    """Fault 24: seat 0 begins, and with two cards each that is worth a lot; over the seatings it cancels out.

    Seen to fail when every policy keeps its seat."""
    lineup = [Shifted(f"bot {place}", shift=place) for place in range(num_players)]

    result = replace(play_match(lineup, games=2000 * num_players, rules=SHORT), confidence=0.9999)

    for place in range(num_players):
        rate = result.rate(place)
        assert rate.low < rate.fair < rate.high
    assert max(rate.low for rate in result.seat_rates()) > 1 / num_players


@pytest.mark.parametrize("num_players", [2, 3, 8])
def test_a_policy_against_itself_wins_exactly_its_share_of_every_deal(num_players):
    """Cards and keys are the same in every seating, so the same policy under another name plays the same games.

    Seen to fail with the seating in the key of a decision, with the table's row in that of the cards, and with a count
    of decisions that a finished game leaves behind."""
    result = duel(Shifted("this"), Shifted("that"), num_players, games=200 * num_players, num_envs=64)

    assert (result.by_deal("this") == 1 / num_players).all()
    assert (result.winners == result.winners[:, :1]).all()
    assert len(set(result.winners[:, 0])) == num_players


def test_seatings_that_would_repeat_others_are_not_played():
    """One policy in all seats needs one seating; two that alternate, two."""
    alone = play_match(["flex_any"] * 4, games=40)
    alternating = play_match(["flex_any", "random"] * 2, games=40)

    assert alone.winners.shape == (40, 1)
    assert alone.rate("flex_any").mean == 1 / 4
    assert alternating.winners.shape == (20, 2)


def test_a_match_repeats_with_its_seed_and_other_seeds_give_other_deals():
    first, again, other = (duel("flex_any", "random", 3, games=300, seed=seed) for seed in (1, 1, 2))

    assert (first.winners == again.winners).all()
    assert (first.decisions == again.decisions).all()
    assert (first.winners != other.winners).any()


def test_games_are_rounded_up_to_whole_deals():
    assert duel("flex_any", "random", 3, games=100).winners.shape == (34, 3)


# ---- Rounds without a winner ----


def test_rounds_without_a_winner_count_for_no_policy():
    """No card matches another (rules 3)."""
    result = duel("flex_any", "random", rules=NO_MATCHES, games=20)

    assert result.no_winner == 20
    assert result.rate("flex_any").mean == result.rate("random").mean == 0.0
    assert "20 without a winner, 0 truncated" in str(result)


def test_endless_games_are_truncated_and_counted_apart():
    """Seen to fail with the core's truncation taken for a round without a winner."""
    result = duel(Player("never", 0.0), Player("nor I", 0.0), rules={"hand_size": 1}, games=20, max_decisions=30)

    assert result.truncated == 20
    assert (result.decisions == 30).all()
    assert "0 without a winner, 20 truncated" in str(result)


# ---- Sharing the work ----


@pytest.mark.slow
def test_neither_workers_nor_rows_change_the_result():
    """Seen to fail with random numbers from a generator of its own in each process, and with the row in the key of a
    deal."""
    lineup: list[str | Policy] = ["flex_when_stuck", Shifted("shifted", shift=3), "random"]

    results = [
        play_match(lineup, games=900, workers=w, num_envs=rows) for w, rows in ((1, 1024), (1, 7), (1, 100), (2, 64))
    ]

    for result in results[1:]:
        assert (result.winners == results[0].winners).all()
        assert (result.decisions == results[0].decisions).all()


def test_matches_share_a_pool():
    with worker_pool(2) as pool:
        results = [duel("flex_any", bot, games=100, workers=pool) for bot in ("random", "never_flex")]

    alone = duel("flex_any", "never_flex", games=100)
    assert (results[1].winners == alone.winners).all()


def test_a_bar_counts_the_games_on_standard_error(capsys):
    with progress_bar(120) as bar:
        for against in ("random", "never_flex"):
            duel("flex_any", against, games=60, progress=bar)

    captured = capsys.readouterr()
    assert bar.n == 120
    assert captured.out == ""
    assert "120/120" in captured.err


def test_a_match_shows_a_bar_of_its_own_if_asked_to(capsys):
    duel("flex_any", "random", games=60)
    assert capsys.readouterr().err == ""

    duel("flex_any", "random", games=60, progress=True)

    assert "60.0/60.0" in capsys.readouterr().err


# ---- Policies ----


class Watching:
    """Remembers what it was shown."""

    def __init__(self, name: str, history: int) -> None:
        self.name, self.history, self.shown = name, history, list[Decisions]()

    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        self.shown.append(decisions)
        first: npt.NDArray[np.int64] = decisions.action_mask.argmax(axis=1)
        return first


def test_each_policy_sees_as_much_history_as_it_asks_for():
    """The latest events, of which the last is mostly that of the seat before.

    Seen to fail with the longest history for all, and with its oldest events."""
    short, long, none = Watching("short", 2), Watching("long", 4), Watching("none", 0)

    play_match([short, long, none], games=30)

    assert {seen.history.shape[1:] for seen in short.shown if seen.history is not None} == {(2, 3)}
    assert {seen.history.shape[1:] for seen in long.shown if seen.history is not None} == {(4, 3)}
    assert all(seen.history is None for seen in none.shown)
    latest = np.concatenate([seen.history[:, -1, 0] for seen in short.shown if seen.history is not None])
    assert (latest == 2).mean() > 0.5


def test_all_games_at_one_decision_are_one_batch():
    """Each policy is asked once a step; with tables refilled at once few calls are small.

    Seen to fail when tables wait for the longest game."""
    one, other = Watching("one", 0), Watching("other", 0)

    result = duel(one, other, games=2000, num_envs=100)

    sizes = [len(seen) for watching in (one, other) for seen in watching.shown]
    assert sum(sizes) == result.decisions.sum()
    assert result.decisions.sum() / len(sizes) > 25


@dataclass(frozen=True)
class Wrong:
    """Answers with the same thing whatever it sees."""

    answer: Any
    name: str = "wrong"
    history: int = 0

    def act(self, decisions: Decisions) -> Any:
        return np.full(len(decisions), self.answer) if np.ndim(self.answer) == 0 else np.array(self.answer)


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (0, IllegalActionError, r"policy wrong: action 0 .* is illegal"),
        (-1, IllegalActionError, r"policy wrong: an action must be from 0 to 215, got action -1"),
        (0.5, ValueError, "policy wrong must answer with .* got float64"),
        ([1, 2, 3], ValueError, r"policy wrong must answer with .* whole numbers, got int64 of shape \(3,\)"),
    ],
)
def test_a_wrong_answer_is_refused_by_the_policys_name(answer, error, message):
    """Fault 14: an illegal action is an error in evaluation, too."""
    with pytest.raises(error, match=message):
        duel(Wrong(answer), "random", games=200)


@pytest.mark.parametrize(
    ("lineup", "options", "message"),
    [
        (["flex_any"], {}, "num_players must be from 2 to 8, got 1"),
        (["flex_any"] * 9, {}, "num_players must be from 2 to 8, got 9"),
        (["flex_any", "clever"], {}, "no such policy: 'clever'"),
        (["flex_any", Shifted("flex_any")], {}, "two different policies are called 'flex_any'"),
        (["flex_any", "random"], {"games": 0}, "games must be a whole number from 1 .*, got 0"),
        (["flex_any", "random"], {"workers": 0}, "workers must be .* got 0"),
        (["flex_any", "random"], {"num_envs": 0}, "num_envs must be .* got 0"),
        (["flex_any", "random"], {"max_decisions": 0}, "max_decisions must be .* got 0"),
        (["flex_any", "random"], {"seed": -1}, "a seed must be .* got -1"),
        (["flex_any", "random"], {"rules": {"stack": True}}, "unknown rule 'stack'"),
    ],
)
def test_a_bad_match_is_refused(lineup, options, message):
    with pytest.raises(ValueError, match=message):
        play_match(lineup, **options)


def test_an_unknown_policy_has_no_rate():
    with pytest.raises(ValueError, match="no such policy in this match: 'expert'; there are flex_any, random"):
        duel("flex_any", "random", games=2).rate("expert")


# ---- Results ----


def test_the_table_names_the_fair_share():
    text = str(duel("flex_any", "random", 4, games=400))

    assert re.search(r"flex_any +1 +\d+\.\d % \[\d+\.\d, \d+\.\d\] +25\.0 %", text)
    assert re.search(r"random +3 .* 25\.0 %", text)
    assert re.search(r"400 games of 100 deals, \d+\.\d decisions each", text)


def test_raw_results_are_written_as_parquet(tmp_path):
    """One row a game: from the file alone the win rates can be computed again."""
    results: list[MatchResult] = [duel("flex_any", "random", n, games=120) for n in (2, 3)]

    pq.write_table(games_table(results), tmp_path / "games.parquet")

    table = pq.read_table(tmp_path / "games.parquet")
    games = table.to_pylist()
    assert len(games) == 240
    for number, result in enumerate(results):
        won = [game["winner"] == "flex_any" for game in games if game["match"] == number]
        assert np.mean(won) == pytest.approx(result.rate("flex_any").mean)
    assert games[-1]["lineup"] == "flex_any random random"
    assert games[-1]["deal"] == 39
    assert games[-1]["seating"] == 2
    matches = json.loads(table.schema.metadata[b"matches"])
    assert matches[1]["lineup"] == [0, 1, 1]
    assert matches[1]["seed"] == 0
