import functools
import operator
from typing import NamedTuple

import numpy as np
import pytest

from calque_batching import vmap
from calque_core import lax, make_jaxpr
from calque_core.config import enable_x64
from calque_pytree import register_pytree_node_class, tree_leaves

ROWS = np.arange(6.0).reshape(2, 3)


class Point(NamedTuple):
    x: object
    y: object


def weighted(x, y, *, scale=1.0):
    return lax.mul(lax.add(x, y), scale)


# Which axes are mapped


@pytest.mark.parametrize(("in_axes", "expected"), [(0, [3.0, 12.0]), (1, [3.0, 5.0, 7.0]), (-1, [3.0, 5.0, 7.0])])
def test_an_int_maps_that_axis_of_every_argument(in_axes, expected):
    assert vmap(lax.reduce_sum, in_axes)(ROWS).tolist() == expected
    assert vmap(lax.reduce_sum, (in_axes,))(ROWS).tolist() == expected
    assert vmap(lax.reduce_sum, [in_axes])(ROWS).tolist() == expected


def test_operands_with_batch_axes_at_different_places_are_brought_together():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(3, 2)

    np.testing.assert_array_equal(vmap(lax.add, (0, 1))(a, b), a + b.T)


def test_none_is_for_an_argument_that_is_the_same_for_every_element():
    np.testing.assert_array_equal(vmap(weighted, (0, None))(ROWS, np.ones(3)), ROWS + 1)
    np.testing.assert_array_equal(vmap(weighted, (None, 1))(np.ones(2), ROWS), ROWS.T + 1)


def test_an_entry_may_be_a_prefix_of_its_argument():
    tree = {"w": ROWS, "b": (np.array([10.0, 20.0]), 7.0)}

    def total(params, x):
        w, (b, c) = params["w"], params["b"]
        return lax.add(lax.add(lax.reduce_sum(lax.mul(w, x)), b), c)

    out = vmap(total, in_axes=({"w": 0, "b": (0, None)}, None))(tree, np.ones(3))

    assert out.tolist() == [20.0, 39.0]


def test_one_entry_serves_a_whole_argument():
    out = vmap(lambda tree, x: lax.add(tree["a"], lax.mul(tree["b"][0], x)), in_axes=(None, 0))(
        {"a": 1.0, "b": [2.0]}, np.arange(3.0)
    )

    assert out.tolist() == [1.0, 3.0, 5.0]


def test_keyword_arguments_are_mapped_over_axis_0():
    out = vmap(weighted, in_axes=(0, None))(np.arange(2.0), 1.0, scale=np.array([1.0, 10.0]))

    assert out.tolist() == [1.0, 20.0]


def test_a_dict_says_the_axes_by_name_of_positional_and_keyword_arguments():
    scale = np.array([[1.0, 2.0, 3.0]])

    out = vmap(weighted, in_axes={"y": None, "scale": 1})(ROWS.T, np.ones(2), scale=scale)

    np.testing.assert_array_equal(out, (ROWS.T + 1) * scale.T)


def test_a_dict_entry_may_be_a_prefix():
    out = vmap(lambda p: lax.add(p["a"], p["b"]), in_axes={"p": {"a": 0, "b": None}})({"a": np.arange(2.0), "b": 5.0})

    assert out.tolist() == [5.0, 6.0]


def test_an_argument_that_is_none_has_no_axes():
    assert vmap(lambda x, nothing: x, in_axes=(0, None))(np.arange(2.0), None).tolist() == [0.0, 1.0]
    assert vmap(lambda x, nothing: x)(np.arange(2.0), None).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    "value", ["ab", len, {"mode": "a", "f": len}, np.array(["a"]), object()], ids=lambda x: type(x).__name__
)
@pytest.mark.parametrize("in_axes", [(0, None), {"value": None}])
def test_an_argument_that_is_not_mapped_may_be_any_value(value, in_axes):
    seen = []
    mapped = vmap(lambda x, value: seen.append(value) or lax.neg(x), in_axes)

    for function in (mapped, lambda x, value: vmap(lambda x: mapped(x, value))(np.stack([x, x]))[0]):
        assert function(np.arange(2.0), value).tolist() == [0.0, -1.0]

    assert [type(x) for x in seen] == [type(value)] * 2
    assert all(map(is_same, seen, [value] * 2))


def is_same(x, y):
    return all(map(operator.is_, tree_leaves(x), tree_leaves(y)))


def test_in_32_bits_an_unmapped_array_is_narrow_beside_other_values():
    with enable_x64(False):
        out = vmap(lambda x, params: params["scale"], in_axes=(0, None), out_axes=None)(
            np.arange(2.0), {"mode": "a", "scale": np.ones(2)}
        )
    assert out.dtype == np.float32


def test_numpy_integers_are_axes():
    assert vmap(lax.reduce_sum, (np.int64(1),), np.int32(0))(ROWS).tolist() == [3.0, 5.0, 7.0]


# Where the axis of the result goes


@pytest.mark.parametrize("out_axes", [0, 1, 2, -1, -2, -3])
def test_out_axes_says_where_the_axis_goes(out_axes):
    x = np.arange(24.0).reshape(2, 3, 4)

    np.testing.assert_array_equal(vmap(lax.sin, out_axes=out_axes)(x), np.moveaxis(np.sin(x), 0, out_axes))


def test_out_axes_may_be_a_prefix_of_the_result():
    def both(x):
        return {"a": (x, lax.neg(x)), "b": lax.reduce_sum(x)}

    out = vmap(both, out_axes={"a": 1, "b": 0})(ROWS)

    np.testing.assert_array_equal(out["a"][0], ROWS.T)
    np.testing.assert_array_equal(out["a"][1], -ROWS.T)
    assert out["b"].tolist() == [3.0, 12.0]


def test_a_list_of_out_axes_is_for_a_function_that_returns_a_list():
    first, second = vmap(lambda x: [x, x], out_axes=[0, 1])(ROWS)

    assert (first.shape, second.shape) == ((2, 3), (3, 2))


def test_out_axes_none_is_for_a_result_that_is_the_same_for_every_element():
    same, mapped = vmap(lambda x, y: (lax.sin(y), x), in_axes=(0, None), out_axes=(None, 0))(np.arange(3.0), 2.0)

    assert same == np.sin(2.0)
    assert mapped.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("out_axes", [0, 1, -1])
def test_a_result_that_is_the_same_for_every_element_is_repeated(out_axes):
    out = vmap(lambda x: np.arange(2.0), out_axes=out_axes)(np.zeros(3))

    np.testing.assert_array_equal(out, np.stack([np.arange(2.0)] * 3, out_axes))


def test_a_python_scalar_as_a_result_becomes_an_array():
    out = vmap(lambda x: 1)(np.zeros(3))

    assert out.tolist() == [1, 1, 1]
    assert out.dtype == np.int64


def test_results_keep_their_containers():
    out = vmap(lambda x: Point(x, [lax.neg(x), None]))(np.arange(2.0))

    assert isinstance(out, Point)
    assert out.x.tolist() == [0.0, 1.0]
    assert out.y[0].tolist() == [0.0, -1.0]
    assert out.y[1] is None


# Sizes


def test_an_axis_of_size_zero_gives_empty_results_of_the_right_type():
    out = vmap(lambda x: (lax.sin(x), lax.argmax(x, 0, np.int32)))(np.ones((0, 3), np.float32))

    assert [(x.shape, x.dtype) for x in out] == [((0, 3), np.float32), ((0,), np.int32)]


def test_axis_size_is_enough_where_no_argument_is_mapped():
    assert vmap(lambda: 2.0, axis_size=3)().tolist() == [2.0, 2.0, 2.0]
    assert vmap(lax.sin, in_axes=None, axis_size=2)(0.0).tolist() == [0.0, 0.0]
    assert vmap(lambda: lax.axis_index("i"), axis_name="i", axis_size=3)().tolist() == [0, 1, 2]


def test_axis_size_may_agree_with_the_arguments():
    assert vmap(lax.neg, axis_size=2)(np.ones(2)).tolist() == [-1.0, -1.0]


# Composition and staging


@pytest.mark.parametrize("inner", [0, 1])
@pytest.mark.parametrize("outer", [0, 1, 2])
def test_nested_vmaps_map_two_axes(inner, outer):
    x = np.arange(24.0).reshape(2, 3, 4)

    out = vmap(vmap(lax.reduce_sum, inner), outer)(x)

    np.testing.assert_array_equal(out, np.moveaxis(x, outer, 0).sum(2 - inner))


def test_three_vmaps_reach_a_scalar_function():
    x = np.arange(24.0).reshape(2, 3, 4)

    def scalar(a):
        assert a.shape == ()
        return lax.sin(a)

    np.testing.assert_allclose(vmap(vmap(vmap(scalar)))(x), np.sin(x))


def test_a_vmap_is_staged_as_one_program_of_whole_arrays():
    jaxpr = make_jaxpr(vmap(lambda x, w: lax.tanh(lax.dot(w, x)), in_axes=(0, None)))(np.ones((5, 3)), np.ones((2, 3)))

    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["dot_general", "tanh", "transpose"]
    assert jaxpr.out_avals[0].shape == (5, 2)


def test_a_vmap_inside_a_staged_function_uses_its_values():
    def program(x, y):
        return vmap(lambda row: lax.add(row, y))(x)

    jaxpr = make_jaxpr(program)(ROWS, np.ones(3))

    assert [eqn.primitive.name for eqn in jaxpr.eqns] == ["broadcast_in_dim", "add"]


def test_the_number_of_equations_does_not_depend_on_the_size():
    counts = [len(make_jaxpr(vmap(lambda x: lax.sin(lax.mul(x, 2.0))))(np.ones(n)).eqns) for n in (1, 10, 1000)]

    assert counts == [2, 2, 2]


def test_results_have_32_bits_where_64_are_off():
    with enable_x64(False):
        out = vmap(lambda x: lax.add(x, 1.0))(np.arange(3.0))

    assert out.dtype == np.float32


def test_the_batched_function_keeps_name_and_documentation():
    def documented(x):
        """Say what it does."""
        return x

    assert vmap(documented).__name__ == "documented"
    assert vmap(documented).__doc__ == "Say what it does."


def test_callable_objects_partial_functions_and_methods_are_mapped():
    class Affine:
        def __init__(self, w):
            self.w = w

        def __call__(self, x):
            return lax.mul(self.w, x)

        def shifted(self, x, by):
            return lax.add(self(x), by)

    model, x = Affine(2.0), np.arange(3.0)

    assert vmap(model)(x).tolist() == [0.0, 2.0, 4.0]
    assert vmap(model.shifted, in_axes={"by": None})(x, 1.0).tolist() == [1.0, 3.0, 5.0]
    assert vmap(functools.partial(lax.add, 1.0))(x).tolist() == [1.0, 2.0, 3.0]


def test_no_class_is_built_of_anything_but_arrays():
    @register_pytree_node_class
    class Weights:
        def __init__(self, w):
            if not hasattr(w, "shape"):
                raise TypeError(f"w must be an array, got {w!r}")
            self.w = w

        def tree_flatten(self):
            return (self.w,), None

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)

    out = vmap(lambda a: Weights(lax.mul(a.w, 2.0)), in_axes=(0,))(Weights(np.ones(3)))

    assert out.w.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("in_axes", [1, np.int64(1), (1,)], ids=["int", "NumPy's integer", "a tuple"])
def test_keyword_arguments_are_mapped_over_axis_0_whatever_the_axis_of_the_others(in_axes):
    x, y = np.arange(6.0).reshape(3, 2), np.arange(10.0).reshape(2, 5)
    out = vmap(lambda x, y: lax.reduce_sum(x) + y, in_axes=in_axes)(x, y=y)
    np.testing.assert_array_equal(out, x.sum(0)[:, None] + y)
