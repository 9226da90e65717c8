"""The PettingZoo environment."""

import copy
import inspect
import os
import pickle
import random
import re
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Discrete
from pettingzoo.utils import wrappers
from pettingzoo.utils.env_logger import EnvLogger

from tests.faces import EVERY_PHASE, NO_MATCHES, PHASES, SHORT, choose, payoffs
from uno_flex_env import Game, IllegalActionError, Match, Rules, aec, uno_flex_v0
from uno_flex_env.actions import NUM_ACTIONS, TEXTS
from uno_flex_env.aec import UnoFlexEnv
from uno_flex_env.game import PHASES as PHASE_NAMES
from uno_flex_env.spaces import ActionSpace

OTHER_OPTIONS: dict[str, Any] = {
    "num_players": 5,
    "rules": Rules(hand_size=3, stacking=True),
    "match": True,
    "reward": "points",
    "history": 3,
    "render_mode": "ansi",
    "max_decisions": 150,
    "illegal": "terminate",
    "render_seat": 2,
    "dealer": 1,
}
"""Every option at another value than its default."""


def play(env: Any, rng: random.Random) -> tuple[dict[str, float], list[int]]:
    """Play an episode that `reset` has begun: the sum of rewards that each agent is handed, and the actions."""
    received, actions = dict.fromkeys(env.agents, 0.0), []
    for agent in env.agent_iter():
        observation, reward, termination, truncation, _ = env.last()
        received[agent] += reward
        action = None if termination or truncation else choose(observation["action_mask"], rng)
        actions += [] if action is None else [action]
        env.step(action)
    return received, actions


def transcript(env: Any, seed: int | None = None, *, deal: bool = True) -> list[Any]:
    """All that an episode shows to whoever plays it, from its deal or from where it stands."""
    if deal:
        env.reset(seed=seed)
    rng, lines = random.Random(0), [illegal_outcome(env)]
    for agent in env.agent_iter():
        observation, reward, termination, truncation, info = env.last()
        seen = {name: part.tobytes() for name, part in (observation | info).items()}
        lines.append((agent, seen, reward, termination, truncation, env.render() if env.render_mode else None))
        env.step(None if termination or truncation else choose(observation["action_mask"], rng))
    return lines


def illegal_outcome(env: Any) -> str:
    """What an illegal action would do."""
    env = copy.deepcopy(env)
    try:
        env.step(int(np.flatnonzero(env.infos[env.agent_selection]["action_mask"] == 0)[0]))
    except IllegalActionError:
        return "raises"
    return "ends the game" if all(env.terminations.values()) else "is played"


# ---- The documented loop (fault 13) ----


def test_the_documented_loop_runs(num_players):
    """The first example of the module's documentation, for every number of players."""
    [code] = re.findall(r"```python\n(from .*?)```", uno_flex_v0.__doc__, flags=re.DOTALL)
    assert "num_players=4" in code
    names: dict[str, Any] = {}
    exec(code.replace("num_players=4", f"num_players={num_players}"), names)
    assert names["env"].agents == []
    assert names["termination"]


@pytest.mark.parametrize("action", [0, 208, np.int64(3)])
def test_a_real_action_of_a_finished_agent_gets_a_clear_message(action):
    """PettingZoo: the last step of each agent is None. Fault 13."""
    env = finished()
    with pytest.raises(IllegalActionError, match="player_0 is finished: only None is left to it"):
        env.step(action)
    env.step(None)
    assert env.agents == ["player_1", "player_2"]


def finished() -> UnoFlexEnv:
    """An environment whose three agents have their last steps before them."""
    env = uno_flex_v0.env(3, SHORT)
    env.reset(seed=1)
    rng = random.Random(1)
    while not any(env.terminations.values()):
        env.step(choose(env.last()[0]["action_mask"], rng))
    return env


# ---- Rewards (faults 1 and 4) ----


def check_rewards(num_players: int, reward: str) -> None:
    """What each agent is handed by `last` is what the rules pay its seat, to the bit of a float32."""
    env = uno_flex_v0.env(num_players, SHORT, reward=reward)
    winners = set()
    for seed in range(30):
        env.reset(seed=seed)
        received, actions = play(env, random.Random(seed))
        game = Game(num_players, SHORT, seed=seed)
        for action in actions:
            game.play(action)
        assert list(received.values()) == [float(np.float32(payoff)) for payoff in payoffs(game, reward)]
        winners.add(game.winner)
    assert len(winners) > 1


@pytest.mark.parametrize("reward", ["win", "points"])
def test_every_agent_is_handed_the_payoff_of_its_seat(num_players, reward):
    """Design 4: 1 and -1 / (n - 1), or the points / 100. Fault 1: losers lose on another's turn."""
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
    expected = np.sum([payoffs(game, reward) for game in paid], axis=0)
    assert list(received.values()) == pytest.approx(expected.tolist(), rel=1e-6)


def test_a_round_without_a_winner_pays_nothing():
    """Rules 3 and 8."""
    env = uno_flex_v0.env(2, NO_MATCHES)
    env.reset(seed=0)
    received, _ = play(env, random.Random(0))
    assert received == {"player_0": 0.0, "player_1": 0.0}


# ---- The same game as everywhere (design 3) ----


@pytest.mark.parametrize("rules", [Rules(), EVERY_PHASE], ids=["official", "every phase"])
def test_the_environment_plays_the_game(num_players, rules):
    """The same seed and actions give the states, deciders and legal actions of `Game`."""
    env, rng = uno_flex_v0.env(num_players, rules), random.Random(num_players)
    for seed in range(3):
        env.reset(seed=seed)
        game = Game(num_players, rules, seed=seed)
        while not game.is_over:
            assert env.core == game.state
            assert env.agent_selection == f"player_{game.to_move}"
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
        seat, world = env.possible_agents.index(agent), env.core
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
    for seed in count():
        env.reset(seed=seed)
        while not any(env.terminations.values()):
            seen, revealed = check_blindness(env, worlds=2)
            phases, known = phases | seen, known + revealed
            env.step(choose(env.infos[env.agent_selection]["action_mask"], rng))
        if phases == PHASES and known > 20 and seed > 10:
            return


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
    """Plan of the option: seat offset from who looks, action, cards drawn; rows of -1 before the first event."""
    env, rng = uno_flex_v0.env(num_players, EVERY_PHASE, history=5), random.Random(3)
    env.reset(seed=3)
    game, events = Game(num_players, EVERY_PHASE, seed=3), []
    while not game.is_over:
        seat, before = game.to_move, sum(map(len, game.hands))
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


def test_history_begins_anew_with_each_deal():
    """Nothing of a round is told in the next one."""
    env, rng = uno_flex_v0.env(2, Rules(hand_size=1), match=True, history=4), random.Random(0)
    env.reset(seed=0)
    while env.core.rounds == 0:
        env.step(choose(env.infos[env.agent_selection]["action_mask"], rng))
    assert (env.observe("player_0")["history"] == -1).all()


def test_state_is_the_view_of_every_seat(num_players):
    """Design 4: the whole table for a centralized critic."""
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
    """int8; somebody can act, nobody else can; whatever is sampled under the mask is legal."""
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
            assert env.core.is_legal(action)
            env.step(action)
            states -= 1


def test_masks_and_what_is_sampled_under_them():
    """Fault 17, in 100,000 states."""
    check_masks(100_000)


@pytest.mark.parametrize("lie", [np.ones(NUM_ACTIONS, np.int8), np.ones(NUM_ACTIONS, bool)])
def test_the_mask_check_can_fail(monkeypatch, lie):
    """Fault 17."""
    monkeypatch.setattr(UnoFlexEnv, "observe", lambda env, agent: {"action_mask": lie})
    with pytest.raises(AssertionError):
        check_masks(100)


def test_sampling_under_a_mask_draws_as_gymnasium_does():
    """`ActionSpace` is only faster."""
    ours, theirs, rng = ActionSpace(seed=3), Discrete(NUM_ACTIONS, seed=3), np.random.default_rng(0)
    for _ in range(200):
        mask = rng.integers(0, 2, NUM_ACTIONS, dtype=np.int8)
        assert ours.sample(mask) == theirs.sample(mask)
        assert ours.sample() == theirs.sample()
    assert ours.sample(np.zeros(NUM_ACTIONS, np.int8)) == 0
    with pytest.raises(AssertionError):
        ours.sample(np.ones(5, np.int8))


# ---- Illegal actions, bounds and order (fault 19) ----


def illegal_action(env: Any) -> int:
    return int(np.flatnonzero(env.infos[env.agent_selection]["action_mask"] == 0)[0])


def test_an_illegal_action_raises_and_changes_nothing():
    """Fault 19: the message names the action, the agent and all that is legal."""
    env, same = uno_flex_v0.env(3, history=2), uno_flex_v0.env(3, history=2)
    env.reset(seed=0)
    same.reset(seed=0)
    action = illegal_action(env)
    with pytest.raises(IllegalActionError) as caught:
        env.step(action)
    legal = ", ".join(f"{a} ({TEXTS[a]})" for a in np.flatnonzero(env.infos["player_0"]["action_mask"]))
    assert str(caught.value) == f"action {action} ({TEXTS[action]}) is illegal for player_0 now; legal: {legal}"
    assert transcript(env, deal=False) == transcript(same, deal=False)


def wrapped(env: UnoFlexEnv) -> Any:
    """As PettingZoo's own classic environments are."""
    env = wrappers.TerminateIllegalWrapper(env, illegal_reward=-1)
    return wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env))


def illegal_episode(env: Any, seed: int, moves: int) -> list[Any]:
    """What `last` returns in an episode whose action after so many moves is illegal; warnings at the end."""
    env.reset(seed=seed)
    EnvLogger.flush()
    rng, lines = random.Random(seed), []
    for agent in env.agent_iter():
        observation, *outcome, _ = env.last()
        lines.append((agent, observation["observation"].tobytes(), *outcome, dict(env.rewards)))
        action = None if True in outcome[1:] else choose(observation["action_mask"], rng)
        env.step(illegal_action(env) if moves == 0 else action)
        moves -= 1
    return [*lines, list(EnvLogger.mqueue)]


@pytest.mark.parametrize("moves", [0, 1, 7])
def test_terminate_does_what_pettingzoos_wrapper_does(num_players, moves):
    """Design 4: -1 for who moved, 0 for all others, everybody finished, a warning in the log."""
    for seed in range(3):
        ours = illegal_episode(uno_flex_v0.env(num_players, illegal="terminate"), seed, moves)
        theirs = illegal_episode(wrapped(uno_flex_v0.raw_env(num_players)), seed, moves)
        assert ours == theirs
        assert "Illegal move made" in ours[-1][0]
        rewards = {line[0]: line[2] for line in ours[-1 - num_players : -1]}
        assert sorted(rewards.values()) == [-1.0] + [0.0] * (num_players - 1)


def test_terminate_and_raise_differ_in_that_alone():
    """`illegal` changes nothing about an episode of legal actions."""
    raising, ending = (transcript(uno_flex_v0.env(3, illegal=kind), seed=2) for kind in ("raise", "terminate"))
    assert (raising[0], ending[0]) == ("raises", "ends the game")
    assert raising[1:] == ending[1:]


@pytest.mark.parametrize("action", [-1, 216, 10**30, 3.0, np.float64(3), "draw", None, np.array([3]), [3]])
@pytest.mark.parametrize("illegal", ["raise", "terminate"])
def test_what_is_no_action_is_out_of_bounds(action, illegal):
    """As `AssertOutOfBoundsWrapper` has it: an AssertionError, whatever `illegal` says, and nothing has changed."""
    for env in (uno_flex_v0.env(2, illegal=illegal), wrapped(uno_flex_v0.raw_env(2))):
        env.reset(seed=0)
        with pytest.raises(AssertionError):
            env.step(action)
        assert env.agent_selection == "player_0"
        assert env.unwrapped.core.ply == 0
    env = uno_flex_v0.env(2)
    env.reset()
    with pytest.raises(aec.OutOfBoundsError, match="player_0's action must be a whole number from 0 to 215, got "):
        env.step(action)


@pytest.mark.parametrize(
    "call",
    [
        lambda env: env.step(208),
        lambda env: env.observe("player_0"),
        lambda env: env.state(),
        lambda env: env.render(),
        lambda env: env.agent_iter(),
    ],
)
def test_calls_before_reset_are_refused(call):
    """As `OrderEnforcingWrapper` has it."""
    for env in (uno_flex_v0.env(2), wrapped(uno_flex_v0.raw_env(2))):
        with pytest.raises(AssertionError, match=r"reset\(\) needs to be called before"):
            call(env)


@pytest.mark.parametrize(
    "name", ["rewards", "terminations", "truncations", "infos", "agent_selection", "num_agents", "agents"]
)
def test_attributes_before_reset_are_refused(name):
    """As `OrderEnforcingWrapper` has it."""
    for env in (uno_flex_v0.env(2), wrapped(uno_flex_v0.raw_env(2))):
        with pytest.raises(AttributeError, match=f"{name} cannot be accessed before reset"):
            getattr(env, name)


def test_an_attribute_that_there_is_not():
    with pytest.raises(AttributeError, match="'UnoFlexEnv' object has no attribute 'hands'"):
        uno_flex_v0.env().hands  # noqa: B018


def test_each_agent_that_is_iterated_needs_a_step():
    """As `OrderEnforcingWrapper` has it."""
    for env in (uno_flex_v0.env(2), wrapped(uno_flex_v0.raw_env(2))):
        env.reset(seed=0)
        agents = iter(env.agent_iter())
        next(agents)
        with pytest.raises(AssertionError, match=r"need to call step\(\) or reset\(\)"):
            next(agents)


def test_agent_iter_stops_after_max_iter():
    """PettingZoo: `max_iter` agents at most."""
    env = uno_flex_v0.env(3)
    env.reset(seed=0)
    seen = 0
    for _ in env.agent_iter(4):
        env.step(choose(env.last()[0]["action_mask"], random.Random(0)))
        seen += 1
    assert seen == 4


def test_a_step_after_everybodys_last_is_a_warning():
    """As `OrderEnforcingWrapper` has it."""
    for env in (uno_flex_v0.env(2, SHORT), wrapped(uno_flex_v0.raw_env(2, SHORT))):
        env.reset(seed=0)
        play(env, random.Random(0))
        EnvLogger.flush()
        env.step(None)
        assert "Should reset() first" in EnvLogger.mqueue[-1]


# ---- Ends (fault 12) ----


def check_ends(num_players: int, rules: Rules, max_decisions: int | None) -> str:
    """No flag before the step that ends the episode; then the right one, for everybody. Returns how it ended."""
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
    return "cut" if not game.is_over else "won" if game.winner is not None else "nobody wins"


def test_a_win_terminates(num_players):
    """Fault 12."""
    assert check_ends(num_players, SHORT, None) == "won"


def test_a_round_without_a_winner_terminates():
    """Fault 12; rules 3."""
    assert check_ends(2, NO_MATCHES, None) == "nobody wins"


def test_the_last_decision_truncates(num_players):
    """Fault 12: `max_decisions` counts the decisions of everybody."""
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


# ---- Seeds (fault 6) ----

EPISODES = """
import hashlib, random
import numpy as np
from uno_flex_env import uno_flex_v0

def digest(disturb=lambda: None):
    env, shown, k = uno_flex_v0.env(4, history=3), hashlib.sha256(), 0
    for seed in (11, None, None):
        env.reset(seed=seed)
        for agent in env.agent_iter():
            observation, reward, termination, truncation, info = env.last()
            shown.update(repr((agent, reward, termination)).encode())
            for part in observation.values():
                shown.update(part.tobytes())
            disturb()
            k = (1664525 * k + 1013904223) % 2**32
            legal = np.flatnonzero(observation["action_mask"])
            env.step(None if termination or truncation else int(legal[k * len(legal) >> 32]))
    return shown.hexdigest()
"""


def disturb() -> None:
    """Use and seed the global generators."""
    import torch

    for use in (random.seed, np.random.seed, torch.manual_seed):
        use(random.randrange(1000))  # type: ignore[operator]
    torch.rand(1)


def episodes_digest(disturb: Callable[[], None] = lambda: None) -> str:
    names: dict[str, Any] = {}
    exec(EPISODES, names)
    shown: str = names["digest"](disturb)
    return shown


def test_a_seed_decides_the_episodes_whatever_else_is_random():
    """Fault 6: seeded, and then unseeded, in this process and in another under another hash seed."""
    other = subprocess.run(
        [sys.executable, "-c", EPISODES + "print(digest())"],
        env=os.environ | {"PYTHONHASHSEED": "77", "PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert episodes_digest() == episodes_digest(disturb) == other.stdout.strip()


def test_the_seed_check_can_fail(monkeypatch):
    """Fault 6: the seeds of later episodes are taken from numpy's global generator."""
    take = property(lambda env: np.random.default_rng(np.random.randint(1 << 30)))  # noqa: NPY002
    monkeypatch.setattr(UnoFlexEnv, "np_random", take)
    assert episodes_digest() != episodes_digest(disturb)


@pytest.mark.parametrize("seed", [-1, 1 << 64, 1.5, "1", True])
def test_a_seed_is_a_whole_number_of_64_bits(seed):
    """Anything else is refused with its value."""
    with pytest.raises(ValueError, match=re.escape(f"got {seed!r}")):
        uno_flex_v0.env().reset(seed=seed)


# ---- Options (faults 4 and 7) ----


WAYS: dict[str, Callable[[UnoFlexEnv], Any]] = {
    "nothing": lambda env: env,
    "reset": lambda env: env.reset() or env,
    "seeded reset": lambda env: env.reset(seed=1) or env,
    "reset with options": lambda env: env.reset(seed=1, options={"num_players": 2}) or env,
    "deepcopy": copy.deepcopy,
    "copy in mid-game": lambda env: env.reset() or copy.deepcopy(env),
    "pickle": lambda env: pickle.loads(pickle.dumps(env)),
    "pickle in mid-game": lambda env: env.reset() or pickle.loads(pickle.dumps(env)),
    "finished episode": lambda env: env.reset() or (play(env, random.Random(0)) and env),
    "PettingZoo's wrappers": lambda env: wrappers.OrderEnforcingWrapper(wrappers.AssertOutOfBoundsWrapper(env)),
}


def check_options(way: str) -> None:
    """An environment that has come this way plays like a new one."""
    assert transcript(WAYS[way](uno_flex_v0.env(**OTHER_OPTIONS)), seed=9) == transcript(
        uno_flex_v0.env(**OTHER_OPTIONS), seed=9
    )


@pytest.mark.parametrize("way", WAYS)
def test_options_survive(way):
    """Fault 7: each option at another value than its default."""
    check_options(way)


@pytest.mark.parametrize("option", inspect.signature(UnoFlexEnv).parameters)
def test_the_transcript_shows_every_option(option):
    """So that `test_options_survive` can fail for each of them."""
    others = {name: value for name, value in OTHER_OPTIONS.items() if name != option}
    assert transcript(uno_flex_v0.env(**OTHER_OPTIONS), seed=9) != transcript(uno_flex_v0.env(**others), seed=9)


def test_the_check_of_options_can_fail(monkeypatch):
    """Fault 7: a reset with a seed goes back to the default dealer."""
    reset = UnoFlexEnv.reset

    def forget(env: UnoFlexEnv, seed: int | None = None, options: Any = None) -> None:
        reset(env, seed, options)
        env.dealer = env.num_players - 1

    monkeypatch.setattr(UnoFlexEnv, "reset", forget)
    with pytest.raises(AssertionError):
        check_options("seeded reset")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_players": 1}, "num_players must be from 2 to 8, got 1"),
        ({"num_players": 9}, "num_players must be from 2 to 8, got 9"),
        ({"num_players": 8, "rules": Rules(hand_size=8)}, "8 players, hand_size 8"),
        ({"rules": "official"}, "rules must be a Rules, a dict of switches or None, got 'official'"),
        ({"rules": {"jump_in": True}}, "unknown rule 'jump_in'; there are draw_four"),
        ({"match": 1}, "match must be True or False, got 1"),
        ({"reward": "score"}, "reward must be one of 'win', 'points', got 'score'"),
        ({"history": -1}, "history must be a whole number from 0 to 1024, got -1"),
        ({"max_decisions": 0}, "max_decisions must be a whole number from 1 to"),
        ({"render_mode": "text"}, "render_mode must be one of None, 'ansi', 'rgb_array', 'human', got 'text'"),
        ({"illegal": "ignore"}, "illegal must be one of 'raise', 'terminate', got 'ignore'"),
        ({"render_seat": 2}, "render_seat must be a whole number from 0 to 1, got 2"),
        ({"dealer": 2}, "dealer must be a seat from 0 to 1, got 2"),
    ],
)
def test_bad_options_are_refused_by_name(options, message):
    """Fault 4: nothing is accepted and then ignored."""
    with pytest.raises(ValueError, match=re.escape(message)):
        uno_flex_v0.env(**options)


def test_an_unknown_option_is_an_error():
    """Fault 4."""
    with pytest.raises(TypeError, match="players"):
        uno_flex_v0.env(players=4)  # type: ignore[call-arg]


def test_rules_may_be_a_dict_of_switches():
    assert uno_flex_v0.env(rules={"stacking": True}).rules == Rules(stacking=True)


# ---- Copies (fault 8) ----


def check_copies(make: Callable[[UnoFlexEnv], UnoFlexEnv]) -> None:
    """A copy made at a decision of each phase plays on like the original, which does not notice."""
    env, rng, missing = uno_flex_v0.env(3, EVERY_PHASE, match=True, history=4), random.Random(0), set(PHASES)
    for seed in count():
        env.reset(seed=seed)
        for _ in range(80):
            if env.terminations[env.agent_selection]:
                break
            phase = PHASE_NAMES[env.core.phase]
            if phase in missing and rng.random() < 0.3:
                missing.remove(phase)
                twin = make(env)
                there = transcript(twin, deal=False)
                assert len(there) > 3
                assert transcript(make(env), deal=False) == there
                assert transcript(copy.deepcopy(env), deal=False) == there
            env.step(choose(env.infos[env.agent_selection]["action_mask"], rng))
        if not missing:
            return


def by_pickle(env: UnoFlexEnv) -> UnoFlexEnv:
    copied: UnoFlexEnv = pickle.loads(pickle.dumps(env))
    return copied


@pytest.mark.parametrize("make", [copy.deepcopy, by_pickle])
def test_copies_play_on_identically(make):
    """Fault 8."""
    check_copies(make)


def shallow(env: UnoFlexEnv) -> UnoFlexEnv:
    twin = object.__new__(UnoFlexEnv)
    twin.__dict__.update(env.__dict__)
    return twin


def reshuffled(env: UnoFlexEnv) -> UnoFlexEnv:
    twin = copy.deepcopy(env)
    twin.core = env.core.hide(env.core.mover).determinize(random.randrange(1 << 60))
    return twin


@pytest.mark.parametrize("make", [shallow, reshuffled])
def test_the_check_of_copies_can_fail(make):
    """Fault 8: a copy that shares the game with its original, and one that has lost the order of the pile."""
    with pytest.raises((AssertionError, KeyError, IndexError)):
        check_copies(make)


# ---- Rendering ----


@pytest.mark.parametrize(("seat", "shown"), [("mover", {0}), (2, {2}), (None, set())])
def test_the_text_shows_the_hand_of_the_render_seat_alone(seat, shown):
    """Design: hands only of the seat that looks."""
    env = uno_flex_v0.env(3, Rules(hand_size=12), render_mode="ansi", render_seat=seat)
    env.reset(seed=4)
    text = re.sub("\x1b\\[[0-9;]*m", "", env.render())
    game = Game(3, Rules(hand_size=12), seed=4)
    for player, hand in enumerate(game.hands):
        assert (" ".join(hand[:4]) in " ".join(text.split())) == (player in shown)


def test_the_text_tells_what_was_done_last():
    """`table_of` names the seat that decided and its action."""
    env = uno_flex_v0.env(2, render_mode="ansi")
    env.reset(seed=0)
    before = env.render()
    env.step(TEXTS.index("draw"))
    assert "player_0 draws" not in before
    assert "player_0 draws" in env.render()


def test_rendering_without_a_mode_is_a_warning():
    """As Gymnasium's and PettingZoo's environments do."""
    env = uno_flex_v0.env()
    env.reset()
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert env.render() is None


# ---- Documentation ----


def test_the_action_table_of_the_documentation():
    """Rules 10."""
    rows = re.findall(r"^\| (\d+)-(\d+) +\| (.*?) +\|$", uno_flex_v0.__doc__.split("### Action Space")[1], re.MULTILINE)
    firsts = [TEXTS[int(first)] for first, _, _ in rows]
    assert firsts == ["r1", "r1/b!", "WF:r", "WA/!:r", "WT/!:r@1", "W4/!:r@1", "draw", "accept", "uno"]
    ends = [0, *(int(last) + 1 for _, last, _ in rows)]
    assert [int(first) for first, _, _ in rows] == ends[:-1]
    assert ends[-1] == NUM_ACTIONS
    for first, last, meaning in rows[-3:]:
        verbs = list(TEXTS[int(first) : int(last) + 1])
        assert re.findall("`([a-z]+)`", meaning)[: len(verbs)] == verbs


def test_the_documentation_names_every_option():
    """With the default that it has."""
    signature = re.search(r"uno_flex_v0\.env\((num_players=2.*?)\)\n", uno_flex_v0.__doc__, re.DOTALL)
    assert signature
    written = [part.strip().replace('"', "'") for part in signature[1].replace("\n", " ").split(",")]
    parameters = inspect.signature(UnoFlexEnv).parameters.values()
    assert written == [f"{parameter.name}={parameter.default!r}" for parameter in parameters]


def test_the_name_has_the_version():
    assert str(uno_flex_v0.env()) == uno_flex_v0.env().metadata["name"] == "uno_flex_v0"
