import numpy as np
import pytest

from calque_core import lax, make_jaxpr
from calque_harvest import nest, plant, reap, sow


def layer(x):
    return sow(np.sin(x), name="out") * 2.0


def test_a_scope_is_before_the_names_inside(inside):
    x = np.arange(3.0)
    for f in (nest(inside(layer), scope="a"), inside(nest(layer, scope="a"))):
        np.testing.assert_array_equal(reap(f)(x)["a/out"], np.sin(x))
        np.testing.assert_array_equal(plant(f)({"a/out": x}, x), 2.0 * x)


def test_scopes_nest(called):
    block = lambda x: nest(layer, scope="second")(nest(layer, scope="first")(x))
    reaps = reap(lambda x: nest(block, scope="b")(nest(lambda x: called(block, x), scope="a")(x)))(1.0)
    assert list(reaps) == ["a/first/out", "a/second/out", "b/first/out", "b/second/out"]


def test_a_program_is_renamed_for_each_scope():
    jaxpr = make_jaxpr(layer)(1.0)
    shared = lambda x: lax.jit_p.bind(x, jaxpr=jaxpr, name="layer", compiler=None)[0]
    reaps = reap(lambda x: nest(shared, scope="b")(nest(shared, scope="a")(x)))(1.0)
    assert list(reaps) == ["a/out", "b/out"]
    assert reaps["b/out"] == np.sin(2.0 * np.sin(1.0))


def test_without_a_harvest_the_function_runs_as_it_is():
    assert nest(layer, scope="a")(1.0) == layer(1.0)


def test_programs_without_names_stay_as_they_are(called):
    f = lambda x: called(np.sin, x)
    assert str(make_jaxpr(nest(f, scope="a"))(1.0)) == str(make_jaxpr(f)(1.0))


def test_a_scope_is_a_string():
    with pytest.raises(TypeError, match=r"nest got scope=3. Give a string"):
        nest(layer, scope=3)
