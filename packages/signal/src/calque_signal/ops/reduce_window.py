"""Reductions by windows that slide over an array: the sum, the maximum, the minimum, and any function of two scalars.

One idea: `reduce_window` traces the function; a sum, a maximum or a minimum has a primitive of its own, with its
derivatives, and any other function is a program in the primitive `reduce_window`, made of slices for all
transformations.

Read next: `slides.py`, which combines windows; `select_and_scatter.py` for the derivatives of maxima.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from calque_core import Jaxpr, Primitive, ShapedArray, api_boundary, typeof
from calque_core.engine import (
    check_reduction,
    from_init,
    known_operation,
    loop_name,
    neutral_element,
    on_arrays,
    operand_leaves,
    scalars_of,
    split_reduction,
    trace_computation,
)
from calque_core.extend import bind_checked, shaped_array, undefined_message, wide_dtype
from calque_core.lax import add_p, convert_element_type, max_p, min_p
from calque_signal.ops.paddings import PadsLike
from calque_signal.ops.slides import NUMBER, ORDERED, Window, canonical_window, check_window, slide, slide_from

Value = Any


def _declare(name: str, kinds: str, operation: Primitive, linearity: Literal["linear"] | None = None) -> Primitive:
    primitive = Primitive(name, linearity=linearity)

    @primitive.def_abstract_eval(cached=True)
    def abstract_eval(x_aval: ShapedArray, **window: Any) -> ShapedArray:
        if x_aval.kind not in kinds:
            raise TypeError(undefined_message(name, x_aval))
        return shaped_array(check_window(name, x_aval, Window(**window)), x_aval.dtype)

    def decomposition(x: Value, **window: Any) -> Value:
        dtype = typeof(x).dtype
        wide = convert_element_type(x, wide_dtype(dtype))
        fill = neutral_element(operation, wide.dtype)
        (out,) = slide(lambda xs, ys: [operation.bind(xs[0], ys[0])], [wide], [fill], Window(**window))
        return convert_element_type(out, dtype)

    primitive.def_rule("decomposition", decomposition)
    primitive.def_impl(decomposition)
    return primitive


reduce_window_sum_p = _declare("reduce_window_sum", NUMBER, add_p, linearity="linear")
reduce_window_max_p = _declare("reduce_window_max", ORDERED, max_p)
reduce_window_min_p = _declare("reduce_window_min", ORDERED, min_p)

# Any function

reduce_window_p = Primitive("reduce_window", multiple_results=True)


@reduce_window_p.def_abstract_eval
def reduce_window_abstract_eval(*avals: ShapedArray, jaxpr: Jaxpr, num_consts: int, **window: Any) -> list[ShapedArray]:
    x_avals = check_reduction("reduce_window", avals, jaxpr, num_consts)
    shape = check_window("reduce_window", x_avals[0], Window(**window))
    return [shaped_array(shape, aval.dtype) for aval in x_avals]


def reduce_window_decomposition(*args: Value, jaxpr: Jaxpr, num_consts: int, **window: Any) -> list[Value]:
    consts, operands, inits = split_reduction(args, num_consts)
    return slide_from(on_arrays(jaxpr, consts), operands, inits, Window(**window))


reduce_window_p.def_rule("decomposition", reduce_window_decomposition)
reduce_window_p.def_impl(reduce_window_decomposition)

_REDUCTIONS = {add_p: reduce_window_sum_p, max_p: reduce_window_max_p, min_p: reduce_window_min_p}


@api_boundary
def reduce_window(  # noqa: PLR0913, PLR0917 -- JAX's arguments
    operand: Any,
    init_value: Any,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: PadsLike = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Any:
    """Return the elements of each window combined by `computation`, beginning with the initial value.

    A window of the sizes `window_dimensions` moves over the operand by `window_strides`.  The operand has
    `base_dilation - 1` gaps between neighbours, and padding at its ends: "VALID", "SAME", "SAME_LOWER", or a pair per
    axis; the window has `window_dilation - 1` gaps.  Gaps and padding take no part.  `computation` is as for `reduce`;
    sums, maxima and minima are known, so that this is average pooling and max pooling.
    Shapes: operand [*s], init_value [] -> [windows along each axis].  Dtype: kept.  Several operands, in a tree, have
    one shape.
    Raises: ValueError for numbers below 1, or wrong numbers of entries; TypeError if structures or dtypes differ;
    ShapeError if operands differ in shape.

    >>> import numpy as np
    >>> from calque_core.lax import add, max
    >>> from calque_signal import reduce_window
    >>> image = np.arange(16.0).reshape(4, 4)
    >>> reduce_window(image, -np.inf, max, (2, 2), (2, 2))
    array([[ 5.,  7.],
           [13., 15.]])
    >>> means = reduce_window(image, 0.0, add, (2, 2), (2, 2)) / 4
    >>> means
    array([[ 2.5,  4.5],
           [10.5, 12.5]])
    """
    caller = loop_name("reduce_window", computation)
    arrays, inits, tree = operand_leaves(caller, operand, init_value)
    avals = [typeof(x) for x in arrays]
    options = window_dimensions, window_strides, padding, base_dilation, window_dilation
    window = canonical_window("reduce_window", avals[0].shape, *options)
    scalars = scalars_of(avals)
    jaxpr, consts = trace_computation(caller, computation, tree, scalars, scalars)
    params = window._asdict()
    operation = known_operation(jaxpr)
    if operation in _REDUCTIONS:
        out = bind_checked(_REDUCTIONS[operation], arrays[0], **params)
        return tree.unflatten([from_init(operation, inits[0], out)])
    outs = bind_checked(reduce_window_p, *consts, *arrays, *inits, jaxpr=jaxpr, num_consts=len(consts), **params)
    return tree.unflatten(outs)
