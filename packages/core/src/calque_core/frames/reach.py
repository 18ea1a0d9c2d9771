"""What the code of a function can reach: when the same code must give the same program again.

One idea: a program follows from the code of a function and from the values that the code reads: closed-over variables,
globals, defaults.  If all of them are numbers, strings, functions of NumPy and of this package, or functions of which
the same holds, then together they are a key.  Anything that can change in place, or remember, has none: arrays, lists,
objects, generators of random numbers.  So a function that reads other values than before has another key.

Read next: `ops/loops.py`, which stages the functions of loops once for each key.
"""

from __future__ import annotations

import builtins
import dis
import math
import operator
from collections.abc import Callable, Hashable, Iterator
from functools import lru_cache
from types import BuiltinFunctionType, CodeType, EllipsisType, FunctionType, ModuleType, NoneType
from typing import Any

import numpy as np

from calque_core.frames.tracebacks import inside_boundary

_PACKAGES = ("numpy", "math", "operator", "calque", "calque_core", "calque_numpy")
_WITH_STATE = ("numpy.random", "numpy.testing", "calque_core.testing", "calque_core.config")
_IMMUTABLE = (bool, int, float, complex, str, bytes, NoneType, EllipsisType)
_PURE = frozenset((
    "abs", "all", "any", "bool", "complex", "dict", "divmod", "enumerate", "float", "frozenset", "int", "isinstance",
    "len", "list", "map", "max", "min", "pow", "range", "reversed", "round", "set", "slice", "sorted", "str", "sum",
    "tuple", "zip",
))  # fmt: skip
_BUILTINS = frozenset(getattr(builtins, name) for name in _PURE)
_DISPATCHER: type = type(np.sum)


class _Unknown(Exception):  # noqa: N818  control flow of this module, never seen outside
    """Something is reached that can change, or that is not known."""


def reach(fun: Callable[..., Any]) -> Hashable:
    """Return a key of a function's code and of all values it reads, or None if it reads what can change.

    >>> def make(factor):
    ...     return lambda x: x * factor
    >>> reach(make(2.0)) == reach(make(2.0)), reach(make(2.0)) == reach(make(3.0))
    (True, False)
    >>> reach(make([2.0])) is None
    True
    """
    key = _Key()
    try:
        key.add(fun, ())
    except _Unknown:
        return None
    return tuple(key.parts)


class _Key:
    """The parts of a key so far, and the functions and modules that they speak of."""

    __slots__ = ("parts", "seen")

    def __init__(self) -> None:
        self.parts: list[Hashable] = []
        self.seen: dict[int, int] = {}

    def add(self, value: Any, names: tuple[str, ...]) -> None:
        """Append what identifies a value, which code reads that has these names in it."""
        kind = type(value)
        if kind in _IMMUTABLE:
            self.parts.append((kind, repr(value) if kind in (float, complex) else value))
        elif kind is FunctionType:
            inner = inside_boundary(value)
            self.add_function(value) if inner is value else self.add(inner, names)
        elif kind is ModuleType:
            self.add_module(value, names)
        elif kind is tuple:
            self.parts.append(len(value))
            for item in value:
                self.add(item, names)
        elif isinstance(value, np.generic) and value.dtype.kind in "biufc":
            self.parts.append((value.dtype.str, value.tobytes()))
        elif _is_pure(value):
            self.parts.append(value)
        else:
            raise _Unknown

    def is_new(self, value: FunctionType | ModuleType) -> bool:
        """Tell whether nothing was appended for a function or module yet; if something was, append where."""
        if id(value) in self.seen:
            self.parts.append(("seen", self.seen[id(value)]))
            return False
        self.seen[id(value)] = len(self.parts)
        return True

    def add_module(self, module: ModuleType, names: tuple[str, ...]) -> None:
        """Append what a module holds under the names that the code has, which may be attributes of it."""
        if not _is_ours(module.__name__):
            raise _Unknown
        if self.is_new(module):
            self.parts.append(module.__name__)
            held = vars(module)
            for name in names:
                if name in held:
                    self.parts.append(name)
                    self.add(held[name], names)

    def add_function(self, fun: FunctionType) -> None:
        """Append the code of a function, and what that reads."""
        if not self.is_new(fun):
            return
        code, known = fun.__code__, fun.__globals__
        self.parts.append((code, code.co_filename))
        if fun.__closure__ is None and _is_ours(known.get("__name__")):
            return
        names = _names(code)
        if names is None or fun.__dict__.keys() - {"__wrapped__"}:
            raise _Unknown
        for value in (*(fun.__defaults__ or ()), *(fun.__kwdefaults__ or {}).values()):
            self.add(value, names)
        for cell in fun.__closure__ or ():
            try:
                content = cell.cell_contents
            except ValueError:  # it has none yet
                raise _Unknown from None
            self.add(content, names)
        for name in names:
            if name in known:
                self.parts.append(name)
                self.add(known[name], names)
            elif hasattr(builtins, name) and name not in _PURE:
                raise _Unknown


def _is_pure(value: Any) -> bool:
    """Tell whether a class or a function written in C gives equal results for equal arguments."""
    kind = type(value)
    if kind is np.ufunc:
        return value is getattr(np, value.__name__, None)
    if kind is BuiltinFunctionType:
        return value in _BUILTINS or value.__self__ in (math, operator)
    if isinstance(value, type):
        return value in _BUILTINS or _is_ours(value.__module__)
    return isinstance(value, np.dtype) or (kind is _DISPATCHER and _is_ours(value.__module__))


def _is_ours(module: Any) -> bool:
    """Tell whether a module is one of ours or of NumPy's whose functions remember nothing."""
    name = str(module)
    return name.partition(".")[0] in _PACKAGES and not name.startswith(_WITH_STATE)


@lru_cache(maxsize=4096)
def _names(code: CodeType) -> tuple[str, ...] | None:
    """Return the names of globals and attributes in a code and the codes inside; None if it imports or assigns one."""
    found: set[str] = set()
    for inner in _codes(code):
        if any(i.opname in ("IMPORT_NAME", "STORE_GLOBAL", "DELETE_GLOBAL") for i in dis.get_instructions(inner)):
            return None
        found.update(inner.co_names)
    return tuple(sorted(found))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
