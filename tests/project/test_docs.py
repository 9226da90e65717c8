"""The pages do what they say: their examples run, their copies are the code's, their links lead somewhere."""

from __future__ import annotations

import doctest
import inspect
import re

import pytest

from experiments.__main__ import COMMANDS
from tests.support.paths import ROOT
from uno_flex_env import __main__, uno_flex_v0

DOCS = ROOT / "docs"
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(DOCS.glob("*.md")),
    *sorted(DOCS.glob("[a-z]*/*.md")),
]


def name(page) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", [page for page in PAGES if ">>> " in page.read_text(encoding="utf-8")], ids=name)
def test_the_examples_of_a_page_run(page):
    """Seen to fail with another number in an expected answer."""
    failures, tried = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)

    assert failures == 0
    assert tried > 0


def test_there_are_examples():
    tried = sum(page.read_text(encoding="utf-8").count(">>> ") for page in PAGES)

    assert tried >= 40


def test_the_page_of_the_environment_is_its_docstring():
    """`make docs` writes it anew."""
    assert (DOCS / "environment.md").read_text(encoding="utf-8").strip() == (uno_flex_v0.__doc__ or "").strip()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_file_that_a_page_links_exists(page):
    """Seen to fail with a page renamed."""
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    local = [link for link in links if "://" not in link]

    assert [link for link in local if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_heading_that_a_page_links_exists(page):
    """Seen to fail with a heading renamed."""
    found = []
    for link, heading in re.findall(r"\]\(([^)#\s]*\.md)#([^)]+)\)", page.read_text(encoding="utf-8")):
        headings = re.findall(r"^#+ (.+)$", (page.parent / link).read_text(encoding="utf-8"), flags=re.MULTILINE)
        if heading not in [re.sub(r"[^\w\- ]", "", text).strip().lower().replace(" ", "-") for text in headings]:
            found.append(f"{link}#{heading}")

    assert found == []


def test_the_readme_links_every_page():
    """All but the site's own first page and its API reference. Seen to fail without the row of one page."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    pages = {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md", "api.md"}
    assert [page for page in sorted(pages) if f"(docs/{page})" not in text] == []


def test_the_readme_is_short():
    """A page that a stranger reads first."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 220


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_command_of_a_page_exists(page):
    """`python -m experiments NAME`, `python -m uno_flex_env NAME` and `make NAME`. Seen to fail with a command
    renamed."""
    text = page.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = re.findall(r'_command\(commands, "([a-z]+)"', inspect.getsource(__main__))
    there = {
        r"python -m experiments\s+((?:benchmark )?[a-z_]+)": set(COMMANDS),
        r"python -m uno_flex_env ([a-z]+)": set(commands),
        r"(?:^|`)make ([a-z]+)": set(re.findall(r"^([a-z]+):", makefile, flags=re.MULTILINE)),
    }

    for pattern, names in there.items():
        assert set(re.findall(pattern, text, flags=re.MULTILINE)) <= names
