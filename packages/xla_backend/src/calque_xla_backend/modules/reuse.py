"""The result that takes the memory of a donated argument.

One idea: XLA gives the memory to the first result of as many bytes, also to a constant or to a copy of another
argument.  So we name the result: one of the same type that the argument itself becomes, or that is computed from it.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from typing import Any

from calque_core import Jaxpr, Var
from calque_core.engine import here
from calque_core.extend import where


def reused_by(jaxpr: Jaxpr, donated: Collection[int]) -> dict[int, int]:
    """Return the numbers of donated arguments, each with the number of the result that takes its memory.

    An argument that no result of its type is computed from has a result of its type, if one is left.

    >>> import numpy as np
    >>> from calque_core import make_jaxpr
    >>> from calque_xla_backend.modules.reuse import reused_by
    >>> reused_by(make_jaxpr(lambda x: (np.zeros(3), x + 1.0))(np.ones(3)), [0])
    {0: 1}
    """
    computed_from = _sources(jaxpr, donated)
    free: dict[Any, list[int]] = {}
    for k, v in enumerate(jaxpr.outvars):
        if type(v) is Var:
            free.setdefault((v.aval.shape, v.aval.dtype), []).append(k)
    numbers = {v: k for k, v in enumerate(jaxpr.outvars) if type(v) is Var}
    reused: dict[int, int] = {}
    for fits in (
        lambda i, k: numbers.get(jaxpr.invars[i]) == k,
        lambda i, k: computed_from.get(jaxpr.outvars[k], 0) >> i & 1,
        lambda i, k: True,
    ):
        for i in donated:
            if i not in reused:
                aval = jaxpr.invars[i].aval
                results = free.get((aval.shape, aval.dtype), [])
                number = next((k for k in results if fits(i, k)), None)
                if number is not None:
                    reused[i] = number
                    results.remove(number)
    return reused


def warn_of_unused(avals: Sequence[Any]) -> None:
    """Warn of donated arguments whose memory no result takes, if the settings say so."""
    if avals and here().reports.unused_donations == "warn":
        warnings.warn(
            f"Some donated buffers were not usable: {', '.join(map(str, avals))}. No result{where()} has such a shape "
            "and dtype. Leave these arguments out of donate_argnums.",
            stacklevel=2,
        )


def _sources(jaxpr: Jaxpr, arguments: Collection[int]) -> dict[Any, int]:
    """Return, for each variable, the numbers of the arguments from which it is computed, as the bits of an integer."""
    sources: dict[Any, int] = {jaxpr.invars[i]: 1 << i for i in arguments}
    for eqn in jaxpr.eqns:
        bits = 0
        for v in eqn.invars:
            if type(v) is Var:
                bits |= sources.get(v, 0)
        if bits:
            sources.update(dict.fromkeys(eqn.outvars, bits))
    return sources
