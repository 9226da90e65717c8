"""Records of hundreds of kilobytes: refused in about the time that it takes to read JSON of their size."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from uno_flex_env import Game, RecordError
from uno_flex_env.replay import read_record

KEYS = ",".join(f'"k{number:06}":1' for number in range(20_000))
SAME_KEY_LAST = KEYS + ',"k019999":2'


def record_with(**fields: object) -> str:
    return json.dumps(Game(2, seed=1).to_record() | fields)


def seconds(work: Callable[[], object]) -> float:
    """Processor time of the fastest of three calls."""
    times = []
    for _ in range(3):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{{{SAME_KEY_LAST}}}", "the key 'k019999' occurs twice"),
        (f'{{"rules": {{{SAME_KEY_LAST}}}}}', "the key 'k019999' occurs twice"),
        (f"{{{KEYS}}}", "lacks 'format'"),
        (record_with(reshuffles=[[]] * 60_000), "60000 of 60000 reshuffles unused"),
        (record_with(deck=["r1"] * 50_000), "the deck is not the one the rules name"),
        (record_with(actions=["draw"] * 50_000), "draw is illegal"),
        (record_with(actions=["y" * 300_000]), "no such action"),
    ],
    ids=["key twice", "inner key twice", "keys", "reshuffles", "deck", "actions", "one action"],
)
def test_reading_takes_time_in_proportion_to_the_length(text, reason):
    """Fault 2-15: seen to fail with `names.count` for each key (seconds instead of milliseconds), and with the deck
    counted again for each reshuffle. A message is no longer than a screen, whatever the record holds."""

    def refused() -> None:
        with pytest.raises(RecordError, match=reason) as refusal:
            Game.from_record(read_record(text.encode()))
        assert len(str(refusal.value)) < 2000

    assert seconds(refused) < 10 * seconds(lambda: json.loads(text)) + 0.1
