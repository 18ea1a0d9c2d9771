from __future__ import annotations

import copy
import operator
import re

import numpy as np
import pytest

from calque_core import UnexpectedTracerError, lax, make_jaxpr
from calque_core.jaxprs.interpret import jaxpr_as_fun
from calque_core.traces.tracer import copy_of, own_array

HERE = "test_in_place.py"
FLOATS = {
    "+=": operator.iadd, "-=": operator.isub, "*=": operator.imul, "/=": operator.itruediv, "//=": operator.ifloordiv,
    "%=": operator.imod, "**=": operator.ipow, "@=": operator.imatmul,
}  # fmt: skip
INTEGERS = {
    "&=": operator.iand, "|=": operator.ior, "^=": operator.ixor, "<<=": operator.ilshift, ">>=": operator.irshift,
}  # fmt: skip
CASES = [(s, o, np.array([[3.0, 2.0], [1.5, 4.0]])) for s, o in FLOATS.items()]
CASES += [(s, o, np.array([[3, 2], [1, 4]])) for s, o in INTEGERS.items()]


def traced(f, *args):
    return jaxpr_as_fun(make_jaxpr(f)(*args))(*args)


@pytest.mark.parametrize(("symbol", "apply", "x"), CASES)
def test_an_operator_in_place_gives_the_value_that_numpy_gives(symbol, apply, x):
    def f(y):
        y = apply(y, x)
        return y

    (out,) = traced(f, x)
    np.testing.assert_allclose(out, apply(x.copy(), x))


@pytest.mark.parametrize(("symbol", "apply", "x"), CASES)
def test_the_old_value_is_refused_afterwards_with_both_lines(symbol, apply, x):
    def f(y):
        z = y
        z = apply(z, x)
        return z + y

    first = f.__code__.co_firstlineno
    words = (
        rf"a traced value of type .*\[2,2\], under make_jaxpr of f \({HERE}:{first}\), was used at {HERE}:{first + 3} "
        rf"\(.*f\) after '{re.escape(symbol)}' at {HERE}:{first + 2} \(.*f\) changed its array in place. Use the "
        rf"new value; or write x = x {re.escape(symbol[:-1])} y, which"
    )
    with pytest.raises(UnexpectedTracerError, match=words):
        make_jaxpr(f)(x)


VIEWS = {
    "an index": lambda x: x[0],
    "a slice of a slice": lambda x: x[1:][0],
    "a reshaped array": lambda x: np.reshape(x, (-1,)),
    "a flat one": lambda x: x.ravel(),
    "a transposed one": lambda x: x.T,
    "axes exchanged": lambda x: np.swapaxes(x, 0, 1),
    "axes in another order": lambda x: x.transpose(1, 0),
    "an axis left out": lambda x: np.squeeze(x[:, :1]),
}


@pytest.mark.parametrize("view", VIEWS)
def test_what_a_view_changes_is_refused_too(view):
    def f(x):
        r = VIEWS[view](x)
        r += 1.0
        return np.sum(x)

    with pytest.raises(UnexpectedTracerError, match=r"after '\+=' at .* changed its array in place"):
        make_jaxpr(f)(np.ones((2, 2)))


def test_a_copy_of_what_was_overwritten_is_refused_as_that_is():
    def f(x):
        y = x
        y += 1.0
        return np.sum(x.copy())

    with pytest.raises(UnexpectedTracerError, match=r"after '\+=' at .* changed its array in place"):
        make_jaxpr(f)(np.ones((2, 2)))


def test_a_value_that_is_not_used_again_may_be_overwritten():
    def f(x, w):
        acc = x * 0.0
        for i in range(3):
            acc += w[i]
        x -= acc
        h = x
        h *= 2.0
        return h

    (out,) = traced(f, np.ones(2), np.ones((3, 2)))
    assert out.tolist() == [-4.0, -4.0]


def test_a_body_of_a_loop_may_add_to_its_carry():
    x = np.array([1.0, 2.0])

    def body(i, acc):
        acc += x
        return acc

    assert lax.fori_loop(0, 3, body, np.zeros(2)).tolist() == [3.0, 6.0]


def test_numbers_are_rebound_as_python_does():
    def f(x):
        y = x
        y += 1.0
        r = x * np.ones(2)
        s = r[0]
        s += 1.0
        return x * y + s + r[0]

    (out,) = traced(f, 2.0)
    assert out == 2.0 * 3.0 + 3.0 + 2.0


def test_an_element_of_a_view_is_no_view():
    def f(x):
        first = x[0]
        first += 1.0
        return np.sum(x) + first

    (out,) = traced(f, np.ones(3))
    assert out == 5.0


def test_an_operand_that_does_not_fit_leaves_the_value_as_it_was():
    def f(x):
        with pytest.raises(TypeError):
            x += np.ones(3)
        return x

    assert traced(f, np.ones(2))[0].tolist() == [1.0, 1.0]


def test_a_value_that_was_overwritten_may_not_be_returned():
    def f(x):
        y = x
        y += 1.0
        return x

    with pytest.raises(UnexpectedTracerError, match=r"changed its array in place"):
        make_jaxpr(f)(np.ones(2))


COPIES = {
    "x.copy()": lambda x: x.copy(),
    "np.copy(x)": np.copy,
    "a copy of a view": lambda x: x[:].copy(),
    "x.flatten()": lambda x: x.flatten(),
    "x.astype(x.dtype)": lambda x: x.astype(x.dtype),
    "+x": lambda x: +x,
    "np.positive(x)": np.positive,
    "copy.copy(x)": copy.copy,
    "copy.deepcopy([x])": lambda x: copy.deepcopy([x])[0],
}

NEW_COPIES = {"np.reshape(x, x.shape, copy=True)": lambda x: np.reshape(x, np.shape(x), copy=True)}
OF_2_1 = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="NumPy 2.0 has no argument copy= of reshape"
)


@pytest.mark.parametrize(
    "make",
    [
        *[pytest.param(make, id=name) for name, make in COPIES.items()],
        *[pytest.param(make, id=name, marks=OF_2_1) for name, make in NEW_COPIES.items()],
    ],
)
def test_a_copy_is_an_array_of_its_own(make):
    def changed(x):
        y = make(x)
        y += 1.0
        return x * y

    def kept(x):
        y = make(x)
        x *= 2.0
        return x * y

    x = np.array([1.0, 3.0])
    for fun in (changed, kept):
        np.testing.assert_array_equal(traced(fun, x)[0], fun(x.copy()))


def test_a_copy_of_an_array_of_another_class_is_a_copy_of_its_memory():
    class Held:
        def __copy__(self):
            return Held()

    x = Held()
    assert copy_of(x) is not x
    assert own_array(x, x) is not x
    out = Held()
    assert own_array(x, out) is out


def test_a_copy_takes_no_equation():
    assert len(make_jaxpr(lambda x: x.copy())(np.ones(2)).eqns) == 0


def test_a_conversion_that_needs_no_copy_is_the_array_itself():
    def fun(x):
        y = x.astype(x.dtype, copy=False)
        y += 1.0
        return x

    with pytest.raises(UnexpectedTracerError, match="changed its array in place"):
        make_jaxpr(fun)(np.ones(2))
