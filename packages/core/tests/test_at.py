"""Updates by `x.at[index]`: each method against NumPy's assignment, traced masks, modes, dtypes, and clear words."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import NonConcreteBooleanIndexError, ShapeError, check_jaxpr, config, eval_jaxpr, lax, make_jaxpr
from calque_core.engine.numpy_functions import at

X = 1.0 + np.arange(24.0).reshape(2, 3, 4)
UFUNCS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "mul": np.multiply,
    "divide": np.divide,
    "power": np.power,
    "min": np.minimum,
    "max": np.maximum,
}
INDICES = [
    0, (slice(None), -1), (0, slice(1, None), 2), (..., slice(None, None, -2)), (slice(None, None, -1), 1), None, ...,
    ([0, 1, 0], [2, 0, 2]), (slice(1, 2), [0, 2]), ([1, 1], slice(None), 0), X > 9, X[:, 0, 0] > 9, (slice(3, 1), 0),
    True, False, (), (np.array([[0], [1]]), slice(0, 2), np.array([3, 3])),
]  # fmt: skip


def traced(fun, *args):
    jaxpr = make_jaxpr(fun)(*args)
    check_jaxpr(jaxpr)
    return eval_jaxpr(jaxpr, jaxpr.consts, *args)[0]


@pytest.mark.parametrize("index", INDICES, ids=repr)
@pytest.mark.parametrize("name", UFUNCS)
def test_a_method_does_what_its_ufunc_does_at_the_index(name, index):
    value = np.random.default_rng(1).uniform(0.5, 2.0, X[index].shape)
    want = X.copy()
    UFUNCS[name].at(want, index, value)
    np.testing.assert_allclose(getattr(at(X)[index], name)(value), want, rtol=1e-12)
    np.testing.assert_allclose(traced(lambda x, v: getattr(x.at[index], name)(v), X, value), want, rtol=1e-12)


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_elements_are_read_replaced_and_mapped(index):
    value = -1.0 - np.arange(X[index].size).reshape(X[index].shape)
    want = X.copy()
    want[index] = value
    np.testing.assert_array_equal(at(X)[index].get(), X[index])
    np.testing.assert_array_equal(at(X)[index].set(value), want)
    np.testing.assert_array_equal(traced(lambda x, v: x.at[index].set(v), X, value), want)
    want = X.copy()
    np.negative.at(want, index)
    np.testing.assert_array_equal(at(X)[index].apply(lax.neg), want)
    np.testing.assert_array_equal(traced(lambda x: x.at[index].apply(lax.neg), X), want)


def test_the_array_itself_is_not_changed():
    x = X.copy()
    at(x)[0].set(9.0)
    at(x)[...].add(1.0)
    np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("value", [7.0, np.ones(4), np.ones((1, 1, 3, 4)), [[1.0], [2.0], [3.0]]], ids=repr)
def test_an_update_broadcasts_as_in_an_assignment(value):
    want = X.copy()
    want[1] = value
    np.testing.assert_array_equal(at(X)[1].set(value), want)
    np.testing.assert_array_equal(traced(lambda x, i: x.at[i].set(value), X, 1), want)


def test_traced_positions_out_of_bounds_drop_their_updates():
    x, i = np.arange(4.0), np.array([1, 7, -9, -1])
    np.testing.assert_array_equal(traced(lambda x, i: x.at[i].set(9.0), x, i), [0.0, 9.0, 2.0, 9.0])
    np.testing.assert_array_equal(traced(lambda x, i: x.at[i].add(1.0, mode="clip"), x, i), [1.0, 2.0, 2.0, 5.0])
    np.testing.assert_array_equal(traced(lambda x, i: x.at[i].get(), x, i), [1.0, 3.0, 0.0, 3.0])
    np.testing.assert_array_equal(traced(lambda x, i: x.at[i].get(fill_value=5), x, i), [1.0, 5.0, 5.0, 3.0])
    np.testing.assert_array_equal(traced(lambda x, i: x.at[i].get(mode="fill"), x, i), [1.0, np.nan, np.nan, 3.0])
    with config.enable_checks(), pytest.raises(IndexError, match=r"scatter_add at .*the index 7 along axis 0"):
        traced(lambda x, i: x.at[i].add(1.0), x, i)
    with config.enable_checks():
        traced(lambda x, i: x.at[i].add(1.0, mode="drop"), x, i)


@pytest.mark.parametrize("as_index", [int, np.int64, np.array], ids=["int", "int64", "array"])
@pytest.mark.parametrize("position", [-9, -4, -3, -1, 0, 2, 3, 9])
def test_with_a_mode_a_known_integer_means_what_an_array_of_one_does(position, as_index):
    x, index, alone = np.array([1.0, 2.0, 3.0]), as_index(position), np.array([position])
    nearest = x[np.clip(position + 3 if position < 0 else position, 0, 2)]
    is_inside = -3 <= position < 3

    assert at(x)[index].get(mode="clip") == nearest
    assert at(x)[index].get(fill_value=7.0) == (nearest if is_inside else 7.0)
    for mode in ("clip", "drop", "fill"):
        np.testing.assert_array_equal(at(x)[index].add(5.0, mode=mode), at(x)[alone].add(5.0, mode=mode))
        np.testing.assert_array_equal(at(X)[0, index, 1:].get(mode=mode), at(X)[0, alone, 1:].get(mode=mode)[0])


def test_known_positions_out_of_bounds_need_a_mode():
    x = np.arange(4.0)
    with pytest.raises(IndexError, match=r"index 5 is out of bounds at test_at\.py"):
        at(x)[[0, 5]].set(1.0)
    np.testing.assert_array_equal(at(x)[[0, 5]].set(9.0, mode="drop"), [9.0, 1.0, 2.0, 3.0])
    np.testing.assert_array_equal(at(x)[[-9, 5]].get(mode="clip"), [0.0, 3.0])
    assert at(x)[7].get(mode="clip") == 3.0
    assert at(x)[7].get(fill_value=5.0) == 5.0
    np.testing.assert_array_equal(at(x)[7].add(1.0, mode="drop"), x)


@pytest.mark.parametrize("place", [..., (), (slice(None),)], ids=repr)
def test_a_traced_mask_takes_one_value_for_all(place):
    mask, where = X > 9, (..., X > 9) if place is ... else X > 9
    program = lambda x, m: x.at[(..., m) if place is ... else m].add(5.0)
    np.testing.assert_array_equal(traced(program, X, mask), at(X)[where].add(5.0))
    rows = X[:, 0, 0] > 9
    value = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(traced(lambda x, m: x.at[m].set(value), X, rows), at(X)[rows].set(value))
    np.testing.assert_array_equal(
        traced(lambda x, m: x.at[m].multiply(value[None]), X, rows), at(X)[rows].multiply(value)
    )
    columns = np.array([True, False, True])
    got = traced(lambda x, m: x.at[:, m].max(np.array([[7.0]] * 1)), X, columns)
    np.testing.assert_array_equal(got, at(X)[:, columns].max(7.0))
    np.testing.assert_array_equal(traced(lambda x, m: x.at[m].apply(lax.neg), X, rows), at(X)[rows].apply(lax.neg))
    np.testing.assert_array_equal(traced(lambda x, m: x.at[m].divide(2.0), X, rows), at(X)[rows].divide(2.0))
    np.testing.assert_array_equal(traced(lambda x, m: x.at[m].set(0.0), X, np.bool_(False)), X)


def test_a_traced_mask_with_several_values_is_refused():
    def refused(program, error):
        with pytest.raises(error) as caught:
            make_jaxpr(program)(X, X[:, 0, 0] > 9)
        return str(caught.value)

    words = refused(lambda x, m: x.at[m].set(np.ones((2, 3, 4))), ShapeError)
    assert words.startswith("an update of type float64[2,3,4] at test_at.py")
    assert words.endswith("Give one value for all, or use numpy.where(mask, values, x).")
    words = refused(lambda x, m: x.at[m, 0].set(1.0), NonConcreteBooleanIndexError)
    assert words.endswith("Use numpy.where(mask, x, other), which keeps the shape.")
    refused(lambda x, m: x.at[m].get(), NonConcreteBooleanIndexError)
    assert "have sizes (3,)" in refused(lambda x, m: x.at[:, m].set(1.0), IndexError)


@pytest.mark.parametrize(("x", "value"), [(np.arange(3), 1.5), (np.arange(3.0), 1j), (np.zeros(3, bool), 2)])
def test_an_update_that_would_lose_a_part_is_refused(x, value):
    with pytest.raises(TypeError, match=r"cannot hold it\. Convert the array or the update first: x\.astype\(dtype\)"):
        at(x)[0].set(value)


def test_an_update_is_converted_to_the_dtype_of_the_array():
    assert at(np.zeros(2, np.float32))[0].set(np.float64(0.1))[0] == np.float32(0.1)
    assert at(np.zeros(2, np.uint8))[0].set(3).dtype == np.uint8
    assert at(np.zeros(2, bool))[0].set(True).tolist() == [True, False]
    with pytest.raises(OverflowError, match="does not fit uint8"):
        at(np.zeros(2, np.uint8))[0].set(300)


def test_what_does_not_fit_is_refused():
    with pytest.raises(
        ShapeError, match=r"of type float64\[2\] at .* does not broadcast to the elements of shape \(3, 4\)"
    ):
        at(X)[0].set(np.ones(2))
    with pytest.raises(TypeError, match=r"x\.at\[index\]\.divide at .* of int64\[3\] gives floats"):
        at(np.arange(3))[0].divide(2)
    with pytest.raises(
        TypeError,
        match=r"x\.at\[index\]\.set at test_at\.py.* has no option 'moed'\. Its options are mode, indices_are_",
    ):
        at(X)[0].set(1.0, moed="drop")
    with pytest.raises(ValueError, match=r"the mode at .* is 'nearest'"):
        at(X)[0].set(1.0, mode="nearest")


def test_known_positions_that_differ_are_marked():
    def promise(index):
        return make_jaxpr(lambda x: x.at[index].set(0.0))(X).eqns[-1].params["unique_indices"]

    assert promise(0)
    assert promise([0, 1])
    assert promise(([0, 0], [1, 2]))
    assert not promise([0, -2])


def test_a_print_says_what_to_do_next():
    assert repr(at(X)) == "<at of float64[2,3,4]: choose elements by x.at[index]>"
    assert repr(at(X)[0]) == ("<elements of float64[2,3,4]: read or update them by a method, as x.at[index].set(y)>")


@pytest.mark.parametrize("update", ["add", "multiply", "divide", "power", "min"])
@pytest.mark.parametrize("index", [[7, 9, 1], [-7, -9, 1], [4, 6, 0]], ids=str)
def test_positions_that_are_clipped_to_one_element_update_it_twice(update, index):
    x = np.arange(1.0, 6.0)
    clipped = np.clip(np.where(np.array(index) < 0, np.array(index) + 5, index), 0, 4)
    program = lambda x, i: getattr(at(x)[i], update)(2.5, mode="clip")
    expected = program(x, clipped)
    for _ in range(5):
        np.testing.assert_array_equal(program(x, np.array(index)), expected)
    jaxpr = make_jaxpr(lambda x: program(x, np.array(index)))(x)
    assert not any(eqn.params.get("unique_indices") for eqn in jaxpr.eqns)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, x)[0], expected)


@pytest.mark.parametrize("mode", ["clip", "fill", "drop"])
def test_negative_indices_are_out_of_bounds_where_they_do_not_wrap(mode):
    x = np.array([1.0, 2.0, 3.0])
    for index in (-1, [-1, 2], np.array([-1, 2], np.int8), (np.array([-3, 0]),)):
        positions = np.maximum(np.asarray(index), -1).reshape(-1)
        got = np.ravel(at(x)[index].get(mode=mode, wrap_negative_indices=False))
        want = [x[max(p, 0)] if p >= 0 or mode == "clip" else np.nan for p in positions]
        np.testing.assert_array_equal(got, want)
        traced = make_jaxpr(lambda i: at(x)[i].add(1.0, mode=mode, wrap_negative_indices=False))(np.array(positions))
        added = at(x)[index].add(1.0, mode=mode, wrap_negative_indices=False)
        np.testing.assert_array_equal(added, eval_jaxpr(traced, traced.consts, positions)[0])
        kept = [max(p, 0) for p in positions if p >= 0 or mode == "clip"]
        np.testing.assert_array_equal(added, x + np.bincount(kept, minlength=3))
    np.testing.assert_array_equal(at(x)[:-1].get(wrap_negative_indices=False), x[:-1])
    with pytest.raises(
        IndexError, match=r"index -2 is negative at .*wrap_negative_indices is False\. Leave it True, or"
    ):
        at(x)[[0, -2]].set(1.0, wrap_negative_indices=False)


def test_known_indices_out_of_bounds_are_taken_as_traced_ones_where_the_settings_say_so():
    x = np.array([1.0, 2.0, 3.0])
    programs = [lambda x: at(x)[7].get(), lambda x: at(x)[-7].get(), lambda x: at(x)[[0, 7]].add(1.0), lambda x: x[7]]
    with config.known_indices("as_traced"):
        jaxprs = [make_jaxpr(program)(x) for program in programs]
        results = [eval_jaxpr(jaxpr, jaxpr.consts, x)[0].tolist() for jaxpr in jaxprs]
        assert results == [3.0, 1.0, [2.0, 2.0, 3.0], 3.0]
        assert [at(x)[7].get(), at(x)[7].set(9.0).tolist()] == [3.0, [1.0, 2.0, 3.0]]
    for program in programs:
        with pytest.raises(IndexError, match=r"index -?7 is out of bounds"):
            make_jaxpr(program)(x)
    with pytest.raises(ValueError, match=r"known_indices was set to 'clip'\. Use 'checked' or 'as_traced'"):
        config.known_indices("clip")
