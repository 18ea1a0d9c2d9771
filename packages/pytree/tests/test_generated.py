import enum
import gc
import weakref
from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass

import pytest

from calque_pytree import Registry, leaves, register_dataclass, static, structure
from calque_pytree.descent import compile_fit, compile_match
from calque_pytree.generated import Constants, bind, compile_unflatten

Point = namedtuple("Point", ["x", "y"])  # noqa: PYI024


class Colour(enum.StrEnum):
    RED = "red"


@register_dataclass
@dataclass
class Layer:
    w: object
    name: object = static(default="layer")


TREES = [
    1,
    None,
    (),
    [],
    {},
    (1,),
    {"b": [1, (2, None)], "a": {}},
    Point(1, [2]),
    [Layer(1), Layer({"a": 2})],
    OrderedDict(b=1, a=2),
]
OTHER_TREES = [
    {"b": 1, 0: 2},
    {Colour.RED: 1},
    defaultdict(int, b=1, a=2),
    [Layer(1, name=[])],
]


@pytest.mark.parametrize("tree", TREES + OTHER_TREES, ids=repr)
def test_generated_code_does_what_the_loops_do(tree):
    treedef = structure(tree)
    assert compile_unflatten(treedef.nodes)(leaves(tree)) == tree
    assert compile_fit(treedef.nodes)(tree) == leaves(tree)


@pytest.mark.parametrize("tree", TREES, ids=repr)
@pytest.mark.parametrize("other", TREES + OTHER_TREES, ids=repr)
def test_a_match_fits_only_trees_of_exactly_its_structure(tree, other):
    got = found_in(other, compile_match(structure(tree).nodes))
    if structure(tree) == structure(other):
        assert got == leaves(other)
    elif not structure(tree).is_leaf:
        assert got is None or structure(tree).flatten_up_to(other) == got != leaves(other)


def found_in(tree, match):
    """Return the leaves that generated code finds, None if it refuses the tree; it may do so by an error."""
    try:
        return match(tree)
    except (AttributeError, TypeError, ValueError):
        return None


@pytest.mark.parametrize("tree", OTHER_TREES, ids=repr)
def test_there_is_no_match_for_keys_and_data_that_are_not_plain(tree):
    assert compile_match(structure(tree).nodes) is None


def test_a_match_tells_the_orders_of_a_dict_apart():
    match = compile_match(structure({"b": 1, "a": 2}).nodes)
    assert match({"b": 1, "a": 2}) == [2, 1]
    assert match({"a": 2, "b": 1}) is None


def test_a_match_tells_a_key_from_one_that_is_equal():
    match = compile_match(structure({"red": 1}).nodes)
    assert match({"red": 5}) == [5]
    assert match({Colour.RED: 5}) is None


def test_a_match_tells_data_from_data_that_are_equal():
    match = compile_match(structure(Layer(1, name=1)).nodes)
    assert match(Layer(2, name=1)) == [2]
    assert match(Layer(2, name=1.0)) is None
    assert match(Layer(2, name=True)) is None
    text = compile_match(structure(Layer(1, name="red")).nodes)
    assert text(Layer(2, name=str(b"red", "ascii"))) == [2]
    assert text(Layer(2, name=Colour.RED)) is None
    assert text(Layer(2, name="blue")) is None
    zero = compile_match(structure(Layer(1, name=0.0)).nodes)
    assert zero(Layer(2, name=-0.0)) is None


def test_data_that_could_keep_arrays_alive_are_not_matched():
    captured = []
    assert compile_match(structure(Layer(1, name=len)).nodes) is not None
    assert compile_match(structure(Layer(1, name=lambda: 0)).nodes) is not None
    assert compile_match(structure(Layer(1, name=lambda: captured)).nodes) is None
    assert compile_match(structure(Layer(1, name=("a", captured))).nodes) is None


def test_fit_returns_none_where_the_tree_differs():
    fit = compile_fit(structure({"a": (1, 2), "b": None}).nodes)
    assert fit({"b": None, "a": ([], 2)}) == [[], 2]
    for tree in ({"a": (1,), "b": None}, {"a": [1, 2], "b": None}, {"a": (1, 2), "b": 0}, {"a": (1, 2)}, 3):
        assert fit(tree) is None


def test_keys_and_names_never_reach_the_text_of_the_code():
    registry = Registry()
    key = "'}; raise SystemExit  #"
    registry.register_node(set, lambda s: (sorted(s), key), lambda data, children: (data, *children))
    treedef = structure({key: {1, 2}}, registry=registry)
    assert compile_unflatten(treedef.nodes)([1, 2]) == {key: (key, 1, 2)}


def test_objects_are_bound_once_and_by_identity():
    constants = Constants()
    assert [constants.name(value) for value in (1, True, 1.0, 1)] == ["k0", "k1", "k2", "k0"]
    assert bind("n0", ["return [k2, n0]"], constants)(5) == [1.0, 5]


def test_generated_functions_are_freed_without_the_collector():
    class Key(str):
        __slots__ = ("__weakref__",)

    key = Key("a")
    ref = weakref.ref(key)
    treedef = structure({key: 1})
    functions = [compile_unflatten(treedef.nodes), compile_fit(treedef.nodes)]
    gc.collect()
    gc.disable()
    try:
        del key, treedef, functions
        assert ref() is None
    finally:
        gc.enable()
