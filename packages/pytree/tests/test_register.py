import pytest

from calque_pytree import (
    GetAttrKey,
    Registry,
    flatten,
    keystr,
    leaves,
    leaves_with_path,
    map,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    structure,
)


class Pair:
    def __init__(self, a, b):
        self.a, self.b = a, b


def flatten_pair(pair):
    return (pair.a, pair.b), "aux"


def flatten_pair_with_keys(pair):
    return ((GetAttrKey("a"), pair.a), (GetAttrKey("b"), pair.b)), "aux"


def unflatten_pair(aux, children):
    assert aux == "aux"
    assert type(children) is tuple
    return Pair(*children)


def path_texts(tree, registry):
    return [keystr(path) for path, _ in leaves_with_path(tree, registry=registry)]


def test_a_node_is_flattened_and_unflattened_by_its_functions():
    registry = Registry()
    register_pytree_node(Pair, flatten_pair, unflatten_pair, registry=registry)
    tree = map(lambda x: 10 * x, [Pair(1, (2, 3))], registry=registry)
    assert (tree[0].a, tree[0].b) == (10, (20, 30))
    assert path_texts(Pair(1, 2), registry) == ["[<flat index 0>]", "[<flat index 1>]"]


def test_a_node_may_name_its_children():
    registry = Registry()
    register_pytree_node(Pair, flatten_pair, unflatten_pair, flatten_pair_with_keys, registry=registry)
    assert path_texts([Pair(1, 2)], registry) == ["[0].a", "[0].b"]


def test_the_keyed_function_alone_is_enough():
    registry = Registry()
    register_pytree_with_keys(Pair, flatten_pair_with_keys, unflatten_pair, registry=registry)
    values, treedef = flatten(Pair(1, 2), registry=registry)
    assert values == [1, 2]
    assert treedef == leaves_with_path_treedef(Pair(1, 2), registry)
    assert path_texts(Pair(1, 2), registry) == [".a", ".b"]


def leaves_with_path_treedef(tree, registry):
    return structure(tree, registry=registry)


def test_a_keyless_function_is_used_where_keys_are_not_needed():
    registry, calls = Registry(), []

    def with_keys(pair):
        calls.append("keys")
        return flatten_pair_with_keys(pair)

    register_pytree_with_keys(Pair, with_keys, unflatten_pair, flatten_pair, registry=registry)
    assert leaves(Pair(1, 2), registry=registry) == [1, 2]
    assert calls == []
    assert path_texts(Pair(1, 2), registry) == [".a", ".b"]
    assert calls == ["keys"]


def test_a_class_may_bring_its_own_methods():
    registry = Registry()

    class Own(Pair):
        def tree_flatten(self):
            return flatten_pair(self)

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)

    assert register_pytree_node_class(Own, registry=registry) is Own
    got = map(lambda x: -x, Own(1, 2), registry=registry)
    assert (type(got), got.a, got.b) == (Own, -1, -2)


def test_a_class_may_bring_its_own_methods_with_keys():
    registry = Registry()

    class Own(Pair):
        def tree_flatten_with_keys(self):
            return flatten_pair_with_keys(self)

        @classmethod
        def tree_unflatten(cls, aux, children):
            return cls(*children)

    class Both(Own):
        def tree_flatten(self):
            return (self.a,), None

    assert register_pytree_with_keys_class(Own, registry=registry) is Own
    register_pytree_with_keys_class(Both, registry=registry)
    assert path_texts(Own(1, 2), registry) == [".a", ".b"]
    assert leaves(Own(1, 2), registry=registry) == [1, 2]
    assert leaves(Both(1, 2), registry=registry) == [1]


@pytest.mark.parametrize(
    ("register", "name"),
    [
        (register_pytree_node_class, "tree_flatten"),
        (register_pytree_with_keys_class, "tree_flatten_with_keys"),
    ],
)
def test_a_class_without_the_methods_is_refused(register, name):
    with pytest.raises(TypeError, match=f"Pair has no method {name}, which its registration .* Define {name}, or use"):
        register(Pair)


@pytest.mark.parametrize("register", [register_pytree_node_class, register_pytree_with_keys_class, register_static])
def test_an_instance_is_refused(register):
    with pytest.raises(TypeError, match=r"Only a class can be registered as a pytree node, but got .*Pass the class"):
        register(Pair(1, 2))


def test_a_static_value_is_structure():
    registry = Registry()

    class Mode(str):
        __slots__ = ()

    assert register_static(Mode, registry=registry) is Mode
    values, treedef = flatten([Mode("train"), 1], registry=registry)
    assert values == [1]
    assert treedef.unflatten([2]) == ["train", 2]
    assert treedef == structure([Mode("train"), 5], registry=registry)
    assert treedef != structure([Mode("eval"), 5], registry=registry)
