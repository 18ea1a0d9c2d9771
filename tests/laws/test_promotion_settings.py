"""Strict promotion refuses what a user's program promotes, never what a rule does on its own."""

from contextlib import contextmanager, suppress

import numpy as np
import pytest
from composites import COMPOSITES
from operations import OPERATIONS

import calque
from calque import config, grad, jit, lax, make_jaxpr, vmap
from calque_autodiff import jvp, vjp
from calque_core import typeof

PROGRAMS = [*(row for rows in OPERATIONS.values() for row in rows), *COMPOSITES]


@contextmanager
def strictly():
    """Hold both settings."""
    with config.numpy_dtype_promotion("strict"), config.numpy_rank_promotion("raise"):
        yield


def promotes(program):
    """Tell whether a program is refused under the settings, which it then is by them."""
    example = program.example(program.widest)
    with strictly():
        try:
            make_jaxpr(lambda *xs: example(*xs))(*example.leaves)
        except (TypeError, ValueError) as error:
            if "_promotion is" not in str(error):
                raise
            return True
    return False


STRICT = {f"{program.name} {i}": program for i, program in enumerate(PROGRAMS) if not promotes(program)}


def test_most_programs_of_the_laws_promote_nothing():
    assert len(STRICT) > 0.7 * len(PROGRAMS)


@pytest.mark.parametrize("name", STRICT)
def test_a_program_without_promotion_has_derivatives_and_batches_without_it(name):
    example = STRICT[name].example(STRICT[name].widest)
    leaves, moving = example.leaves, example.floating

    def run(*values):
        given = list(leaves)
        for place, value in zip(moving, values, strict=True):
            given[place] = value
        return [y for y in example(*given) if typeof(y).dtype.kind in "fc"]

    values = [leaves[i] for i in moving]
    axes = [0 if isinstance(x, np.ndarray) else None for x in values]
    with strictly():
        with suppress(NotImplementedError):
            make_jaxpr(lambda *xs: jvp(run, xs, xs))(*values)
        with suppress(NotImplementedError):
            make_jaxpr(lambda *xs: vjp(run, *xs)[1](run(*xs)))(*values)
        if 0 in axes:
            stacked = [x if axis is None else np.stack([x, x]) for x, axis in zip(values, axes, strict=True)]
            make_jaxpr(vmap(run, in_axes=tuple(axes)))(*stacked)


def test_jitted_functions_are_refused_as_others():
    fun = jit(lambda x, y: x + y)
    fun(np.float32(1), 2.0), fun(np.float32(1), np.float64(2))
    with config.numpy_dtype_promotion("strict"):
        assert fun(np.float32(1), 2.0).dtype == np.float32
        with pytest.raises(TypeError, match="numpy_dtype_promotion is 'strict'"):
            fun(np.float32(1), np.float64(2))
        with pytest.raises(TypeError, match="numpy_dtype_promotion is 'strict'"):
            grad(fun)(np.float32(1), np.float64(2))


def test_the_axis_that_vmap_maps_counts_for_nothing():
    with config.numpy_rank_promotion("raise"):
        assert vmap(lambda x, y: x + y, in_axes=(0, None))(np.ones((3, 2)), np.ones(2)).shape == (3, 2)
        assert vmap(lambda x, y: x * y, in_axes=(0, 1))(np.ones(2), np.ones((3, 2))).shape == (2, 3)


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["eager", "compiled"])
def test_by_kind_an_integer_takes_the_dtype_of_a_float(wrap):
    count, x = np.arange(2), np.ones(2, np.float32)
    with config.numpy_dtype_promotion("by_kind"):
        assert wrap(lambda n, x: lax.mul(n, x))(count, x).dtype == np.float32
        assert wrap(lambda n: calque.numpy.mean(n))(np.int32([1, 2])).dtype == np.float32
        assert wrap(lambda n: calque.numpy.sin(n))(np.int8([1, 2])).dtype == np.float32
        assert calque.numpy.promote_types("int64", "float16") == np.float16
    assert wrap(lambda n, x: lax.mul(n, x))(count, x).dtype == np.float64
