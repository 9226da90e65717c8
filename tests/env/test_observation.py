"""What an observation says of the state, read back."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.support.playing import PHASES, decision
from uno_flex_env import Rules, State
from uno_flex_env.observation import NUM_FEATURES, SIZE_STEPS, decode, hand_sizes


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
