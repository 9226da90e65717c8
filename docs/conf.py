"""Settings of the documentation site: `make docs`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import uno_flex_env  # noqa: E402
from uno_flex_env import uno_flex_v0  # noqa: E402

project = "UNO Flex for reinforcement learning"
author = "the UNO Flex env authors"
copyright = "the UNO Flex env authors"
version = release = uno_flex_env.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
html_theme = "furo"
html_title = "UNO Flex"
html_static_path: list[str] = []
exclude_patterns = ["_build", "_generated/champion.md", "_generated/RULES.md"]

myst_heading_anchors = 4
# PettingZoo's form of an environment page has third-level headings, and two modules have a `Policy`.
suppress_warnings = ["myst.header", "ref.python"]
myst_enable_extensions = ["colon_fence", "deflist"]
nb_execution_mode = "off"  # the notebooks are stored with their outputs; `make notebooks` runs them
default_role = "code"  # docstrings write names in single backticks
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_use_ivar = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Pages that live beside what they describe, and those that the code writes, become pages of the site here.
GENERATED = Path(__file__).with_name("_generated")


def bring(source: Path, links: dict[str, str] | None = None) -> None:
    """Write a file of the checkout into the site; `links` says what the beginnings of its links become there."""
    text = source.read_text(encoding="utf-8")
    for before, after in (links or {}).items():
        text = text.replace(f"]({before}", f"]({after}")
    GENERATED.mkdir(exist_ok=True)
    (GENERATED / source.name).write_text(text, encoding="utf-8")


# This one is kept beside the others, for those who read them without the site.
Path(__file__).with_name("environment.md").write_text((uno_flex_v0.__doc__ or "").strip() + "\n", encoding="utf-8")
bring(ROOT / "uno_flex_env" / "RULES.md")
bring(ROOT / "agents" / "pretrained" / "champion.md", {"../../docs/": "../", "../../configs": "../../configs"})
bring(ROOT / "CONTRIBUTING.md", {"docs/": "../", "uno_flex_env/RULES.md": "../game.md"})
bring(ROOT / "CHANGELOG.md")
for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
    bring(notebook, {"../uno_flex_env/RULES.md": "../game.md", "../docs/": "../"})
