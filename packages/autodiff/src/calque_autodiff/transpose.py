"""Running a linear program backwards.

One idea: walk the equations from the last to the first, give each equation's transpose rule the cotangents of its
results, and add what it returns to the cotangents of its operands.  What is not linear is evaluated forward first.

Read next: `linearize.py`, where the linear programs come from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from calque_autodiff.checks import check_linear_input, checked_cotangents, only_argument
from calque_core import (
    Atom,
    Jaxpr,
    JaxprEqn,
    Literal,
    MissingRuleError,
    UndefinedPrimal,
    Var,
    Zero,
    add_tangents,
    api_boundary,
    evaluation,
    instantiate_zeros,
    is_tracer,
    stage,
    typeof,
)
from calque_core.calls.api_util import FlatFunction, arg_names, check_callable
from calque_core.context import DEFAULT_SETTINGS, Context, own
from calque_core.frames.source import at_place, describe_function, in_backward
from calque_core.lax import add_any_p, add_p, sub_p
from calque_core.memory.separate import unshared
from calque_core.ops.linear import undefined_of, zero_of, zeros_of
from calque_core.ops.operands import strong
from calque_core.ops.tangents import flatten_primals, tangent_leaves
from calque_core.primitives.rules import missing_rule, settings_key
from calque_pytree import tree_structure

Value = Any


def backward(
    eqns: Sequence[JaxprEqn], known: Mapping[Var, Value], outvars: Sequence[Atom], cts: Sequence[Value]
) -> dict[Any, Value]:
    """Return the cotangents of the variables that no equation defines, given those of `outvars`.

    Every equation is linear in the variables that are not in `known`.
    Raises: MissingRuleError if a primitive has no transpose rule.
    """
    found: dict[Any, Value] = {}
    for var, ct in zip(outvars, cts):
        if type(var) is Var and type(ct) is not Zero and var not in known:
            found[var] = add_tangents(found[var], ct) if var in found else ct
    context = own()
    before = context.source
    try:
        _pull_back(eqns, known, found, context)
    finally:  # around a call: from Python 3.12 on, an interrupt at the end of a loop's `if` passes by the `finally`
        context.source = before
    return found


def _pull_back(eqns: Sequence[JaxprEqn], known: Mapping[Var, Value], found: dict[Any, Value], context: Context) -> None:
    """Turn the cotangents of the last equations' results, in `found`, into those of the first equations' operands."""
    # What is recorded here, or checked, is to know its pass; marking costs 0.1 us per equation.
    is_marked = context.trace is not evaluation or context.settings is not DEFAULT_SETTINGS
    is_checked = context.settings.enable_checks
    for primitive, invars, results, params, position in reversed(eqns):
        if len(results) == 1:  # nearly always
            ct = found.pop(results[0], None)
            result_cts = None if ct is None else [ct]
        else:
            result_cts = _take(found, results)
        if result_cts is None:
            continue
        context.source = in_backward(position) if is_marked else position
        rule = primitive.adapted.get("transpose")
        if rule is None:
            raise missing_rule(primitive, "transpose")
        operands = [x.val if type(x) is Literal else known[x] if x in known else undefined_of(x.aval) for x in invars]
        cts = rule(result_cts, *operands, **params)
        if type(cts) is not list or len(cts) != len(invars) or is_checked:
            cts = checked_cotangents(primitive, cts, invars)
        for x, ct in zip(invars, cts):
            if ct is not None and type(ct) is not Zero and x not in known:
                found[x] = add_tangents(found[x], ct) if x in found else ct


def _take(found: dict[Any, Value], outvars: Sequence[Var]) -> list[Value] | None:
    """Take the cotangents of an equation's results out of `found`; None if all of them are zero."""
    cts = [found.pop(v, None) for v in outvars]
    if all(ct is None for ct in cts):
        return None
    return [zero_of(v.aval) if ct is None else ct for v, ct in zip(outvars, cts)]


def backward_linear(jaxpr: Jaxpr, consts: Sequence[Value], cts: Sequence[Value]) -> list[Value]:
    """Return the cotangents, `Zero`s included, of the arguments of a jaxpr that is linear in all of them.

    `consts` are the values of its constants, and of its first arguments if there are more, which have no cotangent.
    """
    variables = (*jaxpr.constvars, *jaxpr.invars)
    found = backward(jaxpr.eqns, dict(zip(variables, consts)), jaxpr.outvars, cts)
    return [found[v] if v in found else zero_of(v.aval) for v in variables[len(consts) :]]


def backward_pass(jaxpr: Jaxpr, consts: Sequence[Value], primals: Sequence[Value], cts: Sequence[Value]) -> list[Value]:
    """Return the cotangents of the arguments of `jaxpr` whose primal is an `UndefinedPrimal`, `Zero` for the others.

    Equations that involve none of them are evaluated forward first.

    >>> from calque_autodiff import UndefinedPrimal, backward_pass
    >>> from calque_core import make_jaxpr, typeof
    >>> jaxpr = make_jaxpr(lambda x, y: x * y)(1.0, 1.0)
    >>> backward_pass(jaxpr, (), [3.0, UndefinedPrimal(typeof(1.0))], [2.0])
    [Zero(~float64[]), np.float64(6.0)]
    """
    known: dict[Any, Value] = dict(zip(jaxpr.constvars, consts))
    known.update((v, x) for v, x in zip(jaxpr.invars, primals) if type(x) is not UndefinedPrimal)
    linear = forward(jaxpr, known)
    found = backward(linear, known, jaxpr.outvars, cts)
    return [found[v] if v in found else zero_of(v.aval) for v in jaxpr.invars]


def forward(jaxpr: Jaxpr, known: dict[Any, Value]) -> list[JaxprEqn]:
    """Evaluate the equations that need only what is `known`, into `known`; return the others, in order."""
    linear = []
    context = own()
    before = context.source
    try:
        for eqn in jaxpr.eqns:
            if all(type(x) is Literal or x in known for x in eqn.invars):
                context.source = eqn.position
                args = [x.val if type(x) is Literal else known[x] for x in eqn.invars]
                outs = eqn.primitive.bind(*args, **eqn.params)
                known.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs]))
            else:
                linear.append(eqn)
    finally:
        context.source = before
    return linear


def transpose_jaxpr(
    jaxpr: Jaxpr,
    linear_mask: Sequence[bool],
    ct_mask: Sequence[bool] | None = None,
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Jaxpr, list[bool]]:
    """Return the transpose of `jaxpr` in the arguments in `linear_mask`, and which of their cotangents it gives.

    The result takes the other arguments, then the cotangents of the results that `ct_mask` marks (all, by default).
    It gives the cotangents of the linear arguments that are not identically zero, or that `instantiate` marks.
    Raises: MissingRuleError if an equation cannot be transposed.

    >>> from calque_autodiff import transpose_jaxpr
    >>> from calque_core import make_jaxpr
    >>> transpose_jaxpr(make_jaxpr(lambda x, y: x * y)(1.0, 1.0), [False, True])
    ({ lambda ; a:f64[] b:f64[]. let c:f64[] = mul b a in (c,) }, [True])
    """
    mask, cts_given = tuple(linear_mask), tuple(ct_mask or [True] * len(jaxpr.outvars))
    wanted = (instantiate,) * sum(mask) if isinstance(instantiate, bool) else tuple(instantiate)

    def make() -> tuple[Jaxpr, list[bool]]:
        nonzero: list[bool] = []

        def transposed(*args: Value) -> list[Value]:
            rest = iter(args)
            primals = [undefined_of(v.aval) if m else next(rest) for v, m in zip(jaxpr.invars, mask)]
            cts = [next(rest) if given else zero_of(v.aval) for v, given in zip(jaxpr.outvars, cts_given)]
            found = backward_pass(jaxpr, jaxpr.consts, primals, cts)
            linear_cts = [ct for ct, m in zip(found, mask) if m]
            nonzero[:] = [w or type(ct) is not Zero for ct, w in zip(linear_cts, wanted)]
            return [instantiate_zeros(ct) for ct, n in zip(linear_cts, nonzero) if n]

        in_avals = [v.aval for v, m in zip(jaxpr.invars, mask) if not m]
        ct_avals = [v.aval.to_tangent_aval() for v, given in zip(jaxpr.outvars, cts_given) if given]
        return stage(transposed, [*in_avals, *ct_avals], verb="transpose"), nonzero

    return jaxpr.memo(("transpose", mask, cts_given, wanted, *settings_key()), make)  # type: ignore[no-any-return]


@api_boundary
def linear_transpose(fun: Callable[..., Any], *primals: Any) -> Callable[[Any], tuple[Any, ...]]:
    """Return the transpose of a linear function, as a function from a cotangent of its output to a tuple of cotangents.

    `primals` give the types of the arguments only: arrays, or `ShapeDtypeStruct`s.
    Raises: TypeError if an argument is not floating, or the cotangent does not fit the output; MissingRuleError if
    `fun` is not linear.

    >>> from calque_autodiff import linear_transpose
    >>> from calque_core import lax
    >>> linear_transpose(lambda x: 3.0 * x, 1.0)(2.0)
    (np.float64(6.0),)
    """
    check_callable(fun, "linear_transpose")
    what = f"linear_transpose of {describe_function(fun)}"
    leaves, in_tree = flatten_primals("linear_transpose", fun, primals)
    for name, x in zip(arg_names(fun, primals, {}), leaves):
        check_linear_input(what, name, typeof(x))
    flat = FlatFunction(fun, in_tree, "linear_transpose")
    jaxpr = stage(flat, [typeof(x).strip_weak_type() for x in leaves], verb="linear_transpose", user_fun=fun)
    arguments = tree_structure(tuple(primals))

    @api_boundary
    def transposed(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        ct = only_argument(f"the transpose of {describe_function(fun)}", args, kwargs)
        cts = tangent_leaves(what, "cotangents", jaxpr.out_avals, flat.out_tree, ct)
        known: dict[Any, Value] = dict(zip(jaxpr.constvars, jaxpr.consts))
        linear = forward(jaxpr, known)
        _check_no_constant(what, jaxpr, linear, known)
        try:
            found = backward(linear, known, jaxpr.outvars, cts)
        except MissingRuleError as error:
            error.args = (_not_linear(what, error),)
            raise
        outs = [strong(instantiate_zeros(found[v])) if v in found else zeros_of(v.aval) for v in jaxpr.invars]
        return arguments.unflatten(unshared(outs, jaxpr.consts, cts))  # type: ignore[no-any-return]

    return transposed


def _not_linear(what: str, error: MissingRuleError) -> str:
    """Return the message for an operation that cannot be transposed: it is not linear, or nobody has said how."""
    culprit, text = f"'{error.primitive}'{error.place}", error.args[0]
    if not text.startswith("Transpose rule"):  # it says by itself which operands are to blame
        return f"{what}: the function is not linear. {text}"
    if any(note.startswith("There is none because") for note in error.__notes__):
        advice = "Transpose a linear function; of any other, vjp transposes the derivative."
        return f"{what}: the function is not linear, because of {culprit}: {text}. {advice}"
    advice = "Give it one if it is; if not, vjp transposes the derivative of the function."
    return f"{what}: {culprit} is not known to be linear: {text}. {advice}"


def _check_no_constant(what: str, jaxpr: Jaxpr, linear: Sequence[JaxprEqn], known: Mapping[Var, Value]) -> None:
    """Refuse a constant term, which transposition would drop in silence; one that is traced is let pass.

    Raises: MissingRuleError.
    """
    culprit = next((f"'{e.primitive}'{at_place(e.position)}" for e in linear if _adds_constant(e, known)), None)
    if any(_is_nonzero(x, known) for x in jaxpr.outvars):
        culprit = "an output"
    if culprit is not None:
        raise MissingRuleError(
            f"{what}: the function is not linear, because of {culprit}: it has a constant part that is not zero. Leave "
            "that out: the transpose is that of the rest.",
            primitive="linear_transpose",
            kind="transpose",
            package="calque_autodiff",
        )


def _adds_constant(eqn: JaxprEqn, known: Mapping[Var, Value]) -> bool:
    return eqn.primitive in (add_p, add_any_p, sub_p) and any(_is_nonzero(x, known) for x in eqn.invars)


def _is_nonzero(x: Atom, known: Mapping[Var, Value]) -> bool:
    value = x.val if type(x) is Literal else known.get(x, 0)  # type: ignore[arg-type]
    return not is_tracer(value) and type(value) is not Zero and bool(np.any(np.asarray(value)))
