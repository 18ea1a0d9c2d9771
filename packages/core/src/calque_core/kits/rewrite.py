"""Changing the equations of a jaxpr, and of the jaxprs inside it.

One idea: a program is data.  `map_jaxpr` turns each equation into another one; `rewrite` replaces an equation by the
operations of a function of its operands, so that the author of a rule calls operations and makes no variables.

Read next: `passes/`, changes that need no rule; `table_interpreter.py`, for running a program by a table of rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core.context import here
from calque_core.frames.source import where
from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn
from calque_core.jaxprs.walk import rebuild
from calque_core.ops.elementwise.weakness import as_declared
from calque_core.staging.jit_tracer import JitTracer
from calque_core.staging.stage import JaxprTrace
from calque_core.traces.trace import evaluation, record_call, tracing
from calque_core.types.avals import ShapedArray, typeof

Value = Any
RewriteRule = Callable[..., Any]


def map_jaxpr(fn_per_eqn: Callable[[JaxprEqn], JaxprEqn], jaxpr: Jaxpr) -> Jaxpr:
    """Return `jaxpr` with `fn_per_eqn(eqn)` in place of every equation, in inner jaxprs first.

    The function returns an equation with the same outvars, or its argument.

    >>> from calque_core import ShapedArray, map_jaxpr, stage
    >>> from calque_core.lax import cos_p, sin
    >>> map_jaxpr(lambda eqn: eqn.replace(primitive=cos_p), stage(lambda x: [sin(x)], [ShapedArray((), "float64")]))
    { lambda ; a:f64[]. let b:f64[] = cos a in (b,) }
    """

    def change(inner: Jaxpr) -> Jaxpr:
        eqns = [fn_per_eqn(eqn) for eqn in inner.eqns]
        return inner if all(new is old for new, old in zip(eqns, inner.eqns)) else inner.replace(eqns=eqns)

    return rebuild(jaxpr, change)


def rewrite(jaxpr: Jaxpr, rule: RewriteRule) -> Jaxpr:
    """Return `jaxpr` with equations replaced by the operations of `rule`, in inner jaxprs too.

    `rule(eqn, *args)` gets an equation and its operands, as values for operations.  It returns None to keep the
    equation, or the new result (a list for a primitive with `multiple_results`).
    Raises: TypeError if the types of a new and an old result differ.

    >>> from calque_core import ShapedArray, rewrite, stage
    >>> from calque_core.lax import add, mul, neg, sub, sub_p
    >>> jaxpr = stage(lambda x, y: [sub(x, y)], [ShapedArray((), "float64")] * 2)
    >>> rewrite(jaxpr, lambda eqn, *args: add(args[0], neg(args[1])) if eqn.primitive is sub_p else None)
    { lambda ; a:f64[] b:f64[]. let c:f64[] = neg b; d:f64[] = add a c in (d,) }
    """
    return rebuild(jaxpr, lambda inner: _rewrite(inner, rule))


def _rewrite(jaxpr: Jaxpr, rule: RewriteRule) -> Jaxpr:
    """Rewrite one jaxpr.  A rule may use constants, but no tracer: the result outlives every open trace."""
    trace = JaxprTrace(evaluation)
    record_call(trace, rule)
    trace.verb = "rewrite"
    atoms: dict[Any, Atom] = {}
    changed = False
    with tracing(trace):
        for eqn in jaxpr.eqns:
            operands = [atoms.get(v, v) for v in eqn.invars]
            here().source = eqn.position  # new equations keep the user's line of the old one
            outs = rule(eqn, *map(trace.tracer, operands))
            if outs is None:
                trace.eqns.append(eqn if not atoms else eqn.replace(invars=operands))
            else:
                changed = True
                outs = outs if eqn.primitive.multiple_results else [outs]
                atoms.update(zip(eqn.outvars, _result_atoms(trace, eqn, outs)))
        added = trace.finish(())
    return _with_added(jaxpr, added, atoms) if changed else jaxpr


def _with_added(jaxpr: Jaxpr, added: Jaxpr, atoms: dict[Any, Atom]) -> Jaxpr:
    """Return `jaxpr` with the equations of `added`, and with its constants in addition."""
    return jaxpr.replace(
        constvars=(*jaxpr.constvars, *added.constvars),
        consts=(*jaxpr.consts, *added.consts),
        eqns=added.eqns,
        outvars=[atoms.get(v, v) for v in jaxpr.outvars],
    )


def _result_atoms(trace: JaxprTrace, eqn: JaxprEqn, outs: Sequence[Value]) -> list[Atom]:
    """Return the atoms for new results; check that they have the types of the old results."""
    if [_type(typeof(x)) for x in outs] != [_type(v.aval) for v in eqn.outvars]:
        new_types = ", ".join(str(typeof(x)) for x in outs)
        old_types = ", ".join(str(v.aval) for v in eqn.outvars)
        raise TypeError(
            f"{trace.describe()} replaced '{eqn.primitive.name}'{where()}, with results of types ({old_types}), by "
            f"values of types ({new_types}). Return values of the same types, or None to keep the equation."
        )
    retyped = map(as_declared, outs, [v.aval for v in eqn.outvars])
    return [x.variable if type(x) is JitTracer and x._trace is trace else trace.constant(x) for x in retyped]


def _type(aval: Any) -> Any:
    return (aval.shape, aval.dtype) if type(aval) is ShapedArray else aval
