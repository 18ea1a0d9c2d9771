"""Shapes, axes, indices and values that hypothesis draws, for the functions whose arguments have most forms."""

import math

import numpy as np
from arrays import numbers
from forms import assert_conforms, evaluated, traced
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from standard import ALL_DTYPES, dtypes_of

DRAWN = settings(
    max_examples=100, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
sizes = st.integers(0, 4)
shapes = st.lists(sizes, max_size=3).map(tuple)
filled = st.lists(st.integers(1, 4), max_size=3).map(tuple)
keep = 0.15  # of the examples, in a run of a sample


@st.composite
def slices_of(draw, n):
    bounds = st.one_of(st.none(), st.integers(-n - 2, n + 2))
    return slice(draw(bounds), draw(bounds), draw(st.sampled_from([None, 1, 2, -1, -3])))


@st.composite
def shapes_and_indices(draw):
    """Draw a shape, and an index of integers, slices, one ellipsis and new axes."""
    shape = draw(filled)
    items = [draw(st.one_of(st.integers(-n, n - 1), slices_of(n))) for n in shape]
    count = draw(st.integers(0, len(items)))
    index = [*items[:count], *([...] if draw(st.booleans()) else [])]
    for _ in range(draw(st.integers(0, 2))):
        index.insert(draw(st.integers(0, len(index))), None)
    return shape, tuple(index)


@st.composite
def shapes_and_axes(draw):
    shape = draw(filled)
    names = [draw(st.sampled_from([axis, axis - len(shape)])) for axis in range(len(shape))]
    subset = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    return shape, draw(st.sampled_from([None, tuple(subset), *names]))


@st.composite
def broadcast_shapes(draw):
    shape = draw(shapes)
    other = tuple(draw(st.sampled_from([n, 1])) for n in shape)
    return shape, other[draw(st.integers(0, len(other))) :]


@st.composite
def reshapings(draw):
    shape = draw(filled)
    count = math.prod(shape)
    divisors = [n for n in range(1, count + 1) if count % n == 0]
    first = draw(st.sampled_from(divisors))
    new = [first, count // first]
    if draw(st.booleans()):
        new[draw(st.integers(0, 1))] = -1
    return shape, tuple(new)


@DRAWN
@given(shapes_and_indices(), st.sampled_from(ALL_DTYPES))
def test_an_index_of_any_form(is_drawn, case, dtype):
    if is_drawn((case, dtype), keep):
        shape, index = case
        assert_conforms(lambda m, x: x[index], numbers(dtype, shape))


@DRAWN
@given(shapes_and_axes(), st.sampled_from(["sum", "prod", "max", "min", "mean", "var", "all", "any"]), st.booleans())
def test_a_reduction_over_any_axes(is_drawn, case, name, keepdims):
    if is_drawn((case, name, keepdims), keep):
        shape, axis = case
        program = lambda m, x: getattr(m, name)(x, axis=axis, keepdims=keepdims)
        assert_conforms(program, numbers("float64", shape), ulps=16)


@DRAWN
@given(
    broadcast_shapes(), st.sampled_from(["add", "where", "maximum", "divide", "less"]), st.sampled_from(dtypes_of("if"))
)
def test_operands_of_any_shapes_that_broadcast(is_drawn, pair, name, dtype):
    if is_drawn((pair, name, dtype), keep):
        x, y = numbers(dtype, pair[0]), numbers(dtype, pair[1], seed=1)
        arrays = (x > 0, x, y) if name == "where" else (x, y)
        for operands in (arrays, arrays[::-1]) if name != "where" else (arrays,):
            assert_conforms(lambda m, *xs: getattr(m, name)(*xs), *operands)


@DRAWN
@given(reshapings(), st.sampled_from(ALL_DTYPES))
def test_a_shape_of_as_many_elements(is_drawn, case, dtype):
    if is_drawn((case, dtype), keep):
        shape, new = case
        assert_conforms(lambda m, x: m.reshape(x, new), numbers(dtype, shape))


@DRAWN
@given(filled, st.lists(st.integers(-5, 5), min_size=3, max_size=3), st.data())
def test_rolls_transpositions_and_flips_by_any_arguments(is_drawn, shape, shifts, data):
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    if is_drawn((shape, shifts, order), keep):
        axes = order[: len(order) // 2 + 1]

        def program(m, x):
            moved = [m.permute_dims(x, order), m.flip(x, axis=axes), m.roll(x, shifts[0])]
            return [*moved, m.roll(x, tuple(shifts[: len(axes)]), axis=axes), m.moveaxis(x, axes, order[-len(axes) :])]

        if shape:
            assert_conforms(program, numbers("int16", shape))


@DRAWN
@given(st.lists(st.floats(width=32), max_size=6), st.lists(st.floats(width=32), min_size=1, max_size=3))
def test_sorts_searches_and_sets_of_any_numbers(is_drawn, values, others):
    if is_drawn((values, others), keep):
        x, v = np.array(values, np.float32), np.array(others, np.float32)
        assert_conforms(lambda m, x: [m.sort(x), m.argsort(x, stable=True), m.isnan(x), m.sign(x)], x)
        assert_conforms(lambda m, x, v: m.searchsorted(m.sort(x), v, side="right"), x, v)
        assert_conforms(lambda m, x: tuple(m.unique_all(x)), x, by=(evaluated,))
        assert_conforms(lambda m, x: [m.clip(x, -1, 1), m.floor(x), m.signbit(x)], x, by=(traced,))
