"""Batches of sharded programs: one equation, whose batch axis no position divides."""

import numpy as np
import pytest

from calque_batching import vmap
from calque_core import AbstractMesh, lax, make_jaxpr, shard_map
from calque_core import PartitionSpec as P
from calque_core.lax import pvary_p, shard_map_p, sharding_constraint_p

MESH = AbstractMesh((4,), ("i",))
ROWS, ALL = P("i"), P()
X = np.arange(24.0).reshape(3, 8)


def over(body, in_specs=ROWS, out_specs=ROWS, **options):
    return shard_map(body, mesh=MESH, in_specs=in_specs, out_specs=out_specs, **options)


def one_call(fun, *args):
    """Return the only equation of `shard_map` in the program of a function."""
    (eqn,) = [eqn for eqn in make_jaxpr(fun)(*args).eqns if eqn.primitive is shard_map_p]
    return eqn


@pytest.mark.parametrize(("axis", "specs"), [(0, P(None, "i")), (1, P("i", None))])
def test_the_batch_axis_is_not_divided(axis, specs):
    f = over(lambda x: x * lax.psum(x, "i"))
    x = np.moveaxis(X, 0, axis)

    batched = vmap(f, in_axes=axis, out_axes=axis)

    np.testing.assert_array_equal(batched(x), np.stack([f(row) for row in X], axis))
    assert one_call(batched, x).params["in_specs"] == (specs,)


def test_a_batch_axis_behind_the_spec_needs_entries_before_it():
    x = np.moveaxis(np.arange(48.0).reshape(3, 8, 2), 0, 2)
    batched = vmap(over(lambda x: x + 1.0), in_axes=2, out_axes=2)
    assert one_call(batched, x).params["in_specs"] == (P("i", None, None),)
    np.testing.assert_array_equal(batched(x), x + 1.0)


def test_a_result_of_unmapped_operands_stays_unmapped():
    f = over(lambda w, x: (lax.sin(w), w * x), (ALL, ROWS), (ALL, ROWS))
    outs = vmap(f, in_axes=(None, 0), out_axes=(None, 0))(2.0, X)
    np.testing.assert_array_equal(outs[1], 2.0 * X)
    assert outs[0] == np.sin(2.0)


def test_the_body_may_name_the_axis_of_the_batch():
    f = over(lambda x: lax.psum(x, ("i", "batch")))
    np.testing.assert_array_equal(
        vmap(f, axis_name="batch", out_axes=None)(X), np.tile(X.reshape(3, 4, 2).sum((0, 1)), 4)
    )


def test_in_the_body_the_inner_of_two_axes_with_one_name_counts():
    f = over(lambda x: lax.psum(x, "i"), out_specs=ALL)
    np.testing.assert_array_equal(vmap(f)(X), X.reshape(3, 4, 2).sum(1))
    with pytest.raises(ValueError, match="'i'"):
        vmap(f, axis_name="i")(X)


def test_a_batch_inside_the_body_may_name_its_axis():
    body = lambda x: vmap(lambda y: lax.psum(y, ("i", "row")), axis_name="row", out_axes=None)(x)
    x = np.arange(32.0).reshape(8, 4)
    np.testing.assert_array_equal(over(body, out_specs=ALL)(x), x.sum(0))


def test_variation_has_nothing_to_do_with_the_batch():
    def body(x):
        return vmap(lambda y: pvary_p.bind(y, axes=("i",)))(x)

    np.testing.assert_array_equal(over(body, ALL, ROWS)(X), np.tile(X, (4, 1)))


def test_the_compiler_may_divide_the_batch_axis_of_a_constraint():
    f = lambda x: sharding_constraint_p.bind(x, mesh=MESH, spec=ROWS)
    (eqn,) = make_jaxpr(vmap(f))(X).eqns
    assert eqn.params["spec"] == P(P.UNCONSTRAINED, "i")
    np.testing.assert_array_equal(vmap(f)(X), X)


def test_the_name_of_an_axis_of_the_mesh_is_refused_in_the_body():
    body = lambda x: vmap(lambda y: lax.psum(y, "i"), axis_name="i")(x)
    words = r"^vmap of <lambda> .*: the axis 'i' has a meaning here already, from an outer shard_map\. Use another"
    with pytest.raises(ValueError, match=words):
        over(body)(X[0])
