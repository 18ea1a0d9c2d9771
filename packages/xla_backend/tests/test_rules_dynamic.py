from __future__ import annotations

import numpy as np
import pytest

from calque_core import lax, make_jaxpr
from calque_xla_backend import jit
from calque_xla_backend.modules.module import lower_jaxpr_to_module

pytestmark = pytest.mark.sampled(keep=0.1)

X = np.arange(24.0).reshape(2, 3, 4)
NUMBERS = [np.int32(0), np.int64(2), np.int32(-1), np.int32(9), np.int32(-9), np.uint8(1)]


@pytest.mark.parametrize("index", NUMBERS, ids=str)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_reading_and_replacing_compute_what_evaluation_does(index, axis, check_compiled):
    check_compiled(lambda x, i: lax.dynamic_index_in_dim(x, i, axis), [(X, index)])
    piece = -np.take(X, 0, axis)
    check_compiled(lambda x, y, i: lax.dynamic_update_index_in_dim(x, y, i, axis), [(X, piece, index)])


@pytest.mark.parametrize("corner", [(0, 0, 0), (-1, 9, -9)], ids=str)
def test_windows_are_read_and_replaced_as_in_evaluation(corner, check_compiled):
    corner = tuple(np.int32(i) for i in corner)
    check_compiled(lambda x, *i: lax.dynamic_slice(x, i, (1, 2, 3)), [(X, *corner)])
    check_compiled(lambda x, y, *i: lax.dynamic_update_slice(x, y, i), [(X, -X[:1, :2, :3], *corner)])


@pytest.mark.parametrize("dtype", ["bool", "int8", "complex64", "float16"])
def test_dtypes_are_kept(dtype, check_compiled):
    x = (np.arange(6).reshape(3, 2) % 3).astype(dtype)
    check_compiled(lambda x, i: lax.dynamic_index_in_dim(x, i), [(x, 1)])
    check_compiled(lambda x, i: lax.dynamic_update_index_in_dim(x, x[2], i, 0), [(x, 1)])


def test_a_loop_replaces_rows_in_place():
    def program(x, n):
        return lax.fori_loop(0, n, lambda i, x: lax.dynamic_update_index_in_dim(x, 2.0 * x[0], i, 0), x)

    text = lower_jaxpr_to_module(make_jaxpr(program)(X, np.int32(3))).as_text()
    assert text.count("dynamic_update_slice") == 1
    assert "scatter" not in text
    np.testing.assert_array_equal(jit(program)(X, np.int32(2)), program(X, np.int32(2)))
