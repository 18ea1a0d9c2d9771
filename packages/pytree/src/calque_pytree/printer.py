"""Printing a treedef: `PyTreeDef({'a': [*, None]})`.

Owns `print_nodes`. The one idea: an inner node with n children is n + 1 pieces of text, one before each child and one
that closes it, so that one pass over the preorder sequence writes everything, without recursion.

Read next: `treedef.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from calque_pytree.build import Nodes
from calque_pytree.kinds import DEFAULTDICT, DICT, LIST, NAMEDTUPLE, NONE, ORDEREDDICT, TUPLE, Node, node_class


def print_nodes(nodes: Nodes, leaves: Iterable[str]) -> str:
    """Return the structure `nodes` as text, with the texts `leaves` for its leaves."""
    texts = iter(leaves)
    written: list[str] = []
    waiting: list[list[str]] = []  # for each unfinished node, its unwritten pieces, last first
    for node in nodes:
        if node is None:
            written.append(next(texts))
        else:
            waiting.append(pieces(node)[::-1])
            written.append(waiting[-1].pop())
            if waiting[-1]:
                continue
            waiting.pop()
        while waiting:
            written.append(waiting[-1].pop())
            if waiting[-1]:
                break
            waiting.pop()
    return "".join(written)


def pieces(node: Node) -> list[str]:
    """Return the text before each child of `node`, then the text that closes it."""
    kind, arity, data = node
    if kind is NONE:
        return ["None"]
    if kind is LIST:
        return bracketed_list("[", "]", arity)
    if kind is TUPLE:
        return bracketed_list("(", ",)" if arity == 1 else ")", arity)
    if kind is DICT:
        return bracketed_list("{", "}", arity, data)
    return bracketed_list(f"CustomNode({node_class(node).__name__}{printed_data(node)}, [", "])", arity)


def bracketed_list(opening: str, closing: str, arity: int, keys: Sequence[Hashable] = ()) -> list[str]:
    """Return the pieces of a bracketed list, whose items are labelled by `keys` if there are any."""
    labels = [f"{key!r}: " for key in keys] or [""] * arity
    if not labels:
        return [opening + closing]
    return [opening + labels[0], *(f", {label}" for label in labels[1:]), closing]


def printed_data(node: Node) -> str:
    """Return the data of `node` in brackets, for a class without a literal of its own."""
    kind, _, data = node
    if kind is NAMEDTUPLE:
        return ""
    if kind is ORDEREDDICT:
        return f"[{list(data)!r}]"
    if kind is DEFAULTDICT:
        return f"[{getattr(data[0], '__name__', data[0])}, {list(data[1])!r}]"
    return f"[{data!r}]"
