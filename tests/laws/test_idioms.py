"""One-line idioms of NumPy's users run unchanged under `grad`, `vmap` and `jit`, or are refused with a way out.

A derivative is compared with differences of the plain NumPy function, a mapped function with a stack, a compiled one
with NumPy, dtypes and shapes exactly.  The idioms of one group are compiled as one program.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np
import pytest
from agreement import assert_close, assert_same
from idioms import EDGES, GROUPS, Idiom

import calque.numpy
from calque import grad, jit, vmap
from calque_pytree import tree_leaves, tree_map

ROWS = [row for rows in GROUPS.values() for row in rows]
SINGLE = ("dtype of a ufunc", "x.astype", "constants of NumPy on the left")  # they compute in 32 bits
EXAMPLES = range(3)


def works(row: Idiom, *transforms: str) -> bool:
    return row.name not in EDGES or not set(transforms) & set(EDGES[row.name].refused_by)


def weighted(row: Idiom, *args: Any) -> Any:
    """Return a number that every element of the results of an idiom changes."""
    total = 0.0
    for k, leaf in enumerate(tree_leaves(row.fun(*args))):
        weights = np.cos(np.arange(np.size(leaf)) + k + 1.0).reshape(np.shape(leaf))
        total = total + np.sum(weights * leaf)
    return total


def derivative(row: Idiom) -> Any:
    """Return the function that returns the derivatives of `weighted` with respect to each argument."""
    return grad(lambda *args: weighted(row, *args), tuple(range(len(row.makers))))


def slopes(row: Idiom, args: list[Any]) -> list[Any]:
    """Return the derivatives of `weighted` by central differences."""
    step = 1e-2 if row.name in SINGLE else 1e-5
    out = [np.zeros(np.shape(x)) for x in args]
    for n, x in enumerate(args):
        for i in np.ndindex(np.shape(x)):
            moved = np.zeros(np.shape(x))
            moved[i] = step
            up, down = (weighted(row, *args[:n], x + s * moved, *args[n + 1 :]) for s in (1, -1))
            out[n][i] = (up - down) / (2 * step)
    return out


def tolerance(row: Idiom) -> float:
    return 1e-5 if row.name in SINGLE else 1e-10


def stacked(trees: list[Any]) -> Any:
    return tree_map(lambda *leaves: np.stack(leaves), *trees)


@pytest.mark.sampled(keep=0.3)
@pytest.mark.parametrize("row", [row for row in ROWS if works(row, "grad")], ids=lambda row: row.name)
def test_a_derivative_is_that_of_differences(row):
    args = row.example(0)
    want = slopes(row, args)
    assert_close(list(derivative(row)(*args)), want, 1e-2 if row.name in SINGLE else 1e-6)


@pytest.mark.sampled(keep=0.3)
@pytest.mark.parametrize("row", [row for row in ROWS if works(row, "vmap")], ids=lambda row: row.name)
def test_a_mapped_idiom_is_the_stack_of_single_ones(row):
    examples = [row.example(seed) for seed in EXAMPLES]
    first, *_, again = [vmap(row.fun)(*stacked(examples)) for _ in range(4)]  # the last one runs by plans
    assert_close(first, stacked([row.fun(*args) for args in examples]), tolerance(row))
    assert_same(again, first)


@pytest.mark.sampled(keep=0.3)
@pytest.mark.parametrize("row", [row for row in ROWS if works(row, "vmap", "grad")], ids=lambda row: row.name)
def test_mapped_derivatives_are_a_stack_too(row):
    examples = [row.example(seed) for seed in EXAMPLES]
    singles = stacked([derivative(row)(*args) for args in examples])
    assert_close(vmap(derivative(row))(*stacked(examples)), singles, tolerance(row))


@pytest.mark.sampled(keep=0.2)
@pytest.mark.parametrize("name", GROUPS)
def test_compiled_idioms_are_numpys(name):
    rows = [row for row in GROUPS[name] if works(row, "jit")]
    args = [row.example(0) for row in rows]
    outs = jit(lambda args: [row.fun(*xs) for row, xs in zip(rows, args)])(args)
    for row, xs, out in zip(rows, args, outs, strict=True):
        assert_close(out, row.fun(*xs), tolerance(row))


@pytest.mark.sampled(keep=0.2)
@pytest.mark.parametrize("name", GROUPS)
def test_derivatives_of_compiled_idioms_are_those_of_plain_ones(name):
    rows = [row for row in GROUPS[name] if works(row, "jit", "grad")]
    args = [row.example(0) for row in rows]

    def total(args):
        return sum(weighted(row, *xs) for row, xs in zip(rows, args))

    for row, got, want in zip(rows, grad(jit(total))(args), grad(total)(args), strict=True):
        assert_close(got, want, tolerance(row))


TRANSFORMS = {"grad": derivative, "vmap": lambda row: vmap(row.fun), "jit": lambda row: jit(row.fun)}


@pytest.mark.parametrize("row", [row for row in ROWS if row.name in EDGES], ids=lambda row: row.name)
def test_an_idiom_that_cannot_work_is_refused_with_a_way_out(row):
    for name in EDGES[row.name].refused_by:
        args = row.example(0) if name != "vmap" else stacked([row.example(seed) for seed in EXAMPLES])
        with pytest.raises((TypeError, IndexError), match=EDGES[row.name].words):
            TRANSFORMS[name](row)(*args)


def by_the_front(row: Idiom) -> Idiom:
    """Return an idiom as a program with `import calque.numpy as np` has it."""
    fun: Any = row.fun
    names = fun.__globals__ | {"np": calque.numpy}
    return row._replace(fun=FunctionType(fun.__code__, names, fun.__name__, fun.__defaults__, fun.__closure__))


OF_NUMPY_ALONE = (
    "full of a value", "array of elements", "array of a list that was filled", "asarray on entry", "r_", "c_",
    "vectorize",
)  # fmt: skip


@pytest.mark.parametrize("row", [row for row in ROWS if row.name in OF_NUMPY_ALONE], ids=lambda row: row.name)
def test_functions_that_numpy_does_not_dispatch_work_by_the_front(row):
    ours, args = by_the_front(row), row.example(0)
    assert_close(list(derivative(ours)(*args)), slopes(row, args), 1e-6)
    assert_close(jit(ours.fun)(*args), row.fun(*args), tolerance(row))
    examples = [row.example(seed) for seed in EXAMPLES]
    assert_close(vmap(ours.fun)(*stacked(examples)), stacked([row.fun(*each) for each in examples]), tolerance(row))


def test_of_twenty_idioms_nineteen_work_as_they_are_or_by_the_front():
    refused = set(EDGES) - set(OF_NUMPY_ALONE)
    assert len(ROWS) == 179
    assert 1 - len(refused) / len(ROWS) > 0.95


def test_every_edge_is_an_idiom():
    assert {row.name for row in ROWS} >= set(EDGES)
