"""Each file that the docstring of a module names, as in 'Read next: `known/steps.py`', exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(ROOT.glob("packages/*/src/**/*.py"))
FILES = [f"/{path.relative_to(ROOT)}" for path in (*MODULES, *sorted(ROOT.glob("**/tests/**/*.py")))]
FILE = re.compile(r"`([\w/]+\.py)`")


def files_named(source: str) -> list[str]:
    return FILE.findall(ast.get_docstring(ast.parse(source)) or "")


def missing(names: list[str]) -> list[str]:
    return [name for name in names if not any(path.endswith(f"/{name}") for path in FILES)]


@pytest.mark.parametrize("package", sorted({path.parents[-len(ROOT.parts) - 2].name for path in MODULES}))
def test_each_file_in_the_docstring_of_a_module_exists(package: str) -> None:
    modules = [path for path in MODULES if path.is_relative_to(ROOT / "packages" / package)]
    assert modules
    for path in modules:
        assert missing(files_named(path.read_text(encoding="utf-8"))) == [], path


def test_a_file_that_does_not_exist_is_found() -> None:
    assert missing(files_named('"""Read next: `ops/add.py`, `known/steps.py`."""')) == ["ops/add.py"]
