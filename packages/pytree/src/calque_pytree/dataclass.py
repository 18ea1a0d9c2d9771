"""Dataclasses as nodes.

Owns `register_dataclass` and `static`. The one idea: the fields of a dataclass already name its children, so the user
writes no functions; fields marked `static` are part of the structure instead. Children and data are read in C, without
a Python call per node.

Read next: `register.py` for other classes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any, TypeVar, overload

from calque_pytree.keys import GetAttrKey, KeyEntry
from calque_pytree.kinds import Attributes, Flattened, NodeData, NodeKind, Tree
from calque_pytree.registry import Registry, check_can_be_node, default_registry

T = TypeVar("T", bound=type)
FieldArgument = Any


def static(**kwargs: FieldArgument) -> FieldArgument:
    """Return a dataclass field that `register_dataclass` makes part of the structure; `kwargs` as for `field`.

    Raises: ValueError if the metadata have `static` false.

    >>> import dataclasses
    >>> from calque_pytree import register_dataclass, static
    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Scale:
    ...     by: float
    ...     name: str = static(default="scale")
    >>> from calque_pytree import flatten
    >>> flatten(Scale(2.0))
    ([2.0], PyTreeDef(CustomNode(Scale[('scale',)], [*])))
    """
    metadata = kwargs.pop("metadata", None) or {}
    if not metadata.get("static", True):
        raise ValueError(
            f"static got metadata={dict(metadata)!r}, which marks the field as not static. Leave 'static' out of "
            "the metadata, or use dataclasses.field."
        )
    return dataclasses.field(metadata={**metadata, "static": True}, **kwargs)


@overload
def register_dataclass(
    nodetype: T,
    data_fields: Sequence[str] | None = ...,
    meta_fields: Sequence[str] | None = ...,
    drop_fields: Sequence[str] = ...,
    *,
    registry: Registry = ...,
) -> T: ...


@overload
def register_dataclass(
    nodetype: None = ...,
    data_fields: Sequence[str] | None = ...,
    meta_fields: Sequence[str] | None = ...,
    drop_fields: Sequence[str] = ...,
    *,
    registry: Registry = ...,
) -> Callable[[T], T]: ...


def register_dataclass(
    nodetype: T | None = None,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
    *,
    registry: Registry = default_registry,
) -> T | Callable[[T], T]:
    """Make a dataclass a pytree node: `data_fields` are its children, `meta_fields` part of the structure.

    Without the two lists the fields of the dataclass decide: fields made by `static()`, or with `static` true in their
    metadata, are meta fields. `drop_fields` are left out, and get their defaults on unflatten. Also a decorator, with
    or without arguments. A class that is no dataclass needs both lists and a constructor that takes the names.
    Raises: ValueError if the lists do not name the fields of the class, or if it is registered already; TypeError if
    `nodetype` is not a class.

    >>> import dataclasses
    >>> from calque_pytree import register_dataclass
    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     w: float
    ...     b: float
    >>> from calque_pytree import map
    >>> map(lambda x: 10 * x, Layer(w=1, b=2))
    Layer(w=10, b=20)
    """

    def register(cls: T) -> T:
        check_can_be_node(cls)
        if data_fields is None or meta_fields is None:
            data, meta = fields_of(cls, drop_fields)
        else:
            data, meta = list(data_fields), list(meta_fields)
        check_fields(cls, data, meta, drop_fields)
        registry.register(dataclass_kind(cls, tuple(data), tuple(meta)))
        return cls

    if (data_fields is None) != (meta_fields is None):
        present, missing = ("data_fields", "meta_fields") if meta_fields is None else ("meta_fields", "data_fields")
        raise ValueError(f"register_dataclass got {present} but not {missing}. Give both lists, or neither.")
    return register if nodetype is None else register(nodetype)


def fields_of(cls: type, drop: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of the data fields and of the meta fields that the dataclass `cls` declares, without `drop`."""
    if not dataclasses.is_dataclass(cls):
        raise TypeError(
            f"{cls.__name__} is not a dataclass, so its fields are not known. "
            "Give data_fields and meta_fields, or apply dataclasses.dataclass first."
        )
    names: tuple[list[str], list[str]] = [], []
    for field in dataclasses.fields(cls):
        if field.name not in drop:
            names[bool(field.metadata.get("static", False))].append(field.name)
    return names


def check_fields(cls: type, data: Sequence[str], meta: Sequence[str], drop: Sequence[str]) -> None:
    """Raise ValueError unless the three lists name each init field of the dataclass `cls` once, and nothing else."""
    names = [*data, *meta, *drop]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"register_dataclass of {cls.__name__} got {repeated} twice. Name each field once.")
    if not dataclasses.is_dataclass(cls):
        return
    fields = dataclasses.fields(cls)
    missing = sorted({field.name for field in fields if field.init}.difference(names))
    if missing:
        raise ValueError(
            f"register_dataclass of {cls.__name__} does not list the fields {missing}. "
            "Add them to data_fields or meta_fields, or to drop_fields to leave them out."
        )
    unknown = sorted({*data, *meta}.difference(field.name for field in fields if field.init))
    if unknown:
        raise ValueError(
            f"register_dataclass of {cls.__name__} got the fields {unknown}, which its constructor does not take. "
            "Name fields with init=True only; drop_fields may name fields with init=False."
        )


def dataclass_kind(cls: type, data_fields: tuple[str, ...], meta_fields: tuple[str, ...]) -> NodeKind:
    """Return the kind of `cls`, whose children are its attributes `data_fields` and whose data are `meta_fields`."""
    attributes = Attributes(data_fields + meta_fields, len(data_fields), tuple_getter(data_fields + meta_fields))
    keys = [GetAttrKey(name) for name in data_fields]

    def flatten(node: Tree) -> Flattened:
        values = attributes.read(node)
        return values[: len(data_fields)], values[len(data_fields) :]

    def unflatten(data: NodeData, children: tuple[Tree, ...]) -> Tree:
        return cls(**dict(zip(attributes.names, (*children, *data), strict=True)))

    def entries(data: NodeData, arity: int) -> Sequence[KeyEntry]:
        return keys

    return NodeKind(cls, flatten, unflatten, entries, attributes=attributes)


def tuple_getter(names: tuple[str, ...]) -> Callable[[Tree], tuple[Tree, ...]]:
    """Return a function from an object to the tuple of its attributes `names`."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda node: ()
    get = attrgetter(names[0])
    return lambda node: (get(node),)


@lru_cache(maxsize=256)
def compared_fields(cls: type) -> tuple[str, ...]:
    """Return the names of the fields which `==` of the dataclass `cls` compares."""
    return tuple(field.name for field in dataclasses.fields(cls) if field.compare)
