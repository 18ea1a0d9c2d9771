"""`vmap` with a `batch_size`: the same results as without, piece by piece."""

from __future__ import annotations

import numpy as np
import pytest

from calque_batching import register_vmappable, unregister_vmappable, vmap
from calque_core import lax, make_jaxpr, typeof
from calque_core.lax import scan_p

SIZES = [1, 2, 5, 6, 7, 8, 100]
LENGTHS = [0, 1, 6, 7]


def terms(x, scale, table):
    """Return results of several dtypes and shapes, one of which is the same for every element."""
    return {"product": x * scale, "sum": lax.reduce_sum(x) > 1.0, "pair": (2 * table["n"], 1.0 + 0 * table["n"])}, scale


def assert_same(found, expected):
    for x, y in zip(found, expected):
        assert (typeof(x).dtype, typeof(x).shape) == (typeof(y).dtype, typeof(y).shape)
        np.testing.assert_allclose(x, y, 1e-15)


def leaves(out):
    terms, scale = out
    return [terms["product"], terms["sum"], *terms["pair"], scale]


@pytest.mark.parametrize("batch_size", SIZES)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("in_axis", [0, 1, -1])
@pytest.mark.parametrize("out_axis", [0, 1, -1])
def test_results_are_those_of_the_whole_batch(batch_size, length, in_axis, out_axis):
    x = np.moveaxis(np.linspace(-1.0, 2.0, 3 * length).reshape(length, 3), 0, in_axis)
    args = x, 2.5, {"n": np.arange(length)}
    out_axes = {"product": out_axis, "sum": 0, "pair": 0}, None
    plain, pieces = (
        vmap(terms, in_axes=(in_axis, None, 0), out_axes=out_axes, **options)
        for options in ({}, {"batch_size": batch_size})
    )
    assert_same(leaves(pieces(*args)), leaves(plain(*args)))


def scans(fun, *args):
    return [eqn.params["length"] for eqn in make_jaxpr(fun)(*args).eqns if eqn.primitive is scan_p]


@pytest.mark.parametrize(("length", "steps"), [(0, []), (3, []), (4, [1]), (7, [2])])
def test_pieces_are_the_steps_of_a_scan(length, steps):
    assert scans(vmap(lax.sin, batch_size=3), np.ones(length)) == steps


def test_an_argument_that_is_not_mapped_may_be_any_value():
    mapped = vmap(lambda fun, x: fun(x), in_axes=(None, 0), batch_size=2)
    np.testing.assert_array_equal(mapped(lax.neg, np.arange(5.0)), -np.arange(5.0))


def test_keyword_arguments_and_axes_by_name_are_divided():
    mapped = vmap(lambda x, y: x * y, in_axes={"x": 1}, batch_size=2)
    np.testing.assert_array_equal(mapped(np.ones((2, 3)), y=np.arange(3.0)), np.arange(3.0)[:, None] * np.ones(2))


def test_a_function_of_no_mapped_argument_is_computed_once():
    mapped = vmap(lambda x: 2.0 * x, in_axes=None, axis_size=5, batch_size=2)
    assert scans(mapped, 1.0) == []
    np.testing.assert_array_equal(mapped(1.0), np.full(5, 2.0))


def test_maps_in_pieces_are_nested():
    table = vmap(vmap(lambda x, y: x - y, (None, 0), batch_size=2), (0, None), batch_size=3)
    x = np.arange(7.0)
    np.testing.assert_array_equal(table(x, x), x[:, None] - x)


def test_an_axis_name_beside_a_batch_size_is_refused():
    message = (
        r"vmap of sin.* got batch_size=2 beside axis_name='i', but a collective over it would see one piece of it\. "
        r"Leave one of them out\."
    )
    with pytest.raises(ValueError, match=message):
        vmap(lax.sin, axis_name="i", batch_size=2)


def test_a_wrong_batch_size_is_refused():
    with pytest.raises(ValueError, match=r"vmap of sin.* got batch_size=0\. Give 1 or more\."):
        vmap(lax.sin, batch_size=0)
    with pytest.raises(TypeError, match=r"batch_size is 2\.5\. Give an integer\."):
        vmap(lax.sin, batch_size=2.5)


def test_a_result_that_differs_is_refused_by_its_out_axes():
    with pytest.raises(
        ValueError, match=r"vmap of sin.*: out_axes is None for the output, but it differs from element"
    ):
        vmap(lax.sin, out_axes=None, batch_size=2)(np.ones(5))


class Boxed:
    def __init__(self, data):
        self.data = data


class Spec:
    pass


def test_a_container_with_axes_of_its_own_is_refused():
    register_vmappable(Boxed, Spec, int, lambda cont, *_: cont, lambda cont, *_: cont)
    try:
        message = (
            r"vmap of .*: batch_size divides arrays, but x is a Boxed, whose class was given to register_vmappable"
        )
        with pytest.raises(TypeError, match=message):
            vmap(lambda x, y: y, in_axes=(Spec(), 0), batch_size=2)(Boxed(np.ones(5)), np.ones(5))
    finally:
        unregister_vmappable(Boxed)
