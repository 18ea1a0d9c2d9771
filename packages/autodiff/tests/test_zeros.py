"""Programs with results that are zero: no program is traced twice for them."""

import numpy as np
import pytest

from calque_autodiff import grad, jvp, jvp_jaxpr, transpose_jaxpr
from calque_autodiff.programs import transpose as transpose_module
from calque_autodiff.programs.zeros import instantiate_results, with_zeros
from calque_core import check_jaxpr, eval_jaxpr, lax, make_jaxpr, typeof

F64 = typeof(1.0).to_tangent_aval()
ROW = typeof(np.ones(3))


def test_zeros_stand_for_none():
    jaxpr = make_jaxpr(lambda x: -x)(1.0)
    padded = with_zeros(jaxpr, [None, *jaxpr.outvars, None], [ROW, F64])
    check_jaxpr(padded)
    row, negative, zero = eval_jaxpr(padded, padded.consts, 2.0)
    assert (row.tolist(), negative, zero) == ([0.0] * 3, -2.0, 0.0)


def test_a_program_that_has_all_that_is_asked_for_is_given_back():
    derived = jvp_jaxpr(make_jaxpr(lambda x, y: (x * y, y))(1.0, 1.0), [True, False])
    assert derived[1] == [True, False]
    assert instantiate_results(derived, [True, False], [F64, F64]) is derived


def test_missing_results_are_zeros_in_their_places():
    jaxpr = make_jaxpr(lambda x, y: (y, x * y))(1.0, 1.0)
    dual, out_mask = jvp_jaxpr(jaxpr, [True, False], instantiate=True)
    assert out_mask == [True, True]
    assert eval_jaxpr(dual, dual.consts, 2.0, 3.0, 1.0) == [3.0, 6.0, 0.0, 3.0]
    assert jvp_jaxpr(jaxpr, [True, False], instantiate=True) is jvp_jaxpr(jaxpr, [True, False], instantiate=True)


def test_an_integer_has_a_zero_of_float0():
    dual, _ = jvp_jaxpr(make_jaxpr(lambda x: (x, 2))(1.0), [True], instantiate=True)
    assert [aval.dtype.name for aval in dual.out_avals] == ["float64", "int64", "float64", "void"]


@pytest.fixture
def passes(monkeypatch):
    """The programs that were traced backwards."""
    traced = []
    backward_pass = transpose_module.backward_pass
    monkeypatch.setattr(
        transpose_module, "backward_pass", lambda jaxpr, *args: traced.append(jaxpr) or backward_pass(jaxpr, *args)
    )
    return traced


def test_a_transpose_with_more_results_is_traced_once(passes):
    jaxpr = make_jaxpr(lambda x, y: 2.0 * x)(1.0, 1.0)
    plain, nonzero = transpose_jaxpr(jaxpr, [True, True])
    full, present = transpose_jaxpr(jaxpr, [True, True], instantiate=True)
    assert (nonzero, present, len(passes)) == ([True, False], [True, True], 1)
    assert (eval_jaxpr(plain, (), 3.0), eval_jaxpr(full, (), 3.0)) == ([6.0], [6.0, 0.0])


def test_each_branch_of_a_cond_is_traced_backwards_once(passes):
    branches = lambda p, x, y: lax.cond(p, lambda x, y: lax.sin(x), lambda x, y: lax.cos(y), x, y)
    assert grad(lambda x, y: branches(x < 3.0, x, y), (0, 1))(1.0, 2.0) == (np.cos(1.0), 0.0)
    passes.clear()
    make_jaxpr(grad(branches, (1, 2)))(True, 1.0, 2.0)
    assert len(passes) == len(set(map(id, passes))) >= 2


def test_the_body_of_a_scan_is_traced_backwards_once_per_mask(passes):
    """The second carry has a cotangent after the first step only, so there are two masks."""

    def f(x, y):
        return lax.scan(lambda c, _: ((c[0] * c[1], c[1]), None), (x, y), None, length=3)[0][0]

    assert grad(f, (0, 1))(2.0, 3.0) == (27.0, 54.0)
    assert jvp(f, (2.0, 3.0), (1.0, 1.0))[1] == 81.0
    assert len(passes) <= 2
