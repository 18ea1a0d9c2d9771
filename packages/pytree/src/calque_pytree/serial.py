"""Pickling a treedef, safely.

Owns `to_state` and `from_state`. The one idea: a pickled treedef is a plain tuple of classes and data, in preorder;
loading looks the classes up in the default registry and checks every count and key, so that a damaged or forged file
raises an error here and not later.

Read next: `treedef.py`, whose `__reduce__` uses this.
"""

from __future__ import annotations

from typing import TypeAlias

from calque_pytree.build import Nodes
from calque_pytree.kinds import (
    DEFAULTDICT,
    DICT,
    LIST,
    NAMEDTUPLE,
    NONE,
    ORDEREDDICT,
    TUPLE,
    Node,
    NodeData,
    NodeKind,
    dict_keys,
    insertion_order,
    node_class,
)
from calque_pytree.registry import default_registry

State: TypeAlias = "tuple[tuple[type, int, NodeData] | None, ...]"


def to_state(nodes: Nodes) -> State:
    """Return `nodes` as plain data: for each inner node its class, its number of children and its data."""
    return tuple(None if node is None else (node_class(node), node[1], plain_data(node)) for node in nodes)


def plain_data(node: Node) -> NodeData:
    """Return the data of `node`, with the keys of a dict in insertion order."""
    kind, _, data = node
    if kind is NAMEDTUPLE:
        return None
    if kind is DICT:
        return insertion_order(data)
    return (data[0], insertion_order(data[1])) if kind is DEFAULTDICT else data


def from_state(state: object) -> Nodes:
    """Return the nodes of `state`, the inverse of `to_state`.

    Raises: ValueError if `state` is not such a sequence, or names a class that is not registered.
    """
    if not isinstance(state, tuple):
        raise damage_error(f"its state is {state!r}, which is no tuple of nodes")
    nodes = tuple(None if item is None else checked_node(item) for item in state)
    missing = 1
    for node in nodes:
        if missing == 0:
            raise damage_error(f"{len(nodes)} nodes are too many for its tree")
        missing += -1 if node is None else node[1] - 1
    if missing:
        raise damage_error(f"{len(nodes)} nodes are too few for its tree")
    return nodes


def damage_error(reason: str) -> ValueError:
    return ValueError(f"This pickled PyTreeDef is damaged: {reason}. Pickle the treedef again from a tree.")


def checked_node(item: object) -> Node:
    """Return the node that `item` describes."""
    match item:
        case (type() as nodetype, int() as arity, data) if arity >= 0:
            kind = registered_kind(nodetype)
            if has_right_data(kind, nodetype, arity, data):
                return kind, arity, stored_data(kind, nodetype, data)
    raise damage_error(f"{item!r} is no node")


def registered_kind(nodetype: type) -> NodeKind:
    """Return the kind of `nodetype` in the default registry."""
    kind = default_registry.kind(nodetype)
    if kind is None:
        raise ValueError(
            f"This pickled PyTreeDef has a node of class {nodetype.__name__}, which is not registered here. "
            "Import the module that registers it with the default registry before unpickling."
        )
    return kind


def has_right_data(kind: NodeKind, nodetype: type, arity: int, data: NodeData) -> bool:
    """Return whether nodes of class `nodetype` can have `arity` children and `data`."""
    if kind is DICT or kind is ORDEREDDICT:
        return are_keys(data, arity)
    if kind is DEFAULTDICT:
        return isinstance(data, tuple) and len(data) == 2 and callable(data[0] or dict) and are_keys(data[1], arity)
    if kind is NONE:
        return arity == 0 and data is None
    if kind is NAMEDTUPLE:
        return data is None and arity == len(kind.entries(nodetype, arity))
    if kind.attributes is not None:
        names, num_children = kind.attributes.names, kind.attributes.num_children
        return isinstance(data, tuple) and arity == num_children and len(data) == len(names) - num_children
    return data is None or (kind is not TUPLE and kind is not LIST)


def are_keys(keys: NodeData, arity: int) -> bool:
    """Return whether `keys` can be the keys of a dict of `arity` items."""
    try:
        return isinstance(keys, tuple) and len(set(keys)) == len(keys) == arity
    except TypeError:  # a key is not hashable
        return False


def stored_data(kind: NodeKind, nodetype: type, data: NodeData) -> NodeData:
    """Return the data as a treedef holds it: the keys of a dict in leaf order."""
    if kind is NAMEDTUPLE:
        return nodetype
    if kind is DICT:
        return dict_keys(dict.fromkeys(data))
    return (data[0], dict_keys(dict.fromkeys(data[1]))) if kind is DEFAULTDICT else data
