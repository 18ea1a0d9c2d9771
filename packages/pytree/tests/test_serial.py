import pickle
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass

import pytest

from calque_pytree import Partial, Registry, register_dataclass, register_pytree_node, structure
from calque_pytree.treedef import restore

Point = namedtuple("Point", ["x", "y"])  # noqa: PYI024


class Custom:
    def __repr__(self):
        return "Custom()"


@register_dataclass
@dataclass
class Layer:
    w: float
    b: float


register_pytree_node(Custom, lambda c: ((1, [2]), {"any": "data"}), lambda data, children: Custom())

TREES = [
    1,
    None,
    {"b": [1, (2, None)], "a": {}},
    {"b": 1, 0: 2},
    OrderedDict(b=1, a=2),
    defaultdict(list, b=1, a=2),
    defaultdict(None, a=1),
    Point(1, [2]),
    Partial(len, (1, 2)),
    [Custom(), Layer(1.0, 2.0)],
]


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_a_treedef_survives_pickling(tree):
    treedef = structure(tree)
    again = pickle.loads(pickle.dumps(treedef))
    assert again == treedef
    assert hash(again) == hash(treedef)
    assert repr(again) == repr(treedef)
    assert again.num_leaves == treedef.num_leaves


def test_the_order_of_a_dict_survives_pickling():
    again = pickle.loads(pickle.dumps(structure({"b": 1, "c": 2, "a": 3})))
    assert list(again.unflatten([3, 1, 2]).items()) == [("b", 1), ("c", 2), ("a", 3)]


def test_a_deep_treedef_survives_pickling():
    tree = 1
    for _ in range(100_000):
        tree = [tree]
    treedef = structure(tree)
    assert pickle.loads(pickle.dumps(treedef)) == treedef


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (None, "its state is None, which is no tuple of nodes"),
        ([None], "its state is .None., which is no tuple of nodes"),
        ((), "0 nodes are too few"),
        ((None, None), "2 nodes are too many"),
        (((list, 2, None), None), "2 nodes are too few"),
        (((list, 0, None), None), "2 nodes are too many"),
        (((list, -1, None),), "is no node"),
        (((list, "1", None), None), "is no node"),
        (((list, None), None), "is no node"),
        (((list, 1, None, None), None), "is no node"),
        ((("list", 1, None), None), "is no node"),
        ((7,), "is no node"),
        (((list, 1, "data"), None), "is no node"),
        (((tuple, 1, ("a",)), None), "is no node"),
        (((type(None), 1, None), None), "is no node"),
        (((dict, 1, None), None), "is no node"),
        (((dict, 1, ("a", "b")), None), "is no node"),
        (((dict, 2, ("a", "a")), None, None), "is no node"),
        (((dict, 1, ([],)), None), "is no node"),
        (((OrderedDict, 1, ["a"]), None), "is no node"),
        (((defaultdict, 1, ("a",)), None), "is no node"),
        (((defaultdict, 1, (3, ("a",))), None), "is no node"),
        (((Point, 1, None), None), "is no node"),
        (((Point, 2, "data"), None, None), "is no node"),
        (((Layer, 1, ()), None), "is no node"),
        (((Layer, 2, None), None, None), "is no node"),
    ],
    ids=str,
)
def test_a_damaged_pickle_is_refused(state, reason):
    with pytest.raises(ValueError, match=f"This pickled PyTreeDef is damaged: .*{reason}.* Pickle the treedef again"):
        restore(state)


def test_a_class_that_is_not_registered_is_refused():
    registry = Registry()
    registry.register_node(set, lambda s: (sorted(s), None), lambda _, children: set(children))
    data = pickle.dumps(structure({1, 2}, registry=registry))
    with pytest.raises(ValueError, match=r"a node of class set, which is not registered here. Import the module"):
        pickle.loads(data)
