"""The transformations as functions from a flat function to a flat function of the same arguments.

One idea: tangents, cotangents and elements of a batch are fixed by seeds, so every transformation can be applied to
the result of every other, and what comes out can be compared with values and differences of the function itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from agreement import assert_close, differences, directions, inner, types_of, unit_roundoff
from jaxlib import version as jaxlib_version
from program import Example, Program

from calque_autodiff import checkpoint, jvp, linearize, vjp
from calque_batching import vmap
from calque_core import eval_jaxpr, float0, make_jaxpr, typeof
from calque_core.traces.tracer import is_tracer
from calque_xla_backend import jit

Value = Any
Function = Callable[..., list[Value]]
Mapped = Sequence[bool]


# XLA takes a third of its usual time with these.  Pairs ask what we make of a program; what its optimizer makes of it
# is the law of compilation, in which every program is compiled as users compile it.
QUICKLY = {"xla_backend_optimization_level": 0}
if jaxlib_version.__version_info__ < (0, 11):
    QUICKLY["xla_cpu_use_fusion_emitters"] = False  # later releases have one emitter


def compiled(fun: Function, mapped: Mapped) -> Function:
    return jit(fun, compiler_options=QUICKLY)


def staged(fun: Function, mapped: Mapped) -> Function:
    def run(*xs: Value) -> list[Value]:
        jaxpr = make_jaxpr(fun)(*xs)
        return eval_jaxpr(jaxpr, jaxpr.consts, *xs)

    return run


def rematerialized(fun: Function, mapped: Mapped) -> Function:
    return checkpoint(fun)


def batched(fun: Function, mapped: Mapped) -> Function:
    # The name of the axis is one thing more that has to be found by programs inside, and left as it was.
    return vmap(fun, in_axes=tuple(0 if m else None for m in mapped), axis_name="batch")


def pushed(fun: Function, mapped: Mapped) -> Function:
    def run(*xs: Value) -> list[Value]:
        outs, out_dots = jvp(fun, xs, tuple(directions(xs, 1)))
        return without_float0([*outs, *out_dots])

    return run


def linearized(fun: Function, mapped: Mapped) -> Function:
    def run(*xs: Value) -> list[Value]:
        outs, f_lin = linearize(fun, *xs)
        return without_float0([*outs, *f_lin(*directions(xs, 1))])

    return run


def pulled(fun: Function, mapped: Mapped) -> Function:
    def run(*xs: Value) -> list[Value]:
        outs, f_vjp = vjp(fun, *xs)
        return without_float0([*outs, *f_vjp(directions(outs, 2))])

    return run


def without_float0(xs: Sequence[Value]) -> list[Value]:
    return [x for x in xs if typeof(x).dtype != float0]


TRANSFORMATIONS = {
    "jit": compiled,
    "make_jaxpr": staged,
    "checkpoint": rematerialized,
    "vmap": batched,
    "jvp": pushed,
    "linearize": linearized,
    "vjp": pulled,
}


def is_mapped(x: Value) -> bool:
    """Tell whether a leaf gets a batch axis; a Python scalar keeps its weak type by having none."""
    return type(x) not in (bool, int, float, complex)


def batch_of(program: Program, dtype: str, levels: int, seed: int = 0) -> list[Value]:
    """Return the leaves of examples stacked two by two, `levels` times."""
    if not levels:
        return program.example(dtype, seed).leaves
    pair = [batch_of(program, dtype, levels - 1, 2 * seed + i) for i in (1, 2)]
    return [np.stack(both) if is_mapped(both[0]) else both[0] for both in zip(*pair)]


def looped(fun: Function, mapped: Mapped) -> Function:
    """Return what `vmap(fun)` must compute, as a loop."""

    def run(*xs: Value) -> list[Value]:
        size = next(len(x) for x, m in zip(xs, mapped) if m)
        rows = [fun(*[x[i] if m else x for x, m in zip(xs, mapped)]) for i in range(size)]
        return [np.stack([x if is_tracer(x) else np.asarray(x) for x in column]) for column in zip(*rows)]

    return run


# What each transformation gives on concrete values, by means that other laws vouch for.
PLAIN = {
    "jit": lambda fun, mapped: fun,
    "make_jaxpr": lambda fun, mapped: fun,
    "checkpoint": lambda fun, mapped: fun,
    "vmap": looped,
    "jvp": pushed,
    "linearize": pushed,
    "vjp": pulled,
}


def check_stack(example: Example, names: Sequence[str], leaves: Sequence[Value], plain: Function | None = None) -> None:
    """Check the transformations `names`, outermost first, of a program against values and differences.

    What all but the outermost give is computed plainly; the outermost is compared with differences of that.  `plain`
    computes the program by other means, if there are any.
    """
    mapped = [is_mapped(x) for x in example.leaves]
    fun: Function = example
    plain = plain or example
    for name in reversed(names):
        fun, below, plain = TRANSFORMATIONS[name](fun, mapped), plain, PLAIN[name](plain, mapped)
    got = fun(*leaves)
    tolerance = 3000 * unit_roundoff([*leaves, *got])  # XLA computes sums in its own order
    if names[0] in ("jvp", "linearize"):
        outs = below(*leaves)
        assert_close(got[: len(outs)], outs, tolerance)
        slopes, error = differences(below, leaves, directions(leaves, 1))
        assert_close(got[len(outs) :], without_float0(slopes), 10 * error)  # of a derivative, if `below` is one
    elif names[0] == "vjp":
        check_adjoint(below, leaves, got, tolerance)
    else:
        assert_close(got, plain(*leaves), tolerance)


def check_adjoint(plain: Function, leaves: Sequence[Value], got: Sequence[Value], tolerance: float) -> None:
    """Check the cotangents at the end of `got` along a random direction: <u, J v> == <J^T u, v>."""
    outs = plain(*leaves)
    cts, dots = directions(outs, 2), directions(leaves, 3)
    bars = got[len(outs) :]
    assert_close(got[: len(outs)], outs, tolerance)
    assert types_of(bars) == types_of(without_float0(dots))
    slopes, error = differences(plain, leaves, dots)
    forward, size = inner(cts, slopes)
    backward, _ = inner(bars, without_float0(dots))
    np.testing.assert_allclose(backward, forward, rtol=0, atol=10 * error * (1 + size))
