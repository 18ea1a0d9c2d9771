"""`PyTreeDef`: the structure of a tree without its leaves.

Owns the class and the queries on a structure alone. The one idea: a treedef is a flat sequence in preorder, with
`None` for each leaf and a triple (kind, number of children, data) for each inner node. Comparing, hashing, walking
and deleting it are loops over a tuple, so that a tree may be 100,000 levels deep.

Read next: `flattening.py`, which makes treedefs; `build.py` and `align.py`, which run over the sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import repeat

from calque_pytree.align import flatten_up_to
from calque_pytree.build import Nodes, fold, inner_node, leaf_paths, subtree_end, unflatten
from calque_pytree.comparison import (
    StructureKey,
    equal_nodes,
    first_that_may_change,
    has_exact_equality,
    kept,
    static_key,
)
from calque_pytree.compiling import Fit, Unflatten, compile_fit, compile_unflatten
from calque_pytree.keys import KeyPath
from calque_pytree.kinds import TUPLE, Leaf, Node, NodeData, Tree, node_class, shown_data
from calque_pytree.printer import print_nodes
from calque_pytree.serial import State, from_state, to_state

COMPILE_AT = 16
"""Uses of one treedef object before code is made for it, which costs as much as 5 to 40 uses."""

ITSELF = "itself"
"""Stands for a treedef in its own attribute `_key`, where a reference would be a cycle."""


class PyTreeDef:
    """The structure of a tree: everything but its leaves.

    Treedefs are immutable, hashable and comparable. The insertion order of a dict is kept and restored by `unflatten`,
    but not compared. The data of a user's class is compared with `==` and never hashed.

    >>> from calque_pytree import structure
    >>> structure({"a": [1, None]})
    PyTreeDef({'a': [*, None]})
    """

    __slots__ = (
        "__weakref__", "_fit", "_fits", "_has_paths", "_hash", "_key", "_paths", "_unflatten", "_unflattens", "nodes",
        "num_leaves",
    )  # fmt: skip

    def __init__(self, nodes: Nodes, num_leaves: int) -> None:
        self.nodes = nodes
        self.num_leaves = num_leaves
        self._hash: int | None = None
        self._key: Hashable = None
        self._paths: tuple[KeyPath, ...] | None = None
        self._has_paths = True  # until it is known that a class has entries of its own
        self._unflatten: Unflatten | None = None
        self._fit: Fit | None = None
        self._unflattens = self._fits = 0

    @property
    def num_nodes(self) -> int:
        """The number of nodes, leaves included."""
        return len(self.nodes)

    @property
    def is_leaf(self) -> bool:
        """Whether the whole tree is one leaf."""
        return self.nodes == (None,)

    @property
    def key(self) -> Hashable:
        """A key for caches of programs: equal only for structures that no program can tell apart.

        Treedefs are equal if their data are, as 1 is to True; their keys are not.

        >>> from calque_pytree import structure
        >>> structure({1: 2}) == structure({True: 2}), structure({1: 2}).key == structure({True: 2}).key
        (True, False)
        """
        if self._key is None:
            self._key = ITSELF if has_exact_equality(self.nodes) else StructureKey(self.nodes, hash(self))
        return self if self._key is ITSELF else self._key

    @property
    def data_without_hash(self) -> tuple[type, NodeData] | None:
        """The class of the first node whose data have no hash and cannot be copied, and these data; mostly None.

        Such data may change while a program is kept for this structure; `snapshot` copies lists, sets and dicts.

        >>> from calque_pytree import structure
        >>> structure({1: [2, 3]}).data_without_hash is None
        True
        """
        if self.key is self:
            return None
        node = first_that_may_change(self.nodes)
        return None if node is None else (node_class(node), shown_data(node))

    def snapshot(self) -> PyTreeDef:
        """Return the structure with data that nobody can change: lists, sets and dicts among them are copied.

        Without such data it is the same structure.
        Raises: TypeError for other data without a hash.

        >>> from calque_pytree import structure
        >>> tree = structure({"a": 1})
        >>> tree.snapshot() is tree
        True
        """
        if self.key is self:
            return self
        data = [node and kept(node[2]) for node in self.nodes]
        if all(node is None or node[2] is x for node, x in zip(self.nodes, data)):
            return self
        nodes = tuple([node and (node[0], node[1], x) for node, x in zip(self.nodes, data)])
        return PyTreeDef(nodes, self.num_leaves)

    def leaf_paths(self) -> tuple[KeyPath, ...] | None:
        """Return the key path of each leaf, which is kept for later calls; None if a class has entries of its own.

        >>> from calque_pytree import structure
        >>> structure({"a": [1]}).leaf_paths()
        ((DictKey(key='a'), SequenceKey(idx=0)),)
        """
        if self._paths is None and self._has_paths:
            paths = leaf_paths(self.nodes)
            self._has_paths, self._paths = paths is not None, None if paths is None else tuple(paths)
        return self._paths

    def unflatten(self, leaves: Iterable[Leaf]) -> Tree:
        """Return the tree of this structure over `leaves`.

        Raises: ValueError if the number of leaves is not `num_leaves`.

        >>> from calque_pytree import structure
        >>> structure({"b": 0, "a": (0, 0)}).unflatten([1, 2, 3])
        {'b': 3, 'a': (1, 2)}
        """
        leaves = leaves if type(leaves) is list else list(leaves)
        if len(leaves) != self.num_leaves:
            raise self.wrong_number(len(leaves))
        if self._unflatten is not None:
            return self._unflatten(leaves)
        self._unflattens += 1
        if self._unflattens == COMPILE_AT:
            self.prepare_unflatten()
        return unflatten(self.nodes, leaves)

    def prepare_unflatten(self) -> None:
        """Make the code of `unflatten` now, and not at a later use: for a structure that will be used often.

        >>> from calque_pytree import structure
        >>> treedef = structure((1, [2, 3]))
        >>> treedef.prepare_unflatten()
        >>> treedef.unflatten("abc")
        ('a', ['b', 'c'])
        """
        if self._unflatten is None:
            self._unflatten = compile_unflatten(self.nodes)

    def wrong_number(self, count: int) -> ValueError:
        return ValueError(
            f"{self!r} has {self.num_leaves} leaves, but {count} values were passed. Give one value for each leaf."
        )

    def flatten_up_to(self, tree: Tree) -> list[Tree]:
        """Return the subtrees of `tree` at the leaves of this structure.

        Raises: ValueError, with the path, where `tree` does not have this structure.

        >>> from calque_pytree import structure
        >>> structure({"a": 0, "b": 0}).flatten_up_to({"a": (1, 2), "b": [3]})
        [(1, 2), [3]]
        """
        subtrees = self.fit(tree)
        if subtrees is None:
            advice = "Pass a tree whose outer structure is that of the treedef."
            return flatten_up_to(self.nodes, tree, "The treedef", "the tree", advice)
        return subtrees

    def fit(self, tree: Tree) -> list[Tree] | None:
        """Return the subtrees of `tree` at the leaves of this structure, if compiled code can find them; else None.

        A tree with other data does not fit, also if its data compare equal: a fit and `key` agree.
        """
        if self._fit is None:
            self._fits += 1
            if self._fits == COMPILE_AT:
                self.prepare_fit()
            return None
        try:
            return self._fit(tree)
        except Exception:  # noqa: BLE001  the loop raises the same error with the path
            return None

    def prepare_fit(self) -> None:
        """Make the code of `fit` now, and not at a later use: for a structure that will be used often.

        >>> from calque_pytree import structure
        >>> treedef = structure((1, [2, 3]))
        >>> treedef.prepare_fit()
        >>> treedef.fit((4, [5, 6])), treedef.fit((4, 5))
        ([4, 5, 6], None)
        """
        if self._fit is None:
            self._fit = compile_fit(self.nodes)

    def children(self) -> list[PyTreeDef]:
        """Return the treedefs of the root's children; none for a leaf.

        >>> from calque_pytree import structure
        >>> structure([1, (2, 3)]).children()
        [PyTreeDef(*), PyTreeDef((*, *))]
        """
        children, start = [], 1
        while start < len(self.nodes):
            end = subtree_end(self.nodes, start)
            children.append(subtree(self.nodes[start:end]))
            start = end
        return children

    def node_data(self) -> tuple[type, NodeData] | None:
        """Return the root's class and its data (for a dict its keys in leaf order), or None if the root is a leaf.

        >>> from calque_pytree import structure
        >>> structure({"b": 1, "a": 2}).node_data()
        (<class 'dict'>, ['a', 'b'])
        """
        node = self.nodes[0]
        return None if node is None else (node_class(node), shown_data(node))

    def compose(self, inner: PyTreeDef) -> PyTreeDef:
        """Return this structure with each leaf replaced by `inner`.

        >>> from calque_pytree import structure
        >>> structure([1, 2]).compose(structure((3, 4)))
        PyTreeDef([(*, *), (*, *)])
        """
        nodes: list[Node | None] = []
        for node in self.nodes:
            if node is None:
                nodes.extend(inner.nodes)
            else:
                nodes.append(node)
        return PyTreeDef(tuple(nodes), self.num_leaves * inner.num_leaves)

    def walk(
        self,
        f_node: Callable[[tuple[Tree, ...], NodeData], Tree],
        f_leaf: Callable[[Leaf], Tree] | None,
        leaves: Iterable[Leaf],
    ) -> Tree:
        """Return `f_node(children, data)` of the root, whose children are computed in the same way.

        Leaves are passed through `f_leaf` if it is not None.
        Raises: ValueError if the number of leaves is not `num_leaves`.

        >>> from calque_pytree import structure
        >>> structure([1, (2, 3)]).walk(lambda children, data: sum(children), None, [1, 2, 3])
        6
        """
        values = list(leaves)
        if len(values) != self.num_leaves:
            raise self.wrong_number(len(values))
        if f_leaf is not None:
            values = list(map(f_leaf, values))
        return fold(self.nodes, values, lambda position, c: f_node(c, shown_data(inner_node(self.nodes, position))))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, PyTreeDef):
            return NotImplemented
        if self.num_leaves != other.num_leaves:
            return False
        return equal_nodes(self.nodes, other.nodes)

    def __hash__(self) -> int:
        if self._hash is None:
            inner_nodes = filter(None, self.nodes)
            self._hash = hash((self.num_leaves, len(self.nodes), *map(hashed_fields, inner_nodes)))
        return self._hash

    def __reduce__(self) -> tuple[Callable[[State], PyTreeDef], tuple[State]]:
        return restore, (to_state(self.nodes),)

    def __copy__(self) -> PyTreeDef:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> PyTreeDef:
        return self

    def __repr__(self) -> str:
        return f"PyTreeDef({print_nodes(self.nodes, repeat('*'))})"

    def show(self, leaves: Iterable[str]) -> str:
        """Return this structure as text, with one text for each leaf.

        >>> from calque_pytree import structure
        >>> structure({"w": 1, "b": [2]}).show(["float64[]", "int64[3]"])
        "{'b': [float64[]], 'w': int64[3]}"
        """
        texts = list(leaves)
        if len(texts) != self.num_leaves:
            raise self.wrong_number(len(texts))
        return print_nodes(self.nodes, texts)


@static_key.register(PyTreeDef)
def key_of_treedef(value: PyTreeDef) -> Hashable:
    return PyTreeDef, value.key


def hashed_fields(node: Node) -> Hashable:
    """Return the hashed fields of `node`: all but the data of a user's class."""
    kind, arity, data = node
    return (kind, arity, data) if kind.hashes_data else (kind, arity)


def subtree(nodes: Nodes) -> PyTreeDef:
    return PyTreeDef(nodes, nodes.count(None))


def restore(state: State) -> PyTreeDef:
    """Return the treedef that was pickled as `state`."""
    return subtree(from_state(state))


LEAF = PyTreeDef((None,), 1)


def treedef_tuple(treedefs: Iterable[PyTreeDef]) -> PyTreeDef:
    """Return the structure of a tuple whose items have the structures `treedefs`.

    >>> from calque_pytree import structure, treedef_tuple
    >>> treedef_tuple([structure(1), structure([2])])
    PyTreeDef((*, [*]))
    """
    items = list(treedefs)
    nodes: list[Node | None] = [(TUPLE, len(items), None)]
    for item in items:
        nodes.extend(item.nodes)
    return PyTreeDef(tuple(nodes), sum(item.num_leaves for item in items))


def treedef_children(treedef: PyTreeDef) -> list[PyTreeDef]:
    """Return the structures of the children of the root; none for a leaf.

    >>> import calque_pytree
    >>> calque_pytree.treedef_children(calque_pytree.structure((1, [2, 3])))
    [PyTreeDef(*), PyTreeDef([*, *])]
    """
    return treedef.children()


def treedef_is_leaf(treedef: PyTreeDef) -> bool:
    """Return whether `treedef` has no inner structure: one leaf, `None`, or an empty container.

    >>> from calque_pytree import structure, treedef_is_leaf
    >>> treedef_is_leaf(structure(1)), treedef_is_leaf(structure([1]))
    (True, False)
    """
    return treedef.num_nodes == 1
