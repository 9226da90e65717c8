"""Fixtures that every folder of tests may use, and the option `--fast`."""

import os
from collections import Counter, defaultdict

import pytest

# Torch's threads sleep while they wait, as in `experiments.__main__.prepare`: the tests share the processor.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
if "PYTEST_XDIST_WORKER" in os.environ:
    # Each worker has one core; threads of torch on top would only wait for each other. Set before torch is loaded.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

MOST_CASES = 8
"""Parameter sets of one test that `--fast` runs, at most."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`make test FAST=1` uses this option."""
    parser.addoption(
        "--fast",
        action="store_true",
        help=f"leave out tests marked slow, and all but {MOST_CASES} parameter sets of each test, evenly spaced",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Apply `--fast`."""
    if not config.getoption("--fast"):
        return
    count = Counter(map(name_of, items))
    place: dict[str, int] = defaultdict(int)
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        name = name_of(item)
        stride = -(-count[name] // MOST_CASES)
        keep = place[name] % stride == 0 and item.get_closest_marker("slow") is None
        (kept if keep else left_out).append(item)
        place[name] += 1
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def name_of(item: pytest.Item) -> str:
    """The test without its parameters."""
    return item.nodeid.partition("[")[0]


@pytest.fixture(params=range(2, 9))
def num_players(request: pytest.FixtureRequest) -> int:
    """Every number of players that the rules allow: a test that takes this runs once for each."""
    players: int = request.param
    return players
