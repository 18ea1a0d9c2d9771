from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, vjp
from calque_core import lax, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.1)

CASES = [
    ((3,), (3,), (((0,), (0,)), ((), ()))),
    ((2, 3), (3, 4), (((1,), (0,)), ((), ()))),
    ((2, 3), (4, 3), (((1,), (1,)), ((), ()))),
    ((3,), (2, 3), (((0,), (1,)), ((), ()))),
    ((2,), (3,), (((), ()), ((), ()))),
    ((), (3,), (((), ()), ((), ()))),
    ((5, 2, 3), (5, 3, 4), (((2,), (1,)), ((0,), (0,)))),
    ((2, 5, 3), (3, 4, 5), (((2,), (0,)), ((1,), (2,)))),
    ((2, 3, 4), (4, 3, 5), (((1, 2), (1, 0)), ((), ()))),
    ((2, 3, 4, 5), (4, 2, 3, 6), (((2,), (0,)), ((1, 0), (2, 1)))),
    ((2, 3, 2), (2, 3, 2), (((0, 2), (2, 0)), ((1,), (1,)))),
    ((2, 3, 4), (2, 3, 4), (((2, 0, 1), (2, 0, 1)), ((), ()))),
    ((2, 3), (2, 3), (((), ()), ((0, 1), (0, 1)))),
    ((0, 3), (3, 2), (((1,), (0,)), ((), ()))),
    ((2, 0), (0, 3), (((1,), (0,)), ((), ()))),
    ((1, 1), (1, 1), (((1,), (0,)), ((), ()))),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize(("lhs", "rhs", "numbers"), CASES, ids=str)
def test_contractions_obey_the_laws_in_each_operand(lhs, rhs, numbers, dtype, spaced, laws):
    laws(lambda x, y: lax.dot_general(x, y, numbers), spaced(lhs, dtype=dtype), spaced(rhs, dtype=dtype, seed=1))


@pytest.mark.parametrize("operands", ["float32", "float16"])
def test_sums_in_another_dtype_give_cotangents_in_the_operands_dtypes(operands, spaced):
    x, y = spaced((2, 3), dtype=operands), spaced((3, 2), dtype=operands, seed=1)
    out, f_vjp = vjp(lambda x, y: lax.dot(x, y, preferred_element_type=np.float64), x, y)
    assert out.dtype == np.float64
    x_bar, y_bar = f_vjp(np.ones((2, 2)))
    assert x_bar.dtype == y_bar.dtype == np.dtype(operands)
    np.testing.assert_allclose(x_bar, np.ones((2, 2)) @ y.T.astype(float), 1e-2)
    np.testing.assert_allclose(y_bar, x.T.astype(float) @ np.ones((2, 2)), 1e-2)


def test_mixed_precision_obeys_the_laws(spaced, laws):
    x, y = spaced((2, 3), dtype="float32"), spaced((3, 2), dtype="float32", seed=1)
    laws(lambda x, y: lax.dot(x, y, preferred_element_type=np.float64), x, y)


def test_a_matrix_times_itself_obeys_the_laws(spaced, laws):
    laws(lambda x: lax.dot(x, x), spaced((3, 3)))


def test_the_gradient_of_a_matrix_product_is_two_matrix_products():
    jaxpr = make_jaxpr(grad(lambda x, y: lax.reduce_sum(lax.dot(x, y)), argnums=(0, 1)))(
        np.ones((2, 3)), np.ones((3, 4))
    )
    assert [eqn.primitive.name for eqn in jaxpr.eqns].count("dot_general") == 3


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2", "float8_e4m3fn"])
def test_derivatives_of_products_keep_the_dtypes_that_numpy_does_not_have(name):
    ml_dtypes = pytest.importorskip("ml_dtypes", reason=f"{name} is defined by ml_dtypes, which comes with jaxlib")
    x = np.array([[0.5, 0.75], [1.0, 1.25]], getattr(ml_dtypes, name))
    wide, total = x.astype(np.float64), lambda x: lax.reduce_sum(lax.dot(x, x))
    step = 2.0**-20
    differences = [
        [(total(wide + step * np.eye(2)[[i]].T @ np.eye(2)[[j]]) - total(wide)) / step for j in (0, 1)] for i in (0, 1)
    ]
    out = grad(total)(x)
    assert out.dtype == x.dtype
    np.testing.assert_allclose(out.astype(np.float64), differences, rtol=2.0**-2)
    in_single = lambda x: lax.reduce_sum(lax.dot(x, x, preferred_element_type=np.float32))
    out = grad(in_single)(x)
    assert out.dtype == x.dtype
    np.testing.assert_allclose(out.astype(np.float64), differences, rtol=2.0**-2)
    carried, _ = lax.scan(lambda c, _: (lax.dot(c, x), None), x, None, length=2)
    assert carried.dtype == x.dtype


def precisions_of(axes, shape):
    """Return the precisions in the program of a product over the last axis of x and the axis `axes` of y, and back."""
    x, y = np.ones((2, 3), np.float32), np.ones(shape, np.float32)
    product = lambda x, y: lax.dot_general(x, y, (((1,), axes), ((), ())), precision=("high", "default"))
    jaxpr = make_jaxpr(lambda x, y, ct: vjp(product, x, y)[1](ct))(x, y, np.ones((2, 4), np.float32))
    return [tuple(one.name for one in eqn.params["precision"]) for eqn in jaxpr.eqns if "precision" in eqn.params]


def test_derivatives_keep_the_precision_of_each_operand():
    assert precisions_of((0,), (3, 4)) == [("HIGH", "DEFAULT")] * 3  # x y, x^T ct, ct y^T
    assert precisions_of((1,), (4, 3)) == [("HIGH", "DEFAULT"), ("DEFAULT", "HIGH"), ("HIGH", "DEFAULT")]  # ct^T x


@pytest.mark.parametrize(
    ("lhs", "rhs", "numbers"),
    [
        ((2, 3), (3, 4), (((1,), (0,)), ((), ()))),
        ((2, 3), (4, 3), (((1,), (1,)), ((), ()))),
        ((5, 2, 3), (5, 3, 4), (((2,), (1,)), ((0,), (0,)))),
        ((5, 2, 3), (5, 4, 3), (((2,), (2,)), ((0,), (0,)))),
    ],
)
def test_the_cotangents_of_a_matrix_product_need_no_transposition(lhs, rhs, numbers):
    total = lambda x, y: lax.reduce_sum(lax.dot_general(x, y, numbers))
    jaxpr = make_jaxpr(grad(total, argnums=(0, 1)))(np.ones(lhs), np.ones(rhs))
    assert "transpose" not in [eqn.primitive.name for eqn in jaxpr.eqns]
