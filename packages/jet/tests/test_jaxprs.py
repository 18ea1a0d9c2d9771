from __future__ import annotations

import numpy as np

from calque_core import check_jaxpr, config, eval_jaxpr, lax, make_jaxpr
from calque_jet import jet, jet_jaxpr
from calque_jet.jaxprs import fill_zeros, masks_of, nonzeros, union_of_masks, with_zeros


def test_a_program_takes_and_gives_the_coefficients_that_are_not_zero():
    jaxpr = make_jaxpr(lambda x, y: (x * y, y))(1.0, 2.0)
    expanded, out_masks = jet_jaxpr(jaxpr, [(True, False), (False, False)])
    check_jaxpr(expanded)
    assert out_masks == [(True, False), (False, False)]
    assert eval_jaxpr(expanded, expanded.consts, 3.0, 2.0, 10.0) == [6.0, 2.0, 20.0]


def test_coefficients_that_are_asked_for_are_zeros_where_there_are_none():
    jaxpr = make_jaxpr(lambda x: (x, 1.0))(1.0)
    expanded, out_masks = jet_jaxpr(jaxpr, [(True, False)], instantiate=[(True, True), (False, True)])
    assert out_masks == [(True, True), (False, True)]
    assert eval_jaxpr(expanded, expanded.consts, 3.0, 5.0) == [3.0, 1.0, 5.0, 0.0, 0.0]


def test_a_program_of_coefficients_agrees_with_jet():
    f = lambda x: lax.exp(lax.sin(x))
    expanded, out_masks = jet_jaxpr(make_jaxpr(f)(0.5), [(True, False, True)])
    found = eval_jaxpr(expanded, expanded.consts, 0.5, 1.0, 0.25)
    value, (first, second, third) = jet(f, (0.5,), ([1.0, 0, 6 * 0.25],))
    assert out_masks == [(True, True, True)]
    np.testing.assert_allclose(found, [value, first, second / 2, third / 6])


def test_a_program_is_expanded_once_for_each_mask_and_setting():
    jaxpr = make_jaxpr(lax.sin)(np.float32(0.5))
    first = jet_jaxpr(jaxpr, [(True,)])[0]
    assert jet_jaxpr(jaxpr, [(True,)])[0] is first
    assert jet_jaxpr(jaxpr, [(True, False)])[0] is not first
    with config.enable_x64(False):
        assert jet_jaxpr(jaxpr, [(True,)])[0] is not first


def test_masks_part_series_and_put_them_together():
    series = [[1.0, None], [None, 2.0]]
    assert masks_of(series) == [(True, False), (False, True)]
    assert nonzeros(series) == [1.0, 2.0]
    assert with_zeros([1.0, 2.0], masks_of(series)) == series
    assert union_of_masks([[(True, False)], [(False, False)]]) == [(True, False)]
    assert fill_zeros(3.0, [None, None, 4.0], (True, False, False)) == [0.0, None, 4.0]
