"""The Taylor series of programs, for the rules of primitives that hold programs.

One idea: a program of values becomes a program of values and coefficients.  A mask for each
value marks its nonzero coefficients: a zero coefficient is neither an argument nor a result.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from calque_core import Jaxpr, current_trace, eval_jaxpr, stage, tracing
from calque_core.extend import merged, settings_key
from calque_jet.jet_trace import JetTrace
from calque_jet.series import Coefficient, Series, instantiate

Value = Any
Mask = tuple[bool, ...]


def masks_of(series: Sequence[Series]) -> list[Mask]:
    """Return a mask of the nonzero coefficients for each series."""
    return [tuple(c is not None for c in s) for s in series]


def nonzeros(series: Sequence[Series]) -> list[Value]:
    """Return the nonzero coefficients of all series, in order."""
    return [c for s in series for c in s if c is not None]


def with_zeros(coefficients: Iterable[Value], masks: Sequence[Mask]) -> list[Series]:
    """Return series from their nonzero coefficients: the inverse of `nonzeros`."""
    remaining = iter(coefficients)
    return [merged(mask, remaining) for mask in masks]


def union_of_masks(masks: Sequence[Sequence[Mask]]) -> list[Mask]:
    """Return, for each value, the mask of the coefficients that some list of masks marks."""
    return [tuple(map(any, zip(*value_masks))) for value_masks in zip(*masks)]


def fill_zeros(primal: Value, coefficients: Series, mask: Mask) -> list[Coefficient]:
    """Return the coefficients, with zeros in place of None where `mask` is set."""
    return [instantiate(primal, c) if m else c for c, m in zip(coefficients, mask)]


def run_jet(jaxpr: Jaxpr, primals: Sequence[Value], series: Sequence[Series]) -> tuple[list[Value], list[Series]]:
    """Return the results of `jaxpr` and their series, by running its equations."""
    trace = JetTrace(current_trace(), len(series[0]))
    with tracing(trace):
        return trace.split(eval_jaxpr(jaxpr, jaxpr.consts, *map(trace.value, primals, series)))


def jet_jaxpr(
    jaxpr: Jaxpr, masks: Sequence[Mask], instantiate: Sequence[Mask] | None = None
) -> tuple[Jaxpr, list[Mask]]:
    """Return the program of the Taylor series of `jaxpr`, and masks of the coefficients of its results.

    It takes the primals, then the coefficients that `masks` marks, in the order of the arguments; it returns the
    results, then their coefficients that are not identically zero, or that `instantiate` marks.

    >>> from calque_jet import jet_jaxpr
    >>> from calque_core import make_jaxpr
    >>> jet_jaxpr(make_jaxpr(lambda x: -x)(1.0), [(False, True)])
    ({ lambda ; a:f64[] b:f64[]. let c:f64[] = neg a; d:f64[] = neg b in (c, d) }, [(False, True)])
    """
    mask_key = tuple(masks)
    required = None if instantiate is None else tuple(instantiate)

    def make() -> tuple[Jaxpr, list[Mask]]:
        out_masks: list[Mask] = []

        def expanded(*args: Value) -> list[Value]:
            outs, out_series = run_jet(jaxpr, args[: len(mask_key)], with_zeros(args[len(mask_key) :], mask_key))
            if required is not None:
                out_series = [fill_zeros(x, s, mask) for x, s, mask in zip(outs, out_series, required)]
            out_masks[:] = masks_of(out_series)
            return [*outs, *nonzeros(out_series)]

        avals = [v.aval.to_tangent_aval() for v, mask in zip(jaxpr.invars, mask_key) for m in mask if m]
        return stage(expanded, [*jaxpr.in_avals, *avals], verb="jet"), out_masks

    return jaxpr.memo(("jet", mask_key, required, *settings_key()), make)  # type: ignore[no-any-return]
