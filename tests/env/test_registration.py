"""`gymnasium.make("UnoFlex-v0")` after `import uno_flex_env`, and what an import of ours does to Gymnasium's."""

import subprocess
import sys

import pytest

from tests.support.paths import ROOT

MAKE = "print(gymnasium.make('UnoFlex-v0').reset(seed=1)[0]['observation'].shape)"


def run(code: str) -> str:
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout.strip()


@pytest.mark.slow
@pytest.mark.parametrize(
    "imports",
    [
        "import uno_flex_env, gymnasium",
        "import gymnasium, uno_flex_env",
        "import uno_flex_env.envs.gym_vector, gymnasium",
        "import uno_flex_env; from gymnasium import spaces; import gymnasium",
        "import uno_flex_env, importlib.util; assert importlib.util.find_spec('gymnasium'); import gymnasium",
        "import gymnasium; gymnasium.make('uno_flex_env:UnoFlex-v0')",
    ],
)
def test_the_order_of_the_imports_does_not_matter(imports: str) -> None:
    """Fault 2-29. Seen to fail (NameNotFound) when only an imported Gymnasium was registered with."""
    assert run(f"{imports}; {MAKE}") == "(640,)"


@pytest.mark.slow
def test_importing_the_package_does_not_import_gymnasium_and_leaves_its_loader_alone() -> None:
    """Fault 2-29. Seen to fail with an `import gymnasium` in `uno_flex_env`, and with `exec_module` left replaced."""
    code = "import uno_flex_env, sys; print('gymnasium' in sys.modules); import gymnasium, inspect; "
    code += "print(type(gymnasium.__loader__).__name__, vars(gymnasium.__loader__).keys() & {'exec_module'})"
    answer = run(f"{code}; inspect.getsource(gymnasium); {MAKE}")

    assert answer.split("\n") == ["False", "SourceFileLoader set()", "(640,)"]


@pytest.mark.slow
def test_a_failed_registration_does_not_break_the_import_of_gymnasium() -> None:
    """Fault 2-29: others import Gymnasium too. Seen to fail without the `except`."""
    code = "import warnings; warnings.simplefilter('always'); import uno_flex_env.registration as r; "
    code += "r.register = lambda gymnasium: 1 / 0; import gymnasium; print(gymnasium.make('CartPole-v1').spec.id)"

    assert run(code) == "CartPole-v1"


@pytest.mark.slow
def test_a_missing_gymnasium_is_still_a_missing_module() -> None:
    """Fault 2-29. Seen to fail with a finder that takes the spec for granted."""
    code = "import sys; sys.path = [p for p in sys.path if p]; import uno_flex_env; "
    code += "sys.meta_path[1:] = [f for f in sys.meta_path[1:] if 'Path' not in str(f)]\n"
    code += "try:\n    import gymnasium\nexcept ModuleNotFoundError as error:\n    print(error)"

    assert run(code) == "No module named 'gymnasium'"
