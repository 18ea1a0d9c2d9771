"""Universal functions of Python's functions have NumPy's methods, with numbers in place of objects."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import jaxpr_as_fun, make_jaxpr


def mix(x, y):
    return x + 2 * y


MINE, NUMPYS = cnp.frompyfunc(mix, 2, 1), np.frompyfunc(mix, 2, 1)
CALLS = {
    "call": lambda f, x: f(x, x[0]),
    "reduce": lambda f, x: f.reduce(x),
    "reduce along an axis": lambda f, x: f.reduce(x, axis=1, keepdims=True),
    "reduce from a number": lambda f, x: f.reduce(x[0], initial=3),
    "reduce one element": lambda f, x: f.reduce(x[:, :1], 1),
    "accumulate": lambda f, x: f.accumulate(x, 1),
    "accumulate one element": lambda f, x: f.accumulate(x[:1]),
    "reduceat": lambda f, x: f.reduceat(x[0], [0, 2, 1]),
    "reduceat along an axis": lambda f, x: f.reduceat(x, [1, 0], axis=1),
    "outer": lambda f, x: f.outer(x, x[0]),
}


@pytest.mark.parametrize("dtype", ["int64", "float64"])
@pytest.mark.parametrize("name", CALLS)
def test_a_method_is_numpys(name, dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    call = CALLS[name]
    want = np.asarray(call(NUMPYS, x)).astype(dtype)
    for got in (call(MINE, x), *jaxpr_as_fun(make_jaxpr(lambda x: call(MINE, x))(x))(x)):
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype


def test_known_values_may_decide():
    larger = cnp.frompyfunc(lambda x, y: max(y, x), 2, 1)
    x = np.array([[3.0, 1.0], [2.0, 5.0]])
    assert larger.reduce(x, None) == 5.0
    np.testing.assert_array_equal(larger.accumulate(x), [[3.0, 1.0], [3.0, 5.0]])


def test_updates_are_made_one_by_one():
    x, index = np.arange(6.0).reshape(2, 3), (0, [1, 1, 2])
    want = x.copy()
    np.add.at(want, index, 5.0)
    plus, minus = cnp.frompyfunc(lambda x, y: x + y, 2, 1), cnp.frompyfunc(lambda x: -x, 1, 1)
    for got in (plus.at(x, index, 5.0), *jaxpr_as_fun(make_jaxpr(lambda x: plus.at(x, index, 5.0))(x))(x)):
        np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(minus.at(x, index)[0], [0.0, 1.0, -2.0])


def test_elements_may_be_left_out():
    mask = np.array([True, False, True])
    for reduce in (lambda x: MINE.reduce(x, where=mask, initial=1.0), lambda x: MINE.reduce(x[mask], initial=1.0)):
        np.testing.assert_array_equal(jaxpr_as_fun(make_jaxpr(reduce)(np.arange(3.0)))(np.arange(3.0)), [5.0])
    assert cnp.frompyfunc(mix, 2, 1, identity=0).reduce(np.zeros(0)) == 0


def test_it_says_what_it_is():
    assert (repr(MINE), MINE.nin, MINE.nout, MINE.nargs, MINE.__name__) == ("<calque ufunc 'mix'>", 2, 1, 3, "mix")
    assert isinstance(MINE, cnp.ufunc)
    assert [x.tolist() for x in cnp.frompyfunc(lambda x: (x, -x), 1, 2)(np.array([1, 2]))] == [[1, 2], [-1, -2]]


def test_wrong_arguments_are_refused():
    x = np.arange(3.0)
    with pytest.raises(ValueError, match=r"mix.reduce.*there is no first element. Give initial="):
        MINE.reduce(x[:0])
    with pytest.raises(ValueError, match=r"mix.reduce.*there is no first element"):
        MINE.reduce(x, where=x > 1)
    with pytest.raises(ValueError, match=r"accumulate.*needs a function of two arguments with one result. It has 1"):
        cnp.frompyfunc(lambda x: x, 1, 1).accumulate(x)
    with pytest.raises(IndexError, match=r"mix.reduceat.*the indices are \[0, 3\], of 3 elements\. Give 0 to 2\."):
        MINE.reduceat(x, [0, 3])
    with pytest.raises(TypeError, match=r"mix.at.*an array is not changed in place"):
        MINE.at(x, 0, 1.0, inplace=True)
    with pytest.raises(TypeError, match=r"mix.* takes 2 arguments, and there are 1\. Pass 2\."):
        MINE(x)
    with pytest.raises(ValueError, match=r"frompyfunc.*nout is 0"):
        cnp.frompyfunc(mix, 2, 0)
    with pytest.raises(TypeError, match="out"):
        MINE.reduce(x, out=x)
