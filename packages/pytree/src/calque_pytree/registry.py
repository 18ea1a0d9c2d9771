"""Registries: which types are nodes.

Owns `Registry` and `default_registry`. The one idea: an unregistered type is a leaf, and the exact class decides: a
subclass of a registered class is a leaf until it is registered itself. Namedtuples are the exception: each such class
is a node.

Read next: `register.py` for the functions that users call, `flattening.py` for the loop that looks kinds up.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType

from calque_pytree.custom import FlattenFunc, FlattenWithKeysFunc, UnflattenFunc, custom_kind
from calque_pytree.kinds import BUILTIN_KINDS, NAMEDTUPLE, NONE, NodeKind, is_namedtuple_class
from calque_pytree.recent import Recent

LEAF_TYPES = frozenset(
    {bool, int, float, complex, str, bytes, bytearray, object, type}
    | {FunctionType, BuiltinFunctionType, MethodType, ModuleType}
)
"""Built-in types that must stay leaves, because every program relies on it."""

MAX_LEARNED = 4096


class KindTable(dict[type, "NodeKind | None"]):
    """The kind of each known class, `None` for leaves; the first look-up of a class classifies it.

    `leaf_types` is the set of the leaf classes: one test of all children of a node against it, in C, halves the time to
    flatten a typical tree of parameters.
    """

    __slots__ = ("leaf_types", "learned", "recent")

    def __init__(self, kinds: Iterable[NodeKind]) -> None:
        super().__init__({kind.nodetype: kind for kind in kinds})
        self.leaf_types: set[type] = set()
        self.learned: list[type] = []  # the classes that a look-up classified
        self.recent = Recent()

    def __missing__(self, nodetype: type) -> NodeKind | None:
        if len(self.learned) >= MAX_LEARNED:
            self.forget()
        self.learned.append(nodetype)
        if is_namedtuple_class(nodetype):
            return self.setdefault(nodetype, NAMEDTUPLE)
        self.leaf_types.add(nodetype)
        return self.setdefault(nodetype, None)

    def forget(self) -> None:
        """Drop the learned classes, so that classes made in a loop are not kept alive."""
        while self.learned:
            nodetype = self.learned.pop()
            if not is_registered(self, nodetype):
                self.leaf_types.discard(nodetype)
                self.pop(nodetype, None)

    def add(self, kind: NodeKind) -> None:
        self.leaf_types.discard(kind.nodetype)
        self[kind.nodetype] = kind
        self.recent.forget()


class Registry:
    """A set of node types. A new registry knows the built-in containers and nothing else.

    Pass it as `registry=` to any function of this package to flatten by it; the default is `default_registry`.

    >>> from calque_pytree import Registry
    >>> registry = Registry()
    >>> dict in registry, set in registry
    (True, False)
    """

    __slots__ = ("tables",)

    def __init__(self) -> None:
        without_none = [kind for kind in BUILTIN_KINDS if kind is not NONE]
        self.tables = (KindTable(BUILTIN_KINDS), KindTable(without_none))  # the second for none_is_leaf=True

    def __contains__(self, nodetype: type) -> bool:
        return self.tables[False][nodetype] is not None

    def kind(self, nodetype: type) -> NodeKind | None:
        """Return the kind under which instances of `nodetype` are flattened, or `None` if they are leaves."""
        return self.tables[False][nodetype]

    def register_node(
        self,
        nodetype: type,
        flatten_func: FlattenFunc,
        unflatten_func: UnflattenFunc,
        flatten_with_keys_func: FlattenWithKeysFunc | None = None,
    ) -> None:
        """Make `nodetype` a node of this registry; the functions are as for `register_pytree_node`.

        >>> from calque_pytree import Registry, default_registry
        >>> registry = Registry()
        >>> registry.register_node(set, lambda s: (sorted(s), None), lambda _, children: set(children))
        >>> set in registry, set in default_registry
        (True, False)
        """
        check_can_be_node(nodetype)
        self.register(custom_kind(nodetype, flatten_func, unflatten_func, flatten_with_keys_func))

    def register(self, kind: NodeKind) -> None:
        """Make `kind.nodetype` a node of this registry.

        Raises: TypeError if it is not a class, or is a type that must stay a leaf;
        ValueError if it is registered already.
        """
        check_can_be_node(kind.nodetype)
        if is_registered(self.tables[False], kind.nodetype):
            raise ValueError(
                f"{kind.nodetype.__name__} is registered as a pytree node already. "
                "Register a class once, or register it in another Registry() and pass that as registry=."
            )
        for table in self.tables:
            table.add(kind)


def is_registered(table: KindTable, nodetype: type) -> bool:
    """Return whether `nodetype` was registered; a namedtuple class is a node without registration."""
    kind = table.get(nodetype)
    return kind is not None and kind is not NAMEDTUPLE


def check_can_be_node(nodetype: object) -> None:
    """Raise TypeError unless `nodetype` is a class that may become a node."""
    if not isinstance(nodetype, type):
        raise TypeError(
            f"Only a class can be registered as a pytree node, but got {nodetype!r}, which is an instance of "
            f"{type(nodetype).__name__}. Pass the class itself."
        )
    if nodetype in LEAF_TYPES or nodetype.__module__ == "numpy":
        raise TypeError(
            f"{nodetype.__module__}.{nodetype.__name__} cannot be registered as a pytree node, because programs "
            "rely on its values being leaves. Wrap such values in a class of your own and register that."
        )


default_registry = Registry()
