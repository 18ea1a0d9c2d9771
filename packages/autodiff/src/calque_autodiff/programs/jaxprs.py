"""Derivatives of programs, for the rules of higher-order primitives.

One idea: each interprets the jaxpr under the trace that differentiates functions, staged once per mask and memoised on
the jaxpr.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_autodiff.known.tables import jvps, linearizations
from calque_autodiff.programs.recorded import Linearized, linearization, recorded_jvp
from calque_autodiff.programs.zeros import instantiate_results
from calque_core import (
    Jaxpr,
    Literal,
    Zero,
)
from calque_core.extend import is_nonzero, marked, settings_key, split_results

Value = Any


def jvp_jaxpr(
    jaxpr: Jaxpr, nonzeros: Sequence[bool], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[bool]]:
    """Return the program of `jaxpr` and its derivative, and a mask of the results with a tangent.

    It takes the primals, then the tangents of the primals that `nonzeros` marks; it returns the primal results, then
    the tangents that are not identically zero, or that `instantiate` marks.

    >>> from calque_autodiff import jvp_jaxpr
    >>> from calque_core import make_jaxpr
    >>> jvp_jaxpr(make_jaxpr(lambda x: -x)(1.0), [True])
    ({ lambda ; a:f64[] b:f64[]. let c:f64[] = neg a; d:f64[] = neg b in (c, d) }, [True])
    """
    mask = tuple(nonzeros)

    def make() -> tuple[Jaxpr, list[bool]]:
        return recorded_jvp(jaxpr, mask, jvps)

    derived = jaxpr.memo(("jvp", mask, *settings_key()), make)
    return instantiate_results(derived, instantiate, [v.aval.to_tangent_aval() for v in jaxpr.outvars])


def jvp_of_call(
    bind: Callable[..., Sequence[Value]], jaxpr: Jaxpr, primals: Sequence[Value], tangents: Sequence[Value]
) -> tuple[list[Value], list[Value]]:
    """Return the results of a call of `jaxpr` and their tangents, by one call of the program that computes both.

    `bind(*operands, jaxpr=program)` binds the primitive of the call.
    """
    nonzeros = is_nonzero(tangents)
    dual, out_mask = jvp_jaxpr(jaxpr, nonzeros)
    return split_results(bind(*primals, *marked(tangents, nonzeros), jaxpr=dual), out_mask)


def linearize_jaxpr(jaxpr: Jaxpr, nonzeros: Sequence[bool]) -> Linearized:
    """Return `jaxpr` as a program that computes its results and residuals, and one that is linear in the tangents.

    A result of the linear program that is identically zero is a literal `Zero`.

    >>> from calque_autodiff import linearize_jaxpr
    >>> from calque_core import lax, make_jaxpr
    >>> linearize_jaxpr(make_jaxpr(lax.exp)(1.0), [True]).linear
    { lambda ; a:f64[] b:f64[]. let c:f64[] = mul b a in (c,) }
    """
    mask = tuple(nonzeros)
    key = ("linearize", mask, *settings_key())
    return jaxpr.memo(key, lambda: linearization(jaxpr, mask, linearizations))  # type: ignore[no-any-return]


def linearized_call(jaxpr: Jaxpr, nonzeros: Sequence[bool]) -> tuple[Linearized, list[bool]]:
    """Return `linearize_jaxpr` with a linear program of the tangents that are not identically zero, and their mask."""

    def make() -> tuple[Linearized, list[bool]]:
        halves = linearize_jaxpr(jaxpr, nonzeros)
        outvars = halves.linear.outvars
        out_mask = [type(v) is not Literal or type(v.val) is not Zero for v in outvars]
        return halves._replace(linear=halves.linear.replace(outvars=marked(outvars, out_mask))), out_mask

    return jaxpr.memo(("linearized call", tuple(nonzeros), *settings_key()), make)  # type: ignore[no-any-return]
