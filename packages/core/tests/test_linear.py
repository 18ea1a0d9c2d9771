import numpy as np
import pytest

from calque_core import (
    ShapedArray,
    UndefinedPrimal,
    Zero,
    add_tangents,
    config,
    float0,
    instantiate_zeros,
    is_undefined_primal,
    lax,
    make_jaxpr,
    typeof,
)
from calque_core.ops.calls.linear import is_nonzero, undefined_of, zero_of, zero_tangent, zeros_of

AVALS = [ShapedArray(shape, dtype) for shape in [(), (3,), (2, 0)] for dtype in ("f4", "f8", "c16", "i4", "bool")]


@pytest.mark.parametrize("aval", AVALS, ids=repr)
def test_a_zero_is_an_array_of_zeros_of_its_type(aval):
    zeros = instantiate_zeros(Zero(aval))
    assert typeof(zeros) is aval
    assert not np.any(zeros)


def test_a_zero_of_float0_is_an_array_of_nothing():
    zeros = zeros_of(ShapedArray((2,), float0))
    assert (zeros.shape, zeros.dtype) == ((2,), float0)


def test_zeros_are_staged_where_the_zero_is_needed():
    jaxpr = make_jaxpr(lambda: instantiate_zeros(Zero(ShapedArray((3,), np.float32))))()
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["broadcast_in_dim"]


def test_what_is_no_zero_is_left_alone():
    x = np.ones(3)
    assert instantiate_zeros(x) is x


@pytest.mark.parametrize(
    ("primal", "text"),
    [
        (1.0, "Zero(float64[])"),
        (np.ones(2, np.float32), "Zero(float32[2])"),
        (np.ones(2, np.complex64), "Zero(complex64[2])"),
        (3, "Zero(float0[])"),
        (np.ones(2, bool), "Zero(float0[2])"),
    ],
)
def test_the_zero_tangent_of_a_value_has_its_tangent_type(primal, text):
    assert repr(zero_tangent(primal)) == text


def test_the_zero_tangent_follows_the_regime():
    with config.enable_x64(False):
        assert repr(zero_tangent(np.ones(2))) == "Zero(float32[2])"


def test_placeholders_of_one_type_are_one_object():
    aval = ShapedArray((3,), np.float64)
    assert zero_of(aval) is zero_of(ShapedArray((3,), np.float64))
    assert undefined_of(aval) is undefined_of(ShapedArray((3,), np.float64))
    assert zero_tangent(np.ones(3)) is zero_tangent(np.zeros(3))


def test_placeholders_print_their_type():
    assert repr(Zero(typeof(1.0))) == "Zero(~float64[])"
    assert repr(UndefinedPrimal(typeof(np.ones(2)))) == "UndefinedPrimal(float64[2])"


def test_an_undefined_primal_is_told_from_values_and_zeros():
    aval = typeof(np.ones(2))
    assert is_undefined_primal(UndefinedPrimal(aval))
    assert not any(map(is_undefined_primal, (Zero(aval), np.ones(2), None, aval)))


def test_a_zero_is_neutral_in_sums():
    zero, x = Zero(typeof(np.ones(2))), np.ones(2)
    assert add_tangents(zero, x) is x
    assert add_tangents(x, zero) is x
    assert add_tangents(zero, zero) is zero
    assert add_tangents(x, x).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("placeholder", [Zero, UndefinedPrimal])
@pytest.mark.parametrize(
    "use",
    [
        lax.sin,
        lax.sin_p.bind,
        lambda x: make_jaxpr(lambda: lax.sin(x))(),
        lambda x: make_jaxpr(lambda y: lax.mul(x, y))(1.0),
        lambda x: make_jaxpr(lambda: x)(),
    ],
)
def test_placeholders_are_refused_as_operands(use, placeholder):
    name = placeholder.__name__
    with pytest.raises(TypeError, match=rf"{name}"):
        use(placeholder(typeof(1.0)))


def test_the_mask_of_tangents_tells_zeros_by_their_class():
    aval = ShapedArray((), "float64")
    assert is_nonzero([0.0, Zero(aval)]) == [True, False]


def test_a_symbolic_zero_has_the_shape_and_the_dtype_of_its_array():
    zero = zero_tangent(np.ones((2, 3), np.float32))
    assert (zero.shape, zero.dtype) == ((2, 3), np.float32)
