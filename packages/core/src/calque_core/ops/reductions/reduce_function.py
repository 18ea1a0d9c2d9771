"""Reductions of whole axes by any function of two scalars: the primitive `reduce`.

One idea: neighbours are combined on whole arrays, then neighbours of the results, in a number of rounds that is the
logarithm of the size; so every transformation of the function's operations is one of the reduction.  A sum, a product
or another reduction with a primitive of its own is recognised.

Read next: `computations.py` for the program of the function; `reduce.py` for the known reductions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from calque_core.errors import ShapeError
from calque_core.frames.source import where
from calque_core.frames.tracebacks import api_boundary
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.ops.calls.jit import check_operands
from calque_core.ops.calls.loops import loop_name
from calque_core.ops.elementwise.arithmetic import add_p, max_p, min_p, mul_p
from calque_core.ops.elementwise.compare import and_p, or_p, xor_p
from calque_core.ops.reductions.computations import (
    from_init,
    known_operation,
    on_arrays,
    operand_leaves,
    scalars_of,
    trace_computation,
)
from calque_core.ops.reductions.reduce import (
    reduce_and,
    reduce_max,
    reduce_min,
    reduce_or,
    reduce_prod,
    reduce_sum,
    reduce_xor,
    reduced_shape,
)
from calque_core.ops.shapes.axes import canonical_axes
from calque_core.ops.shapes.create import full
from calque_core.ops.shapes.shape import reshape, slice
from calque_core.primitives.primitive import Primitive
from calque_core.types.avals import Shape, ShapedArray, shaped_array, typeof

Value = Any
Values = Sequence[Value]
Combine = Callable[[Values, Values], list[Value]]

reduce_p = Primitive("reduce", multiple_results=True)


@reduce_p.def_abstract_eval
def reduce_abstract_eval(*avals: ShapedArray, jaxpr: Jaxpr, num_consts: int, dimensions: Shape) -> list[ShapedArray]:
    x_avals = check_reduction("reduce", avals, jaxpr, num_consts)
    return [shaped_array(reduced_shape(aval.shape, dimensions), aval.dtype) for aval in x_avals]


def split_reduction(operands: Sequence[Any], num_consts: int) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
    """Return the constants, the arrays and the initial values of a reduction by a function.

    >>> from calque_core.engine import split_reduction
    >>> split_reduction(["constant", "x", "y", "start of x", "start of y"], 1)
    (['constant'], ['x', 'y'], ['start of x', 'start of y'])
    """
    middle = (num_consts + len(operands)) // 2
    return operands[:num_consts], operands[num_consts:middle], operands[middle:]


def check_reduction(name: str, avals: Sequence[ShapedArray], jaxpr: Jaxpr, num_consts: int) -> Sequence[ShapedArray]:
    """Return the types of the arrays of a reduction by the function of a program, from those of all operands.

    Raises: ShapeError if the arrays differ in shape; TypeError if the operands do not fit the program.

    >>> import numpy as np
    >>> from calque_core import lax, make_jaxpr, typeof
    >>> from calque_core.engine import check_reduction
    >>> check_reduction("reduce", [typeof(np.ones(3)), typeof(np.ones(()))], make_jaxpr(lax.add)(1.0, 2.0), 0)
    [float64[3]]
    """
    consts, x_avals, inits = split_reduction(avals, num_consts)
    check_one_shape(name, x_avals)
    check_operands(name, jaxpr, [*consts, *inits, *scalars_of(x_avals)])
    return x_avals


def check_one_shape(name: str, avals: Sequence[ShapedArray]) -> None:
    if len({aval.shape for aval in avals}) > 1:
        types = " and ".join(map(str, avals))
        raise ShapeError(f"{name} of {types}{where()}: the shapes differ. Give arrays of one shape.")


def reduce_decomposition(*args: Value, jaxpr: Jaxpr, num_consts: int, dimensions: Shape) -> list[Value]:
    """Combine the initial values with the elements, in their order, by a tree."""
    consts, operands, inits = split_reduction(args, num_consts)
    combine = on_arrays(jaxpr, consts)
    shape = typeof(operands[0]).shape
    kept = reduced_shape(shape, dimensions)
    starts = [full(kept, init) for init in inits]
    count = prod(shape[axis] for axis in dimensions)
    if not count:
        return starts
    order = [*dimensions, *(axis for axis in range(len(shape)) if axis not in dimensions)]
    rows = [reshape(x, (count, *kept), order) for x in operands]
    return combine(starts, [reshape(x, kept) for x in _combine_rows(combine, rows, count)])


def _combine_rows(combine: Combine, rows: Values, count: int) -> Values:
    """Combine `count` entries along the leading axis to one, which is left; an odd one waits for the end."""
    last: Values | None = None
    while count > 1:
        if count % 2:
            odd = _every_second(rows, count - 1, count)
            last = odd if last is None else combine(odd, last)
        even = count - count % 2
        rows = combine(_every_second(rows, 0, even), _every_second(rows, 1, even))
        count //= 2
    return rows if last is None else combine(rows, last)


def _every_second(rows: Values, start: int, limit: int) -> Values:
    """Return every second entry along the leading axis."""
    row_shape = typeof(rows[0]).shape[1:]
    return [slice(x, (start, *[0] * len(row_shape)), (limit, *row_shape), (2, *[1] * len(row_shape))) for x in rows]


reduce_p.def_rule("decomposition", reduce_decomposition)
reduce_p.def_impl(reduce_decomposition)

# The function, and the reductions that are known

_REDUCTIONS: dict[Primitive, Callable[..., Value]] = {
    add_p: reduce_sum,
    mul_p: reduce_prod,
    max_p: reduce_max,
    min_p: reduce_min,
    and_p: reduce_and,
    or_p: reduce_or,
    xor_p: reduce_xor,
}


@api_boundary
def reduce(operands: Any, init_values: Any, computation: Callable[[Any, Any], Any], dimensions: Sequence[int]) -> Any:
    """Return the elements along the axes `dimensions` combined by `computation`, beginning with the initial value.

    `computation` takes two scalars, or two trees of scalars of the structure of `operands`, and returns one; it must
    be associative, since elements are combined in any order of brackets.  The initial value takes part once.  A
    computation that adds, multiplies, or takes the maximum, the minimum, and, or, xor becomes `reduce_sum`,
    `reduce_prod`, and so on.
    Shapes: operands [*s], init_values [] -> [*s without the axes].  Dtype: kept; each initial value has its operand's.
    Raises: TypeError if structures or dtypes differ; ShapeError if operands differ in shape; ValueError if an axis is
    out of range.

    >>> import numpy as np
    >>> from calque_core.lax import reduce
    >>> x = np.array([[3.0, 1.0], [2.0, 4.0]])
    >>> reduce(x, 1.0, lambda a, b: a * b, (0,))
    array([6., 4.])
    >>> reduce((x, x), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (0, 1))
    (np.float64(10.0), np.float64(24.0))
    """
    caller = loop_name("reduce", computation)
    arrays, inits, tree = operand_leaves(caller, operands, init_values)
    avals = [typeof(x) for x in arrays]
    check_one_shape("reduce", avals)
    axes = canonical_axes("reduce", dimensions, avals[0].ndim)
    scalars = scalars_of(avals)
    jaxpr, consts = trace_computation(caller, computation, tree, scalars, scalars)
    operation = known_operation(jaxpr)
    if operation is not None:
        return tree.unflatten([from_init(operation, inits[0], _REDUCTIONS[operation](arrays[0], axes))])
    outs = reduce_p.bind(*consts, *arrays, *inits, jaxpr=jaxpr, num_consts=len(consts), dimensions=axes)
    return tree.unflatten(outs)
