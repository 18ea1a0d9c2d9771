import collections
import gc
import weakref

import pytest

from calque_pytree import Registry, default_registry, leaves, map, register_pytree_node, structure
from calque_pytree.registry import MAX_LEARNED


class Box:
    def __init__(self, value):
        self.value = value


def box_functions():
    return lambda box: ((box.value,), None), lambda _, children: Box(*children)


def test_a_registry_of_ones_own_does_not_touch_the_default():
    registry = Registry()
    registry.register_node(Box, *box_functions())
    box = Box(1)
    assert leaves([box], registry=registry) == [1]
    assert leaves([box]) == [box]
    assert map(lambda x: x + 1, box, registry=registry).value == 2


def test_membership_tells_nodes_from_leaves():
    assert dict in default_registry
    assert type(None) in default_registry
    assert float not in default_registry
    assert default_registry.kind(float) is None
    assert default_registry.kind(list).nodetype is list


def test_registering_a_class_twice_is_refused():
    registry = Registry()
    registry.register_node(Box, *box_functions())
    with pytest.raises(ValueError, match=r"Box is registered as a pytree node already\. Register a class once"):
        registry.register_node(Box, *box_functions())


@pytest.mark.parametrize("nodetype", [dict, list, tuple, type(None), collections.OrderedDict])
def test_registering_a_builtin_container_again_is_refused(nodetype):
    with pytest.raises(ValueError, match="registered as a pytree node already"):
        Registry().register_node(nodetype, lambda node: ((), None), lambda data, children: None)


@pytest.mark.parametrize("nodetype", [int, float, bool, complex, str, bytes, object, type, type(lambda: 0)])
def test_registering_a_builtin_leaf_type_is_refused(nodetype):
    message = f"{nodetype.__name__} cannot be registered as a pytree node, because programs rely on its values"
    with pytest.raises(TypeError, match=message):
        Registry().register_node(nodetype, lambda node: ((), None), lambda data, children: 0)


def test_registering_an_array_class_of_numpy_is_refused_without_importing_numpy():
    ndarray = type("ndarray", (), {"__module__": "numpy"})
    with pytest.raises(TypeError, match=r"numpy\.ndarray cannot be registered as a pytree node"):
        Registry().register_node(ndarray, lambda node: ((), None), lambda data, children: None)


def test_registering_an_instance_is_refused():
    with pytest.raises(TypeError, match="Only a class can be registered as a pytree node, but got 3"):
        register_pytree_node(3, lambda node: ((), None), lambda data, children: None)


def test_a_class_seen_as_a_leaf_can_still_be_registered():
    registry = Registry()
    tree = (Box(1), [Box(2)])
    for _ in range(40):  # often enough for code to be made for the structure
        assert leaves(tree, registry=registry) == [tree[0], tree[1][0]]
    registry.register_node(Box, *box_functions())
    assert leaves(tree, registry=registry) == [1, 2]
    assert leaves(tree, none_is_leaf=True, registry=registry) == [1, 2]


def test_a_namedtuple_class_can_be_registered_with_functions_of_its_own():
    registry = Registry()
    pair = collections.namedtuple("pair", ["a", "b"])  # noqa: PYI024
    assert leaves(pair(1, 2), registry=registry) == [1, 2]
    registry.register_node(pair, lambda p: ((p.b,), p.a), lambda a, children: pair(a, *children))
    assert leaves(pair(1, 2), registry=registry) == [2]
    with pytest.raises(ValueError, match="already"):
        registry.register_node(pair, lambda p: ((p.b,), p.a), lambda a, children: pair(a, *children))


def test_treedefs_of_builtin_containers_do_not_depend_on_the_registry():
    assert structure({"a": [1, None]}, registry=Registry()) == structure({"a": [1, None]})


def test_leaf_classes_made_in_a_loop_are_freed():
    registry = Registry()
    refs = []
    for i in range(MAX_LEARNED + 10):
        cls = type("Leaf", (), {})
        leaves([cls()], registry=registry)
        if i < 10:
            refs.append(weakref.ref(cls))
    del cls
    gc.collect()
    assert [ref() for ref in refs] == [None] * len(refs)
    assert leaves([1, "a", None], registry=registry) == [1, "a"]
