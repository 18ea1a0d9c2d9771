"""Keys of static values: equal only for values that no program can tell apart.

Owns `static_key`, the key of one value, and `StructureKey`, the key of a treedef. The one idea: for `==`, 0.0 and
-0.0 are equal, 1 and 1.0 and True are equal, and so are all containers of them; a program compiled for one is wrong
for another. So a key also holds the types, signs and bounds of the components of a value.

Read next: `treedef.py`, whose property `key` is the key of a structure.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import singledispatch
from operator import is_
from types import BuiltinFunctionType, FunctionType
from typing import Any, TypeAlias

from calque_pytree.build import Nodes
from calque_pytree.kinds import LIST, NAMEDTUPLE, NONE, TUPLE, DictKeys, Node, NodeData, node_class
from calque_pytree.late import late_function

Value: TypeAlias = Any

EXACT_TYPES = frozenset({int, str, bool, bytes, type(None), type, FunctionType, BuiltinFunctionType})
"""Types whose equal values are identical in every respect."""

MAX_TEXT = 60
"""The number of characters of static data in a message."""

EXACT_KINDS = (NONE, TUPLE, LIST, NAMEDTUPLE)
"""Kinds of node whose equal data are identical in every respect."""


@singledispatch
def static_key(value: Value) -> Hashable:
    """Return a key that is equal only for values of one type that cannot be told apart.

    It has a hash if the value has one. A value of a class with an `__eq__` of its own is compared by it, a dataclass
    also by the keys of its compared fields. `static_key.register(cls, function)` adds a class, as
    `functools.singledispatch` does.

    >>> from calque_pytree import static_key
    >>> static_key(0.0) == static_key(-0.0), static_key((1, 2)) == static_key((True, 2))
    (False, False)
    """
    kind: Any = type(value)
    is_dataclass = hasattr(kind, "__dataclass_fields__")  # the module `dataclasses` is loaded for these alone
    if is_dataclass and kind.__eq__ is not object.__eq__:
        return kind, value, tuple(hashable_key(getattr(value, name)) for name in compared_fields(kind))
    return kind, value


compared_fields: Callable[[type], tuple[str, ...]] = late_function("calque_pytree.dataclass", "compared_fields")


def key_of(value: Value) -> Hashable:
    """Return `static_key(value)`, 0.5 us sooner for the types that most values have."""
    kind = type(value)
    if kind is tuple:
        return kind, tuple([key_of(x) for x in value])
    return (kind, value) if kind in EXACT_TYPES else static_key(value)


def hashable_key(value: Value) -> Hashable:
    """Return the key of a component of a value whose class defines a hash; None if the component has no hash."""
    key = key_of(value)
    try:
        hash(key)
    except TypeError:
        return None
    return key


@static_key.register(float)
@static_key.register(complex)
def key_of_number(value: Value) -> Hashable:
    return type(value), repr(value)


@static_key.register(tuple)
def key_of_tuple(value: tuple[Value, ...]) -> Hashable:
    kind = type(value)
    if kind.__eq__ is tuple.__eq__:
        return kind, tuple(map(key_of, value))
    return kind, value, tuple(map(hashable_key, value))


@static_key.register(DictKeys)
def key_of_dict_keys(value: DictKeys) -> Hashable:
    """Return the key of a plain tuple: the insertion order of a dict is not compared."""
    return tuple, tuple(map(key_of, value))


@static_key.register(frozenset)
def key_of_frozenset(value: frozenset[Value]) -> Hashable:
    kind = type(value)
    keys = frozenset(map(key_of, value))
    return (kind, keys) if kind.__eq__ is frozenset.__eq__ else (kind, value, keys)


@static_key.register(list)
def key_of_list(value: list[Value]) -> Hashable:
    return type(value), [*map(key_of, value)]  # unhashable, as the list


@static_key.register(set)
def key_of_set(value: set[Value]) -> Hashable:
    return type(value), {*map(key_of, value)}  # unhashable, as the set


@static_key.register(dict)
def key_of_dict(value: dict[Hashable, Value]) -> Hashable:
    """Return the key of a dict, unhashable as the dict; the key of a subclass may be hashable."""
    kind, keys = type(value), {key_of(k): key_of(v) for k, v in value.items()}
    return (kind, keys) if kind is dict else key_of_mapping(value)


@static_key.register(Mapping)
def key_of_mapping(value: Mapping[Hashable, Value]) -> Hashable:
    """Return the key of a mapping, hashable if the mapping is; it covers the order of items, which a program sees."""
    return type(value), value, tuple((key_of(k), hashable_key(v)) for k, v in value.items())


@static_key.register(range)
def key_of_range(value: range) -> Hashable:
    return range, value.start, value.stop, value.step


@static_key.register(slice)
def key_of_slice(value: slice) -> Hashable:
    return slice, value, tuple(map(key_of, (value.start, value.stop, value.step)))


class StructureKey:
    """The key of a structure whose equal data may differ: keys other than strings, data of a user's class.

    Its hash is the hash of the treedef, which covers no data of a user's class.
    """

    __slots__ = ("hash", "nodes")

    def __init__(self, nodes: Nodes, hash: int) -> None:
        self.nodes, self.hash = nodes, hash

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StructureKey):
            return NotImplemented
        if self.nodes is other.nodes:
            return True
        return equal_nodes(self.nodes, other.nodes) and all(map(is_node_same, self.nodes, other.nodes))


def equal_nodes(left: Nodes, right: Nodes) -> bool:
    """Return whether two sequences are equal up to the order of dicts."""
    try:
        return left == right
    except Exception as error:
        explain_nodes(left, right, error)
        error.add_note(
            "Raised by comparing the aux data of two pytree nodes. Aux data must compare with == to a bool; "
            "arrays belong among the children."
        )
        raise


def equal_data(owner: type, left: NodeData, right: NodeData) -> bool:
    """Return whether the data of two nodes of a class are equal; an error that this raises is explained."""
    try:
        return bool(left == right)
    except Exception as error:
        explain_data(owner, left, right, error)
        raise


def explain_nodes(left: Nodes, right: Nodes, error: Exception) -> None:
    """Explain an error in comparing two sequences by the first nodes whose data cannot be compared."""
    for one, other in zip(left, right):
        if one is not None and other is not None and one[0] is other[0] and one[2] is not other[2]:
            try:
                bool(one[2] == other[2])
            except Exception:  # noqa: BLE001  `error` is raised in its place
                explain_data(node_class(one), one[2], other[2], error)
                return


def explain_data(owner: type, left: NodeData, right: NodeData, error: Exception) -> None:
    """Name the class, the data and the remedy in the message of an error that comparing data raised."""
    if type(error).__str__ is Exception.__str__:  # other classes may show something else than their arguments
        message = (
            f"the static data of {owner.__name__} cannot be compared with ==: {shortened(left)} and {shortened(right)} "
            f"give {type(error).__name__}: {error}\nStatic data must compare to True or False. Make an array a child "
            "of the class, as a field that is not static."
        )
        error.args = (message,)


def shortened(value: Value) -> str:
    """Return the first characters of the repr of a value, on one line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..."


def first_that_may_change(nodes: Nodes) -> Node | None:
    """Return the first inner node whose data have no hash and cannot be copied."""
    for node in filter(None, nodes):
        try:
            kept(node[2])
        except TypeError:
            return node
    return None


def kept(data: NodeData) -> NodeData:
    """Return data that nobody can change: data with a hash, or copies of lists, sets, dicts and tuples of such data.

    Raises: TypeError for other data.
    """
    try:
        hash(data)
    except TypeError:
        kind = type(data)
        if kind is dict:
            return {key: kept(value) for key, value in data.items()}
        if kind in (list, set, tuple):
            return kind(map(kept, data))
        raise
    return data


def is_node_same(left: Node | None, right: Node | None) -> bool:
    """Return whether two equal nodes are identical in every respect."""
    return left is None or right is None or is_same(left[2], right[2])


def is_same(left: NodeData, right: NodeData) -> bool:
    """Return whether two equal values are identical in every respect."""
    return has_same_objects(left, right) or key_of(left) == key_of(right)


def has_same_objects(left: NodeData, right: NodeData) -> bool:
    """Return whether two values are one object, or tuples of the same objects, as aux data made anew by a class are."""
    if left is right:
        return True
    return type(left) is type(right) is tuple and len(left) == len(right) and all(map(is_, left, right))


def has_exact_equality(nodes: Nodes) -> bool:
    """Return whether every structure that equals `nodes` is identical to it in every respect."""
    return all(node[0] in EXACT_KINDS or has_plain_data(node) for node in filter(None, nodes))


def has_plain_data(node: Node) -> bool:
    """Return whether `node` is a dict whose keys are strings, or has no data."""
    kind, _, data = node
    return {*map(type, data)} <= {str} if kind.hashes_data else data is None or (type(data) is tuple and not data)
