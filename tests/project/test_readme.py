"""The README does what it says: its examples run, its tables are the code's."""

from __future__ import annotations

import doctest
import re

import pytest

from tests.support.paths import ROOT
from uno_flex_env import actions, observation

README = ROOT / "README.md"


def test_the_examples_of_the_readme_run():
    failures, tried = doctest.testfile(str(README), module_relative=False, optionflags=doctest.ELLIPSIS)

    assert failures == 0
    assert tried > 15


@pytest.mark.parametrize("module", [actions, observation], ids=["actions", "observation"])
def test_the_tables_of_the_readme_are_the_codes(module):
    """`markdown_table()` of the module prints the current one."""
    name = module.__name__.split(".")[-1]
    text = README.read_text(encoding="utf-8")

    assert f"<!-- {name}.markdown_table() -->\n{module.markdown_table()}\n" in text


def test_every_file_that_the_readme_links_exists():
    links = re.findall(r"\]\(([^)#:]+)\)", README.read_text(encoding="utf-8"))

    assert len(links) >= 4
    assert [link for link in links if not (README.parent / link).exists()] == []
