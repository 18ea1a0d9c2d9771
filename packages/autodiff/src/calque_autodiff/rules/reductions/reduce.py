"""The derivatives of reductions: a sum repeats its cotangent, a maximum shares it among the greatest elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from calque_autodiff.known.lines import Lines, Maker
from calque_core import Jaxpr, JaxprEqn, Literal, ShapedArray, engine, typeof
from calque_core.engine import broadcast_reduced
from calque_core.extend import Shape, defjvp, deflinear, not_linear, zero_derivative, zero_tangent
from calque_core.lax import (
    argmax_p,
    argmin_p,
    div,
    div_p,
    mul,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_sum,
    reduce_sum_p,
    reduce_xor_p,
    reshape,
)

Value = Any


def extreme_jvp(x_dot: Value, out: Value, x: Value, *, axes: Shape, keepdims: bool = False) -> Value:
    """Average the tangents of the elements that equal the result; an extreme of nothing is constant."""
    if not typeof(x).size:
        return zero_tangent(out)
    is_extreme, count = engine.extremes(x, out, axes)  # a late import: most reductions are sums
    return div(reduce_sum(mul(x_dot, is_extreme), axes, keepdims=keepdims), count)


def reduce_prod_jvp(x_dot: Value, out: Value, x: Value, *, axes: Shape, **_: bool) -> Value:
    """Multiply each tangent by the product of the other elements."""
    shape = typeof(x).shape
    order = [*(d for d in range(len(shape)) if d not in axes), *axes]
    kept = [shape[d] for d in order[: len(shape) - len(axes)]]
    factors = reshape(x, (*kept, prod(shape[d] for d in axes)), order)
    # a late import: few programs multiply, and it brings loops
    others = engine.leave_one_out_products(factors, reshape(out, kept))
    changes = mul(reshape(x_dot, typeof(factors).shape, order), others)
    return reshape(reduce_sum(changes, len(kept)), typeof(out).shape)


deflinear(reduce_sum_p, lambda ct, x, *, axes, **_: [broadcast_reduced(ct, x.aval.shape, axes)])
defjvp(reduce_prod_p, reduce_prod_jvp)
defjvp(reduce_max_p, extreme_jvp)
defjvp(reduce_min_p, extreme_jvp)
not_linear(reduce_prod_p, reduce_max_p, reduce_min_p)
zero_derivative(reduce_and_p, reduce_or_p, reduce_xor_p, reason="the operands are bools or integers")

# Positions of extreme elements

zero_derivative(argmax_p, argmin_p, reason="the result is an integer")

# Sums in every size


def sum_in_every_size(program: Jaxpr, others: Sequence[Value]) -> Maker | None:
    """Return the lines of a sum over some axes, or of a mean, which divides the sum by the number of elements."""
    aval, eqns = program.in_avals[0], program.eqns
    if len(program.invars) > 1 or not eqns or not _adds(eqns[0], aval):
        return None
    params = eqns[0].params
    if len(eqns) == 1:
        return partial(_lines_of_sum, params)
    count: Any = eqns[1].invars[-1]
    is_mean = len(eqns) == 2 and eqns[1].primitive is div_p and type(count) is Literal
    return partial(_lines_of_mean, params, count) if is_mean and count.val == _count(aval, params["axes"]) else None


def _lines_of_sum(params: dict[str, Any], aval: ShapedArray) -> Lines:
    (out_aval,) = reduce_sum_p.abstract(aval, **params)
    return Lines(out_aval, reduce_sum_p.impl_for_types([aval], params), _spreading(aval, params["axes"], out_aval))


def _lines_of_mean(params: dict[str, Any], count: Literal, aval: ShapedArray) -> Lines | None:
    if not aval.size:
        return None
    total, size = _lines_of_sum(params, aval), type(count.val)(_count(aval, params["axes"]))
    divide = div_p.impl_for_types([total.out_aval, count.aval], {})
    return Lines(total.out_aval, lambda x: divide(total.run(x), size), lambda ct: total.pull(divide(ct, size)))


def _adds(eqn: JaxprEqn, aval: ShapedArray) -> bool:
    """Tell whether an equation is a sum over some axes of an array of the type `aval`, in its dtype."""
    is_sum = eqn.primitive is reduce_sum_p and eqn.invars[0].aval is aval
    return is_sum and bool(eqn.params["axes"]) and eqn.outvars[0].aval.dtype is aval.dtype


def _count(aval: ShapedArray, axes: Sequence[int]) -> int:
    return prod([aval.shape[axis] for axis in axes])


def _spreading(aval: ShapedArray, axes: Sequence[int], out_aval: ShapedArray) -> Callable[[Value], Value]:
    """Return the function that repeats a cotangent along the axes of a sum."""
    shape, dtype = aval.shape, aval.dtype
    kept = tuple([1 if axis in axes else size for axis, size in enumerate(shape)])

    def fill(ct: Value) -> Value:
        out = np.empty(shape, dtype)
        out.fill(ct)
        return out

    def spread(ct: Value) -> Value:
        out = np.empty(shape, dtype)
        out[...] = ct.reshape(kept)
        return out

    return spread if out_aval.shape else fill


reduce_sum_p.def_rule("every_size", sum_in_every_size)
