import dataclasses
import enum
import math
from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from calque_pytree import Partial, register_dataclass, static, static_key, structure
from calque_pytree.treedef import COMPILE_AT


class Pair(NamedTuple):
    a: object
    b: object


class Tagged(tuple):
    __slots__ = ()


class Name(str):
    __slots__ = ()


class Color(enum.IntEnum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass(frozen=True)
class Config:
    rate: float
    note: str = dataclasses.field(default="", compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Nested:
    config: object
    sizes: object = ()


class Frozen(Mapping):
    def __init__(self, **items):
        self.items_ = items

    def __getitem__(self, key):
        return self.items_[key]

    def __iter__(self):
        return iter(self.items_)

    def __len__(self):
        return len(self.items_)

    def __hash__(self):
        return hash(frozenset(self.items_.items()))


def zeros():
    return [0.0, -0.0, 0, False, 0j, -0j, complex(0.0, -0.0)]


CONTAINERS = {
    "tuple": lambda x: (x,),
    "namedtuple": lambda x: Pair(1, x),
    "tuple subclass": lambda x: Tagged((x,)),
    "frozenset": lambda x: frozenset([frozenset([x])]),
    "dataclass": Config,
    "dataclass in a dataclass": lambda x: Nested(Config(x)),
    "dataclass in a tuple": lambda x: (Nested(x),),
    "mapping": lambda x: Frozen(x=x),
    "mapping in a dataclass": lambda x: Nested(Frozen(x=(x,))),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_values_that_behave_differently_have_different_keys(container):
    keys = [static_key(CONTAINERS[container](zero)) for zero in zeros()]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("container", CONTAINERS)
def test_equal_values_have_equal_keys(container):
    for value in (1, -0.0, "a", Color.RED, len, None):
        first, second = static_key(CONTAINERS[container](value)), static_key(CONTAINERS[container](value))
        assert first == second
        assert hash(first) == hash(second)


def test_values_of_different_types_have_different_keys():
    values = [*zeros(), "0", None, (), (0,), Pair(0, 0), (0, 0), Tagged((0, 0)), range(0), range(3, 3), range(0, 0, 2)]
    values += [1, True, Color.RED, "a", Name("a"), b"a", Config(0.0), Nested(0.0), frozenset()]
    assert len(set(map(static_key, values))) == len(values)
    assert static_key(math.nan) == static_key(float("nan"))


def test_slices_are_told_apart():
    assert static_key(slice(0, 1)) != static_key(slice(0, True))
    assert static_key(slice(0, 1)) == static_key(slice(0, 1))


def test_a_field_that_is_not_compared_is_no_part_of_the_key():
    assert static_key(Config(1.0, "a")) == static_key(Config(1.0, "b"))


def test_the_order_of_a_mapping_is_part_of_its_key():
    assert static_key(Frozen(a=1, b=2)) != static_key(Frozen(b=2, a=1))


def test_a_class_compared_by_identity_is_its_own_key():
    @dataclasses.dataclass(eq=False)
    class Model:
        steps: int = 0

    model = Model()
    key = static_key(model)
    model.steps += 1
    assert static_key(model) == key
    assert static_key(model) != static_key(Model(1))


def test_a_class_with_a_hash_may_have_unhashable_components():
    @dataclasses.dataclass
    class Table:
        rows: list
        scale: float

        def __hash__(self):
            return 0

    class Row(tuple):
        __slots__ = ()

        def __eq__(self, other):
            return self is other

        def __hash__(self):
            return id(self)

    assert hash(static_key(Table([1], 0.0))) == hash(static_key(Table([1], 0.0)))
    assert static_key(Table([1], 0.0)) != static_key(Table([1], -0.0))
    row = Row(([1],))
    assert hash(static_key(row)) == hash(static_key(row))
    assert static_key(row) != static_key(Row(([1],)))


@pytest.mark.parametrize("value", [[1], {"a": 1}, {1}, ([1],), Pair(1, {}), Config([1]), Frozen(a=[])])
def test_an_unhashable_value_has_an_unhashable_key(value):
    with pytest.raises(TypeError, match="unhashable type"):
        hash(static_key(value))
    assert static_key(value) == static_key(value)


def test_a_class_may_be_registered():
    class Angle:
        def __init__(self, degrees):
            self.degrees = degrees

        def __eq__(self, other):
            return self.degrees % 360 == other.degrees % 360

        def __hash__(self):
            return 0

    assert static_key(Angle(0)) == static_key(Angle(360))
    static_key.register(Angle, lambda angle: (Angle, angle.degrees))
    assert static_key(Angle(0)) != static_key(Angle(360))


# Keys of structures


@register_dataclass
@dataclasses.dataclass
class Scale:
    x: object
    by: object = static(default=1.0)


def trees_with(zero):
    """Trees that are equal for equal values of `zero`, and different to a program."""
    return {
        "static field": Scale(1.0, zero),
        "static tuple": Scale(1.0, (zero,)),
        "static list": Scale(1.0, [zero]),
        "static dict": Scale(1.0, {"zero": zero}),
        "static set": Scale(1.0, {zero}),
        "key": {zero: 1.0, 7: 2.0},
        "ordered key": OrderedDict({zero: 1.0}),
        "default key": defaultdict(list, {zero: 1.0}),
        "function": [Partial(SimpleNamespace, 1.0), {Pair(zero, 1): 2.0}],
    }


@pytest.mark.parametrize("name", trees_with(0))
def test_structures_that_behave_differently_have_different_keys(name):
    treedefs = [structure(trees_with(zero)[name]) for zero in zeros()]
    assert all(treedef == treedefs[0] for treedef in treedefs)
    assert len({treedef.key for treedef in treedefs}) == len(treedefs)
    again = structure(trees_with(-0.0)[name])
    assert again.key == treedefs[1].key
    assert hash(again.key) == hash(treedefs[1].key)


@pytest.mark.parametrize("name", trees_with(0))
def test_a_fit_tells_apart_what_keys_tell_apart(name):
    treedef = structure(trees_with(0.0)[name])
    for _ in range(COMPILE_AT):
        treedef.fit(trees_with(0.0)[name])
    assert treedef.fit(trees_with(0.0)[name]) == treedef.flatten_up_to(trees_with(0.0)[name])
    for zero in zeros()[1:]:
        assert treedef.fit(trees_with(zero)[name]) is None
        assert len(treedef.flatten_up_to(trees_with(zero)[name])) == treedef.num_leaves


def test_the_order_of_a_dict_is_no_part_of_a_key():
    for first, second in ((1, 2), ("a", "b")):
        treedefs = [structure({first: 0, second: 1}), structure({second: 1, first: 0})]
        assert treedefs[0].key == treedefs[1].key
        for _ in range(COMPILE_AT + 1):
            leaves = treedefs[0].fit({second: 1, first: 0})
        assert leaves == [0, 1]


def test_a_structure_whose_equality_is_exact_is_its_own_key():
    for tree in (1, [1, (2, None)], {"a": Pair(1, 2), "b": {}}, OrderedDict(a=1)):
        treedef = structure(tree)
        assert treedef.key is treedef
    assert structure(Scale(1.0)).key != structure(1.0).key


def test_data_of_a_user_s_class_need_no_hash_and_are_compared():
    class Data:
        def __init__(self, x):
            self.x = x

        def __eq__(self, other):
            return self.x == other.x

        __hash__ = None

    assert structure(Scale(1.0, Data(1))).key == structure(Scale(1.0, Data(1))).key
    assert structure(Scale(1.0, Data(1))).key != structure(Scale(1.0, Data(2))).key


class Changing:
    """An object that can change."""

    __hash__ = None


@pytest.mark.parametrize("data", [Changing(), [Changing()], {"a": Changing()}, (1, [Changing()])])
def test_a_structure_tells_which_data_can_change(data):
    tree = {"a": (1.0, Scale(1.0, data))}
    assert structure(tree).data_without_hash == (Scale, structure(tree["a"][1]).nodes[0][2])
    assert structure({"a": (1.0, Scale(1.0, "text"))}).data_without_hash is None
    assert structure({"a": [1.0, None]}).data_without_hash is None
    with pytest.raises(TypeError, match="unhashable type: 'Changing'"):
        structure(tree).snapshot()


@pytest.mark.parametrize("data", [[1], {"a": [1]}, {1}, (1, [2]), [{1: (2, [3])}]])
def test_a_snapshot_holds_copies_of_data_that_can_change(data):
    treedef = structure([Scale(1.0, data)])
    snapshot = treedef.snapshot()
    assert treedef.data_without_hash is None
    assert (snapshot, snapshot.key) == (treedef, treedef.key)
    assert snapshot.unflatten([2.0]) == [Scale(2.0, data)]
    inner = data[1] if isinstance(data, tuple) else data
    inner.clear()
    assert snapshot != treedef
    assert snapshot.key != treedef.key


def test_a_structure_without_such_data_is_its_own_snapshot():
    for tree in ({"a": [1.0, (2.0, None)]}, [Scale(1.0, (2, "text")), {1: 2.0}]):
        treedef = structure(tree)
        assert treedef.snapshot() is treedef


def test_treedefs_with_equal_data_of_other_types_have_different_keys():
    one, true = structure({1: 2}), structure({True: 2})
    assert one == true
    assert static_key(one) != static_key(true)
    assert static_key((one,)) == static_key((structure({1: 3}),))
