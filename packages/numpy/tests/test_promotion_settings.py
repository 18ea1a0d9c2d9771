"""The settings of promotion concern the operands that a user's program gives to a function, and no others."""

import numpy as np
import pytest

import calque_numpy
from calque_core import ShapeError, config, lax, make_jaxpr
from calque_numpy import nn
from calque_numpy.scipy import linalg, special

SINGLE, DOUBLE = np.ones((3, 3), np.float32), np.ones((3, 3))
CALLS = {
    "einsum": lambda x, y: np.einsum("ij,jk", x, y),
    "concatenate": lambda x, y: np.concatenate([x, y]),
    "stack": lambda x, y: np.stack([x, y]),
    "select": lambda x, y: np.select([x > 0, x < 1], [x, y]),
    "average": lambda x, y: np.average(x, weights=y),
    "dot": np.dot,
}


@pytest.mark.parametrize("name", CALLS)
def test_different_dtypes_are_refused_where_promotion_is_strict(name):
    make_jaxpr(CALLS[name])(SINGLE, DOUBLE)
    with config.numpy_dtype_promotion("strict"):
        make_jaxpr(CALLS[name])(SINGLE, SINGLE)
        with pytest.raises(TypeError, match=r"float32\[.* and .*numpy_dtype_promotion is .strict"):
            make_jaxpr(CALLS[name])(SINGLE, DOUBLE)


BOTH = {
    "add": calque_numpy.add,
    "true_divide": calque_numpy.true_divide,
    "divmod": calque_numpy.divmod,
    "less": calque_numpy.less,
    "power": calque_numpy.power,
    "clip": calque_numpy.clip,
    "isclose": calque_numpy.isclose,
    "where": lambda x, y: calque_numpy.where(True, x, y),
    "vecdot": calque_numpy.vecdot,
}
OF_DTYPES = {
    "append": calque_numpy.append,
    "comb": special.comb,
    "cross": calque_numpy.cross,
    "dot": calque_numpy.dot,
    "inner": calque_numpy.inner,
    "kron": calque_numpy.kron,
    "matmul": calque_numpy.matmul,
    "outer": calque_numpy.outer,
    "searchsorted": lambda x, y: calque_numpy.searchsorted(x[0], y),
    "vdot": calque_numpy.vdot,
    "zeta": special.zeta,
}


@pytest.mark.parametrize("name", {**BOTH, **OF_DTYPES})
@pytest.mark.parametrize("call", [lambda f: f, make_jaxpr], ids=["evaluated", "traced"])
def test_a_refusal_of_dtypes_names_the_function_that_the_user_calls(name, call):
    function = call({**BOTH, **OF_DTYPES}[name])
    words = rf"^_?{'lt' if name == 'less' else name} of float32\[.*\] and float64\[.*\] at test_promotion_settings\.py"
    with config.numpy_dtype_promotion("strict"):
        function(SINGLE, SINGLE)
        with pytest.raises(TypeError, match=words):
            function(SINGLE, DOUBLE)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("call", [lambda f: f, make_jaxpr], ids=["evaluated", "traced"])
def test_a_refusal_of_ranks_names_the_function_that_the_user_calls(name, call):
    function = call(BOTH[name])
    words = rf"^{'lt' if name == 'less' else name} of .*float64\[3,3\] and float64\[3\] at test_promotion_settings\.py"
    with config.numpy_rank_promotion("raise"):
        function(DOUBLE, DOUBLE)
        with pytest.raises(ShapeError, match=words):
            function(DOUBLE, DOUBLE[0])


def attention(x):
    return nn.dot_product_attention(x, x, x, bias=np.ones((3, 3)))


PROMOTE_INSIDE = {
    "tril": (calque_numpy.tril, DOUBLE),
    "linspace": (lambda x: calque_numpy.linspace(x, 1.0, 4), DOUBLE),
    "isin": (lambda x: calque_numpy.isin(x, np.array([1.0, 2.0])), DOUBLE),
    "attention": (attention, np.ones((2, 3, 4, 5))),
    "one_hot": (lambda x: nn.one_hot(x, 4, dtype=np.float32), np.arange(3)),
    "histogram": (calque_numpy.histogram, SINGLE),
    "isclose": (lambda x: calque_numpy.isclose(x, 2.0), SINGLE),
    "frexp": (calque_numpy.frexp, SINGLE),
    "searchsorted": (lambda x: calque_numpy.searchsorted(x, 2.0), SINGLE[0]),
    "block_diag": (lambda x: linalg.block_diag(x, 2.0), SINGLE),
}


@pytest.mark.parametrize("name", PROMOTE_INSIDE)
@pytest.mark.parametrize("call", [lambda f: f, make_jaxpr], ids=["evaluated", "traced"])
def test_what_a_function_promotes_inside_is_its_own_affair(name, call):
    function, x = PROMOTE_INSIDE[name]
    want = make_jaxpr(function)(x)
    with config.numpy_dtype_promotion("strict"), config.numpy_rank_promotion("raise"):
        call(function)(x)
        assert str(make_jaxpr(function)(x)) == str(want)


def test_the_user_is_refused_at_each_call_also_of_a_function_that_is_known_code():
    def refusals(x, y):
        for function in (calque_numpy.multiply, calque_numpy.where, calque_numpy.isclose):
            for _ in range(5):
                operands = (x > 0, x, y) if function is calque_numpy.where else (x, y)
                with pytest.raises(ShapeError, match="numpy_rank_promotion is 'raise'"):
                    function(*operands)
        return calque_numpy.tril(x)

    with config.numpy_rank_promotion("raise"):
        for _ in range(5):
            make_jaxpr(refusals)(DOUBLE, DOUBLE[0])
            refusals(DOUBLE, DOUBLE[0])


def test_a_function_of_the_user_is_refused_where_a_function_of_ours_calls_it():
    with (
        config.numpy_rank_promotion("raise"),
        pytest.raises(ShapeError, match=r"^add of float64\[3,3\] and float64\[3\]"),
    ):
        lax.fori_loop(0, 2, lambda i, x: lax.add(x, np.ones(3)), DOUBLE)
