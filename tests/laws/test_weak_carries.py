"""Loops over Python scalars: the value and the dtype of the same loop in Python, or a refusal."""

from __future__ import annotations

import operator
from functools import partial

import numpy as np
import pytest

from calque_autodiff import jvp
from calque_batching import vmap
from calque_core import config, jaxpr_as_fun, lax, make_jaxpr
from calque_xla_backend import jit

PYTHON_SCALARS = (bool, int, float, complex)
STARTS = [True, 1, 1.5, 1 + 2j, np.bool_(True), np.int8(1), np.int64(2), np.float32(1.5), np.float64(2.5)]
STEPS = {
    "c > 0": lambda c: abs(c) > 0,
    "c == c": lambda c: c == c,
    "not zero": lambda c: (c != 0) & True,
    "inverted": lambda c: np.where(np.invert(c), 5, 7),
    "True": lambda c: True,
    "1": lambda c: 1,
    "2.5": lambda c: 2.5,
    "1j": lambda c: 1j,
    "the same": lambda c: c,
    "c + 1": lambda c: c + 1,
    "c + 1.5": lambda c: c + 1.5,
    "c * 1j": lambda c: c * 1j,
    "c + c": lambda c: c + c,
    "c / 2": lambda c: c / 2,
    "c // 2": lambda c: c // 2,
    "abs": abs,
    "real": lambda c: c.real,
    "int8": lambda c: np.int8(3),
    "int64": lambda c: np.int64(7),
    "float32": lambda c: np.float32(3.5),
    "float64": lambda c: np.float64(7.5),
    "bool_": lambda c: np.bool_(False),
}
LOOPS = {
    "scan": lambda f, c: lax.scan(lambda c, x: (f(c), x), c, np.arange(3.0))[0],
    "while_loop": lambda f, c: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, f(s[1])), (0, c))[1],
    "bounded": lambda f, c: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, f(s[1])), (0, c), max_steps=5)[1],
    "fori_loop": lambda f, c: lax.fori_loop(0, 3, lambda i, c: f(c), c),
    "scan in scan": lambda f, c: lax.scan(
        lambda c, _: (lax.scan(lambda c, _: (f(c), None), c, None, length=3)[0], None), c, None, length=1
    )[0],
}
PLACES = {
    "evaluated": lambda loop, c: loop(c),
    "jit": lambda loop, c: jit(loop)(c),
    "jit around": lambda loop, c: jit(lambda x: loop(c))(1.0),
    "a program": lambda loop, c: jaxpr_as_fun(make_jaxpr(loop)(c))(c)[0],
    "vmap": lambda loop, c: vmap(lambda x: loop(c), out_axes=None)(np.ones(2)),
    "jvp": lambda loop, c: jvp(lambda x: loop(c), (1.0,), (1.0,))[0],
    "a branch": lambda loop, c: lax.cond(True, lambda: loop(c), lambda: loop(c)),
}


def in_python(f, c):
    for _ in range(3):
        c = f(c)
    return c


def described(x):
    return np.asarray(x).dtype, np.asarray(x).tolist()


@pytest.mark.sampled(keep=0.2, rows=["step", "loop"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("start", STARTS, ids=repr)
@pytest.mark.parametrize("step", STEPS)
def test_a_loop_has_the_value_and_the_dtype_of_pythons_or_is_refused(step, start, loop, place):
    f = STEPS[step]
    try:
        want = in_python(f, start)
    except TypeError:
        pytest.skip("Python has no such operation")
    try:
        got = PLACES[place](partial(LOOPS[loop], f), start)
    except TypeError as error:
        assert "must stay the same" in str(error) or "changes the types" in str(error)  # noqa: PT017
        return
    if type(start) not in PYTHON_SCALARS and type(want) in PYTHON_SCALARS:
        want = type(start)(want)  # a strong carry stays as it is
    assert described(got) == described(want)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("start", [1.0, 1, np.float32(1)])
@pytest.mark.parametrize("step", ["c > 0", "True"])
def test_a_number_that_a_step_makes_a_bool_is_refused(loop, start, step):
    with pytest.raises(TypeError, match=r"changes the type of the carry.* from ~?(float|int)\d\d\[\] to ~?bool\[\]"):
        LOOPS[loop](STEPS[step], start)


@pytest.mark.parametrize("start", [1.0, 1, np.float32(1)])
def test_without_jit_a_loop_is_pythons(start):
    with config.disable_jit(True):
        for loop in ("scan", "while_loop", "fori_loop"):
            assert described(LOOPS[loop](STEPS["c > 0"], start)) == (np.dtype(bool), True)


def test_an_associative_scan_of_numbers_whose_function_gives_bools_is_refused():
    with pytest.raises(TypeError, match=r"returned bool\[1\] for slices of elems of type float64\[1\]\. Return the"):
        lax.associative_scan(operator.gt, np.ones(3))


@pytest.mark.parametrize("computation", [lambda a, b: True, lambda a, b: 2.5])
def test_a_reduction_whose_function_gives_another_kind_is_refused(computation):
    x = np.arange(3)
    with pytest.raises(TypeError, match=r"returned ~(bool|float64)\[\]\. Return a scalar int64\[\]\."):
        lax.reduce(x, 0, computation, (0,))
    with pytest.raises(TypeError, match=r"returned ~(bool|float64)\[\]\. Return a scalar int64\[\]\."):
        lax.reduce_window(x, 0, computation, (2,), (1,), "VALID")


def test_a_reduction_whose_function_gives_a_python_scalar_has_the_dtype_of_its_operand():
    out = lax.reduce(np.arange(3.0), 1.0, lambda a, b: 1, (0,))
    assert described(out) == (np.dtype(float), 1.0)
