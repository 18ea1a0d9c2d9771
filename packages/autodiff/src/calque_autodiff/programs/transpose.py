"""Running a linear program backwards.

One idea: walk the equations from the last to the first, call each equation's transpose rule with the cotangents of its
results, and add the returned cotangents to the cotangents of its operands.  Equations that are not linear are evaluated
first.

While a backward pass is staged, the equations that a rule records are copied from an earlier backward pass.

Read next: `linearize.py`, which makes the linear programs; `pulls.py` for steps; `transpositions.py`, which copies
equations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from calque_autodiff.known.pulls import pull_step, pull_steps
from calque_autodiff.known.steps import LinearizedOperation
from calque_autodiff.known.tape import Tape
from calque_autodiff.known.transpositions import copied_transposition, may_copy_transpositions
from calque_autodiff.passes.signs import Negative, added, carries_signs, computed, negated, signed_transposition, signs
from calque_autodiff.programs.zeros import instantiate_results
from calque_autodiff.verbs.checks import blame_derivative_rule, checked_cotangents
from calque_core import (
    Atom,
    Jaxpr,
    JaxprEqn,
    Literal,
    MissingRuleError,
    Primitive,
    UndefinedPrimal,
    Var,
    Zero,
    evaluation,
    stage,
)
from calque_core.engine import (
    DEFAULT_SETTINGS,
    Mask,
    exact_effects,
    in_backward,
    own_context,
    undefined_of,
    zero_of,
)
from calque_core.extend import is_nonzero, marked, merged, missing_rule, settings_key, unmarked, where

Value = Any


def backward(
    eqns: list[Any], known: Mapping[Var, Value], outvars: Sequence[Atom], cts: Sequence[Value]
) -> dict[Any, Value]:
    """Return the cotangents of the variables that no equation defines, from `cts`, the cotangents of `outvars`.

    Every equation is linear in the variables that are not in `known`.  It leaves the list `eqns`, and frees its
    residuals, once it is read: a staged backward pass then drops as many objects as it makes.
    Raises: MissingRuleError if a primitive has no transpose rule.
    """
    bars: dict[Any, Value] = {}
    for var, ct in zip(outvars, cts):
        if type(var) is Var and type(ct) is not Zero and var not in known:
            bars[var] = added(bars[var], ct) if var in bars else ct
    context = own_context()
    before = context.source
    try:
        pull_steps(eqns, bars, context)
        if not eqns:  # often in evaluation: code keeps no sign apart
            return bars
        _pull_back(eqns, known, bars, context)
        return {v: computed(ct) if type(ct) is Negative else ct for v, ct in bars.items()}
    except Exception as error:
        place = where()
        texts = (str(error), *getattr(error, "__notes__", ()))
        if not any(place in text or text.startswith("This happened in") for text in texts):
            error.add_note(f"This happened in the backward pass{place}.")
        raise
    finally:  # around a call: from Python 3.12 on, an interrupt at the end of a loop's `if` passes by the `finally`
        context.source = before


def _pull_back(eqns: list[Any], known: Mapping[Var, Value], bars: dict[Any, Value], context: Any) -> None:
    """Replace, in `bars`, cotangents of results by cotangents of operands, equation by equation."""
    # Equations recorded here, and errors of checks, name the backward pass; marking costs 0.1 us per equation.
    is_marked = context.trace is not evaluation or context.settings is not DEFAULT_SETTINGS
    is_checked = context.settings.enable_checks
    copies_into = context.trace if may_copy_transpositions(context.trace) else None
    forward_position = source = None
    while eqns:
        primitive, invars, results, params, position = eqns.pop()
        if type(primitive) is LinearizedOperation:  # a step: its parameters are residuals
            context.source = in_backward(position) if is_marked else position
            pull_step(primitive, invars, results, params, bars)
            pull_steps(eqns, bars, context)
            continue
        if len(results) == 1:  # nearly always
            ct = bars.pop(results[0], None)
            result_cts = None if ct is None else [ct]
        else:
            result_cts = _take(bars, results)
        if result_cts is None:
            _check_loss(primitive, params)
            continue
        if position is not forward_position:  # the equations of one call have one
            forward_position, source = position, in_backward(position) if is_marked else position
        context.source = source
        operands = [x.val if type(x) is Literal else known[x] if x in known else undefined_of(x.aval) for x in invars]
        cts = _transposed(copies_into, primitive, result_cts, operands, params)
        if type(cts) is not list or len(cts) != len(invars) or is_checked:
            cts = checked_cotangents(primitive, cts, invars, operands)
        for x, ct in zip(invars, cts):
            if ct is not None and type(ct) is not Zero and x not in known:
                bars[x] = added(bars[x], ct) if x in bars else ct


def _transposed(
    copies_into: Any,
    primitive: Primitive,
    cts: Sequence[Value],
    operands: Sequence[Value],
    params: dict[str, Any],
) -> list[Value]:
    """Return the cotangents of an equation's operands, by equations copied into a trace, or else by its rule."""
    rule = primitive.adapted["transpose"]
    if rule is None:
        raise missing_rule(primitive, "transpose")
    if not primitive.is_leaf or primitive.multiple_results:
        return rule([computed(ct) for ct in cts], *operands, **params)  # type: ignore[no-any-return]
    ct, bars = cts[0], None
    if type(ct) is Negative:
        if carries_signs(primitive):
            return list(map(negated, _transposed(copies_into, primitive, [ct.value], operands, params)))
        cts = [ct := computed(ct)]
    if primitive in signs:
        bars = signed_transposition(primitive, ct, operands)
    if bars is None and copies_into is not None:
        bars = copied_transposition(copies_into, primitive, ct, operands, params)
    return rule(cts, *operands, **params) if bars is None else bars


def _check_loss(primitive: Primitive, params: dict[str, Any]) -> None:
    """Check that an equation whose results have no cotangent has no exact effect: the backward pass leaves it out.

    Raises: MissingRuleError.
    """
    if exact_effects(JaxprEqn(primitive, (), (), params).effects):
        raise missing_rule(primitive, "transpose")


def _take(bars: dict[Any, Value], outvars: Sequence[Var]) -> list[Value] | None:
    """Remove and return the cotangents of an equation's results from `bars`; None if all of them are zero."""
    cts = [bars.pop(v, None) for v in outvars]
    if all(ct is None for ct in cts):
        return None
    return [zero_of(v.aval) if ct is None else ct for v, ct in zip(outvars, cts)]


def backward_linear(
    jaxpr: Jaxpr | Tape, consts: Sequence[Value], cts: Sequence[Value], is_last: bool = False
) -> list[Value]:
    """Return the cotangents, `Zero`s included, of the arguments of a jaxpr that is linear in all of them.

    `consts` are the values of its constants and, if there are more, of its first arguments: these have no cotangent.
    A tape that is used for the last time, as `is_last` says, loses its equations.
    Raises: MissingRuleError if a primitive has no transpose rule; if it is not linear, a derivative rule is wrong.
    """
    variables = (*jaxpr.constvars, *jaxpr.invars)
    eqns: Any = jaxpr.eqns
    try:
        bars = backward(eqns if is_last else list(eqns), dict(zip(variables, consts)), jaxpr.outvars, cts)
    except MissingRuleError as error:
        blame_derivative_rule(error)
        raise
    return [bars[v] if v in bars else zero_of(v.aval) for v in variables[len(consts) :]]


def backward_pass(jaxpr: Jaxpr, consts: Sequence[Value], primals: Sequence[Value], cts: Sequence[Value]) -> list[Value]:
    """Return the cotangents of the arguments of `jaxpr` that are `UndefinedPrimal`s; `Zero` for known arguments.

    Equations of known operands alone are evaluated forward first.

    >>> from calque_autodiff import UndefinedPrimal, backward_pass
    >>> from calque_core import make_jaxpr, typeof
    >>> jaxpr = make_jaxpr(lambda x, y: x * y)(1.0, 1.0)
    >>> backward_pass(jaxpr, (), [3.0, UndefinedPrimal(typeof(1.0))], [2.0])
    [Zero(~float64[]), np.float64(6.0)]
    """
    known: dict[Any, Value] = dict(zip(jaxpr.constvars, consts))
    known.update((v, x) for v, x in zip(jaxpr.invars, primals) if type(x) is not UndefinedPrimal)
    linear = forward(jaxpr, known)
    bars = backward(linear, known, jaxpr.outvars, cts)
    return [bars[v] if v in bars else zero_of(v.aval) for v in jaxpr.invars]


def forward(jaxpr: Jaxpr, known: dict[Any, Value]) -> list[JaxprEqn]:
    """Evaluate the equations of `known` operands alone, into `known`; return the linear equations, in order."""
    linear = []
    context = own_context()
    before = context.source
    try:
        for eqn in jaxpr.eqns:
            if _has_known_operands(eqn, known):
                context.source = eqn.position
                args = [x.val if type(x) is Literal else known[x] for x in eqn.invars]
                outs = eqn.primitive.bind(*args, **eqn.params)
                known.update(zip(eqn.outvars, outs if eqn.primitive.multiple_results else [outs]))
            else:
                linear.append(eqn)
    finally:
        context.source = before
    return linear


def _has_known_operands(eqn: JaxprEqn, known: dict[Any, Value]) -> bool:
    for x in eqn.invars:  # noqa: SIM110  (`all` takes 0.4 us more)
        if x not in known and type(x) is not Literal:
            return False
    return True


def transpose_jaxpr(
    jaxpr: Jaxpr,
    linear_mask: Sequence[bool],
    ct_mask: Sequence[bool] | None = None,
    instantiate: bool | Sequence[bool] = False,
) -> tuple[Jaxpr, list[bool]]:
    """Return the transpose of `jaxpr` in the arguments in `linear_mask`, and a mask of the cotangents that it returns.

    The transpose takes the known arguments, then the cotangents of the results that `ct_mask` marks (all, by default).
    It returns the cotangents of linear arguments that are not identically zero, or that `instantiate` marks.
    Raises: MissingRuleError if an equation cannot be transposed.

    >>> from calque_autodiff import transpose_jaxpr
    >>> from calque_core import make_jaxpr
    >>> transpose_jaxpr(make_jaxpr(lambda x, y: x * y)(1.0, 1.0), [False, True])
    ({ lambda ; a:f64[] b:f64[]. let c:f64[] = mul b a in (c,) }, [True])
    """
    mask, is_ct_arg = tuple(linear_mask), tuple(ct_mask or [True] * len(jaxpr.outvars))

    def make() -> tuple[Jaxpr, list[bool]]:
        nonzero: list[bool] = []

        def transposed(*args: Value) -> list[Value]:
            primals = merged(mask, undefined, args[: len(known_avals)])
            cts = merged(is_ct_arg, args[len(known_avals) :], zero_cts)
            linear_cts = marked(backward_pass(jaxpr, jaxpr.consts, primals, cts), mask)
            nonzero[:] = is_nonzero(linear_cts)
            return marked(linear_cts, nonzero)

        known_avals = unmarked(jaxpr.in_avals, mask)
        undefined = [undefined_of(aval) for aval in marked(jaxpr.in_avals, mask)]
        ct_avals = [aval.strip_weak_type() for aval in marked(jaxpr.out_avals, is_ct_arg)]
        zero_cts = [zero_of(aval) for aval in unmarked(jaxpr.out_avals, is_ct_arg)]
        return stage(transposed, [*known_avals, *ct_avals], verb="transpose"), nonzero

    derived = jaxpr.memo(("transpose", mask, is_ct_arg, *settings_key()), make)
    return instantiate_results(derived, instantiate, marked(jaxpr.in_avals, mask))


def transpose_of_call(
    bind: Callable[..., Sequence[Value]], jaxpr: Jaxpr, cts: Sequence[Value], operands: Sequence[Value]
) -> list[Value]:
    """Return the cotangents of the linear operands of a call of `jaxpr`, by one call of the transposed program.

    `bind(*operands, jaxpr=program)` binds the primitive of the call.
    """
    linear_mask, ct_mask = is_linear(operands), is_nonzero(cts)
    transposed, nonzero = transpose_jaxpr(jaxpr, linear_mask, ct_mask)
    bars = bind(*unmarked(operands, linear_mask), *marked(cts, ct_mask), jaxpr=transposed)
    return merged(linear_mask, merged(nonzero, bars))


def is_linear(operands: Sequence[Value]) -> Mask:
    """Return a mask of the operands that need a cotangent."""
    return [type(x) is UndefinedPrimal for x in operands]
