import threading

import numpy as np
import pytest

from calque_core import Primitive, ShapedArray, config, lax, make_jaxpr
from calque_core.frames.source import BackwardPosition, current_position, in_backward, place_and_pass
from calque_core.jaxprs.debugging import check_program, is_debugging


@pytest.fixture(autouse=True)
def quiet_numpy():
    with np.errstate(all="ignore"):
        yield


def raised(fun, *args):
    with pytest.raises(FloatingPointError) as caught:
        fun(*args)
    return caught.value


def test_without_the_setting_nothing_is_raised():
    assert not is_debugging()
    assert np.isnan(lax.log(-1.0))
    assert np.isinf(lax.log(0.0))


def test_the_operation_the_line_the_element_and_the_operand_are_named():
    with config.debug_nans():
        error = raised(lax.log, np.array([1.0, -2.0]))
    assert str(error).startswith(
        "log of -2.0 (in float64[2]) gave nan, element [1] of its result float64[2] at test_debugging.py:"
    )
    assert "(raised), in the forward pass. Replace operands outside the domain of the operation" in str(error)


def test_a_scalar_is_named_without_a_place_in_it():
    with config.debug_nans():
        assert str(raised(lax.sqrt, -4.0)).startswith("sqrt of -4.0 gave nan at test_debugging.py:")


def test_operands_of_another_shape_are_told_by_their_range():
    x = np.array([[np.inf, 1.0], [2.0, -np.inf]])
    with config.debug_nans():
        error = raised(lambda: lax.reduce_sum(x))
    assert "sum of float64[2,2] with values from -inf to inf gave nan at" in str(error)


def test_an_empty_or_complex_operand_is_told_by_its_type():
    empty_p = Primitive("of_nothing")
    empty_p.def_impl(lambda x: np.float64(np.nan))
    with config.debug_nans():
        assert str(raised(empty_p.bind, np.ones(0))).startswith("of_nothing of float64[0] gave nan at")
        assert "complex128[2] gave" in str(raised(empty_p.bind, np.ones(2, complex)))


def test_both_operands_are_named():
    with config.debug_nans():
        assert "div of 0.0 and 0.0 gave nan" in str(raised(lax.div, 0.0, 0.0))


def test_an_infinity_is_no_nan():
    with config.debug_nans():
        assert np.isinf(lax.log(0.0))
    with config.debug_infs():
        assert np.isnan(lax.log(-1.0))
        error = raised(lax.log, 0.0)
    assert str(error).startswith("log of 0.0 gave -inf at")
    assert str(error).endswith("or turn debug_infs off.")


def test_what_was_given_is_nobodys_fault():
    with config.debug_nans(), config.debug_infs():
        assert np.isnan(lax.add(np.nan, 1.0))
        assert np.isinf(lax.mul(np.inf, 2.0))


def test_a_nan_made_of_infinities_is_found_while_both_are_forbidden():
    with config.debug_nans(), config.debug_infs():
        assert "sub of inf and inf gave nan" in str(raised(lax.sub, np.inf, np.inf))


def test_integers_and_bools_are_passed_over():
    with config.debug_nans():
        assert lax.add(1, 2) == 3
        assert lax.lt(1.0, 2.0)


def test_every_result_is_looked_at():
    pair_p = Primitive("pair", multiple_results=True)
    pair_p.def_impl(lambda x: [x, np.log(x)])
    with config.debug_nans():
        assert "pair of -1.0 gave nan at" in str(raised(pair_p.bind, -1.0))


def test_a_narrow_float_is_looked_at():
    with config.debug_infs():
        assert "gave inf" in str(raised(lax.exp, np.float16(100.0)))


def test_a_setting_is_of_its_thread():
    found = []

    def elsewhere():
        with np.errstate(all="ignore"):
            found.append(np.isnan(lax.log(-1.0)))

    with config.debug_nans():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert found == [True]


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_tells_the_step(reverse):
    with config.debug_nans():
        error = raised(lambda: lax.scan(lambda c, x: (lax.log(c), x), 2.0, np.ones(9), reverse=reverse))
    assert str(error).startswith("log of -0.366512920")
    assert "<lambda>), in the forward pass" in str(error)
    assert error.__notes__[0].startswith("This happened in step 2 of a scan at test_debugging.py:")
    assert error.__notes__[0].endswith(", counted from 0.")


def test_a_while_loop_tells_the_step():
    with config.debug_nans():
        error = raised(lambda: lax.while_loop(lambda v: lax.lt(v, 9.0), lax.log, 2.0))
    assert error.__notes__[0].startswith("This happened in step 2 of a while at test_debugging.py:")


def test_a_branch_is_looked_into():
    with config.debug_nans():
        error = raised(lambda: lax.cond(np.True_, lax.log, lax.neg, -1.0))
    assert str(error).startswith("log of -1.0 gave nan")


def test_a_constant_nan_in_a_program_is_no_ones_fault():
    with config.debug_nans():
        assert np.isnan(lax.cond(np.True_, lambda x: lax.add(x, np.nan), lax.neg, -1.0))


def program(fun, *args):
    jaxpr = make_jaxpr(fun)(*args)
    return jaxpr, args


def test_a_program_is_run_again_to_find_the_operation():
    jaxpr, args = program(lambda x: lax.neg(lax.log(x)), np.array([-1.0]))
    with config.debug_nans():
        error = raised(check_program, "loss", jaxpr, args, [np.array([np.nan])])
    assert str(error).startswith("log of -1.0 (in float64[1]) gave nan, element [0]")
    assert (
        "The compiled program of loss was run again, operation by operation, to locate this operation."
        in error.__notes__
    )


def test_a_program_with_good_results_is_not_run_again():
    jaxpr, args = program(lax.log, -1.0)
    with config.debug_nans():
        check_program("loss", jaxpr, args, [np.float64(0.0)])


@pytest.mark.parametrize(
    "fun", [lambda x: lax.add(x, np.nan), lambda x: lax.add(x, np.full(2, np.nan)), lambda x: np.nan]
)
def test_a_program_that_holds_a_nan_may_give_one(fun):
    jaxpr, args = program(fun, np.ones(2))
    with config.debug_nans():
        check_program("loss", jaxpr, args, [np.full(2, np.nan)])


def test_a_program_none_of_whose_operations_is_to_blame_is_blamed_itself():
    jaxpr, args = program(lax.exp, 1.0)
    with config.debug_nans():
        error = raised(check_program, "loss", jaxpr, args, [np.float64(np.nan)])
    assert "the compiled program of loss gave nan, but no operation gives it when calque runs them one by one" in str(
        error
    )
    assert "use a wider dtype" in str(error)


def test_a_primitive_that_can_only_be_compiled_is_named():
    opaque_p = Primitive("opaque")
    opaque_p.def_abstract_eval(lambda x: ShapedArray(x.shape, x.dtype))
    jaxpr, args = program(opaque_p.bind, np.float64(1.0))
    with config.debug_nans():
        error = raised(check_program, "loss", jaxpr, args, [np.float64(np.nan)])
    assert "because 'opaque' has no evaluation rule. Define one: opaque_p.def_impl(fn)." in str(error)


def test_a_position_of_the_backward_pass_says_so():
    position = in_backward(current_position())
    assert isinstance(position, BackwardPosition)
    assert place_and_pass(position).startswith(", in the backward pass of the operation at test_debugging.py:")
    assert in_backward(None) is None
