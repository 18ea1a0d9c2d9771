"""Rows: sparse derivatives beside asdex, on standard problems: detection, colours, a compiled derivative.

One idea: the problems are plain functions of one vector, written with either library's NumPy, so both see one program.
Read next: `table.py`; the package `calque_sparse`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from kits import installed
from measure import Effort, Samples, race
from table import row

SIDE = 100  # of the grids: 10,000 unknowns
sparse_row = partial(row, needs="calque_xla_backend", budget=1.0, asdex=1.0)
Problem = Callable[[Any], Callable[[Any], Any]]


def around(xp: Any, w: Any) -> Any:
    return xp.roll(w, 1, 0) + xp.roll(w, -1, 0) + xp.roll(w, 1, 1) + xp.roll(w, -1, 1)


def brusselator(xp: Any) -> Callable[[Any], Any]:
    """Two fields on a periodic grid.  Shapes: y [2 * 50 * 100] -> the same."""

    def f(y: Any) -> Any:
        u, v = y.reshape(2, SIDE // 2, SIDE)
        reaction = u * u * v
        u_rate = 1.0 - 4.4 * u + reaction + around(xp, u) - 4.0 * u
        v_rate = 3.4 * u - reaction + around(xp, v) - 4.0 * v
        return xp.stack([u_rate, v_rate]).ravel()

    return f


def heat(xp: Any) -> Callable[[Any], Any]:
    """The five-point Laplacian on a grid, and a source."""

    def f(y: Any) -> Any:
        w = y.reshape(SIDE, SIDE)
        padded = xp.pad(w, 1)
        sums = padded[2:, 1:-1] + padded[:-2, 1:-1] + padded[1:-1, 2:] + padded[1:-1, :-2]
        return (sums - 4.0 * w + xp.exp(w)).ravel()

    return f


def chain(xp: Any) -> Callable[[Any], Any]:
    """Broyden's tridiagonal function."""

    def f(y: Any) -> Any:
        padded = xp.pad(y, 1)
        return (3.0 - 2.0 * y) * y - padded[:-2] - 2.0 * padded[2:] + 1.0

    return f


def rosenbrock(xp: Any) -> Callable[[Any], Any]:
    """Return y -> a number whose Hessian is tridiagonal."""
    return lambda y: xp.sum(100.0 * (y[1:] - y[:-1] ** 2) ** 2 + (1.0 - y[:-1]) ** 2)


def surface(xp: Any) -> Callable[[Any], Any]:
    """Return y -> the area of the graph of a grid, a number."""

    def f(y: Any) -> Any:
        w = y.reshape(SIDE, SIDE)
        across, down = w[1:, :-1] - w[:-1, :-1], w[:-1, 1:] - w[:-1, :-1]
        return xp.sum(xp.sqrt(1.0 + across * across + down * down))

    return f


JACOBIANS = {"Broyden": chain, "heat": heat, "Brusselator": brusselator}
HESSIANS = {"Rosenbrock": rosenbrock, "surface": surface}


def arguments() -> Any:
    return np.random.default_rng(0).normal(size=SIDE * SIDE)


def both(problem: Problem, kind: str) -> dict[str, tuple[Any, Any, Any]]:
    """Return for each library that is installed: detection, the number of colours, and the compiled derivative."""
    import calque_sparse
    from calque_xla_backend import jit

    y, ours = arguments(), problem(np)
    prepared = getattr(calque_sparse, f"prepare_{kind}")(ours, y)
    detect, compiled, device = getattr(calque_sparse, f"{kind}_sparsity"), jit(prepared), jit(np.copy)(y)

    def run() -> Any:
        return compiled(device).values.block_until_ready()

    contestants = {"calque": (lambda: detect(ours, y), prepared.coloring.num_colors, run)}
    if installed("asdex"):
        contestants["asdex"] = by_asdex(problem, kind, prepared(y).to_scipy())
    return contestants


def by_asdex(problem: Problem, kind: str, expected: Any) -> tuple[Any, Any, Any]:
    import asdex
    import jax

    jax.config.update("jax_enable_x64", True)
    y, f = jax.numpy.asarray(arguments()), problem(jax.numpy)
    coloring = getattr(asdex, f"{kind}_coloring")(f, y)
    compiled = jax.jit(getattr(asdex, f"{kind}_from_coloring")(f, coloring))
    check(expected, compiled(y))
    detect = getattr(asdex, f"{kind}_sparsity")
    return lambda: detect(f, y), coloring.num_colors, lambda: jax.block_until_ready(compiled(y).data)


def check(ours: Any, theirs: Any) -> None:
    """Check that both libraries give the same matrix."""
    difference = ours - theirs_in_scipy(theirs, ours.shape)
    assert abs(difference).max() <= 1e-9 * abs(ours).max()


def theirs_in_scipy(matrix: Any, shape: tuple[int, int]) -> Any:
    from scipy.sparse import coo_array

    rows, columns = np.asarray(matrix.indices).T
    return coo_array((np.asarray(matrix.data), (rows, columns)), shape=shape).tocsr()


def colours_of(problem: Problem, kind: str, effort: Effort) -> Samples:
    return {name: [float(parts[1])] for name, parts in both(problem, kind).items()}


def detection_of(problem: Problem, kind: str, effort: Effort) -> Samples:
    """Return the milliseconds of detection, the least of three in each round: a call takes longer than a batch."""
    contestants = both(problem, kind)
    samples: Samples = {name: [] for name in contestants}
    for _ in range(effort.rounds):
        for name, parts in contestants.items():
            samples[name].append(min(map(seconds, [parts[0]] * 3)) * 1e3)
    return samples


def seconds(run: Callable[[], Any]) -> float:
    start = perf_counter()
    run()
    return perf_counter() - start


def derivative_of(problem: Problem, kind: str, effort: Effort) -> Samples:
    return race(effort, {name: parts[2] for name, parts in both(problem, kind).items()}, per=1, unit=1e-6)


def add_rows(kind: str, name: str, problem: Problem) -> None:
    """Register the three rows of a problem."""
    named = f"sparse {kind} of {name}"
    sparse_row(f"{named}: colours", "colours")(lambda effort: colours_of(problem, kind, effort))
    sparse_row(f"{named}: detection", "ms")(lambda effort: detection_of(problem, kind, effort))
    sparse_row(f"{named}: compiled", "us")(lambda effort: derivative_of(problem, kind, effort))


for kind, problems in (("jacobian", JACOBIANS), ("hessian", HESSIANS)):
    for name, problem in problems.items():
        add_rows(kind, name, problem)
