"""The names of jax that a program uses and calque lacks, read from its source: nothing of the program runs.

One idea: imports tell which of the program's names are modules of jax; attributes of these are looked up in the table.

Read next: `finder.py`, whose look-up decides.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from calque_as_jax.finder import MadeModule


def absent_names(path: str | PathLike[str]) -> list[tuple[int, str]]:
    r"""Return the lines of a program that use names of jax which calque lacks, each with advice.

    The program does not run; a name that it computes, as `getattr` does, is not seen.
    Raises: SyntaxError if the file is no program.

    >>> import tempfile
    >>> from calque_as_jax import absent_names
    >>> with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
    ...     _ = file.write("import jax.numpy as jnp\nx = jnp.ones(3)\ny = jnp.fromfile('x.bin')")
    ...     file.flush()
    ...     absent_names(file.name)
    [(3, "calque has no 'jax.numpy.fromfile'. Read the file with NumPy, and convert its array with jnp.asarray.")]
    """
    tree = ast.parse(Path(path).read_text(encoding="utf-8"), str(path))
    names = dict(_imported(tree))
    uses = [*_from_imports(tree), *_attributes(tree, names)]
    absences = {(line, message) for line, full in uses if (message := _absence(full))}
    return sorted(absences)


def _imported(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the names under which the program imports modules and values of jax, each with its full name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == "jax":
                    yield (alias.asname, alias.name) if alias.asname else ("jax", "jax")
        elif isinstance(node, ast.ImportFrom) and _is_of_jax(node):
            yield from ((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)


def _from_imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the line and the full name of everything of jax that a program imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and _is_of_jax(node):
            yield from ((node.lineno, f"{node.module}.{a.name}") for a in node.names if a.name != "*")
        elif isinstance(node, ast.Import):
            yield from ((node.lineno, a.name) for a in node.names if a.name.partition(".")[0] == "jax")


def _is_of_jax(node: ast.ImportFrom) -> bool:
    return not node.level and (node.module or "").partition(".")[0] == "jax"


def _attributes(tree: ast.AST, names: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Yield the line and the full name of each expression such as `jnp.linalg.solve` that means a name of jax."""
    for node in ast.walk(tree):
        attributes: list[str] = []
        value = node
        while isinstance(value, ast.Attribute):
            attributes.append(value.attr)
            value = value.value
        if isinstance(node, ast.Attribute) and isinstance(value, ast.Name) and value.id in names:
            yield node.lineno, ".".join([names[value.id], *reversed(attributes)])


def _absence(full: str) -> str | None:
    """Return why calque lacks a name, None if it has it."""
    value: object = importlib.import_module("jax")
    for position, part in enumerate(full.split(".")[1:], 2):
        if not isinstance(value, MadeModule):
            return None  # an attribute of an object, which only a run can tell
        try:
            value = getattr(value, part)
        except AttributeError as error:
            try:
                value = importlib.import_module(".".join(full.split(".")[:position]))
            except ImportError:
                return str(error)
    return None
