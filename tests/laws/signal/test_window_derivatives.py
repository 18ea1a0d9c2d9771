from __future__ import annotations

import numpy as np
import pytest

from calque_autodiff import grad, linearize, vjp
from calque_core import lax, make_jaxpr

pytestmark = pytest.mark.sampled(keep=0.2)

STARTS = {"add": 0.0, "max": -np.inf, "min": np.inf}
WINDOWS = {
    "blocks": ((2, 2), (2, 2)),
    "overlapping": ((2, 3), (1, 1), "SAME"),
    "padding": ((3, 2), (2, 3), ((1, 2), (0, 1))),
    "cut off": ((2, 2), (1, 2), ((-1, 0), (1, -1))),
    "gaps in the operand": ((2, 3), (1, 1), "SAME", (2, 1)),
    "gaps in the window": ((2, 2), (1, 1), "VALID", None, (2, 3)),
    "gaps in both": ((2, 2), (2, 3), "VALID", (2, 3), (2, 3)),
    "size 1": ((1, 1), (1, 1)),
    "longer than the operand": ((5, 9), (1, 1), "SAME"),
    "no window": ((9, 9), (1, 1)),
}


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", STARTS)
def test_windows_obey_the_laws(name, window, spaced, laws):
    laws(lambda x: lax.reduce_window(x, STARTS[name], getattr(lax, name), *WINDOWS[window]), spaced((4, 5)))


@pytest.mark.parametrize("window", ["blocks", "padding", "gaps in both"])
def test_windows_of_any_function_obey_the_laws(window, spaced, laws):
    laws(lambda x: lax.reduce_window(x, 1.5, lambda a, b: a * b, *WINDOWS[window]), spaced((4, 5)))


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (1, 4)])
@pytest.mark.parametrize("name", STARTS)
def test_windows_of_empty_axes_and_of_single_elements_obey_the_laws(name, shape, spaced, laws):
    laws(lambda x: lax.reduce_window(x, STARTS[name], getattr(lax, name), (1, 2), (1, 1), "SAME"), spaced(shape))


def test_at_a_tie_the_first_element_has_the_whole_derivative():
    x = np.array([2.0, 2.0, 1.0, 2.0])
    largest = lambda x: lax.reduce_window(x, -np.inf, lax.max, (4,))[0]
    np.testing.assert_array_equal(grad(largest)(x), [1, 0, 0, 0])
    _, linear = linearize(largest, x)
    assert linear(np.array([3.0, 5.0, 7.0, 9.0])) == 3.0


def test_the_transpose_of_a_sum_is_one_slide_of_the_same_window():
    out, pullback = vjp(lambda x: lax.reduce_window(x, 0.0, lax.add, (3,), (2,), "SAME"), np.ones(7))
    (eqn,) = make_jaxpr(pullback)(out).eqns
    assert eqn.primitive.name == "reduce_window_sum"
    assert (eqn.params["base_dilation"], eqn.params["window_strides"]) == ((2,), (1,))
