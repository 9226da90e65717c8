"""Fixtures that every folder of tests may use."""

import os

import pytest

# Torch's threads sleep while they wait, as in `experiments.__main__.prepare`: the tests share the processor.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


@pytest.fixture(params=range(2, 9))
def num_players(request: pytest.FixtureRequest) -> int:
    """Every number of players that the rules allow: a test that takes this runs once for each."""
    players: int = request.param
    return players
