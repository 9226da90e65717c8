"""The table of options on the environment's page is that of the signatures."""

import inspect
import re

import pytest

from uno_flex_env import Game, Match, VecEnv, uno_flex_v0
from uno_flex_env.envs.gym_vector import UnoFlexVectorEnv
from uno_flex_env.envs.single_agent import SingleAgentEnv


def described() -> dict[str, dict[str, str]]:
    """For each interface its options, with their defaults as the page says them."""
    text = re.split(r"### Options of Each Interface\n", uno_flex_v0.__doc__ or "")[1]
    head, _, *rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    table: dict[str, dict[str, str]] = {interface: {} for interface in head[1:]}
    for option, *cells in rows:
        for interface, cell in zip(head[1:], cells, strict=True):
            if cell != "-":
                table[interface][option.strip("`")] = cell.strip("`")
    return table


def taken(interface: type) -> dict[str, str]:
    parameters = inspect.signature(interface).parameters.values()
    named = (each for each in parameters if each.kind is not inspect.Parameter.VAR_KEYWORD)
    return {each.name: default(each) for each in named}


def default(parameter: inspect.Parameter) -> str:
    if parameter.default is inspect.Parameter.empty:
        return "required"
    return repr(getattr(parameter.default, "value", parameter.default)).replace("'", '"')


@pytest.mark.parametrize(
    ("name", "interface"),
    [
        ("PettingZoo", uno_flex_v0.env),
        ("`make`", SingleAgentEnv),
        ("`make_vec`", UnoFlexVectorEnv),
        ("`VecEnv`", VecEnv),
        ("`Game`, `Match`", Game),
        ("`Game`, `Match`", Match),
    ],
)
def test_the_table_names_every_option_with_its_default(name, interface):
    """Fault 2-24. Seen to fail with an option too many in the table, one too few, and with another default."""
    assert described()[name] == taken(interface)


def test_the_table_is_that_of_stable_baselines3_too():
    """Fault 2-24. Seen to fail with another default in the table."""
    sb3 = pytest.importorskip("uno_flex_env.envs.sb3")
    assert described()["`SB3VecEnv`"] == taken(sb3.SB3VecEnv)


@pytest.mark.parametrize("kind", [Game, Match])
def test_games_take_rules_as_a_dict(kind):
    """Fault 2-24: as the environments do. Seen to fail without `checked_rules`."""
    made = kind(3, {"stacking": True}, seed=1)
    assert made.rules.stacking
    assert not kind(3, None, seed=1).rules.stacking
    with pytest.raises(ValueError, match="stackin"):
        kind(3, {"stackin": True})


def test_a_position_takes_rules_as_a_dict():
    """Fault 2-24. Seen to fail without `checked_rules`."""
    assert Game.from_position([["r1"], ["b2"]], "r3", rules={"stacking": True}).rules.stacking
