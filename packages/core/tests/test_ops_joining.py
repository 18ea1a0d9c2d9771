"""Values of the operations that join and cut arrays."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import lax
from calque_core.errors import ShapeError
from calque_core.staging.make_jaxpr import make_jaxpr

X = np.arange(24.0).reshape(2, 3, 4)
OF = [lambda f, *xs: f(*xs), lambda f, *xs: make_jaxpr(f)(*xs)]
both = pytest.mark.parametrize("of", OF, ids=["evaluated", "staged"])


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concatenate_puts_one_after_the_other(axis):
    x, y = X[0], 100 + X[1]
    out = lax.concatenate([x, y, x], axis)
    assert [tuple(part.flat) for part in np.split(out, 3, axis)] == [tuple(x.flat), tuple(y.flat), tuple(x.flat)]


def test_concatenate_promotes_and_takes_empty_operands():
    out = lax.concatenate([np.zeros(0, np.int8), np.ones(2, np.float32)], 0)
    assert (out.dtype, list(out)) == (np.float32, [1, 1])


def test_concatenate_of_different_sizes_has_their_sum():
    (aval,) = make_jaxpr(lambda x, y: lax.concatenate([x, y, x], 1))(np.zeros((2, 3)), np.zeros((2, 0))).out_avals
    assert aval.shape == (2, 6)


def test_concatenate_of_nothing_is_refused():
    with pytest.raises(ValueError, match=r"concatenate at .* got no operands\. Give at least one array\."):
        lax.concatenate([], 0)


@pytest.mark.parametrize("other", [np.zeros((3, 2)), np.zeros(3), np.zeros((2, 3, 1))])
@both
def test_concatenate_refuses_shapes_that_do_not_fit(of, other):
    with pytest.raises(
        ShapeError, match=r"concatenate of float64\[2,3\] and float64\[.*\] along axis 0 at .*: the shapes do not fit"
    ):
        of(lambda x: lax.concatenate([x, other], 0), np.zeros((2, 3)))


def test_concatenate_of_other_ranks_is_refused_along_the_last_axis_too():
    with pytest.raises(ShapeError, match="the shapes do not fit"):
        lax.concatenate([np.zeros((2, 3)), np.zeros(2)], 1)
    with pytest.raises(ShapeError, match="the shapes do not fit"):
        lax.concatenate([np.zeros((2, 3)), np.zeros(())], 0)


def test_the_primitive_refuses_dtypes_that_differ():
    with pytest.raises(TypeError, match=r"along axis 0 at .*: the dtypes differ\. Convert the operands first\."):
        make_jaxpr(lambda x, y: lax.concatenate_p.bind(x, y, dimension=0))(np.zeros(2), np.zeros(2, int))


@pytest.mark.parametrize(("sizes", "axis"), [((1, 0, 1), 0), ((2, 1), 1), ((1, 1, 2), -1), ((0, 4), 2)])
def test_split_gives_consecutive_sections_that_concatenate_joins(sizes, axis):
    sections = lax.split(X, sizes, axis)
    assert [x.shape[axis] for x in sections] == list(sizes)
    np.testing.assert_array_equal(lax.concatenate(sections, axis), X)


@pytest.mark.parametrize("sizes", [(1, 1), (4,), (4, -1), ()])
@both
def test_split_into_sizes_of_another_sum_is_refused_with_both(of, sizes):
    words = r"split of float64\[2,3,4\] along axis 1 at test_ops_joining\.py:\d+ .* into the sizes \(.*\)"
    with pytest.raises(ValueError, match=words):
        of(lambda x: lax.split(x, sizes, 1), X)


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1, -4])
def test_stack_gives_a_new_axis_that_unstack_takes_away(axis):
    out = lax.stack([X, 2 * X, 3 * X], axis)
    np.testing.assert_array_equal(out, np.stack([X, 2 * X, 3 * X], axis))
    for i, x in enumerate(lax.unstack(out, axis)):
        np.testing.assert_array_equal(x, (i + 1) * X)


def test_stack_promotes_and_takes_scalars():
    out = lax.stack([np.int8(1), np.float32(2)])
    assert (out.dtype, list(out)) == (np.float32, [1, 2])
    assert [type(x) for x in lax.unstack(out)] == [np.float32] * 2


@both
def test_stack_of_different_shapes_is_refused_with_both(of):
    with pytest.raises(ShapeError, match=r"stack of float64\[2,3,4\] and float64\[2\] at .*: the shapes differ"):
        of(lambda x: lax.stack([x, np.zeros(2)]), X)
    with pytest.raises(ValueError, match=r"stack at .* got no operands\. Give at least one array\."):
        of(lambda x: lax.stack([]), X)


def test_unstack_of_an_empty_axis_gives_no_arrays():
    assert lax.unstack(np.zeros((2, 0)), 1) == []
    with pytest.raises(ValueError, match=r"unstack at .*axis 0 is out of range for ndim 0"):
        lax.unstack(1.0)


@pytest.mark.parametrize("reps", [(1, 2, 3), (0, 1, 1), (2, 1, 1), (1, 1, 1)])
def test_tile_puts_copies_side_by_side(reps):
    np.testing.assert_array_equal(lax.tile(X, reps), np.tile(X, reps))


@pytest.mark.parametrize("reps", [(2,), (1, -1, 1), (1, 1, 1, 1)])
@both
def test_tile_needs_a_number_per_axis(of, reps):
    with pytest.raises(ValueError, match=r"tile of float64\[2,3,4\] at .*: reps is \(.*\)\. Give 3 numbers"):
        of(lambda x: lax.tile(x, reps), X)


def test_joins_and_cuts_are_one_equation_each():
    def program(x):
        rows = lax.unstack(x)
        first, second = lax.split(lax.stack(rows, 1), (1, 2), 0)
        return lax.concatenate([first, lax.tile(second, (1, 1, 1))], 0)

    assert [eqn.primitive.name for eqn in make_jaxpr(program)(X).eqns] == ["unstack", "stack", "split", "concatenate"]


@pytest.mark.parametrize("join", [lax.stack, lambda xs: lax.concatenate(xs, 0)], ids=["stack", "concatenate"])
def test_operands_that_are_no_sequence_are_refused_with_words(join):
    with pytest.raises(TypeError, match=r"at test_ops_joining.py:\d+ .* got None as its operands. Give a sequence of"):
        join(None)
