from calque_pytree import Registry, flatten, leaves, structure, unflatten
from calque_pytree.generated import MAX_NODES
from calque_pytree.recent import MAX_CANDIDATES, MAX_STRUCTURES, MAX_WIDTH, outline


def flatten_often(tree, registry, **kwargs):
    for _ in range(20):
        result = flatten(tree, registry=registry, **kwargs)
    return result


def test_a_frequent_structure_has_one_treedef():
    registry = Registry()
    tree = {"b": [1, (2, None)], "a": 3}
    values, treedef = flatten_often(tree, registry)
    assert values == [3, 1, 2]
    assert flatten({"b": [4, (5, None)], "a": 6}, registry=registry)[1] is treedef
    assert treedef == structure(tree)


def test_a_rare_structure_is_not_kept():
    registry = Registry()
    leaves([(1, 2)], registry=registry)
    assert registry.tables[0].recent.candidates == {}


def test_an_inner_node_where_a_leaf_was_is_flattened():
    registry = Registry()
    flatten_often({"a": 1, "b": (2,)}, registry)
    values, treedef = flatten({"a": [7, 8], "b": (2,)}, registry=registry)
    assert values == [7, 8, 2]
    assert repr(treedef) == "PyTreeDef({'a': [*, *], 'b': (*,)})"


def test_another_order_of_a_dict_is_kept_apart():
    registry = Registry()
    _, ab = flatten_often([{"a": 1, "b": 2}], registry)
    _, ba = flatten_often([{"b": 2, "a": 1}], registry)
    assert ab == ba
    assert list(unflatten(ab, [1, 2])[0]) == ["a", "b"]
    assert list(unflatten(ba, [1, 2])[0]) == ["b", "a"]


def test_none_is_a_node_or_a_leaf_as_asked_each_time():
    registry = Registry()
    assert flatten_often([None, (1,)], registry)[0] == [1]
    assert flatten_often([None, (1,)], registry, none_is_leaf=True)[0] == [None, 1]
    assert flatten_often([None, (1,)], registry)[0] == [1]


def test_is_leaf_is_asked_each_time():
    registry = Registry()
    flatten_often([(1,)], registry)
    assert leaves([(1,)], registry=registry, is_leaf=lambda node: isinstance(node, tuple)) == [(1,)]


def test_only_a_few_structures_of_one_outline_are_tried():
    registry = Registry()
    for i in range(3 * MAX_CANDIDATES):
        flatten_often([(1,) * i], registry)
    assert len(registry.tables[0].recent.candidates[outline([()])]) == MAX_CANDIDATES
    assert leaves([(1, 2)], registry=registry) == [1, 2]


def test_huge_trees_are_not_counted():
    registry = Registry()
    flatten_often([list(range(MAX_NODES))], registry)
    recent = registry.tables[0].recent
    assert (recent.counts, recent.candidates) == ({}, {})


def test_the_number_of_counted_structures_is_bounded():
    registry = Registry()
    for i in range(MAX_STRUCTURES + 1):
        leaves({str(i): (1,)}, registry=registry)
    assert len(registry.tables[0].recent.counts) < MAX_STRUCTURES


def test_wide_roots_have_a_short_outline():
    assert outline({"a": 1, "b": 2}) == ("a", "b")
    assert outline({i: i for i in range(MAX_WIDTH + 1)}) == MAX_WIDTH + 1
    assert outline([0] * (MAX_WIDTH + 1)) == MAX_WIDTH + 1
    assert outline(None) is type(None)
