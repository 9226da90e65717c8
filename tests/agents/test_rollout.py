"""Rollouts: who is paid what, what is learned from, and what comes after, against a plain replay of the same games."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
import torch

from agents.learners import rollout as module
from agents.learners.league import League, LeagueConfig
from agents.learners.rollout import Rollout, advantages
from agents.learners.task import GameConfig
from agents.masked import masked_log_softmax, masked_softmax
from agents.network import ActorCritic, NetworkConfig
from tests.support.episodes import SHORT
from tests.support.learning import CPU, KINDS, NAMES, collect, make_network, pairs
from uno_flex_env import IllegalActionError, Rules
from uno_flex_env.actions import DRAW

ALONE = LeagueConfig()
MIXED = LeagueConfig(fraction=0.5, opponents=("flex_any", "random"))
ALL = tuple(range(2, 9))


def make_rollout(network: ActorCritic, league: LeagueConfig = ALONE, seed: int = 1, **game: Any) -> Rollout:
    return Rollout(GameConfig(**game), network, League(league, seed), seed)


def worthless(config: NetworkConfig) -> ActorCritic:
    """A network whose critic says 0: with lambda 0 the target of a decision is then what was paid for it. It plays at
    random and seldom draws, so games end soon."""
    network = make_network(config)
    for head in (network.policy, network.value):
        torch.nn.init.zeros_(head.weight)
    network.policy.bias.data[DRAW] = -3.0
    return network


# ---- Rewards ----


@pytest.mark.parametrize("league", [ALONE, MIXED], ids=["self-play", "league"])
@pytest.mark.parametrize("reward", ["win", "points"])
def test_the_rewards_of_each_seats_decisions_add_up_to_its_result(reward, league):
    """Fault 1, with 2 to 8 players and rollouts so short that most decisions are answered in a later one.

    Seen to fail when a seat is paid only on its own turn, and when a decision is paid what a later one of its seat
    was."""
    network = worthless(KINDS[0])
    rollout = make_rollout(network, league, players=ALL, num_envs=28, num_steps=5, rules=SHORT, reward=reward)

    collected, replay = collect(rollout, network, times=60)

    paid = defaultdict[tuple[int, int, int], float](float)
    for row, taken in pairs(collected, replay):
        assert row["target"] == np.float32(taken.paid)
    for (game, seat), rows in collected.items():
        for row, taken in zip(rows, replay.learned()[game, seat], strict=True):
            paid[game, taken.episode, seat] += float(row["target"])
    ended = {key: sum_ for key, sum_ in paid.items() if key[:2] in replay.results}
    assert len(ended) > 300
    assert all(total == replay.results[game, episode][seat] for (game, episode, seat), total in ended.items())
    if reward == "win":
        payments = {(round(total, 6), int(rollout.num_players[game])) for (game, _, _), total in ended.items()}
        assert payments == {(pay, n) for n in ALL for pay in (1.0, round(-1 / (n - 1), 6))}


@pytest.mark.parametrize("config", KINDS, ids=NAMES)
def test_every_decision_is_learned_from_exactly_once_as_it_was_taken(config):
    """With the opponents' left out; what was seen, legal and done stays with it, also from one rollout to the next.

    Seen to fail when decisions that are not answered are dropped, when they are handed out at once and again, and when
    any of the arrays is left out of `_of_decisions`."""
    network = make_network(config)
    rollout = make_rollout(network, MIXED, players=ALL, num_envs=28, num_steps=3, rules=SHORT)

    collected, replay = collect(rollout, network, times=40)

    for row, taken in pairs(collected, replay):
        assert row["action"] == taken.action
        for name in ("observation", "legal", "history", "hidden"):
            if name in row:
                assert np.array_equal(row[name], taken.seen[name]), name
    learned = sum(map(len, collected.values()))
    waiting = sum(taken.learns for taken in replay.waiting.values())
    assert learned + waiting == sum(
        taken.learns for rows in [*replay.answered.values(), replay.waiting.values()] for taken in rows
    )
    assert learned > 1000


@pytest.mark.parametrize("config", KINDS, ids=NAMES)
def test_probabilities_and_values_are_those_of_the_network_that_decided(config):
    """Computed anew from what each decision says that it saw.

    Seen to fail with the log-probabilities of the next step."""
    network = make_network(config)
    rollout = make_rollout(network, players=(2, 4), num_envs=12, num_steps=5)

    collected, _ = collect(rollout, network, times=6)

    rows = [row for of_seat in collected.values() for row in of_seat]
    inputs = {
        name: torch.from_numpy(np.stack([row[name] for row in rows])) for name in rows[0] if rows[0][name].ndim > 0
    }
    with torch.no_grad():
        logits, value = network(inputs["observation"], inputs.get("history"), inputs.get("hidden"))
    log_probs, _ = masked_log_softmax(logits, inputs["legal"])
    action = np.array([row["action"] for row in rows])
    assert np.allclose(log_probs[np.arange(len(rows)), action], [row["log_prob"] for row in rows], atol=1e-4)
    assert np.allclose(value, [row["value"] for row in rows], atol=1e-4)


# ---- Targets ----

SEATS = np.array([[0], [1], [0], [1], [1], [0]], np.int8)
VALUES = np.array([[0.1], [-0.1], [0.2], [0.3], [-0.2], [0.4]], np.float32)


def scripted_targets(final: list[float], lam: float, final_values: list[float] | None = None) -> list[float]:
    """The targets of a game in which each of two seats decides three times; seat 1 gets 0.5 in the third step, on
    seat 0's turn, and the last step, also seat 0's, pays `final`. Gamma is 0.9."""
    rewards = np.zeros((6, 1, 2), np.float32)
    rewards[2, 0, 1] = 0.5
    rewards[5, 0] = final
    ended = np.zeros((6, 1), np.bool_)
    ended[5] = True
    values_at_end = None
    if final_values is not None:
        values_at_end = np.zeros_like(rewards)
        values_at_end[5, 0] = final_values
    learns = np.ones((6, 1), np.bool_)
    advantage, complete, _ = advantages(SEATS, learns, VALUES, rewards, ended, values_at_end, 0.9, lam)
    assert complete.all()
    return [*(advantage + VALUES)[:, 0].tolist()]


@pytest.mark.parametrize(
    ("lam", "expected"),
    [
        # Each target is pay + 0.9 * value of the same seat's next decision; the loser of the last step is paid in full.
        (0.0, [0.18, 0.5 + 0.27, 0.36, -0.18, -1.0, 1.0]),
        # Pay + 0.9 * (0.05 * next value + 0.95 * next target), from the last decision of each seat backwards.
        (0.95, [0.755415, -0.22522, 0.873, -0.864, -1.0, 1.0]),
        # The discounted sum of what was paid.
        (1.0, [0.81, 0.5 - 0.81, 0.9, -0.9, -1.0, 1.0]),
    ],
)
def test_targets_of_a_finished_game_are_those_computed_by_hand(lam, expected):
    """Fault 2: the last reward is in the targets of both seats, and nothing is expected after it.

    Seen to fail with the value of the table's next decision in place of the seat's own, with the loser's pay left out,
    and with gamma for each turn of the table."""
    assert scripted_targets([1.0, -1.0], lam) == pytest.approx(expected, abs=1e-6)
    assert scripted_targets([1.0, -1.0], lam, final_values=[0.0, 0.0]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("lam", "expected"),
    [
        (0.0, [0.18, 0.77, 0.36, -0.18, -0.36, 0.54]),
        (0.95, [0.4191435, 0.242636, 0.4797, -0.3168, -0.36, 0.54]),
        (1.0, [0.4374, 0.5 - 0.2916, 0.486, -0.324, -0.36, 0.54]),
    ],
)
def test_targets_of_a_game_cut_short_count_on_what_the_critic_expects(lam, expected):
    """Fault 2: 0.6 for seat 0, whose turn it was, and -0.4 for seat 1, discounted once.

    Seen to fail when the end of a cut game is worth nothing."""
    assert scripted_targets([0.0, 0.0], lam, final_values=[0.6, -0.4]) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("lam", [0.0, 0.6, 1.0])
def test_targets_of_random_games_are_those_of_a_plain_recursion(lam, num_players):
    """Seat by seat with explicit lists: also games that go on, opponents who are not learned from, and cut games.

    Seen to fail when an opponent's decision stands for the seat's next one."""
    rng = np.random.default_rng(num_players)
    steps, games, gamma = 40, 30, 0.8
    seats = rng.integers(0, num_players, (steps, games)).astype(np.int8)
    learns = rng.random((steps, games)) < 0.8
    values = rng.normal(size=(steps, games)).astype(np.float32)
    ended = rng.random((steps, games)) < 0.1
    rewards = (rng.normal(size=(steps, games, num_players)) * (rng.random((steps, games, 1)) < 0.3)).astype(np.float32)
    final = (rng.normal(size=rewards.shape) * rng.integers(0, 2, (steps, games, 1))).astype(np.float32)

    advantage, complete, paid = advantages(seats, learns, values, rewards, ended, final, gamma, lam)

    def follow(t: int, game: int, seat: int) -> tuple[float, float | None]:
        """What the seat is paid from step t on until its next decision or the end, and its target; None: unknown."""
        gained = 0.0
        for later in range(t, steps):
            gained += float(rewards[later, game, seat])
            if ended[later, game]:
                return gained, gained + gamma * float(final[later, game, seat])
            if later + 1 < steps and seats[later + 1, game] == seat and learns[later + 1, game]:
                value = float(values[later + 1, game])
                _, target = follow(later + 1, game, seat)
                return gained, gained + gamma * (value if target is None else (1 - lam) * value + lam * target)
        return gained, None

    for t, game in np.argwhere(learns):
        gained, target = follow(t, game, seats[t, game])
        assert paid[t, game] == pytest.approx(gained, abs=1e-5)
        assert complete[t, game] == (target is not None)
        if target is not None:
            assert advantage[t, game] + values[t, game] == pytest.approx(target, abs=1e-4)


@pytest.mark.parametrize("config", [KINDS[0], KINDS[3]], ids=["mlp", "privileged"])
def test_a_game_cut_short_is_worth_what_the_critic_says_of_its_end(config):
    """Fault 2, in games of 2, 3 and 5: every target is what was paid and the discounted value of what the seat saw
    next; after the end of a finished game nothing, of a cut one what each seat saw at its end. A critic that sees all
    hands sees those at the end.

    Seen to fail when cut games are worth nothing, when final values are left from an earlier step, when a finished game
    counts as cut, and with the other hands of a cut game turned the other way around or left out."""
    network = make_network(config)
    rollout = make_rollout(network, players=(2, 3, 5), num_envs=12, num_steps=7, rules=SHORT, max_decisions=14)

    collected, replay = collect(rollout, network, times=25, gamma=0.9)

    both = pairs(collected, replay)
    going_on = [(row, taken) for row, taken in both if taken.after is not None]
    views = [taken.after for _, taken in going_on if taken.after is not None]
    with torch.no_grad():
        observation, hidden = (torch.from_numpy(np.stack([view[i] for view in views])) for i in range(2))
        _, value = network(observation, None, hidden if config.privileged else None)
    expected = np.array([taken.paid for _, taken in going_on]) + 0.9 * value.numpy()
    assert np.allclose([row["target"] for row, _ in going_on], expected, atol=1e-4)
    assert all(row["target"] == pytest.approx(taken.paid, abs=1e-6) for row, taken in both if taken.after is None)
    assert replay.cut > 20
    assert len(replay.results) > 20


# ---- Play ----


def test_a_network_without_its_mask_is_found_out(monkeypatch):
    """Fault 14: the games refuse every illegal action, so whatever trains is masked. Here the mask is dropped."""
    network = make_network(KINDS[0])
    rollout = make_rollout(network, num_envs=50, num_steps=4)
    rollout.collect(network, CPU, 1.0, 0.9)

    monkeypatch.setattr(module, "masked_softmax", lambda logits, legal: masked_softmax(logits, legal | True))

    with pytest.raises(IllegalActionError, match=r"game \d+: .* illegal now; legal: .*draw"):
        rollout.collect(network, CPU, 1.0, 0.9)


def test_an_opponent_with_an_illegal_answer_is_named():
    """Fault 14. Seen to fail without the check in `_ask_opponents`."""

    class Cheat:
        name, history = "cheat", 0

        def act(self, decisions: Any) -> Any:
            return np.asarray((decisions.action_mask == 0).argmax(axis=1))

    league = League(LeagueConfig(fraction=1.0, snapshots=1), 0)
    league.add(Cheat())
    network = make_network(KINDS[0])
    rollout = Rollout(GameConfig(num_envs=10, num_steps=4), network, league, 0)

    with pytest.raises(IllegalActionError, match="policy cheat"):
        rollout.collect(network, CPU, 1.0, 0.9)


def test_actions_are_drawn_with_the_networks_probabilities():
    """The first decision of 20,000 games with four cards, against the sum of the probabilities of each.

    Seen to fail with the same random number in all games."""
    network = make_network(KINDS[0])
    torch.nn.init.zeros_(network.policy.weight)
    network.policy.bias.data = torch.linspace(-1, 1, 216)
    rules = Rules(hand_size=1, deck={"r1": 1, "r3": 1, "r5": 1, "b7^": 1})
    rollout = make_rollout(network, num_envs=20_000, num_steps=1, rules=rules)
    mask = rollout.mask[-1].copy()

    rollout.collect(network, CPU, 1.0, 0.9)

    logits = np.where(mask != 0, network.policy.bias.detach().numpy(), -np.inf)
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    taken = np.bincount(rollout.action[-1], minlength=216)
    expected, spread = probs.sum(axis=0), np.sqrt((probs * (1 - probs)).sum(axis=0))
    assert (np.abs(taken - expected) <= 4 * spread).all()
    assert (spread > 15).sum() >= 4


def test_games_are_shared_evenly_among_the_numbers_of_players():
    """And the last group of rows takes no more than its share."""
    rollout = make_rollout(make_network(KINDS[0]), players=(2, 5, 8), num_envs=11, num_steps=2)

    assert np.bincount(rollout.num_players).tolist() == [0, 0, 4, 0, 0, 4, 0, 0, 3]


# ---- Resuming ----


@pytest.mark.parametrize("config", KINDS, ids=NAMES)
@pytest.mark.parametrize("before", [0, 3])
def test_a_restored_rollout_goes_on_bit_for_bit(config, before):
    """Fault 22: in the midst of games with open decisions, mixed players and opponents, with a history.

    Seen to fail with the open decisions, the seating, the generator or the games left as they are."""
    network = make_network(config)
    game: dict[str, Any] = {"players": (2, 3, 7), "num_envs": 21, "num_steps": 3, "rules": SHORT}
    original = make_rollout(network, MIXED, **game)
    for _ in range(before):
        original.collect(network, CPU, 1.0, 0.9)
    restored = make_rollout(network, MIXED, seed=99, **game)

    restored.restore({name: tensor.clone() for name, tensor in original.state().items()})
    restored.league.restore(original.league.state(), [])

    for _ in range(6):
        one, other = (rollout.collect(network, CPU, 1.0, 0.9) for rollout in (original, restored))
        assert torch.equal(one.rows, other.rows)
        for name in ("observation", "legal", "action", "log_prob", "value", "advantage", "history", "hidden"):
            columns = getattr(one, name), getattr(other, name)
            if columns[0] is not None:
                assert torch.equal(columns[0][one.rows], columns[1][one.rows]), name


def test_other_seeds_give_other_games():
    """Deals and choices."""
    network = make_network(KINDS[0])
    first, again, other = (make_rollout(network, seed=seed, num_envs=8, num_steps=8) for seed in (1, 1, 2))

    for rollout in (first, again, other):
        rollout.collect(network, CPU, 1.0, 0.9)

    assert np.array_equal(first.action, again.action)
    assert not np.array_equal(first.observation[first.max_players], other.observation[first.max_players])


# ---- Settings ----


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"players": ()}, "game.players must be different numbers of players, got ()"),
        ({"players": (2, 2)}, "game.players must be different numbers of players, got (2, 2)"),
        ({"players": (9,)}, "num_players must be from 2 to 8, got 9"),
        ({"players": (2, 3), "num_envs": 1}, "game.num_envs must be at least 2, got 1"),
        ({"num_steps": 0}, "game.num_steps must be at least 1, got 0"),
        ({"reward": "money"}, "reward must be one of 'win', 'points', got 'money'"),
        ({"rules": Rules(hand_size=20), "players": (2, 4)}, "4 players"),
        ({"max_decisions": 0}, "max_decisions must be a whole number from 1"),
    ],
)
def test_games_that_cannot_be_played_are_refused(settings, message):
    """By the setting's name. Seen to fail without the check of each."""
    with pytest.raises(ValueError, match=re.escape(message)):
        GameConfig(**settings)


def test_runs_of_different_seeds_share_no_deals():
    """Fault 2-1: the games with three players of seed 1 were those of seed 2, where they came first. Seen to fail with
    environments seeded by `seed + i`."""
    network = ActorCritic(NetworkConfig(width=16))
    one = make_rollout(network, players=(2, 3), num_envs=20, num_steps=3, seed=1).envs[1]
    other = make_rollout(network, players=(3,), num_envs=10, num_steps=3, seed=2).envs[0]

    states = [{env.state(game).to_bytes() for game in range(10)} for env in (one, other)]
    assert len(states[0] | states[1]) == 20
