"""Telling whether two jaxprs are the same program under other names.

One idea: variables correspond if they are bound at the same place; everything else must be equal.  A list of pairs
keeps the jaxprs among the parameters for later, so depth costs nothing and a shared pair is compared once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var
from calque_core.traces.tracer import Tracer
from calque_core.types.avals import own_types, typeof
from calque_core.types.type_queries import arrays_of
from calque_pytree import static_key

Value = Any
Pair = tuple[Jaxpr, Jaxpr]


def jaxpr_equal(a: Jaxpr, b: Jaxpr) -> bool:
    """Tell whether `a` and `b` are equal up to the names of variables.

    Equations must come in the same order, with equal primitives, parameters and types.  Literals and constants are
    equal if their dtypes, shapes and elements are: NaN equals NaN, 0.0 does not equal -0.0.

    >>> from calque_core import ShapedArray, jaxpr_equal, stage
    >>> from calque_core.lax import cos, sin
    >>> first, second, other = (stage(lambda x: [f(x)], [ShapedArray((), "float64")]) for f in (sin, sin, cos))
    >>> jaxpr_equal(first, second), jaxpr_equal(first, other)
    (True, False)
    """
    pairs = [(a, b)]
    seen: set[tuple[int, int]] = set()
    while pairs:
        first, second = pairs.pop()
        if first is second or (id(first), id(second)) in seen:
            continue
        seen.add((id(first), id(second)))
        if not _same_jaxpr(first, second, pairs):
            return False
    return True


def _same_jaxpr(a: Jaxpr, b: Jaxpr, pairs: list[Pair]) -> bool:
    """Compare two jaxprs, and add the jaxprs inside them to `pairs`."""
    renaming: dict[Var, Var] = {}
    return (
        _bind(a.constvars, b.constvars, renaming)
        and _bind(a.invars, b.invars, renaming)
        and all(map(_same_value, a.consts, b.consts))
        and len(a.eqns) == len(b.eqns)
        and all(_same_eqn(x, y, renaming, pairs) for x, y in zip(a.eqns, b.eqns))
        and _same_atoms(a.outvars, b.outvars, renaming)
    )


def _same_eqn(a: JaxprEqn, b: JaxprEqn, renaming: dict[Var, Var], pairs: list[Pair]) -> bool:
    return (
        a.primitive is b.primitive
        and _same_atoms(a.invars, b.invars, renaming)
        and a.params.keys() == b.params.keys()
        and all(_same_param(value, b.params[name], pairs) for name, value in a.params.items())
        and _bind(a.outvars, b.outvars, renaming)
    )


def _bind(a: Sequence[Var], b: Sequence[Var], renaming: dict[Var, Var]) -> bool:
    """Record that the variables `a` correspond to `b`, if their number and types agree."""
    if len(a) != len(b) or any(x.aval != y.aval for x, y in zip(a, b)):
        return False
    renaming.update(zip(a, b))
    return True


def _same_atoms(a: Sequence[Atom], b: Sequence[Atom], renaming: dict[Var, Var]) -> bool:
    return len(a) == len(b) and all(_same_atom(x, y, renaming) for x, y in zip(a, b))


def _same_atom(a: Atom, b: Atom, renaming: dict[Var, Var]) -> bool:
    if type(a) is Literal:
        return type(b) is Literal and a.aval == b.aval and _same_value(a.val, b.val)
    return renaming.get(a) is b  # type: ignore[arg-type]


def _same_param(a: Any, b: Any, pairs: list[Pair]) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is Jaxpr:
        pairs.append((a, b))
        return True
    if type(a) in (tuple, list):
        return len(a) == len(b) and all(_same_param(x, y, pairs) for x, y in zip(a, b))
    return (
        _same_value(a, b) if isinstance(a, (np.ndarray, np.generic, float, complex)) else static_key(a) == static_key(b)
    )


def _same_value(a: Value, b: Value) -> bool:
    """Compare two literals, constants or arrays bit by bit; all NaNs are equal."""
    if a is b:
        return True
    if isinstance(a, Tracer) or isinstance(b, Tracer):
        return False
    if type(a) in own_types or type(b) in own_types:
        return typeof(a) == typeof(b) and all(map(_same_value, arrays_of(a), arrays_of(b)))
    x, y = np.asarray(a), np.asarray(b)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.tobytes() == y.tobytes():
        return True
    x_nan, y_nan = np.not_equal(x, x), np.not_equal(y, y)
    return bool(np.all(x_nan == y_nan)) and x[~x_nan].tobytes() == y[~y_nan].tobytes()
