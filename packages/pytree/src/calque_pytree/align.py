"""Laying a treedef over a tree of the same outer structure.

Owns `align`, which walks a structure and a tree together, `flatten_up_to`, which raises unless they fit, and
`Mismatch`, which describes a difference. The one idea: differences are collected, not raised, so that one loop serves
callers that need the subtrees and callers that need every error.

Read next: `prefix.py`, which uses both results; `generated.py`, the fast version of a fit.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from calque_pytree.build import Nodes, inner_node, place, steps_to, subtree_end
from calque_pytree.comparison import equal_data
from calque_pytree.keys import KeyEntry, KeyPath
from calque_pytree.kinds import (
    DEFAULTDICT,
    DICT,
    NAMEDTUPLE,
    NONE,
    ORDEREDDICT,
    Children,
    Node,
    NodeData,
    Tree,
    node_class,
)


class Mismatch:
    """A path where a structure has the inner node `expected`, and a tree has another node, described by `actual`."""

    __slots__ = ("actual", "expected", "path")

    def __init__(self, path: KeyPath, expected: Node, actual: str) -> None:
        self.path, self.expected, self.actual = path, expected, actual

    def describe(self, first: str, second: str, place: Callable[[KeyPath], str] = place) -> str:
        """Return the difference as a clause; `first` names the structure, `second` the tree, `place` a path."""
        return f"{first} has {describe_node(self.expected)} {place(self.path)}, but {second} has {self.actual} there"


def describe_node(node: Node | None) -> str:
    """Return a description of `node`: its class, with its keys, its length or its data."""
    if node is None:
        return "a leaf"
    kind, arity, data = node
    if kind is NONE:
        return "None"
    name, keys = with_article(node_class(node).__name__), key_list(node)
    if keys is not None:
        return f"{name} with the keys {keys}"
    if kind is NAMEDTUPLE:
        return f"{name} of length {arity}"
    return f"{name} of length {arity}" if data is None else f"{name} with the data {data!r} and {arity} children"


def describe_tree(expected: Node, tree: Tree) -> str:
    """Return a description of the root of `tree` that shows how it differs from `expected`."""
    kind = expected[0]
    if type(tree) is node_class(expected):
        children, data = kind.flatten(tree)
        difference = key_difference(expected, tree) or factory_difference(expected, data)
        return describe_node((kind, len(children), data)) + difference
    if tree is None:
        return "None"
    name = with_article(type(tree).__name__)
    if type(tree).__name__ == node_class(expected).__name__:
        name += " (another class of the same name)"  # as after a cell of a notebook ran twice
    return f"{name} of length {len(tree)}" if isinstance(tree, (tuple, list, dict)) else name


def key_difference(expected: Node, tree: Tree) -> str:
    """Return the keys of the mapping `expected` that `tree` lacks, and the keys that it has in addition."""
    keys = key_list(expected)
    if keys is None:
        return ""
    missing, extra = [key for key in keys if key not in tree], [key for key in tree if key not in keys]
    clauses = [f"without {missing}"] * bool(missing) + [f"with {extra} in addition"] * bool(extra)
    return f" ({', '.join(clauses)})" if clauses else ""


def factory_difference(expected: Node, data: NodeData) -> str:
    """Return the two default factories of a defaultdict with `data` and of `expected`, if they differ."""
    kind, _, expected_data = expected
    if kind is not DEFAULTDICT or data[0] == expected_data[0]:
        return ""
    return f" (with the default factory {data[0]!r}, not {expected_data[0]!r})"


def with_article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def key_list(node: Node) -> list[KeyEntry] | None:
    """Return the keys of a node that is a mapping, None for any other."""
    kind, _, data = node
    if kind is DICT or kind is ORDEREDDICT:
        return list(data)
    return list(data[1]) if kind is DEFAULTDICT else None


def align(nodes: Nodes, tree: Tree) -> tuple[list[Tree], list[Mismatch]]:
    """Return the subtrees of `tree` at the leaves of `nodes`, and the mismatches."""
    subtrees: list[Tree] = []
    mismatches: list[Mismatch] = []
    waiting = [tree]
    position = 0
    while waiting:
        subtree, node = waiting.pop(), nodes[position]
        if node is None:
            subtrees.append(subtree)
        elif (children := noted_children(nodes, position, subtree, tree)) is None:
            mismatches.append(Mismatch(path_in(tree, nodes, position), node, describe_tree(node, subtree)))
            position = subtree_end(nodes, position)
            continue
        else:
            waiting.extend(reversed(children))
        position += 1
    return subtrees, mismatches


def noted_children(nodes: Nodes, position: int, subtree: Tree, tree: Tree) -> Children | None:
    """Return `matching_children`; an error of the user's class gets a note that names it and the path."""
    node = inner_node(nodes, position)
    try:
        return matching_children(node, subtree)
    except Exception as error:
        where = place(path_in(tree, nodes, position))
        error.add_note(f"Raised by flattening the {type(subtree).__name__} {where}, or by comparing its aux data.")
        raise


def matching_children(node: Node, subtree: Tree) -> Children | None:
    """Return the children of `subtree` if its root matches `node`, otherwise None."""
    kind, arity, data = node
    nodetype: type = type(subtree)
    if nodetype is not node_class(node):
        return None
    if kind is DICT:
        return matching_values(data, subtree)
    if kind is DEFAULTDICT:
        return matching_values(data[1], subtree) if subtree.default_factory == data[0] else None
    children, subtree_data = kind.flatten(subtree)
    same = len(children) == arity and (subtree_data is data or equal_data(nodetype, data, subtree_data))
    return children if same else None


def matching_values(keys: Sequence[Hashable], subtree: Tree) -> Children | None:
    """Return the values of `subtree` under `keys` if it has exactly these keys, otherwise None."""
    values = [subtree[key] for key in keys if key in subtree]
    return values if len(values) == len(subtree) == len(keys) else None


def path_in(tree: Tree, nodes: Nodes, position: int) -> KeyPath:
    """Return the key path to `position`, with the entries of the nodes of `tree`."""
    path: list[KeyEntry] = []
    for (kind, arity, data), index in steps_to(nodes, position):
        entries = kind.entries(data, arity) if kind.flatten_with_keys is None else kind.flatten_with_keys(tree)[0]
        path.append(entries[index])
        children = matching_children((kind, arity, data), tree)
        assert children is not None, path
        tree = children[index]
    return tuple(path)


def flatten_up_to(nodes: Nodes, tree: Tree, first: str, second: str, advice: str) -> list[Tree]:
    """Return the subtrees of `tree` at the leaves of `nodes`.

    Raises: ValueError at the first mismatch, in which `first` and `second` name the structure and the tree.
    """
    subtrees, mismatches = align(nodes, tree)
    if mismatches:
        raise ValueError(f"{mismatches[0].describe(first, second)}. {advice}")
    return subtrees
