"""The stubs are up to date, and late names come from modules that the package may import."""

from __future__ import annotations

import ast
import importlib
import tomllib
from pathlib import Path

import pytest
from public_api import MODULES as PUBLIC
from stubs import ROOT, late_modules, names_by_module, stub

MODULES = late_modules()
CONTRACT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"][0]
LAYERS = [layer.split(" | ") for layer in CONTRACT["layers"]]  # the packages, the highest first


@pytest.mark.parametrize("path", MODULES)
def test_the_stub_beside_a_module_has_its_names(path: str) -> None:
    written = MODULES[path].with_suffix(".pyi").read_text(encoding="utf-8")
    assert written == stub(path), "Run `python tests/docs/public_api.py`."


@pytest.mark.parametrize("path", MODULES)
def test_the_stub_is_installed_beside_the_module(path: str) -> None:
    installed = Path(str(importlib.import_module(path).__file__)).with_suffix(".pyi")
    assert installed.read_text(encoding="utf-8") == stub(path)


@pytest.mark.parametrize("path", MODULES)
def test_a_stub_has_every_public_name_once(path: str) -> None:
    tree = ast.parse(stub(path))
    imported = [alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert set(importlib.import_module(path).__all__) <= set(imported)
    assert sorted(set(imported) - {None}) == sorted(name for name in imported if name)


@pytest.mark.parametrize("path", MODULES)
def test_late_names_come_from_the_package_itself_or_from_public_modules_below(path: str) -> None:
    """They are strings, which import-linter does not read."""
    module, package = importlib.import_module(path), path.partition(".")[0]
    below = {each for layer in LAYERS[layer_of(package) + 1 :] for each in layer} | {"numpy"}
    optional = vars(module).get("_OPTIONAL", {})
    sources = {source for source in names_by_module(path, module) if source not in optional}
    others = {source for source in sources if source.partition(".")[0] != package}
    assert {source.partition(".")[0] for source in others} <= below
    assert others <= {*PUBLIC, "numpy"}


def test_operations_come_from_the_folder_of_core_below_them() -> None:
    sources = names_by_module("calque_core.lax", importlib.import_module("calque_core.lax"))
    of_core = [source for source in sources if source.startswith("calque_core.")]
    assert {source.split(".")[1] for source in of_core} == {"lax", "ops"}


def layer_of(package: str) -> int:
    return next(place for place, layer in enumerate(LAYERS) if package in layer)
