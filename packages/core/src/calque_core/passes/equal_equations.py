"""Equal equations: several of one primitive, with the same operands and equal parameters, become one.

One idea: the rules of derivatives and the formulas of special functions write the same term at several places, and code
made of a program computes each equation: without this pass, zeta takes 1.4 times as long.

Read next: `dead_code.py`, for equations that it leaves without a use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core.jaxprs.jaxpr import Atom, Jaxpr, JaxprEqn, Literal, Var
from calque_core.known.operands import exact_params


def merge_equal_equations(jaxpr: Jaxpr) -> Jaxpr:
    """Return `jaxpr` with one equation for equations of one primitive, the same operands and equal parameters.

    Two results of the program stay two: nobody expects them to share memory.  Equations that have effects, hold
    programs or have parameters without a hash are left alone.

    >>> from calque_core import ShapedArray, stage
    >>> from calque_core.engine import merge_equal_equations
    >>> from calque_core.lax import mul, sin
    >>> merge_equal_equations(stage(lambda x: [mul(sin(x), sin(x))], [ShapedArray((), "float64")]))
    { lambda ; a:f64[]. let b:f64[] = sin a; c:f64[] = mul b b in (c,) }
    """
    if len({eqn.primitive for eqn in jaxpr.eqns}) == len(jaxpr.eqns):
        return jaxpr
    results = {v for v in jaxpr.outvars if type(v) is Var}
    first: dict[Any, Sequence[Var]] = {}
    atoms: dict[Any, Var] = {}  # of the results of equations that an earlier one replaces
    eqns: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        invars = [atoms.get(x, x) for x in eqn.invars]
        key = _key_of_equation(eqn, invars)
        outvars = eqn.outvars if key is None else first.setdefault(key, eqn.outvars)
        if outvars is eqn.outvars or not (results.isdisjoint(outvars) or results.isdisjoint(eqn.outvars)):
            eqns.append(eqn.replace(invars=invars))
            continue
        atoms.update(zip(eqn.outvars, outvars))
        results.update(atoms[v] for v in eqn.outvars if v in results)
    if not atoms:
        return jaxpr
    return jaxpr.replace(eqns=eqns, outvars=[atoms.get(v, v) for v in jaxpr.outvars])


def _key_of_equation(eqn: JaxprEqn, invars: Sequence[Atom]) -> Any:
    """Return a key that equal equations share; None for an equation that stays."""
    if not eqn.primitive.is_leaf or eqn.effects:
        return None
    operands = [exact_params({"": x.val}) if type(x) is Literal else x for x in invars]
    key = (eqn.primitive, *operands, *[x.aval for x in invars if type(x) is Literal], exact_params(eqn.params))
    try:
        hash(key)
    except TypeError:  # a parameter has no hash
        return None
    return key
