"""Exchanges over several named axes, one after the other, as one exchange.

One idea: core's `all_gather(x, ("i", "j"))` is an equation for each name, and each would send the data again.  Before a
program is lowered, a chain of them becomes one equation whose `axis_name` is a tuple of names, the slowest first.

Read next: `rules/meshes/exchange.py`, which lowers these equations.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from calque_core import Jaxpr, JaxprEqn, Var
from calque_core.engine import rebuild
from calque_core.lax import all_gather_invariant_p, all_gather_p, all_to_all_p, psum_scatter_p

AxisName = Any
Names = tuple[AxisName, ...]

_GATHERS = (all_gather_p, all_gather_invariant_p)
_EXCHANGES = frozenset((*_GATHERS, psum_scatter_p, all_to_all_p))


def names_of_exchange(axis_name: AxisName) -> Names:
    """Return the axes of an exchange: its parameter `axis_name` is one name, or a tuple of them."""
    return axis_name if isinstance(axis_name, tuple) else (axis_name,)


def join_exchanges(jaxpr: Jaxpr) -> Jaxpr:
    """Return a program and the programs inside it with one equation for each chain of exchanges.

    >>> from calque_core import lax, make_jaxpr
    >>> jaxpr = make_jaxpr(lambda x: lax.all_gather(x, ("i", "j")), axis_env=[("i", 4), ("j", 2)])(1.0)
    >>> [eqn.params["axis_name"] for eqn in join_exchanges(jaxpr).eqns if eqn.primitive is lax.all_gather_p]
    [('i', 'j')]
    """
    return jaxpr.memo("joined exchanges", lambda: rebuild(jaxpr, _joined))  # type: ignore[no-any-return]


def _joined(jaxpr: Jaxpr) -> Jaxpr:
    read = [*[eqn.invars for eqn in jaxpr.eqns], jaxpr.outvars]
    uses = Counter(x for atoms in read for x in atoms if type(x) is Var)
    exchanges: dict[Any, JaxprEqn] = {}  # by their results
    parts: set[Any] = set()  # the results of exchanges that became a part of the next one
    for eqn in jaxpr.eqns:
        if eqn.primitive in _EXCHANGES:
            (x,), (out,) = eqn.invars, eqn.outvars
            first = exchanges.get(x) if type(x) is Var and uses[x] == 1 else None
            both = None if first is None else _both(first, eqn)
            exchanges[out] = both or eqn
            if both is not None:
                parts.add(x)
    if not parts:
        return jaxpr
    eqns = [exchanges[eqn.outvars[0]] if eqn.primitive in _EXCHANGES else eqn for eqn in jaxpr.eqns]
    return jaxpr.replace(eqns=[eqn for eqn in eqns if not parts.intersection(eqn.outvars)])


def _both(first: JaxprEqn, second: JaxprEqn) -> JaxprEqn | None:
    """Return the equation of one exchange that is equal to two in a row, or None if there is none."""
    names, name = names_of_exchange(first.params["axis_name"]), second.params["axis_name"]
    axis, later = first.params["axis"], second.params["axis"]
    adjacent = axis + len(names) if first.primitive is all_to_all_p else axis
    if first.primitive is not second.primitive or name in names or later != adjacent:
        return None
    all_names = (name, *names) if first.primitive in _GATHERS else (*names, name)
    return second.replace(invars=first.invars, params={**second.params, "axis_name": all_names, "axis": axis})
