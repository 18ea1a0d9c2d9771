"""Names that the facade has only beside the compiler, and advice about names that are NumPy's.

`import calque` does not load this module: the first such name does.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

import calque
from calque_core.engine import install_advice


def missing_name(optional: Mapping[str, str], name: str) -> Any:
    """Return a name of the compiler's package, or a module that needs it; None for a name that `optional` lacks.

    `optional` has the names by module, as import statements have them.
    Raises: ModuleNotFoundError, with the command that installs the compiler, if it is absent; AttributeError with
    advice for a name of NumPy's.
    """
    module = next((module for module, names in optional.items() if name in names.split(", ")), None)
    if module == "calque":
        return _load(f"calque.{name}", name)
    if module is not None:
        return vars(calque).setdefault(name, getattr(_load(module, name), name))  # where the next look-up finds it
    if not name.startswith("_") and hasattr(np, name):
        raise AttributeError(f"calque has no attribute {name!r}. Use numpy.{name}, or calque.numpy.{name}.", name=name)
    return None


def _load(module: str, name: str) -> ModuleType:
    """Import the module that has `name`.  Raises: ModuleNotFoundError that names the package of the compiler."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in ("calque_xla_backend", "jaxlib"):
            raise
        raise ModuleNotFoundError(
            f"calque.{name} needs the compiler, which is a package of its own. {install_advice('calque', 'xla')}",
            name=error.name,
        ) from None
