"""Long and deep programs under every transformation: no recursion, and a cost linear in the length."""

from __future__ import annotations

import contextlib
import gc
import sys

import numpy as np
import pytest

from calque_autodiff import (
    checkpoint,
    custom_jvp,
    custom_vjp,
    grad,
    jvp,
    jvp_jaxpr,
    linear_transpose,
    linearize,
    linearize_jaxpr,
    partial_eval_jaxpr,
    transpose_jaxpr,
    vjp,
)
from calque_batching import AxisData, batch_jaxpr_axes, custom_vmap, vmap
from calque_core import check_jaxpr, dce_jaxpr, eval_jaxpr, inline_calls, jaxpr_equal, lax, make_jaxpr
from calque_pytree import tree_leaves
from calque_xla_backend import jit, lower_jaxpr_to_module

LONG = 100_000
RULES_RUN = []  # a global, so that no closure changes with it


def chain(length):
    """Return a function of `length` operations, half of them linear."""

    def fun(x):
        for _ in range(length // 2):
            x = lax.sin(x)
            x = lax.mul(x, 2.0)
        return x

    return fun


def stacked(length):
    """Return a function with an operation of many operands."""
    return lambda x: np.stack([lax.mul(x, 2.0) for _ in range(length)]).sum()


def leaves(count):
    return {str(i): np.float64(i) for i in range(count)}


def total(tree):
    out = 0.0
    for x in tree.values():
        out = lax.add(out, lax.sin(x))
    return out


def sines(tree, _):
    return {name: lax.sin(x) for name, x in tree.items()}, None


def same(tree):
    return dict(tree)


def linear_chain(length):
    def fun(x):
        for _ in range(length):
            x = lax.mul(x, 1.0)
        return x

    return fun


def linear_part(jaxpr):
    return linearize_jaxpr(jaxpr, [True]).linear


OF_FUNCTIONS = {
    "evaluate": lambda n: chain(n)(1.0),
    "trace": lambda n: make_jaxpr(chain(n))(1.0),
    "jvp": lambda n: jvp(chain(n), (1.0,), (1.0,)),
    "linearize": lambda n: linearize(chain(n), 1.0)[1](1.0),
    "vjp": lambda n: vjp(chain(n), 1.0)[1](1.0),
    "grad": lambda n: grad(chain(n))(1.0),
    "vmap": lambda n: vmap(chain(n))(np.ones(2)),
    "linear_transpose": lambda n: linear_transpose(linear_chain(n), 1.0)(1.0),
    "trace of grad": lambda n: make_jaxpr(grad(chain(n)))(1.0),
    "trace of vmap": lambda n: make_jaxpr(vmap(chain(n)))(np.ones(2)),
    "grad of a call": lambda n: grad(lambda x: call(chain(n), x))(1.0),
}
OF_STACKS = {
    "trace": lambda n: make_jaxpr(stacked(n))(1.0),
    "trace of grad": lambda n: make_jaxpr(grad(stacked(n)))(1.0),
    "trace of vmap": lambda n: make_jaxpr(vmap(stacked(n)))(np.ones(2)),
}
OF_LEAVES = {
    "grad": lambda t: make_jaxpr(grad(total))(t),
    "grad of a call": lambda t: make_jaxpr(grad(jit(total)))(t),
    "grad of checkpoint": lambda t: make_jaxpr(grad(checkpoint(total)))(t),
    "grad of cond": lambda t: make_jaxpr(grad(lambda t: lax.cond(t["0"] > 0.5, total, total, t)))(t),
    "grad of scan": lambda t: make_jaxpr(grad(lambda t: total(lax.scan(sines, t, None, length=2)[0])))(t),
    "vmap": lambda t: make_jaxpr(vmap(total, in_axes=None, axis_size=2))(t),
    "vmap of cond": lambda t: make_jaxpr(vmap(lambda x: lax.cond(x > 0.5, same, same, t)))(np.ones(2)),
    "while_loop": lambda t: make_jaxpr(
        lambda t: lax.while_loop(lambda t: t["0"] < 1.0, lambda t: sines(t, None)[0], t)
    )(t),
    "jvp": lambda t: make_jaxpr(lambda t: jvp(total, (t,), (t,)))(t),
    "lower": lambda t: jit(lambda t: total(t)).lower(t),
}
OF_PROGRAMS = {
    "print": str,
    "check": check_jaxpr,
    "dce": lambda jaxpr: dce_jaxpr(jaxpr, [True]),
    "inline": inline_calls,
    "evaluate": lambda jaxpr: eval_jaxpr(jaxpr, jaxpr.consts, 1.0),
    "compare": lambda jaxpr: jaxpr_equal(jaxpr, jaxpr.replace()),
    "jvp": lambda jaxpr: jvp_jaxpr(jaxpr, [True]),
    "linearize": lambda jaxpr: linearize_jaxpr(jaxpr, [True]),
    "partial_eval": lambda jaxpr: partial_eval_jaxpr(jaxpr, [False]),
    "transpose": lambda jaxpr: transpose_jaxpr(jaxpr, [False] * (len(jaxpr.invars) - 1) + [True]),
    "batch": lambda jaxpr: batch_jaxpr_axes(jaxpr, AxisData(None, 2), [0]),
    "lower": lambda jaxpr: lower_jaxpr_to_module(jaxpr, name="long"),
}


def call(fun, x):
    """Bind a call of `fun` that names no compiler."""
    jaxpr = make_jaxpr(fun)(x)
    return lax.jit_p.bind(x, jaxpr=jaxpr, name="call", compiler=None)[0]


def program(length, tool):
    jaxpr = make_jaxpr(chain(length))(1.0)
    return linear_part(jaxpr) if tool == "transpose" else jaxpr


@contextlib.contextmanager
def without_collections():
    """Let no search for garbage call functions, of objects of earlier tests, in a block that counts them."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def counted_calls():
    """Count the calls, of Python and of built-in functions, in a block."""
    counts = [0]

    def count(frame, event, arg):
        counts[0] += event in ("call", "c_call")

    with without_collections():
        sys.setprofile(count)
        try:
            yield counts
        finally:
            sys.setprofile(None)


@contextlib.contextmanager
def counted_lines():
    """Count the lines of Python code that run in a block."""
    counts = [0]

    def count(frame, event, arg):
        counts[0] += event == "line"
        return count

    with without_collections():
        sys.settrace(count)
        try:
            yield counts
        finally:
            sys.settrace(None)


def check_growth(run, small, large, counted=counted_calls):
    for _ in range(3):  # fills the caches that do not depend on the length; a plan is made at the third meeting
        run(small(10))
    sizes = []
    for argument in (small(1000), large(2000)):
        with counted() as counts:
            run(argument)
        sizes.append(counts[0])
    assert 1.9 <= sizes[1] / sizes[0] <= 2.1, sizes


@pytest.mark.sampled(keep=0.3)
@pytest.mark.parametrize("name", OF_FUNCTIONS)
def test_the_work_on_functions_grows_linearly(name):
    check_growth(OF_FUNCTIONS[name], int, int)


@pytest.mark.sampled(keep=0.3)
@pytest.mark.parametrize("name", OF_STACKS)
def test_the_work_on_an_operation_of_many_operands_grows_linearly(name):
    check_growth(OF_STACKS[name], int, int, counted_lines)  # a search through a list is no call


@pytest.mark.sampled(keep=0.3)
@pytest.mark.parametrize("name", OF_LEAVES)
def test_the_work_on_trees_grows_linearly_with_their_leaves(name):
    tree = lambda n: leaves(n // 5)
    check_growth(OF_LEAVES[name], tree, tree, counted_lines)


@pytest.mark.sampled(keep=0.3)
@pytest.mark.parametrize("name", OF_PROGRAMS)
def test_the_work_on_programs_grows_linearly(name):
    make = lambda n: program(n, name)
    check_growth(OF_PROGRAMS[name], make, make)


@pytest.mark.sampled(keep=0.1)
@pytest.mark.parametrize("name", OF_FUNCTIONS)
def test_functions_of_100_000_operations(name):
    OF_FUNCTIONS[name](LONG)


@pytest.fixture(scope="module")
def long_program():
    return program(LONG, None)


@pytest.mark.sampled(keep=0.1)
@pytest.mark.parametrize("name", OF_PROGRAMS)
def test_programs_of_100_000_equations(name, long_program):
    jaxpr = linear_part(long_program) if name == "transpose" else long_program
    assert len(long_program.eqns) == LONG
    OF_PROGRAMS[name](jaxpr)


@contextlib.contextmanager
def recursion_limit(limit):
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def nested_jits(depth):
    def fun(x):
        return lax.sin(x)

    for _ in range(depth):
        fun = jit(lambda x, inner=fun: lax.mul(inner(x), 1.0))
    return fun


NESTED = {
    "trace": lambda f: make_jaxpr(f)(1.0),
    "print": lambda f: str(make_jaxpr(f)(1.0)),
    "grad": lambda f: make_jaxpr(grad(f))(1.0),
    "vmap": lambda f: make_jaxpr(vmap(f))(np.ones(2)),
    "jvp": lambda f: make_jaxpr(lambda x: jvp(f, (x,), (x,)))(1.0),
    "inline": lambda f: inline_calls(make_jaxpr(f)(1.0)),
    "lower": lambda f: f.lower(1.0),
}


@pytest.mark.sampled(keep=0.2)
@pytest.mark.parametrize("name", NESTED)
def test_500_nested_jits(name):
    # A level of the user's functions takes Python frames, which only the user can allow more of.
    with recursion_limit(30_000):
        NESTED[name](nested_jits(500))


@pytest.mark.sampled(keep=0.5)
@pytest.mark.parametrize("name", NESTED)
def test_the_work_on_nested_jits_grows_linearly(name):
    with recursion_limit(30_000):
        NESTED[name](nested_jits(10))  # fills the caches that do not depend on the depth
        sizes = []
        for f in (nested_jits(40), nested_jits(80)):
            with counted_calls() as counts:
                NESTED[name](f)
            sizes.append(counts[0])
    assert 1.8 <= sizes[1] / sizes[0] <= 2.2, sizes


def sine_of(f):
    return lambda x: lax.sin(f(x))


def with_jvp(f):
    g = custom_jvp(sine_of(f))
    g.defjvp(lambda primals, dots: (g(*primals), lax.mul(dots[0], f(*primals))))
    return g


def with_vjp(f):
    g = custom_vjp(sine_of(f))
    g.defvjp(lambda x: (g(x), f(x)), lambda y, ct: (lax.mul(ct, y),))
    return g


def with_batch(f):
    g = custom_vmap(sine_of(f))
    g.def_vmap(lambda size, is_mapped, x: (lax.sin(x), True))
    return g


def in_cond(f):
    return lambda x: lax.cond(x > 0, f, lax.cos, x)


NESTS = {
    "custom_jvp": with_jvp,
    "custom_vjp": with_vjp,
    "custom_vmap": with_batch,
    "custom_jvp in cond": lambda f: in_cond(with_jvp(f)),
    "checkpoint": lambda f: checkpoint(sine_of(f)),
    "cond": lambda f: in_cond(sine_of(f)),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (lax.sin(f(c)), None), x, None, length=2)[0],
    "while_loop": lambda f: lambda x: lax.while_loop(lambda c: c > 1, sine_of(f), x),
}
OF_NESTS = {
    "trace": NESTED["trace"],
    "jvp": NESTED["jvp"],
    "vmap": NESTED["vmap"],
    "grad": NESTED["grad"],
    "vmap of grad": lambda f: make_jaxpr(vmap(grad(f)))(np.ones(2)),
}
# The derivative of a branch, or of a step, hands the residuals of all inner ones through: it grows with the depth.
NESTED_PROGRAMS = [
    *[(nest, verb) for nest in ("checkpoint", "custom_jvp", "custom_vjp") for verb in OF_NESTS],
    *[("custom_vmap", verb) for verb in ("trace", "jvp", "vmap")],
    *[(nest, verb) for nest in ("cond", "scan", "custom_jvp in cond") for verb in ("trace", "jvp", "vmap")],
    *[("while_loop", verb) for verb in ("trace", "jvp")],
]


def nested(nest, depth):
    fun = lax.sin
    for _ in range(depth):
        fun = NESTS[nest](fun)
    return fun


@pytest.mark.sampled(keep=0.2)
@pytest.mark.parametrize(("nest", "verb"), NESTED_PROGRAMS)
def test_the_work_on_nested_programs_grows_linearly(nest, verb):
    with recursion_limit(30_000):
        for _ in range(3):  # fills the caches that do not depend on the depth
            OF_NESTS[verb](nested(nest, 10))
        sizes = []
        for depth in (20, 40, 60):
            with counted_calls() as counts:
                OF_NESTS[verb](nested(nest, depth))
            sizes.append(counts[0])
    # The outermost levels work a little less, or more: their functions have keys of any size.
    assert 0.8 <= (sizes[2] - sizes[1]) / (sizes[1] - sizes[0]) <= 1.2, sizes


@pytest.mark.parametrize("depth", [1, 2, 3, 10])
def test_rules_of_nested_functions_that_close_over_a_traced_value_are_traced_once_for_each_level(depth):
    RULES_RUN.clear()

    def scaled(f, scale):
        g = custom_jvp(lambda x: lax.mul(f(x), scale))
        g.defjvp(lambda primals, dots: RULES_RUN.append(g) or (g(*primals), lax.mul(dots[0], scale)))
        return g

    def fun(scale):
        f = lax.sin
        for _ in range(depth):
            f = scaled(f, scale)
        return f(1.0)

    check_jaxpr(make_jaxpr(fun)(2.0))
    assert len(RULES_RUN) == len(set(map(id, RULES_RUN))) == depth


@pytest.mark.parametrize("depth", [1, 2, 3, 10])
def test_the_gradient_of_nested_checkpoints_computes_a_level_once_for_each_checkpoint_around_it(depth, monkeypatch):
    sines, sine = [], lax.sin_p.impl
    jaxpr = make_jaxpr(grad(nested("checkpoint", depth)))(1.0)
    monkeypatch.setattr(lax.sin_p, "impl", lambda x: sines.append(x) or sine(x))
    eval_jaxpr(jaxpr, jaxpr.consts, 1.0)
    assert len(sines) == sum(range(depth + 2))


def test_nested_jits_compute_what_they_say():
    with recursion_limit(30_000):
        assert float(nested_jits(500)(1.0)) == pytest.approx(np.sin(1.0), rel=1e-14)


def test_too_many_nested_jits_say_how_to_allow_them():
    with recursion_limit(1000), pytest.raises(RecursionError) as caught:
        nested_jits(500)(1.0)
    assert "sys.setrecursionlimit" in str(caught.value)


NESTING = {
    "cond": lambda f: lambda x: lax.cond(x > -9.0, f, lambda y: y, x),
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0],
    "while_loop": lambda f: lambda x: lax.while_loop(lambda s: s[0] < 1, lambda s: (s[0] + 1, f(s[1])), (0, x))[1],
    "fori_loop": lambda f: lambda x: lax.fori_loop(0, 1, lambda i, c: f(c), x),
    "jit": jit,
    "checkpoint": checkpoint,
}
VERBS = {  # a verb, and its result for a function whose derivative is the cosine
    "grad": (lambda f: grad(f)(0.5), np.cos),
    "jvp": (lambda f: jvp(f, (0.5,), (1.0,))[1], np.cos),
    "grad of jit": (lambda f: grad(jit(f))(0.5), np.cos),
    "vmap of grad": (lambda f: vmap(grad(f))(np.full(1, 0.5))[0], np.cos),
    "second grad": (lambda f: -grad(grad(f))(0.5), np.sin),
    "linearize": (lambda f: linearize(f, 0.5)[1](1.0), np.cos),
}


@pytest.mark.sampled(keep=0.1, rows=["nest"])
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("nest", NESTING)
def test_programs_nested_too_deeply_are_refused_in_words_that_hold(nest, verb):
    def program(depth):
        f = lambda x: lax.sin(x)
        for _ in range(depth):
            f = NESTING[nest](f)
        return f

    derivative, value = VERBS[verb]
    words = (
        r"maximum recursion depth exceeded.* at test_depth\.py:\d+ .*nested too deeply, or a function calls itself "
        r"without end\.\nNest less deeply, or raise the limit, 1000, with sys\.setrecursionlimit\."
    )
    with recursion_limit(1000), pytest.raises(RecursionError, match=words):
        derivative(program(150))
    with recursion_limit(30_000):
        assert float(derivative(program(60))) == pytest.approx(value(0.5), rel=1e-12)


def test_a_function_that_calls_itself_without_end_is_refused_in_words():
    def endless(x):
        return endless(x * 2.0)

    for verb in VERBS.values():
        with pytest.raises(RecursionError, match="nested too deeply, or a function calls itself without end"):
            verb[0](endless)


def deep_tree(depth, leaf):
    for _ in range(depth):
        leaf = [leaf]
    return leaf


def square_of_leaf(tree):
    [x] = tree_leaves(tree)
    return x * x


TREES = {
    "grad": lambda tree: grad(square_of_leaf)(tree),
    "jvp": lambda tree: jvp(lambda t: t, (tree,), (tree,))[1],
    "vjp": lambda tree: vjp(lambda t: t, tree)[1](tree)[0],
    "vmap": lambda tree: vmap(lambda t: t, in_axes=None, axis_size=1)(tree),
    "jit": lambda tree: jit(lambda t: t)(tree),
}


@pytest.mark.sampled(keep=0.2)
@pytest.mark.parametrize("name", TREES)
def test_trees_100_000_deep(name):
    out, depth = TREES[name](deep_tree(LONG, 3.0)), 0
    while isinstance(out, list):
        [out] = out
        depth += 1
    assert depth == LONG
    assert np.ravel(np.asarray(out)).tolist() == [6.0 if name == "grad" else 3.0]
