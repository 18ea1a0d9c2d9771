from __future__ import annotations

import numpy as np
import pytest

import calque_batching
from calque_batching import vmap
from calque_core import check_jaxpr, eval_jaxpr, lax, make_jaxpr
from calque_core.jaxprs.walk import nested_jaxprs
from calque_core.lax import scan_p

WEIGHTS = np.linspace(0.5, 1.5, 3)


def pair(x):
    return {"sum": lax.reduce_sum(lax.sin(x["a"]) * WEIGHTS), "n": x["b"] + 1}


def inputs(length):
    return {"a": np.arange(3.0 * length).reshape(length, 3), "b": np.arange(length)}


@pytest.mark.parametrize("batch_size", [1, 2, 3, 5, 7, 8, 100])
@pytest.mark.parametrize("length", [0, 1, 6, 7])
def test_results_are_those_of_the_elements_whatever_the_size_of_a_batch(length, batch_size):
    xs = inputs(length)
    mapped = lambda xs: calque_batching.map(pair, xs, batch_size=batch_size)
    jaxpr = make_jaxpr(mapped)(xs)
    check_jaxpr(jaxpr)
    expected = lax.map(pair, xs)
    n, total = eval_jaxpr(jaxpr, jaxpr.consts, xs["a"], xs["b"])
    for out in (mapped(xs), {"n": n, "sum": total}):
        assert out["n"].tolist() == expected["n"].tolist()
        assert (out["sum"].shape, out["sum"].dtype) == ((length,), np.float64)
        np.testing.assert_allclose(out["sum"], expected["sum"], 1e-14)


def scans(jaxpr):
    return [eqn for inner in nested_jaxprs(jaxpr) for eqn in inner.eqns if eqn.primitive is scan_p]


@pytest.mark.parametrize(("length", "steps"), [(7, [2]), (6, [2]), (3, []), (2, [])])
def test_batches_are_the_steps_of_a_scan(length, steps):
    jaxpr = make_jaxpr(lambda xs: calque_batching.map(pair, xs, batch_size=3))(inputs(length))
    assert [eqn.params["length"] for eqn in scans(jaxpr)] == steps


def test_the_function_is_traced_once_for_the_batches_and_once_for_the_rest():
    shapes = []

    def fun(x):
        shapes.append(x.shape)
        return x

    calque_batching.map(fun, np.ones((7, 2)), batch_size=3)
    assert shapes == [(2,), (2,)]


def test_without_a_size_it_is_the_map_of_core():
    xs = inputs(4)
    staged = [make_jaxpr(lambda xs: fun(pair, xs))(xs) for fun in (calque_batching.map, lax.map)]  # noqa: B023
    assert str(staged[0]) == str(staged[1])


def test_it_maps_under_vmap():
    xs = np.arange(12.0).reshape(2, 3, 2)
    total = lambda xs: calque_batching.map(lax.reduce_sum, xs, batch_size=2)
    np.testing.assert_array_equal(vmap(total)(xs), xs.sum(2))


def test_inputs_that_cannot_be_mapped_are_refused_by_name():
    mapped = lambda xs, size=2: calque_batching.map(pair, xs, batch_size=size)
    with pytest.raises(ValueError, match=r"map of pair \(.*\) at .* got batch_size=0\. Give 1 or more\."):
        mapped(inputs(3), 0)
    with pytest.raises(TypeError, match=r"batch_size is 2\.5\. Give an integer\."):
        mapped(inputs(3), 2.5)
    with pytest.raises(
        ValueError, match=r"leading axis of xs\['b'\] has size 4, but the leading axis of xs\['a'\] has size 3\. All"
    ):
        mapped({"a": np.ones((3, 3)), "b": np.ones(4)})
    with pytest.raises(TypeError, match=r"xs\['b'\] is a scalar, which has no axis to map\. Close over it\."):
        mapped({"a": np.ones((3, 3)), "b": 1.0})
    with pytest.raises(ValueError, match=r"got no inputs\. Give xs with at least one array\."):
        mapped({})
