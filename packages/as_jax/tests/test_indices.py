"""Indices as jax has them: known ones out of bounds are clipped by reads, and dropped by updates."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

X = jnp.arange(5.0)
Y = jnp.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        (lambda: X[10], 4.0), (lambda: X[-10], 0.0), (lambda: X[np.array([0, 10, -10])], [0.0, 4.0, 0.0]),
        (lambda: X[jnp.array([0, 10])], [0.0, 4.0]), (lambda: Y[7], [3.0, 4.0, 5.0]), (lambda: Y[1, 7], 5.0),
        (lambda: Y[7, jnp.array([0, 9])], [3.0, 5.0]), (lambda: Y[:, -9], [0.0, 3.0]), (lambda: X[-1], 4.0),
        (lambda: X.at[10].get(), 4.0), (lambda: X.at[10].get(mode="fill", fill_value=-1.0), -1.0),
        (lambda: X.at[-1].get(wrap_negative_indices=False), 0.0), (lambda: X[np.arange(5) > 2], [3.0, 4.0]),
        (lambda: X.at[jnp.array([-1, 7])].get(mode="fill", fill_value=0.0), [4.0, 0.0]),
        (lambda: X.at[10].set(9.0), [0.0, 1.0, 2.0, 3.0, 4.0]), (lambda: Y.at[:, 7].add(9.0), Y.tolist()),
        (lambda: X.at[10].set(9.0, mode="clip"), [0.0, 1.0, 2.0, 3.0, 9.0]),
        (lambda: X.at[-1].set(9.0), [0.0, 1.0, 2.0, 3.0, 9.0]),
        (lambda: jnp.take(X, jnp.array([1, 9]), mode="clip"), [1.0, 4.0]),
        (lambda: jnp.take(X, jnp.array([1, 9]), fill_value=7.0), [1.0, 7.0]),
        (lambda: jnp.take_along_axis(X, jnp.array([9, -1]), 0, fill_value=7.0), [7.0, 4.0]),
    ],
)  # fmt: skip
def test_indices_have_the_values_of_jax(read, expected):
    assert read().tolist() == expected
    assert jax.jit(read)().tolist() == expected


def test_an_element_out_of_bounds_is_nan_where_jax_says_so():
    assert np.isnan(jnp.take(X, 10))
    assert np.isnan(jnp.take_along_axis(X, jnp.array([10]), 0))


def test_reads_out_of_bounds_are_differentiated_and_mapped():
    assert jax.grad(lambda x: x[10])(X).tolist() == [0, 0, 0, 0, 1]
    assert jax.vmap(lambda x: x[10])(Y).tolist() == [2, 5]


def test_an_index_in_bounds_stays_one_slice():
    names = [eqn.primitive.name for eqn in jax.make_jaxpr(lambda x: x[1])(X).eqns]
    assert names == ["slice", "squeeze"]


UPDATED = {"add": 3.0, "multiply": 2.0, "divide": 0.5, "power": 1.0, "min": 1.0, "max": 2.0, "subtract": -1.0}


@pytest.mark.parametrize(("method", "first"), UPDATED.items())
def test_elements_are_updated_by_each_method(method, first):
    assert getattr(X.at[1], method)(2.0, mode=None, indices_are_sorted=True, unique_indices=True)[1] == first


def test_too_many_indices_stay_an_error():
    with pytest.raises(IndexError, match="too many indices"):
        X[0, 0]


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min", "any", "all", "std", "var"])
def test_methods_take_the_options_of_jax_as_none(name):
    options = {"axis": None, "out": None, "keepdims": False, "where": None}
    expected = getattr(np.asarray(Y), name)()
    np.testing.assert_allclose(getattr(Y, name)(**options), expected, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(lambda y: getattr(y, name)(**options))(Y), expected, rtol=1e-6)


def test_an_integer_array_takes_the_whole_part_of_an_update():
    with pytest.warns(FutureWarning, match="int32 cannot hold it"):
        assert jnp.arange(3).at[0].set(1.5).tolist() == [1, 1, 2]
    with pytest.warns(FutureWarning, match="int32 cannot hold it"):
        assert jax.jit(lambda x: x.at[1].add(1.5))(jnp.arange(3)).tolist() == [0, 2, 2]


def test_the_method_sort_returns_an_array():
    x = jnp.array([[3.0, 1.0, 2.0]])
    for call in (lambda x: x.sort(), jax.jit(lambda x: x.sort(axis=-1)), lambda x: x.sort(descending=True)[:, ::-1]):
        assert call(x).tolist() == [[1.0, 2.0, 3.0]]
    assert x.tolist() == [[3.0, 1.0, 2.0]]


@pytest.mark.parametrize(
    "make",
    [
        lambda: jnp.mgrid[0:2, 0:3], lambda: jnp.ogrid[0:2, 0:3][0], lambda: jnp.r_[1:3, 5], lambda: jnp.c_[X, X],
        lambda: X.view(jnp.int32), lambda: X.astype(jnp.int32).view("uint8").astype(jnp.int32),
    ],
)  # fmt: skip
def test_brackets_and_views_give_arrays_of_jax(make):
    assert isinstance(make(), jax.Array)
    assert make().dtype in ("int32", "float32")
    assert jax.jit(make)().tolist() == make().tolist()
