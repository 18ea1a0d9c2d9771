"""Lowering of branches against their evaluation, and of branches and loops inside one another."""

import numpy as np
import pytest

from calque_core import lax, make_jaxpr
from calque_xla_backend import jit
from calque_xla_backend.modules.module import lower_jaxpr_to_module

pytestmark = pytest.mark.sampled(keep=0.1)

INDICES = [np.int32(i) for i in (-(2**31), -1, 0, 1, 2, 3, 2**31 - 1)]


def test_cond_compiles_to_what_it_evaluates_to(regime, dtypes_of, check_compiled):
    program = lambda p, x, y: lax.cond(p, lambda x, y: (x, y, x + y), lambda x, y: (y, x, x), x, y)
    cases = [
        (p, np.arange(3).astype(dtype), np.ones(3, dtype)) for p in (np.True_, np.False_) for dtype in dtypes_of("iufc")
    ]
    check_compiled(program, cases)


@pytest.mark.parametrize("count", [2, 3, 7])
def test_switch_takes_the_nearest_branch(count, regime, check_compiled):
    branches = [lambda x, k=k: (x * k, x.sum() + k, k) for k in range(count)]
    program = lambda i, x: lax.switch(i, branches, x)
    check_compiled(program, [(i, np.arange(3, dtype=np.int32)) for i in INDICES])


def test_a_switch_of_one_branch_is_that_branch(check_compiled):
    check_compiled(lambda i, x: lax.switch(i, [lambda x: x * 2], x), [(i, np.arange(3)) for i in INDICES])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "uint64"])
def test_an_index_of_any_integer_dtype(dtype, check_compiled):
    branches = [lambda: 10, lambda: 20, lambda: 30]
    check_compiled(lambda i: lax.switch(i, branches), [(np.array(i, dtype)[()],) for i in (0, 1, 2, 100)])


def test_branches_close_over_tracers_and_arrays(check_compiled):
    table = np.arange(3.0)

    def program(i, x, y):
        z = x * y
        return lax.switch(i, [lambda v: v + z, lambda v: v * table, lambda v: y - table, lambda v: z], x)

    check_compiled(program, [(i, np.arange(3.0), np.full(3, 2.0)) for i in INDICES])


def test_branches_without_results_or_operands(check_compiled):
    check_compiled(lambda p, x: (lax.cond(p, lambda: None, lambda: None), x), [(np.True_, 1.0)])
    check_compiled(lambda p: lax.cond(p, lambda: 1.0, lambda: 2), [(np.True_,), (np.False_,)])


def test_operands_that_branches_return_untouched_twice(check_compiled):
    program = lambda p, x, y: lax.cond(p, lambda x, y: (x, x, y), lambda x, y: (y, x, y), x, y)
    check_compiled(program, [(p, np.arange(2), np.ones(2, int)) for p in (np.True_, np.False_)])


def test_a_branch_that_is_not_taken_does_not_run():
    """The loop of the other branch would not end."""
    forever = lambda x: lax.while_loop(lambda x: x > 0.0, lambda x: x + 1.0, x)
    program = jit(lambda x: lax.cond(x < 5.0, lambda x: -x, forever, x))
    assert float(program(2.0)) == -2.0


def test_an_index_known_when_traced(check_compiled):
    check_compiled(lambda x: lax.switch(1, [lax.sin, lambda x: -x, lax.cos], x), [(np.arange(3.0),)])
    check_compiled(lambda x: lax.cond(True, lambda x: -x, lax.cos, x), [(np.arange(3.0),)])


# One inside the other


def halved(x):
    """Return `x` halved until it is below one; a `while`."""
    return lax.while_loop(lambda x: lax.abs(x) > 1.0, lambda x: x / 2.0, x)


def summed(xs):
    """Return the sum of the halved elements, each weighted by a branch; a `while` in a `cond` in a `scan`."""
    step = lambda total, x: (total + lax.cond(x > 0.0, halved, lambda x: x * total, x), total)
    return lax.scan(step, 1.0, xs, reverse=True)


def deep(xs, n):
    """Return the rows that a counting loop goes through: a `scan` in a `while` in a `cond` in a `scan`."""

    def row(total, x):
        settle = lambda x: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, summed(s[1])[1]), (0, x))[1]
        y = lax.cond(x.sum() > total, settle, lambda x: x - total, x)
        return total + y[0], y

    return lax.scan(row, 0.0, xs, unroll=2)


NESTED = [np.linspace(-3.0, 5.0, 3 * n).reshape(3, n) for n in (1, 4)]


def test_a_while_in_a_cond_in_a_scan(check_compiled):
    check_compiled(summed, [(xs[0],) for xs in NESTED] + [(np.ones(0),)], ulps=2)


def test_a_scan_in_a_while_in_a_cond_in_a_scan(check_compiled):
    check_compiled(deep, [(xs, np.int32(n)) for xs in NESTED for n in (0, 1, 3)], ulps=4)


def test_jit_between_all_of_them(check_compiled):
    inner = jit(lambda x, y: lax.cond(x > y, jit(lambda x, y: x - y), jit(lambda x, y: x * y), x, y))
    raised = lambda c: jit(lambda x: lax.while_loop(jit(lambda y: y < 9.0), jit(lambda y: y + c), x))
    step = jit(lambda c, x: (inner(c, x), raised(c)(x)))
    check_compiled(lambda xs: jit(lambda xs: lax.scan(step, 4.0, xs))(xs), [(np.array([1.0, 2.0, 0.5]),)], ulps=1)


def test_nested_five_deep_is_lowered_once_each():
    def nested(x, depth):
        if not depth:
            return lax.sin(x)
        return lax.scan(lambda c, _: (nested(c, depth - 1), None), x, None, 2)[0]

    text = lower_jaxpr_to_module(make_jaxpr(lambda x: nested(x, 5))(1.0)).as_text()
    assert text.count("stablehlo.sine") == 1
    assert text.count("stablehlo.while") == 5
