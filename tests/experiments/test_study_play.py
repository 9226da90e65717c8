"""Simulations of the study: planted values of a Power, sampling, resets, hidden cards, flexing at other times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from agents.flex_policies import FEATURES, OTHER_PLAYS, FlexByRules, Flexing, FlexRule, How, features, spend_or_hold
from agents.policy import looks_ahead
from agents.policy_factory import make_policy
from agents.rule_bot import RuleBot
from experiments.flex_timing.decisions import Tried
from experiments.flex_timing.estimates import estimate
from experiments.flex_timing.findings import Results, power_worth
from experiments.flex_timing.resets import resets
from experiments.flex_timing.simulate import dealt, played, sample
from experiments.flex_timing.tree_rules import fit_tree
from experiments.flex_timing.tried_actions import KINDS, LARGEST, LEADER, of_interest, try_candidates, worlds_won
from experiments.flex_timing.twins import twins
from tests.support.paths import ROOT
from tests.support.planted import ONE_RED_CARD
from uno_flex_env import Rules
from uno_flex_env.actions import ACTIONS, DRAW, FLEX_ACTIONS, KEEP, TEXTS
from uno_flex_env.observation import parts
from uno_flex_env.policy_input import Decisions
from uno_flex_env.positions import Positions
from uno_flex_env.seeding import uniforms

OFFICIAL = Rules()
BOT = RuleBot("flex_any")


@dataclass(frozen=True)
class ByPower:
    """Plays as `flex_any` with one probability while its Power is green, another while it is red; else it draws."""

    green: float
    red: float
    name: str = "by power"
    history: int = 0

    def act(self, decisions: Decisions) -> npt.NDArray[np.int64]:
        plays = np.where(parts(decisions.observation)["power"][:, 0] != 0, self.green, self.red)
        passing = np.where(decisions.action_mask[:, DRAW] == 1, DRAW, KEEP)
        can_pass = decisions.action_mask[np.arange(len(decisions)), passing] == 1
        passes = can_pass & (uniforms(decisions.noise, 1) >= plays)
        return np.where(passes, passing, BOT.act(decisions))


def decisions(num_players: int = 3, deals: int = 40) -> Decisions:
    """All decisions of some games of `flex_any`."""
    positions, keys = dealt(5, np.arange(deals), num_players, OFFICIAL)
    steps = [step.decisions for step in played(positions, BOT, keys)]
    columns = ("observation", "action_mask", "noise")
    observation, mask, noise = (np.concatenate([getattr(seen, name) for seen in steps]) for name in columns)
    return Decisions(observation, mask, noise)


# ---- What a Power is worth ----


@pytest.mark.parametrize(("red", "worth"), [(0.0, 1.0), (0.75, 0.25), (1.0, 0.0)])
def test_the_worth_of_a_power_is_found_where_it_is_known(red, worth):
    """Each player holds one card, all are red, and the opponent's Power is green: a player who plays for sure while
    green and with a probability while red loses all the rest. Intervals of 40 studies cover the known worth.

    Seen to fail with the twins exchanged, and with the opponent's Power turned instead of the current player's."""
    policy, covered = ByPower(1.0, red), []
    for seed in range(40):
        pairs = twins(policy, seed, range(60), 2, ONE_RED_CARD, 1)
        value = estimate(power_worth(pairs))
        covered.append(value.low <= worth <= value.high)

    assert np.mean(covered) > 0.9
    assert (value.p < 0.05) == (worth > 0)


def test_a_power_that_no_player_uses_is_worth_nothing():
    """And twins share their random numbers, so most of them end alike: where cards are drawn that only a flex could
    play, one of the two has a decision more. Seen to fail with keys of its own for each twin (0.52 end alike)."""
    pairs = twins(RuleBot("never_flex"), 0, range(300), 2, OFFICIAL, 1)

    value = estimate(power_worth(pairs))

    assert value.low < 0 < value.high
    assert np.mean(pairs["green"] == pairs["red"]) > 0.7


# ---- Candidates ----


def test_spending_is_found_bad_where_a_player_with_a_red_power_only_draws():
    """Seen to fail with flexes and other plays exchanged."""
    rows = try_candidates(ByPower(1.0, 0.0), 1, range(60), 4, OFFICIAL, 8, "hold")
    tried = Tried.of(pa.table(rows | {"num_players": np.full(len(rows["deal"]), 4)}))

    assert estimate(tried.spend_or_hold()).high < 0


def test_policies_do_not_look_at_hidden_cards():
    """20: the same candidates win in the same worlds whatever the others hold in fact.

    Seen to fail with worlds made from the positions themselves."""
    found = sample(BOT, 2, range(20), 3, OFFICIAL, of_interest("hold"))
    assert found is not None
    other_truth = found.positions.hide().determinize(np.arange(len(found.deals), dtype=np.uint64))
    assert (other_truth.fields["hand"] != found.positions.fields["hand"]).any()
    rows = np.arange(len(found.deals))
    actions = (found.decisions().action_mask != 0).argmax(axis=1)

    won = [worlds_won(BOT, replace(found, positions=p), rows, actions, 8) for p in (found.positions, other_truth)]

    assert (won[0] == won[1]).all()


@pytest.mark.parametrize("situation", ["hold", "stuck", "target"])
def test_candidates_are_legal_and_of_their_kind(situation):
    """Every decision has a flex; other plays and drawing are named so; targets are who they are said to be.

    Seen to fail with the leader exchanged for the largest hand, and with a kind's flag left out."""
    tried = try_candidates(BOT, 3, range(60), 4, OFFICIAL, 2, situation)
    found = sample(BOT, 3, range(60), 4, OFFICIAL, of_interest(situation))
    assert found is not None
    row = np.searchsorted(found.deals, tried["deal"])
    masks, fields = found.decisions().action_mask, found.positions.fields

    assert set(np.unique(row)) == set(range(len(found.deals)))
    assert (masks[row, tried["action"]] == 1).all()
    for place, kind, number in zip(row, tried["kind"], tried["action"], strict=True):
        action, name = ACTIONS[number], KINDS[kind]
        assert (name == "draw") == (action.verb == "draw")
        assert (name == "other play") == (action.face is not None and not action.flex)
        sizes = np.delete(fields["size"][place][:4], found.positions.current_player[place])
        target = fields["size"][place][(found.positions.current_player[place] + action.offset) % 4]
        if kind in (LEADER, LARGEST):
            assert target == (sizes.min() if kind == LEADER else sizes.max())


def test_each_decision_of_a_deal_is_equally_likely_to_be_sampled():
    """By where in its deal it was taken: halfway on average, and spread evenly. Seen to fail when the last one is
    kept."""
    positions, keys = dealt(4, np.arange(400), 2, OFFICIAL)
    length = np.zeros(400)
    for step in played(positions, BOT, keys):
        length[step.rows] += 1

    found = sample(BOT, 4, range(400), 2, OFFICIAL, lambda seen: np.ones(len(seen), np.bool_))

    assert found is not None
    place = (found.positions.fields["ply"] + 0.5) / length
    assert abs(place.mean() - 0.5) < 0.06
    assert abs(place.std() - 12**-0.5) < 0.03


def test_a_sampled_position_is_one_that_the_policy_met_and_its_action_is_kept():
    """Seen to fail with the action of another row."""
    found = sample(BOT, 4, range(30), 3, OFFICIAL, spend_or_hold)
    assert found is not None

    taken = dict(zip(found.deals, found.taken, strict=True))

    positions, keys = dealt(4, np.arange(30), 3, OFFICIAL)
    for step in played(positions, BOT, keys):
        for row, action, ply in zip(step.rows, step.actions, step.before.fields["ply"], strict=True):
            if row in taken and ply == found.positions.fields["ply"][np.searchsorted(found.deals, row)]:
                assert action == taken.pop(row)
    assert not taken


# ---- Resets ----


def test_resets_and_red_spells_are_counted_as_by_hand():
    """Against a count over the Powers of each position in turn. Seen to fail with flips by icons taken for resets, and
    with the spells of one seat only."""
    counts = resets(BOT, 6, range(25), 3, OFFICIAL)

    by_hand = {name: np.zeros(25, int) for name in ("turns", "red_turns", "resets", "spells", "length")}
    since: dict[tuple[int, int], int] = {}
    positions, keys = dealt(6, np.arange(25), 3, OFFICIAL)
    for step in played(positions, BOT, keys):
        for place, row in enumerate(step.rows):
            count_by_hand(by_hand, since, int(row), step.before.state(place), int(step.actions[place]))

    for name in ("turns", "red_turns"):
        assert (counts[name] == by_hand[name]).all()
    assert (counts["resets_by_flex"] + counts["resets_by_icon"] == by_hand["resets"]).all()
    ended = sum(counts[f"red_spells_{cause}"] for cause in ("reset", "own_icon", "all_flip"))
    assert (ended == by_hand["spells"]).all()
    assert (counts["red_length"] == by_hand["length"]).all()
    assert by_hand["resets"].sum() > 20


def count_by_hand(counts: dict[str, Any], since: dict[tuple[int, int], int], row: int, state: Any, action: int) -> None:
    """One decision; `since` has the turns at which Powers turned red, by row and seat."""
    after = Positions([state])
    after.apply([action])
    now = after.state(0).green
    if state.is_legal(DRAW):
        counts["turns"][row] += 1
        counts["red_turns"][row] += not state.green >> state.current_player & 1
    only_mine = state.green == 1 << state.current_player
    counts["resets"][row] += (
        only_mine
        and now == 7
        and not TEXTS[action].startswith("WF")
        and action != DRAW
        and (ACTIONS[action].flex or "^" in TEXTS[action])
    )
    for seat in range(3):
        if state.green >> seat & 1 and not now >> seat & 1:
            since[row, seat] = counts["turns"][row]
        elif not state.green >> seat & 1 and now >> seat & 1:
            counts["spells"][row] += 1
            counts["length"][row] += counts["turns"][row] - since[row, seat]


# ---- Flexing at other times ----


@pytest.mark.parametrize("how", get_args(How))
def test_a_policy_flexes_when_it_is_told_to(how):
    """In every decision of 40 games. Seen to fail with each of the four exchanged for another."""
    seen = decisions()
    legal = seen.action_mask != 0
    can_flex, can_play = (legal & FLEX_ACTIONS).any(axis=1), (legal & OTHER_PLAYS).any(axis=1)

    flexed = FLEX_ACTIONS[Flexing(BOT, how).act(seen)]

    if how == "never":
        assert not flexed.any()
    elif how == "first_chance":
        assert (flexed == can_flex).all()
    elif how == "when_stuck":
        assert (flexed == (can_flex & ~can_play)).all()
    else:
        assert 0.2 < flexed[can_flex & can_play].mean() < 0.8


def test_a_policy_that_flexes_as_learned_has_random_numbers_of_its_own():
    """Or it would be compared with itself. Seen to fail with the same noise."""
    seen = decisions()

    assert 0 < np.mean(Flexing(BOT, "as_learned").act(seen) != BOT.act(seen)) < 0.9


@pytest.mark.parametrize("spec", ["search:300,flex_when_stuck", "flat:300,flex_when_stuck"])
def test_a_search_can_be_told_when_to_flex(spec):
    """It keeps looking ahead, and never plays what it may not, though it would. Seen to fail without `looks_ahead`,
    and with the mask ignored by the search."""
    found = sample(BOT, 7, range(40), 2, OFFICIAL, spend_or_hold)
    assert found is not None
    policy, seen = make_policy(spec), found.decisions()

    never, always = (Flexing(policy, how) for how in ("never", "first_chance"))

    assert looks_ahead(never)
    assert 0 < FLEX_ACTIONS[policy.act(seen)].sum() < len(seen)
    assert not FLEX_ACTIONS[never.act(seen)].any()
    assert FLEX_ACTIONS[always.act(seen)].all()


@pytest.mark.slow
def test_a_search_names_its_favorite_of_each_kind():
    """One favorite flex and one favorite other play for each decision, whichever it would choose itself. Seen to fail
    with the mask ignored by the search."""
    policy = make_policy("search:300,flex_when_stuck")

    tried = try_candidates(policy, 7, range(40), 2, OFFICIAL, 2, "hold")

    flexes, others = (tried["favorite"] & which[tried["action"]] for which in (FLEX_ACTIONS, OTHER_PLAYS))
    deals = np.unique(tried["deal"])
    assert len(deals) > 20
    assert tried["deal"][flexes].tolist() == tried["deal"][others].tolist() == deals.tolist()


def test_flexing_in_another_way_is_refused():
    with pytest.raises(ValueError, match="how must be one of never, first_chance, when_stuck, as_learned, got 'often'"):
        Flexing(BOT, "often")  # type: ignore[arg-type]


# ---- Rules ----


def test_without_rules_the_bot_is_the_one_that_flexes_when_stuck():
    """The same action in every decision. Seen to fail when it spends where no rule applies."""
    seen = decisions()

    assert (FlexByRules(()).act(seen) == RuleBot("flex_when_stuck").act(seen)).all()


def test_the_bot_plays_the_rules_that_the_study_has_found():
    """By its tree over the committed results, in every decision. Seen to fail without one of the two rules."""
    found = fit_tree(Results.read(ROOT / "docs" / "flex_timing").tried("hold"))
    seen = [decisions(players) for players in (2, 3, 4, 6, 8)]

    by_tree = [FlexByRules(found.rules).act(some) for some in seen]

    assert all((make_policy("flex_by_rules").act(some) == acts).all() for some, acts in zip(seen, by_tree, strict=True))


def test_the_first_rule_that_applies_decides():
    """Spend with five cards or more, else hold. Seen to fail with at most for above, and with the last one deciding."""
    seen = decisions()
    bot = FlexByRules((FlexRule((("hand", True, 4.5),), True), FlexRule((), False)))
    open_ = spend_or_hold(seen)
    many = features(seen)["hand"] >= 5

    flexed = FLEX_ACTIONS[bot.act(seen)]

    assert (flexed[open_] == many[open_]).all()
    assert (bot.act(seen)[~open_] == RuleBot("flex_when_stuck").act(seen)[~open_]).all()


def test_features_are_what_the_position_shows():
    """Against the state's own fields. Seen to fail with the next player counted against the direction of play."""
    found = sample(BOT, 8, range(60), 5, OFFICIAL, spend_or_hold)
    assert found is not None
    values = features(found.decisions())

    for place in range(len(found.deals)):
        state = found.positions.state(place)
        me, sizes = state.current_player, found.positions.fields["size"][place][:5].astype(int)
        hand = state.hand(me)
        expected = {
            "players": 5,
            "hand": sizes[me],
            "flex_cards": sum(TEXTS_OF_FACES[face] for face in hand),
            "others_green": (state.green & ~(1 << me)).bit_count(),
            "leader": np.delete(sizes, me).min(),
            "next": sizes[(me + state.direction) % 5],
        }
        small = {
            name: value for name, value in expected.items() if name not in ("hand", "leader", "next") or value <= 7
        }
        assert {name: values[name][place] for name in small} == small
    assert list(values) == list(FEATURES)


TEXTS_OF_FACES = {action.face: "/" in TEXTS[number] for number, action in enumerate(ACTIONS) if action.face is not None}
"""Whether a face has a flex side."""
