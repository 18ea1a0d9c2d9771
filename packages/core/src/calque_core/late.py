"""Late imports: a package lists names whose modules are imported when a program first uses one of them.

One idea: a program uses few of the operations, so `import calque_core` reads the modules of few.  A trace or a
block of settings, in which a program first uses a name, must not reach the module that is imported then.

Read next: `lax/__init__.py`, which uses it; `primitives/families.py`, for the modules of rules.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

import calque_pytree
from calque_core.context import DEFAULT_SETTINGS, RESTING, active, entered


def late_names(
    package: str,
    names: Mapping[str, str],
    missing: Callable[[str], Any] | None = None,
    *,
    adapt: Callable[[str, str, Any], Any] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` of a package whose names are imported at their first use.

    It is `calque_pytree.late_names` for modules that compute with arrays: no trace is current at their import.
    `names` maps a module to its names as an import statement has them: "sin, cos as cosine".  A module that is the
    package itself has modules as names.  `missing(name)` gives all other attributes, or None;
    `adapt(package, name, value)` gives the value that the package has under a name.
    Raises: AttributeError for an unknown name, with the package of calque that has it, or with the most similar name.

    >>> from calque_core.engine import late_names
    >>> get, names = late_names("my_package", {"math": "pi, tau as whole_turn"})
    >>> get("pi")
    3.141592653589793
    >>> names()
    ['pi', 'whole_turn']
    """
    elsewhere = _advised(package, missing)
    return calque_pytree.late_names(package, names, elsewhere, adapt=adapt, load=import_at_rest)


def late_chapters(
    package: str,
    chapters: Mapping[str, Mapping[str, str]],
    missing: Callable[[str], Any] | None = None,
    *,
    unlisted: Mapping[str, str] | None = None,
    adapt: Callable[[str, str, Any], Any] | None = None,
    deprecated: Mapping[str, str] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose names are imported at their first use.

    It is `calque_pytree.late_chapters` for modules that compute with arrays: no trace is current at their import.
    `chapters` maps the title of a chapter to its names by module, as `late_names` has them; `__all__` has their order.
    `unlisted` has further names by module, which `__all__` lacks.  `deprecated` maps a name that goes with the next
    minor release to its new name: its use warns.  The other arguments, and the errors about unknown
    names, are those of `late_names`.

    >>> from calque_core.extend import late_chapters
    >>> get, names, public = late_chapters("my_package", {"numbers": {"math": "pi, tau as whole_turn"}})
    >>> get("pi"), public
    (3.141592653589793, ['pi', 'whole_turn'])
    """
    elsewhere = _advised(package, missing)
    return calque_pytree.late_chapters(
        package, chapters, elsewhere, unlisted=unlisted, adapt=adapt, load=import_at_rest, deprecated=deprecated
    )


def _advised(package: str, missing: Callable[[str], Any] | None) -> Callable[[str], Any]:
    """Return `missing` with an error of its own for names that other packages of calque have."""

    def elsewhere(name: str) -> Any:
        value = None if missing is None else missing(name)
        if value is None and not name.startswith("_") and (advice := _sibling_advice(package, name)):
            raise AttributeError(f"{package} has no attribute {name!r}. {advice}", name=name)
        return value

    return elsewhere


def late_function(module: str, name: str) -> Callable[..., Any]:
    """Return a function that calls function `name` of `module`, which the first call imports while no trace is current.

    Raises: ModuleNotFoundError, when called, with the command that installs the module's package, if it is absent.

    >>> from calque_core.extend import late_function
    >>> root = late_function("math", "sqrt")
    >>> root(4.0)
    2.0
    """
    return calque_pytree.late_function(module, name, load=lambda module: _import_family(module, f"{module}.{name}"))


def family_names(package: str, names: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return two functions: one gives the value of a name that belongs to a family, None for any other name.

    The second returns the names of the installed families, without importing them.  A family is a package above
    `package`; `names` maps it to its names as an import statement has them, "sin, cos as cosine"; "as linalg" is the
    package itself.
    Raises: ModuleNotFoundError, with the command that installs it, if the family's package is not installed.

    >>> from calque_core.late import family_names
    >>> get, installed = family_names("my_package", {"math": "pi", "calque_of_the_sea": "tide"})
    >>> get("pi"), get("moon"), installed()
    (3.141592653589793, None, ['pi'])
    >>> get("tide")
    Traceback (most recent call last):
    ...
    ModuleNotFoundError: my_package.tide needs the package calque-of-the-sea. Install it: pip install calque-of-the-sea.
    """

    def value(name: str) -> Any:
        origin = _origins(names).get(name)
        if origin is None:
            return None
        module, name_there = origin
        loaded = _import_family(module, f"{package}.{name}")
        attribute = getattr(loaded, name_there) if name_there else loaded
        if package in sys.modules:
            vars(sys.modules[package]).setdefault(name, attribute)  # the next look-up does not come here
        return attribute

    def installed() -> list[str]:
        return [name for name, (module, _) in _origins(names).items() if _find_spec(module) is not None]

    return value, installed


def _origins(names: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the module of each name, and its name there; '' for the module itself."""
    clauses = [(module, each.strip()) for module, text in names.items() for each in text.split(",")]
    pairs = [(module, f" {clause}".partition(" as ")) for module, clause in clauses]
    return {(alias or name).strip(): (module, name.strip()) for module, (name, _, alias) in pairs}


def _import_family(module: str, name: str) -> ModuleType:
    try:
        return import_at_rest(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # an installed module lacks something that it imports
        text = f"{name} needs the package {_distribution_of(module)}. {_install_advice(module)}"
        raise ModuleNotFoundError(text, name=module) from None


def import_at_rest(name: str) -> ModuleType:
    """Return the module `name`; at its import no trace is current, and the settings are the default.

    A trace would record the operations of the module, a setting change its constants.
    Raises: ModuleNotFoundError if it is not installed.
    """
    module = sys.modules.get(name)
    if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
        return module  # whose import has ended, as Python's own import asks it; 10 us sooner
    if not active:
        return _import(name)
    with entered(RESTING.trace, settings=DEFAULT_SETTINGS, axis_env=(), varying_axes=frozenset()):
        return _import(name)


def _import(name: str) -> ModuleType:
    """Import a module after its package: Python locks a module before it asks for the package.

    So a thread that imports the package, which imports its modules, would wait for this thread, and this one for it.
    """
    package = name.rpartition(".")[0]
    if package:
        import_module(package)
    return import_module(name)


_find_spec = late_function("importlib.util", "find_spec")
_sibling_advice = late_function("calque_core.siblings", "sibling_advice")
_distribution_of = late_function("calque_core.distributions", "distribution_of")
_install_advice = late_function("calque_core.distributions", "install_advice")
