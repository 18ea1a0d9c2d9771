"""Run the examples in the docstrings of every public name as a reader would: pasted into a fresh interpreter.

An example imports what it needs, from public modules only.
"""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
from collections.abc import Iterator
from types import ModuleType

import pytest
from public_api import MODULES as MODULES_WRITTEN_DOWN

PUBLIC = [*MODULES_WRITTEN_DOWN, "calque.numpy", "calque.random"]
MODULES = {name: importlib.import_module(name) for name in PUBLIC}
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def public_names(module: ModuleType) -> list[str]:
    return [*getattr(module, "__all__", ()), *getattr(module, "_BACKEND_NAMES", ())] or [
        name for name in vars(module) if not name.startswith("_")
    ]


def documented() -> dict[str, object]:
    """Return every object of ours under a public name, and the methods of classes, by the place where it is defined."""
    found: dict[str, object] = {}
    for module in MODULES.values():
        found[module.__name__] = module
        for name in public_names(module):
            value = getattr(module, name)
            if str(getattr(value, "__module__", "")).startswith("calque") and callable(value):
                found.setdefault(f"{value.__module__}.{value.__qualname__}" if is_named(value) else name, value)
                found.update(methods(value) if inspect.isclass(value) else {})
    return found


def is_named(value: object) -> bool:
    return inspect.isfunction(value) or inspect.isclass(value) or hasattr(value, "__wrapped__")


def methods(cls: type) -> Iterator[tuple[str, object]]:
    for name, value in vars(cls).items():
        inner = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if not name.startswith("_") and inspect.isfunction(inner):
            yield f"{cls.__module__}.{cls.__qualname__}.{name}", inner


def is_shown_above(value: object) -> bool:
    """Tell whether core defines a function that is public in a package above, which core's doctests cannot import."""
    return getattr(value, "__module__", "") == "calque_core.ops.calls.linear_call"


def is_of_jax(place: str) -> bool:
    """Tell whether an example takes the name jax for its process; the tests of its package run it."""
    return place.startswith("calque_as_jax.")


DOCUMENTED = documented()
EXAMPLES = {
    place: doctest.DocTestParser().get_doctest(value.__doc__, {}, place, None, 0)
    for place, value in sorted(DOCUMENTED.items())
    if ">>>" in (value.__doc__ or "") and not is_shown_above(value) and not is_of_jax(place)
}


@pytest.mark.parametrize("place", EXAMPLES)
def test_an_example_runs_in_a_fresh_interpreter(place: str) -> None:
    example = EXAMPLES[place]
    output: list[str] = []
    example.globs = {"__name__": "__main__"}
    doctest.DocTestRunner(optionflags=OPTIONS).run(example, out=output.append)
    assert not output, "".join(output)


@pytest.mark.parametrize("place", EXAMPLES)
def test_an_example_imports_public_names_only(place: str) -> None:
    source = "".join(example.source for example in EXAMPLES[place].examples)
    assert hidden_imports(source) == []


def hidden_imports(source: str) -> list[str]:
    """Return what a program imports of calque that is not public."""
    hidden = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            hidden += [alias.name for alias in node.names if is_ours(alias.name) and alias.name not in MODULES]
        elif isinstance(node, ast.ImportFrom) and is_ours(node.module or ""):
            names = [alias.name for alias in node.names]
            module = MODULES.get(node.module or "")
            hidden += [
                f"{node.module}.{name}"
                for name in names
                if f"{node.module}.{name}" not in MODULES and (module is None or name not in public_names(module))
            ]
    return hidden


def is_ours(module: str) -> bool:
    return module.split(".", maxsplit=1)[0].startswith("calque")


def test_imports_of_modules_that_are_not_public_are_found() -> None:
    assert hidden_imports("from calque_core.ops.shapes.shape import reshape") == [
        "calque_core.ops.shapes.shape.reshape"
    ]
    assert hidden_imports("import calque_core.primitives.primitive") == ["calque_core.primitives.primitive"]
    assert hidden_imports("from calque_core import typeof, hidden") == ["calque_core.hidden"]
    assert hidden_imports("import numpy as np\nfrom calque_core import lax, typeof\nimport calque.numpy as cnp") == []


def test_the_examples_of_every_package_are_found() -> None:
    packages = {place.split(".")[0] for place in EXAMPLES}
    assert packages == {name.split(".")[0] for name in PUBLIC} - {"calque_as_jax"}
    assert len(EXAMPLES) > 300
