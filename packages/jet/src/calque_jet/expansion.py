"""`jet`: the derivatives of a function along a curve, up to any order, in one pass.

One idea: callers use derivatives, the trace uses Taylor coefficients; only this module multiplies and divides by the
factorials between the two.

Read next: `jet_trace.py`, the trace that applies the Taylor rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from math import factorial
from typing import Any

from calque_core import Zero, api_boundary, current_trace, finfo, tracing, typeof
from calque_core.engine import (
    FlatFunction,
    FlatPrimals,
    check_outputs,
    check_sequence,
    copy_shared,
    describe_value,
    dtype_name,
    flatten_primals,
    leaf_names,
    record_call,
    tangent_leaves,
)
from calque_core.extend import check_arrays, check_callable, describe_function, is_float
from calque_jet.jet_trace import JetTrace
from calque_jet.series import Coefficient, Series, instantiate, over, times
from calque_pytree import PyTreeDef, tree_structure

Value = Any


@api_boundary
def jet(fun: Callable[..., Any], primals: Sequence[Any], series: Sequence[Any]) -> tuple[Any, Any]:
    """Return `fun(x(0))` and the derivatives of `fun(x(t))` at t = 0, along the curve that `series` describes.

    `primals` is a tuple or list of pytrees, x(0).  `series` has the same structure, with a list in place of each
    leaf: the derivatives x'(0), x''(0), ..., the same number for each leaf, of its shape and dtype (`float0` for
    integers and bools); the Python number 0 stands for zeros of any type, and costs nothing.  The second result has
    such lists in place of the leaves of the first.  With `([1.0, 0, 0],)` as series, these are the derivatives of a
    function of one number.

    The cost grows with the square of the number of derivatives; nested calls of `jvp` double it for each.
    Raises: TypeError if structures, shapes or dtypes differ; ValueError if the lists differ in length, `primals` has no
    leaf, or the factorial of the length is beyond the dtype of a leaf.

    >>> from calque_jet import jet
    >>> from calque_core import lax
    >>> jet(lambda x: x * x * x, (2.0,), ([1.0, 0, 0],))
    (8.0, [np.float64(12.0), np.float64(12.0), np.float64(6.0)])
    >>> jet(lambda p: {"y": p["x"] * p["x"]}, ({"x": 3.0},), ({"x": [1.0, 0]},))
    ({'y': 9.0}, {'y': [np.float64(6.0), np.float64(2.0)]})
    """
    check_callable(fun, "jet")
    caller = f"jet of {describe_function(fun)}"
    leaves, in_tree = flatten_primals("jet", fun, primals)
    derivatives = derivatives_of(caller, tuple(primals), leaves, series)
    order = len(derivatives[0])
    check_factorial(caller, leaves, order)
    coefficients = [[over(d, factorial(k)) for k, d in enumerate(ds, 1)] for ds in derivatives]
    flat = FlatPrimals(fun, in_tree, "jet")
    outs, out_coefficients = jet_flat(flat, fun, leaves, coefficients, order)
    check_factorial(caller, outs, order)
    out_series = [as_derivatives(x, cs) for x, cs in zip(outs, out_coefficients)]
    separate = iter(copy_shared([*outs, *chain(*out_series)], leaves, *derivatives))
    out = flat.out_tree.unflatten([next(separate) for _ in outs])
    return out, flat.out_tree.unflatten([[next(separate) for _ in terms] for terms in out_series])


def jet_flat(
    flat: FlatFunction, fun: Any, primals: Sequence[Value], series: Sequence[Series], order: int
) -> tuple[list[Value], list[Series]]:
    """Return the results and the Taylor coefficients of a flat function."""
    trace = JetTrace(current_trace(), order)
    record_call(trace, fun)
    with tracing(trace):
        results = flat(*map(trace.value, primals, series))
        check_outputs(trace, results)
        outs, coefficients = trace.split(results)
    return copy_shared(outs, results), coefficients  # a result may be an array of the user's


def as_derivatives(primal: Value, coefficients: Series) -> list[Value]:
    """Return the derivatives of Taylor coefficients; a None becomes an array of zeros."""
    derivatives = [c if k == 1 else times(float(factorial(k)), c) for k, c in enumerate(coefficients, 1)]
    return [instantiate(primal, d) for d in derivatives]


# Checks of the series


def derivatives_of(caller: str, primals: tuple[Any, ...], leaves: Sequence[Value], series: Any) -> list[Series]:
    """Return the derivatives of each leaf of the primals, checked, None for zero.

    Raises: TypeError if structures, shapes or dtypes differ, ValueError if lengths do; the message names the leaf.
    """
    check_sequence(caller, "series", series)
    tree = tree_structure(primals)
    names = leaf_names("", primals)
    lists = lists_of(caller, tree, names, tuple(series))
    order = common_length(caller, names, lists)
    columns = [column(caller, k, tree, names, leaves, [terms[k] for terms in lists]) for k in range(order)]
    return [list(row) for row in zip(*columns)] if order else [[] for _ in lists]


def lists_of(caller: str, tree: PyTreeDef, names: Sequence[str], series: tuple[Any, ...]) -> list[Sequence[Any]]:
    """Return the list of derivatives of each leaf."""
    try:
        lists = tree.flatten_up_to(series)
    except ValueError:
        raise TypeError(
            f"{caller}: the series have the structure {tree_structure(series)}, but the primals have {tree}. Give the "
            "containers of the primals, with a list of derivatives in place of each array."
        ) from None
    for name, terms in zip(names, lists):
        if not isinstance(terms, (tuple, list)):
            raise TypeError(
                f"{caller}: the series at {name} is {describe_value(terms)}. Give a list of derivatives, starting with "
                "the first."
            )
    return lists


def common_length(caller: str, names: Sequence[str], lists: Sequence[Sequence[Any]]) -> int:
    """Return the number of derivatives, which is the same for all leaves.

    Raises: ValueError that names two leaves with different numbers of derivatives.
    """
    if not lists:
        raise ValueError(f"{caller} got primals without an array. Give at least one argument to expand in.")
    for name, terms in zip(names, lists):
        if len(terms) != len(lists[0]):
            raise ValueError(
                f"{caller}: the series at {names[0]} has {len(lists[0])} derivatives, but the series at {name} has "
                f"{len(terms)}. Give the same number for each; 0 means a zero derivative."
            )
    return len(lists[0])


def column(
    caller: str, k: int, tree: PyTreeDef, names: Sequence[str], leaves: Sequence[Value], terms: Sequence[Value]
) -> list[Coefficient]:
    """Return the derivatives of order k + 1 of all leaves, checked against their types."""
    check_arrays(terms, lambda: [f"the series at {name}[{k}]" for name in names], caller)
    is_zero = [type(d) in (bool, int, float, complex) and d == 0 for d in terms]
    avals = [typeof(x) for x in leaves]
    derivatives = [Zero(aval.to_tangent_aval()) if zero else d for d, aval, zero in zip(terms, avals, is_zero)]
    tangents = tangent_leaves(caller, f"derivatives of order {k + 1}", avals, tree, tree.unflatten(derivatives))
    return [None if type(d) is Zero else d for d in tangents]


def check_factorial(caller: str, values: Sequence[Value], order: int) -> None:
    """Check that the factors between coefficients and derivatives are finite.

    Raises: ValueError.
    """
    for dtype in dict.fromkeys(typeof(x).dtype for x in values):
        if is_float(dtype) and factorial(order) > float(finfo(dtype).max):
            raise ValueError(
                f"{caller}: {order} derivatives need the factorial of {order}, which {dtype_name(dtype)} cannot hold. "
                "Use fewer derivatives, or a wider dtype."
            )
