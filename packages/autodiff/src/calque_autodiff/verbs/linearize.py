"""`linearize` and `vjp`: the value of a function, and its derivative as a linear program.

One idea: run the function once over a tangent trace.  The run computes the value and records a linear program with the
numbers it needs as constants.  The program runs forwards (`linearize`) or backwards (`vjp`), any number of times.

Read next: `linear_functions.py` for the linear functions; `gradient.py` for `grad`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar, overload

from calque_autodiff.known.tables import known_derivatives, linearizations
from calque_autodiff.known.tape import Tape
from calque_autodiff.traces.jvp_trace import JVPTrace, JVPTracer, dual
from calque_autodiff.traces.tangent_trace import TangentTrace
from calque_autodiff.verbs.checks import check_out_tangents
from calque_autodiff.verbs.linear_functions import LinearFunction, LinearProgram, Run, pull, push
from calque_core import ShapedArray, api_boundary, current_trace, tracing, typeof
from calque_core.engine import (
    Captures,
    FlatFunction,
    FlatPrimals,
    check_outputs,
    copy_shared,
    flatten_primals,
    has_tangent,
    name_of,
    record_call,
    records_alone,
)
from calque_core.extend import check_callable, describe_function
from calque_pytree import tree_flatten, tree_leaves

R = TypeVar("R")
S = TypeVar("S")
Value = Any


def _own_argument(trace: JVPTrace, x: Value, aval: Any) -> Value:
    """Return an argument of an own type, with a tangent if it has one."""
    if not has_tangent(aval):
        return x
    tangents: Any = trace.tangent_trace
    return dual(trace, trace.safe_residual(x), tangents.new_arg(aval.to_tangent_aval()))


def linearize_flat(
    flat: FlatFunction,
    fun: Any,
    primals: Sequence[Value],
    avals: Sequence[Any],
    *,
    captures: Captures,
    has_steps: bool = False,
) -> tuple[list[Value], Tape]:
    """Return the results of a flat function, and its derivative, which has steps in evaluation if `has_steps`.

    `avals` are the strong types of the primals; messages name `fun`.  The derivative takes a tangent for each floating
    primal; a result with no tangent is a literal `Zero`.  Its constants are safe from the user's in-place writes as
    long as `captures` is open, and no result of this call is written to.
    """
    parent = current_trace()
    tangent_trace = TangentTrace(parent, captures)
    known = known_derivatives(linearizations, parent) if has_steps or records_alone(parent) else None
    trace = JVPTrace(parent, tangent_trace, known)
    record_call(trace, fun)
    trace.verb = tangent_trace.verb = flat.verb
    tangent_trace.fun, tangent_trace.position = fun, trace.position
    with tracing(trace):
        results = flat(
            *[
                (JVPTracer(trace, trace.safe_residual(x), tangent_trace.new_arg(aval)) if aval.kind in "fc" else x)
                if type(aval) is ShapedArray
                else _own_argument(trace, x, aval)
                for x, aval in zip(primals, avals)
            ]
        )
        check_outputs(trace, results)
        outs, out_dots = trace.split(results)
        check_out_tangents(trace, outs, out_dots)
        aux_leaves, aux_tree = tree_flatten(flat.aux) if flat.has_aux else ([], None)
        aux = list(map(trace.primal_of, aux_leaves))
        tape = tangent_trace.tape(out_dots, name_of(fun, ""))
    # A result that the function did not compute under the trace may be an array of the user's.
    separate = copy_shared([*outs, *aux], primals, results, aux_leaves)
    if aux_tree is None:
        return separate, tape
    flat.aux = aux_tree.unflatten(separate[len(outs) :])
    return separate[: len(outs)], tape


@overload
def linearize(fun: Callable[..., R], *primals: Any, has_aux: Literal[False] = ...) -> tuple[R, LinearFunction]: ...


@overload
def linearize(
    fun: Callable[..., tuple[R, S]], *primals: Any, has_aux: Literal[True]
) -> tuple[R, LinearFunction, S]: ...


@overload
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool) -> tuple[Any, ...]: ...


@api_boundary
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return `fun(*primals)` and its derivative as a function of tangents, which does not run `fun` again.

    The function takes one tangent per primal, with the primal's structure, shapes and dtypes.  It is a pytree whose
    leaves are the numbers it needs.  With `has_aux`, `fun` returns a pair, and its second value is returned as a third.
    Raises: TypeError if a primal is not an array, or a tangent does not fit its primal.

    >>> from calque_autodiff import linearize
    >>> from calque_core import lax
    >>> y, f_lin = linearize(lax.sin, 0.0)
    >>> f_lin(2.0)
    np.float64(2.0)
    """
    return _linearized(push, "linearize", fun, primals, has_aux)


@overload
def vjp(fun: Callable[..., R], *primals: Any, has_aux: Literal[False] = ...) -> tuple[R, LinearFunction]: ...


@overload
def vjp(fun: Callable[..., tuple[R, S]], *primals: Any, has_aux: Literal[True]) -> tuple[R, LinearFunction, S]: ...


@overload
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool) -> tuple[Any, ...]: ...


@api_boundary
def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Return `fun(*primals)` and a function from a cotangent of its output to a tuple of cotangents of `primals`.

    The function is a pytree whose leaves are the numbers it needs.  Integer primals get `float0` cotangents.  With
    `has_aux`, `fun` returns a pair, and its second value is returned as a third.
    Raises: TypeError if a primal is not an array, or a cotangent does not fit the output.

    >>> from calque_autodiff import vjp
    >>> from calque_core import lax
    >>> y, f_vjp = vjp(lax.mul, 2.0, 3.0)
    >>> f_vjp(1.0)
    (np.float64(3.0), np.float64(2.0))
    """
    return _linearized(pull, "vjp", fun, primals, has_aux, has_steps=True)


def _linearized(
    run: Run,
    verb: str,
    fun: Callable[..., Any],
    primals: tuple[Any, ...],
    has_aux: bool,
    has_steps: bool = False,
) -> tuple[Any, ...]:
    """Return the value of `fun`, the function that runs its derivative, and the auxiliary value if there is one.

    Nobody can write to the numbers that the derivative keeps.
    """
    check_callable(fun, verb)
    leaves, in_tree = flatten_primals(verb, fun, primals)
    avals = [typeof(x).strip_weak_type() for x in leaves]
    flat = FlatPrimals(fun, in_tree, verb, has_aux)
    with Captures(current_trace()) as captures:
        outs, tape = linearize_flat(flat, fun, leaves, avals, captures=captures, has_steps=has_steps)
        tape = tape.kept_for_long([*leaves, *outs, *(tree_leaves(flat.aux) if has_aux else ())])
    out_avals = [typeof(x).strip_weak_type() for x in outs]
    name = f"{_ROLES[verb]} of {describe_function(fun)}"
    program = LinearProgram(verb, name, None, avals, in_tree, out_avals, flat.out_tree)
    derivative = LinearFunction(run, program, (), tape)
    out = flat.out_tree.unflatten(outs)
    return (out, derivative, flat.aux) if has_aux else (out, derivative)


_ROLES = {"linearize": "linear function", "vjp": "vjp function"}
