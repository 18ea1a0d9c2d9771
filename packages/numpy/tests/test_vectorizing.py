"""`vectorize` calls a function for each element, as NumPy's does: on arrays at once where it can, else in a loop."""

import numpy as np
import pytest

import calque_numpy as cnp
from calque_core import ShapeError, TracerBoolConversionError, jaxpr_as_fun, lax, make_jaxpr

X, Y = np.linspace(-1.0, 1.0, 6).reshape(2, 3), np.array([2.0, 0.5, 1.0])


def branch(x, y):
    return lax.cond(x > 0.0, lambda: x * y, lambda: y)


CASES = {
    "numbers": (lambda x, y: np.exp(x) * y + 1, {}, (X, Y)),
    "a scalar": (lambda x, y: np.maximum(x, y), {}, (X, 0.5)),
    "a constant": (lambda x: 2.5, {}, (X,)),
    "several results": (lambda x, y: (x + y, x > y), {}, (X, Y)),
    "dtypes": (lambda x: x * 2, {"otypes": [np.float32]}, (X,)),
    "an excluded argument": (lambda p, x: np.polyval(p, x), {"excluded": {0}}, (Y, X)),
    "matrices": (lambda a, b: np.dot(a, b), {"signature": "(n),(n)->()"}, (X, Y)),
    "a result with axes": (lambda a, b: np.outer(a, b), {"signature": "(n),(m)->(n,m)"}, (X[:, None], X)),
    "two results with axes": (lambda a: (a[0], a * 2), {"signature": "(n)->(),(n)"}, (X,)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_traced_function_of_elements_is_numpys(name):
    function, options, args = CASES[name]
    mine = cnp.vectorize(function, **options)
    want = np.vectorize(function, **options)(*args)
    eager = mine(*args)
    traced = jaxpr_as_fun(make_jaxpr(mine)(*args))(*args)
    assert isinstance(eager, tuple) == isinstance(want, tuple)
    for got in (eager, traced):
        for one, other in zip(listed(got), listed(want), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-14)
            assert one.dtype == other.dtype


def listed(out):
    return out if isinstance(out, (tuple, list)) else [out]


def names(function, *args):
    return [eqn.primitive.name for eqn in make_jaxpr(function)(*args).eqns]


def test_operations_on_elements_take_the_whole_array():
    assert names(cnp.vectorize(lambda x, y: np.exp(x) * y), X, 2.0).count("exp") == 1
    assert "scan" not in names(cnp.vectorize(lambda x, y: np.exp(x) * y), X, 2.0)


def test_other_operations_run_in_a_loop():
    mapped = cnp.vectorize(branch)
    assert "scan" in names(mapped, X, Y)
    (got,) = jaxpr_as_fun(make_jaxpr(mapped)(X, Y))(X, Y)
    np.testing.assert_allclose(got, np.where(X > 0, X * Y, np.broadcast_to(Y, X.shape)))


def test_sizes_of_0_give_empty_results():
    for function in (lambda x: x * 2.0, lambda x: branch(x, x)):
        (got,) = jaxpr_as_fun(make_jaxpr(cnp.vectorize(function))(X[:0]))(X[:0])
        assert got.shape == (0, 3)


def test_traced_values_that_the_function_reads_are_constants_of_the_program():
    def total(x, w):
        return cnp.sum(cnp.vectorize(lambda a: a * w)(x)) + cnp.sum(cnp.vectorize(lambda a: branch(a, w))(x))

    (got,) = jaxpr_as_fun(make_jaxpr(total)(X, 3.0))(X, 3.0)
    np.testing.assert_allclose(got, np.sum(X * 3.0) + np.sum(np.where(X > 0, X * 3.0, 3.0)))


def test_it_decorates_with_options_and_keeps_the_name_and_the_page():
    @cnp.vectorize(otypes=[float], doc="Its page.")
    def twice(x):
        return 2 * x

    assert (twice.__name__, twice.__doc__, twice(X).dtype) == ("twice", "Its page.", "float64")


def test_named_arguments_are_elements_unless_they_are_excluded():
    function = cnp.vectorize(lambda x, p=0.0: x + np.sum(p), excluded={"p"})
    (got,) = jaxpr_as_fun(make_jaxpr(lambda x, p: function(x, p=p))(X, Y))(X, Y)
    np.testing.assert_allclose(got, X + 3.5)
    function = cnp.vectorize(lambda x, p=0.0: x + p)
    (got,) = jaxpr_as_fun(make_jaxpr(lambda x, p: function(x, p=p))(X, Y))(X, Y)
    np.testing.assert_allclose(got, X + Y)


def test_wrong_arguments_are_refused():
    traced = lambda function, *args, **options: make_jaxpr(cnp.vectorize(function, **options))(*args)
    with pytest.raises(TracerBoolConversionError, match=r"lax\.cond"):
        traced(lambda x: x if x > 0 else 0.0, X)
    with pytest.raises(ShapeError, match=r"vectorize.*returns float64\[2\] for one element, and the signature says 0"):
        traced(lambda x: cnp.array([x, x]), X)
    with pytest.raises(TypeError, match=r"the signature '\(n\)->\(\)' has 1 arguments, and there are 2"):
        traced(np.dot, X, Y, signature="(n)->()")
    with pytest.raises(
        ValueError, match=r"the axes \(n\) of the signature .* do not fit an argument of type float64\[2\]"
    ):
        traced(np.dot, X, Y[:2], signature="(n),(n)->()")
    with pytest.raises(ValueError, match="signature"):
        cnp.vectorize(np.dot, signature="n->n")
    with pytest.raises(TypeError, match="vectorize"):
        cnp.vectorize(3)
