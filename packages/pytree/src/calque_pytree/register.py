"""Registration: making a class a node of trees.

Owns the functions that a user calls to define how instances are flattened and unflattened. The one idea: two functions
are enough, `flatten_func(node) -> (children, aux_data)` and `unflatten_func(aux_data, children) -> node`; a third
function, which also names the children, makes error messages and key paths better.

Read next: `dataclass.py` for classes that need no functions at all; `custom.py` for the checks.
"""

from __future__ import annotations

from operator import methodcaller
from typing import TypeVar

from calque_pytree.custom import FlattenFunc, FlattenWithKeysFunc, UnflattenFunc, checked_children, split_pairs
from calque_pytree.kinds import Flattened, NodeData, NodeKind, Tree, flat_index_entries
from calque_pytree.registry import Registry, check_can_be_node, default_registry

T = TypeVar("T", bound=type)


def register_pytree_node(
    nodetype: type,
    flatten_func: FlattenFunc,
    unflatten_func: UnflattenFunc,
    flatten_with_keys_func: FlattenWithKeysFunc | None = None,
    *,
    registry: Registry = default_registry,
) -> None:
    """Make `nodetype` a pytree node.

    `flatten_func(node)` returns `(children, aux_data)`, `unflatten_func(aux_data, children)` the node again.
    `aux_data` is compared with `==` and need not be hashable. `flatten_with_keys_func(node)` returns
    `(pairs of key and child, aux_data)`.
    Raises: TypeError if `nodetype` is not a class or must stay a leaf, ValueError if it is registered already.

    >>> from calque_pytree import register_pytree_node
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register_pytree_node(Pair, lambda p: ((p.a, p.b), None), lambda _, children: Pair(*children))
    >>> from calque_pytree import leaves
    >>> leaves([Pair(1, 2), 3])
    [1, 2, 3]
    """
    registry.register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: FlattenWithKeysFunc,
    unflatten_func: UnflattenFunc,
    flatten_func: FlattenFunc | None = None,
    *,
    registry: Registry = default_registry,
) -> None:
    """Make `nodetype` a pytree node whose flatten function also names the children.

    Without `flatten_func`, `flatten_with_keys` is used and its keys are dropped.
    Raises: as `register_pytree_node`.

    >>> from calque_pytree import GetAttrKey, keystr, leaves_with_path, register_pytree_with_keys
    >>> class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    >>> register_pytree_with_keys(
    ...     Pair,
    ...     lambda p: (((GetAttrKey("a"), p.a), (GetAttrKey("b"), p.b)), None),
    ...     lambda _, children: Pair(*children),
    ... )
    >>> [(keystr(path), leaf) for path, leaf in leaves_with_path([Pair(1, 2)])]
    [('[0].a', 1), ('[0].b', 2)]
    """

    def flatten_without_keys(node: Tree) -> Flattened:
        pairs, data = checked_children(nodetype, flatten_with_keys(node))
        return split_pairs(nodetype, pairs)[1], data

    registry.register_node(nodetype, flatten_func or flatten_without_keys, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls: T, *, registry: Registry = default_registry) -> T:
    """Make the decorated class a pytree node by its methods `.tree_flatten` and (class method) `.tree_unflatten`.

    Raises: as `register_pytree_node`; TypeError if a method is missing.

    >>> from calque_pytree import register_pytree_node_class
    >>> @register_pytree_node_class
    ... class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    ...     def tree_flatten(self):
    ...         return (self.a, self.b), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux_data, children):
    ...         return cls(*children)
    >>> from calque_pytree import map
    >>> map(lambda x: 10 * x, Pair(1, 2)).b
    20
    """
    check_has_methods(cls, "tree_flatten", "tree_unflatten")
    registry.register_node(cls, methodcaller("tree_flatten"), class_method(cls, "tree_unflatten"))
    return cls


def register_pytree_with_keys_class(cls: T, *, registry: Registry = default_registry) -> T:
    """Make the decorated class a pytree node by `.tree_flatten_with_keys` and (class method) `.tree_unflatten`.

    If the class has a method `.tree_flatten`, it is used where keys are not needed.
    Raises: as `register_pytree_node`; TypeError if a method is missing.

    >>> from calque_pytree import GetAttrKey, keystr, leaves_with_path, register_pytree_with_keys_class
    >>> @register_pytree_with_keys_class
    ... class Pair:
    ...     def __init__(self, a, b):
    ...         self.a, self.b = a, b
    ...     def tree_flatten_with_keys(self):
    ...         return ((GetAttrKey("a"), self.a), (GetAttrKey("b"), self.b)), None
    ...     @classmethod
    ...     def tree_unflatten(cls, aux_data, children):
    ...         return cls(*children)
    >>> [keystr(path) for path, _ in leaves_with_path(Pair(1, 2))]
    ['.a', '.b']
    """
    check_has_methods(cls, "tree_flatten_with_keys", "tree_unflatten")
    with_keys, unflatten = methodcaller("tree_flatten_with_keys"), class_method(cls, "tree_unflatten")
    flatten = methodcaller("tree_flatten") if has_method(cls, "tree_flatten") else None
    register_pytree_with_keys(cls, with_keys, unflatten, flatten, registry=registry)
    return cls


def register_static(cls: T, *, registry: Registry = default_registry) -> T:
    """Make the decorated class a node without children: the instance itself is part of the treedef.

    Instances are compared with `==`, so a transform that keys on the treedef tells unequal instances apart.
    Raises: as `register_pytree_node`.

    >>> from calque_pytree import flatten, register_static
    >>> @register_static
    ... class Mode(str):
    ...     pass
    >>> flatten([Mode("train"), 1])
    ([1], PyTreeDef([CustomNode(Mode['train'], []), *]))
    """
    check_can_be_node(cls)
    registry.register(NodeKind(cls, flatten_static, unflatten_static, flat_index_entries))
    return cls


def flatten_static(node: Tree) -> Flattened:
    return (), node


def unflatten_static(data: NodeData, children: tuple[Tree, ...]) -> Tree:
    return data


def has_method(cls: type, name: str) -> bool:
    return callable(getattr(cls, name, None))


def class_method(cls: type, name: str) -> UnflattenFunc:
    method: UnflattenFunc = getattr(cls, name)
    return method


def check_has_methods(cls: type, *names: str) -> None:
    """Raise TypeError unless `cls` is a class with the methods `names`."""
    check_can_be_node(cls)
    for name in names:
        if not has_method(cls, name):
            raise TypeError(
                f"{cls.__name__} has no method {name}, which its registration as a pytree node needs. "
                f"Define {name}, or use register_pytree_node with two functions."
            )
