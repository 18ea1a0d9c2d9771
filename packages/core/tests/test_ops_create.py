"""Values and types of arrays made from a shape."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import config, jaxpr_as_fun, lax
from calque_core.errors import ShapeError, TracerIntegerConversionError
from calque_core.staging.make_jaxpr import make_jaxpr


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float64", "complex64"])
@pytest.mark.parametrize("size", [0, 1, 5])
def test_iota_counts_from_zero(dtype, size):
    out = lax.iota(dtype, size)
    assert (out.dtype, list(out)) == (dtype, list(range(size)))


@pytest.mark.parametrize("dimension", [0, 1, 2, -1])
def test_broadcasted_iota_holds_the_position_along_its_axis(dimension):
    out = lax.broadcasted_iota(np.int32, (2, 3, 4), dimension)
    assert all(out[index] == index[dimension] for index in np.ndindex(2, 3, 4))


def test_iota_is_one_equation():
    (eqn,) = make_jaxpr(lambda: lax.iota(np.int32, 3))().eqns
    assert (eqn.primitive, eqn.params) == (lax.iota_p, {"dtype": np.dtype("int32"), "shape": (3,), "dimension": 0})


def test_default_dtypes_follow_the_setting():
    with config.default_dtype_bits(32):
        assert lax.iota(int, 2).dtype == np.int32
        assert lax.full((2,), 1.0).dtype == np.float32
        assert lax.argmax(np.zeros(2), 0).dtype == np.int32
        assert lax.iota(np.int64, 2).dtype == np.int64
    with config.enable_x64(False):
        assert lax.iota(np.int64, 2).dtype == np.int32
        assert lax.full((), np.float64(1.0)).dtype == np.float32


@pytest.mark.parametrize("of", [lambda f: f(), lambda f: make_jaxpr(f)()], ids=["evaluated", "staged"])
def test_iota_refuses_bool(of):
    with pytest.raises(TypeError, match=r"iota at .* got the dtype bool\. Use an integer or float dtype\."):
        of(lambda: lax.iota(bool, 2))


@pytest.mark.parametrize("function", [lambda n: lax.iota(int, n), lambda n: lax.full((n,), 1.0)])
def test_sizes_are_checked(function):
    with pytest.raises(ValueError, match=r"the shape \(-1,\) has a negative size\. Give sizes of zero or more\."):
        function(-1)
    with pytest.raises(TypeError, match=r"shape is \(2\.5,\)\. Give a sequence of integers\."):
        function(2.5)
    with pytest.raises(TracerIntegerConversionError):
        make_jaxpr(function)(2)


@pytest.mark.parametrize("value", [True, 3, 0.5, 2j, np.float32(0.5), np.int8(3)])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0)])
def test_full_has_the_dtype_of_its_value(value, shape):
    out = lax.full(shape, value)
    assert (out.shape, out.dtype) == (shape, np.asarray(value).dtype)
    assert np.all(out == value)


def test_full_converts_to_a_given_dtype():
    assert lax.full((2,), 3, np.float32).dtype == np.float32
    assert lax.full((), 3, float).dtype == np.float64


def test_full_of_a_traced_value_is_a_broadcast():
    jaxpr = make_jaxpr(lambda x: lax.full((3,), x))(2.0)
    assert [eqn.primitive.name for eqn in jaxpr.eqns][-1] == "broadcast_in_dim"
    assert str(jaxpr.out_avals[0]) == "float64[3]"


def test_full_refuses_a_value_that_is_not_a_scalar():
    with pytest.raises(
        ShapeError, match=r"full at .*: the fill value has type float64\[2\]\. Give a scalar, or broadcast"
    ):
        lax.full((2,), np.zeros(2))


@pytest.mark.parametrize(("function", "value"), [(lax.zeros_like, 0), (lax.ones_like, 1)])
@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "complex128"])
def test_constants_like_an_array_have_its_type(function, value, dtype):
    x = np.zeros((2, 1), dtype)
    out = function(x)
    assert (out.shape, out.dtype) == (x.shape, x.dtype)
    assert np.all(out == value)


def test_constants_like_an_array_take_another_shape_and_dtype():
    out = lax.full_like(np.zeros(2), 7, np.int32, (1, 3))
    assert (out.dtype, out.tolist()) == (np.int32, [[7, 7, 7]])


def test_constants_like_a_tracer_depend_on_its_type_alone():
    jaxpr = make_jaxpr(lambda x: lax.zeros_like(x))(np.ones(3))
    assert all(var not in jaxpr.invars for eqn in jaxpr.eqns for var in eqn.invars)


@pytest.mark.parametrize(("shape", "want"), [(3, (3,)), ((2, 0), (2, 0)), ((), ()), (np.int64(1), (1,))])
def test_empty_has_a_shape_and_a_dtype(shape, want):
    out = lax.empty(shape, np.int8)
    assert (out.shape, out.dtype) == (want, np.int8)


@pytest.mark.parametrize("is_traced", [False, True])
@pytest.mark.parametrize(
    ("make", "value"),
    [
        (lambda: lax.full((2,), 2**32 - 1, np.uint32), 2**32 - 1),
        (lambda: lax.full_like(np.zeros(2, np.uint32), 2**32 - 1), 2**32 - 1),
        (lambda: lax.full((2,), 2**40, np.float32), 2.0**40),
        (lambda: lax.convert_element_type(2**32 - 1, np.uint32), 2**32 - 1),
        (lambda: lax.convert_element_type(-(2**40), np.float32), -(2.0**40)),
    ],
)
def test_a_wide_integer_fits_the_dtype_that_is_asked_for_in_32_bits(make, value, is_traced):
    with config.enable_x64(False):
        out = jaxpr_as_fun(make_jaxpr(make)())()[0] if is_traced else make()
    assert np.all(out == value)
    assert out.dtype in (np.uint32, np.float32)


@pytest.mark.parametrize(
    ("make", "dtype"),
    [
        (lambda: lax.full((2,), 2**33, np.uint32), "uint32"),
        (lambda: lax.convert_element_type(2**64, "uint64"), "uint64"),
    ],
)
def test_an_integer_too_wide_for_the_dtype_is_refused(make, dtype):
    with pytest.raises(OverflowError, match=rf"the Python integer \d+ does not fit {dtype} at test_ops_create.py"):
        make()


def test_the_greatest_integers_are_made():
    assert lax.full((), 2**64 - 1, np.uint64) == 2**64 - 1
    assert lax.convert_element_type(2**64 - 1, np.uint64) == np.uint64(2**64 - 1)


def test_in_32_bits_the_advice_names_the_dtype_that_fits():
    with config.enable_x64(False), pytest.raises(OverflowError, match=r"Give it a dtype: numpy\.uint32\(4294967295\)"):
        lax.add(2**32 - 1, 1)
