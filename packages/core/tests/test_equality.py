import numpy as np
import pytest

from calque_core import Jaxpr, JaxprEqn, Literal, Primitive, ShapedArray, Var, jaxpr_equal, lax, make_jaxpr, stage

F64 = ShapedArray((), "float64")


def call(jaxpr, *args, name="f"):
    return lax.jit_p.bind(*args, jaxpr=jaxpr, name=name, compiler=None)


def build(fun, *args):
    """Trace twice: the programs share no variable."""
    return make_jaxpr(fun)(*args), make_jaxpr(fun)(*args)


@pytest.mark.parametrize(
    ("fun", "args"),
    [
        (lambda x, y: (lax.sin(x) * y, y), (1.0, 2.0)),
        (lambda x: x * np.arange(3.0) + 2.0, (1.0,)),
        (lambda x: call(make_jaxpr(lax.sin)(1.0), x), (1.0,)),
        (lambda x: lax.cond(x > 0, lambda y: y * 2.0, lax.cos, x), (1.0,)),
        (lambda: (np.nan, np.float32(-0.0), True), ()),
        (lambda x: x, (1,)),
    ],
)
def test_programs_traced_twice_are_equal(fun, args):
    first, second = build(fun, *args)
    assert jaxpr_equal(first, second)
    assert jaxpr_equal(second, first)


def with_const(value):
    c = Var(ShapedArray(value.shape, value.dtype))
    return Jaxpr([c], [], [], [c], [value])


def with_literal(value):
    return Jaxpr((), (), (), [Literal(value)])


def with_param(value):
    x, y = Var(F64), Var(F64)
    return Jaxpr((), [x], [JaxprEqn(PARAM_P, [x], [y], {"param": value})], [y])


PARAM_P = Primitive("param")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (make_jaxpr(lax.sin)(1.0), make_jaxpr(lax.cos)(1.0)),
        (make_jaxpr(lambda x, y: x - y)(1.0, 2.0), make_jaxpr(lambda x, y: y - x)(1.0, 2.0)),
        (make_jaxpr(lambda x: lax.sin(x))(1.0), make_jaxpr(lambda x: (lax.sin(x), x)[1])(1.0)),
        (make_jaxpr(lambda x: x)(1.0), make_jaxpr(lambda x: (lax.sin(x), x)[1])(1.0)),
        (make_jaxpr(lambda x: x)(1.0), make_jaxpr(lambda x: x)(1)),
        (make_jaxpr(lambda x: x)(1.0), make_jaxpr(lambda x: x)(np.float64(1))),
        (make_jaxpr(lambda x, y: x)(1.0, 2.0), make_jaxpr(lambda x: x)(1.0)),
        (make_jaxpr(lambda x: lax.sin(x))(1.0), make_jaxpr(lambda x: lax.sin(lax.sin(x)))(1.0)),
        (make_jaxpr(lambda x: x)(1.0), make_jaxpr(lambda x: 1.0)(1.0)),
        (with_literal(1.0), with_literal(1)),
        (with_literal(1.0), with_literal(np.float64(1.0))),
        (with_literal(0.0), with_literal(-0.0)),
        (with_literal(np.nan), with_literal(1.0)),
        (with_const(np.ones(3)), with_const(np.ones(3, np.float32))),
        (with_const(np.ones(3)), with_const(np.array([1.0, 1.0, 2.0]))),
        (with_const(np.array([np.nan, 1.0])), with_const(np.array([1.0, np.nan]))),
        (with_param((1, 2)), with_param((1, 3))),
        (with_param((1, 2)), with_param([1, 2])),
        (with_param(1), with_param(True)),
        (with_param(make_jaxpr(lax.sin)(1.0)), with_param(make_jaxpr(lax.cos)(1.0))),
        (with_param((make_jaxpr(lax.sin)(1.0),)), with_param((make_jaxpr(lax.cos)(1.0),))),
        (with_param(1), make_jaxpr(lax.sin)(np.float64(1))),
    ],
)
def test_programs_that_differ_are_not_equal(first, second):
    assert not jaxpr_equal(first, second)
    assert not jaxpr_equal(second, first)
    assert jaxpr_equal(first, first)


def test_nan_equals_nan_whatever_its_bits():
    other = np.array([0x7FF8000000000001], np.uint64).view(np.float64)
    assert other.tobytes() != np.array([np.nan]).tobytes()
    assert jaxpr_equal(with_const(np.array([np.nan])), with_const(other))
    assert jaxpr_equal(with_const(np.array([complex(np.nan, 1)])), with_const(np.array([complex(np.nan, 1)])))
    assert jaxpr_equal(with_literal(float("nan")), with_literal(float("nan")))


def test_parameters_may_be_arrays_and_numbers():
    assert jaxpr_equal(with_param(np.ones(3)), with_param(np.ones(3)))
    assert jaxpr_equal(with_param((float("nan"),)), with_param((float("nan"),)))
    assert not jaxpr_equal(with_param(np.ones(3)), with_param(np.zeros(3)))


def test_names_and_lines_of_functions_do_not_count_but_names_of_calls_do():
    def one(x):
        return lax.sin(x)

    def two(x):
        return lax.sin(x)

    assert jaxpr_equal(make_jaxpr(one)(1.0), make_jaxpr(two)(1.0))
    inner = make_jaxpr(one)(1.0)
    assert not jaxpr_equal(*(make_jaxpr(lambda x, n=n: call(inner, x, name=n))(1.0) for n in ("one", "two")))


def test_tracers_among_the_constants_are_compared_by_identity():
    seen = []

    def outer(x, y):
        inner = [stage(lambda z, c=c: [lax.mul(z, c)], [F64]) for c in (x, x, y)]
        seen.append((jaxpr_equal(inner[0], inner[1]), jaxpr_equal(inner[0], inner[2])))
        return x

    make_jaxpr(outer)(np.float64(1), np.float64(2))
    assert seen == [(True, False)]


def test_programs_that_share_inner_ones_are_compared_once_per_pair():
    def doubled(times):
        jaxpr = make_jaxpr(lax.sin)(np.float64(1))
        for _ in range(times):
            x, y, z = (Var(F64) for _ in range(3))
            params = {"jaxpr": jaxpr, "name": "f", "compiler": None}
            jaxpr = Jaxpr((), [x], [JaxprEqn(lax.jit_p, [x], [y], params), JaxprEqn(lax.jit_p, [y], [z], params)], [z])
        return jaxpr

    assert jaxpr_equal(doubled(60), doubled(60))
    assert not jaxpr_equal(doubled(60), doubled(61))
