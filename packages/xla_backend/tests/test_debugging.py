"""Under `jit`: the program is checked as a whole, then run again by evaluation to find the operation."""

import numpy as np
import pytest

from calque_core import Primitive, ShapedArray, ShapeDtypeStruct, config, lax
from calque_xla_backend import Array, device_put, jit, register_lowering


@pytest.fixture(autouse=True)
def quiet_numpy():
    with np.errstate(all="ignore"):
        yield


def raised(fun, *args):
    with pytest.raises(FloatingPointError) as caught:
        fun(*args)
    return caught.value


@jit
def loss(x):
    y = lax.log(x)
    return lax.mul(y, 2.0)


BAD, GOOD = np.array([1.0, -2.0]), np.array([1.0, 2.0])
FOUND = "log of -2.0 (in float64[2]) gave nan, element [1] of its result float64[2] at test_debugging.py:"
AGAIN = "The compiled program of loss was run again, operation by operation, to locate this operation."


@pytest.mark.parametrize("make", [np.array, device_put])
def test_the_operation_inside_is_named(make):
    with config.debug_nans():
        error = raised(loss, make(BAD))
    assert str(error).startswith(FOUND)
    assert "(loss), in the forward pass" in str(error)
    assert error.__notes__[:-1] == [AGAIN]


def test_our_error_is_raised_where_numpys_warnings_are_errors():
    with config.debug_nans(), np.errstate(all="warn"):  # pytest makes errors of warnings
        assert str(raised(loss, BAD)).startswith(FOUND)
    with config.debug_nans(), np.errstate(all="raise"):
        assert str(raised(loss, BAD)).startswith(FOUND)


def test_a_warm_function_is_checked_and_is_fast_again_afterwards():
    x = device_put(BAD)
    for _ in range(3):
        assert np.isnan(np.asarray(loss(x))[1])
    with config.debug_nans():
        for _ in range(3):
            assert str(raised(loss, x)).startswith(FOUND)
            np.testing.assert_allclose(np.asarray(loss(device_put(GOOD))), np.log(GOOD) * 2.0)
    assert np.isnan(np.asarray(loss(x))[1])


def test_process_wide_settings_reach_a_warm_function():
    x = device_put(BAD)
    loss(x)
    config.update("debug_nans", True)
    try:
        assert str(raised(loss, x)).startswith(FOUND)
    finally:
        config.update("debug_nans", False)
    assert np.isnan(np.asarray(loss(x))[1])


def test_infinities_are_errors_too():
    with config.debug_infs():
        error = raised(loss, np.array([0.0, 1.0]))
    assert str(error).startswith("log of 0.0 (in float64[2]) gave -inf, element [0]")


def test_a_nan_in_an_argument_is_no_error():
    with config.debug_nans():
        assert np.isnan(np.asarray(loss(np.array([np.nan]))))


def test_a_new_nan_beside_one_in_an_argument_is_an_error():
    with config.debug_nans():
        error = raised(jit(lambda x, y: (lax.log(x), lax.neg(y))), -1.0, np.nan)
    assert str(error).startswith("log of -1.0 gave nan")


def test_values_that_are_not_returned_are_not_checked():
    with config.debug_nans():
        assert jit(lambda x: lax.select(lax.gt(x, 0.0), lax.log(x), x))(-1.0) == -1.0


def test_structures_static_and_keyword_arguments_pass_through():
    def fun(tree, *, n):
        return {"y": tree["x"] * n, "z": [tree["x"]]}

    with config.debug_nans():
        out = jit(fun, static_argnames="n")({"x": np.ones(2)}, n=3)
    assert type(out["y"]) is Array
    np.testing.assert_array_equal(np.asarray(out["y"]), [3.0, 3.0])


def test_donated_arguments_are_kept_for_running_again():
    x = device_put(BAD)
    with config.debug_nans():
        raised(jit(lambda x: lax.log(x), donate_argnums=0), x)
    assert not x.is_deleted()


def test_a_type_instead_of_an_array_is_refused():
    with config.debug_nans(), pytest.raises(TypeError, match=r"is ShapeDtypeStruct.*, a type instead of an array"):
        loss(ShapeDtypeStruct((2,), np.float64))


@pytest.mark.parametrize("compiled", [False, True])
def test_a_loop_tells_the_step_on_device_arrays_too(compiled):
    def loop(x):
        return lax.scan(lambda c, _: (lax.log(c), None), x, None, length=5)[0]

    with config.debug_nans():
        error = raised(jit(loop) if compiled else loop, device_put(np.float64(2.0)))
    assert str(error).startswith("log of -0.366512920")
    assert error.__notes__[0].startswith("This happened in step 2 of a scan at test_debugging.py:")


def test_a_loop_on_device_arrays_gives_device_arrays():
    with config.debug_nans():
        out = lax.scan(lambda c, _: (lax.exp(lax.neg(c)), c), device_put(np.float64(2.0)), None, length=5)
    assert [type(x) for x in out] == [Array, Array]


def test_an_operation_on_device_arrays_is_checked():
    with config.debug_nans():
        assert str(raised(lax.log, device_put(BAD))).startswith(FOUND)


def test_a_function_compiled_inside_another_is_checked():
    with config.debug_nans():
        error = raised(jit(lambda x: lax.neg(loss(x))), BAD)
    assert str(error).startswith(FOUND)
    assert AGAIN in error.__notes__


def test_a_primitive_that_only_compiles_is_named():
    opaque_p = Primitive("opaque_log")
    opaque_p.def_abstract_eval(lambda x: ShapedArray(x.shape, x.dtype))

    register_lowering(opaque_p, lambda ctx, x: lax.log_p.rules["lowering"](ctx, x))
    with config.debug_nans():
        error = raised(jit(opaque_p.bind), np.float64(-1.0))
    assert "because 'opaque_log' has no evaluation rule" in str(error)
