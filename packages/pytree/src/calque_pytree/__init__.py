"""Containers of arrays: flatten a tree of Python containers to its leaves, and rebuild it.

A *pytree* is a leaf, or a container of pytrees: a tuple, list, dict, OrderedDict, defaultdict, namedtuple, `None`, or a
registered class. This package depends on nothing.

Read next: `kinds.py`, the kinds of node; `treedef.py`, the structure; `flattening.py`, the loop; `late.py`, for the two
lists of names below.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING  # noqa: TID251  it breaks no cycle: the names are imported late

from calque_pytree.late import late_function, late_names

# fmt: off
# isort: off
if _TYPE_CHECKING:
    from calque_pytree.comparison import static_key
    from calque_pytree.dataclass import register_dataclass, static
    from calque_pytree.flattening import (
        tree_flatten, tree_leaves, tree_structure, tree_unflatten, tree_flatten as flatten, tree_leaves as leaves,
        tree_structure as structure, tree_unflatten as unflatten,
    )
    from calque_pytree.keys import DictKey, FlattenedIndexKey, GetAttrKey, KeyEntry, KeyPath, SequenceKey, keystr
    from calque_pytree.partial import Partial
    from calque_pytree.partitioning import combine, partition
    from calque_pytree.paths import (
        tree_flatten_with_path, tree_leaves_with_path, tree_map_with_path, tree_flatten_with_path as flatten_with_path,
        tree_leaves_with_path as leaves_with_path, tree_map_with_path as map_with_path,
    )
    from calque_pytree.prefix import (
        broadcast_prefix, flatten_axes, prefix_errors, tree_broadcast, tree_broadcast as broadcast,
    )
    from calque_pytree.register import (
        register_pytree_node, register_pytree_node_class, register_pytree_with_keys, register_pytree_with_keys_class,
        register_static,
    )
    from calque_pytree.registry import Registry, default_registry
    from calque_pytree.tree import (
        all_leaves, flatten_one_level, flatten_one_level_with_keys, is_tree_node, tree_all, tree_map, tree_reduce,
        tree_reduce_associative, tree_transpose, tree_all as all, tree_map as map, tree_reduce as reduce,
        tree_reduce_associative as reduce_associative, tree_transpose as transpose,
    )
    from calque_pytree.treedef import PyTreeDef, treedef_children, treedef_is_leaf, treedef_tuple
# isort: on
# fmt: on

# Each module is imported when a program first uses one of its names.
_LATE = {
    "calque_pytree.comparison": "static_key",
    "calque_pytree.dataclass": "register_dataclass, static",
    "calque_pytree.flattening": (
        "tree_flatten, tree_leaves, tree_structure, tree_unflatten, tree_flatten as flatten, tree_leaves as leaves, "
        "tree_structure as structure, tree_unflatten as unflatten"
    ),
    "calque_pytree.keys": "DictKey, FlattenedIndexKey, GetAttrKey, KeyEntry, KeyPath, SequenceKey, keystr",
    "calque_pytree.partial": "Partial",
    "calque_pytree.partitioning": "combine, partition",
    "calque_pytree.paths": (
        "tree_flatten_with_path, tree_leaves_with_path, tree_map_with_path, tree_flatten_with_path as "
        "flatten_with_path, tree_leaves_with_path as leaves_with_path, tree_map_with_path as map_with_path"
    ),
    "calque_pytree.prefix": (
        "broadcast_prefix, flatten_axes, prefix_errors, tree_broadcast, tree_broadcast as broadcast"
    ),
    "calque_pytree.register": (
        "register_pytree_node, register_pytree_node_class, register_pytree_with_keys, "
        "register_pytree_with_keys_class, register_static"
    ),
    "calque_pytree.registry": "Registry, default_registry",
    "calque_pytree.tree": (
        "all_leaves, flatten_one_level, flatten_one_level_with_keys, is_tree_node, tree_all, tree_map, tree_reduce, "
        "tree_reduce_associative, tree_transpose, tree_all as all, tree_map as map, tree_reduce as reduce, "
        "tree_reduce_associative as reduce_associative, tree_transpose as transpose"
    ),
    "calque_pytree.treedef": "PyTreeDef, treedef_children, treedef_is_leaf, treedef_tuple",
}

__version__ = "0.1.0"

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "Registry",
    "SequenceKey",
    "all",
    "all_leaves",
    "broadcast",
    "broadcast_prefix",
    "combine",
    "default_registry",
    "flatten",
    "flatten_axes",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "flatten_with_path",
    "is_tree_node",
    "keystr",
    "late_function",
    "late_names",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "partition",
    "prefix_errors",
    "reduce",
    "reduce_associative",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "static",
    "static_key",
    "structure",
    "transpose",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
    "unflatten",
]

if not _TYPE_CHECKING:  # a type checker that knew of it would accept every name
    __getattr__, __dir__ = late_names(__name__, _LATE)
