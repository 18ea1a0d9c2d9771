import gc
import sys

import pytest

from calque_pytree import (
    Registry,
    flatten,
    flatten_with_path,
    leaves,
    map,
    register_pytree_node,
    structure,
    tree_flatten,
    tree_leaves,
    tree_structure,
    tree_unflatten,
    unflatten,
)

DEPTH = 100_000


def test_the_short_names_are_the_long_ones():
    assert (flatten, leaves, structure, unflatten) == (tree_flatten, tree_leaves, tree_structure, tree_unflatten)


def test_a_leaf_is_a_tree():
    values, treedef = flatten(3.0)
    assert values == [3.0]
    assert repr(treedef) == "PyTreeDef(*)"
    assert unflatten(treedef, ["x"]) == "x"


def test_none_is_an_empty_node_unless_it_is_said_to_be_a_leaf():
    tree = {"a": None, "b": [1, None]}
    assert leaves(tree) == [1]
    assert leaves(tree, none_is_leaf=True) == [None, 1, None]
    assert repr(structure(tree, none_is_leaf=True)) == "PyTreeDef({'a': *, 'b': [*, *]})"
    assert leaves(None, none_is_leaf=True) == [None]
    assert leaves((None, 1), none_is_leaf=True) == [None, 1]


def test_is_leaf_stops_at_a_node():
    tree = [(1, 2), {"a": (3, 4)}, None]
    values, treedef = flatten(tree, is_leaf=lambda node: isinstance(node, tuple) or node is None)
    assert values == [(1, 2), (3, 4), None]
    assert repr(treedef) == "PyTreeDef([*, {'a': *}, *])"
    assert unflatten(treedef, values) == tree


def test_is_leaf_is_not_asked_about_leaves():
    asked = []
    leaves([1, (2,)], is_leaf=asked.append)
    assert asked == [[1, (2,)], (2,)]


def test_an_error_of_is_leaf_names_the_node():
    with pytest.raises(ZeroDivisionError) as caught:
        leaves([0, {"a": ()}], is_leaf=lambda node: 1 / len(node) > 1)
    assert caught.value.__notes__ == ["Raised while flattening the tuple at [1]['a']."]


def test_a_list_changed_by_is_leaf_gives_a_treedef_of_what_was_there():
    tree = [1, (2,), 3]

    def is_leaf(node):
        if len(tree) < 20:
            tree.append(9)
        return False

    values, treedef = flatten(tree, is_leaf=is_leaf)
    assert treedef.num_leaves == len(values)
    assert unflatten(treedef, values) == [1, (2,), 3, 9]


def nested(wrap):
    tree = 1.0
    for _ in range(DEPTH):
        tree = wrap(tree)
    return tree


class Link:
    __slots__ = ("below",)

    def __init__(self, below):
        self.below = below


register_pytree_node(Link, lambda link: ((link.below,), None), lambda _, children: Link(*children))


@pytest.mark.sampled(keep=0.1)
@pytest.mark.parametrize("wrap", [lambda x: [x], lambda x: (x,), lambda x: {"a": x}, Link])
def test_a_tree_100_000_levels_deep_works(wrap):
    tree = nested(wrap)
    values, treedef = flatten(tree)
    assert values == [1.0]
    assert treedef.num_nodes == DEPTH + 1
    again = structure(map(lambda x: 2 * x, tree))
    assert again == treedef
    assert hash(again) == hash(treedef)
    assert len(repr(treedef)) > 2 * DEPTH
    assert treedef.flatten_up_to(unflatten(treedef, [2.0])) == [2.0]
    assert structure([0]).compose(treedef).children() == [treedef]
    [(path, leaf)], with_path = flatten_with_path(tree)
    assert (len(path), leaf, with_path) == (DEPTH, 1.0, treedef)
    del tree, treedef, again, with_path
    gc.collect()


def test_trees_that_differ_100_000_levels_down_are_refused_with_the_path():
    with pytest.raises(ValueError, match=r"has a list of length 1 at (\[0\]){100} *(\[0\])*, but .* a float there"):
        structure(nested(lambda x: [x])).flatten_up_to(leaves_cut_off(nested(lambda x: [x])))


def leaves_cut_off(tree):
    """Return `tree` one level less deep."""
    return tree[0]


def test_a_list_that_contains_itself_is_refused_with_the_path():
    tree = [1.0]
    tree.append({"x": [tree]})
    message = r"tree contains itself: the list at \[1\]\['x'\]\[0\] is the same object as the one at the root of the"
    for call in (leaves, flatten_with_path, structure):
        with pytest.raises(ValueError, match=message):
            call(tree)


def test_a_dict_that_contains_itself_is_refused_with_the_path():
    tree = {"a": 1.0}
    tree["self"] = tree
    message = r"the dict at \['self'\] is the same object as the one at the root of the tree"
    with pytest.raises(ValueError, match=message):
        leaves(tree)


def test_a_cycle_below_the_root_names_both_places():
    inner = [0]
    inner.append((inner,))
    with pytest.raises(ValueError, match=r"the list at \['w'\]\[1\]\[0\] is the same object as the one at \['w'\]"):
        leaves({"w": inner})


def test_a_cycle_through_a_registered_class_is_refused():
    link = Link(None)
    link.below = link
    with pytest.raises(ValueError, match=r"the Link at \[<flat index 0>\] is the same object as the one at the root"):
        leaves(link)


def test_a_cycle_longer_than_the_first_check_is_found():
    bottom = []
    tree = bottom
    for _ in range(3000):
        tree = [tree]
    bottom.append(tree)
    with pytest.raises(ValueError, match="contains itself"):
        leaves(tree)


def test_a_cycle_can_be_cut_off_by_is_leaf():
    tree = [1.0]
    tree.append((tree,))
    assert leaves(tree, is_leaf=lambda node: isinstance(node, tuple)) == [1.0, tree[1]]


def test_one_object_in_many_places_is_no_cycle():
    shared = [1]
    tree = [shared, shared]
    for _ in range(600):
        tree = [tree]
    assert leaves(tree) == [1, 1]


def test_a_class_that_makes_new_nodes_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(sys.modules[tree_flatten.__module__], "MAX_DEPTH", 50_000)
    registry = Registry()
    registry.register_node(Link, lambda link: ((Link(None),), None), lambda data, children: Link(*children))
    with pytest.raises(ValueError, match="more than 50,000 levels deep, down to a Link"):
        leaves(Link(None), registry=registry)


def test_flat_tuples_share_their_treedef():
    leaves([1, 2.0, "a", b""])  # makes these classes known as leaves
    assert structure((1, 2.0)) is structure(("a", b""))
    assert structure((1, None)) == structure((2, None))
