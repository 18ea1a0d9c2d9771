"""Rules that follow from the declaration of a primitive as linear, bilinear or constant.

One idea: a linear operation is applied to the Jacobians of its operands and to their Laplacians.  Where an axis for the
directions is known to fit in front, it is applied to all directions at once, otherwise to one after the other.

Read next: `rules/shapes.py`, where the axis fits; `derived.py` for primitives without such a declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core import Primitive, lax, typeof
from calque_core.extend import is_float
from calque_core.lax import add, mul, zeros_like
from calque_laplacian.triple import InnerProduct, Part, Triple, Value, directions, in_each_direction, plus

Params = dict[str, Any]
Operands = Sequence[Value]
WithAxis = Callable[[int, list[Value], Params], tuple[Operands, Params]]


def results_of(primitive: Primitive, operands: Operands, params: Params) -> list[Value]:
    """Bind a primitive, and return the list of its results."""
    out = primitive.bind(*operands, **params)
    return list(out) if primitive.multiple_results else [out]


def tangent_operand(value: Value, part: Part) -> Value:
    """Return a part of an operand, zeros for a constant; an operand without derivative, a position, is unchanged."""
    if part is not None:
        return part
    return zeros_like(value) if is_float(typeof(value).dtype) else value


def linear_results(
    primitive: Primitive, operands: Sequence[Triple], params: Params, with_axis: WithAxis | None = None
) -> list[Triple]:
    """Return the results of a linear primitive.

    `with_axis(n, operands, params)` returns operands and parameters for one more axis of size n in front; the operands
    are those Jacobians [n, *s], and positions.
    """
    outs = results_of(primitive, [x.value for x in operands], params)
    laplacians = results_of(primitive, [tangent_operand(x.value, x.laplacian) for x in operands], params)
    if with_axis is None:
        jacobians = in_turn(primitive, operands, params)
    else:
        n = directions(operands)
        parts = [
            in_each_direction(zeros_like(x.value), n)
            if x.jacobian is None and is_float(typeof(x.value).dtype)
            else tangent_operand(x.value, x.jacobian)
            for x in operands
        ]
        jacobians = results_of(primitive, *with_axis(n, parts, params))
    return [Triple(*parts) for parts in zip(outs, jacobians, laplacians)]


def in_turn(primitive: Primitive, operands: Sequence[Triple], params: Params) -> list[Value]:
    """Return the Jacobians of the results, in a loop over the directions."""
    moving = [x.jacobian for x in operands if x.jacobian is not None]

    def along(rows: Sequence[Value]) -> list[Value]:
        remaining = iter(rows)
        parts = [tangent_operand(x.value, None if x.jacobian is None else next(remaining)) for x in operands]
        return results_of(primitive, parts, params)

    return list(lax.map(along, moving))


def bilinear_results(
    inner: InnerProduct, primitive: Primitive, operands: Sequence[Triple], params: Params
) -> list[Triple]:
    """Return the result of a bilinear primitive: lap(x y) = lap(x) y + x lap(y) + 2 sum_i (d_i x) (d_i y)."""
    x, y = operands

    def product(a: Value, b: Value) -> Value:
        return primitive.bind(a, b, **params)

    out = product(x.value, y.value)
    jacobian: Part = None
    laplacian: Part = None
    if x.jacobian is not None:
        jacobian = lax.map(lambda row: product(row, y.value), x.jacobian)
        laplacian = product(x.laplacian, y.value)
    if y.jacobian is not None:
        jacobian = plus(jacobian, lax.map(lambda row: product(x.value, row), y.jacobian))
        laplacian = plus(laplacian, product(x.value, y.laplacian))
    if x.jacobian is not None and y.jacobian is not None:
        pairs = [inner.weighted(x.jacobian), y.jacobian]
        mixed = lax.map(lambda rows: product(*rows), pairs)
        laplacian = add(laplacian, mul(2.0, lax.reduce_sum(mixed, 0)))
    return [Triple(out, jacobian, laplacian)]


def deflinear(primitive: Primitive, with_axis: WithAxis | None = None) -> None:
    """Give the rule of a linear primitive whose operands may have one more axis in front.

    `with_axis(n, operands, params)` returns the operands and the parameters for an axis of size n in front; by default
    they stay the same.

    >>> import numpy as np
    >>> from calque_core import Primitive, lax
    >>> from calque_laplacian import deflinear, laplacian
    >>> shifted_p = Primitive("shifted", linearity="linear")
    >>> _ = shifted_p.def_impl(lambda x: np.roll(x, 1, -1))
    >>> _ = shifted_p.def_abstract_eval(lambda x: x)
    >>> deflinear(shifted_p)
    >>> laplacian(lambda x: lax.reduce_sum(x * x * shifted_p.bind(x)))(np.array([1.0, 2.0, 4.0]))
    np.float64(14.0)
    """

    def rule(inner: InnerProduct, *operands: Triple, **params: Any) -> Any:
        outs = linear_results(primitive, operands, params, with_axis or (lambda n, parts, params: (parts, params)))
        return outs if primitive.multiple_results else outs[0]

    primitive.def_rule("laplacian", rule)
