from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from calque_autodiff import linear_transpose
from calque_core import MissingRuleError, ShapeDtypeStruct, lax, make_jaxpr


def test_a_linear_function_is_transposed_by_the_types_of_its_arguments():
    a = np.arange(6.0).reshape(2, 3)
    f_t = linear_transpose(lambda x: lax.dot(a, x), ShapeDtypeStruct((3,), np.float64))
    np.testing.assert_array_equal(f_t(np.array([1.0, 2.0]))[0], a.T @ [1.0, 2.0])


def test_an_object_with_a_shape_and_a_dtype_serves_as_an_argument():
    f_t = linear_transpose(lambda p: 2.0 * p["x"], {"x": SimpleNamespace(shape=(2,), dtype=np.dtype("float32"))})
    np.testing.assert_array_equal(f_t(np.float32([1, 2]))[0]["x"], np.float32([2, 4]), strict=True)


def test_pytrees_go_in_and_come_out():
    f_t = linear_transpose(lambda p, z: {"s": p["x"] + 2.0 * p["y"] - z}, {"x": 1.0, "y": 1.0}, 1.0)
    assert f_t({"s": 3.0}) == ({"x": 3.0, "y": 6.0}, -3.0)


def test_an_argument_that_is_not_used_has_a_zero_cotangent():
    x_bar, y_bar = linear_transpose(lambda x, y: 2.0 * x, 1.0, np.ones(2))(1.0)
    assert (x_bar, y_bar.tolist()) == (2.0, [0.0, 0.0])


def test_transposing_twice_gives_the_function_back():
    f = lambda x: lax.reduce_sum(x, 0) * 3.0 + x[1]
    x = np.arange(6.0).reshape(2, 3)
    f_t = linear_transpose(f, x)
    f_tt = linear_transpose(lambda ct: f_t(ct)[0], f(x))
    np.testing.assert_array_equal(f_tt(x)[0], f(x))


MATRIX = np.arange(9).reshape(3, 3)
OF_INTEGERS = {
    "product": lambda x: MATRIX @ x,
    "sums": lambda x: x + 2 * lax.cumsum(x, 0) - lax.neg(x)[np.array([0, 0, 2])],
    "jit": lambda x: call_of_program(lambda x: 3 * x, x),
    "branches": lambda x: lax.cond(MATRIX[0, 0] == 0, lambda x: 2 * x, lambda x: x, x),
    "loop": lambda x: lax.scan(lambda c, _: (MATRIX.astype(x.dtype) @ c, c), x, None, length=3)[0],
    "selection": lambda x: lax.select(MATRIX[1] > 3, x, 0 * x),
    "unused": lambda x: 0 * MATRIX[0],
    "a longer type": lambda x: lax.convert_element_type(x, "int64") * 3,
}


def call_of_program(fun, x):
    jaxpr = make_jaxpr(fun)(x)
    return lax.jit_p.bind(x, jaxpr=jaxpr, name="f", compiler=None)[0]


@pytest.mark.parametrize("name", OF_INTEGERS)
@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_the_transpose_of_a_function_of_integers_is_its_adjoint(name, dtype):
    f, x, ct = OF_INTEGERS[name], np.array([1, -2, 3], dtype), np.array([4, 5, -6])
    ct = ct.astype(f(x).dtype)
    (x_bar,) = linear_transpose(f, x)(ct)
    assert (x_bar.dtype, x_bar.shape) == (x.dtype, x.shape)
    assert np.vdot(ct, f(x)) == np.vdot(x_bar, x)


def test_a_python_integer_is_a_cotangent():
    assert linear_transpose(lambda x: 2 * x, 1)(2) == (4,)
    (x_bar,) = linear_transpose(lambda x: x * np.uint8(3), np.uint8(1))(2)
    assert x_bar == np.uint8(6)
    assert x_bar.dtype == np.uint8


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: linear_transpose(lambda x, y: 2.0 * x, 1, 1.0),
            TypeError,
            "linear_transpose of .*: x has dtype int64, but linear functions take floats, or integers alone",
        ),
        (lambda: linear_transpose(lambda x: x, True), TypeError, "x has dtype bool, but linear functions take floats"),
        (
            lambda: linear_transpose(lambda x: 2.0 * x, 1),
            TypeError,
            r"linear_transpose of .*: the function of integers returned float64\[\], but to be linear it must return",
        ),
        (lambda: linear_transpose(lambda x: 2 * x, 1)(1.0), TypeError, r"cotangent is ~float64\[\], but int64\[\] is"),
        (lambda: linear_transpose(lambda x: 2 * x, 1)((1,)), TypeError, "the cotangents have the structure"),
        (lambda: linear_transpose(lambda x: x + 1, 1)(1), MissingRuleError, "it adds a constant that is not zero"),
        (lambda: linear_transpose(lambda x: 2.0 * x, "a"), TypeError, "x is 'a' of type str"),
        (lambda: linear_transpose(3, 1.0), TypeError, "linear_transpose got 3 of type int"),
        (lambda: linear_transpose(lambda x: 2.0 * x, 1.0)((1.0,)), TypeError, "the cotangents have the structure"),
        (
            lambda: linear_transpose(lambda x: 2.0 * x, 1.0)(np.ones(2)),
            TypeError,
            r"the cotangent is float64\[2\], but float64\[\]",
        ),
        (lambda: linear_transpose(lax.exp, 1.0)(1.0), MissingRuleError, "Transpose rule .* for 'exp' not implemented"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_function_that_is_not_linear_is_named():
    with pytest.raises(MissingRuleError) as caught:
        linear_transpose(lax.exp, 1.0)(1.0)
    assert str(caught.value).startswith("linear_transpose of exp")
    assert "the function is not linear, because of 'exp' at test_linear_transpose.py:" in str(caught.value)
