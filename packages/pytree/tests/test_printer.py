from collections import OrderedDict, defaultdict, namedtuple

import pytest

from calque_pytree import Partial, Registry, structure

Point = namedtuple("Point", ["x", "y"])  # noqa: PYI024


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (1, "*"),
        (None, "None"),
        ((), "()"),
        ((1,), "(*,)"),
        ((1, 2), "(*, *)"),
        ([], "[]"),
        ([1, [2]], "[*, [*]]"),
        ({}, "{}"),
        ({"a": [1, None]}, "{'a': [*, None]}"),
        ({"b": 1, "a": (2, {})}, "{'a': (*, {}), 'b': *}"),
        ({1: 2, "x": 3}, "{1: *, 'x': *}"),
        (Point(1, [2]), "CustomNode(Point, [*, [*]])"),
        (OrderedDict(b=1, a=2), "CustomNode(OrderedDict[['b', 'a']], [*, *])"),
        (defaultdict(int, b=1, a=2), "CustomNode(defaultdict[int, ['a', 'b']], [*, *])"),
        (Partial(len, 1), "CustomNode(Partial[<built-in function len>], [(*,), {}])"),
    ],
)
def test_a_treedef_prints_like_its_tree(tree, text):
    assert repr(structure(tree)) == f"PyTreeDef({text})"


def test_a_node_of_a_users_class_shows_its_data():
    registry = Registry()
    registry.register_node(set, lambda s: (sorted(s), "aux"), lambda _, c: set(c))
    assert repr(structure([{1, 2}, 3], registry=registry)) == "PyTreeDef([CustomNode(set['aux'], [*, *]), *])"
