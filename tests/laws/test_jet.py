"""Taylor series of every program: against jvp of jvp, and through jit, vmap, scan and differentiation."""

from __future__ import annotations

from functools import reduce
from math import factorial

import numpy as np
import pytest
from agreement import assert_close, directions, unit_roundoff
from branches import BRANCHES
from composites import COMPOSITES
from loops import COUNTED, WHILES
from operations import OPERATIONS
from scans import MAPPINGS, SCANS
from transformations import PLAIN, TRANSFORMATIONS, batch_of, is_mapped

from calque_autodiff import jvp
from calque_core import check_jaxpr, eval_jaxpr, lax, make_jaxpr, typeof
from calque_jet import jet
from calque_pytree import tree_leaves

OPERATION_ROWS = [program for rows in OPERATIONS.values() for program in rows]
FLOW = [row.on(lax) for row in [*BRANCHES, *SCANS, *MAPPINGS, *COUNTED, *WHILES]]
FEWER = [*(rows[0] for rows in list(OPERATIONS.values())[::3]), *COMPOSITES[::4], *FLOW[::8]]
NAMES = ["jit", "vmap", "vjp"]
ORDER = 4


def each(programs):
    return pytest.mark.parametrize("program", programs, ids=[program.name for program in programs])


def dtype_of(program):
    return "float64" if "float64" in program.dtypes else program.dtypes[-1]


def example_of(program):
    return program.example(dtype_of(program))


def series_along(xs, order, seed=1):
    """Return random derivatives of a curve through `xs`: one list for each."""
    return list(map(list, zip(*(directions(xs, seed + 100 * k) for k in range(order)))))


def expanded(fun, order):
    """Return a function of the same arguments that gives the values and all derivatives, flat."""

    def run(*xs):
        outs, series = jet(lambda *args: fun(*args), xs, series_along(xs, order))
        return [*outs, *(d for derivatives in series for d in derivatives)]

    return run


def nested(fun, order):
    """Return what `expanded` gives, by jvp of jvp of the function along the curve."""

    def run(*xs):
        series = series_along(xs, order)

        def along(t):
            return fun(*[moved(x, s, t) for x, s in zip(xs, series)])

        outs, tower = [], along
        for _ in range(order + 1):
            outs.append(tower(np.float64(0.0)))
            tower = slope(tower)
        return [*outs[0], *(d for derivatives in zip(*outs[1:]) for d in derivatives)]

    return run


def slope(along):
    return lambda t: jvp(along, (t,), (np.float64(1.0),))[1]


def moved(x, derivatives, t):
    """Return x(t), in the dtype of x; what is not floating stays where it is."""
    if typeof(x).dtype.kind not in "fc":
        return x
    powers = [lax.convert_element_type(lax.integer_pow(t, k), typeof(x).dtype) for k in range(1, len(derivatives) + 1)]
    terms = [d / factorial(k) * p for k, (d, p) in enumerate(zip(derivatives, powers), 1)]
    return reduce(lax.add, terms, x)


def check(got, want, leaves, factor=3000):
    """Check results whose roundoff is that of the narrowest dtype that had a part in them."""
    assert_close(got, want, factor * unit_roundoff([np.float64(0.0), *leaves, *want]))


@pytest.mark.sampled(keep=1.0, rows=["program"])
@each([*OPERATION_ROWS, *COMPOSITES, *FLOW])
def test_jet_is_nested_jvp(program):
    example = example_of(program)
    check(expanded(example, ORDER)(*example.leaves), nested(example, ORDER)(*example.leaves), example.leaves)


@pytest.mark.sampled(keep=1.0, rows=["program"])
@each([*OPERATION_ROWS, *COMPOSITES, *FLOW])
def test_derivatives_that_are_zero_may_be_left_out(program, sample):
    example = example_of(program)
    series = series_along(example.leaves, ORDER)
    for is_kept in sample([lambda i, k: k == 0, lambda i, k: k % 2 == 1, lambda i, k: i == 0], 0.3):
        stated = [
            [d if is_kept(i, k) else 0 for k, d in enumerate(derivatives)] for i, derivatives in enumerate(series)
        ]
        whole = [
            [d if is_kept(i, k) else np.zeros_like(d) for k, d in enumerate(derivatives)]
            for i, derivatives in enumerate(series)
        ]
        got, want = (tree_leaves(jet(lambda *xs: example(*xs), example.leaves, s)) for s in (stated, whole))
        check(got, want, example.leaves)


@each(FEWER)
def test_a_staged_jet_is_well_typed(program):
    example = example_of(program)
    jaxpr = make_jaxpr(expanded(example, 3))(*example.leaves)
    check_jaxpr(jaxpr)
    got = eval_jaxpr(jaxpr, jaxpr.consts, *example.leaves)
    check(got, expanded(example, 3)(*example.leaves), example.leaves)


@pytest.mark.sampled(keep=0.1, rows=["program"])
@pytest.mark.parametrize("name", NAMES)
@each(FEWER)
def test_transformations_of_jet(program, name):
    example, mapped, leaves = stacked(program, name)
    got = TRANSFORMATIONS[name](expanded(example, 2), mapped)(*leaves)
    check(got, PLAIN[name](nested(example, 2), mapped)(*leaves), leaves)


@pytest.mark.sampled(keep=0.1, rows=["program"])
@pytest.mark.parametrize("name", NAMES)
@each(FEWER)
def test_jet_of_transformations(program, name):
    example, mapped, leaves = stacked(program, name)
    got = expanded(TRANSFORMATIONS[name](example, mapped), 2)(*leaves)
    check(got, nested(PLAIN[name](example, mapped), 2)(*leaves), leaves)


def stacked(program, name):
    """Return an example, which of its leaves are mapped, and leaves for it under a transformation."""
    example = example_of(program)
    return example, [is_mapped(x) for x in example.leaves], batch_of(program, dtype_of(program), name == "vmap")


@each(COMPOSITES)
def test_jet_in_a_loop(program):
    example = example_of(program)
    rows = batch_of(program, dtype_of(program), 1)
    mapped = [i for i, x in enumerate(example.leaves) if is_mapped(x)]

    def step(_, slices):
        xs = list(example.leaves)
        for i, x in zip(mapped, slices):
            xs[i] = x
        return None, tuple(expanded(example, 2)(*xs))

    _, got = lax.scan(step, None, [rows[i] for i in mapped])
    check(got, PLAIN["vmap"](expanded(example, 2), [is_mapped(x) for x in example.leaves])(*rows), example.leaves)


@each(COMPOSITES)
def test_jet_of_jet(program):
    example = example_of(program)
    got, want = (outer(inner(example, 2), 2)(*example.leaves) for outer, inner in ((expanded,) * 2, (nested,) * 2))
    check(got, want, example.leaves, 30000)
