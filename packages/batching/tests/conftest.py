"""The law of this package: the result of a batch is the stack of the results of its elements, for every batch axis."""

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest

from calque_batching import vmap
from calque_core import make_jaxpr
from calque_core.jaxprs.interpret import eval_jaxpr

SIZES = (3, 1, 0)


def values(dtype, shape, seed=0):
    """Return small numbers of any dtype, with repetitions among the integers."""
    rng, dtype = np.random.default_rng(seed), np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        return rng.integers(0 if dtype.kind == "u" else -4, 5, shape).astype(dtype)
    out = rng.uniform(-0.9, 0.9, shape)
    return (out + 1j * rng.uniform(-0.9, 0.9, shape) if dtype.kind == "c" else out).astype(dtype)


def flat(out):
    return list(out) if isinstance(out, (tuple, list)) else [out]


def assert_same(out, expected):
    """Compare dtypes and shapes exactly, values to the rounding of NumPy's vector loops."""
    assert np.shape(out) == np.shape(expected)
    assert np.asarray(out).dtype == np.asarray(expected).dtype
    if np.asarray(expected).dtype.kind in "fc":
        resolution = 8 * np.finfo(np.asarray(expected).dtype).resolution
        np.testing.assert_allclose(out, expected, rtol=resolution, atol=resolution)
    else:
        np.testing.assert_array_equal(out, expected)


def stacked(fun, batches, is_mapped, size):
    """Return the stacked results of the elements; without elements, empty arrays of the right types."""
    rows = [flat(fun(*[x[i] if m else x[0] for x, m in zip(batches, is_mapped)])) for i in range(max(size, 1))]
    columns = [np.stack([np.asarray(x) for x in column]) for column in zip(*rows)]
    return columns if size else [column[:0] for column in columns]


def check_axes(fun, batches, size, in_axes):
    """Compare `vmap(fun, in_axes)`, evaluated and staged, with the stack; `batches` have at least one row in front."""
    is_mapped = [axis is not None for axis in in_axes]
    args = [np.moveaxis(x[:size], 0, axis) if m else x[0] for x, m, axis in zip(batches, is_mapped, in_axes)]
    expected = stacked(fun, batches, is_mapped, size)
    batched = vmap(fun, in_axes)
    for out, expected_out in zip(flat(batched(*args)), expected, strict=True):
        assert_same(out, expected_out)
    jaxpr = make_jaxpr(batched)(*args)
    for out, expected_out in zip(eval_jaxpr(jaxpr, jaxpr.consts, *args), expected, strict=True):
        assert_same(out, expected_out)


def check_nested(fun, batches):
    """Compare two nested vmaps, over the first axis inside and the last one outside, with the stacks of stacks."""
    squared = [np.stack([x, x[::-1]], axis=-1) for x in batches]
    outs = flat(vmap(vmap(fun), in_axes=-1, out_axes=-1)(*squared))
    every = [True] * len(batches)
    halves = [stacked(fun, [x[..., i] for x in squared], every, len(batches[0])) for i in (0, 1)]
    for out, first, second in zip(outs, *halves, strict=True):
        assert_same(out, np.stack([first, second], axis=-1))


@pytest.fixture(scope="session")
def check_batching() -> Callable[..., None]:
    """Check `fun` of operands of these shapes and dtypes: every batch axis, mapped and unmapped operands."""

    def check(fun, shapes, dtypes):
        batches = [values(dtype, (max(SIZES), *shape), seed) for seed, (dtype, shape) in enumerate(zip(dtypes, shapes))]
        places = [[None, *range(len(shape) + 1), -1] for shape in shapes]
        choices = [axes for axes in product(*places) if any(axis is not None for axis in axes)]
        for size in SIZES:
            for in_axes in choices if size == max(SIZES) else choices[-1:]:
                check_axes(fun, batches, size, in_axes)
        check_nested(fun, batches)

    return check
