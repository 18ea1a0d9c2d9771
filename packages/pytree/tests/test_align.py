import re
from collections import OrderedDict, defaultdict
from typing import NamedTuple

import pytest

from calque_pytree import Registry, map, register_static, structure
from calque_pytree.align import align


class Point(NamedTuple):
    x: object
    y: object


@pytest.mark.parametrize(
    ("outline", "tree", "message"),
    [
        ([0], (1,), "The treedef has a list of length 1 at the root of the tree, but the tree has a tuple of length 1"),
        ({"a": [0]}, {"a": 1}, "The treedef has a list of length 1 at ['a'], but the tree has an int there"),
        ({"a": (0, 0)}, {"a": (1,)}, "has a tuple of length 2 at ['a'], but the tree has a tuple of length 1 there"),
        ([(), None], [(), 1], "The treedef has None at [1], but the tree has an int there"),
        ([Point(0, 0)], [(1, 2)], "has a Point of length 2 at [0], but the tree has a tuple of length 2 there"),
        ([(0, 0)], [Point(1, 2)], "has a tuple of length 2 at [0], but the tree has a Point of length 2 there"),
        ([[0]], [None], "The treedef has a list of length 1 at [0], but the tree has None there"),
        (
            {"a": 0, "b": 0},
            {"a": 1, "c": 2},
            "but the tree has a dict with the keys ['a', 'c'] (without ['b'], with ['c'] in addition) there",
        ),
        (
            {"a": 0},
            OrderedDict(a=1),
            "a dict with the keys ['a'] at the root of the tree, but the tree has an OrderedDict of length 1 there",
        ),
        (
            OrderedDict(a=0, b=0),
            OrderedDict(b=0, a=0),
            "at the root of the tree, but the tree has an OrderedDict with the keys ['b', 'a'] there",
        ),
    ],
)
def test_flatten_up_to_names_the_place_and_both_sides(outline, tree, message):
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        structure(outline).flatten_up_to(tree)
    assert str(caught.value).endswith(". Pass a tree whose outer structure is that of the treedef.")


def test_subtrees_are_returned_whole():
    assert structure({"b": 0, "a": [0]}).flatten_up_to({"a": [(1, 2)], "b": None}) == [(1, 2), None]


def test_a_dict_may_be_filled_in_another_order():
    assert structure({"a": 0, 1: 0}).flatten_up_to({1: "y", "a": "x"}) == ["x", "y"]


def test_a_defaultdict_is_not_filled_by_looking():
    tree = defaultdict(int, a=1, b=2)
    with pytest.raises(ValueError, match="without \\['c'\\]"):
        structure(defaultdict(int, a=1, c=2)).flatten_up_to(tree)
    assert list(tree) == ["a", "b"]
    assert structure(defaultdict(int, b=0, a=0)).flatten_up_to(tree) == [1, 2]


def test_all_mismatches_are_collected():
    subtrees, mismatches = align(structure({"a": [0], "b": 0, "c": (0,)}).nodes, {"a": 1, "b": 2, "c": 3})
    assert subtrees == [2]
    assert [str(m.path[0]) for m in mismatches] == ["['a']", "['c']"]


class Mode(str):
    __slots__ = ()


register_static(Mode)


def test_data_that_differ_are_shown():
    with pytest.raises(ValueError, match=r"has a Mode with the data 'train' and 0 children at .0., but .* data 'eval'"):
        map(lambda x: x, [Mode("train")], [Mode("eval")])


def test_an_error_of_a_users_class_is_noted_with_the_path():
    class A:
        broken = False

    def flatten(a):
        if a.broken:
            raise KeyError("boom")
        return (1,), None

    registry = Registry()
    registry.register_node(A, flatten, lambda data, children: A())
    treedef, bad = structure([0, A()], registry=registry), A()
    bad.broken = True
    for _ in range(20):  # the last ones through compiled code
        with pytest.raises(KeyError, match="boom") as caught:
            treedef.flatten_up_to([0, bad])
        assert caught.value.__notes__ == ["Raised by flattening the A at [1], or by comparing its aux data."]
