"""`Partial`: a function with bound arguments, as a node of trees.

The one idea: the arguments are children, and the function is part of the structure. So a transformed function can take
or return a closure, and the arrays that the closure holds are leaves.

Read next: `register.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

from calque_pytree.keys import GetAttrKey, KeyEntry
from calque_pytree.kinds import NodeData, Tree
from calque_pytree.register import register_pytree_node

R = TypeVar("R")


class Opaque:
    """Wraps a `functools.partial`, so that a new partial does not merge with it; compared by the wrapped partial."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Tree]) -> None:
        self.function = function

    def __call__(self, *args: Tree, **kwargs: Tree) -> Tree:
        return self.function(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return self.function == (other.function if isinstance(other, Opaque) else other)

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return repr(self.function)


class Partial(functools.partial[R]):
    """A `functools.partial` that is a pytree node: its arguments are children, its function is structure.

    The arguments of a partial that is itself made into a `Partial` stay hidden in the function.

    >>> from calque_pytree import Partial, flatten, map
    >>> from operator import add
    >>> increment = Partial(add, 1)
    >>> increment(41), map(lambda x: 10 * x, increment)(41)
    (42, 51)
    """

    def __new__(cls, func: Callable[..., R], /, *args: Tree, **kwargs: Tree) -> Partial[R]:
        function = Opaque(func) if isinstance(func, functools.partial) else func
        return super().__new__(cls, function, *args, **kwargs)


def flatten_partial(node: Partial[Tree]) -> tuple[tuple[Tree, ...], NodeData]:
    return (node.args, node.keywords), node.func


def flatten_partial_with_keys(node: Partial[Tree]) -> tuple[tuple[tuple[KeyEntry, Tree], ...], NodeData]:
    return ((GetAttrKey("args"), node.args), (GetAttrKey("keywords"), node.keywords)), node.func


def unflatten_partial(func: NodeData, children: tuple[Tree, ...]) -> Partial[Tree]:
    args, keywords = children
    return Partial(func, *args, **keywords)


register_pytree_node(Partial, flatten_partial, unflatten_partial, flatten_partial_with_keys)
