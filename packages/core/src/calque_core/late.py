"""Late imports: a package lists names whose modules are imported when a program first uses one of them.

One idea: a program uses few of the operations, so `import calque_core` reads the modules of few.  The `__init__.py` of
a package imports all its names for type checkers, under `TYPE_CHECKING`, and gives the same names, by module, to
`late_names`, which makes the functions `__getattr__` and `__dir__` of the package.

Read next: `lax/__init__.py`, which uses it; `primitives/families.py`, for the modules of rules.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from calque_core.context import DEFAULT_SETTINGS, RESTING, active, entered


def late_names(
    package: str, names: Mapping[str, str], missing: Callable[[str], Any] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a package whose names are imported at their first use.

    `names` maps a module to its names as an import statement has them: "sin, cos as cosine".  A module that is the
    package itself has modules as names.  `missing(name)` gives all other attributes.
    Raises: AttributeError for a name that is neither in `names` nor known to `missing`.

    >>> from calque_core.extend import late_names
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
        is_module = module == package
        value = import_at_rest(f"{package}.{name_there}") if is_module else getattr(import_at_rest(module), name_there)
        if package in sys.modules:
            setattr(sys.modules[package], name, value)  # the next look-up finds it without this function
        return value

    def __dir__() -> list[str]:  # noqa: N807
        return sorted({*getattr(sys.modules.get(package), "__dict__", ()), *origins()})

    return __getattr__, __dir__


def import_at_rest(name: str) -> ModuleType:
    """Return the module `name`; at its import no trace is current, and the settings are the default.

    A trace would record the operations of the module, a setting change its constants.
    Raises: ModuleNotFoundError if it is not installed.
    """
    if not active:
        return import_module(name)
    with entered(RESTING.trace, settings=DEFAULT_SETTINGS, axis_env=(), varying_axes=frozenset()):
        return import_module(name)
