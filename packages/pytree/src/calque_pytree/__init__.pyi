# `python tests/docs/public_api.py` writes this file from the names in the module.

from calque_pytree.flattening import (
    tree_flatten as tree_flatten, tree_leaves as tree_leaves, tree_structure as tree_structure,
    tree_unflatten as tree_unflatten, tree_flatten as flatten, tree_leaves as leaves, tree_structure as structure,
    tree_unflatten as unflatten,
)
from calque_pytree.tree import (
    all_leaves as all_leaves, is_tree_node as is_tree_node, flatten_one_level as flatten_one_level,
    flatten_one_level_with_keys as flatten_one_level_with_keys, tree_map as tree_map, tree_reduce as tree_reduce,
    tree_reduce_associative as tree_reduce_associative, tree_all as tree_all, tree_transpose as tree_transpose,
    tree_map as map, tree_reduce as reduce, tree_reduce_associative as reduce_associative, tree_all as all,
    tree_transpose as transpose,
)
from calque_pytree.paths import (
    tree_flatten_with_path as tree_flatten_with_path, tree_leaves_with_path as tree_leaves_with_path,
    tree_map_with_path as tree_map_with_path, tree_flatten_with_path as flatten_with_path,
    tree_leaves_with_path as leaves_with_path, tree_map_with_path as map_with_path,
)
from calque_pytree.keys import (
    KeyPath as KeyPath, KeyEntry as KeyEntry, SequenceKey as SequenceKey, DictKey as DictKey, GetAttrKey as GetAttrKey,
    FlattenedIndexKey as FlattenedIndexKey, keystr as keystr,
)
from calque_pytree.treedef import (
    PyTreeDef as PyTreeDef, treedef_children as treedef_children, treedef_is_leaf as treedef_is_leaf,
    treedef_tuple as treedef_tuple,
)
from calque_pytree.prefix import (
    tree_broadcast as tree_broadcast, tree_broadcast as broadcast, broadcast_prefix as broadcast_prefix,
    flatten_axes as flatten_axes, prefix_errors as prefix_errors,
)
from calque_pytree.partitioning import partition as partition, combine as combine
from calque_pytree.register import (
    register_pytree_node as register_pytree_node, register_pytree_node_class as register_pytree_node_class,
    register_pytree_with_keys as register_pytree_with_keys,
    register_pytree_with_keys_class as register_pytree_with_keys_class, register_static as register_static,
)
from calque_pytree.dataclass import register_dataclass as register_dataclass, static as static
from calque_pytree.partial import Partial as Partial
from calque_pytree.registry import Registry as Registry, default_registry as default_registry
from calque_pytree.comparison import static_key as static_key
from calque_pytree.late import late_chapters as late_chapters, late_names as late_names, late_function as late_function

__version__: str

__all__ = [
    "tree_flatten", "tree_leaves", "tree_structure", "tree_unflatten", "flatten", "leaves", "structure", "unflatten",
    "all_leaves", "is_tree_node", "flatten_one_level", "flatten_one_level_with_keys", "tree_map", "tree_reduce",
    "tree_reduce_associative", "tree_all", "tree_transpose", "map", "reduce", "reduce_associative", "all", "transpose",
    "tree_flatten_with_path", "tree_leaves_with_path", "tree_map_with_path", "flatten_with_path", "leaves_with_path",
    "map_with_path", "KeyPath", "KeyEntry", "SequenceKey", "DictKey", "GetAttrKey", "FlattenedIndexKey", "keystr",
    "PyTreeDef", "treedef_children", "treedef_is_leaf", "treedef_tuple", "tree_broadcast", "broadcast",
    "broadcast_prefix", "flatten_axes", "prefix_errors", "partition", "combine", "register_pytree_node",
    "register_pytree_node_class", "register_pytree_with_keys", "register_pytree_with_keys_class", "register_static",
    "register_dataclass", "static", "Partial", "Registry", "default_registry", "static_key", "late_chapters",
    "late_names", "late_function",
]
