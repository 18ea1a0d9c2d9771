"""Constant folding: equations that depend on no argument are computed once, and their results become constants.

One idea: evaluation computes them, so a constant is what a run of the equation would give; where it fails, the equation
stays.

Read next: `inlining.py`, which brings the equations of a `jit` beside their constants.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var, has_jaxpr
from calque_core.jaxprs.walk import rebuild
from calque_core.traces.trace import evaluation, hand_down
from calque_core.traces.tracer import Tracer
from calque_core.types.avals import ShapedArray, typeof

Value = Any


def fold_constants(jaxpr: Jaxpr, max_size: int = 1024) -> Jaxpr:
    """Return `jaxpr` with the results of equations that depend on no argument as constants, in inner jaxprs too.

    An equation stays if it has effects, holds a jaxpr, or has a result of more than `max_size` elements: a constant is
    stored with the program.  It also stays if it cannot be computed (an integer divided by zero, a named axis).

    >>> from calque_core import ShapedArray, fold_constants, stage
    >>> from calque_core.lax import cos, mul
    >>> fold_constants(stage(lambda x: [mul(x, cos(0.0))], [ShapedArray((), "float64")]))
    { lambda ; a:f64[]. let b:f64[] = mul a 1.0 in (b,) }
    """
    # Folding gives no warnings: they belong to the run of the program.  Divisions by zero call a function rather than
    # being ignored, since only then is an integer division by zero an error, and its equation stays.
    with np.errstate(all="ignore", divide="call", call=lambda *_: None):
        return rebuild(jaxpr, lambda inner: _fold(inner, max_size))


def _fold(jaxpr: Jaxpr, max_size: int) -> Jaxpr:
    known = {v: c for v, c in zip(jaxpr.constvars, jaxpr.consts) if not isinstance(c, Tracer)}
    atoms: dict[Any, Atom] = {}
    eqns = []
    for eqn in jaxpr.eqns:
        values = _folded_results(eqn, known, max_size)
        if values is None:
            eqns.append(_substitute(eqn, atoms))
            continue
        known.update(zip(eqn.outvars, values))
        atoms.update((v, Literal(c, v.aval)) for v, c in zip(eqn.outvars, values) if isinstance(c, np.generic))
    if len(eqns) == len(jaxpr.eqns):
        return jaxpr
    return _with_constants(jaxpr, eqns, [atoms.get(v, v) for v in jaxpr.outvars], known)


def _substitute(eqn: JaxprEqn, atoms: dict[Any, Atom]) -> JaxprEqn:
    if not any(v in atoms for v in eqn.invars):
        return eqn
    return eqn.replace(invars=[atoms.get(v, v) for v in eqn.invars])


def _folded_results(eqn: JaxprEqn, known: dict[Var, Value], max_size: int) -> list[Value] | None:
    """Return the results of an equation, or None if it must stay."""
    if any(type(v) is Var and v not in known for v in eqn.invars) or _must_stay(eqn, max_size):
        return None
    args = [v.val if type(v) is Literal else known[v] for v in eqn.invars]  # type: ignore[index]
    try:
        values = hand_down(evaluation, eqn.primitive, args, eqn.params)
    except (ArithmeticError, NameError):
        return None
    # Under settings that differ from the trace's, evaluation may return other types: such an equation stays.
    if any(typeof(c) != v.aval for c, v in zip(values, eqn.outvars)):
        return None
    return [_as_constant(c) for c in values]


def _as_constant(x: Value) -> Value:
    """Return a result as a constant of a program: a NumPy scalar for rank 0, otherwise a read-only copy."""
    if type(x) is not np.ndarray:
        return x
    copy = x.copy()
    copy.flags.writeable = False
    return copy[()] if not copy.ndim else copy


def _must_stay(eqn: JaxprEqn, max_size: int) -> bool:
    is_small = all(type(v.aval) is ShapedArray and v.aval.size <= max_size for v in eqn.outvars)
    return has_jaxpr(eqn.params) or not is_small or bool(eqn.effects)


def _with_constants(jaxpr: Jaxpr, eqns: list[JaxprEqn], outvars: list[Atom], known: dict[Var, Value]) -> Jaxpr:
    """Return `jaxpr` with new equations and outputs, and the constants that they use, its own or from `known`."""
    used = {v for eqn in eqns for v in eqn.invars if type(v) is Var} | {v for v in outvars if type(v) is Var}
    consts = dict(zip(jaxpr.constvars, jaxpr.consts)) | known
    consts = {v: c for v, c in consts.items() if v in used}
    return jaxpr.replace(constvars=list(consts), consts=list(consts.values()), eqns=eqns, outvars=outvars)
