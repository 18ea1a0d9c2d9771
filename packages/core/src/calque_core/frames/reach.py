"""Keys of functions, made of the values that their code can reach: equal keys mean equal programs.

One idea: a program follows from the code of a function and from the values that the code reads: closed-over variables,
globals, defaults.  A key exists if all these values are numbers, strings, functions of NumPy or of this package, or
functions with a key themselves.  A value that has state or can change in place has no key: arrays, lists, objects,
generators of random numbers.  So a function that reads new values has a new key.

Read next: `ops/calls/loops.py`, which stages the functions of loops once for each key.
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
_SETTINGS = ("calque_core.config", "calque_core.report_settings", "calque_core.start_requests")
_WITH_STATE = ("numpy.random", "numpy.testing", "calque_core.testing", *_SETTINGS)
_IMMUTABLE = (bool, int, float, complex, str, bytes, NoneType, EllipsisType)
_PURE = frozenset((
    "abs", "all", "any", "bool", "complex", "dict", "divmod", "enumerate", "float", "frozenset", "int", "isinstance",
    "len", "list", "map", "max", "min", "pow", "range", "reversed", "round", "set", "slice", "sorted", "str", "sum",
    "tuple", "zip",
))  # fmt: skip
_BUILTINS = frozenset(getattr(builtins, name) for name in _PURE)
_DISPATCHER: type = type(np.sum)


class _Unknown(Exception):  # noqa: N818  control flow of this module, never seen outside
    """The code reaches a value that can change, or a value of unknown kind, or too many values."""


def reach(fun: Callable[..., Any], at_most: int | None = None) -> Hashable:
    """Return a key of a function's code and of all values it reads, or None if one of the values can change.

    It is also None if the key would have more functions and modules than `at_most`.

    >>> def make(factor):
    ...     return lambda x: x * factor
    >>> reach(make(2.0)) == reach(make(2.0)), reach(make(2.0)) == reach(make(3.0))
    (True, False)
    >>> reach(make([2.0])) is None
    True
    """
    key = _Key(at_most)
    try:
        key.add(fun, ())
    except _Unknown:
        return None
    return tuple(key.entries)


class _Key:
    """The entries of a key so far, and the functions and modules that have entries."""

    __slots__ = ("at_most", "entries", "seen")

    def __init__(self, at_most: int | None) -> None:
        self.at_most = at_most
        self.entries: list[Hashable] = []
        self.seen: dict[int, int] = {}

    def add(self, value: Any, names: tuple[str, ...]) -> None:
        """Append entries that identify `value`, which code with the names `names` reads."""
        kind = type(value)
        if kind in _IMMUTABLE:
            self.entries.append((kind, repr(value) if kind in (float, complex) else value))
        elif kind is FunctionType:
            inner = inside_boundary(value)
            self.add_function(value) if inner is value else self.add(inner, names)
        elif kind is ModuleType:
            self.add_module(value, names)
        elif kind is tuple:
            self.entries.append(len(value))
            for item in value:
                self.add(item, names)
        elif isinstance(value, np.generic) and value.dtype.kind in "biufc":
            self.entries.append((value.dtype.str, value.tobytes()))
        elif _is_pure(value):
            self.entries.append(value)
        else:
            raise _Unknown

    def is_new(self, value: FunctionType | ModuleType) -> bool:
        """Tell whether a function or module has no entries yet; if it has, append their position."""
        if id(value) in self.seen:
            self.entries.append(("seen", self.seen[id(value)]))
            return False
        if len(self.seen) == self.at_most:
            raise _Unknown
        self.seen[id(value)] = len(self.entries)
        return True

    def add_module(self, module: ModuleType, names: tuple[str, ...]) -> None:
        """Append the attributes of a module with names in `names`: the code may read them."""
        if not _is_ours(module.__name__):
            raise _Unknown
        if self.is_new(module):
            self.entries.append(module.__name__)
            attributes = vars(module)
            for name in names:
                if name in attributes:
                    self.entries.append(name)
                    self.add(attributes[name], names)

    def add_function(self, fun: FunctionType) -> None:
        """Append the code of a function, and the values that it reads."""
        if not self.is_new(fun):
            return
        code, global_values = fun.__code__, fun.__globals__
        self.entries.append((code, code.co_filename))
        if fun.__closure__ is None and _is_ours(global_values.get("__name__")):
            return
        names = _names(code)
        if names is None or fun.__dict__.keys() - {"__wrapped__"}:
            raise _Unknown
        for value in (*(fun.__defaults__ or ()), *(fun.__kwdefaults__ or {}).values()):
            self.add(value, names)
        for cell in fun.__closure__ or ():
            try:
                content = cell.cell_contents
            except ValueError:  # the cell is empty so far
                raise _Unknown from None
            self.add(content, names)
        for name in names:
            if name in global_values:
                self.entries.append(name)
                self.add(global_values[name], names)
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
    """Tell whether a module is calque's or NumPy's, with functions that have no state."""
    name = str(module)
    return name.partition(".")[0] in _PACKAGES and not name.startswith(_WITH_STATE)


@lru_cache(maxsize=4096)
def _names(code: CodeType) -> tuple[str, ...] | None:
    """Return the global and attribute names in `code` and nested codes; None if one imports or assigns a global."""
    names: set[str] = set()
    for inner in _codes(code):
        if any(i.opname in ("IMPORT_NAME", "STORE_GLOBAL", "DELETE_GLOBAL") for i in dis.get_instructions(inner)):
            return None
        names.update(inner.co_names)
    return tuple(sorted(names))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
