"""Visiting a jaxpr and the jaxprs inside it, to any depth, without recursion.

One idea: a jaxpr that many equations hold is one object, so it is visited once.  Inner jaxprs come before their
holders, so a holder can use the results of its inner jaxprs.

Read next: `passes/` and `kits/rewrite.py`, which change jaxprs this way.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from calque_core.jaxprs.jaxpr import Jaxpr, JaxprEqn, jaxprs_in_params, subjaxprs


def nested_jaxprs(jaxpr: Jaxpr) -> list[Jaxpr]:
    """Return `jaxpr` and every jaxpr inside it, each once, inner jaxprs first.

    >>> from calque_core.engine import nested_jaxprs
    >>> from calque_core import ShapedArray, stage
    >>> from calque_core.lax import sin
    >>> len(nested_jaxprs(stage(lambda x: [sin(x)], [ShapedArray((), "float64")])))
    1
    """
    order: list[Jaxpr] = []
    seen = {id(jaxpr)}
    stack = [(jaxpr, subjaxprs(jaxpr))]
    while stack:
        holder, inner = stack[-1]
        for child in inner:
            if id(child) not in seen:
                seen.add(id(child))
                stack.append((child, subjaxprs(child)))
                break
        else:
            stack.pop()
            order.append(holder)
    return order


def jaxprs_outside(jaxpr: Jaxpr, holders: Collection[Any]) -> list[Jaxpr]:
    """Return `jaxpr` and the jaxprs inside it, outer jaxprs first, but none that only equations of `holders` hold.

    >>> from calque_core import make_jaxpr
    >>> from calque_core.engine import jaxprs_outside
    >>> from calque_core.lax import cond, cond_p, sin
    >>> jaxpr = make_jaxpr(lambda x: cond(x > 0, sin, abs, x))(1.0)
    >>> len(jaxprs_outside(jaxpr, ())), len(jaxprs_outside(jaxpr, [cond_p]))
    (3, 1)
    """
    order = [jaxpr]
    seen = {id(jaxpr)}
    for outer in order:  # the list grows
        inners = [x for eqn in outer.program_eqns if eqn.primitive not in holders for x in jaxprs_in_params(eqn.params)]
        for inner in inners:
            if id(inner) not in seen:
                seen.add(id(inner))
                order.append(inner)
    return order


def rebuild(jaxpr: Jaxpr, change: Callable[[Jaxpr], Jaxpr]) -> Jaxpr:
    """Return `jaxpr` with `change` applied to every jaxpr inside it, inner jaxprs first, then to itself.

    `change` gets a jaxpr whose inner jaxprs are changed already.

    >>> from calque_core import ShapedArray, stage
    >>> from calque_core.engine import rebuild
    >>> from calque_core.lax import sin
    >>> rebuild(stage(lambda x: [sin(x)], [ShapedArray((), "float64")]), lambda inner: inner.replace(debug_name="f"))
    { lambda ; a:f64[]. let b:f64[] = sin a in (b,) }
    """
    changed: dict[int, Jaxpr] = {}
    for inner in nested_jaxprs(jaxpr):
        changed[id(inner)] = change(_with_inner(inner, changed))
    return changed[id(jaxpr)]


def _with_inner(jaxpr: Jaxpr, changed: dict[int, Jaxpr]) -> Jaxpr:
    eqns = [replace_jaxprs(eqn, changed) for eqn in jaxpr.eqns]
    return jaxpr if all(new is old for new, old in zip(eqns, jaxpr.eqns)) else jaxpr.replace(eqns=eqns)


def replace_jaxprs(eqn: JaxprEqn, changed: dict[int, Jaxpr]) -> JaxprEqn:
    """Return the equation with each jaxpr among its parameters replaced by `changed[id(jaxpr)]`."""
    if all(changed[id(inner)] is inner for inner in jaxprs_in_params(eqn.params)):
        return eqn
    return eqn.replace(params={name: _replace_jaxprs(value, changed) for name, value in eqn.params.items()})


def _replace_jaxprs(value: Any, changed: dict[int, Jaxpr]) -> Any:
    if type(value) is Jaxpr:
        return changed[id(value)]
    if type(value) in (tuple, list):
        return type(value)(changed[id(v)] if type(v) is Jaxpr else v for v in value)
    return value


def count_eqns(jaxpr: Jaxpr) -> int:
    """Return the number of equations of `jaxpr`; an inner jaxpr counts once for each equation that holds it.

    >>> from calque_core import ShapedArray, count_eqns, stage
    >>> from calque_core.lax import cos, sin
    >>> count_eqns(stage(lambda x: [sin(cos(x))], [ShapedArray((), "float64")]))
    2
    """
    counts: dict[int, int] = {}
    for inner in nested_jaxprs(jaxpr):
        counts[id(inner)] = len(inner.eqns) + sum(counts[id(child)] for child in subjaxprs(inner))
    return counts[id(jaxpr)]
