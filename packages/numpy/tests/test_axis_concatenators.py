"""`r_` and `c_` beside NumPy's, on known and on traced items."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import jaxpr_as_fun, make_jaxpr

V = np.array([1.0, 2.0, 3.0])
M = np.arange(6.0).reshape(2, 3)
KEYS = [
    (V, 0, slice(4, 6)),
    (slice(0, 1, 5j), V),
    (V,),
    V,
    (V, 1j),
    (np.int8([1, 2]), 3),
    ("-1", M, M),
    ("0,2", V, V),
    ("0,2,0", V, V),
    ("1,3,1", V, V),
    ("0,3,-1", M, M),
    ("0,3,0", M, M),
    (M, [[7.0, 8.0, 9.0]]),
]


def same(out, expected):
    assert out.dtype == expected.dtype
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("key", KEYS, ids=range(len(KEYS)))
def test_r_joins_as_numpys_does(key):
    same(cnp.r_[key], np.r_[key])
    items = key if isinstance(key, tuple) else (key,)
    arrays = [x for x in items if isinstance(x, np.ndarray)]

    def fun(*traced):
        rest = iter(traced)
        return cnp.r_[tuple(next(rest) if isinstance(x, np.ndarray) else x for x in items)]

    (out,) = jaxpr_as_fun(make_jaxpr(fun)(*arrays))(*arrays)
    same(out, np.r_[key])


@pytest.mark.parametrize("key", [(V, V), (M.T, V), (V, slice(3), 0 * V), ("0,2", M, M)], ids=range(4))
def test_c_joins_as_numpys_does(key):
    same(cnp.c_[key], np.c_[key])


def test_bad_items_are_refused():
    with pytest.raises(ValueError, match=r"r_\['r', \.\.\.\].*one to three integers.*Matrices, 'r' and 'c'"):
        cnp.r_["r", V]
    with pytest.raises(ValueError, match="one to three integers"):
        cnp.c_["1,2,3,4", V]
    with pytest.raises(TypeError, match=r"a slice in r_ or c_.*has a traced bound.*Use linspace"):
        make_jaxpr(lambda n: cnp.r_[0:n])(3)


def test_index_expressions_are_numpys():
    assert cnp.s_[1:2, ...] == np.s_[1:2, ...]
    assert cnp.index_exp[1] == (1,)
