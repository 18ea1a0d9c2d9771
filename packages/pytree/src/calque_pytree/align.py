"""Laying a treedef over a tree of the same outer structure.

Owns `align`, which walks both at once, `flatten_up_to`, which insists on a fit, and `Mismatch`, which says in words
where they differ. The one idea: differences are collected, not thrown, so that one loop serves those who want the
subtrees and those who want every error.

Read next: `prefix.py`, which uses both halves; `generated.py`, the fast version of a fit.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from calque_pytree.build import Nodes, inner_node, place, steps_to, subtree_end
from calque_pytree.keys import KeyEntry, KeyPath
from calque_pytree.kinds import DEFAULTDICT, DICT, NAMEDTUPLE, NONE, ORDEREDDICT, Children, Node, Tree, node_class


@dataclass(frozen=True, slots=True, eq=False)
class Mismatch:
    """A place where a structure has the inner node `expected`, and what was laid under it has what `found` says."""

    path: KeyPath
    expected: Node
    found: str

    def describe(self, first: str, second: str) -> str:
        """Return the difference as a clause; `first` names the structure, `second` what was laid under it."""
        return f"{first} has {describe_node(self.expected)} {place(self.path)}, but {second} has {self.found} there"


def describe_node(node: Node | None) -> str:
    """Return what a node is: its class with its keys, its length or its data, whichever tells it apart."""
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


def describe_found(expected: Node, found: Tree) -> str:
    """Return what `found` is, told apart from the node `expected` that it does not match."""
    kind = expected[0]
    if type(found) is node_class(expected):
        children, data = kind.flatten(found)
        return describe_node((kind, len(children), data)) + key_difference(expected, found)
    if found is None:
        return "None"
    name = with_article(type(found).__name__)
    return f"{name} of length {len(found)}" if isinstance(found, (tuple, list, dict)) else name


def key_difference(expected: Node, found: Tree) -> str:
    """Return which keys of the mapping `expected` are missing in `found`, and which are too many."""
    keys = key_list(expected)
    if keys is None:
        return ""
    missing, extra = [key for key in keys if key not in found], [key for key in found if key not in keys]
    parts = [f"without {missing}"] * bool(missing) + [f"with {extra} in addition"] * bool(extra)
    return f" ({', '.join(parts)})" if parts else ""


def with_article(name: str) -> str:
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def key_list(node: Node) -> list[KeyEntry] | None:
    """Return the keys of a node that is a mapping, None for any other."""
    kind, _, data = node
    if kind is DICT or kind is ORDEREDDICT:
        return list(data)
    return list(data[1]) if kind is DEFAULTDICT else None


def align(nodes: Nodes, tree: Tree) -> tuple[list[Tree], list[Mismatch]]:
    """Return the subtrees of `tree` at the leaves of `nodes`, and the places where `tree` does not fit."""
    subtrees: list[Tree] = []
    mismatches: list[Mismatch] = []
    waiting = [tree]
    position = 0
    while waiting:
        found, node = waiting.pop(), nodes[position]
        if node is None:
            subtrees.append(found)
        elif (children := noted_children(nodes, position, found, tree)) is None:
            mismatches.append(Mismatch(path_in(tree, nodes, position), node, describe_found(node, found)))
            position = subtree_end(nodes, position)
            continue
        else:
            waiting.extend(reversed(children))
        position += 1
    return subtrees, mismatches


def noted_children(nodes: Nodes, position: int, found: Tree, tree: Tree) -> Children | None:
    """Return `matching_children`; an error of the user's class gets a note that names it and the path."""
    node = inner_node(nodes, position)
    try:
        return matching_children(node, found)
    except Exception as error:
        where = place(path_in(tree, nodes, position))
        error.add_note(f"Raised by flattening the {type(found).__name__} {where}, or by comparing its aux data.")
        raise


def matching_children(node: Node, found: Tree) -> Children | None:
    """Return the children of `found` if it is a node like `node`, otherwise None."""
    kind, arity, data = node
    found_class: type = type(found)
    if found_class is not node_class(node):
        return None
    if kind is DICT:
        return matching_values(data, found)
    if kind is DEFAULTDICT:
        return matching_values(data[1], found) if found.default_factory == data[0] else None
    children, found_data = kind.flatten(found)
    same = len(children) == arity and (found_data is data or found_data == data)
    return children if same else None


def matching_values(keys: Sequence[Hashable], found: Tree) -> Children | None:
    """Return the values of `found` under `keys` if these are all its keys, otherwise None."""
    values = [found[key] for key in keys if key in found]
    return values if len(values) == len(found) == len(keys) else None


def path_in(tree: Tree, nodes: Nodes, position: int) -> KeyPath:
    """Return the key path to `position`, with the entries that the nodes of `tree` themselves give."""
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

    Raises: ValueError at the first place that differs, in the words `first`, `second` and `advice`.
    """
    subtrees, mismatches = align(nodes, tree)
    if mismatches:
        raise ValueError(f"{mismatches[0].describe(first, second)}. {advice}")
    return subtrees
