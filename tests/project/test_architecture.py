"""The structure of the source: which packages import which, no circles, and names."""

from __future__ import annotations

import ast
import graphlib
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

LAYERS = ("uno_flex_env", "agents", "experiments", "notebooks")
"""Each imports from itself and from those before it."""


def modules(layer: str) -> list[Path]:
    return sorted((ROOT / layer).rglob("*.py"))


def sources(layer: str) -> Iterator[tuple[Path, ast.Module]]:
    """The syntax trees of a layer's modules and notebooks."""
    for path in modules(layer):
        yield path, ast.parse(path.read_text())
    for path in sorted((ROOT / layer).rglob("*.ipynb")):
        cells = json.loads(path.read_text())["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        yield path, ast.parse("\n".join(line for cell in code for line in cell.splitlines() if line[:1] not in "%!"))


def imported(tree: ast.Module) -> set[str]:
    """The top-level packages that a module imports by name; a relative import stays in its own."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.partition(".")[0])
    return names


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_point_one_way(layer: str) -> None:
    """notebooks -> experiments -> agents -> uno_flex_env."""
    above = set(LAYERS[LAYERS.index(layer) + 1 :]) | {"tests"}

    assert {path: found for path, tree in sources(layer) if (found := imported(tree) & above)} == {}


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def needs(layer: str) -> dict[str, set[str]]:
    """By module of a layer, the modules of the layer that it imports, at its top or inside functions."""
    names = set(map(module_name, modules(layer)))
    found: dict[str, set[str]] = {}
    for path in modules(layer):
        wanted: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                wanted.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                modules_within = inner & names
                wanted |= modules_within
                if inner - modules_within - {"uno_flex_env._core"}:
                    wanted.add(node.module)
        found[module_name(path)] = wanted & names - {module_name(path)}
    return found


@pytest.mark.parametrize("layer", LAYERS[:-1])
def test_no_modules_import_each_other_in_a_circle(layer: str) -> None:
    """File by file; imports inside functions count too."""
    order = graphlib.TopologicalSorter(needs(layer))

    try:
        order.prepare()
    except graphlib.CycleError as error:
        raise AssertionError(" imports ".join(reversed(error.args[1]))) from None


def test_a_circle_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the lowest module imports the highest, inside a function."""
    monkeypatch.setitem(globals(), "needs", lambda layer: {"a": {"b"}, "b": {"c"}, "c": {"a"}})

    with pytest.raises(AssertionError, match="imports"):
        test_no_modules_import_each_other_in_a_circle("agents")


def test_no_two_modules_share_a_name() -> None:
    """A module of Python and one of C++ may: they are two halves of one thing. Tests have names of their own."""
    paths = [path for layer in LAYERS[:-1] for path in modules(layer) if path.stem not in ("__init__", "__main__")]
    packages = [path.parent.name for layer in LAYERS[:-1] for path in modules(layer) if path.stem == "__init__"]
    core = [path.stem for path in (ROOT / "uno_flex_env" / "core").glob("*.hpp")]
    tests = [path.stem for path in modules("tests") if path.stem != "conftest"]
    used = Counter([*(path.stem for path in paths), *packages, *tests])

    assert [name for name, count in used.items() if count > 1] == []
    assert [name for name, count in Counter(core).items() if count > 1] == []


def test_no_two_classes_of_the_environment_share_a_name() -> None:
    """Fault 2-33: `soak.Table` and `render.Table` had one name for two meanings. Seen to fail with those names."""
    classes = Counter(
        node.name for _, tree in sources("uno_flex_env") for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
    )

    assert [name for name, count in classes.items() if count > 1] == []


def test_the_environment_never_imports_torch() -> None:
    assert [path for path, tree in sources("uno_flex_env") if "torch" in imported(tree)] == []


@pytest.mark.parametrize("layer", LAYERS[:2])
def test_only_commands_print(layer: str) -> None:
    """All of `experiments` is commands."""
    printing = {
        path
        for path, tree in sources(layer)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    }

    assert [path for path in printing if path.name != "__main__.py"] == []


@pytest.mark.parametrize("layer", LAYERS[:-1])
def test_no_module_is_named_like_a_standard_one_or_utils(layer: str) -> None:
    names = {part for path in modules(layer) for part in path.relative_to(ROOT).with_suffix("").parts}

    assert names & (sys.stdlib_module_names | {"utils"}) == set()
