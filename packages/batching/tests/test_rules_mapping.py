"""Batches of functions made of scans and branches: `map`, `associative_scan`, `switch`."""

import numpy as np
import pytest

from calque_batching import vmap
from calque_core import lax, make_jaxpr
from calque_core.lax import associative_scan, cond_p, switch

BRANCHES = [lambda x, y: (x + y, 1.0), lambda x, y: (x * y, 2.0), lambda x, y: (y, 3.0)]


def test_map_maps(check_batching):
    check_batching(lambda xs, y: lax.map(lambda x: (x * y, y), xs), [(3,), ()], ["float64", "float64"])
    check_batching(lambda xs: lax.map(lambda x: (lax.reduce_sum(x), x), xs), [(2, 3)], ["int32"])


def test_a_map_that_no_mapped_value_reaches_stays_unmapped():
    out = vmap(lambda x: (lax.map(lax.square, np.arange(3.0)), x), out_axes=(None, 0))(np.ones(2))

    assert out[0].tolist() == [0.0, 1.0, 4.0]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_associative_scan_maps(length, reverse, check_batching):
    check_batching(lambda xs: [associative_scan(lax.add, xs, reverse)], [(length,)], ["int64"])


def test_associative_scan_of_matrices_maps(check_batching):
    def product(a, b):
        return lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,))))

    check_batching(lambda xs: [associative_scan(product, xs)], [(4, 2, 2)], ["float64"])
    check_batching(lambda xs: [associative_scan(lax.max, xs, axis=1)], [(2, 3)], ["float64"])


@pytest.mark.parametrize("batched", ["select", "skip", "map"])
def test_switch_maps_with_indices_out_of_range(batched, check_batching):
    def fun(index, x, y):
        return switch(index, BRANCHES, x, y, batched=batched)

    check_batching(fun, [(), (2,), (2,)], ["int64", "float64", "float64"])
    check_batching(fun, [(), (), ()], ["uint8", "float64", "float64"])


def test_switch_with_an_unmapped_index_stays_one_cond():
    jaxpr = make_jaxpr(vmap(lambda i, x: switch(i, BRANCHES, x, 2.0), (None, 0)))(1, np.ones(3))

    [eqn] = [eqn for eqn in jaxpr.eqns if eqn.primitive is cond_p]
    assert len(eqn.params["branches"]) == 3
    assert [aval.shape for aval in jaxpr.out_avals] == [(3,), (3,)]


def test_switch_in_nested_batches_agrees_with_loops():
    """https://github.com/jax-ml/jax/issues/2264: results of branches that are mapped by different axes."""
    index, xs, ys = np.array([-1, 1, 2]), np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])

    out, _ = vmap(vmap(lambda i, x, y: switch(i, BRANCHES, x, y), (None, 0, None)), (0, None, 0))(index, xs, ys)

    assert out.tolist() == [[BRANCHES[max(i, 0)](x, y)[0] for x in xs] for i, y in zip(index, ys)]


def test_results_of_a_branch_of_switch_for_other_elements_are_discarded():
    """https://github.com/jax-ml/jax/issues/9159, of integers: division by a zero that another branch takes care of."""
    fun = vmap(lambda d: switch(lax.convert_element_type(d != 0, np.int32), [lambda: 0, lambda: lax.div(12, d)]))

    assert fun(np.array([0, 3, 4])).tolist() == [0, 4, 3]
