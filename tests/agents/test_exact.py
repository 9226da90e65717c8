"""Exact exploitability: against counting by other rules code, against sampled play, and what it refuses."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from agents.exact.action_probabilities import action_probabilities
from agents.exact.beliefs import belief_graph, check_deck
from agents.exact.exploit import Exploitability, exploitability
from agents.exact.responder import BestResponse
from agents.exact.solution import Solution
from agents.expert import Expert
from agents.match.runner import duel
from agents.network import ActorCritic, NetworkConfig
from agents.network_policy import NetworkPolicy
from agents.policy import Actions
from agents.policy_factory import make_policy
from agents.tasks import find_task
from tests.support.histories import all_deals, counted
from tests.support.notation import deck_of
from uno_flex_env import Rules
from uno_flex_env.actions import FLEX_ACTIONS
from uno_flex_env.batch import BOTS
from uno_flex_env.policy_input import Decisions
from uno_flex_env.positions import Positions
from uno_flex_env.seeding import derived_seeds

TINY = find_task("tiny-2").rules
TINIEST = Rules(hand_size=1, deck=deck_of("y1^ g1/y y2/g yD/ gD/"))
WITH_A_WILD = Rules(hand_size=1, deck=deck_of("y1^ g1/y b2 WA/"))


@cache
def exploited(name: str) -> Exploitability:
    return exploitability(make_policy(name), TINY)


@pytest.mark.slow
@pytest.mark.parametrize(("rules", "opponent"), [(TINIEST, "random"), (TINIEST, "flex_any"), (WITH_A_WILD, "random")])
@pytest.mark.parametrize("starter", [0, 1])
def test_the_best_response_is_worth_what_counting_every_history_says(rules: Rules, opponent: str, starter: int):
    """By the rules of the reference, without worlds, beliefs or a graph.

    Seen to fail when the policy's probabilities are read at another infostate, and when a belief keeps the weights
    of the policy that the graph was built with."""
    graph = belief_graph(rules)
    solution = Solution(graph, action_probabilities(make_policy(opponent), graph.tables.states)[0])
    deals = all_deals(rules, starter)
    values = np.zeros(len(graph.first_rows) - 1)

    for depth in range(1, 6):
        values = np.maximum.reduceat(solution.returns(values), graph.first_rows[:-1])
        expected = sum(counted(group, opponent, depth) for group in deals.values())

        assert solution.value(values, starter) == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["random", "flex_when_stuck", "champion"])
def test_the_best_response_gets_in_match_play_what_it_promises(name: str):
    """Seen to fail when the responder mistakes who has begun, and when it takes the first legal action."""
    found = exploited(name)

    result = duel(BestResponse(found), name, games=4000, seed=3, rules=TINY, max_decisions=250)

    payoffs = (result.wins[..., 0].astype(np.float64) - result.wins[..., 1]).mean(axis=1)
    error = payoffs.std() / np.sqrt(payoffs.size)
    assert found.low - 3 * error < payoffs.mean() < found.high + 3 * error


@pytest.mark.slow
def test_on_the_tiny_task_flexes_and_hidden_cards_matter():
    """Seen to fail on a deck whose flex sides match nothing."""
    solution = exploited("flex_when_stuck").solution
    flexes = (solution.graph.actions >= 0) & FLEX_ACTIONS[solution.graph.actions]

    assert exploited("random").low > 0.5
    assert solution.value(solution.low) - solution.value_without(flexes) > 0.05
    assert (solution.graph.priors < 0).mean() > 0.3


@pytest.mark.slow
def test_a_network_is_exploited_between_its_bounds():
    """A network with random weights is nearly uniform, so it is worth nearly as much as `random`.

    Seen to fail when a network's probabilities are read at another infostate."""
    found = exploitability(NetworkPolicy(ActorCritic(NetworkConfig(width=16)), "fresh"), TINY)

    assert found.exact_policy
    assert found.low <= found.high < found.low + 1e-6
    assert found.low == pytest.approx(exploited("random").low, abs=0.02)


@pytest.mark.parametrize("name", [*BOTS, "expert"])
def test_probabilities_are_the_shares_of_actions(name: str):
    """On the official deck, wilds and challenges included.

    Seen to fail when `flex_any` takes wilds before colored cards."""
    positions = Positions.deal(np.arange(40), 2)
    policy = make_policy(name)
    for step in range(8):
        positions = positions[~positions.is_over]
        observation, mask = positions.observe()
        rows = np.arange(len(mask))
        shares = np.zeros(mask.shape)
        for key in range(200):
            actions = policy.act(Decisions(observation, mask, derived_seeds(key, rows)))
            shares[rows, actions] += 1 / 200

        said = policy.probabilities(Decisions(observation, mask, derived_seeds(0, rows)))  # type: ignore[attr-defined]

        assert np.abs(said - shares).max() < 0.2
        assert ((shares > 0) <= (said > 0)).all()
        positions.apply(make_policy("random").act(Decisions(observation, mask, derived_seeds(step, rows))))


class Remembers:
    name, history = "remembers", 4

    def act(self, decisions: Decisions) -> Actions:
        raise AssertionError("never asked")


@pytest.mark.parametrize(
    ("rules", "players", "message"),
    [
        (Rules(), 2, "needs a tiny deck of about 7 cards, got the official deck of 104"),
        (find_task("small-2").rules, 2, "30 cards have about 3e\\+29 beliefs"),
        (TINY, 3, "for 2 players, got 3"),
        (Rules(hand_size=1, deck=deck_of("y1^ g1/y y2 W4/")), 2, "must not hold W4/"),
        (Rules(hand_size=1, deck=deck_of("y1^ g1/y WF WF y2")), 2, "more than one of WF"),
        (Rules(hand_size=1, deck=deck_of("y1^ g1/y y2"), stacking=True), 2, "does not know the rules stacking"),
    ],
)
def test_a_game_that_cannot_be_solved_is_refused(rules: Rules, players: int, message: str):
    with pytest.raises(ValueError, match=message):
        check_deck(rules, players)


def test_a_policy_that_reads_events_or_looks_ahead_is_refused():
    for policy, message in (
        (Remembers(), "the last 4 events"),
        (make_policy("search:10"), "search:10 looks ahead or needs a view"),
    ):
        with pytest.raises(ValueError, match=message):
            exploitability(policy, TINIEST)


def test_a_policy_without_probabilities_is_asked_often():
    """Seen to fail when shares are called exact."""

    class Tired:
        name, history = "tired", 0

        def act(self, decisions: Decisions) -> Actions:
            return Expert().act(decisions)

    graph = belief_graph(TINIEST)
    said, _ = action_probabilities(Expert(), graph.tables.states)
    shares, exact = action_probabilities(Tired(), graph.tables.states)

    assert not exact
    assert np.abs(said - shares).max() < 0.2
