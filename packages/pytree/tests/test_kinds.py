from collections import OrderedDict, defaultdict, namedtuple
from typing import NamedTuple

import pytest

from calque_pytree import flatten, leaves, structure, unflatten
from calque_pytree.kinds import dict_keys, insertion_order, is_namedtuple_class

Point = namedtuple("Point", ["x", "y"])  # noqa: PYI024  both spellings are users' code


class Typed(NamedTuple):
    x: object
    y: object = 0


class Sub(Typed):
    __slots__ = ()


@pytest.mark.parametrize(
    "tree",
    [
        None,
        (),
        (1,),
        [],
        [1, 2],
        {},
        {"b": 1, "a": 2},
        OrderedDict(b=1, a=2),
        defaultdict(int, b=1, a=2),
        Point(1, 2),
        Typed(1, 2),
        Sub(1, 2),
    ],
)
def test_each_builtin_container_comes_back_as_it_was(tree):
    got = unflatten(structure(tree), leaves(tree))
    assert got == tree
    assert type(got) is type(tree)


def test_the_values_of_a_dict_come_in_the_order_of_its_sorted_keys():
    assert leaves({"b": 1, "a": (2, [3])}) == [2, 3, 1]
    assert leaves(defaultdict(int, b=1, a=2)) == [2, 1]


def test_an_ordereddict_keeps_its_own_order():
    assert leaves(OrderedDict(b=1, a=2)) == [1, 2]
    assert structure(OrderedDict(b=1, a=2)) != structure(OrderedDict(a=2, b=1))


def test_a_dict_is_unflattened_in_the_order_in_which_it_was_filled():
    for tree in ({"b": 1, "c": 2, "a": 3}, defaultdict(int, b=1, c=2, a=3)):
        values, treedef = flatten(tree)
        assert values == [3, 1, 2]
        assert list(unflatten(treedef, values)) == ["b", "c", "a"]


def test_unsortable_keys_stay_in_insertion_order():
    tree = {"b": 1, 0: 2, None: 3, ("a",): 4}
    values, treedef = flatten(tree)
    assert values == [1, 2, 3, 4]
    assert list(unflatten(treedef, values).items()) == list(tree.items())


def test_a_key_whose_comparison_raises_anything_is_unsortable():
    class Key:
        def __lt__(self, other):
            raise RuntimeError("no order")

    first, second = Key(), Key()
    assert dict_keys({first: 0, second: 1}) == (first, second)


def test_the_order_of_a_dict_is_carried_but_not_compared():
    ab, ba = structure({"a": 1, "b": 2}), structure({"b": 2, "a": 1})
    assert ab == ba
    assert hash(ab) == hash(ba)
    assert insertion_order(dict_keys({"b": 2, "a": 1})) == ("b", "a")


def test_a_defaultdict_keeps_its_factory():
    tree = unflatten(structure(defaultdict(list, a=1)), [2])
    assert tree["new"] == []
    assert structure(defaultdict(list, a=1)) != structure(defaultdict(int, a=1))


def test_classes_are_told_apart_exactly():
    kinds = [(1, 2), [1, 2], Point(1, 2), Typed(1, 2), Sub(1, 2), {0: 1, 1: 2}, OrderedDict({0: 1, 1: 2})]
    assert len({structure(tree) for tree in kinds}) == len(kinds)


def test_a_subclass_of_a_container_is_a_leaf_until_it_is_registered():
    class MyList(list):
        pass

    class MyDict(dict):
        pass

    values = [MyList([1]), MyDict(a=1)]
    assert leaves(values) == values


def test_a_namedtuple_is_built_by_its_constructor():
    calls = []

    class Checked(Typed):
        __slots__ = ()

        def __new__(cls, x, y):
            calls.append((x, y))
            return super().__new__(cls, x, y)

    tree = unflatten(structure(Checked(1, 2)), [3, 4])
    assert (tree.x, tree.y) == (3, 4)
    assert calls == [(1, 2), (3, 4)]


def test_a_tuple_subclass_without_fields_is_a_leaf():
    class Pair(tuple):
        __slots__ = ()

    assert not is_namedtuple_class(Pair)
    assert leaves(Pair((1, 2))) == [(1, 2)]


def test_a_number_in_the_place_of_a_treedef_is_refused():
    with pytest.raises(TypeError, match=r"unflatten got 3 as its treedef\. Give the treedef first"):
        unflatten(3, [1])
