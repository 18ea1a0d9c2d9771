"""Batches of sharded programs: one equation, whose batch axis no position divides."""

import numpy as np
import pytest

from calque_batching import vmap
from calque_core import AbstractMesh, ShapeError, lax, make_jaxpr, shard_map
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


# Mesh axes that divide the batch axis

GRID = AbstractMesh((2, 4), ("b", "i"))


def on_grid(body, in_specs=ROWS, out_specs=ROWS, **options):
    return shard_map(body, mesh=GRID, in_specs=in_specs, out_specs=out_specs, **options)


@pytest.mark.parametrize(("name", "entry"), [("b", "b"), (("b", "c"), ("b", "c"))])
def test_a_constraint_divides_the_batch_axis_by_the_mesh_axes_of_the_map(name, entry):
    mesh = AbstractMesh((2, 4, 2), ("b", "i", "c"))
    f = lambda x: sharding_constraint_p.bind(x, mesh=mesh, spec=ROWS)
    x = np.ones((4, 8))
    for mapped in (vmap(f, spmd_axis_name=name), vmap(f, in_axes=1, out_axes=1, spmd_axis_name=name)):
        (eqn,) = make_jaxpr(mapped)(x).eqns
        assert sorted(map(repr, eqn.params["spec"])) == sorted(map(repr, (entry, "i")))
    np.testing.assert_array_equal(vmap(f, spmd_axis_name=name)(x), x)


def test_nested_maps_divide_their_axes_inside_loops_too():
    constrained = lambda x: sharding_constraint_p.bind(x, mesh=GRID, spec=ALL)
    f = lambda x: lax.fori_loop(0, 3, lambda _, y: constrained(y) * 2.0, x)
    nested = vmap(vmap(f, spmd_axis_name="i"), spmd_axis_name="b")
    assert "PartitionSpec('b', 'i')" in str(make_jaxpr(nested)(np.ones((2, 4))))
    np.testing.assert_array_equal(nested(np.ones((2, 4))), np.full((2, 4), 8.0))


@pytest.mark.parametrize("check_vma", [True, False])
@pytest.mark.parametrize(("axis", "specs"), [(0, P("b", "i")), (1, P("i", "b"))])
def test_each_position_of_the_mesh_axis_runs_a_part_of_the_batch(axis, specs, check_vma):
    shapes = []

    def body(x, w):
        shapes.append(x.shape)
        return x * lax.psum(x, "i") + w, 2.0 * w

    f = on_grid(body, (ROWS, ALL), (ROWS, ALL), check_vma=check_vma)
    x = np.moveaxis(np.arange(32.0).reshape(4, 8), 0, axis)
    mapped = vmap(f, in_axes=(axis, None), out_axes=(axis, None), spmd_axis_name="b")

    whole, shared = mapped(x, 1.0)

    np.testing.assert_array_equal(whole, vmap(f, (axis, None), (axis, None))(x, 1.0)[0])
    assert shared == 2.0
    eqn = one_call(mapped, x, 1.0)
    assert (eqn.params["in_specs"], eqn.params["out_specs"]) == ((specs, ALL), (specs, ALL))
    assert {v.aval.shape for v in eqn.params["jaxpr"].invars} == {(2, 2), ()}


def test_a_mesh_axis_that_the_shard_map_leaves_to_the_compiler_divides_nothing_in_it():
    f = on_grid(lambda x: x + 1.0, axis_names={"i"})
    assert one_call(vmap(f, spmd_axis_name="b"), np.ones((4, 8))).params["in_specs"] == (P(None, "i"),)


def test_a_mesh_axis_that_the_function_uses_is_refused():
    x = np.ones((4, 8))
    constrained = lambda x: sharding_constraint_p.bind(x, mesh=GRID, spec=P("b"))
    words = r"vmap at .* divides its axis by spmd_axis_name='b', but a {} in it has PartitionSpec\('b'\)\. Use another"
    with pytest.raises(ValueError, match=words.format("sharding_constraint")):
        vmap(constrained, spmd_axis_name="b")(x)
    with pytest.raises(ValueError, match=words.format("shard_map")):
        vmap(on_grid(lambda x: x, P("b"), P("b")), spmd_axis_name="b")(x)
    words = r"spmd_axis_name=\('b',\), but the function of a shard_map in it names the axis '{}'\. Use other"
    with pytest.raises(ValueError, match=words.format("b")):
        vmap(on_grid(lambda x: lax.psum(x, "b")), spmd_axis_name="b")(x)
    with pytest.raises(ValueError, match=words.format("row")):
        vmap(on_grid(lambda x: lax.psum(x, "row")), spmd_axis_name="b", axis_name="row")(x)


def test_a_batch_that_does_not_divide_is_refused():
    words = r"divides its axis of size 3 by spmd_axis_name=\('b',\) into 2 parts of one size\. Pad the batch"
    with pytest.raises(ShapeError, match=words):
        vmap(on_grid(lambda x: x), spmd_axis_name="b")(X)
    with pytest.raises(
        TypeError, match=r"vmap of .* got spmd_axis_name=\[\['b'\]\]\. Give a name, or a tuple of names"
    ):
        vmap(lax.sin, spmd_axis_name=[["b"]])
