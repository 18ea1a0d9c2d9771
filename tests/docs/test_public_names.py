"""Check that what a package calls public is there and says what it does."""

from __future__ import annotations

import importlib
import importlib.metadata
import inspect
from types import ModuleType

import numpy as np
import pytest
from public_api import FOLDER, MODULES, PAGE, described, names_by_module, page

from calque_core import sibling_names as table
from calque_core.engine import install_command

PACKAGES = [
    "calque_pytree",
    "calque_core",
    "calque_core.extend",
    "calque_core.engine",
    "calque_core.engine.numpy_functions",
    "calque_core.lax",
    "calque_core.testing",
    "calque_autodiff",
    "calque_autodiff.checkpoint_policies",
    "calque_jet",
    "calque_batching",
    "calque_xla_backend",
    "calque_xla_backend.compilation_cache",
    "calque_linalg",
    "calque_linalg.kit",
    "calque_signal",
    "calque_sparse",
    "calque_laplacian",
    "calque_harvest",
    "calque_bounds",
    "calque_as_jax",
    "calque_special",
    "calque_special.kit",
    "calque_numpy",
    "calque_numpy.image",
    "calque_numpy.nn",
    "calque_numpy.nn.initializers",
    "calque_numpy.random",
    "calque_numpy.scipy.krylov",
    "calque_numpy.scipy.linalg",
    "calque_numpy.scipy.signal",
    "calque_numpy.scipy.special",
    "calque_numpy.scipy.stats",
    "calque_numpy.segments",
    "calque",
    "calque.flatten_util",
    "calque.ode",
    "calque.scipy.optimize",
]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_exists_once(package: str) -> None:
    module = importlib.import_module(package)
    names = list(module.__all__)
    assert [name for name in names if not hasattr(module, name)] == []
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_function_and_class_says_what_it_does(package: str) -> None:
    module = importlib.import_module(package)
    definitions = [(name, getattr(module, name)) for name in module.__all__]
    silent = [name for name, value in definitions if is_definition(value) and not has_summary(value)]
    assert silent == [], f"names of {package} without a docstring that opens with a sentence"


@pytest.mark.parametrize("module", MODULES)
def test_the_public_names_and_their_parameters_are_those_written_down(module: str) -> None:
    written = (FOLDER / f"{module}.txt").read_text(encoding="utf-8").splitlines()
    advice = "If the change is wanted, run `python tests/docs/public_api.py`, and say it in the package's CHANGELOG.md."
    assert described(module).splitlines() == written, advice


def test_every_module_that_lists_public_names_has_a_text() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(MODULES) >= set(PACKAGES)


def test_the_table_for_errors_and_the_page_of_names_are_those_written_down() -> None:
    written = {path: names.split() for path, names in table.NAMES.items()}
    assert written == names_by_module(), "Run `python tests/docs/public_api.py`."
    assert PAGE.read_text(encoding="utf-8") == page(), "Run `python tests/docs/public_api.py`."


@pytest.mark.parametrize("package", [path for path in table.NAMES if path.count(".") == 0])
def test_a_package_says_for_every_name_of_a_sibling_which_package_has_it(package: str) -> None:
    module = importlib.import_module(package)
    others = [(path, name) for path, names in names_by_module().items() if path != package for name in names]
    missing = [(path, name) for path, name in others if not hasattr(module, name)]
    assert len(missing) > 500
    if package == "calque_pytree":  # it knows of no sibling
        return
    silent = [(path, name) for path, name in missing if f"{path}.{name}" not in words_about(module, name)]
    assert [(path, name) for path, name in silent if not (package == "calque" and hasattr(np, name))] == []


def words_about(module: ModuleType, name: str) -> str:
    try:
        getattr(module, name)
    except AttributeError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("package", [package for package in PACKAGES if "." not in package])
def test_a_package_says_its_version_as_its_distribution_does(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__version__ == importlib.metadata.version(install_command(package).removeprefix("pip install "))


def is_definition(value: object) -> bool:
    """Tell whether `value` is a function or a class of ours, and no second name of something of Python's or NumPy's."""
    ours = str(getattr(value, "__module__", "")).startswith("calque")
    return ours and (inspect.isfunction(value) or inspect.isclass(value))


def has_summary(value: object) -> bool:
    return (value.__doc__ or "").strip().split("\n")[0].endswith(".")
