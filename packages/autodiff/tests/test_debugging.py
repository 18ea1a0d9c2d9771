"""Which pass made a nan: the forward one, with the derivative rule, or the backward one."""

import numpy as np
import pytest

from calque_autodiff import grad, jvp, linearize, transpose_jaxpr, vjp
from calque_core import config, eval_jaxpr, lax, make_jaxpr
from calque_core.frames.source import BackwardPosition


@pytest.fixture(autouse=True)
def quiet_numpy():
    with np.errstate(all="ignore"):
        yield


def raised(fun, *args):
    with pytest.raises(FloatingPointError) as caught:
        fun(*args)
    return caught.value


def hidden(x):
    """Have an infinite derivative in the middle that the result's own derivative, 0, is multiplied with."""
    return lax.mul(lax.sqrt(x), 0.0)


def test_the_backward_pass_is_named_with_the_line_of_the_operation():
    with config.debug_nans():
        error = raised(grad(hidden), 0.0)
    assert str(error).startswith(
        "mul of 0.0 and inf gave nan, in the backward pass of the operation at test_debugging.py:"
    )
    assert "(hidden)" in str(error)


def test_the_forward_pass_is_named_with_the_derivative_rule():
    with config.debug_infs():
        error = raised(grad(hidden), 0.0)
    assert str(error).startswith("div of 0.5 and 0.0 gave inf at test_debugging.py:")
    assert "(hidden), in the forward pass." in str(error)
    assert error.__notes__[0].startswith("This happened in the derivative rule of 'sqrt', in grad of hidden (")


def test_jvp_is_a_forward_pass():
    with config.debug_nans():
        error = raised(jvp, hidden, (0.0,), (1.0,))
    assert "gave nan at" in str(error)
    assert "in the forward pass" in str(error)
    assert "in jvp of hidden" in error.__notes__[0]


def test_a_linear_function_is_a_forward_pass_and_a_pulled_one_a_backward_pass():
    with config.debug_nans():
        _, f_lin = linearize(hidden, 0.0)
        _, f_vjp = vjp(hidden, 0.0)
        assert "in the forward pass" in str(raised(f_lin, 1.0))
        assert "in the backward pass of the operation at" in str(raised(f_vjp, 1.0))


def test_a_nan_of_the_function_itself_is_found_under_grad():
    with config.debug_nans():
        error = raised(grad(lambda x: lax.log(x)), -1.0)
    assert str(error).startswith("log of -1.0 gave nan at")


def test_a_staged_gradient_knows_its_pass():
    jaxpr = make_jaxpr(grad(hidden))(1.0)
    passes = [type(eqn.position) is BackwardPosition for eqn in jaxpr.eqns]
    assert passes == sorted(passes)
    assert set(passes) == {False, True}
    with config.debug_nans():
        error = raised(eval_jaxpr, jaxpr, jaxpr.consts, 0.0)
    assert "in the backward pass of the operation at" in str(error)


def test_a_transposed_program_is_of_the_backward_pass():
    jaxpr, _ = transpose_jaxpr(make_jaxpr(lambda x, y: lax.mul(x, y))(1.0, 1.0), [True, False])
    assert all(type(eqn.position) is BackwardPosition for eqn in jaxpr.eqns)


def test_the_step_of_a_loop_is_named_going_backward():
    def loss(x):
        def step(c, _):
            return lax.mul(lax.sqrt(c), 0.0), None

        return lax.scan(step, x, None, length=3)[0]

    with config.debug_nans():
        error = raised(grad(loss), 4.0)
    assert "in the backward pass of the operation at" in str(error)
    assert "This happened in step " in error.__notes__[0]


def test_the_setting_changes_no_derivative():
    def loss(x):
        return lax.reduce_sum(lax.mul(lax.sin(x), x))

    x = np.linspace(0.0, 1.0, 5)
    with config.debug_nans(), config.debug_infs():
        debugged = grad(loss)(x)
    np.testing.assert_array_equal(debugged, grad(loss)(x))
