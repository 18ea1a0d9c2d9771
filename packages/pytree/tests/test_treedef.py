import copy
from typing import NamedTuple

import pytest

import calque_pytree
from calque_pytree import (
    PyTreeDef,
    Registry,
    register_pytree_node,
    register_static,
    structure,
    treedef_children,
    treedef_is_leaf,
    treedef_tuple,
)


class Point(NamedTuple):
    x: object
    y: object


TREE = {"b": [1, (2, None)], "a": ()}


def test_num_nodes_counts_leaves_and_num_leaves_only_them():
    treedef = structure(TREE)
    assert treedef.num_leaves == 2
    assert treedef.num_nodes == 7
    assert (structure(None).num_leaves, structure(None).num_nodes) == (0, 1)


def test_is_leaf_holds_for_one_leaf_and_treedef_is_leaf_for_one_node():
    trees = [1, None, (), [1]]
    assert [structure(tree).is_leaf for tree in trees] == [True, False, False, False]
    assert [treedef_is_leaf(structure(tree)) for tree in trees] == [True, True, True, False]


def test_children_and_node_data_take_the_root_apart():
    treedef = structure(TREE)
    assert treedef.children() == [structure(()), structure([1, (2, None)])]
    assert treedef_children(treedef) == treedef.children()
    assert treedef.node_data() == (dict, ["a", "b"])
    assert structure(1).node_data() is None
    assert structure(1).children() == []
    assert structure((1,)).node_data() == (tuple, None)
    assert structure(Point(1, 2)).node_data() == (Point, None)


def test_a_tuple_is_made_of_its_children():
    treedef = structure((1, [2, (3,)], {"a": 4}))
    assert treedef_tuple(treedef.children()) == treedef
    assert treedef_tuple([]) == structure(())


def test_compose_replaces_each_leaf_by_a_structure():
    outer, inner = structure([1, {"a": 2}]), structure((1, 2))
    composed = outer.compose(inner)
    assert composed == structure([(1, 2), {"a": (3, 4)}])
    assert composed.num_leaves == 4
    assert outer.compose(structure(1)) == outer
    assert structure(1).compose(inner) == inner


def test_walk_folds_from_the_leaves_to_the_root():
    seen = []

    def f_node(children, data):
        seen.append((children, data))
        return list(children)

    result = structure({"b": (1, 2), "a": 3}).walk(f_node, lambda leaf: leaf * 10, [3, 1, 2])
    assert result == [30, [10, 20]]
    assert seen == [((10, 20), None), ((30, [10, 20]), ["a", "b"])]


@pytest.mark.parametrize(("count", "text"), [(1, "but 1 values"), (3, "but 3 values"), (0, "but 0 values")])
def test_unflatten_with_a_wrong_number_of_leaves_is_refused(count, text):
    with pytest.raises(ValueError, match=text) as caught:
        structure([1, 2]).unflatten(range(count))
    with pytest.raises(ValueError, match=text):
        structure([1, 2]).walk(lambda children, data: None, None, range(count))
    assert str(caught.value).startswith("PyTreeDef([*, *]) has 2 leaves")
    assert str(caught.value).endswith("Give one value for each leaf.")


def test_unflatten_takes_any_iterable():
    assert structure([1, 2]).unflatten(iter((3, 4))) == [3, 4]


def test_equality_and_hash_follow_the_structure():
    assert structure(TREE) == structure({"a": (), "b": [3, (4, None)]})
    assert hash(structure(TREE)) == hash(structure({"a": (), "b": [3, (4, None)]}))
    assert structure(TREE) != structure({"a": (), "b": [3, (4, 5)]})
    assert structure([1, (2, 3)]) != structure([(1, 2), 3])
    assert structure([1]) != "PyTreeDef([*])"
    assert {structure(TREE): 1}[structure(TREE)] == 1


class Config:
    """Neither hashable nor more than a bag of one value."""

    __hash__ = None

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return self.value == other.value


register_static(Config)


def test_aux_data_is_compared_and_never_hashed():
    assert hash(structure(Config([1]))) == hash(structure(Config([2])))
    assert structure(Config([1])) == structure(Config([1]))
    assert structure(Config([1])) != structure(Config([2]))


def test_aux_data_that_does_not_compare_to_a_bool_is_explained():
    class Vague:
        def __eq__(self, other):
            raise ValueError("the truth value of an array is ambiguous")

        __hash__ = None

    with pytest.raises(ValueError, match="ambiguous") as caught:
        assert structure(Config(Vague())) == structure(Config(Vague()))
    assert "Raised by comparing the aux data of two pytree nodes." in caught.value.__notes__[0]


class Box:
    """A class with one child, and static data that may not compare to a bool."""

    def __init__(self, x, data):
        self.x, self.data = x, data


register_pytree_node(Box, lambda box: ((box.x,), box.data), lambda data, children: Box(children[0], data))


class Vague:
    """Compares to something that is neither true nor false, as an array does."""

    def __eq__(self, other):
        return Vague()

    def __bool__(self):
        raise ValueError("ambiguous")

    def __repr__(self):
        return "Vague()"

    __hash__ = None


class Refusing(Vague):
    def __eq__(self, other):
        raise RuntimeError("no ==")

    __hash__ = None


class OddError(OSError):
    """An error whose text is not that of its arguments."""


class Failing(Vague):
    def __eq__(self, other):
        raise OddError(2, "odd", "file")

    __hash__ = None


USES = {
    "==": lambda one, other: structure(one) == structure(other),
    "!=": lambda one, other: structure([0, one]) != structure([0, other]),
    "key": lambda one, other: structure(one).key == structure(other).key,
    "map": lambda one, other: calque_pytree.map(lambda x, y: x, one, other),
    "map of several": lambda one, other: calque_pytree.map(lambda x, y: x, {"w": one}, {"w": other}),
    "flatten_up_to": lambda one, other: structure(one).flatten_up_to(other),
    "broadcast_prefix": lambda one, other: calque_pytree.broadcast_prefix(one, other),
    "flatten_axes": lambda one, other: calque_pytree.flatten_axes("in_axes", structure(one), other),
    "tree_transpose": lambda one, other: calque_pytree.tree_transpose(
        structure(one), structure([0, 0]), Box([1, 2], other.data)
    ),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize(
    ("make", "error"), [(Vague, ValueError), (lambda: (Vague(), 1), ValueError), (Refusing, RuntimeError)]
)
def test_static_data_that_cannot_be_compared_are_named_with_their_class_and_the_remedy(use, make, error):
    words = (
        r"^the static data of Box cannot be compared with ==: \(?Vague\(\).* and .* give "
        rf"{error.__name__}: (ambiguous|no ==)\nStatic data must compare to True or False\. Make an array a child of "
        r"the class, as a field that is not static\."
    )
    for _ in range(20):  # the last ones through compiled code
        with pytest.raises(error, match=words):
            use(Box(1, make()), Box(2, make()))


def test_an_error_whose_text_is_not_that_of_its_arguments_is_left_as_it_is():
    with pytest.raises(OddError, match="odd") as caught:
        assert structure(Box(1, Failing())) == structure(Box(2, Failing()))
    assert caught.value.args == (2, "odd")
    assert "Aux data must compare with == to a bool" in caught.value.__notes__[0]


def test_long_static_data_are_shortened_in_messages():
    with pytest.raises(ValueError, match=r"with ==: \(Vague\(\), \(0, 1, 2, .{20,40}\.\.\. and \(Vague"):
        assert structure(Box(1, (Vague(), tuple(range(999))))) == structure(Box(1, (Vague(), tuple(range(999)))))


def test_a_treedef_is_its_own_copy():
    registry = Registry()
    registry.register_node(set, lambda s: (sorted(s), None), lambda _, c: set(c))
    treedef = structure({1, 2}, registry=registry)
    assert copy.copy(treedef) is treedef
    assert copy.deepcopy([treedef])[0] is treedef


def test_unflatten_and_fit_give_the_same_before_and_after_code_is_made():
    tree = {"b": [1, (2, None)], "a": 3}
    treedef = PyTreeDef(structure(tree).nodes, 3)
    for _ in range(40):
        assert treedef.unflatten([3, 1, 2]) == tree
        assert list(treedef.unflatten([3, 1, 2])) == ["b", "a"]
        assert treedef.flatten_up_to({"a": (7,), "b": [8, ([9], None)]}) == [(7,), 8, [9]]
        with pytest.raises(ValueError, match="has a list of length 2 at"):
            treedef.flatten_up_to({"a": (7,), "b": [8]})
