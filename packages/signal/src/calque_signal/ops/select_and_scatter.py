"""The winner of each window, for derivatives of windowed maxima.

`select_and_gather_add` reads another array at the winners, `select_and_scatter_add` adds to the winners' places.

One idea: the winner is the first extreme element of a window, or its first NaN.  It is found as a maximum is, of pairs
of a key and a value that the key carries along: an element of the other array, or the key's own place.

Read next: `slides.py`, which combines windows; `reduce_window.py` for the maxima.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from calque_core import Jaxpr, Primitive, ShapedArray, ShapeError, api_boundary, typeof
from calque_core.engine import highest, loop_name, lowest, on_arrays, operand_leaves, scalars_of, trace_computation
from calque_core.extend import Shape, bind_checked, is_float, shaped_array, undefined_message, where, wide_dtype
from calque_core.lax import (
    ScatterDimensionNumbers,
    bitwise_and,
    bitwise_or,
    convert_element_type,
    eq,
    full,
    ge_p,
    iota,
    le_p,
    ne,
    pad,
    reshape,
    scatter_add,
    slice,
)
from calque_core.lax import select as choose
from calque_signal.ops.paddings import Pads, PadsLike
from calque_signal.ops.slides import (
    NUMBER,
    ORDERED,
    Combine,
    Window,
    canonical_window,
    check_window,
    slide,
    slide_present,
)

Value = Any
Values = Sequence[Value]
DType = np.dtype[Any]

# The winners of a maximum (`ge_p`) or a minimum (`le_p`)

_WORST = {ge_p: lowest, le_p: highest}


def _first_best(select_prim: Primitive) -> Combine:
    """Return the function that keeps the better of two lists of a key and its values, and the first of equal ones."""

    def combine(first: Values, second: Values) -> Values:
        key, other = first[0], second[0]
        is_first = select_prim.bind(key, other)
        if is_float(typeof(key).dtype):
            is_first = bitwise_or(is_first, ne(key, key))
        return [choose(is_first, x, y) for x, y in zip(first, second)]

    return combine


def _worst_key(select_prim: Primitive, dtype: DType) -> Value:
    """Return the key that loses against every other, as the padding of an operand."""
    return _WORST[select_prim](dtype)


def _check_keys(name: str, select_prim: Primitive, x_aval: ShapedArray) -> None:
    if select_prim not in _WORST:
        raise ValueError(f"{name}{where()}: select_prim is {select_prim!r}. Give lax.ge_p or lax.le_p.")
    if x_aval.kind not in ORDERED:
        raise TypeError(undefined_message(name, x_aval))


# Reading at the winners

select_and_gather_add_p = Primitive("select_and_gather_add")


@select_and_gather_add_p.def_abstract_eval(cached=True)
def select_and_gather_add_abstract_eval(
    tangents_aval: ShapedArray, x_aval: ShapedArray, *, select_prim: Primitive, **window: Any
) -> ShapedArray:
    _check_keys("select_and_gather_add", select_prim, x_aval)
    if tangents_aval.shape != x_aval.shape:
        raise ShapeError(
            f"select_and_gather_add of {tangents_aval} at the winners in {x_aval}{where()}: the shapes differ. Give "
            "arrays of one shape."
        )
    counts = check_window("select_and_gather_add", x_aval, Window(**window))
    return shaped_array(counts, tangents_aval.dtype)


def select_and_gather_add_decomposition(tangents: Value, x: Value, *, select_prim: Primitive, **window: Any) -> Value:
    """Carry the elements of `tangents` along with the keys."""
    fills = [_worst_key(select_prim, typeof(x).dtype), typeof(tangents).dtype.type(0)]
    return slide(_first_best(select_prim), [x, tangents], fills, Window(**window))[1]


select_and_gather_add_p.def_rule("decomposition", select_and_gather_add_decomposition)
select_and_gather_add_p.def_impl(select_and_gather_add_decomposition)


def select_and_gather_add(  # noqa: PLR0913, PLR0917 -- JAX's arguments
    tangents: Value,
    operand: Value,
    select_prim: Primitive,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: PadsLike = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Value:
    """Return, for each window, the element of `tangents` at the place of the first extreme element of `operand`.

    `select_prim` is `ge_p` for a maximum and `le_p` for a minimum; windows are as for `reduce_window`.  A NaN wins; a
    window of padding alone gives zero.
    Shapes: tangents [*s], operand [*s] -> [windows along each axis].  Dtype: that of `tangents`.
    Raises: ShapeError if the shapes differ; TypeError for complex operands; ValueError for another primitive, and as
    `reduce_window`.

    >>> import numpy as np
    >>> from calque_core.lax import ge_p
    >>> from calque_signal import select_and_gather_add
    >>> select_and_gather_add(np.array([1.0, 2.0, 3.0, 4.0]), np.array([5.0, 0.0, 7.0, 7.0]), ge_p, (2,), (2,))
    array([1., 3.])
    """
    options = window_dimensions, window_strides, padding, base_dilation, window_dilation
    window = canonical_window("select_and_gather_add", typeof(operand).shape, *options)
    return bind_checked(select_and_gather_add_p, tangents, operand, select_prim=select_prim, **window._asdict())


# Adding to the winners

select_and_scatter_add_p = Primitive("select_and_scatter_add")


@select_and_scatter_add_p.def_abstract_eval(cached=True)
def select_and_scatter_add_abstract_eval(
    source_aval: ShapedArray, x_aval: ShapedArray, *, select_prim: Primitive, **window: Any
) -> ShapedArray:
    _check_keys("select_and_scatter_add", select_prim, x_aval)
    if source_aval.kind not in NUMBER:
        raise TypeError(undefined_message("select_and_scatter_add", source_aval))
    _check_source("select_and_scatter_add", source_aval, x_aval, Window(**window))
    return shaped_array(x_aval.shape, source_aval.dtype)


def _check_source(name: str, source_aval: ShapedArray, x_aval: ShapedArray, window: Window) -> None:
    """Check that there is one element of the source for each window."""
    counts = check_window(name, x_aval, window)
    if source_aval.shape != counts:
        raise ShapeError(
            f"{name} of {source_aval} to the winners in {x_aval}{where()}: the windows are {counts}. Give a source "
            "of this shape."
        )


def select_and_scatter_add_decomposition(source: Value, x: Value, *, select_prim: Primitive, **window: Any) -> Value:
    """Carry each key's place along, in the flat array; scatter to the winners' places.  Padding has no place."""
    aval, dtype = typeof(x), typeof(source).dtype
    if not aval.size:
        return full(aval.shape, 0, dtype)
    places = _places(aval)
    fills = [_worst_key(select_prim, aval.dtype), typeof(places).dtype.type(-1)]
    _, winners = slide(_first_best(select_prim), [x, places], fills, Window(**window))
    count = typeof(source).size
    rows, updates = reshape(winners, (count, 1)), reshape(source, (count,))
    wide = wide_dtype(dtype)
    sums = scatter_add(full((aval.size,), 0, wide), rows, convert_element_type(updates, wide), _ELEMENTS)
    return reshape(convert_element_type(sums, dtype), aval.shape)


_ELEMENTS = ScatterDimensionNumbers((), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,))


def _places(aval: ShapedArray) -> Value:
    """Return the place of each element of an array in the flat array."""
    return reshape(iota(np.int32 if aval.size <= np.iinfo(np.int32).max else np.int64, aval.size), aval.shape)


select_and_scatter_add_p.def_rule("decomposition", select_and_scatter_add_decomposition)
select_and_scatter_add_p.def_impl(select_and_scatter_add_decomposition)


def select_and_scatter_add(  # noqa: PLR0913, PLR0917 -- JAX's arguments
    source: Value,
    operand: Value,
    select_prim: Primitive,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: PadsLike = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> Value:
    """Return zeros like `operand`, with each element of `source` added at the place of its window's winner.

    It is the transpose of `select_and_gather_add` in its first operand.
    Shapes: source [windows along each axis], operand [*s] -> [*s].  Dtype: that of `source`.
    Raises: ShapeError unless there is one element of `source` per window; TypeError for a complex operand, and a
    source of bools; ValueError for another primitive, and as `reduce_window`.

    >>> import numpy as np
    >>> from calque_core.lax import ge_p
    >>> from calque_signal import select_and_scatter_add
    >>> select_and_scatter_add(np.array([1.0, 2.0]), np.array([5.0, 0.0, 7.0, 7.0]), ge_p, (2,), (2,))
    array([1., 0., 2., 0.])
    """
    options = window_dimensions, window_strides, padding, base_dilation, window_dilation
    window = canonical_window("select_and_scatter_add", typeof(operand).shape, *options)
    return bind_checked(select_and_scatter_add_p, source, operand, select_prim=select_prim, **window._asdict())


# Any functions that select and combine

select_and_scatter_p = Primitive("select_and_scatter")


def _without_dilation(window_dimensions: Shape, window_strides: Shape, padding: Pads) -> Window:
    ones = (1,) * len(window_dimensions)
    return Window(window_dimensions, window_strides, padding, ones, ones)


@select_and_scatter_p.def_abstract_eval
def select_and_scatter_abstract_eval(
    *avals: ShapedArray,
    select_jaxpr: Jaxpr,
    num_select_consts: int,
    scatter_jaxpr: Jaxpr,
    num_scatter_consts: int,
    **window: Any,
) -> ShapedArray:
    x_aval, source_aval, _ = avals[num_select_consts + num_scatter_consts :]
    if x_aval.dtype != source_aval.dtype:
        raise TypeError(
            f"select_and_scatter of {source_aval} into {x_aval}{where()}: the dtypes differ. Convert one of them first."
        )
    _check_source("select_and_scatter", source_aval, x_aval, _without_dilation(**window))
    return shaped_array(x_aval.shape, x_aval.dtype)


def select_and_scatter_decomposition(
    *args: Value,
    select_jaxpr: Jaxpr,
    num_select_consts: int,
    scatter_jaxpr: Jaxpr,
    num_scatter_consts: int,
    **params: Any,
) -> Value:
    """Find the places of the winners, then combine the sources of winners that are the k-th of a window, for each k."""
    num_consts = num_select_consts + num_scatter_consts
    select_consts, scatter_consts = args[:num_select_consts], args[num_select_consts:num_consts]
    x, source, init = args[num_consts:]
    window = _without_dilation(**params)
    aval, counts = typeof(x), typeof(source).shape
    places = _places(aval)
    nowhere = typeof(places).dtype.type(-1)
    is_first = on_arrays(select_jaxpr, select_consts)
    has_winner, (_, winners) = slide_present(_first_selected(is_first), [x, places], [init, nowhere], window)
    combine = on_arrays(scatter_jaxpr, scatter_consts)
    out = full(aval.shape, init)
    if 0 in counts:
        return out
    padded = pad(places, nowhere, window.config)
    for entry in reversed(list(np.ndindex(window.window_dimensions))):  # so windows come to an element in their order
        is_here = bitwise_and(has_winner, eq(winners, _entry_of(padded, entry, window.window_strides, counts)))
        back = _config_back(aval.shape, counts, entry, window)
        update = pad(choose(is_here, source, init), init, back)
        (combined,) = combine([out], [update])
        out = choose(pad(is_here, False, back), combined, out)
    return out


def _first_selected(is_first: Callable[[Values, Values], list[Value]]) -> Combine:
    def combine(first: Values, second: Values) -> Values:
        (chosen,) = is_first(first[:1], second[:1])
        return [choose(chosen, x, y) for x, y in zip(first, second)]

    return combine


def _entry_of(x: Value, entry: Shape, strides: Shape, counts: Shape) -> Value:
    """Return one entry of each window in a padded array."""
    limits = [start + (count - 1) * stride + 1 for start, count, stride in zip(entry, counts, strides)]
    return slice(x, entry, limits, strides)


def _config_back(shape: Shape, counts: Shape, entry: Shape, window: Window) -> list[tuple[int, int, int]]:
    """Return the padding that takes the k-th entries of all windows back to their places in an array of this shape."""
    config = []
    for size, count, start, stride, (low, _) in zip(shape, counts, entry, window.window_strides, window.padding):
        first = start - low
        config.append((first, size - first - ((count - 1) * stride + 1), stride - 1))
    return config


select_and_scatter_p.def_rule("decomposition", select_and_scatter_decomposition)
select_and_scatter_p.def_impl(select_and_scatter_decomposition)


@api_boundary
def select_and_scatter(  # noqa: PLR0913, PLR0917 -- JAX's arguments
    operand: Value,
    select: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None,
    padding: PadsLike,
    source: Value,
    init_value: Value,
    scatter: Callable[[Any, Any], Any],
) -> Value:
    """Return `init_value` in the shape of `operand`, with each element of `source` combined at its window's winner.

    `select(a, b)` tells of two scalars whether `a`, which comes first, wins; padding takes no part.  `scatter(old,
    new)` combines an element of the result with one of `source`; both functions are associative.
    Shapes: operand [*s], source [windows along each axis], init_value [] -> [*s].  Dtype: kept.
    Raises: ShapeError unless there is one element of `source` per window; TypeError if dtypes differ or a function
    returns another type; ValueError as `reduce_window`.

    >>> import numpy as np
    >>> from calque_core.lax import ge, mul
    >>> from calque_signal import select_and_scatter
    >>> x = np.array([5.0, 0.0, 7.0, 7.0])
    >>> select_and_scatter(x, ge, (2,), (1,), "VALID", np.array([2.0, 3.0, 4.0]), 1.0, mul)
    array([ 2.,  1., 12.,  1.])
    """
    caller = loop_name("select_and_scatter", select)
    (operand,), (init,), tree = operand_leaves(caller, operand, init_value)
    scalar = scalars_of([typeof(operand)])
    options = window_dimensions, window_strides, padding, None, None
    params = canonical_window("select_and_scatter", typeof(operand).shape, *options)._asdict()
    del params["base_dilation"], params["window_dilation"]
    select_jaxpr, select_consts = trace_computation(caller, select, tree, scalar, [shaped_array((), np.dtype(bool))])
    scatter_jaxpr, scatter_consts = trace_computation(caller, scatter, tree, scalar, scalar)
    return bind_checked(
        select_and_scatter_p,
        *select_consts,
        *scatter_consts,
        operand,
        source,
        init,
        select_jaxpr=select_jaxpr,
        num_select_consts=len(select_consts),
        scatter_jaxpr=scatter_jaxpr,
        num_scatter_consts=len(scatter_consts),
        **params,
    )
