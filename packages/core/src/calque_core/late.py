"""Late imports: a package lists names whose modules are imported when a program first uses one of them.

One idea: a program uses few of the operations, so `import calque_core` reads the modules of few.  The `__init__.py` of
a package imports all its names for type checkers, under `TYPE_CHECKING`, and gives the same names, by module, to
`late_names`, which makes the functions `__getattr__` and `__dir__` of the package.

Read next: `lax/__init__.py`, which uses it; `primitives/families.py`, for the modules of rules.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

from calque_core.context import DEFAULT_SETTINGS, RESTING, active, entered

Origin = tuple[str, str | None]  # a module, and a name in it; None stands for the module itself


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

    def __getattr__(name: str) -> Any:  # noqa: N807
        texts = ((module, text) for module, text in names.items() if name in text)  # few are parsed: 0.7 ms less
        origins = (dict(_origins(package, module, text)).get(name) for module, text in texts)
        origin = next(filter(None, origins), None)
        if origin is None:
            if missing is not None:
                return missing(name)
            raise AttributeError(f"{package} has no attribute {name!r}. Its names are in {package}.__all__.", name=name)
        module, name_there = import_at_rest(origin[0]), origin[1]
        value = module if name_there is None else getattr(module, name_there)
        if package in sys.modules:
            setattr(sys.modules[package], name, value)  # the next look-up finds it without this function
        return value

    def __dir__() -> list[str]:  # noqa: N807
        late = [name for module, text in names.items() for name, _ in _origins(package, module, text)]
        return sorted({*getattr(sys.modules.get(package), "__dict__", ()), *late})

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


def _origins(package: str, module: str, names: str) -> list[tuple[str, Origin]]:
    """Return each name that an import statement defines, with its origin."""
    origins: list[tuple[str, Origin]] = []
    for part in names.split(","):
        name, _, alias = part.strip().partition(" as ")
        origin = (f"{package}.{name}", None) if module == package else (module, name)
        origins.append((alias or name, origin))
    return origins
