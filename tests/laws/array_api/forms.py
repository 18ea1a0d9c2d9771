"""One program of the array API computed in each form that arrays have: NumPy's, a device's, traced.

One idea: a program takes the namespace that it shall use, so NumPy, which conforms to the standard, computes what is
right, and calque_numpy computes it by evaluation, as a trace and by XLA.  The tables say which dtypes the standard
promises.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from agreement import types_of

import calque_numpy
from calque_core import check_jaxpr, eval_jaxpr, make_jaxpr
from calque_core.config import disable_jit
from calque_pytree import tree_flatten, tree_leaves, tree_map
from calque_xla_backend import device_put, jit

Program = Callable[..., Any]


def evaluated(program: Program, *args: Any) -> Any:
    """Compute by calque's own functions: under other settings than the default, NumPy's do not stand in."""
    with disable_jit():
        return program(calque_numpy, *args)


def traced(program: Program, *args: Any) -> Any:
    """Return the results of the traced program, evaluated; its types must be those of the trace."""
    trees = []

    def leaves(*xs: Any) -> list[Any]:
        out, tree = tree_flatten(program(calque_numpy, *xs))
        trees.append(tree)
        return out

    jaxpr = make_jaxpr(leaves)(*args)
    check_jaxpr(jaxpr)
    outs = eval_jaxpr(jaxpr, jaxpr.consts, *tree_flatten(args)[0])
    assert [(x.shape, x.dtype) for x in outs] == [(aval.shape, aval.dtype) for aval in jaxpr.out_avals]
    return trees[0].unflatten(outs)


def on_a_device(program: Program, *args: Any) -> Any:
    return program(calque_numpy, *device_put(args))


def compiled(program: Program, *args: Any) -> Any:
    return jit(partial(program, calque_numpy))(*args)


def expected(program: Program, *args: Any) -> Any:
    """Return NumPy's results, scalars as arrays."""
    with np.errstate(all="ignore"):
        return tree_map(np.asarray, program(np, *args))


def assert_conforms(program: Program, *args: Any, ulps: float = 4.0, by: tuple[Callable[..., Any], ...] = ()) -> None:
    """Check NumPy's types exactly, and its values to a number of ulps of the largest in the array."""
    want = expected(program, *args)
    for form in by or (evaluated, traced):
        with np.errstate(all="ignore"):
            got = form(program, *args)
        assert_alike(got, want, ulps if form in (evaluated, traced) else 64.0)


def assert_alike(got: Any, want: Any, ulps: float) -> None:
    assert types_of(got) == types_of(want)
    for x, y in zip(tree_leaves(got), tree_leaves(want), strict=True):
        eps = np.finfo(y.dtype).eps if y.dtype.kind in "fc" else 0
        size = np.abs(y[np.isfinite(y)]).max(initial=0) if eps else 0
        np.testing.assert_allclose(np.asarray(x), y, rtol=0, atol=float(ulps * eps * size))
