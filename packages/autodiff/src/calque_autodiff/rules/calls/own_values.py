"""Derivatives of the primitives between values of own types and their arrays.

Both are linear where the tangents of a value have the tangents of its arrays: then one rule serves both directions.
Tangents of another kind, such as one dense array for quantised weights, are the business of the author's rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Zero, instantiate_zeros, is_undefined_primal, typeof
from calque_core.engine import lowered, raised, tangent_arrays
from calque_core.extend import zero_tangent
from calque_core.lax import lower_p, raise_p

Value = Any


@lower_p.def_rule("jvp")
def lower_jvp(primals: Sequence[Value], tangents: Sequence[Value]) -> tuple[list[Value], list[Value]]:
    """Return the arrays, and the arrays of the tangent as their tangents."""
    (x,), (x_dot,) = primals, tangents
    outs = lowered(x)
    if type(x_dot) is Zero:
        return outs, [*map(zero_tangent, outs)]
    dots = dict(zip(tangent_arrays(typeof(x)), lowered(x_dot)))
    return outs, [dots[name] if name in dots else zero_tangent(out) for name, out in zip(typeof(x).arrays(), outs)]


@lower_p.def_rule("transpose")
def lower_transpose(cts: Sequence[Value], x: Any) -> list[Value]:
    return [raised([*map(instantiate_zeros, cts)], x.aval)]


@raise_p.def_rule("jvp")
def raise_jvp(primals: Sequence[Value], tangents: Sequence[Value], *, aval: Any) -> tuple[Value, Value]:
    """Return the value, and a tangent made of the tangents of the arrays."""
    out = raised(primals, aval)
    if all(type(t) is Zero for t in tangents):
        return out, zero_tangent(out)
    names = tangent_arrays(aval)
    dots = [instantiate_zeros(t) for name, t in zip(aval.arrays(), tangents) if name in names]
    return out, raised(dots, aval.to_tangent_aval())


@raise_p.def_rule("transpose")
def raise_transpose(ct: Value, *arrays: Value, aval: Any) -> list[Value]:
    cts = [None] * len(arrays) if type(ct) is Zero else lowered(ct)
    return [x_bar if is_undefined_primal(x) else None for x, x_bar in zip(arrays, cts)]
