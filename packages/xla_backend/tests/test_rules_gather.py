"""Compiled `gather` and `scatter` compute what evaluation does: modes, dtypes, batching axes, empty arrays."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import lax, make_jaxpr
from calque_xla_backend import jit
from calque_xla_backend.modules.module import lower_jaxpr_to_module

pytestmark = pytest.mark.sampled(keep=0.2)

X = np.arange(24.0).reshape(2, 3, 4)
NAMES = ["scatter", "scatter_add", "scatter_sub", "scatter_mul", "scatter_min", "scatter_max"]
READ = lax.GatherDimensionNumbers((1, 2), (1,), (1, 2))
WRITE = lax.ScatterDimensionNumbers(*READ)
PAIRED = lax.GatherDimensionNumbers((1,), (1,), (1,), (0,), (0,))
INTO_PAIRED = lax.ScatterDimensionNumbers(*PAIRED)
INDICES = np.array([[0, 1], [2, 5], [-1, 0], [0, 1]], np.int32)


@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds"])
@pytest.mark.parametrize("fill", [None, 3])
def test_windows_are_read(mode, fill, check_compiled):
    for dtype in ("float64", "int8", "uint32", "bool", "complex64", "float16"):
        read = lambda x, i: lax.gather(x, i, READ, (2, 1, 3), mode=mode, fill_value=fill)
        check_compiled(read, [(X.astype(dtype), INDICES)])
    check_compiled(lambda x, i: lax.gather(x, i, PAIRED, (1, 1, 4), mode=mode, fill_value=fill), [(X, INDICES[:2, 1:])])


@pytest.mark.parametrize("mode", ["clip", "drop", "promise_in_bounds"])
@pytest.mark.parametrize("name", NAMES)
def test_windows_are_written(name, mode, check_compiled):
    for dtype in ("float64", "int8", "uint32"):
        updates = (X[:, :, :3].transpose(1, 0, 2)[[0, 1, 2, 0]] % 5 + 1).astype(dtype)
        write = lambda x, i, u: getattr(lax, name)(x, i, u, WRITE, mode=mode)
        check_compiled(write, [(X.astype(dtype), INDICES, updates)], ulps=4)
    paired = lambda x, i, u: getattr(lax, name)(x, i, u, INTO_PAIRED, mode=mode)
    check_compiled(paired, [(X, INDICES[:2, 1:], X[:, 0])])


@pytest.mark.parametrize("shapes", [((0, 4), (0, 1)), ((3, 0), (2, 1)), ((3, 4), (0, 1))], ids=str)
def test_nothing_is_read_and_written(shapes, check_compiled):
    x, rows = np.ones(shapes[0]), np.zeros(shapes[1], int)
    sizes = (min(1, shapes[0][0]), shapes[0][1])
    if sizes[0]:
        check_compiled(lambda x, i: lax.gather(x, i, lax.GatherDimensionNumbers((1,), (0,), (0,)), sizes), [(x, rows)])
    updates, numbers = np.ones((len(rows), shapes[0][1])), lax.ScatterDimensionNumbers((1,), (0,), (0,))
    if sizes[0]:
        check_compiled(lambda x, i, u: lax.scatter_add(x, i, u, numbers), [(x, rows, updates)])


def test_a_fill_value_takes_a_choice_and_clipping_takes_none():
    def text(mode):
        jaxpr = make_jaxpr(lambda x, i: lax.gather(x, i, READ, (2, 1, 3), mode=mode))(X, INDICES)
        return lower_jaxpr_to_module(jaxpr).as_text()

    assert "select" in text("fill")
    assert "select" not in text("clip")
    assert "clamp" not in text("clip")


def test_of_equal_places_the_last_update_is_kept():
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    rows, updates = np.zeros((1000, 1), int), np.arange(1000.0)
    write = lambda x, i, u: lax.scatter(x, i, u, numbers)
    assert np.asarray(jit(write)(np.zeros(3), rows, updates))[0] == write(np.zeros(3), rows, updates)[0] == 999.0
