import re

import pytest

from calque_pytree import (
    Registry,
    broadcast,
    broadcast_prefix,
    flatten_axes,
    keystr,
    prefix_errors,
    register_pytree_node_class,
    structure,
)


@pytest.mark.parametrize(
    ("prefix", "full", "message"),
    [
        ([0], (1,), "in_axes has a list of length 1 at the root of the tree, but the full tree has a tuple"),
        (None, (1,), "in_axes has None at the root of the tree, but the full tree has a tuple of length 1 there"),
        ({"b": (1, 2)}, {"b": (1, 2, 3)}, "in_axes has a tuple of length 2 at ['b'], but the full tree has a tuple of"),
        ({"b": 1}, {"c": 1}, "has a dict with the keys ['b'] at the root of the tree, but the full tree has a"),
    ],
)
def test_a_prefix_error_names_the_argument_the_path_and_both_sides(prefix, full, message):
    [error] = prefix_errors(prefix, full)
    assert message in str(error("in_axes"))
    assert str(error("in_axes")).endswith("the containers of the full tree, or one leaf for a whole subtree.")


def test_there_is_one_error_for_each_place():
    errors = prefix_errors({"a": [1], "b": 1, "c": (1, [2])}, {"a": 2, "b": [1], "c": (1, [2, 3])})
    assert [re.search(r"at (\S+),", str(error("p")))[1] for error in errors] == ["['a']", "['c'][1]"]


def test_a_prefix_has_no_errors():
    full = {"a": [1, 2], "b": (3, None)}
    for prefix in (0, {"a": 0, "b": 1}, {"a": [0, 1], "b": (2, None)}, full):
        assert prefix_errors(prefix, full) == []
    assert prefix_errors([(0, 1)], [[5, 6]], is_leaf=lambda node: isinstance(node, tuple)) == []


def test_none_may_be_a_leaf_of_the_prefix():
    assert prefix_errors({"a": None}, {"a": [1]}, none_is_leaf=True) == []
    assert broadcast_prefix({"a": None}, {"a": [1, None]}, none_is_leaf=True) == [None, None]


def test_broadcasting_repeats_a_leaf_over_its_subtree():
    full = {"a": [1, 2], "b": (3, None), "c": {}}
    assert broadcast_prefix({"a": 0, "b": 1, "c": 2}, full) == [0, 0, 1]
    assert broadcast({"a": 0, "b": 1, "c": 2}, full) == {"a": [0, 0], "b": (1, None), "c": {}}
    assert broadcast(7, full) == {"a": [7, 7], "b": (7, None), "c": {}}
    assert broadcast_prefix([(0, 1)], [[5, 6]], is_leaf=lambda node: isinstance(node, tuple)) == [(0, 1), (0, 1)]


def test_broadcasting_a_tree_that_is_no_prefix_names_the_path():
    with pytest.raises(ValueError, match=r"prefix tree has a tuple of length 1 at \['a'\], but the full tree has a"):
        broadcast({"a": (0,)}, {"a": [1]})


def test_flatten_axes_takes_none_as_an_axis():
    treedef = structure(({"w": 1, "b": 2}, (3, None)))
    assert flatten_axes("in_axes", treedef, (0, None)) == [0, 0, None]
    assert flatten_axes("in_axes", treedef, None) == [None, None, None]
    assert flatten_axes("in_axes", treedef, ({"b": 1, "w": None}, (2, None))) == [1, None, 2]


@pytest.mark.parametrize(
    ("axes", "message"),
    [
        ((0,), "in_axes has a tuple of length 1 at the root of the tree, but the full tree has a tuple of length 2"),
        (({"w": 0}, 0), "in_axes has a dict with the keys ['w'] at [0], but the full tree has a dict with the keys ["),
        ((0, [0]), "in_axes has a list of length 1 at [1], but the full tree has a leaf"),
    ],
)
def test_flatten_axes_names_the_place_that_does_not_fit(axes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        flatten_axes("in_axes", structure(({"w": 1, "b": 2}, 3)), axes)


@register_pytree_node_class
class Strict:
    """Refuses whatever is no number, as a class that validates its arrays does."""

    def __init__(self, w):
        if not isinstance(w, (int, float)):
            raise TypeError(f"w must be a number, got {w!r}")
        self.w = w

    def tree_flatten(self):
        return (self.w,), None

    @classmethod
    def tree_unflatten(cls, aux_data, children):
        return cls(*children)


def test_no_placeholder_ever_reaches_a_constructor():
    treedef = structure((Strict(1.0), 2.0))
    assert flatten_axes("in_axes", treedef, (None, 0)) == [None, 0]
    assert flatten_axes("in_axes", treedef, (Strict(1), None)) == [1, None]
    assert broadcast_prefix((None, 0), (Strict(1.0), 2.0), none_is_leaf=True) == [None, 0]
    assert len(prefix_errors(([0], 0), (Strict(1.0), 2.0))) == 1


def test_a_caller_says_where_a_path_points_to():
    names = lambda path: f"for {['x', 'y'][path[0].idx]}{keystr(path[1:])}"
    with pytest.raises(ValueError, match=r"^axes has a list of length 1 for y\['w'\], but the full tree has a leaf"):
        flatten_axes("axes", structure((1.0, {"w": 2.0})), (0, {"w": [0]}), place=names)


def test_the_passed_registry_is_used():
    registry = Registry()
    registry.register_node(set, lambda s: (sorted(s), None), lambda _, children: set(children))
    assert flatten_axes("a", structure([{1, 2}], registry=registry), [{3, 4}], registry=registry) == [3, 4]
    assert broadcast_prefix([0], [{1, 2}], registry=registry) == [0, 0]
    assert prefix_errors([{1}], [{2}], registry=registry) == []
