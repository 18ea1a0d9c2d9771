"""Structures of pytrees as plain data, for JSON.

One idea: a structure is a flat list in preorder, one item for each node, so that depth costs no recursion.  Containers
of Python have names of our own; a class has the name that its author registered, with functions for its data.  Nothing
is imported by a name in the bytes; only functions that were registered under it are called.

Read next: `format.py`, which holds the lists.
"""

from __future__ import annotations

import base64
import binascii
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from calque_core import api_boundary
from calque_core.extend import where
from calque_pytree import PyTreeDef, default_registry, tree_structure
from calque_xla_backend.artefacts.errors import ExportError, damaged

Item = Any  # one node in JSON
NodeState = Any  # one node as `PyTreeDef` pickles it: its class, its number of children, its data; None for a leaf

_SEQUENCES: dict[str, type] = {"tuple": tuple, "list": list, "none": type(None)}
_MAPPINGS: dict[str, type] = {"dict": dict, "OrderedDict": OrderedDict}
_NAMES = {cls: name for name, cls in (_SEQUENCES | _MAPPINGS).items()}
_restore, _ = tree_structure(0).__reduce__()


class NodeSerialization(NamedTuple):
    """How the structure of a class is written: its name in the bytes, and its data to bytes and back."""

    name: str
    nodetype: type
    serialize: Callable[[Any], bytes]
    deserialize: Callable[[bytes], Any]


_by_class: dict[type, NodeSerialization] = {}
_by_name: dict[str, NodeSerialization] = {}


@api_boundary
def register_pytree_node_serialization(
    nodetype: type,
    *,
    serialized_name: str,
    serialize_auxdata: Callable[[Any], bytes],
    deserialize_auxdata: Callable[[bytes], Any],
) -> type:
    """Let exported functions take and return a class of pytree nodes; return the class.

    `serialized_name` stands for the class in the bytes: choose one that stays when the module of the class moves.
    `serialize_auxdata` turns the data of a node into bytes: the aux data of `register_pytree_node`, the tuple of static
    fields of a dataclass, None for a namedtuple.  A process that deserializes registers the same name.
    Raises: TypeError if the class is not a pytree node; ValueError if the class or the name is registered already.

    >>> from typing import NamedTuple
    >>> from calque_xla_backend import register_pytree_node_serialization
    >>> class Point(NamedTuple):
    ...     x: float
    ...     y: float
    >>> _ = register_pytree_node_serialization(
    ...     Point, serialized_name="geometry.Point", serialize_auxdata=lambda _: b"", deserialize_auxdata=lambda _: None
    ... )
    """
    caller = f"register_pytree_node_serialization{where()}"
    if not isinstance(nodetype, type) or nodetype not in default_registry:
        raise TypeError(f"{caller} got {nodetype!r}, which is no class of pytree nodes. Register it as a pytree first.")
    if nodetype in _NAMES or nodetype in _by_class:
        raise ValueError(f"{caller} got {nodetype.__name__}, which has a serialization already. Register it once.")
    if serialized_name in _by_name:
        other = _by_name[serialized_name].nodetype.__name__
        raise ValueError(f"{caller} got the name {serialized_name!r}, which stands for {other}. Choose another name.")
    entry = NodeSerialization(serialized_name, nodetype, serialize_auxdata, deserialize_auxdata)
    _by_class[nodetype] = _by_name[serialized_name] = entry
    return nodetype


# To plain data


def tree_to_items(tree: PyTreeDef, subject: str) -> list[Item]:
    """Return a structure as plain data; `subject` names it in errors.

    Raises: ExportError for a class without a serialization, and for keys other than strings, integers and bools.
    """
    _, (state,) = tree.__reduce__()
    return [None if node is None else _item(node, subject) for node in state]


def _item(node: NodeState, subject: str) -> Item:
    cls, count, data = node
    if cls in _SEQUENCES.values():
        return [_NAMES[cls], count]
    if cls in _MAPPINGS.values():
        return [_NAMES[cls], [_checked_key(key, subject) for key in data]]
    entry = _by_class.get(cls)
    if entry is None:
        raise ExportError(
            f"{subject}{where()} have a node of class {cls.__name__}, which has no name in exported bytes. Register "
            "it with register_pytree_node_serialization, or pass its arrays in a dict."
        )
    aux = entry.serialize(data)
    if not isinstance(aux, (bytes, bytearray)):
        raise ExportError(f"serialize_auxdata of {cls.__name__} returned {aux!r}. Return bytes.")
    return ["node", entry.name, count, base64.b64encode(aux).decode()]


def _checked_key(key: Any, subject: str) -> str | int | bool:
    if type(key) not in (str, int, bool):
        raise ExportError(
            f"{subject}{where()} have the key {key!r} of type {type(key).__name__} in a dict. Exported functions take "
            "strings and integers as keys."
        )
    return key  # type: ignore[no-any-return]


# From plain data


def tree_from_items(items: object) -> PyTreeDef:
    """Return the structure that `tree_to_items` wrote.

    Raises: ExportError if it is none, or has a name that is not registered.
    """
    if not isinstance(items, list):
        raise damaged("a structure is no list of nodes")
    state = tuple([None if item is None else _node(item) for item in items])
    try:
        tree: PyTreeDef = _restore(state)
    except ValueError as error:
        raise damaged("a structure has wrong nodes") from error
    return tree


def _node(item: object) -> NodeState:
    match item:
        case [str(name), int(count)] if name in _SEQUENCES and type(count) is int:
            return _SEQUENCES[name], count, None
        case [str(name), list(keys)] if name in _MAPPINGS and all(type(k) in (str, int, bool) for k in keys):
            return _MAPPINGS[name], len(keys), tuple(keys)
        case ["node", str(name), int(count), str(aux)] if type(count) is int:
            return _registered_node(name, count, aux)
    raise damaged("a node of a structure has a wrong form")


def _registered_node(name: str, count: int, aux: str) -> NodeState:
    entry = _by_name.get(name)
    if entry is None:
        raise ExportError(
            f"the exported function has a node {name!r}, which is not registered here. Call "
            "register_pytree_node_serialization with this name before deserialize."
        )
    try:
        data = entry.deserialize(base64.b64decode(aux, validate=True))
    except binascii.Error as error:
        raise damaged(f"the data of a node {name!r} are no base64") from error
    except Exception as error:
        raise ExportError(
            f"deserialize_auxdata of the node {name!r} failed with {type(error).__name__}: {error}. Register the "
            "function that fits the bytes."
        ) from error
    return entry.nodetype, count, data
