"""Lists and tuples where NumPy takes arrays: beside tracers and device arrays, and holding them.

The law: a function of NumPy gives for a list what it gives for the array that NumPy makes of the list.
"""

import numpy as np
import pytest

import calque
import calque_numpy
from calque_core.arrays.numpy_protocol import declared
from calque_core.arrays.numpy_sequences import _ARRAYS, _SEQUENCES_OF_ARRAYS, _name

X = np.array([0.5, 2.0, 1.0])

BESIDE = {
    "allclose": lambda x: np.allclose(x, [0.5, 2.0, 1.0]),
    "array_equal": lambda x: np.array_equal([0.5, 2.0, 1.0], x),
    "isclose": lambda x: np.isclose(x, (0.5, 2.1, 1.0)),
    "dot": lambda x: np.dot([1.0, 2.0, 3.0], x),
    "matmul": lambda x: [[1.0, 2.0, 3.0]] @ x,
    "inner": lambda x: np.inner(x, [1, 2, 3]),
    "outer": lambda x: np.outer([1, 2], x),
    "kron": lambda x: np.kron(x, [1, 2]),
    "vdot": lambda x: np.vdot([1, 2, 3], x),
    "tensordot": lambda x: np.tensordot(x, [1, 2, 3], axes=([0], [0])),
    "einsum": lambda x: np.einsum("i,i->", [1, 2, 3], x),
    "where": lambda x: np.where([True, False, True], [1.0, 2.0, 3.0], x),
    "select": lambda x: np.select([x > 1, [True, False, False]], [[1, 2, 3], x], default=7),
    "clip": lambda x: np.clip(x, [0.6, 0.6, 0.6], 1.5),
    "average": lambda x: np.average(x, weights=[1, 2, 3]),
    "sum where": lambda x: np.sum(x, where=[True, False, True]),
    "max where": lambda x: np.max(x, where=[True, False, True], initial=0.0),
    "stack": lambda x: np.stack([x, [1, 2, 3]]),
    "concatenate": lambda x: np.concatenate([x, [1.0], (2, 3)]),
    "hstack": lambda x: np.hstack(([1, 2], x)),
    "column_stack": lambda x: np.column_stack([[1, 2, 3], x]),
    "diff": lambda x: np.diff(x, prepend=[0.0], append=[1, 2]),
    "linspace": lambda x: np.linspace([0, 0, 0], x, 3),
    "full_like": lambda x: np.full_like(x, [1, 2, 3]),
    "broadcast_arrays": lambda x: np.broadcast_arrays([[1], [2]], x),
    "meshgrid": lambda x: np.meshgrid([1, 2], x),
    "atleast_2d": lambda x: np.atleast_2d([1, 2], x),
    "hypot": lambda x: np.hypot([1, 2, 3], x),
    "maximum": lambda x: np.maximum(x, [1, 1, 1]),
    "less": lambda x: np.less(x, [1, 1, 1]),
    "operators": lambda x: (x * [1, 2, 3], (1, 2, 3) - x, x / [2, 2, 2], x > [1, 1, 1]),
    "norm": lambda x: np.linalg.norm(x, axis=(0,)),
}
HOLDING = {
    "dot": lambda x: np.dot([x[0], x[1], 1.0], x),
    "add": lambda x: np.add([[x[0], 1], [2, x[2]]], x[:2]),
    "operators": lambda x: x * [x[2], x[1], 0.5],
    "where": lambda x: np.where(x > 1.5, [x[0], x[0], x[0]], x),
    "stack": lambda x: np.stack([[x[0], x[1], 2.0], x]),
    "average": lambda x: np.average(x, weights=[x[0], 1.0, x[2]]),
    "calque.numpy.array": lambda x: calque.numpy.array([[x[0], 1], [2, x[1]]]),
}


def numpys(fun):
    return fun(X) if fun is not HOLDING["calque.numpy.array"] else np.array([[X[0], 1], [2, X[1]]])


def check_same(got, want):
    if isinstance(want, (list, tuple)):
        for one, other in zip(got, want, strict=True):
            check_same(one, other)
    else:
        assert np.asarray(got).dtype == np.asarray(want).dtype
        np.testing.assert_allclose(got, want, rtol=1e-14)


CASES = {**BESIDE, **{f"{name} of a list with arrays": fun for name, fun in HOLDING.items()}}


@pytest.mark.parametrize("fun", CASES.values(), ids=CASES)
def test_a_list_is_the_array_that_numpy_makes_of_it(fun):
    want = numpys(fun)
    check_same(calque.jit(fun)(X), want)
    check_same(fun(calque.device_put(X)), want)
    batched = calque.vmap(fun)(X[None])
    check_same([x[0] for x in batched] if isinstance(batched, (list, tuple)) else batched[0], want)


@pytest.mark.parametrize("name", ["dot", "add", "operators", "where", "stack", "average", "calque.numpy.array"])
def test_derivatives_pass_through_the_items_of_a_list(name):
    def loss(x):
        return np.sum(HOLDING[name](x) ** 2)

    def shifted(i, step):
        y = X.copy()
        y[i] += step
        return float(calque.jit(loss)(y))

    want = [(shifted(i, 1e-6) - shifted(i, -1e-6)) / 2e-6 for i in range(3)]
    np.testing.assert_allclose(calque.grad(loss)(X), want, rtol=1e-6, atol=1e-8)


def test_every_function_of_the_table_has_a_parameter_that_means_arrays():
    for front in (calque_numpy, calque_numpy.linalg, calque_numpy.fft):
        for name in front.__all__:
            getattr(front, name)  # its module adds its functions to the table

    rules = [function for theirs, function in declared.items() if not isinstance(theirs, np.ufunc)]
    rules = [f for f in rules if f.__module__ != "calque_numpy.host_functions"]  # these are NumPy's
    assert len(rules) > 200
    names = {f.__name__: [_name(f, i) for i in range(2)] for f in rules}
    others = {f for f, (first, second) in names.items() if not {first, second} & (_ARRAYS | _SEQUENCES_OF_ARRAYS)}
    takes_sequences = {"result_type", "apply_along_axis", "unravel_index", "ravel_multi_index", "lexsort", "can_cast"}
    assert others == takes_sequences  # they take lists themselves, or functions
