"""Whether a trace refers to an object: then a cache outside of the object would keep the object alive.

One idea: a program refers to objects of the user's only through the parameters of its equations, such as derivative
rules and callbacks, and through static data.  Python's garbage collector tells what these refer to.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from calque_core import Jaxpr, Primitive
from calque_core.engine import nested_jaxprs

_MAX_OBJECTS = 10_000
_LEAVES = (str, bytes, int, float, complex, np.ndarray, np.generic, np.dtype, type, ModuleType, CodeType)
_PASSED_OVER = (*_LEAVES, BuiltinFunctionType, Jaxpr, Primitive)


def refers_to(jaxpr: Jaxpr, others: Iterable[Any], target: Any) -> bool:
    """Tell whether a program, or an object of `others`, refers to `target`; also true if the search takes too long.

    >>> from calque_core import make_jaxpr
    >>> from calque_xla_backend.calls.reach import refers_to
    >>> target = {1}
    >>> refers_to(make_jaxpr(abs)(1.0), [], target), refers_to(make_jaxpr(abs)(1.0), [(target,)], target)
    (False, True)
    """
    stack = [*others, *(x for inner in nested_jaxprs(jaxpr) for eqn in inner.eqns for x in eqn.params.values())]
    met: set[int] = set()
    while stack:
        x = stack.pop()
        if x is target or len(met) > _MAX_OBJECTS:
            return True
        if id(x) not in met and not isinstance(x, _PASSED_OVER):
            met.add(id(x))
            stack += _referents(x)
    return False


def _referents(x: Any) -> list[Any]:
    """Return the objects to which `x` refers; those of a function without its module's names, which live anyway."""
    if not isinstance(x, FunctionType):
        return gc.get_referents(x)
    return [x.__closure__, x.__defaults__, x.__kwdefaults__, x.__dict__]
