"""The public names that the reference explains, in groups, each with its page and with its other paths.

One idea: a module says what is public in chapters, or in `__all__` in groups under comments; the reference has the same
names, in the same groups.  So a new name has a page at once, and nothing here names a function.
Read next: `reference_links.py`, which finds the page that a code span means.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from types import ModuleType
from typing import Any, NamedTuple

import calque
import calque_as_jax
from calque_core import Primitive

calque_as_jax.uninstall()  # its names are read here, where jax's settings must not hold

# The modules, as a reader looks for them.  A name that several have is explained where it comes first.
MODULES = {
    "calque_autodiff": "Derivatives",
    "calque_autodiff.checkpoint_policies": "What a checkpoint keeps",
    "calque_jet": "Taylor series",
    "calque_batching": "Maps over axes",
    "calque_xla_backend": "Compiled functions, device arrays",
    "calque_xla_backend.ffi": "Kernels",
    "calque_xla_backend.compilation_cache": "Compiled programs on disk",
    "calque_xla_backend.distributed": "Several processes",
    "calque_xla_backend.multihost": "Data of several processes",
    "calque_pytree": "Containers of arrays",
    "calque_core": "Types, primitives, traces, programs",
    "calque_core.lax": "Operations",
    "calque_special": "Special functions",
    "calque_special.kit": "For authors of special functions",
    "calque_signal": "Operations on signals and images",
    "calque_sparse": "Sparse derivatives",
    "calque_laplacian": "Laplacians",
    "calque_harvest": "Intermediate values by name",
    "calque_bounds": "Verified bounds",
    "calque_as_jax": "Programs written for jax",
    "calque_core.config": "Settings",
    "calque_core.debug": "Printing and calls from inside",
    "calque_core.ref": "Mutable arrays",
    "calque_core.testing": "Checks of primitives and transformations",
    "calque_core.extend": "For authors of packages",
    "calque_core.engine": "Shared by the packages of calque",
    "calque_core.engine.numpy_functions": "For authors of fronts",
    "calque_linalg": "Operations of linear algebra",
    "calque_linalg.kit": "For authors of functions of matrices",
    "calque_numpy": "NumPy's functions",
    "calque_numpy.linalg": "Linear algebra",
    "calque_numpy.fft": "Fourier transforms",
    "calque_numpy.random": "Random numbers",
    "calque_numpy.nn": "Neural networks",
    "calque_numpy.nn.initializers": "First values of parameters",
    "calque_numpy.image": "Images of other sizes",
    "calque_numpy.segments": "Sums over segments",
    "calque_numpy.scipy.krylov": "Linear equations by iteration",
    "calque_numpy.scipy.linalg": "Linear algebra by scipy's names",
    "calque_numpy.scipy.signal": "Signals by scipy's names",
    "calque_numpy.scipy.special": "Special functions by scipy's names",
    "calque_numpy.scipy.stats": "Distributions and statistics by scipy's names",
    "calque_numpy.scipy.grids": "Values between the points of a grid",
    "calque_numpy.scipy.rotations": "Rotations of space",
    "calque_numpy.scipy.slerp": "Rotations in time",
    "calque_numpy.scipy.vq": "Vectors quantized by a code book",
    "calque.ode": "Differential equations",
    "calque.scipy.optimize": "Minima of functions",
    "calque.flatten_util": "Trees as vectors",
    "calque": "All under one name",
}


class Entry(NamedTuple):
    """A public name, and the page that explains its value."""

    name: str
    value: Any
    page: str  # of the name, or of the same value in a module before


class Group(NamedTuple):
    """Names of a module in one of its chapters, or under one comment of its `__all__`."""

    title: str
    entries: list[Entry]


def page_of(path: str, name: str) -> str:
    """Return the page of a name, in a folder of its module."""
    return f"{path}/{name}"


def has_page(value: Any) -> bool:
    """Tell whether a value has a page: functions and classes of ours; NumPy explains its own, tables show constants."""
    is_definition = callable(value) and not isinstance(value, Primitive)
    return is_definition and str(getattr(value, "__module__", "")).startswith("calque")


# What is public, in groups


def read_modules() -> dict[str, list[Group]]:
    """Return the groups of every module, by its path."""
    pages: dict[int, str] = {}  # by the id of the value: the page that explains it
    return {path: groups_of(path, pages) for path in MODULES}


def groups_of(path: str, pages: dict[int, str]) -> list[Group]:
    """Return the public names of a module in groups."""
    module = importlib.import_module(path)
    titled = [(title, [(name, getattr(module, name)) for name in names]) for title, names in titled_names(module)]
    both = [pair for _, values in titled for pair in values]
    own = [(name, x) for name, x in both if getattr(x, "__name__", None) == name]  # before second names of one value
    for name, x in [*own, *both]:
        pages.setdefault(id(x), page_of(path, name))
    return [Group(title, [Entry(name, x, pages[id(x)]) for name, x in values]) for title, values in titled]


def titled_names(module: ModuleType) -> list[tuple[str, list[str]]]:
    """Return the names by chapter, or those of `__all__` with the comment above them.

    One group has no title if there is no comment.
    """
    if hasattr(module, "_CHAPTERS"):
        return [(title, names_in(by_module)) for title, by_module in module._CHAPTERS.items()]
    if not hasattr(module, "__all__"):
        own = [name for name, x in vars(module).items() if getattr(x, "__module__", None) == module.__name__]
        return [("", [name for name in own if not name.startswith("_")])]
    source = inspect.getsource(module)
    node = next(n for n in ast.parse(source).body if isinstance(n, ast.Assign) and is_all(n))
    names = {(element.lineno, element.value) for element in node.value.elts}  # type: ignore[attr-defined]
    lines = source.splitlines()
    titles = {i: text.strip()[2:] for i, text in enumerate(lines, 1) if text.strip().startswith("# ")}
    titles = {i: text for i, text in titles.items() if node.lineno <= i <= (node.end_lineno or 0)}
    groups: dict[str, list[str]] = {}
    for line, name in sorted(names):
        above = [i for i in titles if i <= line]
        groups.setdefault(titles[above[-1]] if above else "", []).append(name)
    return list(groups.items())


def names_in(by_module: dict[str, str]) -> list[str]:
    """Return the names of a chapter: "tau as whole_turn" is whole_turn."""
    return [clause.split()[-1] for text in by_module.values() for clause in text.split(",")]


def is_all(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets)


# Second paths


def paths_by_value(modules: dict[str, list[Group]]) -> dict[int, list[str]]:
    """Return the paths of each public value by its id, those of the facade first: `calque.lax.cumsum`."""
    paths: dict[int, list[str]] = {}
    for path, module in facade_modules(calque).items():
        late = [name for name in dir(module) if not name.startswith("_")] if module is calque else []
        for name in dict.fromkeys([*module.__all__, *late]):  # the names of the backend are not in calque.__all__
            paths.setdefault(id(getattr(module, name)), []).append(f"{path}.{name}")
    entries = [(path, entry) for path, groups in modules.items() for group in groups for entry in group.entries]
    for path, entry in entries:
        paths.setdefault(id(entry.value), []).append(f"{path}.{entry.name}")
    return {value: list(dict.fromkeys(both)) for value, both in paths.items()}


def facade_modules(module: ModuleType) -> dict[str, ModuleType]:
    """Return a module of the facade and those below it, by path."""
    inner = (getattr(module, name) for name in dir(module) if not name.startswith("_"))
    below = [
        x
        for x in inner
        if isinstance(x, ModuleType) and x.__name__.startswith(f"{module.__name__}.") and hasattr(x, "__all__")
    ]
    return {module.__name__: module, **{path: m for x in below for path, m in facade_modules(x).items()}}
