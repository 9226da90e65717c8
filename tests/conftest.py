"""Fixtures that every folder of tests may use, and the option `--fast`."""

import gc
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest

# More threads of torch would only wait for each other in networks as small as the tests'. Read when torch is loaded.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Where a test asks for more of them, they sleep while they wait: spinning takes the cores from the other tests.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# Imports and the collection of tests make many objects that stay. The garbage collector need not visit them.
gc.disable()

MOST_CASES = 3
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


def pytest_collection_finish() -> None:
    """Collect garbage from here on, but not among what stays."""
    gc.freeze()
    gc.enable()


def name_of(item: pytest.Item) -> str:
    """The test without its parameters."""
    return item.nodeid.partition("[")[0]


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """Undo what a test or a command in it has set for torch."""
    yield
    torch = sys.modules.get("torch")
    if torch is not None and torch.get_num_threads() != 1:
        torch.set_num_threads(1)


@pytest.fixture(params=range(2, 9))
def num_players(request: pytest.FixtureRequest) -> int:
    """Every number of players that the rules allow. A test with this fixture runs once for each."""
    players: int = request.param
    return players
