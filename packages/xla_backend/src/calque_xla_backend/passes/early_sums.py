"""Sums along axes of an array before sums over devices: fewer bytes are sent.

One idea: `reduce_sum(psum(x))` is `psum(reduce_sum(x))`, and a derivative has the first form wherever an array that is
the same on all devices was broadcast, as the bias of a layer is.

Read next: `joined_exchanges.py`, another way to send less.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from calque_core import Jaxpr, JaxprEqn, Var
from calque_core.engine import rebuild
from calque_core.lax import psum_p, reduce_sum_p


def sum_elements_first(jaxpr: Jaxpr) -> Jaxpr:
    """Return a program, with the programs inside it, that sums elements of one device first where it can.

    >>> import numpy as np
    >>> from calque_core import lax, make_jaxpr
    >>> jaxpr = make_jaxpr(lambda x: lax.reduce_sum(lax.psum(x, "i"), (0,)), axis_env=[("i", 4)])(np.ones(3))
    >>> [eqn.primitive.name for eqn in sum_elements_first(jaxpr).eqns]
    ['reduce_sum', 'psum']
    """
    return jaxpr.memo("early sums", lambda: rebuild(jaxpr, _with_early_sums))  # type: ignore[no-any-return]


def _with_early_sums(jaxpr: Jaxpr) -> Jaxpr:
    read = [*[eqn.invars for eqn in jaxpr.eqns], jaxpr.outvars]
    uses = Counter(x for atoms in read for x in atoms if type(x) is Var)
    eqns: list[JaxprEqn] = []
    sums: dict[Any, JaxprEqn] = {}  # over devices, by their results
    moved: set[int] = set()  # the ids of sums over devices that came before a sum along axes
    for eqn in jaxpr.eqns:
        x = eqn.invars[0] if eqn.primitive is reduce_sum_p else None
        total = sums.get(x) if type(x) is Var and uses[x] == 1 else None
        if total is None:
            eqns.append(eqn)
        else:
            moved.add(id(total))
            eqns += _swapped(total, eqn)
        if eqns[-1].primitive is psum_p:
            sums[eqns[-1].outvars[0]] = eqns[-1]
    return jaxpr.replace(eqns=[eqn for eqn in eqns if id(eqn) not in moved]) if moved else jaxpr


def _swapped(total: JaxprEqn, part: JaxprEqn) -> list[JaxprEqn]:
    """Return the equations of a sum over devices and of a sum along axes of its result, in the other order."""
    element = Var(part.outvars[0].aval)
    return [
        part.replace(invars=total.invars, outvars=[element]),
        total.replace(invars=[element], outvars=part.outvars),
    ]
