"""Results whose shape depends on values, under a derivative: the values are known, and choose elements and bins."""

import numpy as np
import pytest

import calque
from calque.errors import NumpyRuleError, UnexpectedTracerError

X = np.array([3.0, 1.5, 0.0, 1.5, -2.0, 0.0])
OTHER = np.array([1.5, 4.0, -2.0])
CHOOSING = {
    "unique": lambda x: np.unique(x),
    "unique with extras": lambda x: np.unique(x, True, True, True)[0] * np.unique(x, return_counts=True)[1],
    "unique along an axis": lambda x: np.unique(x.reshape(3, 2), axis=0),
    "unique along the last axis": lambda x: np.unique(x.reshape(2, 3), axis=-1),
    "unique_values": lambda x: np.unique_values(x),
    "unique_all": lambda x: np.unique_all(x).values * np.unique_all(x).counts,
    "unique_inverse": lambda x: np.unique_inverse(x.reshape(2, 3)).values,
    "unique_counts": lambda x: np.unique_counts(x).values,
    "union1d": lambda x: np.union1d(x.reshape(2, 3), OTHER),
    "intersect1d": lambda x: np.intersect1d(x, OTHER),
    "intersect1d with places": lambda x: x[np.intersect1d(x, OTHER, return_indices=True)[1]],
    "setdiff1d": lambda x: np.setdiff1d(x, OTHER),
    "setdiff1d in order": lambda x: np.setdiff1d(x, OTHER, assume_unique=True),
    "setxor1d": lambda x: np.setxor1d(OTHER, x),
    "nonzero": lambda x: x[np.nonzero(x)],
    "where": lambda x: x[np.where(x)],
    "flatnonzero": lambda x: x[np.flatnonzero(x)],
    "argwhere": lambda x: x[np.argwhere(x)[:, 0]],
}


OF_BOTH = {"union1d", "setxor1d"}  # elements of OTHER are constants


@pytest.mark.parametrize("name", CHOOSING)
def test_the_derivative_goes_to_the_chosen_elements(name):
    choose = CHOOSING[name]
    for x in (X, X[::-1] + 0.25, X[[0, 1, 4, 2, 3, 1]]):  # one trace after another gives results of several sizes
        value, slope = calque.jvp(choose, (x,), (2.0 * x,))
        np.testing.assert_array_equal(value, choose(x))
        np.testing.assert_array_equal(slope, np.where(np.isin(value, x) | (name not in OF_BOTH), 2.0 * value, 0.0))
        weights = 1.0 + np.arange(value.size).reshape(value.shape)
        gradient = calque.grad(lambda x, w=weights: np.sum(w * choose(x)))(x)
        np.testing.assert_allclose(np.sum(gradient * 2.0 * x), np.sum(weights * slope), rtol=1e-14)


def test_of_equal_elements_the_first_has_the_derivative():
    x = np.array([3.0, 1.0, 2.0, 1.0])
    np.testing.assert_array_equal(calque.grad(lambda x: np.sum(np.unique(x)))(x), [1, 1, 1, 0])
    np.testing.assert_array_equal(calque.grad(lambda x: np.sum(np.union1d(OTHER[:2], x)))(x), [1, 1, 1, 0])


def test_the_numbers_beside_distinct_elements_are_numpys_arrays():
    x = np.array([[3.0, 1.0], [2.0, 1.0]])
    found = []
    calque.grad(lambda x: found.extend(np.unique(x, True, True, True)[1:]) or np.sum(x))(x)
    for got, want in zip(found, np.unique(x, True, True, True)[1:], strict=True):
        assert type(got) is np.ndarray
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", CHOOSING)
def test_second_derivatives_and_device_arrays_know_their_values(name):
    fun = lambda x: np.sum(CHOOSING[name](x) ** 3)
    want = calque.hessian(fun)(X)
    np.testing.assert_allclose(calque.hessian(fun)(calque.device_put(X)), want)
    np.testing.assert_allclose(calque.jvp(calque.grad(fun), (X,), (X,))[1], want @ X)


@pytest.mark.parametrize("transform", [calque.jit, lambda f: calque.grad(calque.jit(f)), calque.vmap])
@pytest.mark.parametrize("choose", [np.unique, lambda x: x[np.nonzero(x)], lambda x: np.union1d(x, OTHER)])
def test_where_values_are_not_known_the_size_is_asked_for(transform, choose):
    with pytest.raises(NumpyRuleError, match=r"the shape of the result depends on the values.*\(\.\., size=n\)"):
        transform(lambda x: np.sum(choose(x)))(X if transform is not calque.vmap else X[None])


@pytest.mark.parametrize("name", ["unique", "nonzero"])
def test_the_values_of_a_tracer_are_not_read_after_its_trace(name):
    escaped = []
    calque.grad(lambda x: escaped.append(x) or np.sum(x))(X)
    with pytest.raises(UnexpectedTracerError, match="an escaped tracer"):
        getattr(np, name)(*escaped)


@pytest.mark.parametrize("rule", ["auto", "sturges", "fd"])
def test_the_edges_of_a_histogram_by_a_rule_have_the_derivative_of_its_range(rule):
    edges = lambda x: np.histogram_bin_edges(x, rule)
    value, slope = calque.jvp(edges, (X,), (2.0 * X,))
    np.testing.assert_allclose(value, edges(X))
    np.testing.assert_allclose(slope, 2.0 * edges(X))
    bounded = calque.grad(lambda x: np.histogram(x, rule, (x[4], 5.0))[1][0])(X)
    np.testing.assert_array_equal(bounded, [0, 0, 0, 0, 1, 0])
    with pytest.raises(TypeError, match=rf"histogram at .*: the rule '{rule}' knows no weights\. Give a number"):
        calque.grad(lambda x: np.histogram(OTHER, rule, weights=x[:3])[0].sum())(X)
