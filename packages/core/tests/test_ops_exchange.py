"""Exchanges over named axes, staged: their types, and the names that `make_jaxpr` binds."""

import numpy as np
import pytest

from calque_core import lax, make_jaxpr

ENV = [("i", 4), ("j", 2)]


@pytest.mark.parametrize(
    ("fun", "shape", "out"),
    [
        (lambda x: lax.all_gather(x, "i"), (3,), (4, 3)),
        (lambda x: lax.all_gather(x, ("i", "j"), axis=1), (3,), (3, 8)),
        (lambda x: lax.all_gather(x, ("i", "j"), axis=0, tiled=True), (3,), (24,)),
        (lambda x: lax.psum_scatter(x, "j"), (2, 3), (3,)),
        (lambda x: lax.psum_scatter(x, ("i", "j"), scatter_dimension=1, tiled=True), (3, 16), (3, 2)),
        (lambda x: lax.all_to_all(x, "i", 0, 1), (4, 3), (3, 4)),
        (lambda x: lax.all_to_all(x, "i", 0, 1, tiled=True), (8, 3), (2, 12)),
        (lambda x: lax.pswapaxes(x, "j", -1), (3, 2), (3, 2)),
        (lambda x: lax.ppermute(x, "i", [(0, 1)]), (3,), (3,)),
        (lambda x: lax.ppermute(x, ("i", "j"), [(0, 7), (7, 0)]), (3,), (3,)),
        (lambda x: lax.pshuffle(x, ("j", "i"), range(8)), (3,), (3,)),
        (lambda x: lax.ppermute(x, (), [(0, 0)]), (3,), (3,)),
        (lambda x: lax.pbroadcast(x, "j", 1), (3,), (3,)),
    ],
)
def test_an_exchange_has_the_shape_that_its_docstring_says(fun, shape, out):
    assert (
        make_jaxpr(fun, axis_env=ENV)(np.zeros(shape, np.float32)).out_avals[0].str_short()
        == f"f32[{','.join(map(str, out))}]"
    )


def test_make_jaxpr_binds_names_for_its_function_alone():
    jaxpr = make_jaxpr(lambda x: lax.psum(x, "i") * lax.axis_size("i"), axis_env=[("i", 3)])(2.0)
    assert "psum[axes=('i',)] a\n" in str(jaxpr)
    assert "mul b 3.0" in str(jaxpr)
    with pytest.raises(NameError, match="unbound axis name: i"):
        make_jaxpr(lambda x: lax.psum(x, "i"))(2.0)


@pytest.mark.parametrize(
    ("env", "kind"), [(3, TypeError), (["i"], TypeError), ([("i", 1.5)], TypeError), ([("i", -1)], ValueError)]
)
def test_an_axis_env_that_is_none_is_refused(env, kind):
    with pytest.raises(kind, match=r"make_jaxpr of <lambda> .*: axis_env "):
        make_jaxpr(lambda x: x, axis_env=env)


def test_a_permutation_of_several_axes_is_one_operation_on_their_positions():
    jaxpr = make_jaxpr(lambda x: lax.ppermute(x, ("i", "j"), [(0, 7)]), axis_env=ENV)(2.0)
    assert [eqn.primitive for eqn in jaxpr.eqns] == [lax.ppermute_p]
    assert "ppermute[axes=('i', 'j') perm=((0, 7),)] a" in str(jaxpr)
    with pytest.raises(ValueError, match=r"perm is \(\(0, 8\),\), for 8 elements\. Give pairs"):
        make_jaxpr(lambda x: lax.ppermute(x, ("i", "j"), [(0, 8)]), axis_env=ENV)(2.0)
    with pytest.raises(ValueError, match=r"pshuffle at .* perm is \[1, 0\], for 8 elements\."):
        make_jaxpr(lambda x: lax.pshuffle(x, ("i", "j"), [1, 0]), axis_env=ENV)(2.0)


def test_an_exchange_outside_of_a_mapping_is_refused():
    with pytest.raises(NameError, match=r"unbound axis name: i\. all_gather at test_ops_exchange\.py:\d+"):
        lax.all_gather(1.0, "i")
    with pytest.raises(NameError, match=r"unbound axis name: i\. ppermute at .* under vmap\(\.\.\., axis_name='i'\)"):
        lax.ppermute(1.0, "i", [])
