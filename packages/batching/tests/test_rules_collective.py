import numpy as np
import pytest

from calque_batching import vmap
from calque_core import eval_jaxpr, lax, make_jaxpr

X = np.arange(6.0).reshape(2, 3) ** 2
NUMPY = {
    "psum": (lax.psum, np.sum),
    "pmean": (lax.pmean, np.mean),
    "pmax": (lax.pmax, np.max),
    "pmin": (lax.pmin, np.min),
}


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", NUMPY)
def test_a_reduction_over_the_axis_is_the_same_for_every_element(name, axis):
    collective, reduction = NUMPY[name]

    reduced = vmap(lambda x: collective(x, "i"), in_axes=axis, out_axes=None, axis_name="i")(X)
    repeated = vmap(lambda x: collective(x, "i"), in_axes=axis, axis_name="i")(X)

    np.testing.assert_allclose(reduced, reduction(X, axis))
    np.testing.assert_allclose(repeated, np.stack([reduction(X, axis)] * X.shape[axis]))


@pytest.mark.parametrize("name", NUMPY)
def test_a_reduction_of_an_unmapped_value_counts_every_element(name):
    collective, reduction = NUMPY[name]

    out = vmap(lambda x, y: collective(y, "i"), in_axes=(0, None), out_axes=None, axis_name="i")(X, 3.0)

    assert out == reduction([3.0, 3.0])


@pytest.mark.parametrize(("dtype", "total"), [("int8", -56), ("float32", 200.0), ("complex64", 200.0), ("uint8", 200)])
def test_a_constant_is_summed_in_its_own_dtype(dtype, total):
    out = vmap(lambda x: lax.psum(np.dtype(dtype).type(1), "i"), out_axes=None, axis_name="i")(np.zeros(200))

    assert out == total
    assert out.dtype == dtype


@pytest.mark.parametrize("name", NUMPY)
@pytest.mark.parametrize("dtype", ["int8", "uint64", "float16", "float32"])
def test_staged_and_evaluated_collectives_have_one_type(name, dtype):
    batched = vmap(lambda x: NUMPY[name][0](x, "i"), axis_name="i")
    x = np.ones((2, 3), dtype)

    jaxpr = make_jaxpr(batched)(x)

    out = batched(x)
    assert (jaxpr.out_avals[0].shape, jaxpr.out_avals[0].dtype) == (out.shape, out.dtype)
    assert not any(eqn.primitive.name.startswith("p") for eqn in jaxpr.eqns)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, x)[0], out)


def test_several_axes_are_reduced_together_and_one_by_one():
    def both(x):
        return lax.psum(x, ("i", "j")), lax.psum(x, "i"), lax.psum(x, "j"), lax.psum(lax.psum(x, "j"), "i")

    total, down, across, twice = vmap(vmap(both, axis_name="j"), axis_name="i")(X)

    np.testing.assert_array_equal(total, np.full_like(X, X.sum()))
    np.testing.assert_array_equal(down, np.broadcast_to(X.sum(0), X.shape))
    np.testing.assert_array_equal(across, np.broadcast_to(X.sum(1)[:, None], X.shape))
    np.testing.assert_array_equal(twice, total)


def test_an_outer_axis_is_reduced_where_the_operand_is_mapped_by_both():
    out = vmap(lambda row: vmap(lambda x: lax.psum(x, "i"))(row), axis_name="i")(X)

    np.testing.assert_array_equal(out, np.broadcast_to(X.sum(0), X.shape))


def test_an_outer_axis_is_reduced_where_only_the_inner_one_maps_the_operand():
    out = vmap(lambda _: vmap(lambda x: lax.psum(x, "i"))(np.arange(3.0)), axis_name="i")(np.zeros(2))

    np.testing.assert_array_equal(out, [[0.0, 2.0, 4.0]] * 2)


def test_of_two_axes_with_one_name_the_inner_one_counts():
    out = vmap(vmap(lambda x: (lax.psum(x, "i"), lax.axis_size("i")), axis_name="i", out_axes=None), axis_name="i")(
        np.ones((2, 3))
    )

    assert out[0].tolist() == [3.0, 3.0]
    assert out[1].tolist() == [3, 3]


def test_axis_index_counts_the_elements():
    assert vmap(lambda x: lax.axis_index("i"), axis_name="i")(np.zeros(3)).tolist() == [0, 1, 2]
    assert vmap(lambda x: lax.axis_index("i"), axis_name="i")(np.zeros(3)).dtype == np.int32


def test_axis_index_of_several_axes_is_in_row_major_order():
    out = vmap(vmap(lambda x: lax.axis_index(("i", "j")), axis_name="j"), axis_name="i")(X)

    assert out.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_axis_index_of_the_outer_axis_is_the_same_along_the_inner_one():
    out = vmap(vmap(lambda x: lax.axis_index("i"), axis_name="j", out_axes=None), axis_name="i")(X)

    assert out.tolist() == [0, 1]


def test_axis_size_is_known_while_tracing():
    out = vmap(lambda x: lax.add(x, np.ones(lax.axis_size("i"))), axis_name="i")(np.zeros(3))

    assert out.shape == (3, 3)


def test_names_are_any_hashable_values():
    assert vmap(lambda x: lax.psum(x, 0), axis_name=0)(np.arange(3.0)).tolist() == [3.0, 3.0, 3.0]


def test_an_axis_of_size_zero_gives_the_identities():
    out = vmap(lambda x: (lax.psum(x, "i"), lax.pmax(x, "i")), out_axes=None, axis_name="i")(np.zeros((0, 2)))

    assert [x.tolist() for x in out] == [[0.0, 0.0], [-np.inf, -np.inf]]


def test_a_normalisation_over_the_batch_reads_as_mathematics():
    def normalised(x):
        return lax.div(lax.sub(x, lax.pmean(x, "batch")), lax.sub(lax.pmax(x, "batch"), lax.pmin(x, "batch")))

    np.testing.assert_allclose(vmap(normalised, axis_name="batch")(X), (X - X.mean(0)) / (X.max(0) - X.min(0)))


def test_the_name_is_unbound_after_the_call_and_outside_of_it():
    vmap(lambda x: lax.psum(x, "i"), axis_name="i")(X)

    with pytest.raises(NameError, match=r"unbound axis name: i"):
        lax.psum(1.0, "i")
    with pytest.raises(NameError, match=r"unbound axis name: j. psum at test_rules_collective.*bound names are: 'i'"):
        vmap(lambda x: lax.psum(x, "j"), axis_name="i")(X)
