"""`gather` and `scatter` against loops over single windows: every mode, batching axes, windows that overlap."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

from calque_core import ConcretizationTypeError, ShapeError, check_jaxpr, config, eval_jaxpr, lax, make_jaxpr
from calque_core.lax import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers

pytestmark = pytest.mark.sampled(keep=0.3)

CUBE = np.arange(24.0).reshape(2, 3, 4)
KINDS = {
    "scatter": lambda old, new: new,
    "scatter_add": np.add,
    "scatter_sub": np.subtract,
    "scatter_mul": np.multiply,
    "scatter_min": np.minimum,
    "scatter_max": np.maximum,
}


def random_windows(seed):
    """Return an operand, indices, the window's sizes, and five dimension numbers."""
    rng = np.random.default_rng(seed)
    ndim = int(rng.integers(1, 5))
    shape = tuple(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 4, ndim))
    kinds = rng.choice(["window", "collapsed", "batching"], ndim, p=[0.5, 0.3, 0.2])
    mapped = tuple(int(d) for d in rng.permutation([d for d in range(ndim) if kinds[d] != "batching"]))
    mapped = mapped[: rng.integers(0, len(mapped) + 1)]
    if any(kinds[d] == "collapsed" and shape[d] == 0 for d in range(ndim)):
        return random_windows(seed + 1000)
    sizes = tuple(
        int(rng.integers(0, n + 1)) if kind == "window" else min(1, n) if kind == "batching" else 1
        for n, kind in zip(shape, kinds)
    )
    batching = tuple(d for d in range(ndim) if kinds[d] == "batching")
    rows = [
        *(shape[d] for d in batching),
        *(int(n) for n in rng.integers(0 if rng.random() < 0.1 else 1, 4, rng.integers(0, 3))),
    ]
    order = rng.permutation(len(rows))
    row_dims = tuple(int(np.flatnonzero(order == i)[0]) for i in range(len(batching)))
    rows = tuple(rows[i] for i in order)
    window = [d for d in range(ndim) if kinds[d] == "window"]
    offset_dims = tuple(sorted(int(d) for d in rng.permutation(len(rows) + len(window))[: len(window)]))
    indices = rng.integers(-2, 4, (*rows, len(mapped)))
    collapsed = tuple(d for d in range(ndim) if kinds[d] == "collapsed")
    x = rng.normal(size=shape).round(3)
    return x, indices, sizes, (offset_dims, collapsed, mapped, batching, row_dims)


def places(x, indices, sizes, numbers, mode):
    """Give, for each row of indices, its NumPy index into the result or the updates, and its window's or None."""
    offset_dims, collapsed, mapped, batching, row_dims = numbers
    for row in itertools.product(*map(range, indices.shape[:-1])):
        starts = [0] * x.ndim
        for axis, i in zip(mapped, indices[row]):
            starts[axis] = int(i)
        for axis, dim in zip(batching, row_dims):
            starts[axis] = row[dim]
        limits = [n - m for n, m in zip(x.shape, sizes)]
        is_inside = all(0 <= starts[axis] <= limits[axis] for axis in mapped)
        starts = [min(max(i, 0), limit) for i, limit in zip(starts, limits)]
        window = tuple(
            i if d in (*collapsed, *batching) else slice(i, i + m) for d, (i, m) in enumerate(zip(starts, sizes))
        )
        position = iter(row)
        ndim = indices.ndim - 1 + len(offset_dims)
        out = tuple(slice(None) if d in offset_dims else next(position) for d in range(ndim))
        yield out, window if is_inside or mode == "clip" else None


@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds"])
@pytest.mark.parametrize("seed", range(200))
def test_a_gather_reads_each_window(seed, mode):
    x, indices, sizes, numbers = random_windows(seed)
    program = lambda x, i: lax.gather(x, i, GatherDimensionNumbers(*numbers), sizes, mode=mode, fill_value=7)
    got = program(x, indices)
    want = np.full(got.shape, 7.0)
    for out, window in places(x, indices, sizes, numbers, "fill" if mode == "fill" else "clip"):
        if window is not None:
            want[out] = x[window]
    np.testing.assert_array_equal(got, want)
    jaxpr = make_jaxpr(program)(x, indices)
    check_jaxpr(jaxpr)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, x, indices)[0], want)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("mode", ["clip", "drop", "promise_in_bounds"])
@pytest.mark.parametrize("seed", range(100))
def test_a_scatter_writes_each_window_in_order(seed, mode, name):
    x, indices, sizes, numbers = random_windows(seed)
    shape = lax.gather(x, indices, GatherDimensionNumbers(*numbers), sizes).shape
    updates = np.random.default_rng(seed).normal(size=shape).round(3)
    program = lambda x, i, u: getattr(lax, name)(x, i, u, ScatterDimensionNumbers(*numbers), mode=mode)
    got, want = program(x, indices, updates), x.copy()
    for out, window in places(x, indices, sizes, numbers, mode):
        if window is not None:
            want[window] = KINDS[name](want[window], updates[out])
    np.testing.assert_allclose(got, want, rtol=1e-12)
    check_jaxpr(make_jaxpr(program)(x, indices, updates))


ROWS = [(), (4,), (2, 3), (0,)]


def known(program, *args):
    """Return the evaluation of the one operation of a program for the types of its operands, and the general one."""
    (eqn,) = make_jaxpr(program)(*args).eqns
    avals = [v.aval for v in eqn.invars]
    return eqn.primitive.impl_for_types(avals, eqn.params), functools.partial(eqn.primitive.impl, **eqn.params)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("rows", ROWS, ids=str)
def test_positions_along_one_axis_are_read_by_one_call_of_numpy(rows, axis):
    indices = np.random.default_rng(0).integers(-3, 6, (*rows, 1)).astype(np.int32)
    offsets = tuple(d for d in range(len(rows) + 2) if not axis <= d < axis + len(rows))
    sizes = [1 if d == axis else n for d, n in enumerate(CUBE.shape)]
    numbers = GatherDimensionNumbers(offsets, (axis,), (axis,))
    program = lambda x, i: lax.gather(x, i, numbers, sizes, mode="clip")
    evaluate, general = known(program, CUBE, indices)
    assert not isinstance(evaluate, functools.partial)
    np.testing.assert_array_equal(evaluate(CUBE, indices), general(CUBE, indices))


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)], ids=str)
@pytest.mark.parametrize("rows", ROWS[1:], ids=str)
@pytest.mark.parametrize("place", [0, 1])
def test_lines_along_any_axes_are_read_and_combined_as_in_general(axes, rows, place):
    rng = np.random.default_rng(0)
    place = min(place, CUBE.ndim - len(axes))
    indices = rng.integers(-3, 6, (*rows, len(axes))).astype(np.int32)
    ndim = CUBE.ndim - len(axes) + len(rows)
    offsets = tuple(d for d in range(ndim) if not place <= d < place + len(rows))
    sizes = [1 if d in axes else n for d, n in enumerate(CUBE.shape)]
    read = lambda x, i: lax.gather(x, i, GatherDimensionNumbers(offsets, axes, axes), sizes, mode="clip")
    add = lambda x, i, u: lax.scatter_add(x, i, u, ScatterDimensionNumbers(offsets, axes, axes), mode="clip")
    updates = rng.normal(size=read(CUBE, indices).shape)
    for program, args in [(read, (CUBE, indices)), (add, (CUBE, indices, updates))]:
        evaluate, general = known(program, *args)
        assert not isinstance(evaluate, functools.partial)
        np.testing.assert_array_equal(evaluate(*args), general(*args))


@pytest.mark.parametrize("mode", ["fill", "promise_in_bounds"])
def test_a_read_that_fills_or_checks_has_no_shorter_evaluation(mode):
    program = lambda x, i: lax.gather(x, i, GatherDimensionNumbers((1, 2), (0,), (0,)), (1, 3, 4), mode=mode)
    with config.enable_checks(mode == "promise_in_bounds"):
        assert isinstance(known(program, CUBE, np.array([[1]]))[0], functools.partial)


@pytest.mark.parametrize("name", ["scatter_add", "scatter_mul", "scatter_min", "scatter_max"])
@pytest.mark.parametrize("x", [CUBE[0, 0], CUBE], ids=["vector", "cube"])
@pytest.mark.parametrize("rows", ROWS[1:], ids=str)
def test_lines_along_the_first_axis_are_combined_at_flat_positions(rows, x, name):
    rng = np.random.default_rng(0)
    indices, updates = rng.integers(-3, 6, (*rows, 1)), rng.normal(size=(*rows, *x.shape[1:]))
    numbers = ScatterDimensionNumbers(tuple(range(len(rows), updates.ndim)), (0,), (0,))
    program = lambda x, i, u: getattr(lax, name)(x, i, u, numbers, mode="clip")
    evaluate, general = known(program, x, indices, updates)
    assert not isinstance(evaluate, functools.partial)
    before = x.copy()
    np.testing.assert_array_equal(evaluate(x, indices, updates), general(x, indices, updates))
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool", "complex64", "float16"])
def test_a_window_outside_reads_the_default_of_its_dtype(dtype):
    x = np.ones(3, dtype)
    out = lax.gather(x, np.array([[5]]), GatherDimensionNumbers((), (0,), (0,)), (1,))
    want = {"int32": -(2**31), "uint8": 255, "bool": True}.get(dtype, np.nan)
    np.testing.assert_array_equal(out, np.array([want], dtype))
    assert out.dtype == dtype


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint32", "uint64"])
def test_indices_of_every_dtype_reach_the_end_of_a_long_axis(dtype):
    x, top = np.arange(300), int(np.iinfo(dtype).max)
    numbers = GatherDimensionNumbers((), (0,), (0,))
    for regime in (True, False):
        with config.enable_x64(regime):
            assert lax.gather(x, np.array([[top]], dtype), numbers, (1,), mode="clip")[0] == min(top, 299)


def test_checks_make_a_broken_promise_an_error():
    numbers = GatherDimensionNumbers((1, 2), (0,), (0,))
    read = lambda i, mode: lax.gather(CUBE, i, numbers, (1, 3, 4), mode=mode)
    with config.enable_checks():
        read(np.array([[1]]), "promise_in_bounds")
        read(np.array([[2]]), "clip")
        with pytest.raises(
            IndexError, match=r"gather at .*: the index 2 along axis 0 is out of bounds for an operand of"
        ):
            read(np.array([[0], [2]]), "promise_in_bounds")
        written = ScatterDimensionNumbers((0, 1), (0,), (0,))
        with pytest.raises(IndexError, match=r"scatter_add at .*: the index -1 along axis 0 is out of bounds"):
            lax.scatter_add(CUBE, np.array([-1]), CUBE[0], written, mode="promise_in_bounds")


def test_modes_have_names():
    assert GatherScatterMode.from_any(None) is GatherScatterMode.from_any("drop") is GatherScatterMode.FILL_OR_DROP
    assert GatherScatterMode.from_any(GatherScatterMode.CLIP) is GatherScatterMode.CLIP
    with pytest.raises(ValueError, match=r"the mode at .* is 'nearest'\. Give 'clip', 'fill', 'drop' or"):
        GatherScatterMode.from_any("nearest")


READ = {"offset_dims": (1, 2), "collapsed_slice_dims": (0,), "start_index_map": (0,)}
ROWS = np.array([[0], [1]])


@pytest.mark.parametrize(
    ("changed", "sizes", "indices", "kind", "words"),
    [
        ({"offset_dims": (2, 1)}, (1, 3, 4), ROWS, ValueError, r"offset_dims is \(2, 1\)\. Give 2 axes of the result"),
        ({"offset_dims": (1,)}, (1, 3, 4), ROWS, ValueError, "which has 3, in increasing order"),
        ({"start_index_map": (3,)}, (1, 3, 4), ROWS, ValueError, r"start_index_map is \(3,\)\. Give different axes"),
        ({"start_index_map": (0, 1)}, (1, 3, 4), ROWS, ShapeError, "but start_index_map has 2 axes"),
        ({"collapsed_slice_dims": (1, 0)}, (1, 1, 4), ROWS, ValueError, "different axes below 3, in increasing order"),
        ({}, (2, 3, 4), ROWS, ShapeError, r"size 2 along axis 0 of an operand of shape \(2, 3, 4\)\. Use a size of 1"),
        ({}, (1, 3, 5), ROWS, ShapeError, "Use a size of 0 to 4"),
        ({}, (1, 3), ROWS, ShapeError, r"slice_sizes is \(1, 3\)\. Give one size for each axis"),
        ({}, (1, 3, 4), ROWS * 1.0, TypeError, r"the indices have type float64\[2,1\]\. Give integers"),
        (
            {"operand_batching_dims": (0,), "start_indices_batching_dims": (0,)}, (1, 3, 4), ROWS,
            ValueError, "collapsed_slice_dims and operand_batching_dims share an axis",
        ),
        (
            {"operand_batching_dims": (1,), "start_indices_batching_dims": (0,), "offset_dims": (1,)}, (1, 1, 4), ROWS,
            ShapeError, r"operand_batching_dims and start_indices_batching_dims have sizes \(3,\) and \(2,\)",
        ),
    ],
)  # fmt: skip
def test_dimension_numbers_that_do_not_fit_are_refused(changed, sizes, indices, kind, words):
    with pytest.raises(kind, match=words) as caught:
        lax.gather(CUBE, indices, GatherDimensionNumbers(**{**READ, **changed}), sizes)
    assert str(caught.value).startswith("gather of float64[2,3,4] at test_ops_gather.py:")


def test_updates_that_do_not_fit_are_refused():
    numbers = ScatterDimensionNumbers((1, 2), (0,), (0,))
    with pytest.raises(ShapeError, match=r"the updates are \(3,\) windows, the indices int64\[2,1\] point to \(2,\)"):
        lax.scatter(CUBE, ROWS, np.ones((3, 3, 4)), numbers)
    with pytest.raises(ValueError, match=r"update_window_dims is \(1, 2\)\. Give the 2 axes of the updates"):
        lax.scatter(CUBE, ROWS, np.ones((3, 3)), numbers)
    with pytest.raises(TypeError, match=r"Give ScatterDimensionNumbers\(\.\.\.\)"):
        lax.scatter(CUBE, ROWS, CUBE, GatherDimensionNumbers((1, 2), (0,), (0,)))


def test_a_fill_value_is_a_known_number():
    numbers = GatherDimensionNumbers(**READ)
    with pytest.raises(ConcretizationTypeError, match=r"the fill value is a traced value .* numpy\.where"):
        make_jaxpr(lambda v: lax.gather(CUBE, ROWS, numbers, (1, 3, 4), fill_value=v))(1.0)
    with pytest.raises(ShapeError, match="Give a number"):
        lax.gather(CUBE, ROWS, numbers, (1, 3, 4), fill_value=np.ones(2))
    programs = [
        make_jaxpr(lambda x, v=v: lax.gather(x, ROWS, numbers, (1, 3, 4), fill_value=v))(CUBE) for v in (None, np.nan)
    ]
    assert [p.eqns[0].params["fill_value"] for p in programs] == [None, None]


def test_a_function_is_applied_once_for_each_row():
    numbers, x = ScatterDimensionNumbers((), (0,), (0,)), np.array([2.0, 3.0, 4.0])
    rows = np.array([[0], [2], [0], [7]])
    apply = lambda x, i, **options: lax.scatter_apply(x, i, lax.square, numbers, update_shape=(i.shape[0],), **options)
    np.testing.assert_array_equal(apply(x, rows), [16.0, 3.0, 16.0])
    np.testing.assert_array_equal(apply(x, rows, mode="clip"), [16.0, 3.0, 256.0])
    np.testing.assert_array_equal(apply(x, rows[1:], unique_indices=True), [4.0, 3.0, 16.0])
    np.testing.assert_array_equal(apply(x, np.zeros((0, 1), int)), x)
    with pytest.raises(ValueError, match="update_window_dims is"):
        lax.scatter_apply(x, rows, lax.square, ScatterDimensionNumbers((1,), (0,), (0,)))
