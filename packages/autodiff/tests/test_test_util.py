from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from calque_autodiff import check_grads, check_jvp, check_vjp, defjvp, jvp, vjp
from calque_core import Primitive, lax


@pytest.fixture
def wrong():
    """Return `wrong(slope)`: the square, with a derivative of `slope` x."""

    def wrong(slope):
        wrong_p = Primitive("wrong")
        wrong_p.def_impl(np.square)
        wrong_p.def_abstract_eval(lambda x: x.strip_weak_type())
        defjvp(wrong_p, lambda t, out, x: slope(x) * t)
        return wrong_p.bind

    return wrong


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_right_derivatives_pass_in_every_dtype(dtype, spaced):
    x = spaced((3,), 0.3, 1.0, dtype)
    check_grads(lambda x: lax.sin(x) * x, (x,), order=2)


def test_pytrees_integers_and_empty_arrays_pass():
    f = lambda p, n: {"y": p["a"] * n, "n": n, "sum": lax.reduce_sum(p["b"])}
    check_grads(f, ({"a": 2.0, "b": np.ones((0, 2))}, 3), order=2)


@pytest.mark.parametrize("modes", [("fwd",), ("rev",), ("fwd", "rev")])
def test_a_wrong_derivative_is_found_in_each_mode(modes, wrong):
    check_grads(wrong(lambda x: 2.0 * x), (1.5,), 1, modes)
    with pytest.raises(AssertionError, match=r"the jvp of|the vjp of"):
        check_grads(wrong(lambda x: 2.01 * x), (1.5,), 1, modes)


@pytest.mark.parametrize("modes", [("fwd",), ("rev",)])
def test_a_wrong_second_derivative_is_found_in_the_second_order(modes, wrong):
    f = wrong(lambda x: 2.0 * lax.stop_gradient(x))
    check_grads(f, (1.5,), 1, modes)
    with pytest.raises(AssertionError):
        check_grads(f, (1.5,), 2, modes)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda y, t: (y, np.float32(t)),
        lambda y, t: (y, np.reshape(t, 1)),
        lambda y, t: (y + 1.0, t),
        lambda y, t: (y, [t]),
    ],
)
def test_a_wrong_dtype_shape_value_or_structure_is_found(spoil):
    right = partial(jvp, lax.sin)
    check_jvp(lax.sin, right, (1.0,))
    with pytest.raises(AssertionError, match="jvp of sin"):
        check_jvp(lax.sin, lambda *args: spoil(*right(*args)), (1.0,))


def test_a_wrong_transpose_is_found():
    def spoiled(x):
        y, f_vjp = vjp(lax.sin, x)
        return y, lambda ct: (2.0 * f_vjp(ct)[0],)

    check_vjp(lax.sin, partial(vjp, lax.sin), (1.0,))
    with pytest.raises(AssertionError, match=r"the vjp of sin .* by args\[0\] breaks the adjoint law: <J\^T u, t> is "):
        check_vjp(lax.sin, spoiled, (1.0,))


def test_the_wrong_cotangent_is_named_among_several():
    def spoiled(params, x):
        y, f_vjp = vjp(lambda p, x: p["a"] * x + p["b"], params, x)
        return y, lambda ct: ({**f_vjp(ct)[0], "b": 2.0 * ct}, f_vjp(ct)[1])

    with pytest.raises(AssertionError, match=r"by args\[0\]\['b'\] breaks the adjoint law.* Correct the"):
        check_vjp(lambda p, x: p["a"] * x + p["b"], spoiled, ({"a": 2.0, "b": 1.0}, 3.0))


@pytest.mark.parametrize("modes", [("fwd",), ("rev",)])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_point_without_a_finite_value_is_refused_and_does_not_pass(modes, value):
    with pytest.raises(AssertionError, match=r"has a result\['y'\] that is nan or infinite .* Choose args where its"):
        check_grads(lambda x: {"y": x * value}, (1.0,), 1, modes)


def test_tolerances_and_steps_can_be_given(wrong):
    check_grads(wrong(lambda x: 2.01 * x), (1.5,), 1, rtol=0.1, atol=0.1)
    check_grads(lambda x: lax.square(x), (1.5,), 1, eps=1.0)


@pytest.mark.parametrize(("order", "modes"), [(0, ("fwd",)), (1, ("forward",)), (1, ())])
def test_what_cannot_be_checked_is_refused(order, modes):
    with pytest.raises(ValueError, match=r"check_grads got order=.* Use an order of 1 or more, and a list of 'fwd'"):
        check_grads(lax.sin, (1.0,), order, modes)
