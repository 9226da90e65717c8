"""The PettingZoo environment: rewards, observations, masks and ends."""

import inspect
import random
import re
from typing import Any, Literal

import numpy as np
import pytest
from gymnasium.spaces import Discrete

from tests.support.episodes import EVERY_PHASE, NO_MATCHES, PHASES, SHORT, choose, payoffs, play
from uno_flex_env import Game, Match, Rules, actions, observation, uno_flex_v0
from uno_flex_env.actions import NUM_ACTIONS, TEXTS
from uno_flex_env.envs.aec import UnoFlexEnv
from uno_flex_env.envs.spaces import ActionSpace
from uno_flex_env.game import PHASES as PHASE_NAMES

# ---- The documented loop (fault 13) ----


def test_the_documented_loop_runs(num_players):
    """The first example of the module's documentation, for every number of players."""
    [code] = re.findall(r"```python\n(from .*?)```", uno_flex_v0.__doc__, flags=re.DOTALL)
    assert "num_players=4" in code
    names: dict[str, Any] = {}
    exec(code.replace("num_players=4", f"num_players={num_players}"), names)
    assert names["env"].agents == []
    assert names["termination"]


# ---- Rewards (faults 1 and 4) ----


def check_rewards(num_players: int, reward: Literal["win", "points"]) -> None:
    """What each agent is handed by `last` is what the rules pay its seat, to the bit of a float32."""
    env = uno_flex_v0.env(num_players, SHORT, reward=reward)
    winners = set()
    for seed in range(12):
        env.reset(seed=seed)
        received, actions = play(env, random.Random(seed))
        game = Game(num_players, SHORT, seed=seed)
        for action in actions:
            game.play(action)
        assert list(received.values()) == [float(np.float32(payoff)) for payoff in payoffs(game.snapshot(), reward)]
        winners.add(game.winner)
    assert len(winners) > 1


@pytest.mark.parametrize("reward", ["win", "points"])
def test_every_agent_is_handed_the_payoff_of_its_seat(num_players, reward):
    """1 and -1 / (n - 1), or the points / 100. Fault 1: losers lose on another's turn."""
    check_rewards(num_players, reward)


@pytest.mark.parametrize("reward", ["win", "points"])
def test_the_reward_check_can_fail(monkeypatch, reward):
    """Fault 1, with its usual cause: only who moved is paid."""

    def pay_the_mover(env: UnoFlexEnv) -> None:
        env._cumulative_rewards[env.agent_selection] += env.rewards[env.agent_selection]

    monkeypatch.setattr(UnoFlexEnv, "_accumulate_rewards", pay_the_mover)
    with pytest.raises(AssertionError):
        check_rewards(4, reward)


@pytest.mark.parametrize("reward", ["win", "points"])
@pytest.mark.parametrize("players", [2, 5])
def test_a_match_pays_the_win_once_or_the_points_of_every_round(players, reward):
    """Rules 8; the environment plays the same rounds as `Match`."""
    rules = Rules(hand_size=3, target_score=400)
    env = uno_flex_v0.env(players, rules, match=True, reward=reward)
    env.reset(seed=7)
    received, actions = play(env, random.Random(7))
    match = Match(players, rules, seed=7)
    for action in actions:
        match.play(action)
    assert match.is_over
    assert len(match.rounds) > 1
    paid = match.rounds if reward == "points" else match.rounds[-1:]
    expected = np.sum([payoffs(game.snapshot(), reward) for game in paid], axis=0)
    assert list(received.values()) == pytest.approx(expected.tolist(), rel=1e-6)


def test_rewards_are_those_of_the_last_step_alone():
    """PettingZoo: `rewards` is what the last step brought; a round's points are gone from it after the next one."""
    env, rng = uno_flex_v0.env(3, SHORT, match=True, reward="points"), random.Random(1)
    env.reset(seed=1)
    for _ in range(300):
        rounds = env.core.rounds
        env.step(choose(env.infos[env.agent_selection]["action_mask"], rng))
        assert any(env.rewards.values()) == (env.core.rounds > rounds)
    assert env.core.rounds > 2


def test_a_round_without_a_winner_pays_nothing():
    """Rules 3 and 8."""
    env = uno_flex_v0.env(2, NO_MATCHES)
    env.reset(seed=0)
    received, _ = play(env, random.Random(0))
    assert received == {"player_0": 0.0, "player_1": 0.0}


# ---- The same game as everywhere ----


@pytest.mark.parametrize("rules", [Rules(), EVERY_PHASE], ids=["official", "every phase"])
def test_the_environment_plays_the_game(num_players, rules):
    """The same seed and actions give the states, deciders and legal actions of `Game`."""
    env, rng = uno_flex_v0.env(num_players, rules), random.Random(num_players)
    for seed in range(3):
        env.reset(seed=seed)
        game = Game(num_players, rules, seed=seed)
        while not game.is_over:
            assert env.core == game.state
            assert env.agent_selection == f"player_{game.current_player}"
            mask = env.infos[env.agent_selection]["action_mask"]
            assert [TEXTS[action] for action in np.flatnonzero(mask)] == game.legal_actions
            assert not any(env.terminations.values())
            action = choose(mask, rng)
            env.step(action)
            game.play(action)
        assert env.core == game.state
        assert all(env.terminations.values())


def test_a_seed_that_was_drawn_deals_the_same_cards_again():
    """`reset()` draws its seed from the environment's own generator and shows it."""
    env = uno_flex_v0.env(3)
    env.reset(seed=5)
    assert env.episode_seed == 5
    env.reset()
    assert env.episode_seed != 5
    assert env.core == Game(3, seed=env.episode_seed).state


@pytest.mark.parametrize("dealer", [0, 2])
def test_the_dealer_is_an_option(dealer):
    """Rules 2: the dealer's left begins."""
    env = uno_flex_v0.env(3, dealer=dealer)
    env.reset(seed=0)
    assert env.agent_selection == f"player_{(dealer + 1) % 3}"


# ---- Observations ----


def check_blindness(env: UnoFlexEnv, worlds: int) -> tuple[set[str], int]:
    """Exchange the cards that an agent can't see: not a byte of what it gets may change. Returns the phases in which
    this was seen, and how often somebody knew cards from a challenge."""
    phases, known = set(), 0
    for agent in env.agents:
        seat, world = env.possible_agents.index(agent), env.core.copy()
        before = env.observe(agent)
        assert (before["action_mask"] == env.infos[agent]["action_mask"]).all()
        for seed in range(worlds):
            env.core = world.hide(seat).determinize(seed)
            after = env.observe(agent)
            assert {name: part.tobytes() for name, part in before.items()} == {
                name: part.tobytes() for name, part in after.items()
            }
            if env.core != world:
                phases.add(PHASE_NAMES[world.phase])
                known += any(world.known(viewer, other) for viewer in range(3) for other in range(3))
        env.core = world
    return phases, known


def check_blindness_in_every_phase() -> None:
    env, rng = uno_flex_v0.env(3, EVERY_PHASE, history=6), random.Random(0)
    phases: set[str] = set()
    known = 0
    for seed in range(200):
        env.reset(seed=seed)
        while not any(env.terminations.values()):
            seen, revealed = check_blindness(env, worlds=2)
            phases, known = phases | seen, known + revealed
            env.step(choose(env.infos[env.agent_selection]["action_mask"], rng))
        if phases == PHASES and known > 20 and seed > 10:
            return
    raise AssertionError(f"never seen: {PHASES - phases}")


def test_no_agent_sees_hidden_cards():
    """Fault 3: other hands, the order of the pile and what a challenge has shown to somebody else stay hidden."""
    check_blindness_in_every_phase()


def test_the_blindness_check_can_fail(monkeypatch):
    """Fault 3: a feature that tells whether the next seat holds a wild."""
    observe = UnoFlexEnv.observe

    def leak(env: UnoFlexEnv, agent: str) -> Any:
        observation = observe(env, agent)
        neighbor = (env.possible_agents.index(agent) + 1) % env.num_players
        observation["observation"][639] = max(env.core.hand(neighbor), default=0) > 87
        return observation

    monkeypatch.setattr(UnoFlexEnv, "observe", leak)
    with pytest.raises(AssertionError):
        check_blindness_in_every_phase()


def test_history_holds_the_last_public_events(num_players):
    """Seat offset from who looks, action, cards drawn; rows of -1 before the first event."""
    env, rng = uno_flex_v0.env(num_players, EVERY_PHASE, history=5), random.Random(3)
    env.reset(seed=3)
    game, events = Game(num_players, EVERY_PHASE, seed=3), []
    while not game.is_over:
        seat, before = env.core.current_player, sum(map(len, game.hands))
        action = choose(env.infos[env.agent_selection]["action_mask"], rng)
        env.step(action)
        game.play(action)
        played = TEXTS[action][0] in "rygbW"
        events.append((seat, action, sum(map(len, game.hands)) - before + played))
        for viewer, agent in enumerate(env.possible_agents):
            recent = [[(actor - viewer) % num_players, what, drawn] for actor, what, drawn in events[-5:]]
            history = env.observe(agent)["history"]
            assert history.dtype == np.int16
            assert history.tolist() == [[-1, -1, -1]] * (5 - len(recent)) + recent


def test_history_restarts_with_each_deal():
    """A round shows nothing of the round before."""
    env, rng = uno_flex_v0.env(2, Rules(hand_size=1), match=True, history=4), random.Random(0)
    env.reset(seed=0)
    while env.core.rounds == 0:
        env.step(choose(env.infos[env.agent_selection]["action_mask"], rng))
    assert (env.observe("player_0")["history"] == -1).all()


def test_state_is_the_view_of_every_seat(num_players):
    """The whole table, for a centralized critic."""
    env = uno_flex_v0.env(num_players)
    env.reset(seed=0)
    views = [env.observe(agent)["observation"] for agent in env.agents]
    assert env.state() in env.state_space
    assert (env.state() == np.concatenate(views)).all()


def test_observations_are_the_callers():
    """They may be written to, and no later one is the same array."""
    env = uno_flex_v0.env(2, history=2)
    env.reset(seed=0)
    first = env.observe("player_0")
    kept = {name: part.copy() for name, part in first.items()}
    for part in first.values():
        part[...] = 1
    for name, part in env.observe("player_0").items():
        assert (part == kept[name]).all()


# ---- Masks (fault 17) ----


def check_masks(states: int) -> None:
    """int8; one agent can act and no other; an action sampled under the mask is legal."""
    rng = random.Random(0)
    while states > 0:
        env = uno_flex_v0.env(rng.randint(2, 8), EVERY_PHASE if rng.random() < 0.5 else Rules(), max_decisions=500)
        env.reset(seed=states)
        while not (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
            agent = env.agent_selection
            mask = env.observe(agent)["action_mask"]
            assert mask.dtype == np.int8
            assert mask.any()
            other = rng.choice(env.agents)
            if other != agent:
                assert not env.observe(other)["action_mask"].any()
                assert not env.infos[other]["action_mask"].any()
            action = env.action_space(agent).sample(mask)
            assert env.core.is_legal(int(action))
            env.step(action)
            states -= 1


@pytest.mark.slow
def test_masks_and_samples_are_legal():
    """Fault 17, in 100,000 states."""
    check_masks(100_000)


@pytest.mark.parametrize("lie", [np.ones(NUM_ACTIONS, np.int8), np.ones(NUM_ACTIONS, bool)])
def test_the_mask_check_can_fail(monkeypatch, lie):
    """Fault 17."""
    monkeypatch.setattr(UnoFlexEnv, "observe", lambda env, agent: {"action_mask": lie})
    with pytest.raises(AssertionError):
        check_masks(100)


def test_sampling_under_a_mask_is_uniform_and_seeded():
    """`ActionSpace` samples as Gymnasium's `Discrete`, only faster: four sigma of 4,000 draws of 8 actions."""
    mask = np.zeros(NUM_ACTIONS, np.int8)
    mask[[0, 1, 17, 63, 64, 100, 208, 215]] = 1
    space, same = ActionSpace(seed=3), ActionSpace(seed=3)
    drawn = np.bincount([space.sample(mask) for _ in range(4000)], minlength=NUM_ACTIONS)
    assert np.abs(drawn[mask == 1] - 500).max() < 4 * (4000 * 1 / 8 * 7 / 8) ** 0.5
    assert drawn[mask == 0].sum() == 0
    assert (np.bincount([same.sample(mask) for _ in range(4000)], minlength=NUM_ACTIONS) == drawn).all()
    assert space == Discrete(NUM_ACTIONS)
    assert space.sample(mask.astype(bool)) in np.flatnonzero(mask)


@pytest.mark.parametrize("mask", [np.ones(5, np.int8), np.ones(NUM_ACTIONS), np.ones((2, NUM_ACTIONS), np.int8)])
def test_sampling_refuses_an_invalid_mask(mask):
    """As Gymnasium does; an empty mask gives action 0 as there."""
    with pytest.raises(AssertionError, match="sample mask"):
        ActionSpace().sample(mask)
    assert ActionSpace().sample(np.zeros(NUM_ACTIONS, np.int8)) == 0


# ---- Ends (fault 12) ----


def check_ends(num_players: int, rules: Rules, max_decisions: int | None) -> str:
    """No flag before the step that ends the episode; then the right one, for all agents. Returns how it ended."""
    env, rng = uno_flex_v0.env(num_players, rules, max_decisions=max_decisions), random.Random(num_players)
    env.reset(seed=num_players)
    game = Game(num_players, rules, seed=num_players)
    while not (game.is_over or game.ply == max_decisions):
        assert not any({**env.terminations, **env.truncations}.values())
        action = choose(env.infos[env.agent_selection]["action_mask"], rng)
        env.step(action)
        game.play(action)
        assert set(env.terminations.values()) == {game.is_over}
        assert set(env.truncations.values()) == {not game.is_over and game.ply == max_decisions}
    assert not any(info["action_mask"].any() for info in env.infos.values())
    assert not any(env.observe(agent)["action_mask"].any() for agent in env.agents)
    return "cut" if not game.is_over else "won" if game.winner is not None else "no winner"


def test_a_win_terminates(num_players):
    """Fault 12."""
    assert check_ends(num_players, SHORT, None) == "won"


def test_a_round_without_a_winner_terminates():
    """Fault 12; rules 3."""
    assert check_ends(2, NO_MATCHES, None) == "no winner"


def test_the_last_decision_truncates(num_players):
    """Fault 12: `max_decisions` counts the decisions of all agents."""
    assert check_ends(num_players, Rules(), 9) == "cut"


def test_a_win_with_the_last_decision_terminates():
    """Fault 12: an episode that is over is not cut."""
    env = uno_flex_v0.env(3, SHORT)
    env.reset(seed=3)
    _, actions = play(env, random.Random(3))
    assert check_ends(3, SHORT, len(actions)) == "won"
    assert check_ends(3, SHORT, len(actions) - 1) == "cut"


def test_a_cut_match_has_paid_its_rounds():
    """`max_decisions` counts over all rounds of a match."""
    env = uno_flex_v0.env(2, Rules(hand_size=1), match=True, reward="points", max_decisions=300)
    env.reset(seed=0)
    received, actions = play(env, random.Random(0))
    assert len(actions) == 300
    assert env.core.rounds > 1
    assert sum(received.values()) == pytest.approx(0, abs=1e-6)
    assert received["player_0"] != 0


@pytest.mark.parametrize(
    ("flags", "rules", "max_decisions"),
    [((True, False), Rules(), 9), ((False, True), SHORT, None), ((False, False), SHORT, None)],
)
def test_the_check_of_ends_can_fail(monkeypatch, flags, rules, max_decisions):
    """Fault 12: the end of an episode with the wrong flags."""
    finish = UnoFlexEnv._finish
    wrong = dict(zip(("terminated", "truncated"), flags, strict=True))
    monkeypatch.setattr(UnoFlexEnv, "_finish", lambda env, **_: finish(env, **wrong))
    with pytest.raises(AssertionError):
        check_ends(3, rules, max_decisions)


# ---- Documentation ----


def test_the_documentation_has_the_tables_of_features_and_actions():
    """As in the observation and the actions, whole."""
    assert observation.markdown_table() in uno_flex_v0.__doc__
    assert actions.markdown_table() in uno_flex_v0.__doc__


def test_the_documentation_names_every_option():
    """With the default that it has."""
    signature = re.search(r"uno_flex_v0\.env\(\s*(num_players=2.*?),?\s*\)\n", uno_flex_v0.__doc__, re.DOTALL)
    assert signature
    written = [part.strip().replace('"', "'") for part in signature[1].replace("\n", " ").split(",")]
    parameters = inspect.signature(UnoFlexEnv).parameters.values()
    assert written == [f"{parameter.name}={parameter.default!r}" for parameter in parameters]


def test_the_name_has_the_version():
    assert str(uno_flex_v0.env()) == uno_flex_v0.env().metadata["name"] == "uno_flex_v0"
