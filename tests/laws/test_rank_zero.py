"""Scalars under vmap: each operation that takes operands of rank 0 gives the stack of its results for each of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from operations import OPERATIONS

from calque_autodiff import grad
from calque_batching import vmap
from calque_core import lax
from calque_pytree import tree_leaves
from calque_xla_backend import jit

NO_INDEX = np.zeros((0,), np.int32)
TWO_ROWS = np.zeros((2, 0), np.int32)
GATHER, SCATTER = lax.GatherDimensionNumbers((), (), ()), lax.ScatterDimensionNumbers((), (), ())
KINDS = {name: getattr(lax, name) for name in ("scatter", "scatter_add", "scatter_mul", "scatter_min", "scatter_max")}
NUMPY_NAMES = (
    "sum mean var max argmax cumsum ravel transpose atleast_2d squeeze flip median ptp prod count_nonzero nanmax "
    "zeros_like average sinc frexp"
)
FUNCTIONS = {
    "dynamic_slice": lambda x: lax.dynamic_slice(x, [], []),
    "dynamic_update_slice": lambda x, y: lax.dynamic_update_slice(x, y, []),
    "slice": lambda x: lax.slice(x, [], []),
    "gather": lambda x: lax.gather(x, NO_INDEX, GATHER, slice_sizes=()),
    "gather of two rows": lambda x: lax.gather(x, TWO_ROWS, GATHER, slice_sizes=()),
    **{name: lambda x, y, *, f=f: f(x, NO_INDEX, y, SCATTER, unique_indices=True) for name, f in KINDS.items()},
    "scatter_add of two rows": lambda x, y: lax.scatter_add(x, TWO_ROWS, lax.broadcast(y, (2,)), SCATTER),
    "pad": lambda x, y: lax.pad(x, y, []),
    "transpose": lambda x: lax.transpose(x, ()),
    "reshape": lambda x: lax.reshape(x, (1, 1)),
    "rev": lambda x: lax.rev(x, ()),
    "squeeze": lambda x: lax.squeeze(x, ()),
    "expand_dims": lambda x: lax.expand_dims(x, (0,)),
    "broadcast_in_dim": lambda x: lax.broadcast_in_dim(x, (2, 3), ()),
    "broadcast_in_dim to a scalar": lambda x: lax.broadcast_in_dim(x, (), ()),
    "select": lambda x, y: lax.select(x > y, x, y),
    "clamp": lambda x, y: lax.clamp(x, y, x + 1.0),
    "dot_general": lambda x, y: lax.dot_general(x, y, (((), ()), ((), ()))),
    "dot_general beside a vector": lambda x, y: lax.dot_general(x, lax.broadcast(y, (3,)), (((), ()), ((), ()))),
    "reduce_sum": lambda x: lax.reduce_sum(x, ()),
    "reduce_max": lambda x: lax.reduce_max(x, ()),
    "reduce_prod": lambda x: lax.reduce_prod(x, ()),
    "reduce_and": lambda x: lax.reduce_and(x > 1.0, ()),
    "reduce of a function": lambda x: lax.reduce(x, 0.0, lambda a, b: a * b + 1.0, ()),
    "reduce_window": lambda x: lax.reduce_window(x, 0.0, lax.add, (), (), "VALID"),
    "reduce_window of a function": lambda x: lax.reduce_window(x, 0.0, lambda a, b: a * b + 1.0, (), (), "VALID"),
    "bitcast": lambda x: lax.bitcast_convert_type(x, np.int64),
    "bitcast to a shorter dtype": lambda x: lax.bitcast_convert_type(x, np.int32),
    "cond": lambda x, y: lax.cond(x > y, lambda a, b: a, lambda a, b: b * 2.0, x, y),
    "while_loop": lambda x: lax.while_loop(lambda c: c < 10.0, lambda c: c * 2.0 + 1.0, x),
    "scan": lambda x: lax.scan(lambda c, _: (c * x, c), x, None, length=3),
    "scan without steps": lambda x: lax.scan(lambda c, _: (c * x, c), x, None, length=0),
    "map": lambda x: lax.map(lambda i: i * x, np.arange(3.0)),
    **{f"numpy.{name}": getattr(np, name) for name in NUMPY_NAMES.split()},
    "numpy.sort": lambda x: np.sort(x, axis=None),
    "numpy.repeat": lambda x: np.repeat(x, 3),
    "numpy.tile": lambda x: np.tile(x, ()),
    "numpy.take": lambda x: np.take(x, 0),
    "numpy.einsum": lambda x, y: np.einsum(",->", x, y),
    "numpy.kron": lambda x, y: np.kron(x, y),
    "numpy.roll": lambda x: np.roll(x, 1),
    "numpy.linspace": lambda x: np.linspace(x, 1.0, 3),
    "numpy.interp": lambda x: np.interp(x, [-1.0, 0.0, 1.0], [1.0, 2.0, 4.0]),
    "an index": lambda x: (x[()], x[...], x[None]),
}


ROWS = {
    program.name: program for rows in OPERATIONS.values() for program in rows if np.dtype(program.widest).kind in "fi"
}


def mapped(f, dims):
    """Return `f` under vmap, evaluated and compiled."""
    return [vmap(f, in_axes=dims), jit(vmap(f, in_axes=dims)), vmap(jit(f), in_axes=dims)]


def check(f, args):
    """Check that `f` under vmap gives the stack of its results, for each choice of mapped scalars and three sizes."""
    for dims in itertools.product((0, None), repeat=len(args)):
        if 0 not in dims:
            continue
        for size in (3, 1, 0):
            operands = [x[:size] if d == 0 else x[0] for x, d in zip(args, dims)]
            each = [f(*[x[i] if d == 0 else x for x, d in zip(operands, dims)]) for i in range(size)]
            want = [np.stack(leaves) for leaves in zip(*map(tree_leaves, each))]
            for transformed in mapped(f, dims):
                got = tree_leaves(transformed(*operands))
                for x, y in zip(got, want if size else got, strict=True):
                    assert (np.shape(x), np.asarray(x).dtype) == (np.shape(y), np.asarray(y).dtype)
                    np.testing.assert_allclose(x, y, rtol=1e-11, atol=1e-11)


def operand_count(f):
    """Return the number of operands: NumPy's functions, which are wrapped, get one."""
    return f.__code__.co_argcount if f.__name__ == "<lambda>" else 1


def sum_of_floats(f):
    """Return `f` as a function of one scalar to one: the sum of its results that are floats."""
    return lambda x: sum(np.sum(y) for y in tree_leaves(f(x)) if y.dtype.kind == "f")


@pytest.mark.sampled(keep=0.4, rows=[])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_scalars_under_vmap_give_the_stack_of_the_results(name):
    f = FUNCTIONS[name]
    check(f, [np.array([0.3, 1.7, 0.9]), np.array([1.1, 0.2, 0.5])][: operand_count(f)])


@pytest.mark.sampled(keep=0.4, rows=[])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_at_scalars_under_vmap_give_their_stack(name):
    f = FUNCTIONS[name]
    g = sum_of_floats(f if operand_count(f) == 1 else lambda x: f(x, 0.6))
    if isinstance(g(np.float64(0.5)), np.floating):  # not of integers alone
        check(grad(g), [np.array([0.3, 1.7, 0.9])])


@pytest.mark.sampled(keep=0.07, rows=[])
@pytest.mark.parametrize("name", ROWS)
def test_a_row_of_the_table_that_takes_scalars_takes_them_under_vmap(name):
    program = ROWS[name]
    operands = np.linspace(0.3, 0.9, 3) if np.dtype(program.widest).kind == "f" else np.array([1, 2, 3])
    args = [operands + 0.03 * i if operands.dtype.kind == "f" else operands + i for i in range(len(program.makers))]
    try:
        program.fun(*[x[0] for x in args])
    except Exception:  # noqa: BLE001 -- the row has other operands
        return
    check(program.fun, args)


@pytest.mark.parametrize("shape", [(), (1,), (2,), (2, 1)])
@pytest.mark.parametrize("kind", ["scatter_add", "scatter_mul", "scatter_max"])
def test_several_windows_of_a_whole_array_are_combined_when_compiled(kind, shape):
    numbers = lax.ScatterDimensionNumbers(tuple(range(1, 1 + len(shape))), (), ())
    scatter = lambda x, updates: KINDS[kind](x, TWO_ROWS, updates, numbers)
    x, updates = np.full(shape, 2.0), np.stack([np.full(shape, 3.0), np.full(shape, 5.0)])
    want = {"scatter_add": 10.0, "scatter_mul": 30.0, "scatter_max": 5.0}[kind]
    np.testing.assert_array_equal(jit(scatter)(x, updates), np.full(shape, want))
    np.testing.assert_array_equal(scatter(x, updates), np.full(shape, want))
