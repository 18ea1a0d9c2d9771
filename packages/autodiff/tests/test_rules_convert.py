from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, jvp, linearize, vjp
from calque_core import config, float0, lax

pytestmark = pytest.mark.sampled(keep=0.1)

FLOATS = ["float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,)], ids=str)
@pytest.mark.parametrize("new", FLOATS)
@pytest.mark.parametrize("old", FLOATS)
def test_conversions_between_floats_obey_the_laws(old, new, shape, spaced, laws):
    x = spaced(shape, dtype=old) * np.dtype(old).type(1 if old.startswith("f") else 1 - 2j)
    laws(lambda x: lax.convert_element_type(x, new), x)


@pytest.mark.parametrize("new", ["int32", "bool", "uint8"])
def test_conversions_to_integers_have_float0_tangents(new):
    out, out_dot = jvp(lambda x: lax.convert_element_type(x, new), (np.ones(2),), (np.ones(2),))
    assert out.dtype == new
    assert out_dot.dtype == float0


def test_a_cotangent_comes_back_in_the_dtype_of_its_primal():
    _, f_vjp = vjp(lambda x: lax.convert_element_type(x, np.float64), np.float32(1.5))
    assert f_vjp(1.0)[0].dtype == np.float32
    _, f_vjp = vjp(lambda x: lax.convert_element_type(x, np.complex128), 1.5)
    assert f_vjp(1.0 + 2.0j)[0] == 1.0


def test_what_goes_through_an_integer_has_no_derivative():
    assert grad(lambda x: lax.mul(x, lax.convert_element_type(lax.convert_element_type(x, int), float)))(2.5) == 2.0


def test_bits_have_no_derivative():
    out, out_dot = jvp(lambda x: lax.bitcast_convert_type(x, np.float32), (np.float64(2.0),), (np.float64(1.0),))
    assert out.shape == out_dot.shape == (2,)
    assert out_dot.tolist() == [0.0, 0.0]


def test_stop_gradient_makes_a_constant():
    assert grad(lambda x: lax.mul(x, lax.stop_gradient(x)))(3.0) == 3.0
    _, f_lin = linearize(lambda x: lax.stop_gradient(lax.sin(x)), 1.0)
    assert f_lin(1.0) == 0.0


def test_derivatives_keep_to_32_bits_where_they_are_set():
    with config.enable_x64(False):
        assert grad(lambda x: lax.mul(lax.sin(x), 2.0))(1.0).dtype == np.float32
        assert grad(lambda x: lax.reduce_sum(lax.exp(x)))(np.ones(2)).dtype == np.float32
