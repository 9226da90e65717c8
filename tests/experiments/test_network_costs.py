"""What networks cost."""

from typing import Any

import pytest
import torch

from agents.network import ActorCritic, NetworkConfig
from experiments import __main__ as command
from experiments.commands import networks
from experiments.training import network_costs
from uno_flex_env.actions import NUM_ACTIONS


def test_the_command_prints_every_kind(capsys):
    """Parameters, shapes and cost of each, with and without a privileged critic. Seen to fail when one kind is left
    out."""
    assert command.main(["networks", "--width", "8", "--seconds", "0.001", "--batches", "1", "3"]) == 0

    printed = capsys.readouterr().out
    sections = printed.split("\n\n")
    titles = [section.splitlines()[0] for section in sections[:-1]]
    assert titles == [kind + end for kind in ("mlp", "residual", "history") for end in ("", ", privileged")]
    assert "trunk.0          Linear           640 -> 8      5,128" in sections[0]
    table = sections[-1].splitlines()
    assert "float32, 1 at once" in table[1]
    assert "float32, 3 at once" in table[1]
    for section, line in zip(sections, table[2:], strict=False):
        total = sum(int(row.split()[-1].replace(",", "")) for row in section.splitlines()[1:])
        assert f"{total:,}" in line.split()
        assert line.count(" us") in (2, 4)


@pytest.mark.parametrize("config", networks.Config(width=24, layers=3, history=5).networks(), ids=network_costs.title)
def test_every_parameter_belongs_to_a_layer(config):
    """Seen to fail when the layers within a block are skipped."""
    network = ActorCritic(config)

    listed = sum(int(line.split()[-1].replace(",", "")) for line in network_costs.layers(network))

    assert listed == network_costs.parameters(network) == sum(w.numel() for w in network.state_dict().values())


def test_multiply_adds_are_those_of_the_products():
    """Counted by hand: inputs times outputs of each layer; for the history the questions to 5 events and the answers.

    Seen to fail when they are not halved (a multiplication and an addition are two operations).
    """

    def count(kind: Any, privileged: bool = False) -> int:
        return network_costs.multiply_adds(ActorCritic(NetworkConfig(kind, 32, 2, 5, privileged)))

    heads = 32 * NUM_ACTIONS + 32
    plain = 640 * 32 + 32 * 32 + heads
    assert count("mlp") == plain
    assert count("mlp", privileged=True) == plain + (640 + 728) * 32 + 32 * 32
    assert count("residual") == 640 * 32 + 4 * 32 * 32 + heads
    assert count("history") == plain + 2 * 32 * 64 + 2 * 5 * 64


def test_larger_networks_cost_more():
    """Microseconds of one decision. Seen to fail when the cost is that of an empty loop."""
    small, large = (
        network_costs.cost(ActorCritic(NetworkConfig(width=width)).eval(), 64, torch.float32, 0.02)
        for width in (16, 1024)
    )

    assert 0.01 < small < large / 4


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batches": ()}, "batches must be numbers of decisions, at least 1, got ()"),
        ({"batches": (0,)}, "batches must be numbers of decisions, at least 1, got (0,)"),
        ({"seconds": 0.0}, "seconds must be above 0, got 0.0"),
        ({"seconds": float("nan")}, "seconds must be above 0, got nan"),
        ({"width": 0}, "network.width must be at least 1, got 0"),
    ],
)
def test_what_cannot_be_measured_is_refused(settings, message):
    """Seen to fail without the checks."""
    with pytest.raises(ValueError) as refused:  # noqa: PT011 (the whole message is compared)
        networks.Config(**settings)
    assert str(refused.value) == message
