"""Kinds made from a user's own functions.

Owns `custom_kind`, which checks the results of the functions of a user's class on every call.
The one idea: the user's functions are called unchanged, and the check around them names the class and shows the wrong
value.

Read next: `register.py`, the functions that users call; `kinds.py` for the built-in kinds, which need no check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from calque_pytree.keys import KeyEntry
from calque_pytree.kinds import Children, Flattened, FlattenedWithKeys, NodeData, NodeKind, Tree, flat_index_entries

FlattenFunc: TypeAlias = Callable[[Tree], "tuple[Iterable[Tree] | None, NodeData]"]
UnflattenFunc: TypeAlias = Callable[[NodeData, "tuple[Tree, ...]"], Tree]
FlattenWithKeysFunc: TypeAlias = Callable[[Tree], "tuple[Iterable[tuple[KeyEntry, Tree]], NodeData]"]


def custom_kind(
    nodetype: type,
    flatten_func: FlattenFunc,
    unflatten_func: UnflattenFunc,
    flatten_with_keys_func: FlattenWithKeysFunc | None = None,
) -> NodeKind:
    """Return the kind of `nodetype` whose nodes the user's functions flatten and unflatten."""

    def flatten(node: Tree) -> Flattened:
        result: Any = flatten_func(node)
        if type(result) is tuple and len(result) == 2 and type(result[0]) is tuple:  # 0.1 us instead of 0.9
            return result
        return checked_children(nodetype, result)

    if flatten_with_keys_func is None:
        return NodeKind(nodetype, flatten, unflatten_func, flat_index_entries, unchecked_flatten=flatten_func)
    flatten_keyed = flatten_with_keys_func

    def flatten_with_keys(node: Tree) -> FlattenedWithKeys:
        pairs, data = checked_children(nodetype, flatten_keyed(node))
        keys, children = split_pairs(nodetype, pairs)
        return keys, children, data

    return NodeKind(
        nodetype, flatten, unflatten_func, flat_index_entries, flatten_with_keys, unchecked_flatten=flatten_func
    )


def checked_children(nodetype: type, result: object) -> Flattened:
    """Return the children and the data in the `result` of a flatten function.  Raises: TypeError if it is malformed."""
    match result:
        case (children, data):
            pass
        case _:
            raise flatten_result_error(nodetype, result)
    if children is None:
        return (), data
    if isinstance(children, Iterable):
        return tuple(children), data
    raise flatten_result_error(nodetype, result)


def flatten_result_error(nodetype: type, result: object) -> TypeError:
    return TypeError(
        f"The flatten function of {nodetype.__name__} returned {result!r}. "
        "Return a pair (children, aux_data) whose first item is an iterable of the children."
    )


def split_pairs(nodetype: type, pairs: Children) -> tuple[tuple[KeyEntry, ...], Children]:
    """Return the keys and the children in `pairs`, which a flatten-with-keys function returned."""
    for pair in pairs:
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise TypeError(
                f"The flatten-with-keys function of {nodetype.__name__} returned {pair!r} as a child. "
                "Return each child as a pair (key, child), for instance (GetAttrKey('w'), self.w)."
            )
    return tuple(key for key, _ in pairs), tuple(child for _, child in pairs)
