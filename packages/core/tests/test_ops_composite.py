"""`composite`: a program with a name, which means its equations."""

from __future__ import annotations

import numpy as np
import pytest

from calque_core import check_jaxpr, config, eval_jaxpr, interpret, lax, make_jaxpr
from calque_core.lax import composite, composite_p


def scaled(x, y, *, factor=1.0, note=None):
    """Return two numbers."""
    return {"sum": lax.add(x["a"], y), "product": lax.mul(x["a"], factor)}


NAMED = composite(scaled, "my.scaled", version=3)


def test_a_composite_computes_its_decomposition():
    want = {"sum": 3.0, "product": 2.5}
    assert NAMED({"a": 1.0}, 2.0, factor=2.5) == want
    with config.disable_jit(True):
        assert NAMED({"a": 1.0}, 2.0, factor=2.5) == want
    assert (NAMED.__name__, NAMED.__doc__) == ("scaled", scaled.__doc__)


def test_it_is_one_equation_with_a_name_and_attributes():
    jaxpr = make_jaxpr(lambda x, y: NAMED({"a": x}, y, factor=2, note=None))(1.0, 2.0)
    check_jaxpr(jaxpr)
    (eqn,) = jaxpr.eqns
    assert eqn.primitive is composite_p
    assert {name: value for name, value in eqn.params.items() if name != "jaxpr"} == {
        "name": "my.scaled",
        "attributes": (("factor", 2),),
        "version": 3,
    }
    assert eval_jaxpr(jaxpr, (), 1.0, 2.0) == [2.0, 3.0]


def test_an_interpreter_sees_the_equations_inside():
    jaxpr = make_jaxpr(composite(lax.sin, "my.sine"))(0.5)
    assert interpret(jaxpr, {lax.sin_p: lax.cos}, 0.5) == [np.cos(0.5)]


def test_a_decomposition_may_close_over_arrays_and_tracers():
    shift = np.arange(3.0)
    jaxpr = make_jaxpr(lambda x, y: composite(lambda x: x + y + shift, "my.shift")(x))(1.0, 2.0)
    check_jaxpr(jaxpr)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, 1.0, 2.0)[0], 3.0 + shift)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: composite(3, "name"), r"composite got 3 of type int at .*\. Give a function\."),
        (lambda: composite(scaled, 3), r"composite at .*: the name is 3\. Give a string\."),
        (lambda: composite(scaled, "name", 1.5), r"composite at .*: version is 1\.5\. Give an integer\."),
        (lambda: NAMED({"a": "text"}, 1.0), r"composite my\.scaled at .*: x\['a'\] is 'text' of type str"),
        (
            lambda: NAMED({"a": 1.0}, 1.0, factor=np.ones(2)),
            r"composite my\.scaled at .* got factor=array\(\[1\., 1\.\]\), which is no attribute\. Give a bool",
        ),
    ],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(TypeError, match=words):
        call()
