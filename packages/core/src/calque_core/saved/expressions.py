"""Values as Python expressions: constants, literals and the parameters of equations.

One idea: an expression uses public names alone, of NumPy, of `calque_core` or of a family's module; a value that has
none is refused.  The modules of the names are collected, for the import lines.

Read next: `python_source.py`, which writes programs with these expressions.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any

import numpy as np

from calque_core.late import import_at_rest
from calque_core.meshes.mesh import AbstractMesh
from calque_core.meshes.partition_spec import PartitionSpec
from calque_core.primitives.primitive import Primitive
from calque_core.saved import named
from calque_core.saved.values import UnwritableError
from calque_core.sibling_names import NAMES
from calque_core.types.dtypes import SHORT_DTYPES, dtype_name, float0

IMPORTS = {
    "numpy": "import numpy as np",
    "calque_core": "import calque_core as core",
    "calque_core.lax": "from calque_core import lax",
}
_ALIASES = {"numpy": "np", "calque_core": "core", "calque_core.lax": "lax"}


class Expressions:
    """The expressions of one text, and the modules whose names they use."""

    def __init__(self) -> None:
        self.modules: set[str] = set()

    def name(self, module: str, name: str) -> str:
        """Return a name of a module as the text writes it."""
        self.modules.add(module)
        return f"{_ALIASES.get(module, module)}.{name}"

    def public(self, name: str, value: Any) -> str | None:
        """Return the public name of a primitive, a function or a class, or None."""
        for module in _modules_with(name):
            if getattr(import_at_rest(module), name, None) is value:
                return self.name(module, name)
        return None

    def primitive(self, primitive: Primitive) -> str:
        """Return the name of a primitive.  Raises: UnwritableError if no module has it as `name_p`."""
        name = f"{primitive.name}_p"
        public = self.public(name, primitive)
        family = primitive.family
        is_ours = family.partition(".")[0] in (*NAMES, "__main__")
        if public is None and not is_ours and getattr(sys.modules.get(family), name, None) is primitive:
            public = self.name(family, name)
        if public is None:
            raise UnwritableError(f"the primitive '{primitive.name}' without a public name {name}")
        return public

    def value(self, x: Any) -> str:
        """Return a value as an expression.  Raises: UnwritableError.

        >>> Expressions().value((1, np.float32(0.5), slice(None), {"a": -np.inf}))
        "(1, np.float32(0.5), slice(None, None, None), {'a': -np.inf})"
        """
        kind = type(x)
        if x is None or kind in (bool, int, str):
            return repr(x)
        write = _WRITERS.get(kind)
        if write is not None:
            return write(self, x)
        if isinstance(x, np.dtype):
            return self.dtype(x)
        if isinstance(x, np.generic):
            return f"{self.scalar_type(x.dtype)}({self.value(_item(x))})"
        if isinstance(x, Enum) and named.is_named(kind, named.ENUMS):
            return f"{self._class(kind)}.{x.name}"
        if named.is_named(kind, named.RECORDS):
            return f"{self._class(kind)}({self.arguments({f: getattr(x, f) for f in named.fields_of(kind)})})"
        raise UnwritableError(f"an object of class {kind.__name__}")

    def arguments(self, values: dict[str, Any]) -> str:
        """Return values as keyword arguments."""
        return ", ".join(f"{name}={self.value(value)}" for name, value in values.items())

    def _class(self, kind: type) -> str:
        name = self.public(kind.__name__, kind)
        if name is None:
            raise UnwritableError(f"an object of class {kind.__name__}")
        return name

    def scalar_type(self, dtype: np.dtype[Any]) -> str:
        """Return the class of the scalars of a dtype.  Raises: UnwritableError for float0."""
        if dtype == float0:
            raise UnwritableError("a value of dtype float0")
        name = dtype_name(dtype)
        return self.name("calque_core" if name in SHORT_DTYPES else "numpy", "bool_" if name == "bool" else name)

    def dtype(self, dtype: np.dtype[Any]) -> str:
        """Return a dtype.  Raises: UnwritableError for float0."""
        return f"{self.name('numpy', 'dtype')}({self.scalar_type(dtype)})"

    def array(self, x: np.ndarray[Any, Any]) -> str:
        """Return an array with all its elements.  Raises: UnwritableError for float0."""
        of = self.scalar_type(x.dtype)
        if not x.size:
            return f"{self.name('numpy', 'zeros')}({x.shape}, {of})"
        return f"{self.name('numpy', 'array')}({self.value(_item(x))}, {of})"

    def _float(self, x: float) -> str:
        if math.isfinite(x):
            return repr(x)
        return self.name("numpy", "nan") if math.isnan(x) else "-" * (x < 0) + self.name("numpy", "inf")


@cache
def _modules_with(name: str) -> list[str]:
    """Return the modules that list a name, `lax` first."""
    modules = [module for module, names in NAMES.items() if name in names.split()]
    return sorted(modules, key=lambda module: module != "calque_core.lax")


def _item(x: Any) -> Any:
    """Return the elements of an array or a scalar as numbers of Python, in lists."""
    if dtype_name(x.dtype) in SHORT_DTYPES:  # their numbers are not Python's
        x = x.astype(np.float64 if SHORT_DTYPES[dtype_name(x.dtype)].kind == "f" else np.int64)
    return x.tolist()


def _joined(left: str, right: str) -> Callable[[Expressions, Any], str]:
    def write(text: Expressions, x: Any) -> str:
        comma = "," * (left == "(" and len(x) == 1)
        return f"{left}{', '.join(map(text.value, x))}{comma}{right}"

    return write


def _write_dict(text: Expressions, x: dict[Any, Any]) -> str:
    return f"{{{', '.join(f'{text.value(key)}: {text.value(value)}' for key, value in x.items())}}}"


def _write_mesh(text: Expressions, x: AbstractMesh) -> str:
    return f"{text.name('calque_core', 'AbstractMesh')}({text.value(x.axis_sizes)}, {text.value(x.axis_names)})"


_WRITERS: dict[type, Callable[[Expressions, Any], str]] = {
    float: Expressions._float,
    complex: lambda text, x: f"complex({text.value(x.real)}, {text.value(x.imag)})",
    tuple: _joined("(", ")"),
    list: _joined("[", "]"),
    dict: _write_dict,
    frozenset: lambda text, x: f"frozenset({text.value(sorted(x, key=str))})",
    slice: lambda text, x: f"slice({text.value(x.start)}, {text.value(x.stop)}, {text.value(x.step)})",
    Primitive: Expressions.primitive,
    PartitionSpec: lambda text, x: (
        f"{text.name('calque_core', 'PartitionSpec')}({', '.join(map(text.value, x.entries))})"
    ),
    AbstractMesh: _write_mesh,
    np.ndarray: Expressions.array,
}
