"""`linear_transpose`: the transpose of a linear function.

One idea: a linear function is its own derivative, so its program is run backwards as it is; a constant term, which this
would drop in silence, is refused.

Read next: `programs/transpose.py`, which runs programs backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from calque_autodiff.programs.transpose import backward, forward
from calque_autodiff.verbs.checks import check_integer_outputs, check_linear_inputs, only_argument
from calque_core import (
    Atom,
    Jaxpr,
    JaxprEqn,
    Literal,
    MissingRuleError,
    Var,
    Zero,
    api_boundary,
    instantiate_zeros,
    is_tracer,
    stage,
    typeof,
)
from calque_core.engine import (
    FlatPrimals,
    arg_names,
    as_stand_in,
    at_place,
    copy_shared,
    flatten_primals,
    integer_leaves,
    strong,
    tangent_leaves,
    zeros_of,
)
from calque_core.extend import check_callable, describe_function
from calque_core.lax import add_any_p, add_p, sub_p
from calque_pytree import tree_map

Value = Any


@api_boundary
def linear_transpose(fun: Callable[..., Any], *primals: Any) -> Callable[[Any], tuple[Any, ...]]:
    """Return the transpose of a linear function, as a function from a cotangent of its output to a tuple of cotangents.

    Of `primals`, arrays or `ShapeDtypeStruct`s or other objects with a shape and a dtype, only the types are used.
    They are floats, or integers alone; the cotangent has the type of the output.
    Raises: TypeError if an argument is neither, or the cotangent does not fit the output; MissingRuleError if `fun` is
    not linear.

    >>> from calque_autodiff import linear_transpose
    >>> from calque_core import lax
    >>> linear_transpose(lambda x: 3.0 * x, 1.0)(2.0)
    (np.float64(6.0),)
    """
    check_callable(fun, "linear_transpose")
    caller = f"linear_transpose of {describe_function(fun)}"
    leaves, in_tree = flatten_primals("linear_transpose", fun, tree_map(as_stand_in, primals))
    avals = [typeof(x).strip_weak_type() for x in leaves]
    check_linear_inputs(caller, arg_names(fun, primals, {}), avals)
    flat = FlatPrimals(fun, in_tree, "linear_transpose")
    jaxpr = stage(flat, avals, verb="linear_transpose", user_fun=fun)
    is_of_integers = any(aval.kind in "iu" for aval in avals)
    if is_of_integers:
        check_integer_outputs(caller, jaxpr.out_avals)
    checked_leaves = integer_leaves if is_of_integers else tangent_leaves

    @api_boundary
    def transposed(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        ct = only_argument(f"the transpose of {describe_function(fun)}", args, kwargs)
        cts = checked_leaves(caller, "cotangents", jaxpr.out_avals, flat.out_tree, ct)
        known: dict[Any, Value] = dict(zip(jaxpr.constvars, jaxpr.consts))
        linear = forward(jaxpr, known)
        _check_no_constant(caller, jaxpr, linear, known)
        try:
            bars = backward(linear, known, jaxpr.outvars, cts)
        except MissingRuleError as error:
            error.args = (_not_linear(caller, error),)
            raise
        outs = [strong(instantiate_zeros(bars[v])) if v in bars else zeros_of(v.aval) for v in jaxpr.invars]
        return in_tree.unflatten(copy_shared(outs, jaxpr.consts, cts))  # type: ignore[no-any-return]

    return transposed


def _not_linear(caller: str, error: MissingRuleError) -> str:
    """Return the message for an operation without a transpose: it is not linear, or it has no rule."""
    culprit, text = f"'{error.primitive}'{error.place}", error.summary
    if error.refusal:  # the text names the operands
        return f"{caller}: the function is not linear. {text}"
    if error.hole:
        advice = f"There is none because {error.hole}. Transpose a linear function; for any other function, use vjp."
        return f"{caller}: the function is not linear, because of {culprit}: {text.rstrip('.')}. {advice}"
    advice = f"If it is linear, give it a transpose rule, calque_autodiff.deftranspose({error.primitive}_p, fn)"
    advice += "; otherwise use vjp."
    return f"{caller}: {culprit} is not known to be linear: {text.rstrip('.')}. {advice}"


def _check_no_constant(caller: str, jaxpr: Jaxpr, linear: Sequence[JaxprEqn], known: Mapping[Var, Value]) -> None:
    """Refuse a constant term, which transposition would drop in silence; a traced term passes.

    Raises: MissingRuleError.
    """
    culprit = next((f"'{e.primitive}'{at_place(e.position)}" for e in linear if _adds_constant(e, known)), None)
    if any(_is_nonzero(x, known) for x in jaxpr.outvars):
        culprit = "an output"
    if culprit is not None:
        raise MissingRuleError(
            f"{caller}: the function is not linear, because of {culprit}: it adds a constant that is not zero. Remove "
            "the constant: it has no transpose.",
            primitive="linear_transpose",
            kind="transpose",
            package="calque_autodiff",
        )


def _adds_constant(eqn: JaxprEqn, known: Mapping[Var, Value]) -> bool:
    return eqn.primitive in (add_p, add_any_p, sub_p) and any(_is_nonzero(x, known) for x in eqn.invars)


def _is_nonzero(x: Atom, known: Mapping[Var, Value]) -> bool:
    value = x.val if type(x) is Literal else known.get(x, 0)  # type: ignore[arg-type]
    return not is_tracer(value) and type(value) is not Zero and bool(np.any(np.asarray(value)))
