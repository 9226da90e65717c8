"""What an episode is: checked by name, frozen, and the same after a copy."""

import copy
import pickle
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest

from uno_flex_env import Rules, _core
from uno_flex_env.options import EpisodeOptions

OTHERS = EpisodeOptions(4, Rules(stacking=True), match=True, reward="points", history=3, max_decisions=20, dealer=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_players": 9}, "num_players must be from 2 to 8, got 9"),
        ({"num_players": 8, "rules": Rules(hand_size=20)}, "hand_size"),
        ({"rules": {"stacking": True}}, "rules must be a Rules"),
        ({"match": 1}, "match must be True or False, got 1"),
        ({"reward": "money"}, "reward must be one of 'win', 'points', got 'money'"),
        ({"history": 1025}, "history must be a whole number from 0 to 1024, got 1025"),
        ({"max_decisions": 0}, "max_decisions must be a whole number from 1"),
        ({"dealer": 2}, "dealer must be a seat from 0 to 1, got 2"),
    ],
)
def test_bad_options_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        EpisodeOptions(**options)


def test_options_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        OTHERS.match = False  # type: ignore[misc]
    assert replace(OTHERS, match=False).match is False


def test_the_last_seat_deals_unless_another_is_named() -> None:
    assert [EpisodeOptions(n).first_dealer for n in (2, 8)] == [1, 7]
    assert OTHERS.first_dealer == 1


@pytest.mark.parametrize("way", [copy.deepcopy, lambda options: pickle.loads(pickle.dumps(options))])
def test_copies_are_equal_also_after_the_core_has_seen_them(way: Any) -> None:
    assert isinstance(OTHERS.core, _core.EpisodeOptions)
    assert way(OTHERS) == OTHERS


def test_bytes_of_another_episode_are_refused() -> None:
    """By their length, by their number of players, and where they are no state."""
    options = EpisodeOptions(3, history=2)
    data = _core.Episode(options.core, 5).to_bytes()
    assert _core.Episode.from_bytes(options.core, data).to_bytes() == data
    for other, given in [
        (replace(options, history=3), data),
        (EpisodeOptions(4, history=2), data),
        (options, data[1:]),
        (options, b"\xff" * len(data)),
    ]:
        with pytest.raises(ValueError, match=r"these bytes are of another episode|no valid state"):
            _core.Episode.from_bytes(other.core, given)
