import enum
import operator

import pytest

from calque_pytree import Registry, flatten, leaves, structure, unflatten
from calque_pytree.descent import MAX_COMPARED
from calque_pytree.recent import MAX_CANDIDATES, MAX_STRUCTURES, MAX_WIDTH, outline
from calque_pytree.runs import MAX_TREE


def flatten_often(tree, registry, **kwargs):
    for _ in range(20):
        result = flatten(tree, registry=registry, **kwargs)
    return result


def test_a_frequent_structure_has_one_treedef():
    registry = Registry()
    tree = {"b": [1, (2, None)], "a": 3}
    values, treedef = flatten_often(tree, registry)
    assert values == [3, 1, 2]
    assert flatten({"b": [4, (5, None)], "a": 6}, registry=registry)[1] is treedef
    assert treedef == structure(tree)


def test_a_rare_structure_is_not_kept():
    registry = Registry()
    leaves([(1, 2)], registry=registry)
    assert registry.tables[0].recent.candidates == {}


def test_an_inner_node_where_a_leaf_was_is_flattened():
    registry = Registry()
    flatten_often({"a": 1, "b": (2,)}, registry)
    values, treedef = flatten({"a": [7, 8], "b": (2,)}, registry=registry)
    assert values == [7, 8, 2]
    assert repr(treedef) == "PyTreeDef({'a': [*, *], 'b': (*,)})"


def test_another_order_of_a_dict_is_kept_apart():
    registry = Registry()
    _, ab = flatten_often([{"a": 1, "b": 2}], registry)
    _, ba = flatten_often([{"b": 2, "a": 1}], registry)
    assert ab == ba
    assert list(unflatten(ab, [1, 2])[0]) == ["a", "b"]
    assert list(unflatten(ba, [1, 2])[0]) == ["b", "a"]


def test_keys_that_are_equal_but_other_objects_have_the_same_treedef():
    registry = Registry()
    _, treedef = flatten_often([{"alpha": 1, "beta": 2}], registry)
    copies = {key[::-1][::-1]: value for key, value in {"alpha": 1, "beta": 2}.items()}
    assert flatten([copies], registry=registry)[1] is treedef


class Name(enum.StrEnum):
    ALPHA = "alpha"


def test_a_key_that_equals_a_string_and_is_none_is_kept_apart():
    registry = Registry()
    _, treedef = flatten_often([{"alpha": 1, "beta": 2}], registry)
    values, other = flatten([{Name.ALPHA: 1, "beta": 2}], registry=registry)
    assert (values, other is treedef) == ([1, 2], False)
    assert next(iter(other.unflatten([1, 2])[0])) is Name.ALPHA


@pytest.mark.parametrize("width", [1, MAX_COMPARED - 1, MAX_COMPARED, MAX_COMPARED + 1])
def test_each_width_of_a_dict_has_a_treedef_of_its_own(width):
    registry = Registry()
    narrow, wide = ([dict.fromkeys([f"key{i}" for i in range(n)], 1)] for n in (width, width + 1))
    first = [flatten_often(tree, registry)[1] for tree in (narrow, wide)]
    again = [flatten(tree, registry=registry)[1] for tree in (narrow, wide)]
    assert all(map(operator.is_, first, again))
    assert [treedef.num_leaves for treedef in first] == [width, width + 1]


def test_a_key_that_cannot_be_compared_with_those_of_a_frequent_structure_is_flattened():
    class Incomparable:
        def __hash__(self):
            return hash("a")

        def __eq__(self, other):
            raise TypeError("compared")

    registry = Registry()
    flatten_often({"a": 1}, registry)
    assert leaves({Incomparable(): 2}, registry=registry) == [2]


def test_none_is_a_node_or_a_leaf_as_asked_each_time():
    registry = Registry()
    assert flatten_often([None, (1,)], registry)[0] == [1]
    assert flatten_often([None, (1,)], registry, none_is_leaf=True)[0] == [None, 1]
    assert flatten_often([None, (1,)], registry)[0] == [1]


def test_is_leaf_is_asked_each_time():
    registry = Registry()
    flatten_often([(1,)], registry)
    assert leaves([(1,)], registry=registry, is_leaf=lambda node: isinstance(node, tuple)) == [(1,)]


class Box:
    def __init__(self, x, label="box"):
        self.x, self.label = x, label


def boxes(flatten_func=lambda box: ((box.x,), box.label)):
    registry = Registry()
    registry.register_node(Box, flatten_func, lambda label, children: Box(*children, label))
    return registry


def test_a_frequent_structure_with_nodes_of_a_user_s_class_has_one_treedef():
    registry = boxes()
    _, treedef = flatten_often([Box(1), {"a": Box((2, 3))}], registry)
    values, again = flatten([Box(4), {"a": Box((5, 6))}], registry=registry)
    assert (values, again is treedef) == ([4, 5, 6], True)


def test_the_data_of_a_user_s_class_are_compared_each_time():
    registry = boxes()
    _, treedef = flatten_often([Box(1), Box(2, ("a", 1))], registry)
    for label in (("a", 1), ("a", 2), ("a", 1.0), ("a", True), ("a",), ["a", 1], None):
        other = flatten([Box(1), Box(2, label)], registry=registry)[1]
        assert (other is treedef) is (repr(label) == "('a', 1)")
        assert other.unflatten([1, 2])[1].label == label
        assert repr(other.unflatten([1, 2])[1].label) == repr(label)


def test_one_more_or_one_fewer_child_is_another_structure():
    registry = boxes(lambda box: (box.x, box.label))
    flatten_often([Box([1, 2]), Box(iter(()))], registry)
    for children in ([1], [1, 2, 3], [], None):
        assert flatten([Box(children), Box(None)], registry=registry)[0] == [*(children or ())]


def test_an_error_of_a_flatten_function_has_the_path_however_often_the_structure_was_met():
    def flatten_box(box):
        if box.x is None:
            raise ValueError("empty box")
        return ((box.x,), box.label) if box.x != "bad" else 5

    registry = boxes(flatten_box)
    flatten_often({"a": Box(1)}, registry)
    with pytest.raises(ValueError, match="empty box") as caught:
        leaves({"a": Box(None)}, registry=registry)
    assert caught.value.__notes__ == ["Raised while flattening the Box at ['a']."]
    with pytest.raises(TypeError, match=r"The flatten function of Box returned 5\."):
        leaves({"a": Box("bad")}, registry=registry)


def test_only_a_few_structures_of_one_outline_are_tried():
    registry = Registry()
    for i in range(3 * MAX_CANDIDATES):
        flatten_often([(1,) * i], registry)
    assert len(registry.tables[0].recent.candidates[outline([()])]) == MAX_CANDIDATES
    assert leaves([(1, 2)], registry=registry) == [1, 2]


def test_huge_trees_are_not_counted():
    registry = Registry()
    flatten_often([list(range(MAX_TREE))], registry)
    recent = registry.tables[0].recent
    assert (recent.counts, recent.candidates) == ({}, {})


def test_the_number_of_counted_structures_is_bounded():
    registry = Registry()
    for i in range(MAX_STRUCTURES + 1):
        leaves({str(i): (1,)}, registry=registry)
    assert len(registry.tables[0].recent.counts) < MAX_STRUCTURES


def test_wide_roots_have_a_short_outline():
    assert outline({"a": 1, "b": 2}) == ("a", "b")
    assert outline({i: i for i in range(MAX_WIDTH + 1)}) == MAX_WIDTH + 1
    assert outline([0] * (MAX_WIDTH + 1)) == MAX_WIDTH + 1
    assert outline(None) is type(None)


class Marker:
    """An object without attributes, which stands for an absent field."""


class Layer:
    def __init__(self, w, *static):
        self.w, self.static = w, static


def registry_of_layers():
    registry = Registry()
    registry.register_node(Layer, lambda x: ((x.w,), (*x.static,)), lambda static, ws: Layer(*ws, *static))
    return registry


def test_data_with_an_object_without_attributes_have_one_treedef():
    registry, marker = registry_of_layers(), Marker()
    _, treedef = flatten_often(Layer(1, marker, 2), registry)
    assert flatten(Layer(3, marker, 2), registry=registry)[1] is treedef
    assert flatten(Layer(3, Marker(), 2), registry=registry)[1] != treedef


def test_data_with_an_object_that_holds_another_are_not_kept():
    registry, marker = registry_of_layers(), Marker()
    marker.array = [1, 2]
    flatten_often(Layer(1, marker), registry, is_leaf=lambda x: x is None)
    flatten_often(Layer(1, marker), registry)
    assert not registry.tables[0].recent.candidates
    assert not registry.tables[0].recent.treedefs


def test_a_frequent_structure_with_is_leaf_has_one_treedef_and_each_node_is_seen_once():
    registry, seen = registry_of_layers(), []

    def is_leaf(x):
        seen.append(x)
        return x is None

    _, treedef = flatten_often([Layer(None, 2), Layer((3,), 2)], registry, is_leaf=is_leaf)
    tree = [Layer(None, 2), Layer((4,), 2)]
    seen.clear()
    assert flatten(tree, registry=registry, is_leaf=is_leaf) == ([None, 4], treedef)
    assert seen == [tree, tree[0], None, tree[1], (4,)]
    assert flatten(tree, registry=registry, is_leaf=is_leaf)[1] is treedef
    other = flatten([Layer(None, True), Layer((4,), 2)], registry=registry, is_leaf=is_leaf)[1]
    assert unflatten(other, [5, 6])[0].static == (True,)
