import itertools

import numpy as np
import pytest

from calque_core import ShapedArray, ShapeError, config, eval_jaxpr, lax, make_jaxpr, typeof
from calque_core.ops.elementwise.operands import (
    binary,
    broadcast_operands,
    float_dtype,
    floating,
    numbers,
    promote,
    promoted_pair,
    result_type,
)

pytestmark = pytest.mark.sampled(keep=0.1)

DTYPES = ["bool", "int8", "int32", "int64", "uint8", "float16", "float32", "float64", "complex64", "complex128"]
SCALARS = [True, 3, 2.5, 1j]
NARROW = {"int64": "int32", "uint64": "uint32", "float64": "float32", "complex128": "complex64"}
HERE = "test_operands.py"


def staged_dtype(x, y):
    return make_jaxpr(lambda *args: promote("add", args)[0])(x, y).out_avals[0].dtype


@pytest.mark.parametrize(("a", "b"), list(itertools.product(DTYPES, DTYPES)))
def test_strong_operands_promote_as_in_numpy_evaluated_and_staged(a, b):
    x, y = np.ones(2, a), np.ones((), b)[()]
    for got in (result_type(x, y), promote("add", (x, y))[0].dtype, staged_dtype(x, y)):
        assert got == np.result_type(x, y)


@pytest.mark.parametrize(("a", "scalar"), list(itertools.product(DTYPES, SCALARS)))
def test_python_scalars_promote_as_in_numpy_evaluated_and_staged(a, scalar):
    x = np.ones(2, a)
    want = np.add(x, scalar).dtype
    for args in ((x, scalar), (scalar, x)):
        assert {typeof(v).dtype for v in promote("add", args)} == {want}
        assert result_type(*args) == want
        assert staged_dtype(*args) == want


@pytest.mark.parametrize(("a", "scalar"), list(itertools.product(DTYPES, SCALARS)))
def test_in_32_bits_operands_are_narrowed_before_they_are_promoted(a, scalar):
    x = np.ones(2, a)
    with config.enable_x64(False):
        want = np.add(x.astype(NARROW.get(a, a)), scalar).dtype.name
        want = NARROW.get(want, want)
        assert result_type(x, scalar) == want
        assert staged_dtype(x, scalar) == want
        assert {typeof(v).dtype.name for v in promote("add", (x, scalar))} == {want}


def test_result_type_takes_dtypes_names_and_python_types():
    assert result_type("int8", np.float32) == np.float32
    assert result_type(np.dtype("int8"), float) == np.float64
    assert result_type(bool, int) == np.int64
    with config.default_dtype_bits(32):
        assert result_type(int) == np.int32


def test_operands_that_fit_are_not_touched():
    x, y = np.ones(3), np.ones(3)
    assert all(a is b for a, b in zip(binary("add", x, y), (x, y)))
    assert binary("add", 1.0, 2.0) == (1.0, 2.0)
    scalar = np.float64(2)
    assert binary("add", x, scalar)[1] is scalar
    assert promote("add", (x, y))[0] is x


def test_fitting_operands_add_no_equation():
    jaxpr = make_jaxpr(lambda x, y: lax.add(x, y) * 2.0)(np.ones(3), np.float64(2))
    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["add", "mul"]


def test_promotion_is_visible_as_equations():
    jaxpr = make_jaxpr(lax.add)(np.ones(3, np.float32), np.ones((2, 1)))
    names = [eqn.primitive.name for eqn in jaxpr.eqns]
    assert names == ["convert_element_type", "broadcast_in_dim", "broadcast_in_dim", "add"]


def test_a_scalar_is_converted_where_it_stands_and_rank_0_is_not_broadcast():
    jaxpr = make_jaxpr(lambda x: x + 2.0)(np.ones(3, np.float32))
    assert str(jaxpr) == "{ lambda ; a:f32[3]. let b:f32[3] = add a 2.0 in (b,) }"
    x, y = broadcast_operands("add", [np.ones((2, 1)), np.float64(1)])
    assert (x.shape, y.shape) == ((2, 1), ())


@pytest.mark.parametrize(
    "shapes",
    [[(2, 1), (1, 3)], [(3,), (2, 3)], [(1,), (3,)], [(0,), (1,)], [(), (2,), (2, 2)], [(2, 1), (3,), (1, 1, 1)]],
)
def test_shapes_broadcast_by_numpys_rule_or_stay_rank_0(shapes):
    args = [np.ones(shape) for shape in shapes]
    want = np.broadcast_shapes(*shapes)
    assert {x.shape for x in broadcast_operands("add", args)} - {()} == {want}


@pytest.mark.parametrize("shapes", [[(2,), (3,)], [(2, 3), (2,)], [(0,), (2,)], [(2, 1), (3, 1)]])
def test_shapes_that_do_not_fit_are_refused_with_both_types_and_the_place(shapes):
    def fun(x, y):
        return lax.add(x, y)

    x, y = (np.ones(shape) for shape in shapes)
    types = rf"{typeof(x)} and {typeof(y)}".replace("[", r"\[").replace("]", r"\]")
    place = rf"at {HERE}:{fun.__code__.co_firstlineno + 1} \(.*fun\)"
    message = rf"add of {types} {place}: the shapes do not broadcast\. Make the sizes of each axis equal, or 1\."
    for use in (fun, make_jaxpr(fun)):
        with pytest.raises(ShapeError, match=message):
            use(x, y)


def test_a_python_integer_must_fit_the_array_it_meets():
    def fun(x):
        return lax.add(x, 300)

    advice = r"Convert the array first, or pass numpy\.int64\(300\)\."
    message = rf"the Python integer 300 does not fit int8 at {HERE}:\d+ \(.*fun\)\. {advice}"
    for use in (fun, make_jaxpr(fun)):
        with pytest.raises(OverflowError, match=message):
            use(np.ones(2, np.int8))
    with pytest.raises(OverflowError, match="the Python integer -1 does not fit uint8"):
        lax.add(np.uint8(1), -1)


def test_the_first_operand_that_is_no_array_is_named():
    with pytest.raises(
        TypeError, match=r"\[1\.0\] of type list is not an array or a scalar\. Wrap it in numpy\.asarray first\."
    ):
        binary("add", 1.0, [1.0])


@pytest.mark.parametrize("name", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integers_become_floats_as_in_numpys_functions(name):
    x = np.ones(2, name)
    want = np.sin(x).dtype
    assert floating(x).dtype == float_dtype(typeof(x)) == want
    with config.enable_x64(False):
        assert floating(x).dtype == NARROW.get(want.name, want)


def test_floats_and_complex_numbers_stay():
    assert type(floating(1.0)) is np.float64  # a Python scalar takes its dtype
    for x in (1j, np.float32(1), np.ones(2, np.float16), np.ones(2, np.complex64)):
        assert floating(x) is x


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("number", [2, -0.0, 1e30, float("nan"), True])
@pytest.mark.parametrize("pair", [binary, promoted_pair, numbers])
@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.filterwarnings("ignore:overflow")
def test_a_number_beside_floats_has_the_value_and_the_type_that_promotion_gives(dtype, number, pair, bits):
    x = np.ones(2, dtype)
    with config.default_dtype_bits(bits):
        for operands in ((x, number), (number, x)):
            got, want = pair("add", *operands), promote("add", operands)
            assert [*map(typeof, got)] == [*map(typeof, want)]
            np.testing.assert_array_equal(np.signbit(np.real(got[0] * got[1])), np.signbit(np.real(want[0] * want[1])))
            np.testing.assert_array_equal(got[0] * got[1], want[0] * want[1])


def test_a_python_integer_becomes_the_default_float():
    assert floating(3).dtype == np.float64
    with config.default_dtype_bits(32):
        assert floating(3).dtype == np.float32
        assert float_dtype(ShapedArray((), np.int32, weak_type=True)) == np.float32


def test_a_conversion_refuses_a_python_integer_that_does_not_fit_and_wraps_arrays():
    assert lax.convert_element_type(np.int64(300), np.uint8) == 44
    for value, dtype in ((300, np.uint8), (-1, np.uint8), (2**40, np.int8)):
        with pytest.raises(OverflowError, match=rf"the Python integer {value} does not fit .* numpy\.int64\({value}\)"):
            lax.convert_element_type(value, dtype)
        jaxpr = make_jaxpr(lambda x, dtype=dtype: lax.add(x, dtype(1)))(1)
        with pytest.raises(OverflowError, match=rf"the Python integer {value} does not fit"):
            eval_jaxpr(jaxpr, jaxpr.consts, value)


def test_a_weak_integer_is_compared_in_its_own_width():
    jaxpr = make_jaxpr(lambda x, y: x < y)(2, np.ones(2, np.int8))
    assert eval_jaxpr(jaxpr, jaxpr.consts, 2**40, np.ones(2, np.int8))[0].tolist() == [False, False]
