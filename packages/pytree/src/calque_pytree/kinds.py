"""The kinds of node a tree can have.

Owns `NodeKind`, the record of how one type is flattened and unflattened, and the kinds that every registry knows:
`None`, tuple, list, dict, OrderedDict, defaultdict and namedtuple. The one idea: three items describe a node fully,
its kind, its number of children, and its *data* (keys, a class, aux data). A treedef is a sequence of such triples, and
every other module of this package reads them.

Read next: `registry.py`, which finds the kind of a type; `treedef.py`, which holds the triples.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeAlias

from calque_pytree.keys import DictKey, FlattenedIndexKey, GetAttrKey, KeyEntry, SequenceKey

Tree: TypeAlias = Any
Leaf: TypeAlias = Any
NodeData: TypeAlias = Any
Children: TypeAlias = Sequence[Tree]
Flattened: TypeAlias = tuple[Children, NodeData]
FlattenedWithKeys: TypeAlias = tuple[Sequence[KeyEntry], Children, NodeData]
Node: TypeAlias = "tuple[NodeKind, int, NodeData]"
"""One inner node: its kind, its number of children, its data."""


class Attributes:
    """The attributes of a registered dataclass: `num_children` names of children, then the names of the data.

    `read` returns all their values as a tuple, in C, so that flattening makes no Python call per node.
    """

    __slots__ = ("names", "num_children", "read")

    def __init__(self, names: tuple[str, ...], num_children: int, read: Callable[[Tree], tuple[Tree, ...]]) -> None:
        self.names, self.num_children, self.read = names, num_children, read


class NodeKind:
    """How nodes of one type are flattened and unflattened; compared by identity.

    `entries(data, arity)` returns the entries of the children in a key path; a class whose entries need the instance
    itself has `flatten_with_keys`. `hashes_data` says that the data consists of keys or classes, which are hashable;
    the data of a user's class is compared but never hashed. A registered dataclass has `attributes`,
    and a class with a user's flatten function has that function, `unchecked_flatten`, for code that checks the result.

    Immutable by convention. A frozen dataclass would cost 1 ms at every import.
    """

    __slots__ = (
        "attributes", "entries", "flatten", "flatten_with_keys", "hashes_data", "nodetype", "unchecked_flatten",
        "unflatten",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913, PLR0917  one for each fact of a kind
        self,
        nodetype: type,
        flatten: Callable[[Tree], Flattened],
        unflatten: Callable[[NodeData, tuple[Tree, ...]], Tree],
        entries: Callable[[NodeData, int], Sequence[KeyEntry]],
        flatten_with_keys: Callable[[Tree], FlattenedWithKeys] | None = None,
        hashes_data: bool = False,
        attributes: Attributes | None = None,
        unchecked_flatten: Callable[[Tree], Any] | None = None,
    ) -> None:
        self.nodetype, self.flatten, self.unflatten, self.entries = nodetype, flatten, unflatten, entries
        self.flatten_with_keys, self.hashes_data, self.attributes = flatten_with_keys, hashes_data, attributes
        self.unchecked_flatten = unchecked_flatten


def keyed_flatten(kind: NodeKind, node: Tree) -> FlattenedWithKeys:
    """Return the entries of the children of `node`, the children, and the data."""
    if kind.flatten_with_keys is not None:
        return kind.flatten_with_keys(node)
    children, data = kind.flatten(node)
    return kind.entries(data, len(children)), children, data


class DictKeys(tuple[Hashable, ...]):  # noqa: SLOT001  a subclass of tuple cannot have a slot
    """The keys of a dict in leaf order, with their order of `insertion`.

    Equality and hash are the tuple's, so the insertion order of a dict is kept but not compared.
    Keys that were inserted in leaf order are kept as a plain tuple.
    """

    insertion: tuple[Hashable, ...]


def dict_keys(node: dict[Hashable, Tree]) -> tuple[Hashable, ...]:
    """Return the keys of `node` in leaf order: sorted, or as inserted if they cannot be sorted.

    >>> dict_keys({"b": 1, "a": 2})
    ('a', 'b')
    >>> dict_keys({"b": 1, 0: 2})
    ('b', 0)
    """
    insertion = tuple(node)
    keys = leaf_order(insertion)
    if keys == insertion:
        return insertion
    reordered = DictKeys(keys)
    reordered.insertion = insertion
    return reordered


def leaf_order(keys: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    """Return `keys` sorted, or unchanged if comparing them fails."""
    try:
        return tuple(sorted(keys))  # type: ignore[type-var]
    except Exception:  # noqa: BLE001  any error of a key's comparison means that there is no order
        return keys


def insertion_order(keys: tuple[Hashable, ...]) -> tuple[Hashable, ...]:
    """Return the insertion order of a dict with the data `keys`."""
    return keys.insertion if type(keys) is DictKeys else keys


def sequence_entries(data: NodeData, arity: int) -> Sequence[KeyEntry]:
    return [SequenceKey(i) for i in range(arity)]


def flat_index_entries(data: NodeData, arity: int) -> Sequence[KeyEntry]:
    return [FlattenedIndexKey(i) for i in range(arity)]


def dict_entries(keys: NodeData, arity: int) -> Sequence[KeyEntry]:
    return [DictKey(key) for key in keys]


def defaultdict_entries(data: NodeData, arity: int) -> Sequence[KeyEntry]:
    return dict_entries(data[1], arity)


def flatten_none(node: None) -> Flattened:
    return (), None


def unflatten_none(data: NodeData, children: tuple[Tree, ...]) -> None:
    return None


def flatten_sequence(node: Iterable[Tree]) -> Flattened:
    return tuple(node), None


def unflatten_tuple(data: NodeData, children: tuple[Tree, ...]) -> tuple[Tree, ...]:
    return children


def unflatten_list(data: NodeData, children: tuple[Tree, ...]) -> list[Tree]:
    return list(children)


def flatten_dict(node: dict[Hashable, Tree]) -> Flattened:
    keys = dict_keys(node)
    return tuple(map(node.__getitem__, keys)), keys


def unflatten_dict(keys: NodeData, children: tuple[Tree, ...]) -> dict[Hashable, Tree]:
    values = dict(zip(keys, children, strict=True))
    return values if type(keys) is tuple else {key: values[key] for key in keys.insertion}


def flatten_ordereddict(node: OrderedDict[Hashable, Tree]) -> Flattened:
    return tuple(node.values()), tuple(node)


def unflatten_ordereddict(keys: NodeData, children: tuple[Tree, ...]) -> OrderedDict[Hashable, Tree]:
    return OrderedDict(zip(keys, children, strict=True))


def flatten_defaultdict(node: defaultdict[Hashable, Tree]) -> Flattened:
    children, keys = flatten_dict(node)
    return children, (node.default_factory, keys)


def unflatten_defaultdict(data: NodeData, children: tuple[Tree, ...]) -> defaultdict[Hashable, Tree]:
    default_factory, keys = data
    return defaultdict(default_factory, unflatten_dict(keys, children))


def flatten_namedtuple(node: tuple[Tree, ...]) -> Flattened:
    return tuple(node), type(node)


def unflatten_namedtuple(nodetype: NodeData, children: tuple[Tree, ...]) -> Tree:
    return nodetype(*children)


def namedtuple_entries(nodetype: NodeData, arity: int) -> Sequence[KeyEntry]:
    return [GetAttrKey(name) for name in nodetype._fields]


NONE = NodeKind(type(None), flatten_none, unflatten_none, sequence_entries)
TUPLE = NodeKind(tuple, flatten_sequence, unflatten_tuple, sequence_entries)
LIST = NodeKind(list, flatten_sequence, unflatten_list, sequence_entries)
DICT = NodeKind(dict, flatten_dict, unflatten_dict, dict_entries, hashes_data=True)
ORDEREDDICT = NodeKind(OrderedDict, flatten_ordereddict, unflatten_ordereddict, dict_entries, hashes_data=True)
DEFAULTDICT = NodeKind(defaultdict, flatten_defaultdict, unflatten_defaultdict, defaultdict_entries)
NAMEDTUPLE = NodeKind(tuple, flatten_namedtuple, unflatten_namedtuple, namedtuple_entries, hashes_data=True)
"""The kind of all namedtuples; the class is the data."""

BUILTIN_KINDS = (NONE, TUPLE, LIST, DICT, ORDEREDDICT, DEFAULTDICT)


def is_namedtuple_class(nodetype: type) -> bool:
    """Return whether `nodetype` is a subclass of tuple that names its fields."""
    return issubclass(nodetype, tuple) and isinstance(getattr(nodetype, "_fields", None), tuple)


def node_class(node: Node) -> type:
    """Return the class of the values that `node` describes."""
    kind, _, data = node
    nodetype: type = data if kind is NAMEDTUPLE else kind.nodetype
    return nodetype


def shown_data(node: Node) -> NodeData:
    """Return the data of `node` as users see it: a list of the keys of a dict, None for a namedtuple."""
    kind, _, data = node
    if kind is NAMEDTUPLE:
        return None
    return list(data) if kind is DICT else data
