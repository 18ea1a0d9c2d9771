"""Programs with results that are zero.

One idea: programs of one loop or one `cond` return the same results, but may compute some of them only.  The missing
results are zeros, which are added to a program that is traced already.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calque_core import Atom, Jaxpr, stage
from calque_core.engine import Mask, zeros_of
from calque_core.extend import marked, merged, unmarked


def with_zeros(jaxpr: Jaxpr, outvars: Sequence[Atom | None], zero_avals: Sequence[Any]) -> Jaxpr:
    """Return `jaxpr` with the results `outvars`, where zeros of the types `zero_avals` stand for `None`.

    >>> from calque_core import make_jaxpr, typeof
    >>> jaxpr = make_jaxpr(lambda x: -x)(1.0)
    >>> with_zeros(jaxpr, [None, *jaxpr.outvars], [typeof(1.0).to_tangent_aval()])
    { lambda ; a:f64[]. let b:f64[] = neg a in (0.0, b) }
    """
    if not zero_avals:
        return jaxpr.replace(outvars=outvars)
    zeros = stage(lambda: [zeros_of(aval) for aval in zero_avals], [], verb="zeros")
    return jaxpr.replace(
        constvars=(*jaxpr.constvars, *zeros.constvars),
        consts=(*jaxpr.consts, *zeros.consts),
        eqns=(*jaxpr.eqns, *zeros.eqns),
        outvars=merged([v is not None for v in outvars], [v for v in outvars if v is not None], zeros.outvars),
    )


def instantiate_results(
    derived: tuple[Jaxpr, Mask], instantiate: bool | Sequence[bool], avals: Sequence[Any]
) -> tuple[Jaxpr, Mask]:
    """Return `derived` with the results that `instantiate` marks too; missing results are zeros.

    `derived` is a program and a mask of its last results: of the results of types `avals`, the program returns the
    marked, nonzero results.
    """
    program, mask = derived
    required = (instantiate,) * len(mask) if isinstance(instantiate, bool) else tuple(instantiate)
    present = [m or r for m, r in zip(mask, required)]
    if present == mask:
        return derived

    def make() -> tuple[Jaxpr, Mask]:
        count = len(program.outvars) - sum(mask)
        last = marked(merged(mask, program.outvars[count:]), present)
        zero_avals = marked(unmarked(avals, mask), unmarked(present, mask))
        return with_zeros(program, [*program.outvars[:count], *last], zero_avals), present

    return program.memo(("instantiate", required), make)  # type: ignore[no-any-return]
