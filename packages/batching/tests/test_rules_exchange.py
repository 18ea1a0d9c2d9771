"""Exchanges between the elements of a mapped axis, against their definitions on the whole batch."""

from functools import partial

import numpy as np
import pytest

from calque_batching import vmap
from calque_core import ShapeError, lax, make_jaxpr

N = 4
SCALARS = np.arange(1.0, N + 1) ** 2
ROWS = np.arange(float(N * N)).reshape(N, N) ** 2
WIDE = np.arange(float(N * 2 * N * 3)).reshape(N, 2 * N, 3)
mapped = partial(vmap, axis_name="i")
PERM = [(0, 2), (1, 0), (3, 1)]


def one_after_the_other(tiles, axis):
    return np.concatenate(list(tiles), axis)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_all_gather_gives_every_element_the_values_of_all(axis):
    out = mapped(lambda x: lax.all_gather(x, "i", axis=axis))(ROWS)
    np.testing.assert_array_equal(out, np.stack([np.stack(list(ROWS), axis)] * N))


@pytest.mark.parametrize("axis", [0, 1])
def test_all_gather_joins_values_along_an_axis_of_theirs(axis):
    out = mapped(lambda x: lax.all_gather(x, "i", axis=axis, tiled=True), out_axes=None)(WIDE)
    np.testing.assert_array_equal(out, one_after_the_other(WIDE, axis))


def test_psum_scatter_gives_each_element_its_slice_of_the_sum():
    np.testing.assert_array_equal(mapped(lambda x: lax.psum_scatter(x, "i"))(ROWS), ROWS.sum(0))
    out = mapped(lambda x: lax.psum_scatter(x, "i", scatter_dimension=0, tiled=True))(WIDE)
    np.testing.assert_array_equal(out, WIDE.sum(0).reshape(N, 2, 3))
    out = mapped(lambda x: lax.psum_scatter(x, "i", scatter_dimension=-1))(WIDE[:, :, :1] * np.ones(N))
    np.testing.assert_array_equal(out, np.moveaxis((WIDE[:, :, :1] * np.ones(N)).sum(0), -1, 0))


@pytest.mark.parametrize(("split", "concat"), [(0, 0), (0, 1), (1, 0), (-1, -1)])
def test_all_to_all_swaps_the_element_with_a_slice(split, concat):
    x = np.arange(float(N**3)).reshape(N, N, N)
    out = mapped(lambda x: lax.all_to_all(x, "i", split, concat))(x)
    want = [np.stack([np.take(x[j], i, split) for j in range(N)], concat) for i in range(N)]
    np.testing.assert_array_equal(out, want)


@pytest.mark.parametrize(("split", "concat"), [(0, 0), (0, 1)])
def test_all_to_all_joins_sections(split, concat):
    out = mapped(lambda x: lax.all_to_all(x, "i", split, concat, tiled=True))(WIDE)
    want = [one_after_the_other([np.split(WIDE[j], N, split)[i] for j in range(N)], concat) for i in range(N)]
    np.testing.assert_array_equal(out, want)


def test_pswapaxes_of_a_square_is_its_transpose():
    np.testing.assert_array_equal(mapped(lambda x: lax.pswapaxes(x, "i", 0))(ROWS), ROWS.T)


def test_ppermute_sends_values_and_gives_zeros_to_all_others():
    np.testing.assert_array_equal(mapped(lambda x: lax.ppermute(x, "i", PERM))(SCALARS), [4.0, 16.0, 1.0, 0.0])
    np.testing.assert_array_equal(mapped(lambda x: lax.ppermute(x, "i", []))(SCALARS), np.zeros(N))
    np.testing.assert_array_equal(mapped(lambda x: lax.pshuffle(x, "i", [3, 0, 1, 2]))(ROWS), ROWS[[3, 0, 1, 2]])


def test_pbroadcast_gives_every_element_the_value_of_one():
    np.testing.assert_array_equal(mapped(lambda x: lax.pbroadcast(x, "i", 2), out_axes=None)(ROWS), ROWS[2])


EXCHANGES = {
    "all_gather": lambda x: lax.all_gather(x, "i"),
    "psum_scatter": lambda x: lax.psum_scatter(x, "i"),
    "all_to_all": lambda x: lax.all_to_all(x, "i", 0, 0),
    "ppermute": lambda x: lax.ppermute(x, "i", PERM),
    "pshuffle": lambda x: lax.pshuffle(x, "i", [3, 0, 1, 2]),
    "pbroadcast": lambda x: lax.pbroadcast(x, "i", 1),
}


@pytest.mark.parametrize("name", EXCHANGES)
@pytest.mark.parametrize("axis", [0, 1])
def test_an_unmapped_value_is_the_same_for_every_element(name, axis):
    alone = mapped(EXCHANGES[name], in_axes=axis)(np.broadcast_to(np.arange(4.0), (N, 4)).swapaxes(0, axis))
    shared = vmap(lambda _, x: EXCHANGES[name](x), in_axes=(0, None), axis_name="i")(np.ones(N), np.arange(4.0))
    np.testing.assert_array_equal(shared, alone)


@pytest.mark.parametrize("name", EXCHANGES)
@pytest.mark.parametrize("axes", [(0, 0), (1, 0), (0, 1), (2, 1)])
def test_the_axis_of_another_mapping_is_carried_along(name, axes):
    """Mapped over i inside and over j outside, and in the other order, as a loop over j does it."""
    inner, outer = axes
    x = np.arange(float(4**3)).reshape(4, 4, 4)
    within = vmap(mapped(EXCHANGES[name]), in_axes=outer, axis_name="j")(x)
    around = mapped(vmap(EXCHANGES[name], axis_name="j", in_axes=1), in_axes=inner)(x)
    loop = np.stack([mapped(EXCHANGES[name])(row) for row in np.moveaxis(x, outer, 0)])
    np.testing.assert_array_equal(within, loop)
    columns = np.moveaxis(np.moveaxis(x, inner, 0), 2, 0)
    np.testing.assert_array_equal(np.moveaxis(around, 1, 0), [mapped(EXCHANGES[name])(c) for c in columns])


PERMS_OF_6 = {
    "shift": [(k, (k + 1) % 6) for k in range(6)],
    "some": [(0, 5), (5, 3), (2, 2), (4, 0)],
    "reversed": [(k, 5 - k) for k in range(6)],
    "one": [(3, 1)],
    "none": [],
}


@pytest.mark.parametrize("perm", PERMS_OF_6.values(), ids=PERMS_OF_6)
@pytest.mark.parametrize("dtype", [float, bool])
def test_ppermute_along_several_names_sends_between_their_positions(perm, dtype):
    x = (np.arange(1.0, 25.0).reshape(2, 3, 4) % 5).astype(dtype)
    want = np.zeros((6, 4), dtype)
    for source, target in perm:
        want[target] = x.reshape(6, 4)[source]

    rows = lambda axes: vmap(vmap(lambda x: lax.ppermute(x, axes, perm), axis_name="j"), axis_name="i")
    inside = vmap(
        vmap(lambda x: lax.ppermute(x, ("i", "j"), perm), axis_name="i"), axis_name="j", in_axes=1, out_axes=1
    )
    np.testing.assert_array_equal(rows(("i", "j"))(x), want.reshape(2, 3, 4))
    np.testing.assert_array_equal(inside(x), want.reshape(2, 3, 4))
    by_columns = np.moveaxis(rows(("j", "i"))(np.moveaxis(x.reshape(3, 2, 4), 0, 1)), 0, 1)
    np.testing.assert_array_equal(by_columns, want.reshape(3, 2, 4))
    assert rows(("i", "j"))(x).dtype == x.dtype


def test_ppermute_of_an_unmapped_value_along_several_names():
    f = lambda _: lax.ppermute(2.0, ("i", "j"), [(0, 1), (1, 3)])
    out = vmap(vmap(f, axis_name="j"), axis_name="i")(np.ones((2, 2)))
    np.testing.assert_array_equal(out, [[0.0, 2.0], [0.0, 2.0]])


def test_rows_that_move_alike_along_the_other_names_are_sent_at_once():
    ring = [(k, (k + 1) % 32) for k in range(32)]
    f = vmap(lambda x: lax.ppermute(x, ("i", "j"), ring), axis_name="i")
    jaxpr = make_jaxpr(f, axis_env=[("j", 4)])(np.ones(8))
    assert [eqn.params["axes"] for eqn in jaxpr.eqns if eqn.primitive is lax.ppermute_p] == [("j",)] * 2


def test_several_names_are_one_axis_in_row_major_order():
    x = np.arange(24.0).reshape(2, 3, 4)
    both = lambda f: vmap(vmap(f, axis_name="j"), axis_name="i")
    flat = lambda f: vmap(f, axis_name="i")
    np.testing.assert_array_equal(both(lambda x: lax.all_gather(x, ("i", "j")))(x)[0, 0], x.reshape(6, 4))
    wide = np.arange(float(36 * 2)).reshape(2, 3, 12)
    for tiled in (lax.psum_scatter, partial(lax.all_to_all, split_axis=0, concat_axis=0)):
        out = both(lambda x: tiled(x, ("i", "j"), tiled=True))(wide)  # noqa: B023
        want = flat(lambda x: tiled(x, "i", tiled=True))(wide.reshape(6, 12))  # noqa: B023
        np.testing.assert_array_equal(out.reshape(want.shape), want)


@pytest.mark.parametrize("name", EXCHANGES)
@pytest.mark.parametrize("dtype", ["int8", "float16", "complex64"])
def test_staged_and_evaluated_exchanges_have_one_type(name, dtype):
    x = np.ones((N, N), dtype)
    (aval,) = make_jaxpr(mapped(EXCHANGES[name]))(x).out_avals
    out = mapped(EXCHANGES[name])(x)
    assert (aval.shape, aval.dtype) == (out.shape, out.dtype)


def test_trees_are_exchanged_leaf_by_leaf():
    out = mapped(lambda x: lax.pshuffle({"a": x, "b": [x + 1]}, "i", [1, 0, 3, 2]))(SCALARS)
    np.testing.assert_array_equal(out["b"][0], out["a"] + 1)


@pytest.mark.parametrize(
    ("fun", "kind", "words"),
    [
        (
            lambda x: lax.all_gather(x, "j"),
            NameError,
            r"unbound axis name: j\. all_gather at .* the bound names",
        ),
        (lambda x: lax.all_gather(x, "i", axis=3), ValueError, r"all_gather at .*: axis 3 is out of range for ndim 2"),
        (
            lambda x: lax.psum_scatter(x[:2], "i"),
            ShapeError,
            r"axis 0 has size 2, but there are 4 elements",
        ),
        (
            lambda x: lax.all_to_all(x[:2], "i", 0, 0),
            ShapeError,
            r"all_to_all of float64\[2\] at .*: axis 0 has s",
        ),
        (
            lambda x: lax.psum_scatter(x[:3], "i", tiled=True),
            ShapeError,
            r"axis 0 of size 3 does not divide",
        ),
        (lambda x: lax.psum_scatter(x > 0, "i"), TypeError, r"psum_scatter"),
        (
            lambda x: lax.ppermute(x, "i", [(0, 1), (2, 1)]),
            ValueError,
            r"ppermute at .*: perm is .*, for 4",
        ),
        (
            lambda x: lax.ppermute(x, "i", [(0, 4)]),
            ValueError,
            r"ppermute at .*: perm is \(\(0, 4\),\), for 4",
        ),
        (
            lambda x: lax.pshuffle(x, "i", [0, 1]),
            ValueError,
            r"pshuffle at .*: perm is \[0, 1\], for 4 elements",
        ),
        (lambda x: lax.pbroadcast(x, "i", 4), ValueError, r"pbroadcast at .*: source is 4, but there are 4 elements"),
    ],
)
def test_a_wrong_exchange_is_refused_with_the_numbers(fun, kind, words):
    with pytest.raises(kind, match=words):
        mapped(fun)(ROWS)
