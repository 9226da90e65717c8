"""What is shipped, what it needs, and what an import loads."""

import importlib.metadata
import re
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import uno_flex_env
from tests.support.paths import ROOT

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_import_loads_neither_torch_nor_what_only_some_faces_need() -> None:
    code = "import sys, uno_flex_env; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=ROOT).stdout

    assert {"torch", "pygame", "stable_baselines3"} & set(loaded.split()) == set()


def test_import_and_first_reset_take_less_than_half_a_second() -> None:
    """Of a fresh process's own time, since the machine has other work too; the best of three."""
    code = "from uno_flex_env import uno_flex_v0; uno_flex_v0.env().reset(seed=1)"
    command = [sys.executable, "-c", f"{code}; import time; print(time.process_time())"]
    times = [subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout for _ in range(3)]

    assert min(map(float, times)) < 0.5


def test_the_changelog_begins_with_this_version() -> None:
    heading = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert heading is not None
    assert heading[1] == uno_flex_env.__version__ == importlib.metadata.version("uno-flex-env")


def pins() -> dict[str, str]:
    lines = (line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}


def declared() -> list[Requirement]:
    project = PYPROJECT["project"]
    lists = [PYPROJECT["build-system"]["requires"], project["dependencies"], *project["optional-dependencies"].values()]
    requirements = [Requirement(text) for texts in lists for text in texts]
    return [requirement for requirement in requirements if requirement.name != project["name"]]


@pytest.mark.parametrize("requirement", declared(), ids=str)
def test_the_pinned_version_is_one_that_is_declared(requirement: Requirement) -> None:
    assert requirement.specifier.contains(pins()[canonicalize_name(requirement.name)])


def test_everything_that_an_install_brings_is_pinned() -> None:
    """Else a new release somewhere below could change what the tests see."""
    seen: set[str] = set()
    todo = [requirement for requirement in declared() if requirement.name != "rlcard"]
    while todo:
        requirement = todo.pop()
        if canonicalize_name(requirement.name) not in seen:
            seen.add(canonicalize_name(requirement.name))
            below = [Requirement(text) for text in importlib.metadata.requires(requirement.name) or []]
            todo += [each for each in below if each.marker is None or each.marker.evaluate({"extra": ""})]

    assert seen - pins().keys() == set()


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist and the wheel built from it."""
    out = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "build", "--no-isolation", "--outdir", out, ROOT], check=True)
    return out


@pytest.mark.slow
def test_the_wheel_holds_the_environment_alone(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    info = f"uno_flex_env-{uno_flex_env.__version__}.dist-info"
    ours = {path.relative_to(ROOT).as_posix() for path in (ROOT / "uno_flex_env").rglob("*.py")}
    ours |= {"uno_flex_env/RULES.md", "uno_flex_env/py.typed", "uno_flex_env/_core.pyi"}

    assert {name.partition("/")[0] for name in names} == {"uno_flex_env", info}
    assert f"{info}/licenses/LICENSE" in names
    (library,) = {name for name in names if name.startswith("uno_flex_env/")} - ours
    assert library.startswith("uno_flex_env/_core.")
    assert ours <= names


@pytest.mark.slow
def test_the_sdist_holds_the_sources(dist: Path) -> None:
    (sdist,) = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    core = {path.relative_to(ROOT).as_posix() for path in (ROOT / "uno_flex_env/core").iterdir()}

    assert core | {"pyproject.toml", "LICENSE", "README.md", "uno_flex_env/RULES.md"} <= names
    assert [name for name in names if name.startswith((".venv", "build/", "uno_flex_env/_core"))] == []


@pytest.mark.slow
def test_the_wheel_works_without_the_checkout(dist: Path, tmp_path: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    # -S: without the hook of the editable install.
    code = f"import sys; sys.path += {[str(tmp_path), sysconfig.get_path('purelib')]}; import uno_flex_env as u; "
    code += "game = u.Game(seed=1); game.play(game.legal_actions[0]); print(u.__file__)"
    command = [sys.executable, "-S", "-c", code]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, cwd=tmp_path).stdout

    assert Path(answer.strip()).is_relative_to(tmp_path)
