"""Functions that change an array in NumPy return the array that NumPy's argument becomes."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import NumpyRuleError, eval_jaxpr, make_jaxpr
from calque_core.config import disable_jit

X = np.arange(12.0).reshape(3, 4)
MASK = X % 3 == 0
CALLS = {
    "put": lambda m, x: m.put(x, [0, -1, 5], [7, 8]),
    "put of a matrix": lambda m, x: m.put(x, np.array([[1, 2], [3, 1]]), 9),
    "put wrapped": lambda m, x: m.put(x, [13, -14], [1, 2], mode="wrap"),
    "put clipped": lambda m, x: m.put(x, [13, -14], [1, 2], mode="clip"),
    "put nothing": lambda m, x: m.put(x, np.array([], int), 1),
    "place": lambda m, x: m.place(x, MASK, [7, 8, 9]),
    "place more values": lambda m, x: m.place(x, MASK, np.arange(30).astype(x.dtype)),
    "place nothing": lambda m, x: m.place(x, np.zeros((3, 4), bool), 4),
    "put_along_axis": lambda m, x: m.put_along_axis(x, np.array([[1], [0], [-1]]), 50, 1),
    "put_along_axis of columns": lambda m, x: m.put_along_axis(x, np.array([[2, 0, 1, 1]]), np.arange(4), -2),
    "put_along_axis of the flat array": lambda m, x: m.put_along_axis(x, np.array([3, 4]), np.array([1, 2]), None),
}


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "complex64"])
@pytest.mark.parametrize("name", CALLS)
def test_the_result_is_the_array_as_numpy_leaves_it(name, dtype):
    x = X.astype(dtype)
    want = x.copy()
    if dtype == "bool" and name not in ("place more values", "put nothing"):
        with pytest.raises(TypeError, match="bool"):
            CALLS[name](cnp, x)
        return
    CALLS[name](np, want)
    with disable_jit():
        eager = CALLS[name](cnp, x)
    jaxpr = make_jaxpr(lambda x: CALLS[name](cnp, x))(x)
    for got in (CALLS[name](cnp, x), eager, *eval_jaxpr(jaxpr, jaxpr.consts, x)):
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype
    np.testing.assert_array_equal(x, X.astype(dtype))


def test_traced_positions_and_masks_are_taken():
    f = lambda x, i, mask: [cnp.put(x, i, [7, 8]), cnp.place(x, mask, [7, 8])]
    jaxpr = make_jaxpr(f)(X, np.array([3, 0]), MASK)
    got = eval_jaxpr(jaxpr, jaxpr.consts, X, np.array([3, 0]), MASK)
    with disable_jit():
        want = f(X, np.array([3, 0]), MASK)
    np.testing.assert_array_equal(got, want)


def test_numpys_own_functions_are_refused_since_they_change_their_argument():
    with pytest.raises(NumpyRuleError, match=r"numpy.put of a traced array.*has no rule. Use calque.numpy.put\(x"):
        make_jaxpr(lambda x: np.put(x, [0], 1.0))(X)
    with pytest.raises(NumpyRuleError, match=r"numpy.place of a traced array.*has no rule"):
        make_jaxpr(lambda x: np.place(x, MASK, 1.0))(X)


def test_wrong_arguments_are_refused():
    for call in (
        lambda: cnp.put(X, [0], 1, inplace=True),
        lambda: cnp.place(X, MASK, 1, inplace=True),
        lambda: cnp.put_along_axis(X, np.array([[0]]), 1, 0, inplace=True),
    ):
        with pytest.raises(TypeError, match=r"an array is not changed in place. Use the result"):
            call()
    with pytest.raises(IndexError, match="12"):
        cnp.put(X, [12], 1)
    with pytest.raises(ValueError, match=r"put.*the mode is 'x'"):
        cnp.put(X, [1], 1, "x")
    with pytest.raises(ValueError, match=r"place.*there are no values to put. Give at least one"):
        cnp.place(X, MASK, [])
    with pytest.raises(ValueError, match=r"place.*the mask is bool\[4\] and the array float64\[3,4\]"):
        cnp.place(X, MASK[0], 1)
    with pytest.raises(ValueError, match=r"put_along_axis of float64\[3,4\].*Give as many axes"):
        cnp.put_along_axis(X, np.array([0]), 1, 0)


def test_elements_along_an_axis_are_replaced_under_a_mode():
    x, positions = np.zeros((2, 3)), np.array([[7], [-1]])
    for mode, want in [("drop", [[0, 0, 0], [0, 0, 5]]), ("clip", [[0, 0, 5], [0, 0, 5]])]:
        put = lambda x, i, mode=mode: cnp.put_along_axis(x, i, 5, 1, mode=mode)
        program = make_jaxpr(put)(x, positions)
        for got in (put(x, positions), eval_jaxpr(program, program.consts, x, positions)[0]):
            np.testing.assert_array_equal(got, want)
    with pytest.raises(ValueError, match=r"the mode at test_putting\S+ .* is 'wrap'"):
        cnp.put_along_axis(x, positions, 5, 1, mode="wrap")
    np.testing.assert_array_equal(cnp.put(x[0], [1], 5, mode=None), [0, 5, 0])
