"""What an observation says of the state, read back."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.support.episodes import EVERY_PHASE, NO_MATCHES
from tests.support.playing import PHASES, decision
from uno_flex_env import Game, Match, Rules, State, VecEnv
from uno_flex_env.cards import CODES, FACES
from uno_flex_env.observation import NUM_FEATURES, SIZE_STEPS, decode, hand_sizes, parts
from uno_flex_env.state import state_from_json, state_to_json


def rows(state: State) -> np.ndarray:
    """(players, 640), the observation of each seat."""
    observations = np.zeros((state.num_players, NUM_FEATURES), np.uint8)
    for seat, row in enumerate(observations):
        state.encode(seat, row)
    return observations


@pytest.mark.parametrize("players", [2, 5, 8])
def test_hand_sizes_are_the_largest_steps_reached(players):
    """By seats clockwise of the observer; a seat that is not in the game has none."""
    rng = random.Random(players)
    state = State.deal(Rules().core, players, 0, 3)
    for _ in range(60):
        if state.is_over:
            break
        state.apply(rng.choice(state.legal_actions()))

    sizes = hand_sizes(rows(state))

    reached = [max((step for step in SIZE_STEPS if step <= size), default=0) for size in state.sizes]
    assert sizes.shape == (players, 8)
    for seat in range(players):
        assert sizes[seat].tolist() == reached[seat:] + reached[:seat] + [0] * (8 - players)


@pytest.mark.parametrize("phase", PHASES)
def test_a_decoded_observation_tells_the_state(phase):
    """In every phase, from every seat."""
    game = decision(phase, 4, 2)
    state = game.state
    for seat, row in enumerate(rows(state)):
        told = decode(row)

        assert (told["phase"], told["num_players"]) == (game.phase, 4)
        assert told["hand"] == game.hands[seat]
        assert told["hand_sizes"] == hand_sizes(row)[:4].tolist()


def test_a_row_of_something_else_is_refused():
    """By its shape or its values."""
    for row in (np.zeros(3, np.uint8), np.full(NUM_FEATURES, 2, np.uint8)):
        with pytest.raises(ValueError, match="640 zeros and ones"):
            decode(row)


@pytest.mark.parametrize("num_players", [2, 4])
def test_what_the_table_says_about_rare_features(num_players):
    """Fault 2-35. Seen to fail with a core that shows `owed` only in phase stack, no `actor` in a challenge, flex faces
    only with a green Power, at most one known wild of a kind, all colors for a drawn wild, Powers of unused seats, and
    a phase after the end."""
    rng, seen = random.Random(num_players), set[str]()
    wanted = {"owed in uno", "owed in stack", "challenge", "catch", "red flex faces", "drawn wild"}
    for seed in range(150):
        if seed >= 10 and seen >= wanted:
            break
        game, last = Game(num_players, EVERY_PHASE, seed=seed), None
        while not game.is_over:
            for viewer in range(num_players):
                seen |= check_rare_features(game, viewer, last)
            last = game.current_player
            game.play(rng.choice(game.legal_actions))
        end = game.observe(0)["observation"]
        for name in ("phase", "actor", "owed", "prior_color", "drawn_color", "drawn_kind"):
            assert not parts(end)[name].any()
    assert seen >= wanted


def check_rare_features(game: Game, viewer: int, last: int | None) -> set[str]:
    """Which of the rare things there were to see."""
    part, phase, seen, state = parts(game.observe(viewer)["observation"]), game.phase, set[str](), game.state
    assert part["owed"].sum() == min(state.owed // 2, 8)
    if state.owed:
        assert phase in ("stack", "uno", "catch")
        seen.add(f"owed in {phase}")
    if phase in ("challenge", "uno", "catch"):
        actor = (viewer + int(part["actor"].argmax())) % game.num_players
        assert actor == {"challenge": last, "uno": game.current_player}.get(phase, actor)
        assert phase == "challenge" or len(game.hands[actor]) == 1
        seen.add(phase)
    else:
        assert not part["actor"].any()
    hand = [FACES[CODES.index(card)] for card in game.hands[viewer]]
    flexes = {(face.flex_color, face.symbol) for face in hand if face.has_flex and face.color is not None}
    assert part["flex_faces"].sum() == len(flexes)
    if flexes and game.power[viewer] == "-":
        seen.add("red flex faces")
    others = [seat for seat in range(game.num_players) if seat != viewer]
    known = [card for seat in others for card in game.known(viewer, seat)]
    assert part["known"][88:].sum() == sum(card.startswith("W") for card in known)
    if phase == "drawn" and viewer == game.current_player and (game.drawn or "").startswith("W"):
        assert not part["drawn_color"].any()
        seen.add("drawn wild")
    for name in ("hand_sizes", "power", "scores"):
        assert not part[name][game.num_players :].any()
    return seen


def test_scores_are_sixths_of_the_target():
    """Fault 2-35. Seen to fail with fifths."""
    about = state_to_json(Match(3, {"target_score": 60}).game.state)
    for score in range(60):
        about["score"] = [0, score, *[0] * 6]
        shown = parts(rows(state_from_json(about))[0])["scores"]
        assert shown[1].tolist() == [1] * (score // 10) + [0] * (5 - score // 10)
        assert not shown[[0, 2]].any()


def test_draws_that_yield_nothing_are_counted():
    """Fault 2-35. Seen to fail with the last step alone."""
    game, counts = Game(3, NO_MATCHES, seed=1), set[int]()
    while not game.is_over:
        count = state_to_json(game.state)["empty_draws"]
        assert parts(rows(game.state)[0])["empty_draws"].tolist() == [1] * count + [0] * (7 - count)
        counts.add(count)
        game.play("draw")
    assert counts == {0, 1, 2}


def test_the_history_restarts_each_round():
    """Fault 2-35: also within a match. Seen to fail without `clear_events` in the core's `go_on`."""
    env = VecEnv(1, 2, {"hand_size": 2}, match=True, history=4, seed=1)
    env.reset()
    rounds = 0
    for _ in range(200):
        env.step(env.sample())
        if env.batch.state(0).rounds != rounds:
            rounds = env.batch.state(0).rounds
            assert (env.histories == -1).all()
    assert rounds >= 2
