"""Containers that `vmap` maps by functions of their author."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from calque_batching import register_vmappable, unregister_vmappable, vmap
from calque_core import eval_jaxpr, lax, make_jaxpr, typeof
from calque_core.config import enable_x64
from calque_pytree import default_registry


@dataclass
class Named:
    """An array whose axes have names."""

    names: tuple[str, ...]
    data: Any


@dataclass(frozen=True)
class Over:
    """The name of a mapped axis, and its position in a result."""

    name: str
    position: int = 0


def to_elt(cont, get_idx, x, spec):
    i = x.names.index(spec.name)
    return Named(x.names[:i] + x.names[i + 1 :], cont(x.data, i))


def from_elt(cont, axis_size, x, spec):
    names = (*x.names[: spec.position], spec.name, *x.names[spec.position :])
    return Named(names, cont(axis_size, x.data, spec.position))


@pytest.fixture(autouse=True)
def named():
    register_vmappable(Named, Over, int, to_elt, from_elt)
    yield
    unregister_vmappable(Named)


TABLE = Named(("i", "j"), np.arange(6.0).reshape(2, 3))
ROW = Named(("j",), np.array([1.0, 2.0, 3.0]))


def assert_named(x, names, data):
    assert (type(x), x.names) == (Named, names)
    np.testing.assert_array_equal(x.data, data)


def test_a_container_is_mapped_by_its_own_functions():
    seen = []

    def total(x):
        seen.append((x.names, typeof(x.data).shape))
        return x.data.sum()

    assert vmap(total, in_axes=Over("j"))(TABLE).tolist() == [3.0, 5.0, 7.0]
    assert vmap(total, in_axes=(Over("i"),))(TABLE).tolist() == [3.0, 12.0]
    assert seen == [(("i",), (2,)), (("j",), (3,))]


def test_a_result_is_put_together_by_its_own_functions():
    double = lambda x: Named(x.names, 2.0 * x.data)
    out = vmap(double, in_axes=Over("j"), out_axes=Over("j", 1))(TABLE)
    assert_named(out, ("i", "j"), 2.0 * TABLE.data)
    both = vmap(lambda x, y: (x.data * y, x), in_axes=(Over("j"), 0), out_axes=(0, Over("k")))(TABLE, ROW.data)
    np.testing.assert_array_equal(both[0], TABLE.data.T * ROW.data[:, None])
    assert_named(both[1], ("k", "i"), TABLE.data.T)


def test_containers_stand_anywhere_in_arguments_and_results():
    f = lambda p, s: {"out": [Named(p["x"].names, p["x"].data * s)]}
    in_axes = ({"x": Over("j"), "unused": None}, 0)
    out = vmap(f, in_axes, out_axes=Over("j"))({"x": TABLE, "unused": 3.0}, ROW.data)
    assert_named(out["out"][0], ("j", "i"), (TABLE.data * ROW.data).T)
    by_name = vmap(lambda x, s: x.data.sum() * s, in_axes={"x": Over("j")})(x=TABLE, s=ROW.data)
    np.testing.assert_array_equal(by_name, TABLE.data.sum(axis=0) * ROW.data)


def test_nested_vmaps_and_staging():
    f = vmap(lambda x: Named(x.names, lax.sin(x.data)), in_axes=Over("j"), out_axes=Over("j"))
    both = vmap(f, in_axes=Over("i"), out_axes=Over("i"))
    assert_named(both(TABLE), ("i", "j"), np.sin(TABLE.data))
    jaxpr = make_jaxpr(lambda data: both(Named(("i", "j"), data)).data)(TABLE.data)
    np.testing.assert_array_equal(eval_jaxpr(jaxpr, jaxpr.consts, TABLE.data)[0], np.sin(TABLE.data))


def test_a_container_that_is_not_mapped_is_the_same_for_every_element():
    f = vmap(lambda x, row: (row, x.data.sum()), in_axes=(Over("i"), None), out_axes=(None, 0))
    row, sums = f(TABLE, ROW)
    assert row is ROW
    assert sums.tolist() == [3.0, 12.0]
    repeated = vmap(lambda x: Named((), 1.0), in_axes=Over("i"), out_axes=Over("i"))(TABLE)
    assert_named(repeated, ("i",), np.ones(2))


def test_a_container_may_be_a_pytree_and_is_a_leaf_all_the_same():
    class Pair:
        def __init__(self, first, second):
            self.first, self.second = first, second

    default_registry.register_node(Pair, lambda p: ((p.first, p.second), None), lambda _, children: Pair(*children))
    register_vmappable(
        Pair,
        Over,
        int,
        lambda cont, get_idx, p, spec: Pair(cont(p.first, spec.position), cont(p.second, None)),
        lambda cont, size, p, spec: Pair(cont(size, p.first, spec.position), cont(size, p.second, None)),
    )
    try:
        out = vmap(lambda p: Pair(p.first * p.second, p.second), in_axes=Over("", 1), out_axes=Over("", 1))(
            Pair(np.ones((2, 3)), np.array([1.0, 2.0]))
        )
        np.testing.assert_array_equal(out.first, np.array([[1.0] * 3, [2.0] * 3]))
        assert out.second.tolist() == [1.0, 2.0]
        with pytest.raises(TypeError, match=r"in_axes has the entry 0 for p, a container of class Pair"):
            vmap(lambda p: p)(Pair(1.0, 2.0))
    finally:
        unregister_vmappable(Pair)


def test_containers_hold_containers():
    class Box:
        def __init__(self, content):
            self.content = content

    register_vmappable(
        Box,
        Over,
        int,
        lambda cont, get_idx, box, spec: Box(cont(box.content, spec)),
        lambda cont, size, box, spec: Box(cont(size, box.content, spec)),
    )
    try:
        double = lambda box: Box(Named(box.content.names, 2.0 * box.content.data))
        out = vmap(double, in_axes=Over("j"), out_axes=Over("j"))(Box(TABLE))
        assert_named(out.content, ("j", "i"), 2.0 * TABLE.data.T)
    finally:
        unregister_vmappable(Box)


def test_an_element_may_know_its_position():
    unregister_vmappable(Named)
    with_index = lambda cont, get_idx, x, spec: Named(x.names[1:], cont(x.data, 0) + get_idx())
    register_vmappable(Named, Over, int, with_index, from_elt, make_iota=lambda size: 10.0 * np.arange(size))
    np.testing.assert_array_equal(vmap(lambda x: x.data, in_axes=Over("j"))(ROW), [1.0, 12.0, 23.0])
    unregister_vmappable(Named)
    only_index = lambda cont, get_idx, x, spec: get_idx()
    register_vmappable(Named, Over, int, only_index, from_elt)
    assert vmap(lambda i: 2 * i, in_axes=Over("j"), axis_size=3)(ROW).tolist() == [0, 2, 4]
    with pytest.raises(ValueError, match=r"get_idx\(\) needs the size of the axis\. Give axis_size\."):
        vmap(lambda i: i, in_axes=Over("j"))(ROW)


def test_arrays_in_containers_take_the_dtypes_of_the_regime():
    with enable_x64(False):
        out = vmap(lambda x: Named(x.names, x.data * 2.0), in_axes=Over("j"), out_axes=Over("j"))(ROW)
    assert out.data.dtype == np.float32


def test_results_share_no_memory_with_arguments_or_with_one_another():
    out = vmap(lambda x: (x, x), in_axes=Over("i"), out_axes=Over("i"))(TABLE)
    for a, b in ((out[0], out[1]), (out[0], TABLE), (out[1], TABLE)):
        assert not np.shares_memory(a.data, b.data)


# Errors

MESSAGES = {
    "an int as entry": (
        lambda: vmap(lambda x: x)(TABLE),
        TypeError,
        "vmap of <lambda> (test_vmappable.py:",
        "): in_axes has the entry 0 for x, a container of class Named. Give an entry of class Over, or None.",
    ),
    "an int as entry of a result": (
        lambda: vmap(lambda x: {"y": x}, in_axes=Over("i"))(TABLE),
        TypeError,
        "vmap of <lambda>",
        "out_axes has the entry 0 for the output['y'], a container of class Named.",
    ),
    "None for a mapped result": (
        lambda: vmap(lambda x: x, in_axes=Over("i"), out_axes=None)(TABLE),
        ValueError,
        "vmap of <lambda>",
        "out_axes is None for the output, but it differs from element to element. Give it an entry of class Over.",
    ),
    "two sizes": (
        lambda: vmap(lambda x, y: 1.0, in_axes=(Over("i"), 0))(TABLE, np.ones(5)),
        ValueError,
        "vmap of <lambda>",
        "axis 0 of an array of type float64[2,3] in a container has size 2, but the mapped axis has size 5; all mapped",
    ),
    "an entry for an array": (
        lambda: vmap(lambda x: x, in_axes=(Over("i"),))(np.ones(3)),
        TypeError,
        "vmap of <lambda>",
        "in_axes has the entry Over(name='i', position=0) for x. Give an int or None.",
    ),
    "nothing mapped": (
        lambda: vmap(lambda x: x, in_axes=None)(TABLE),
        ValueError,
        "vmap of <lambda>",
        "no argument is mapped. Map one with in_axes, or give axis_size.",
    ),
    "no such axis in the result": (
        lambda: vmap(lambda x: x, in_axes=Over("i"), out_axes=Over("i", 7))(TABLE),
        ValueError,
        "vmap of <lambda>",
        "passed the axis 7 to cont for an array in the output, which has 2 axes with the mapped axis. Pass an int from",
    ),
}


@pytest.mark.parametrize(("run", "error", "start", "end"), MESSAGES.values(), ids=MESSAGES)
def test_a_wrong_call_is_refused_with_words(run, error, start, end):
    with pytest.raises(error, match=f"{re.escape(start)}.*{re.escape(end)}"):
        run()


@pytest.mark.parametrize(
    ("value", "axis", "error", "message"),
    [
        ("text", 0, TypeError, "passed 'text' of type str to cont. Pass arrays"),
        (np.ones(3), "i", TypeError, "passed the axis 'i' to cont. Pass an int or None."),
        (np.ones(3), np.True_, TypeError, "passed the axis np.True_ to cont. Pass an int or None."),
        (np.ones(3), 1, ValueError, "an array of type float64[3] in a container has no axis 1 to map. Pass None"),
    ],
)
def test_a_wrong_use_of_cont_is_refused_with_words(value, axis, error, message):
    unregister_vmappable(Named)
    register_vmappable(Named, Over, int, lambda cont, get_idx, x, spec: cont(value, axis), from_elt)
    with pytest.raises(error, match=re.escape(message)):
        vmap(lambda x: x, in_axes=Over("i"))(TABLE)


def test_a_container_without_mapped_arrays_needs_the_size_of_the_axis():
    unregister_vmappable(Named)
    register_vmappable(Named, Over, int, lambda cont, get_idx, x, spec: x, from_elt)
    with pytest.raises(ValueError, match=r"no argument is mapped\. Map one with in_axes, or give axis_size"):
        vmap(lambda x: 1.0, in_axes=Over("i"))(TABLE)
    assert vmap(lambda x: 1.0, in_axes=Over("i"), axis_size=2)(TABLE).tolist() == [1.0, 1.0]


def test_a_wrong_registration_is_refused():
    with pytest.raises(TypeError, match=r"data_type='Named'\. Give a class\."):
        register_vmappable("Named", Over, int, to_elt, from_elt)
    with pytest.raises(TypeError, match="axis sizes are ints"):
        register_vmappable(Over, Over, tuple, to_elt, from_elt)
    with pytest.raises(TypeError, match="register_vmappable got None"):
        register_vmappable(Over, Over, int, None, from_elt)
    with pytest.raises(ValueError, match=r"Named is registered already\. Call unregister_vmappable first\."):
        register_vmappable(Named, Over, int, to_elt, from_elt)
    with pytest.raises(ValueError, match="Over is not registered with register_vmappable"):
        unregister_vmappable(Over)


def doubled(cont, axis_size, x, spec):
    """Compute with the element, and with the array of all results."""
    whole = from_elt(cont, axis_size, Named(x.names, np.sin(x.data) * 2.0), spec)
    return Named(whole.names, whole.data + axis_size)


def test_the_function_of_results_may_compute():
    unregister_vmappable(Named)
    register_vmappable(Named, Over, int, to_elt, doubled)
    out = vmap(lambda x: Named(x.names, x.data * 3.0), in_axes=(Over("i"),), out_axes=Over("i", 1))(TABLE)
    assert_named(out, ("j", "i"), 2.0 * np.sin(3.0 * TABLE.data.T) + 2)


def test_the_function_of_results_may_compute_inside_of_another_map():
    unregister_vmappable(Named)
    register_vmappable(Named, Over, int, to_elt, doubled)

    def inner(scale):
        return vmap(lambda x: Named(x.names, x.data * scale), in_axes=(Over("i"),), out_axes=Over("i"))(TABLE).data

    scales = np.array([1.0, 3.0])
    np.testing.assert_allclose(vmap(inner)(scales), [2.0 * np.sin(s * TABLE.data) + 2 for s in scales])
    jaxpr = make_jaxpr(inner)(3.0)
    np.testing.assert_allclose(eval_jaxpr(jaxpr, jaxpr.consts, 3.0)[0], 2.0 * np.sin(3.0 * TABLE.data) + 2)
