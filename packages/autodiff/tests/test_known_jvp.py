"""Forward derivatives over evaluation: an operation whose types were met before runs as code."""

import numpy as np
import pytest

from calque_autodiff import defjvp, grad, jvp
from calque_autodiff.known.tables import jvps
from calque_core import Primitive, config, lax
from calque_core.engine import advance_rule_epoch

X = np.linspace(0.5, 1.6, 6).reshape(2, 3)
X_DOT = np.linspace(-1.0, 2.0, 6).reshape(2, 3)


@pytest.mark.counts
def test_no_table_grows_after_the_third_call():
    advance_rule_epoch()
    for _ in range(3):
        jvp(lambda x: np.var(lax.sin(x)), (X,), (X_DOT,))
    made = len(jvps.known)
    assert made
    for _ in range(3):
        jvp(lambda x: np.var(lax.sin(x)), (X,), (X_DOT,))
    assert len(jvps.known) == made


def test_a_derivative_along_a_gradient_agrees_with_differences():
    f = lambda x: np.sum(np.tanh(x) * x**3)
    expected = (grad(f)(X + 1e-6 * X_DOT) - grad(f)(X - 1e-6 * X_DOT)) / 2e-6
    for _ in range(7):
        np.testing.assert_allclose(jvp(grad(f), (X,), (X_DOT,))[1], expected, rtol=1e-6, atol=1e-8)


def test_results_share_no_memory_with_the_arguments():
    for _ in range(5):
        x, x_dot = X.copy(), X_DOT.copy()
        out, out_dot = jvp(lambda x: x.reshape(6), (x,), (x_dot,))
        out[:] = out_dot[:] = 0.0
        np.testing.assert_array_equal(x, X)
        np.testing.assert_array_equal(x_dot, X_DOT)


def test_an_error_names_the_rule():
    f = lambda x: np.mean(np.log(x))
    for _ in range(4):
        jvp(f, (X,), (X_DOT,))
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero") as caught:
        jvp(f, (np.array([1.0, 0.0]),), (np.ones(2),))
    assert any("derivative rule of 'log'" in note for note in caught.value.__notes__)


def test_other_settings_run_the_rules():
    f = lambda x: np.mean(x, axis=0).sum()
    for _ in range(4):
        jvp(f, (X,), (X_DOT,))
    with config.enable_x64(False):
        assert jvp(f, (X,), (X_DOT,))[1].dtype == np.float32
    with np.errstate(invalid="ignore"), config.debug_nans(True), pytest.raises(FloatingPointError, match="nan"):
        jvp(lambda x: np.sqrt(x).sum(), (np.array([-1.0, 1.0]),), (np.ones(2),))


def test_a_rule_that_replaces_another_one_is_used_at_once():
    triple_p = Primitive("triple_forward")
    triple_p.def_impl(lambda x: np.multiply(3.0, x), leaf=True)
    triple_p.def_abstract_eval(lambda x: x.strip_weak_type())
    defjvp(triple_p, lambda x_dot, out, x: triple_p.bind(x_dot))
    for _ in range(4):
        assert jvp(triple_p.bind, (2.0,), (1.0,)) == (6.0, 3.0)
    triple_p.def_rule("jvp", lambda primals, tangents: (primals[0], tangents[0]), override=True)
    assert jvp(triple_p.bind, (2.0,), (1.0,)) == (2.0, 1.0)
