"""Functions of the elements of several operands: arithmetic, powers, choices, conversions.

One idea: the derivatives of an operand of rank 0 are spread over the result first; then each formula is one of numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core import lax, typeof
from calque_core.extend import is_float
from calque_core.lax import add, convert_element_type, div, eq, gt, lt, mul, neg, select, square, sub
from calque_laplacian.triple import (
    InnerProduct,
    Part,
    Shape,
    Triple,
    Value,
    directions,
    in_each_direction,
    plus,
    spread,
)


def weighted_sum(out: Value, *terms: tuple[Value, Triple]) -> Triple:
    """Return the triple of `out`, a sum of operands times constant factors; a factor None is 1."""
    jacobian: Part = None
    laplacian: Part = None
    for factor, operand in terms:
        x = spread(operand, typeof(out).shape)
        if x.jacobian is not None:
            jacobian = plus(jacobian, x.jacobian if factor is None else mul(factor, x.jacobian))
            laplacian = plus(laplacian, x.laplacian if factor is None else mul(factor, x.laplacian))
    return Triple(out, jacobian, laplacian)


# Sums, products, quotients


def add_rule(inner: InnerProduct, x: Triple, y: Triple) -> Triple:
    return weighted_sum(add(x.value, y.value), (None, x), (None, y))


def sub_rule(inner: InnerProduct, x: Triple, y: Triple) -> Triple:
    out = sub(x.value, y.value)
    if x.jacobian is None:
        return weighted_sum(out, (-1.0, y))
    if y.jacobian is None:
        return weighted_sum(out, (None, x))
    x, y = spread(x, typeof(out).shape), spread(y, typeof(out).shape)
    return Triple(out, sub(x.jacobian, y.jacobian), sub(x.laplacian, y.laplacian))


def mul_rule(inner: InnerProduct, x: Triple, y: Triple) -> Triple:
    """lap(x y) = lap(x) y + x lap(y) + 2 <grad x, grad y>."""
    out = mul(x.value, y.value)
    if x is y:
        laplacian = add(mul(x.value, x.laplacian), inner(x.jacobian, x.jacobian))
        return Triple(out, mul(mul(2.0, x.value), x.jacobian), mul(2.0, laplacian))
    x, y = spread(x, typeof(out).shape), spread(y, typeof(out).shape)
    product = weighted_sum(out, (y.value, x), (x.value, y))
    if x.jacobian is None or y.jacobian is None:
        return product
    return product._replace(laplacian=add(product.laplacian, mul(2.0, inner(x.jacobian, y.jacobian))))


def div_rule(inner: InnerProduct, x: Triple, y: Triple) -> Triple:
    """As x = out y, lap(out) = (lap(x) - out lap(y) - 2 <grad out, grad y>) / y."""
    out = div(x.value, y.value)
    if y.jacobian is None:
        x = spread(x, typeof(out).shape)
        return Triple(out, div(x.jacobian, y.value), div(x.laplacian, y.value))
    x, y = spread(x, typeof(out).shape), spread(y, typeof(out).shape)
    jacobian = div(plus(x.jacobian, neg(mul(out, y.jacobian))), y.value)
    change = add(mul(out, y.laplacian), mul(2.0, inner(jacobian, y.jacobian)))
    return Triple(out, jacobian, div(plus(x.laplacian, neg(change)), y.value))


def rem_rule(inner: InnerProduct, x: Triple, y: Triple) -> Triple:
    """Differentiate x - n y, with a whole number n that is constant."""
    out = lax.rem_p.bind(x.value, y.value)
    return weighted_sum(out, (None, x), (neg(lax.round(div(sub(x.value, out), y.value))), y))


lax.add_p.def_rule("laplacian", add_rule)
lax.add_any_p.def_rule("laplacian", add_rule)
lax.sub_p.def_rule("laplacian", sub_rule)
lax.mul_p.def_rule("laplacian", mul_rule)
lax.div_p.def_rule("laplacian", div_rule)
lax.rem_p.def_rule("laplacian", rem_rule)

# Functions of two numbers, by their partial derivatives

Partials = Callable[[Value, Value, Value], tuple[Value, Value, Value, Value, Value]]


def by_partials(inner: InnerProduct, out: Value, x: Triple, y: Triple, partials: Partials) -> Triple:
    """Return the triple of f(x, y): `partials(x, y, out)` returns f_x, f_y, f_xx, f_xy, f_yy."""
    fx, fy, fxx, fxy, fyy = partials(x.value, y.value, out)
    x, y = spread(x, typeof(out).shape), spread(y, typeof(out).shape)
    linear = weighted_sum(out, (fx, x), (fy, y))
    laplacian = linear.laplacian
    for factor, a, b in [(fxx, x, x), (mul(2.0, fxy), x, y), (fyy, y, y)]:
        if a.jacobian is not None and b.jacobian is not None:
            laplacian = add(laplacian, mul(factor, inner(a.jacobian, b.jacobian)))
    return linear._replace(laplacian=laplacian)


def atan2_partials(x: Value, y: Value, out: Value) -> tuple[Value, Value, Value, Value, Value]:
    """With p = x / r**2 and q = y / r**2, the derivatives are q, -p, -2 p q, p**2 - q**2 and 2 p q."""
    size = add(square(x), square(y))
    p, q = div(x, size), div(y, size)
    twist = mul(2.0, mul(p, q))
    return q, neg(p), neg(twist), sub(square(p), square(q)), twist


def base_derivatives(x: Value, n: Value) -> tuple[Value, Value]:
    """Return n x**(n - 1) and n (n - 1) x**(n - 2), each 0 where its factor is."""
    slope, curve = n, mul(n, sub(n, 1.0))
    first = mul(slope, lax.pow(x, select(eq(slope, 0.0), 0.0, sub(n, 1.0))))
    return first, mul(curve, lax.pow(x, select(eq(curve, 0.0), 0.0, sub(n, 2.0))))


def pow_partials(x: Value, y: Value, out: Value) -> tuple[Value, Value, Value, Value, Value]:
    """Differentiate x**y in both operands; where x = 0, it does not depend on y."""
    logarithm = lax.log(select(eq(x, 0.0), 1.0, x))
    fx, fxx = base_derivatives(x, y)
    fy = mul(logarithm, out)
    return fx, fy, fxx, add(lax.pow(x, sub(y, 1.0)), mul(logarithm, fx)), mul(logarithm, fy)


def pow_rule(inner: InnerProduct, x: Triple, y: Triple) -> Triple:
    out = lax.pow(x.value, y.value)
    if y.jacobian is not None:
        return by_partials(inner, out, x, y, pow_partials)
    x = spread(x, typeof(out).shape)
    first, second = base_derivatives(x.value, y.value)
    linear = weighted_sum(out, (first, x))
    return linear._replace(laplacian=add(linear.laplacian, mul(second, inner(x.jacobian, x.jacobian))))


lax.atan2_p.def_rule(
    "laplacian", lambda inner, x, y: by_partials(inner, lax.atan2(x.value, y.value), x, y, atan2_partials)
)
lax.pow_p.def_rule("laplacian", pow_rule)

# Choices: the greater of two equal numbers has the mean of their derivatives


def share(is_chosen: Value, is_tie: Value, out: Value) -> Value:
    """Return 1 where an operand is chosen, a half at a tie, 0 elsewhere."""
    number = typeof(out).dtype.type
    return select(is_tie, number(0.5), convert_element_type(is_chosen, typeof(out).dtype))


def max_rule(inner: InnerProduct, x: Triple, y: Triple) -> Triple:
    out, is_tie = lax.max(x.value, y.value), eq(x.value, y.value)
    x_share, y_share = share(gt(x.value, y.value), is_tie, out), share(lt(x.value, y.value), is_tie, out)
    return weighted_sum(out, (x_share, x), (y_share, y))


def min_rule(inner: InnerProduct, x: Triple, y: Triple) -> Triple:
    out, is_tie = lax.min(x.value, y.value), eq(x.value, y.value)
    x_share, y_share = share(lt(x.value, y.value), is_tie, out), share(gt(x.value, y.value), is_tie, out)
    return weighted_sum(out, (x_share, x), (y_share, y))


def clamp_rule(inner: InnerProduct, low: Triple, x: Triple, high: Triple) -> Triple:
    """Take the derivatives of the operand or the bound that is the result; none at a tie."""
    a, b, c = low.value, x.value, high.value
    out = lax.clamp(a, b, c)
    masks = [lax.bitwise_and(lt(b, a), lt(a, c)), lax.bitwise_and(lt(a, b), lt(b, c)), gt(lax.max(b, a), c)]
    return weighted_sum(out, *[(convert_element_type(m, typeof(out).dtype), t) for m, t in zip(masks, (low, x, high))])


def select_n_rule(inner: InnerProduct, which: Triple, *cases: Triple) -> Triple:
    out = lax.select_n(which.value, *[case.value for case in cases])
    aval, n = typeof(out), directions(cases)
    zero, spread_cases = aval.dtype.type(0), [spread(case, aval.shape) for case in cases]

    def chosen(parts: Sequence[Part], which: Value, shape: Shape) -> Value:
        part = lax.select_n(which, *[zero if part is None else part for part in parts])
        return part if typeof(part).shape == shape else lax.broadcast_in_dim(part, shape, ())

    mask = in_each_direction(which.value, n) if typeof(which.value).shape else which.value
    jacobian = chosen([case.jacobian for case in spread_cases], mask, (n, *aval.shape))
    return Triple(out, jacobian, chosen([case.laplacian for case in spread_cases], which.value, aval.shape))


lax.max_p.def_rule("laplacian", max_rule)
lax.min_p.def_rule("laplacian", min_rule)
lax.clamp_p.def_rule("laplacian", clamp_rule)
lax.select_n_p.def_rule("laplacian", select_n_rule)

# Sizes, neighbours, conversions


def abs_rule(inner: InnerProduct, x: Triple) -> Triple:
    """Multiply by the sign, 1 at zero; for complex numbers take the part along x, and the curvature of the circle."""
    out, phase = lax.abs(x.value), lax.sign(x.value)
    if typeof(x.value).kind != "c":
        return weighted_sum(out, (select(eq(x.value, 0.0), typeof(out).dtype.type(1), phase), x))
    turned, jacobian = mul(lax.conj(phase), x.laplacian), lax.real(mul(lax.conj(phase), x.jacobian))
    curvature = sub(lax.real(inner(x.jacobian, lax.conj(x.jacobian))), inner(jacobian, jacobian))
    return Triple(out, jacobian, add(lax.real(turned), div(curvature, out)))


def nextafter_rule(inner: InnerProduct, x: Triple, y: Triple) -> Triple:
    return weighted_sum(lax.nextafter_p.bind(x.value, y.value), (None, x))


def convert_rule(inner: InnerProduct, x: Triple, *, new_dtype: np.dtype[Any], weak_type: bool) -> Triple:
    """Convert the derivatives too, unless the result is an integer or a bool."""
    out = lax.convert_element_type_p.bind(x.value, new_dtype=new_dtype, weak_type=weak_type)
    if not is_float(new_dtype):
        return Triple(out)
    return Triple(out, convert_element_type(x.jacobian, new_dtype), convert_element_type(x.laplacian, new_dtype))


def complex_rule(inner: InnerProduct, x: Triple, y: Triple) -> Triple:
    out = lax.complex(x.value, y.value)
    x, y = spread(x, typeof(out).shape), spread(y, typeof(out).shape)
    zero = typeof(x.value).dtype.type(0)

    def joined(a: Part, b: Part) -> Value:
        return lax.complex(zero if a is None else a, zero if b is None else b)

    return Triple(out, joined(x.jacobian, y.jacobian), joined(x.laplacian, y.laplacian))


def sign_rule(inner: InnerProduct, x: Triple) -> Triple:
    """Differentiate z / |z| if the operand is complex; a real sign is piecewise constant."""
    if typeof(x.value).kind != "c":
        return Triple(lax.sign(x.value))
    size = convert_rule(inner, abs_rule(inner, x), new_dtype=typeof(x.value).dtype, weak_type=False)
    return div_rule(inner, x, size)


lax.abs_p.def_rule("laplacian", abs_rule)
lax.sign_p.def_rule("laplacian", sign_rule)
lax.complex_p.def_rule("laplacian", complex_rule)
lax.nextafter_p.def_rule("laplacian", nextafter_rule)
lax.convert_element_type_p.def_rule("laplacian", convert_rule)
lax.name_p.def_rule("laplacian", lambda inner, x, **params: x._replace(value=lax.name_p.bind(x.value, **params)))
