"""The modules named jax: a finder makes one on import, whose names are looked up when they are first used.

One idea: `names.py` says where the names of a module come from; a module made here has only `__getattr__` and
`__dir__`, which read that table.  So `import jax` costs as much as the modules that a program uses.

Read next: `names.py`; `values.py`, which converts the results of functions.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from calque_as_jax.names import ABSENT, ABSENT_MODULES, MODULES, NAMES
from calque_core.extend import late_function

_DIALECT = "calque_as_jax.dialect."
_MISSING = object()
_converted = late_function("calque_as_jax.values", "converted")
_distribution = late_function("calque_as_jax.distribution", "JaxDistribution")
_get_close_matches = late_function("difflib", "get_close_matches")


class MadeModule(ModuleType):
    """A module named after one of jax's, with calque's functions."""

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            return dir(self)
        path = self.__name__
        if name.startswith("__") and name not in ("__version__", "__version_info__"):
            raise AttributeError(f"module {path!r} has no attribute {name!r}", name=name)
        value = look_up(path, name)
        vars(self)[name] = value  # the next use of the name does not come here
        return value

    def __dir__(self) -> list[str]:
        return sorted(names_of(self.__name__))


class ModuleLoader:
    """Makes the modules."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return MadeModule(spec.name, f"{spec.name}, by calque.")

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: names are looked up when they are used."""


_loader: Any = ModuleLoader()  # no subclass of importlib.abc.Loader, whose import costs 40 modules


class Finder:
    """Finds the modules of jax in the table."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        """Return how to make a module of jax, None for other names.  Raises: ModuleNotFoundError for an absent one."""
        if fullname.partition(".")[0] != "jax":
            return None
        if fullname in MODULES:
            return ModuleSpec(fullname, _loader, origin="calque", is_package=True)
        # All modules are packages, and the error has no name: so `from jax.numpy import x` shows this message.
        raise ModuleNotFoundError(absence(*fullname.rpartition(".")[::2]))

    def find_distributions(self, context: Any = None) -> Any:
        """Return the distribution jax if `importlib.metadata` asks for it."""
        return iter([_distribution()] if context is not None and context.name == "jax" else [])


def is_made_here(module: ModuleType | None) -> bool:
    """Tell whether a module is one of ours that is named after jax's."""
    return isinstance(module, MadeModule)


def look_up(path: str, name: str) -> Any:
    """Return calque's value of a name of jax's module `path`.  Raises: AttributeError that says why there is none.

    >>> from calque_as_jax.finder import look_up
    >>> look_up("jax.tree_util", "tree_leaves")([1, (2, 3)])
    [1, 2, 3]
    """
    full = f"{path}.{name}"
    if full in NAMES:
        return _source(NAMES[full])
    if full in MODULES:
        return importlib.import_module(full)
    row = MODULES[path]
    if full not in ABSENT and not name.startswith("_"):
        for origin in (*row.adapters, *row.origins):
            source = _source(origin)
            is_here = origin in row.origins or name in _public(source)
            value = getattr(source, name, _MISSING) if is_here else _MISSING
            if value is not _MISSING:
                return _converted(name, value, path) if row.converts and origin in row.origins else value
    raise AttributeError(absence(path, name), name=name)


def names_of(path: str) -> set[str]:
    """Return the names that jax's module `path` has here."""
    row = MODULES[path]
    listed = {name for origin in (*row.adapters, *row.origins) for name in _public(_source(origin))}
    inside = {full.rpartition(".")[2] for full in (*NAMES, *MODULES) if full.rpartition(".")[0] == path}
    return {name for name in listed if f"{path}.{name}" not in ABSENT} | inside


def _source(origin: str) -> Any:
    """Return the module of a path, or a value of it: `module:name`."""
    path, _, name = origin.partition(":")
    module = importlib.import_module(path)
    return getattr(module, name) if name else module


def _public(module: Any) -> set[str]:
    """Return the names of a module of ours, or of a namespace, that are those of a module of jax."""
    names = vars(module)["__all__"] if module.__name__.startswith(_DIALECT) else dir(module)
    return {name for name in names if not name.startswith("_")}


def absence(path: str, name: str) -> str:
    """Return the message for a name that jax's module `path` lacks here.

    >>> from calque_as_jax.finder import absence
    >>> absence("jax.numpy", "fromfile")
    "calque has no 'jax.numpy.fromfile'. Read the file with NumPy, and convert its array with jnp.asarray."
    """
    full = f"{path}.{name}" if path else name
    whole = next((key for key in ABSENT_MODULES if full == key or full.startswith(f"{key}.")), None)
    if full in ABSENT or whole:
        return f"calque has no {full!r}. {ABSENT[full] if full in ABSENT else ABSENT_MODULES[whole or '']}"
    near = _get_close_matches(name, names_of(path), 1) if path in MODULES else []
    advice = f"Did you mean {near[0]!r}?" if near else "The page 'What is absent' lists jax's names that calque lacks."
    return f"calque has no {full!r}. {advice}"
