"""Linearized operations: the derivative of a primitive, made from its rules once per types.

One idea: a program of one equation is cut into a known and a linear half, and the linear half is transposed, as for any
program.  Both become Python functions that call the implementations of the primitives one after the other.

Only primitives are taken whose implementations are leaves: such primitives promise that their rules depend on types and
parameters alone.  An error, such as a type that does not fit or a nan that NumPy was told to raise, is left to the
rules, whose messages name the place.
Read next: `traces/steps.py`, which defines the result; `traces/jvp_trace.py`, which uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial
from itertools import pairwise
from typing import Any

from calque_autodiff.jaxprs import linearize_jaxpr
from calque_autodiff.traces.steps import LinearizedOperation, Pull
from calque_autodiff.transpose import transpose_jaxpr
from calque_core import Jaxpr, JaxprEqn, Literal, Primitive, ShapedArray, Var, eval_context, rule_epoch, typeof
from calque_core.extend import Plans, StraightLine, is_straight

Value = Any


def linearized_operation(
    primitive: Primitive, avals: Sequence[Any], mask: Sequence[bool], params: dict[str, Any]
) -> LinearizedOperation | None:
    """Return a primitive on operands of these types, those in `mask` with tangents; None if its rules have to run.

    >>> import numpy as np
    >>> from calque_core import lax, typeof
    >>> operation = linearized_operation(lax.sin_p, [typeof(1.0).strip_weak_type()], [True], {})
    >>> operation.run(0.0)
    (np.float64(0.0), (np.float64(1.0),))
    >>> operation.pull.function(np.float64(3.0), np.float64(1.0))
    (np.float64(3.0),)
    """
    try:
        with eval_context():
            return _linearized(primitive, avals, mask, params)
    except Exception:  # noqa: BLE001  the rules raise it again, in their own words
        return None


def _linearized(
    primitive: Primitive, avals: Sequence[Any], mask: Sequence[bool], params: dict[str, Any]
) -> LinearizedOperation | None:
    operands = [Var(aval) for aval in avals]
    outs = [Var(aval) for aval in primitive.abstract(*avals, **params)]
    known, linear, sources = linearize_jaxpr(
        Jaxpr((), operands, [JaxprEqn(primitive, operands, outs, params)], outs), mask
    )
    dot_avals = [None if type(v) is Literal else v.aval for v in linear.outvars]
    if not any(dot_avals) or not is_straight(known):
        return None
    run = StraightLine()
    primals = run.arguments(known.invars)
    results = run.results(known)
    residuals = [primals[i] if kind == "in" else results[i] for kind, i in sources]
    result = _list_of(results[: len(outs)]) if primitive.multiple_results else results[0]
    arrays = [i for i, (aval, m) in enumerate(zip(avals, mask)) if aval.shape and not m]
    makes_residuals = any(kind == "out" and i >= len(outs) for kind, i in sources)
    kept = {i for kind, i in sources if kind == "in"}
    pull_for = cache(partial(_pull, linear, len(sources)))
    pull = None if primitive.multiple_results else pull_for((True,))
    if pull is not None and pull.function is None:
        return None
    return LinearizedOperation(
        [v.aval for v in outs],
        dot_avals,
        run.function(primals, f"{result}, {_tuple_of(residuals)}"),
        linear,
        pull,
        pull_for,
        [i for i in arrays if makes_residuals or i in kept],
    )


def _pull(linear: Jaxpr, num_residuals: int, has_ct: tuple[bool, ...]) -> Pull:
    """Return the way back through a linear program of residuals and tangents, for results that have a cotangent."""
    is_tangent = [False] * num_residuals + [True] * (len(linear.invars) - num_residuals)
    ct_mask = iter(has_ct)
    mask = [type(v) is not Literal and next(ct_mask) for v in linear.outvars]
    with eval_context():
        transposed, nonzero = transpose_jaxpr(linear, is_tangent, mask)
    if not is_straight(transposed):
        return Pull(None, transposed, nonzero)
    code = StraightLine()
    names = code.arguments(transposed.invars)
    cts = code.results(transposed)
    function = code.function([*names[num_residuals:], *names[:num_residuals]], _tuple_of(cts))
    return Pull(function, transposed, nonzero)


def _list_of(names: Sequence[str]) -> str:
    return f"[{', '.join(names)}]"


def _tuple_of(names: Sequence[str]) -> str:
    return "(" + "".join(f"{name}, " for name in names) + ")"


def _operation_of_key(key: Sequence[Any], params: dict[str, Any]) -> LinearizedOperation | None:
    """Return the operation of a key: the primitive, its operands, its parameters.

    For each operand a key has its type if it has a tangent, the class of a scalar without tangent, or None and the type
    of an array without tangent.
    """
    avals: list[Any] = []
    mask: list[bool] = []
    for before, part in pairwise(key):
        if isinstance(part, ShapedArray):
            avals.append(part)
            mask.append(before is not None)
        elif isinstance(part, type):
            avals.append(typeof(part(0)))
            mask.append(False)
    return linearized_operation(key[0], avals, mask, params)


_current: list[Any] = [-1, Plans(_operation_of_key)]


def current_operations() -> Plans[LinearizedOperation]:
    """Return the operations that the rules of now give: a rule that replaces another one drops them all."""
    if _current[0] != rule_epoch():
        _current[:] = [rule_epoch(), Plans(_operation_of_key)]
    return _current[1]  # type: ignore[no-any-return]
