"""The tools on jaxprs at a size where recursion or a quadratic step would show."""

import sys

import numpy as np
import pytest

from calque_core import (
    Jaxpr,
    JaxprEqn,
    Var,
    check_jaxpr,
    count_eqns,
    dce_jaxpr,
    eval_jaxpr,
    fold_constants,
    inline_calls,
    interpret,
    jaxpr_equal,
    lax,
    make_jaxpr,
    map_jaxpr,
    rewrite,
)

pytestmark = pytest.mark.sampled(keep=0.1)


def chain(length):
    """Return a program of `length` equations, with a constant for every hundred."""

    def fun(x):
        for i in range(length // 2):
            x = lax.sin(x) * (2.0 if i % 50 else np.ones(1))
        return x

    return make_jaxpr(fun)(1.0)


def nest(depth):
    jaxpr = make_jaxpr(lax.sin)(np.float64(1))
    for _ in range(depth):
        x, y, z = (Var(jaxpr.in_avals[0]) for _ in range(3))
        params = {"jaxpr": jaxpr, "name": "f", "compiler": None}
        eqns = [JaxprEqn(lax.jit_p, [x], [y], params), JaxprEqn(lax.neg_p, [y], [z], {})]
        jaxpr = Jaxpr((), [x], eqns, [z])
    return jaxpr


PRINTERS = {
    "print": str,
    "print with source": lambda jaxpr: jaxpr.pretty_print(source_info=True),
    "print autodidax": lambda jaxpr: jaxpr.pretty_print(style="autodidax"),
}
TOOLS = PRINTERS | {
    "check": check_jaxpr,
    "dce all": lambda jaxpr: dce_jaxpr(jaxpr, [True]),
    "dce none": lambda jaxpr: dce_jaxpr(jaxpr, [False]),
    "fold": fold_constants,
    "inline": inline_calls,
    "equal": lambda jaxpr: jaxpr_equal(jaxpr, jaxpr.replace()),
    "map": lambda jaxpr: map_jaxpr(lambda eqn: eqn.replace(), jaxpr),
    "rewrite": lambda jaxpr: rewrite(jaxpr, lambda eqn, *args: eqn.primitive.bind(*args, **eqn.params)),
    "eval": lambda jaxpr: eval_jaxpr(jaxpr, jaxpr.consts, 1.0),
    "interpret": lambda jaxpr: interpret(jaxpr, {}, 1.0),
    "count": count_eqns,
}
# A rule that is asked what to do with an inner program recurses, as evaluation does.
SAFE_IN_DEPTH = sorted(TOOLS.keys() - {"dce all", "dce none", "eval", "interpret"})


@pytest.fixture(scope="module")
def long_jaxpr():
    return chain(100_000)


def calls(fun, *args):
    """Count the calls, of Python and of built-in functions, while `fun(*args)` runs."""
    counts = [0]

    def count(frame, event, arg):
        counts[0] += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        fun(*args)
    finally:
        sys.setprofile(None)
    return counts[0]


@pytest.mark.parametrize("tool", TOOLS)
def test_work_grows_linearly(tool):
    TOOLS[tool](chain(10))  # fills caches that do not depend on the length
    small, large = (calls(TOOLS[tool], chain(n)) for n in (1000, 2000))
    assert large <= 2.05 * small + 10


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool not in PRINTERS])
def test_100_000_equations_need_no_recursion(tool, long_jaxpr):
    TOOLS[tool](long_jaxpr)


@pytest.mark.parametrize("printer", PRINTERS)
def test_100_000_equations_print_whole(printer, long_jaxpr):
    assert PRINTERS[printer](long_jaxpr).count(" = ") == 100_000


@pytest.mark.parametrize("tool", SAFE_IN_DEPTH)
def test_programs_nested_1000_deep_need_no_recursion(tool):
    TOOLS[tool](nest(1000))


def test_nested_programs_are_all_there():
    jaxpr = nest(500)
    assert str(jaxpr).count("jit[") == 500
    assert len(inline_calls(jaxpr).eqns) == 501
    assert count_eqns(jaxpr) == 1001
    assert jaxpr_equal(jaxpr, nest(500))
    assert not jaxpr_equal(jaxpr, nest(499))
