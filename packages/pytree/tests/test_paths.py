from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass

import pytest

from calque_pytree import (
    FlattenedIndexKey,
    GetAttrKey,
    Registry,
    flatten_with_path,
    keystr,
    leaves_with_path,
    map_with_path,
    register_dataclass,
    structure,
)

Point = namedtuple("Point", ["x", "y"])  # noqa: PYI024


def paths(tree, **kwargs):
    return [(keystr(path), leaf) for path, leaf in leaves_with_path(tree, **kwargs)]


def test_each_container_names_its_children():
    tree = [
        {"b": 1, "a": (2, None)},
        OrderedDict(z=3),
        defaultdict(int, k=4),
        Point(5, [6]),
        7,
    ]
    assert paths(tree) == [
        ("[0]['a'][0]", 2),
        ("[0]['b']", 1),
        ("[1]['z']", 3),
        ("[2]['k']", 4),
        ("[3].x", 5),
        ("[3].y[0]", 6),
        ("[4]", 7),
    ]


def test_the_treedef_is_that_of_flatten():
    tree = {"b": [1, (2, 3)], "a": Point(None, 4)}
    assert flatten_with_path(tree)[1] == structure(tree)


def test_a_leaf_has_the_empty_path():
    assert leaves_with_path(1) == [((), 1)]
    assert leaves_with_path(None) == []
    assert leaves_with_path(None, none_is_leaf=True) == [((), None)]


def test_registered_classes_name_their_children_if_they_can():
    registry = Registry()
    registry.register_node(
        set, lambda s: (sorted(s), 0), lambda _, c: set(c), lambda s: ([(GetAttrKey(f"e{x}"), x) for x in sorted(s)], 0)
    )
    registry.register_node(frozenset, lambda s: (sorted(s), 0), lambda _, c: frozenset(c))
    assert paths([{5, 6}], registry=registry) == [("[0].e5", 5), ("[0].e6", 6)]
    assert leaves_with_path(frozenset({7}), registry=registry) == [((FlattenedIndexKey(0),), 7)]


def test_is_leaf_may_take_the_path():
    tree = {"a": [1, 2], "b": [3, 4]}
    got = paths(tree, is_leaf=lambda path, node: keystr(path) == "['b']", is_leaf_takes_path=True)
    assert got == [("['a'][0]", 1), ("['a'][1]", 2), ("['b']", [3, 4])]
    assert paths(tree, is_leaf=lambda node: isinstance(node, list)) == [("['a']", [1, 2]), ("['b']", [3, 4])]


def test_map_with_path_passes_path_and_leaves():
    got = map_with_path(lambda path, x, y: (keystr(path), x, y), {"a": [1]}, {"a": [(2, 3)]})
    assert got == {"a": [("['a'][0]", 1, (2, 3))]}


def test_map_with_path_refuses_another_structure():
    with pytest.raises(ValueError, match=r"has a list of length 1 at \['a'\], but tree number 2"):
        map_with_path(lambda path, x, y: x, {"a": [1]}, {"a": 2})


def test_an_error_of_is_leaf_names_the_node():
    with pytest.raises(ZeroDivisionError) as caught:
        leaves_with_path([0, {"a": ()}], is_leaf=lambda node: 1 / len(node) > 1)
    assert caught.value.__notes__ == ["Raised while flattening the tuple at [1]['a']."]


@register_dataclass
@dataclass
class Layer:
    w: object
    b: object


TREES = [
    1, (), [], {}, None, [None], [(), 1], [[], [[]], 2, {}], {"b": [1, {}], "a": (), "c": {"d": 3}}, [[[[1]]]],
    (Point(1, [2]), [Point((), 3)]), OrderedDict(b=1, a=[2]), defaultdict(int, a=(1, 2)),
    Layer([1, 2], {"a": Layer(1, ())}),
]  # fmt: skip


@pytest.mark.parametrize("tree", TREES, ids=repr)
@pytest.mark.parametrize("none_is_leaf", [False, True])
def test_the_paths_of_a_structure_are_those_of_the_loop(tree, none_is_leaf):
    by_loop = flatten_with_path(tree, lambda _: False, none_is_leaf=none_is_leaf)
    for _ in range(20):  # the structure becomes frequent
        assert flatten_with_path(tree, none_is_leaf=none_is_leaf) == by_loop


def test_a_frequent_structure_keeps_its_paths():
    tree = {"weights": [1, (2, 3)], "bias": 4}
    for _ in range(20):
        structure(tree)
    (first, treedef), (again, _) = flatten_with_path(tree), flatten_with_path(tree)
    assert treedef.leaf_paths() == tuple(path for path, _ in first)
    assert all(a is b for (a, _), (b, _) in zip(first, again, strict=True))
