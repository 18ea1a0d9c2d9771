import pytest

from calque_pytree import Registry, combine, partition

TREE = {"w": [1.0, 2.0], "name": "dense", "skip": None, "inner": (3.0, 4)}


def is_float(leaf):
    return isinstance(leaf, float)


def test_partition_puts_none_for_the_leaves_of_the_other_tree():
    yes, no = partition(is_float, TREE)
    assert yes == {"w": [1.0, 2.0], "name": None, "skip": None, "inner": (3.0, None)}
    assert no == {"w": [None, None], "name": "dense", "skip": None, "inner": (None, 4)}


def test_combine_undoes_partition():
    assert combine(*partition(is_float, TREE)) == TREE
    assert combine(*reversed(partition(is_float, TREE))) == TREE


def test_partition_asks_the_predicate_once_per_leaf():
    asked = []
    partition(asked.append, TREE)
    assert asked == [3.0, 4, "dense", 1.0, 2.0]


def test_is_leaf_keeps_subtrees_whole():
    def is_tuple(node):
        return isinstance(node, tuple)

    yes, no = partition(is_tuple, TREE, is_leaf=is_tuple)
    assert yes["inner"] == (3.0, 4)
    assert no["inner"] is None
    assert combine(yes, no, is_leaf=is_tuple) == TREE


def test_combine_takes_the_first_leaf_that_is_not_none():
    assert combine([None, 2, None], [1, 5, None], [7, 7, None]) == [1, 2, None]


def test_combine_of_different_structures_names_the_place():
    with pytest.raises(ValueError, match=r"has a list of length 1 at \['a'\], but tree number 2 has an int there"):
        combine({"a": [None]}, {"a": 1})


def test_combine_of_nothing_is_refused():
    with pytest.raises(TypeError, match=r"combine got no trees. Pass at least one"):
        combine()


def test_the_passed_registry_is_used():
    registry = Registry()
    registry.register_node(set, lambda s: (sorted(s, key=str), None), lambda _, children: list(children))
    assert partition(is_float, [{1.0, 2}], registry=registry) == ([[1.0, None]], [[None, 2]])
