"""Laws that hold for every tree."""

import pickle
from collections import OrderedDict, defaultdict, namedtuple
from unittest import mock

from hypothesis import example, given
from hypothesis import strategies as st

from calque_pytree import (
    PyTreeDef,
    Registry,
    broadcast,
    broadcast_prefix,
    combine,
    descent,
    flatten,
    flatten_axes,
    flatten_with_path,
    leaves,
    map,
    partition,
    prefix_errors,
    runs,
    structure,
    transpose,
    treedef_tuple,
    unflatten,
)
from calque_pytree.descent import compile_fit, compile_match
from calque_pytree.flattening import flatten_nodes
from calque_pytree.generated import compile_unflatten

Point = namedtuple("Point", ["x", "y"])  # noqa: PYI024

KEYS = st.one_of(st.text("abc", max_size=2), st.integers(0, 3), st.booleans())


def containers(children):
    dicts = st.dictionaries(KEYS, children, max_size=4)
    return st.one_of(
        st.lists(children, max_size=4),
        st.lists(children, max_size=4).map(tuple),
        dicts,
        dicts.map(OrderedDict),
        dicts.map(lambda d: defaultdict(int, d)),
        st.builds(Point, children, children),
    )


LEAVES = st.integers()
TREES = st.recursive(st.one_of(LEAVES, st.none()), containers, max_leaves=12)


def look(tree):
    """Return all that can be seen of `tree`: classes, the order of dicts, the classes of keys."""
    if isinstance(tree, dict):
        return type(tree), [(type(key), key, look(value)) for key, value in tree.items()]
    if isinstance(tree, (list, tuple)):
        return type(tree), [look(item) for item in tree]
    return tree


@given(TREES)
def test_unflatten_undoes_flatten(tree):
    values, treedef = flatten(tree)
    assert len(values) == treedef.num_leaves
    assert look(unflatten(treedef, values)) == look(tree)


@given(TREES, st.integers(0, 5))
def test_unflatten_undoes_flatten_however_often(tree, extra):
    registry = Registry()
    for _ in range(16 + extra):
        values, treedef = flatten(tree, registry=registry)
    assert look(unflatten(treedef, values)) == look(tree)


@given(TREES)
def test_generated_code_agrees_with_the_loops(tree):
    values, treedef = flatten(tree)
    assert look(compile_unflatten(treedef.nodes)(values)) == look(tree)
    assert compile_fit(treedef.nodes)(tree) == values
    match = compile_match(treedef.nodes)
    assert match is None or match(tree) == values


class Node:
    """A node of a user's class, with data of any plain kind."""

    def __init__(self, children, data):
        self.children, self.data = children, data


NODES = Registry()
NODES.register_node(Node, lambda node: (node.children, node.data), lambda data, children: Node(children, data))
DATA = st.recursive(
    st.sampled_from([None, 0, 1, True, 0.0, -0.0, 1.0, "a", b"a", int, len]), lambda items: st.tuples(items, items)
)
TREES_OF_NODES = st.recursive(
    LEAVES, lambda items: containers(items) | st.builds(Node, st.lists(items, max_size=3), DATA), max_leaves=12
)


def look_at_nodes(tree):
    if isinstance(tree, Node):
        return Node, repr(tree.data), [look_at_nodes(item) for item in tree.children]
    if isinstance(tree, dict):
        return type(tree), [(type(key), key, look_at_nodes(value)) for key, value in tree.items()]
    return (type(tree), [look_at_nodes(item) for item in tree]) if isinstance(tree, (list, tuple)) else tree


@given(TREES_OF_NODES, TREES_OF_NODES)
def test_generated_code_agrees_with_the_loops_on_nodes_of_a_user_s_class(tree, other):
    values, treedef = flatten(tree, registry=NODES)
    assert look_at_nodes(compile_unflatten(treedef.nodes)(values)) == look_at_nodes(tree)
    match = compile_match(treedef.nodes)
    if match is None:
        return
    assert match(tree) == values
    matched = result_of(match, other)
    if matched is not None and all(map(is_leaf, matched)):
        assert look_at_nodes(treedef.unflatten(matched)) == look_at_nodes(other)


def result_of(match, tree):
    """Return what generated code finds in a tree, None if it raises: then the loop flattens the tree."""
    try:
        return match(tree)
    except Exception:  # noqa: BLE001  it may raise any
        return None


WIDE = st.recursive(
    st.one_of(LEAVES, st.none()),
    lambda items: st.one_of(
        containers(items),
        st.tuples(items, st.integers(2, 5)).map(lambda pair: [pair[0]] * pair[1]),
        st.tuples(items, st.integers(2, 5)).map(lambda pair: {str(i): pair[0] for i in reversed(range(pair[1]))}),
    ),
    max_leaves=8,
)


@given(WIDE, WIDE)
@example([[None] * 2] * 2, [])  # neighbours without leaves inside neighbours without leaves
def test_loops_over_equal_neighbours_agree_with_the_loop_over_all_nodes(tree, other):
    with mock.patch.object(runs, "MIN_SAVED", 1), mock.patch.object(descent, "MIN_LEAVES", 2):
        values, treedef = flatten(tree)
        assert look(compile_unflatten(treedef.nodes)(values)) == look(tree)
        fit, match = compile_fit(treedef.nodes), compile_match(treedef.nodes)
    assert fit(tree) == values
    subtrees = result_of(fit, other)
    assert subtrees is None or look(subtrees) == look(treedef.flatten_up_to(other))
    if match is None:
        return
    assert match(tree) == values
    matched = result_of(match, other)
    if matched is not None and all(map(is_leaf, matched)):
        assert look(unflatten(treedef, matched)) == look(other)


@given(TREES, TREES)
def test_a_match_is_never_wrong(tree, other):
    match = compile_match(structure(tree).nodes)
    if match is None or (matched := result_of(match, other)) is None:
        return
    if any(not is_leaf(value) for value in matched):
        return
    assert look(structure(tree).unflatten(matched)) == look(other)


def is_leaf(value):
    return isinstance(value, int)


@given(TREES)
def test_mapping_the_identity_changes_nothing(tree):
    assert look(map(lambda x: x, tree)) == look(tree)


@given(TREES)
def test_map_composes(tree):
    assert map(lambda x: (x + 1) * 2, tree) == map(lambda x: x * 2, map(lambda x: x + 1, tree))


@given(TREES, TREES)
def test_treedefs_are_equal_exactly_when_each_fits_the_other(tree, other):
    one, two = structure(tree), structure(other)
    if one == two:
        assert hash(one) == hash(two)
        assert repr(one) == repr(two) or "True" in repr(one) + repr(two) or "False" in repr(one) + repr(two)
    both = not prefix_errors(tree, other) and not prefix_errors(other, tree)
    assert both == (one == two)


@given(TREES)
def test_a_treedef_is_made_of_its_children(tree):
    treedef = structure(tree)
    children = treedef.children()
    assert sum(child.num_leaves for child in children) == treedef.num_leaves - treedef.is_leaf
    assert sum(child.num_nodes for child in children) == treedef.num_nodes - 1
    assert treedef_tuple(children).children() == children


@given(TREES, TREES)
def test_compose_is_flattening_a_tree_of_trees(outer, inner):
    composed = structure(outer).compose(structure(inner))
    assert composed == structure(map(lambda _: inner, outer))
    assert repr(composed) == repr(structure(map(lambda _: inner, outer)))


@given(TREES, st.data())
def test_a_tree_cut_anywhere_is_a_prefix(tree, data):
    cut = data.draw(st.sets(st.integers(0, 10)))
    seen = iter(range(1_000))

    def is_cut(node):
        return next(seen) in cut

    subtrees, prefix = flatten(tree, is_cut)
    labels = [object() for _ in subtrees]
    prefix_tree = unflatten(prefix, labels)
    expected = [label for label, subtree in zip(labels, subtrees, strict=True) for _ in leaves(subtree)]
    assert prefix.flatten_up_to(tree) == subtrees
    assert prefix_errors(prefix_tree, tree) == []
    assert broadcast_prefix(prefix_tree, tree) == expected
    assert flatten_axes("axes", structure(tree, none_is_leaf=True), prefix_tree) is not None
    assert structure(broadcast(prefix_tree, tree)) == structure(tree)


@given(TREES)
def test_paths_lead_to_the_leaves(tree):
    pairs, treedef = flatten_with_path(tree)
    assert treedef == structure(tree)
    for path, leaf in pairs:
        node = tree
        for entry in path:
            node = (
                getattr(node, entry.name)
                if hasattr(entry, "name")
                else node[getattr(entry, "key", None) if hasattr(entry, "key") else entry.idx]
            )
        assert node is leaf


@given(TREES)
def test_combine_undoes_partition(tree):
    assert look(combine(*partition(lambda x: x % 2 == 0, tree))) == look(tree)


@given(TREES.filter(leaves), TREES.filter(leaves))
def test_transposing_twice_changes_nothing(outer, inner):
    numbers = iter(range(1_000))
    tree = map(lambda _: map(lambda _: next(numbers), inner), outer)
    there = transpose(structure(outer), structure(inner), tree)
    assert look(transpose(structure(inner), structure(outer), there)) == look(tree)


@given(TREES)
def test_a_pickled_treedef_is_the_same(tree):
    treedef = structure(tree)
    again = pickle.loads(pickle.dumps(treedef))
    assert again == treedef
    assert look(again.unflatten(leaves(tree))) == look(tree)


@given(TREES)
def test_the_loop_gives_what_flatten_gives(tree):
    registry = Registry()
    values, nodes = flatten_nodes(tree, registry.tables[0], None)
    assert (values, PyTreeDef(tuple(nodes), len(values))) == flatten(tree)
