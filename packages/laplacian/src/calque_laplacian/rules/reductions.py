"""Products of arrays, extreme elements, products of elements, and sorted elements."""

from __future__ import annotations

from typing import Any

from calque_core import Primitive, lax, moveaxis, typeof
from calque_core.lax import add, mul, reduce_sum
from calque_laplacian.rules.arithmetic import mul_rule
from calque_laplacian.rules.shapes import behind
from calque_laplacian.triple import InnerProduct, Part, Shape, Triple, Value, directions, in_each_direction, plus

# Products of arrays

Numbers = tuple[tuple[Shape, Shape], tuple[Shape, Shape]]


@lax.dot_general_p.def_rule("laplacian")
def dot_general_rule(inner: InnerProduct, x: Triple, y: Triple, *, dimension_numbers: Numbers, **params: Any) -> Triple:
    """lap(x y) = lap(x) y + x lap(y) + 2 sum_i (d_i x) (d_i y): the sum contracts the axis of the directions too."""
    (x_sum, y_sum), (x_batch, y_batch) = dimension_numbers

    def product(a: Value, b: Value, numbers: Numbers = dimension_numbers) -> Value:
        return lax.dot_general_p.bind(a, b, dimension_numbers=numbers, **params)

    out = product(x.value, y.value)
    jacobian: Part = None
    laplacian: Part = None
    if x.jacobian is not None:
        rows = product(x.jacobian, y.value, ((behind(x_sum), y_sum), (behind(x_batch), y_batch)))
        jacobian, laplacian = moveaxis(rows, len(x_batch), 0), product(x.laplacian, y.value)
    if y.jacobian is not None:
        rows = product(x.value, y.jacobian, ((x_sum, behind(y_sum)), (x_batch, behind(y_batch))))
        place = typeof(x.value).ndim - len(x_sum)
        jacobian = plus(jacobian, moveaxis(rows, place, 0))
        laplacian = plus(laplacian, product(x.value, y.laplacian))
    if x.jacobian is not None and y.jacobian is not None:
        numbers = (((0, *behind(x_sum)), (0, *behind(y_sum))), (behind(x_batch), behind(y_batch)))
        laplacian = add(laplacian, mul(2.0, product(inner.weighted(x.jacobian), y.jacobian, numbers)))
    return Triple(out, jacobian, laplacian)


# Extreme elements: equal ones have the mean of their derivatives


def defextreme(primitive: Primitive) -> None:
    """Give the rule of a maximum or a minimum along axes."""

    def rule(inner: InnerProduct, x: Triple, *, axes: Shape, keepdims: bool = False) -> Triple:
        kept = {"keepdims": True} if keepdims else {}
        out = primitive.bind(x.value, axes=axes, **kept)
        if not typeof(x.value).size:
            return Triple(out)  # the extreme of nothing is constant
        is_extreme = lax.eq(x.value, out if keepdims else lax.expand_dims(out, axes))
        weight = lax.convert_element_type(is_extreme, typeof(out).dtype)
        weight = lax.div(weight, reduce_sum(weight, axes, keepdims=True))
        jacobian = reduce_sum(mul(weight, x.jacobian), behind(axes), keepdims=keepdims)
        return Triple(out, jacobian, reduce_sum(mul(weight, x.laplacian), axes, keepdims=keepdims))

    primitive.def_rule("laplacian", rule)


defextreme(lax.reduce_max_p)
defextreme(lax.reduce_min_p)

# Products of elements


@lax.reduce_prod_p.def_rule("laplacian")
def reduce_prod_rule(inner: InnerProduct, x: Triple, *, axes: Shape, **keepdims: bool) -> Triple:
    """Multiply the two halves of the elements, again and again: without a division, so elements may be zero."""
    out = lax.reduce_prod_p.bind(x.value, axes=axes, **keepdims)
    if not typeof(x.value).size:
        return Triple(out)  # the product of nothing is constant
    for axis in axes:
        while typeof(x.value).shape[axis] > 1:
            x = multiplied_halves(inner, x, axis)
    shape = typeof(out).shape
    n = typeof(x.jacobian).shape[0]
    return Triple(out, lax.reshape(x.jacobian, (n, *shape)), lax.reshape(x.laplacian, shape))


def multiplied_halves(inner: InnerProduct, x: Triple, axis: int) -> Triple:
    """Return the products of the elements of two halves along an axis, with the last element of an odd number."""
    size = typeof(x.value).shape[axis]
    half = size // 2
    product = mul_rule(inner, part_of(x, 0, half, axis), part_of(x, half, 2 * half, axis))
    if size == 2 * half:
        return product
    last = part_of(x, size - 1, size, axis)
    return Triple(*[lax.concatenate(pair, axis + (i == 1)) for i, pair in enumerate(zip(product[:3], last[:3]))])


def part_of(x: Triple, start: int, stop: int, axis: int) -> Triple:
    """Return the elements from `start` to `stop` along an axis of the value."""
    return Triple(*[lax.slice_in_dim(part, start, stop, axis=axis + (i == 1)) for i, part in enumerate(x[:3])])


# Sorted elements


@lax.sort_p.def_rule("laplacian")
def sort_rule(inner: InnerProduct, *operands: Triple, dimension: int, num_keys: int, **_: bool) -> list[Triple]:
    """Sort the derivatives by the keys of their values; equal keys keep their order."""
    values, keys = [x.value for x in operands], [x.value for x in operands[:num_keys]]
    n, triples = directions(operands), []

    def sorted_by(keys: list[Value], part: Part, axis: int) -> Part:
        if part is None:
            return None
        return lax.sort_p.bind(*keys, part, dimension=axis, is_stable=True, num_keys=num_keys)[-1]

    outs = lax.sort_p.bind(*values, dimension=dimension, is_stable=True, num_keys=num_keys)
    rows = [in_each_direction(key, n) for key in keys]
    for out, x in zip(outs, operands):
        triples.append(Triple(out, sorted_by(rows, x.jacobian, dimension + 1), sorted_by(keys, x.laplacian, dimension)))
    return triples
