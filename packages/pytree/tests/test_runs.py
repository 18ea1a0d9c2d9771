import contextlib
import dataclasses
import math
from collections import OrderedDict, namedtuple

import pytest

from calque_pytree import Registry, flatten, leaves, map, register_dataclass, static, structure
from calque_pytree.build import unflatten
from calque_pytree.descent import MIN_LEAVES, compile_fit, compile_match
from calque_pytree.generated import compile_unflatten
from calque_pytree.runs import MAX_NODES, MAX_TREE, MIN_SAVED, Run, best_run, exact_key, find_runs

Point = namedtuple("Point", ["x", "y"])  # noqa: PYI024


@register_dataclass
@dataclasses.dataclass
class Layer:
    w: object
    b: object
    name: object = static(default="layer")


MANY = range(30)
TREES = {
    "leaves": [*MANY],
    "lists": [[i] for i in MANY],
    "empty": [[] for _ in MANY],
    "none": [None for _ in MANY],
    "loops in loops": [[(i, j) for j in MANY] for i in MANY],
    "before and after": (0, {"a": 1}, *([i, (i,)] for i in MANY), [2], 3),
    "two runs": {"a": [*MANY], "b": [Point(i, i) for i in MANY], "c": 5},
    "sorted keys": {f"{i:02}": (i, [i]) for i in MANY},
    "keys in another order": {f"{i:02}": (i, [i]) for i in reversed(MANY)},
    "dict of leaves": {f"{i:02}": i for i in reversed(MANY)},
    "ordered": OrderedDict((str(i), [i]) for i in MANY),
    "dataclasses": [Layer(i, [i]) for i in MANY],
    "in a dataclass": Layer([Layer(i, None) for i in MANY], 1, name="outer"),
    "a few, and many": [(1,), [2], [3], *((i,) for i in MANY)],
}


@pytest.mark.parametrize("tree", TREES.values(), ids=TREES)
def test_loops_do_what_the_code_for_each_node_does(tree):
    treedef = structure(tree)
    assert find_runs(treedef.nodes).of
    match, build = compile_match(treedef.nodes), compile_unflatten(treedef.nodes)
    assert match(tree) == compile_fit(treedef.nodes)(tree) == leaves(tree)
    values = [str(leaf) for leaf in leaves(tree)]
    assert build(values) == unflatten(treedef.nodes, values)
    assert list_of_keys(build(values)) == list_of_keys(tree)


def list_of_keys(tree):
    return list(tree) if isinstance(tree, dict) else None


@pytest.mark.parametrize("position", [0, 7, 29])
def test_a_match_looks_at_each_subtree_of_a_run(position):
    tree = [Layer(i, (i,)) for i in MANY]
    for find in (compile_match(structure(tree).nodes), compile_fit(structure(tree).nodes)):
        assert find(tree) is not None
        for other in (Layer(1, (1, 2)), Layer(1, [1]), Layer(1, (1,), name="other"), 1, None):
            assert find([*tree[:position], other, *tree[position + 1 :]]) is None


def test_a_match_counts_the_subtrees_of_a_run():
    class Many:
        def __init__(self, *items):
            self.items = items

    registry = Registry()
    registry.register_node(Many, lambda node: (node.items, None), lambda _, children: Many(*children))
    longer = [([[0, 0]] * 30, [0] * 3), ([{"a": 0}] * 30, {"a": 0, "b": 0}), ([Many(0, 0)] * 30, Many(0, 0, 0))]
    pairs = [
        ([0] * 30, [0] * 29),
        ((Point(0, 0),) * 30, (Point(0, 0),) * 31),
        ({str(i): 0 for i in MANY}, {str(i): 0 for i in MANY[1:]}),
        (Many(*MANY), Many(*MANY[1:])),
        *((trees, [*trees[1:], other]) for trees, other in longer),
    ]
    for tree, other in pairs:
        nodes = structure(tree, registry=registry).nodes
        for find in (compile_match(nodes), compile_fit(nodes)):
            assert find(tree) is not None
            with contextlib.suppress(ValueError):
                assert find(other) is None


def test_subtrees_that_compare_equal_and_differ_are_no_run():
    for one, other in ((1, True), (1, 1.0), (0.0, -0.0)):
        tree = [Layer(0, 0, name=one if i % 2 else other) for i in MANY]
        assert find_runs(structure(tree).nodes).of == {}
        assert [repr(layer.name) for layer in compile_unflatten(structure(tree).nodes)([0] * 60)] == [
            repr(layer.name) for layer in tree
        ]
    orders = [{"a": 0, "b": 0} if i % 2 else {"b": 0, "a": 0} for i in MANY]
    assert [[*d] for d in compile_unflatten(structure(orders).nodes)([0] * 60)] == [[*d] for d in orders]


def test_data_of_a_user_s_class_is_neither_compared_nor_shared():
    class Odd:
        def __eq__(self, other):
            raise AssertionError("compared")

        __hash__ = None

    tree = [Layer(i, i, name=Odd()) for i in MANY]
    nodes = structure(tree).nodes
    assert find_runs(nodes).of == {}
    assert compile_match(nodes) is None
    built = compile_unflatten(nodes)([0] * 60)
    assert all(new.name is old.name for new, old in zip(built, tree, strict=True))


def test_nan_is_one_value_for_a_key():
    node = structure(Layer(0, 0, name=math.nan)).nodes[0]
    assert exact_key(node) == exact_key(structure(Layer(1, 1, name=math.nan)).nodes[0])


@pytest.mark.parametrize("place", [0, 13])
def test_an_error_in_a_loop_names_the_path_of_the_node(place):
    class Refuses:
        def __init__(self, x):
            self.x = x

    def build(_, children):
        if children[0] == "bad":
            raise ValueError("refused")
        return Refuses(*children)

    registry = Registry()
    registry.register_node(Refuses, lambda node: ((node.x,), None), build)
    treedef = structure({"a": 0, "b": [[(Refuses(0), 1)] * 10] * 3}, registry=registry)
    values = [0] * treedef.num_leaves
    values[1 + 2 * place] = "bad"
    with pytest.raises(ValueError, match="refused") as caught:
        compile_unflatten(treedef.nodes)(values)
    with pytest.raises(ValueError, match="refused") as by_loop:
        unflatten(treedef.nodes, values)
    assert caught.value.__notes__ == by_loop.value.__notes__
    assert f"['b'][{place // 10}][{place % 10}][0]" in caught.value.__notes__[0]


def test_the_run_of_a_node_saves_most_and_no_less_than_it_costs():
    assert best_run([]) == (0, 0, 0)
    assert best_run([(1, 3, 3), (1, 3, 3), (2, 9, 2), (2, 9, 2), (2, 9, 2), (1, 3, 3)]) == (2, 3, 4)
    few, many = [(0,)] * (MIN_SAVED // 2), [(0,)] * (MIN_SAVED // 2 + 1)
    assert find_runs(structure(few).nodes).of == {}
    assert find_runs(structure([[], *many]).nodes).of == {0: Run(2, len(many), 2)}
    assert find_runs(structure([*range(8)]).nodes).of == {}
    assert find_runs(structure([*range(8)]).nodes, 8).of == {0: Run(1, 8, 1)}


def model(number, *, width=8, same=True):
    """Return the parameters of so many layers, with the same keys in each or with keys of their own."""
    suffix = ["" if same else str(i) for i in range(number)]
    return [
        {part: {f"{j}{suffix[i]}": 0.0 for j in range(width)} for part in ("attention", "mlp")} for i in range(number)
    ]


def size_of_code(function):
    return len(function.__code__.co_code)


@pytest.mark.parametrize("compiled", [compile_match, compile_fit, compile_unflatten])
def test_the_code_for_a_model_of_equal_layers_does_not_grow_with_their_number(compiled):
    few, many = (size_of_code(compiled(structure(model(number)).nodes)) for number in (4, 40))
    assert many < 1.2 * few


@pytest.mark.parametrize("compiled", [compile_match, compile_fit])
def test_the_code_that_flattens_a_dict_does_not_grow_with_its_leaves(compiled):
    narrow, wide = (
        size_of_code(compiled(structure(model(4, width=width, same=False)).nodes)) for width in (MIN_LEAVES, 40)
    )
    assert wide < 1.2 * narrow


def test_code_for_equal_neighbours_is_made_however_many_there_are_and_for_others_up_to_a_bound():
    assert find_runs(structure([(i, i) for i in range(MAX_NODES)]).nodes) is not None
    assert find_runs(structure([[0] * (i % 7) for i in range(MAX_NODES)]).nodes) is None
    assert find_runs(structure([0] * MAX_TREE).nodes) is None


def test_a_tree_that_is_flattened_often_is_flattened_by_its_loops():
    registry = Registry()
    tree = {"layers": [{"b": float(i), "w": (i, None)} for i in range(3000)]}
    for _ in range(20):
        values, treedef = flatten(tree, registry=registry)
        again = treedef.unflatten(values)
    assert flatten(tree, registry=registry)[1] is treedef
    assert again == tree
    assert map(lambda x: x, tree, registry=registry) == tree


def test_a_chain_of_any_depth_is_compiled_without_recursion():
    tree = 0
    for _ in range(3000):
        tree = [tree]
    treedef = structure(tree)
    assert compile_match(treedef.nodes)(tree) == [0]
    assert leaves(compile_unflatten(treedef.nodes)([5])) == [5]
