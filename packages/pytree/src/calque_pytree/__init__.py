"""Containers of arrays: flatten a tree of Python containers to its leaves, and rebuild it.

A *pytree* is a leaf, or a container of pytrees: a tuple, list, dict, OrderedDict, defaultdict, namedtuple, `None`, or a
registered class. This package depends on nothing.

Read next: `kinds.py`, the kinds of node; `treedef.py`, the structure; `flattening.py`, the loop; `late.py`, which
imports the names below.
"""

from calque_pytree.late import late_chapters as _late_chapters

# Each module is imported when a program first uses one of its names.
_CHAPTERS = {
    "trees and their leaves": {
        "calque_pytree.flattening": (
            "tree_flatten, tree_leaves, tree_structure, tree_unflatten, tree_flatten as flatten, "
            "tree_leaves as leaves, tree_structure as structure, tree_unflatten as unflatten"
        ),
        "calque_pytree.tree": "all_leaves, is_tree_node, flatten_one_level, flatten_one_level_with_keys",
    },
    "functions of all leaves": {
        "calque_pytree.tree": (
            "tree_map, tree_reduce, tree_reduce_associative, tree_all, tree_transpose, tree_map as map, "
            "tree_reduce as reduce, tree_reduce_associative as reduce_associative, tree_all as all, "
            "tree_transpose as transpose"
        ),
    },
    "key paths": {
        "calque_pytree.paths": (
            "tree_flatten_with_path, tree_leaves_with_path, tree_map_with_path, "
            "tree_flatten_with_path as flatten_with_path, tree_leaves_with_path as leaves_with_path, "
            "tree_map_with_path as map_with_path"
        ),
        "calque_pytree.keys": "KeyPath, KeyEntry, SequenceKey, DictKey, GetAttrKey, FlattenedIndexKey, keystr",
    },
    "structures": {"calque_pytree.treedef": "PyTreeDef, treedef_children, treedef_is_leaf, treedef_tuple"},
    "prefixes of trees": {
        "calque_pytree.prefix": (
            "tree_broadcast, tree_broadcast as broadcast, broadcast_prefix, flatten_axes, prefix_errors"
        ),
    },
    "trees in parts": {"calque_pytree.partitioning": "partition, combine"},
    "classes as containers": {
        "calque_pytree.register": (
            "register_pytree_node, register_pytree_node_class, register_pytree_with_keys, "
            "register_pytree_with_keys_class, register_static"
        ),
        "calque_pytree.dataclass": "register_dataclass, static",
        "calque_pytree.partial": "Partial",
        "calque_pytree.registry": "Registry, default_registry",
    },
    "keys of static data": {"calque_pytree.comparison": "static_key"},
    "imports at the first use of a name": {"calque_pytree.late": "late_chapters, late_names, late_function"},
}

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = _late_chapters(__name__, _CHAPTERS)
