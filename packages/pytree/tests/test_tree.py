from collections import defaultdict

import pytest

import calque_pytree
from calque_pytree import (
    Registry,
    all_leaves,
    flatten_one_level,
    flatten_one_level_with_keys,
    is_tree_node,
    keystr,
    map,
    reduce,
    reduce_associative,
    register_pytree_node_class,
    structure,
    transpose,
)


def test_map_keeps_the_structure():
    assert map(lambda x: -x, {"b": [1, None], "a": (2,)}) == {"b": [-1, None], "a": (-2,)}
    assert list(map(abs, {"b": -1, "a": 2})) == ["b", "a"]


def test_map_is_the_same_the_first_time_and_the_hundredth():
    for i in range(100):
        tree, other = {"b": i, "a": [2, None]}, {"a": [(3,), None], "b": 4}
        assert map(lambda x, y: (x, y), tree, other) == {"b": (i, 4), "a": [(2, (3,)), None]}
        with pytest.raises(ValueError, match=r"has a list of length 2 at \['a'\], but tree number 2 has an int there"):
            map(lambda x, y: x, tree, {"a": 3, "b": 4})


@pytest.mark.parametrize("name", ["map", "reduce", "map_with_path"])
def test_a_tree_in_the_place_of_the_function_is_refused(name):
    words = rf"^{name} got a dict as its function\. Give the function first: {name}\(f, tree\)\.$"
    with pytest.raises(TypeError, match=words):
        getattr(calque_pytree, name)({"a": 1}, lambda *args: args)


def test_map_passes_the_subtrees_of_further_trees():
    assert map(lambda x, y, z: (x, y, z), [1, 2], [(3,), 4], [None, {}]) == [(1, (3,), None), (2, 4, {})]


@pytest.mark.parametrize(
    ("trees", "message"),
    [
        (([1, 2], [1]), "has a list of length 2 at the root of the tree, but tree number 2 has a list of length 1"),
        (([[1]], [[1]], [1]), r"has a list of length 1 at \[0\], but tree number 3 has an int there"),
        (([None], [1]), r"has None at \[0\], but tree number 2 has an int there"),
    ],
)
def test_map_over_different_structures_names_the_path_and_both_sides(trees, message):
    with pytest.raises(ValueError, match="The first tree of the map " + message) as caught:
        map(lambda *xs: xs, *trees)
    assert str(caught.value).endswith("Give all trees of the map the structure of the first.")


def test_two_classes_of_one_name_and_two_default_factories_are_told_apart():
    first, second = (register_pytree_node_class(again) for again in (make_box(), make_box()))
    message = r"has a Box .* at \[0\], but tree number 2 has a Box \(another class of the same name\) there\."
    with pytest.raises(ValueError, match=message):
        map(lambda *xs: xs, [first()], [second()])
    message = r"keys \['a'\] \(with the default factory <class 'list'>, not <class 'int'>\) there\."
    with pytest.raises(ValueError, match=message):
        map(lambda *xs: xs, defaultdict(int, a=1), defaultdict(list, a=1))


def make_box():
    class Box:
        def tree_flatten(self):
            return (1,), None

        @classmethod
        def tree_unflatten(cls, data, children):
            return cls()

    return Box


def test_a_list_changed_by_the_mapped_function_does_not_disturb_the_map():
    tree = [1, 2, 3]

    def f(x):
        if len(tree) < 20:
            tree.append(9)
        return x

    assert map(f, tree) == [1, 2, 3]


def test_map_may_treat_none_as_a_leaf():
    assert map(lambda x: x is None, [1, None], none_is_leaf=True) == [False, True]
    assert map(lambda x, y: y, [None], [(1, 2)], none_is_leaf=True) == [(1, 2)]


def test_map_uses_the_passed_registry():
    registry = Registry()
    registry.register_node(set, lambda s: (sorted(s), None), lambda _, children: set(children))
    assert map(lambda x: -x, [{1, 2}], registry=registry) == [{-1, -2}]


def test_reduce_goes_from_left_to_right():
    assert reduce(lambda total, x: [*total, x], {"b": 1, "a": (2, 3)}, []) == [2, 3, 1]
    assert reduce(lambda x, y: x - y, [10, 1, 2]) == 7
    assert reduce(lambda x, y: x, [], None) is None
    assert reduce(max, [(1, 2), (0, 3)], is_leaf=lambda node: isinstance(node, tuple)) == (1, 2)


def test_reduce_of_nothing_needs_an_initializer():
    with pytest.raises(TypeError, match=r"tree_reduce got a tree without leaves and no initializer. Pass initializer="):
        reduce(max, [None])


@pytest.mark.parametrize("count", range(1, 10))
def test_reduce_associative_keeps_the_order_and_is_shallow(count):
    def join(x, y):
        return (x[0] + y[0], max(x[1], y[1]) + 1)

    text, depth = reduce_associative(join, [(str(i), 0) for i in range(count)], is_leaf=lambda n: isinstance(n, tuple))
    assert text == "012345678"[:count]
    assert depth == (count - 1).bit_length()


def test_reduce_associative_of_nothing_needs_an_identity():
    assert reduce_associative(max, [], identity=0) == 0
    with pytest.raises(TypeError, match=r"without leaves and no identity. Pass identity="):
        reduce_associative(max, [])


def test_all_asks_every_leaf():
    assert calque_pytree.all({"a": True, "b": []})
    assert not calque_pytree.all([1, (0,)])
    assert calque_pytree.all([None])
    assert not calque_pytree.all([None], none_is_leaf=True)


def test_transpose_swaps_inner_and_outer():
    outer, inner = structure({"a": 0, "b": 0}), structure([0, 0, 0])
    tree = {"a": [1, 2, 3], "b": [4, 5, 6]}
    expected = [{"a": 1, "b": 4}, {"a": 2, "b": 5}, {"a": 3, "b": 6}]
    assert transpose(outer, inner, tree) == expected
    assert transpose(outer, None, tree) == expected
    assert transpose(inner, outer, expected) == tree


def test_transpose_of_another_structure_names_the_place():
    with pytest.raises(
        ValueError, match=r"has a dict with the keys .* at the root of the tree, but the tree has an int"
    ):
        transpose(structure([0, 0]), structure({"a": 0}), [{"a": 1}, 2])


@pytest.mark.parametrize("inner", [structure([]), None])
def test_transpose_needs_leaves(inner):
    with pytest.raises(ValueError, match=r"outer structure PyTreeDef\(\[\]\) .* Both need at least one leaf"):
        transpose(structure([]), inner, [])


def test_all_leaves_asks_about_the_items_only():
    assert all_leaves([1, "a"])
    assert not all_leaves([1, None])
    assert all_leaves([1, None], none_is_leaf=True)
    assert all_leaves([(1,)], is_leaf=lambda node: isinstance(node, tuple))


def test_one_level_is_flattened():
    assert flatten_one_level({"b": [1], "a": (2,)}) == (((2,), [1]), ["a", "b"])
    pairs, data = flatten_one_level_with_keys({"b": [1], "a": (2,)})
    assert [(keystr([key]), child) for key, child in pairs] == [("['a']", (2,)), ("['b']", [1])]
    assert data == ["a", "b"]
    assert flatten_one_level(None) == ((), None)


@pytest.mark.parametrize("function", [flatten_one_level, flatten_one_level_with_keys])
def test_a_leaf_has_no_level(function):
    with pytest.raises(ValueError, match="A value of type int is a leaf and has no level to flatten"):
        function(1)


def test_is_tree_node_asks_about_classes():
    assert is_tree_node(list)
    assert not is_tree_node(set)
    registry = Registry()
    registry.register_node(set, lambda s: (sorted(s), None), lambda _, children: set(children))
    assert is_tree_node(set, registry=registry)


def test_an_iterator_with_too_few_items_is_named_by_the_leaf_that_lacks_one():
    items = iter([1])
    with pytest.raises(ValueError, match=r"raised StopIteration at the leaf \['b'\]\[0\], so .* Give it 3 items"):
        map(lambda leaf: next(items), {"a": 0, "b": [0, 0]})
    with pytest.raises(ValueError, match="at the leaf at the root"):
        map(lambda leaf: next(items), 0)
