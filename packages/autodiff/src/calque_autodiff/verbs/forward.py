"""`jvp`: the value of a function and its derivative along a direction.

Read next: `jvp_trace.py`, which does the work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, overload

from calque_autodiff.known.tables import jvps, known_derivatives
from calque_autodiff.traces.jvp_trace import JVPTrace, dual
from calque_autodiff.verbs.checks import check_out_tangents
from calque_core import Zero, api_boundary, current_trace, instantiate_zeros, tracing, typeof
from calque_core.engine import (
    FlatFunction,
    FlatPrimals,
    check_outputs,
    check_sequence,
    copy_shared,
    flatten_primals,
    record_call,
    strong,
    tangent_leaves,
)
from calque_core.extend import check_callable, describe_function
from calque_pytree import tree_flatten, tree_leaves

R = TypeVar("R")
S = TypeVar("S")
Value = Any


def jvp_flat(
    flat: FlatFunction, fun: Any, primals: Sequence[Value], tangents: Sequence[Value]
) -> tuple[list[Value], list[Value]]:
    """Return the results and their tangents, which may be `Zero`, of a flat function; `flat.aux` holds no tracer."""
    parent = current_trace()
    trace = JVPTrace(parent, parent, known_derivatives(jvps, parent))
    record_call(trace, fun)
    with tracing(trace):
        tracers = [x if type(t) is Zero else dual(trace, x, t) for x, t in zip(primals, tangents)]
        results = flat(*tracers)
        check_outputs(trace, results)
        outs, out_dots = trace.split(results)
        check_out_tangents(trace, outs, out_dots)
        aux, aux_tree = tree_flatten(flat.aux)
    # A result that the function did not compute under the trace may be an array of the user's: `results`, `aux`.
    separate = copy_shared([*outs, *out_dots, *map(trace.primal_of, aux)], primals, tangents, results, aux)
    count = len(outs)
    flat.aux = aux_tree.unflatten(separate[2 * count :])
    return separate[:count], separate[count : 2 * count]


@overload
def jvp(
    fun: Callable[..., R], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[False] = ...
) -> tuple[R, R]: ...


@overload
def jvp(
    fun: Callable[..., tuple[R, S]], primals: Sequence[Any], tangents: Sequence[Any], has_aux: Literal[True]
) -> tuple[R, R, S]: ...


@overload
def jvp(fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool) -> tuple[Any, ...]: ...


@api_boundary
def jvp(
    fun: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """Return `fun(*primals)` and its derivative along `tangents`.

    `primals` and `tangents` are tuples or lists of pytrees of equal structure; a tangent has its primal's shape and
    dtype (`float0` for integers and bools).  A Python number that `fun` hands through comes back as it is, and so does
    its tangent.  With `has_aux`, `fun` returns a pair, and its second value is returned as a third.
    Raises: TypeError if the structures, shapes or dtypes differ.

    >>> from calque_autodiff import jvp
    >>> from calque_core import lax
    >>> jvp(lambda x: x * lax.sin(x), (0.0,), (1.0,))
    (np.float64(0.0), np.float64(0.0))
    """
    check_callable(fun, "jvp")
    caller = f"jvp of {describe_function(fun)}"
    leaves, in_tree = flatten_primals("jvp", fun, primals)
    check_sequence(caller, "tangents", tangents)
    if type(primals) is not type(tangents):
        raise TypeError(
            f"{caller}: the primals are a {type(primals).__name__}, the tangents a {type(tangents).__name__}. Give "
            "both as tuples or both as lists."
        )
    avals = [typeof(x) for x in leaves]
    dots = tangent_leaves(caller, "tangents", avals, in_tree, tuple(tangents))
    flat = FlatPrimals(fun, in_tree, "jvp", has_aux)
    outs, out_dots = jvp_flat(flat, fun, leaves, dots)
    out = flat.out_tree.unflatten(outs)
    out_dots = [strong(instantiate_zeros(t)) for t in out_dots]
    if not _NUMBERS.isdisjoint(map(type, outs)):
        out_dots = _as_passed(outs, out_dots, dots, tree_leaves(tangents))
    out_dot = flat.out_tree.unflatten(out_dots)
    return (out, out_dot, flat.aux) if has_aux else (out, out_dot)


_NUMBERS = frozenset((float, complex))


def _as_passed(
    outs: Sequence[Value], out_dots: Sequence[Value], dots: Sequence[Value], leaves: Sequence[Value]
) -> list[Value]:
    """Return the tangents of results: for a Python number, the caller's leaf in place of its conversion in `dots`."""
    passed = {(id(dot), type(leaf)): leaf for dot, leaf in zip(dots, leaves) if type(leaf) in _NUMBERS}
    return [passed.get((id(t), type(x)), t) for x, t in zip(outs, out_dots)]
