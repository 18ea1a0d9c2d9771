"""The stubs of modules whose names are imported late: what a type checker reads in the place of `__getattr__`.

One idea: such a module lists each name once, with the module that defines it, and the stub beside it has the same list
as import statements.  `python tests/docs/public_api.py` writes the stubs; without them a checker would accept any name.
"""

from __future__ import annotations

import importlib
import re
import textwrap
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

from calque_core.engine import SHORT_DTYPES
from calque_pytree.late import _packages

ROOT = Path(__file__).parents[2]
LATE = re.compile(r"^__getattr__, \w+(, __all__)? = _late_", re.MULTILINE)


def late_modules() -> dict[str, Path]:
    """Return the source of each module whose names are imported late, by the path that imports it."""
    files = sorted(ROOT.glob("packages/*/src/**/*.py"))
    return {path_of(file): file for file in files if LATE.search(file.read_text(encoding="utf-8"))}


def path_of(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts[3:]  # below packages/<name>/src
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def stub(path: str) -> str:
    """Return the text of the stub of a module."""
    module = importlib.import_module(path)
    dtypes = sorted(name for name in SHORT_DTYPES if hasattr(module, name))
    values = ["__version__: str"] * ("__version__" in vars(module)) + [f"{name}: type[Any]" for name in dtypes]
    blocks = [
        ["# `python tests/docs/public_api.py` writes this file from the names in the module."],
        ["from typing import Any"] if dtypes else [],
        [line for origin, names in names_by_module(path, module).items() for line in imports(origin, names)],
        values,
        ["__all__ = [", *wrapped(f'"{name}"' for name in module.__all__), "]"],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def names_by_module(path: str, module: ModuleType) -> dict[str, list[str]]:
    """Return the late names of a module as import statements have them, by the module that defines them.

    The names that it has beside an optional package are among them.
    """
    found: dict[str, list[str]] = {}
    for origin, clause in _packages[path].origins.values():
        found.setdefault(origin, []).append(clause.strip())
    for origin, text in vars(module).get("_OPTIONAL", {}).items():
        found.setdefault(origin, []).extend(clause.strip() for clause in text.split(","))
    return found


def imports(origin: str, clauses: Iterable[str]) -> list[str]:
    """Return the lines that import names of one module; "as linalg" is the module itself.

    A stub gives a name to others where it says "as", also if the name is the same.
    """
    modules = [clause.removeprefix("as ") for clause in clauses if clause.startswith("as ")]
    names = [clause if " as " in clause else f"{clause} as {clause}" for clause in clauses if clause[:3] != "as "]
    line = f"from {origin} import {', '.join(names)}"
    lines = [line] if len(line) <= 120 else [f"from {origin} import (", *wrapped(names), ")"]
    return [f"import {origin} as _{name}\n{name} = _{name}" for name in modules] + (lines if names else [])


def wrapped(texts: Iterable[str]) -> list[str]:
    """Return texts on lines of the usual length, none of them on two lines."""
    bound = ", ".join(text.replace(" ", "\0") for text in texts) + ","
    lines = textwrap.wrap(bound, 116, break_long_words=False, break_on_hyphens=False)
    return [f"    {line}".replace("\0", " ") for line in lines]


def write_stubs() -> None:
    for path, file in late_modules().items():
        file.with_suffix(".pyi").write_text(stub(path), encoding="utf-8")
