"""Fixtures that every folder of tests may use."""

import pytest


@pytest.fixture(params=range(2, 9))
def num_players(request: pytest.FixtureRequest) -> int:
    """Every number of players that the rules allow: a test that takes this runs once for each."""
    players: int = request.param
    return players
