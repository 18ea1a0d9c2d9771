"""Late imports: modules that are imported when a program first needs them.

Owns `late_chapters`, for the public names of a package, `late_names`, for a table of names, and `late_function`, for a
function that few programs call. The one idea: importing a module takes longer than most programs compute with it, so it
is imported at the first use. The `__init__.py` of a package lists each name once, by chapter and module;
`late_chapters` makes of it `__getattr__`, `__dir__` and `__all__`, and type checkers read the stub beside it.

Read next: `__init__.py` and `treedef.py`, which use them.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import cache, cached_property
from importlib import import_module
from types import ModuleType
from typing import Any

Load = Callable[[str], ModuleType]
Adapt = Callable[[str, str, Any], Any]


def late_names(
    package: str,
    names: Mapping[str, str],
    missing: Callable[[str], Any] | None = None,
    *,
    adapt: Adapt | None = None,
    load: Load = import_module,
    deprecated: Mapping[str, str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a package whose names are imported at their first use.

    `names` maps a module to its names as an import statement has them: "sin, cos as cosine". A module that is the
    package itself has modules as names. `missing(name)` gives all other attributes, or None; `load(module)` imports a
    module. `adapt(package, name, value)` gives the value that the package has under a name. `deprecated` maps a name
    that goes with the next minor release to its new name: its use warns, and gives the value of the new one.
    A name has one value in all threads, also where several use it first at once. A second package with the name has
    this value, too, also if its first use is while a test has replaced the name in the first package.
    Raises: AttributeError for an unknown name, with the most similar name of the package.

    >>> from calque_pytree import late_names
    >>> get, names = late_names("my_package", {"math": "pi, tau as whole_turn"})
    >>> get("pi")
    3.141592653589793
    >>> names()
    ['pi', 'whole_turn']
    """
    late = _packages[package] = _LateNames(package, names, adapt, load)

    def __getattr__(name: str) -> Any:  # noqa: N807
        if deprecated and name in deprecated:
            return getattr(sys.modules[package], _warn_of_deprecation(package, name, deprecated[name]))
        if name in late.origins:
            value = late.value(name)
            if package in sys.modules:
                vars(sys.modules[package]).setdefault(name, value)  # where the next look-up finds it
            return value
        value = None if missing is None else missing(name)
        if value is None:
            advice = _advice(package, name, late.origins)
            raise AttributeError(f"{package} has no attribute {name!r}. {advice}", name=name)
        return value

    def __dir__() -> list[str]:  # noqa: N807
        return sorted({*getattr(sys.modules.get(package), "__dict__", ()), *late.origins})

    return __getattr__, __dir__


def late_chapters(
    package: str,
    chapters: Mapping[str, Mapping[str, str]],
    missing: Callable[[str], Any] | None = None,
    *,
    unlisted: Mapping[str, str] | None = None,
    adapt: Adapt | None = None,
    load: Load = import_module,
    deprecated: Mapping[str, str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose names are imported at their first use.

    `chapters` maps the title of a chapter to its names by module, as `late_names` has them; `__all__` has their order.
    `unlisted` has further names by module, which `__all__` lacks. The other arguments are those of `late_names`.

    >>> from calque_pytree import late_chapters
    >>> chapters = {"numbers": {"math": "pi, tau as whole_turn"}, "functions": {"math": "sqrt"}}
    >>> get, names, public = late_chapters("my_package", chapters, unlisted={"math": "floor"})
    >>> get("sqrt")(4.0)
    2.0
    >>> public
    ['pi', 'whole_turn', 'sqrt']
    >>> names()
    ['floor', 'pi', 'sqrt', 'whole_turn']
    """
    names: dict[str, str] = {}
    for by_module in (*chapters.values(), unlisted or {}):
        for module, text in by_module.items():
            names[module] = f"{names[module]}, {text}" if module in names else text
    listed = ",".join([text for by_module in chapters.values() for text in by_module.values()])
    public = [clause.rpartition(" ")[2] for clause in listed.split(",")] if listed else []
    return *late_names(package, names, missing, adapt=adapt, load=load, deprecated=deprecated), public


def _warn_of_deprecation(package: str, name: str, new: str) -> str:
    """Warn the user's line of a name that goes; return its new name."""
    text = f"{package}.{name} is deprecated and goes with the next minor release. Use {package}.{new}."
    warnings.warn(text, DeprecationWarning, stacklevel=3)
    return new


class _LateNames:
    """The names of a package, each imported at its first use, and the values of the names in use."""

    def __init__(self, package: str, names: Mapping[str, str], adapt: Adapt | None, load: Load) -> None:
        self.package, self.names, self.adapt, self.load = package, names, adapt, load
        self.values: dict[str, Any] = {}

    @cached_property
    def origins(self) -> dict[str, tuple[str, str]]:
        """The module of each name, and its clause of an import statement: "tau as whole_turn"."""
        clauses = [(module, clause) for module, text in self.names.items() for clause in text.split(",")]
        return {clause.rpartition(" ")[2]: (module, clause) for module, clause in clauses}

    def value(self, name: str) -> Any:
        """Return the value of a name, which the first use imports."""
        if name not in self.values:
            self.values.setdefault(name, self._imported(name))
        return self.values[name]

    def _imported(self, name: str) -> Any:
        module, clause = self.origins[name]
        name_there = clause.split()[0]
        if module == self.package:
            return self.load(f"{module}.{name_there}")
        source, late = self.load(module), _packages.get(module)
        if late is not None and name_there in late.origins:
            value = late.value(name_there)  # a test may have replaced the name in `source`
        else:
            value = getattr(source, name_there)
        return value if self.adapt is None else self.adapt(self.package, name, value)


_packages: dict[str, _LateNames] = {}


def late_function(module: str, name: str, *, load: Load = import_module) -> Callable[..., Any]:
    """Return a function that calls function `name` of `module`, which the first call imports by `load(module)`.

    >>> from calque_pytree import late_function
    >>> root = late_function("math", "sqrt")
    >>> root(4.0)
    2.0
    """

    @cache
    def function() -> Callable[..., Any]:
        loaded: Callable[..., Any] = getattr(load(module), name)
        return loaded

    def _call(*args: Any, **kwargs: Any) -> Any:
        return function()(*args, **kwargs)

    _call.__name__ = _call.__qualname__ = name
    return _call


_close_matches = late_function("difflib", "get_close_matches")


def _advice(package: str, name: str, names: Iterable[str]) -> str:
    """Return which name of the package somebody may mean by `name`, or where its names are."""
    names = dir(sys.modules[package]) if package in sys.modules else names
    public = [] if name.startswith("_") else [each for each in names if not each.startswith("_")]
    similar = public and _close_matches(name, public, n=1, cutoff=0.75)
    return f"Did you mean {similar[0]!r}?" if similar else f"Its names are in {package}.__all__."
