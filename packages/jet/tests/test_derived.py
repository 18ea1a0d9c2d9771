"""Primitives that are declared linear, bilinear or constant, and need no Taylor rule."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import Primitive, lax, make_jaxpr
from calque_core.kits.matrix import standard_primitives
from calque_jet import jet


def taylor(f, x, order):
    """Return f(x) and its derivatives by jet."""
    out, series = jet(f, (x,), ([1.0] + [0] * (order - 1),))
    return [out, *series]


def declared(name, linearity, impl, num_results=None):
    primitive = Primitive(name, multiple_results=num_results is not None, linearity=linearity)
    primitive.def_impl(impl)
    types = lambda *avals: max(avals, key=lambda aval: aval.ndim).strip_weak_type()
    primitive.def_abstract_eval(types if num_results is None else lambda *avals: [types(*avals)] * num_results)
    return primitive


def test_a_linear_primitive_needs_no_rule():
    primitive = declared("mirror", "linear", np.flip)
    x = np.arange(3.0)
    out, series = jet(lambda x: primitive.bind(x * x), (x,), ([np.ones(3), 0, 0],))
    np.testing.assert_array_equal([out, *series], [[4, 1, 0], [4, 2, 0], [2, 2, 2], [0, 0, 0]])
    names = [e.primitive.name for e in make_jaxpr(lambda x: jet(primitive.bind, (x,), ([x, 0, x],)))(x).eqns]
    assert names.count("mirror") == 3


def test_an_integer_operand_of_a_linear_primitive_is_a_parameter():
    primitive = declared("rolled", "linear", lambda x, count: np.roll(x, count))
    _, series = jet(lambda x: primitive.bind(x, 1), (np.arange(3.0),), ([np.array([1.0, 2.0, 3.0])],))
    np.testing.assert_array_equal(series, [[3.0, 1.0, 2.0]])


def test_a_linear_primitive_of_several_results_needs_no_rule():
    primitive = declared("both_ways", "linear", lambda x: [x, np.flip(x)], num_results=2)
    (_, flipped), (_, flipped_series) = jet(lambda x: primitive.bind(x * x), (np.arange(3.0),), ([np.ones(3), 0],))
    np.testing.assert_array_equal([flipped, *flipped_series], [[4, 1, 0], [4, 2, 0], [2, 2, 2]])


def test_a_bilinear_primitive_needs_no_rule():
    primitive = declared("product", "bilinear", np.multiply)
    f = lambda x: primitive.bind(lax.sin(x), lax.exp(x))
    np.testing.assert_allclose(taylor(f, 0.4, 5), taylor(lambda x: lax.sin(x) * lax.exp(x), 0.4, 5), rtol=1e-14)


def test_a_constant_primitive_needs_no_rule():
    primitive = declared("step", "constant", np.sign)
    assert [float(d) for d in taylor(lambda x: primitive.bind(x) * x, 0.4, 2)] == [0.4, 1.0, 0.0]


def test_a_rule_of_its_own_goes_before_what_a_primitive_is_declared_to_be():
    primitive = declared("opaque", "constant", np.add)
    primitive.def_rule("jet", lambda primals, series: (primals[0], [c if c is None else 2.0 * c for c in series[0]]))
    assert [float(d) for d in taylor(primitive.bind, 0.4, 2)] == [0.4, 2.0, 0.0]


@pytest.mark.parametrize("primitive", [p for p in standard_primitives() if p.linearity is not None], ids=str)
def test_a_primitive_of_core_has_a_declaration_or_a_rule_and_not_both(primitive):
    assert "jet" not in primitive.rules
