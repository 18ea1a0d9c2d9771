from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from calque_autodiff import linear_transpose
from calque_core import MissingRuleError, ShapeDtypeStruct, lax


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


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (
            lambda: linear_transpose(lambda x: 2.0 * x, 1),
            TypeError,
            "linear_transpose of .*: x has dtype int64, but linear functions take floats",
        ),
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
