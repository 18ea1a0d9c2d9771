"""Late imports: modules that are imported when a program first needs them.

Owns `late_names`, for the names of a package, and `late_function`, for a function that few programs call. The one idea:
importing a module takes longer than most programs compute with it, so it is imported at the first use. The
`__init__.py` of a package imports all its names for type checkers, under `TYPE_CHECKING`, and gives the same names, by
module, to `late_names`, which makes the functions `__getattr__` and `__dir__` of the package.

Read next: `__init__.py` and `treedef.py`, which use them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any


def late_names(
    package: str,
    names: Mapping[str, str],
    missing: Callable[[str], Any] | None = None,
    *,
    adapt: Callable[[str, str, Any], Any] | None = None,
    load: Callable[[str], ModuleType] = import_module,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a package whose names are imported at their first use.

    `names` maps a module to its names as an import statement has them: "sin, cos as cosine". A module that is the
    package itself has modules as names. `missing(name)` gives all other attributes; `load(module)` imports a module.
    `adapt(package, name, value)` gives the value that the package has under a name.
    All threads get one value for a name, also where several use it first at once.
    Raises: AttributeError for a name that is neither in `names` nor known to `missing`.

    >>> from calque_pytree import late_names
    >>> get, names = late_names("my_package", {"math": "pi, tau as whole_turn"})
    >>> get("pi")
    3.141592653589793
    >>> names()
    ['pi', 'whole_turn']
    """

    @cache
    def origins() -> dict[str, tuple[str, str]]:
        parts = [(module, part) for module, text in names.items() for part in map(str.strip, text.split(","))]
        halves = [(module, *part.partition(" as ")) for module, part in parts]
        return {alias or name: (module, name) for module, name, _, alias in halves}

    def __getattr__(name: str) -> Any:  # noqa: N807
        origin = origins().get(name)
        if origin is None:
            if missing is not None:
                return missing(name)
            raise AttributeError(f"{package} has no attribute {name!r}. Its names are in {package}.__all__.", name=name)
        module, name_there = origin
        if module == package:
            value: Any = load(f"{package}.{name_there}")
        else:
            value = getattr(load(module), name_there)
            value = value if adapt is None else adapt(package, name, value)
        if package not in sys.modules:
            return value
        return vars(sys.modules[package]).setdefault(name, value)  # where the next look-up finds it

    def __dir__() -> list[str]:  # noqa: N807
        return sorted({*getattr(sys.modules.get(package), "__dict__", ()), *origins()})

    return __getattr__, __dir__


def late_function(module: str, name: str, *, load: Callable[[str], ModuleType] = import_module) -> Callable[..., Any]:
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

    def call(*args: Any) -> Any:
        return function()(*args)

    return call
